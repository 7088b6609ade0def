// Two kinds of paper with the same pens: a canvas, and an SVG file. What is drawn on both is laid out once.
import { PICTURE_FONT } from "./pictures.js";

const SVG_SPACE = "http://www.w3.org/2000/svg";
// programs that are a few years old do not know `href` without it
const LINK_SPACE = "http://www.w3.org/1999/xlink";
const HALO = { width: 3, opacity: 0.75 };
const ANCHORS = { left: "start", center: "middle", right: "end" };

const fontOf = ({ size = 13, weight = 400 }) => `${weight} ${size}px ${PICTURE_FONT}`;

let textMeasure = null;

export function widthOfText(words, look = {}) {
  textMeasure ??= document.createElement("canvas").getContext("2d");
  textMeasure.font = fontOf(look);
  return textMeasure.measureText(words).width;
}

export class CanvasSheet {
  constructor(context) {
    this.context = context;
  }

  box(x, y, width, height, colour, opacity = 1) {
    Object.assign(this.context, { fillStyle: colour, globalAlpha: opacity });
    this.context.fillRect(x, y, width, height);
    this.context.globalAlpha = 1;
  }

  // Straight lines, each from and to a point.
  lines(ends, { width, colour, opacity = 1, dashes = [] }) {
    const { context } = this;
    context.beginPath();
    for (const [x, y, toX, toY] of ends) {
      context.moveTo(x, y);
      context.lineTo(toX, toY);
    }
    Object.assign(context, { lineWidth: width, strokeStyle: colour, globalAlpha: opacity });
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  text(words, x, y, { colour, side = "left", halo = false, ...font }) {
    const { context } = this;
    Object.assign(context, { font: fontOf(font), textAlign: side, textBaseline: "alphabetic" });
    if (halo) {
      Object.assign(context, { lineJoin: "round", lineWidth: HALO.width, strokeStyle: "#000", globalAlpha: HALO.opacity });
      context.strokeText(words, x, y);
      context.globalAlpha = 1;
    }
    context.fillStyle = colour;
    context.fillText(words, x, y);
  }
}

export class SvgSheet {
  constructor(width, height, title) {
    const size = { width, height, viewBox: `0 0 ${width} ${height}` };
    this.root = this.into = svgNode("svg", { ...size, "font-family": PICTURE_FONT, role: "img" });
    this.add("title").textContent = title;
  }

  add(tag, attributes) {
    const node = svgNode(tag, attributes);
    this.into.append(node);
    return node;
  }

  // What `draw` adds is kept together.
  group(attributes, draw) {
    const outer = this.into;
    this.into = this.add("g", attributes);
    draw();
    this.into = outer;
  }

  box(x, y, width, height, colour, opacity = 1) {
    this.add("rect", { x, y, width, height, fill: colour, ...below1("fill-opacity", opacity) });
  }

  lines(ends, { width, colour, opacity = 1, dashes = [] }) {
    const d = ends.map(([x, y, toX, toY]) => `M${x} ${y}L${toX} ${toY}`).join("");
    const stroke = { stroke: colour, "stroke-width": width, ...below1("stroke-opacity", opacity) };
    this.add("path", { d, fill: "none", ...stroke, ...(dashes.length ? { "stroke-dasharray": dashes.join(" ") } : {}) });
  }

  text(words, x, y, { colour, side = "left", halo = false, size = 13, weight = 400 }) {
    const place = { x, y, "font-size": size, "font-weight": weight, "text-anchor": ANCHORS[side] };
    const dark = { fill: "none", stroke: "#000", "stroke-width": HALO.width, "stroke-opacity": HALO.opacity, "stroke-linejoin": "round" };
    // two elements: not every program draws the stroke below the letters when asked to
    if (halo) this.add("text", { ...place, ...dark, "aria-hidden": "true" }).textContent = words;
    this.add("text", { ...place, fill: colour }).textContent = words;
  }

  toBlob() {
    const text = `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(this.root)}\n`;
    return new Blob([text], { type: "image/svg+xml;charset=utf-8" });
  }
}

function svgNode(tag, attributes = {}) {
  const node = document.createElementNS(SVG_SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) {
    node.setAttributeNS(name.startsWith("xlink:") ? LINK_SPACE : null, name, value);
  }
  return node;
}

function below1(name, opacity) {
  return opacity < 1 ? { [name]: opacity } : {};
}
