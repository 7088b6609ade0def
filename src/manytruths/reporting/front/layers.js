// Maps over the picture: a colour for each pattern, painted by look-up, and the legend that explains it.
import { viewerNode } from "./viewer-nodes.js";

// From deep violet over red to yellow: lightness rises all the way, so that it also reads in grey.
const HEAT_ANCHORS = [
  [76, 52, 190],
  [118, 44, 196],
  [156, 44, 182],
  [190, 52, 156],
  [216, 72, 124],
  [233, 98, 92],
  [248, 136, 66],
  [254, 182, 46],
  [243, 240, 54],
];
const REGION_COLOUR = [64, 196, 220];
// Lines from lower left to upper right, equally far apart on every screen.
export const HATCHING = { size: 8, width: 1.6, colour: hexColour(REGION_COLOUR) };
const BELOW_THRESHOLD = 0.16;
// Smaller shares do not colour the picture: probabilities of background are never quite 0.
const FAINT = 0.05;

// As every program that reads SVG knows it.
function hexColour(colour) {
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

export function heatColour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (HEAT_ANCHORS.length - 1);
  const low = Math.min(Math.floor(place), HEAT_ANCHORS.length - 2);
  return HEAT_ANCHORS[low].map((from, channel) => {
    return Math.round(from + (HEAT_ANCHORS[low + 1][channel] - from) * (place - low));
  });
}

// One colour each for 1, 2, …, most; a share of the range for other values.
function colourOfValue(layer, value) {
  if (layer.kind !== "count") return heatColour(value / layer.most);
  return heatColour(layer.most > 1 ? (value - 1) / (layer.most - 1) : 1);
}

// Red, green, blue and opacity of a pattern packed as a canvas stores them; nothing for 0 and undefined values.
export function layerColours(layer, threshold) {
  return Uint32Array.from(layer.values, (value) => {
    if (value === null || !(value > 0) || (layer.kind === "probability" && value < FAINT * layer.most)) return 0;
    if (layer.kind === "region") return value === 2 ? packedColour(REGION_COLOUR, 0.85) : packedColour(REGION_COLOUR, 0.22);
    const below = layer.kind === "probability" && value < threshold;
    return packedColour(colourOfValue(layer, value), below ? BELOW_THRESHOLD : 1);
  });
}

export function packedColour([red, green, blue], opacity) {
  return ((Math.round(opacity * 255) << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function paintPatterns(items, { columns, rows }, colours) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d");
  const picture = context.createImageData(columns, rows);
  const pixels = new Uint32Array(picture.data.buffer);
  for (let item = 0; item < pixels.length; item++) pixels[item] = colours[items[item]];
  context.putImageData(picture, 0, 0);
  return canvas;
}

// Where hatching goes: the part of an acceptable region in which raters differ.
export function paintBetween(layer, items, grid) {
  return paintPatterns(items, grid, Uint32Array.from(layer.values, (value) => (value === 1 ? 0xffffffff : 0)));
}

export function hatching(context, ratio) {
  const size = Math.round(HATCHING.size * ratio);
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const drawing = tile.getContext("2d");
  drawing.strokeStyle = HATCHING.colour;
  drawing.lineWidth = HATCHING.width * ratio;
  for (const shift of [-size, 0, size]) {
    drawing.moveTo(shift - 1, size + 1);
    drawing.lineTo(shift + size + 1, -1);
  }
  drawing.stroke();
  return context.createPattern(tile, "repeat");
}

export function fillLegend(legend, layer, threshold) {
  legend.replaceChildren();
  if (!layer) return;
  if (layer.kind === "count") legend.append(...countLegend(layer));
  else if (layer.kind === "region") legend.append(...regionLegend());
  else legend.append(...valueLegend(layer, threshold));
}

// The legend in a few words and colours, for a picture that is saved.
export function legendParts(layer, threshold) {
  if (layer.kind === "region") {
    const pale = REGION_COLOUR.map((part) => Math.round(255 - 0.35 * (255 - part)));
    const all = { words: `${layer.title}: all raters marked it`, colours: [hexColour(REGION_COLOUR)], first: true };
    return [all, { words: "some did", colours: [hexColour(pale)] }];
  }
  const steps = layer.kind === "count" ? Math.min(layer.most, 12) : 12;
  const colours = Array.from({ length: steps }, (_, step) => hexColour(heatColour(steps > 1 ? step / (steps - 1) : 1)));
  const most = Number(layer.most.toFixed(2));
  const range = layer.kind === "count" ? (most > 1 ? `1 to ${most}` : "1") : `0 to ${most}`;
  const scale = { words: `${layer.title}: ${range}`, colours, first: true };
  if (layer.kind !== "probability") return [scale];
  return [scale, { words: `white line: ${threshold.toFixed(layer.most > 10 ? 0 : 2)}`, colours: [] }];
}

function countLegend(layer) {
  const blocks = viewerNode("div", { class: "legend-blocks" });
  const every = Math.ceil(layer.most / 14);
  for (let count = 0; count <= layer.most; count++) {
    const block = viewerNode("span", { class: count ? "legend-block" : "legend-block empty" });
    if (count) block.style.background = `rgb(${colourOfValue(layer, count).join(" ")})`;
    const number = count % every === 0 || count === layer.most ? String(count) : "";
    blocks.append(viewerNode("span", { class: "legend-step" }, block, viewerNode("span", {}, number)));
  }
  const did = layer.name === "disputes" ? "gave the pixel another label than most did" : "marked the pixel";
  return [blocks, viewerNode("p", {}, `Colour: number of raters who ${did}, of ${layer.most}.`)];
}

function valueLegend(layer, threshold) {
  const colours = HEAT_ANCHORS.map((colour) => `rgb(${colour.join(" ")})`);
  const bar = viewerNode("div", { class: "legend-bar" });
  bar.style.background = `linear-gradient(to right, ${colours.join(", ")})`;
  const numbers = [0, layer.most / 2, layer.most].map((value) => viewerNode("span", {}, String(Number(value.toFixed(2)))));
  const scale = [bar, viewerNode("div", { class: "legend-numbers" }, ...numbers)];
  if (layer.kind !== "probability") return [...scale, viewerNode("p", {}, "No colour: 0, or not defined there.")];
  const tick = viewerNode("div", { class: "legend-tick" });
  tick.style.left = `${(100 * threshold) / layer.most}%`;
  bar.append(tick);
  return [...scale, viewerNode("p", {}, `White line: where the value reaches ${threshold.toFixed(layer.most > 10 ? 0 : 2)}; below it is faint.`)];
}

function regionLegend() {
  const inside = viewerNode("span", { class: "legend-patch inside" });
  const between = viewerNode("span", { class: "legend-patch between" });
  return [
    viewerNode("p", { class: "legend-line" }, inside, "Inside: all raters marked it."),
    viewerNode("p", { class: "legend-line" }, between, "Between: some did."),
    viewerNode("p", {}, "An outline that runs in between never contradicts all raters at once."),
  ];
}

// At most three decimals, none where it is a whole number.
export function shortNumber(value) {
  if (value === null) return "not defined";
  if (Number.isInteger(value)) return String(value);
  return value.toFixed(Math.abs(value) < 10 ? 3 : 2);
}
