// What the viewer shows, as a picture of twice the size: image, maps and outlines as they lie in the window, a scale
// bar, the case and the legend.
import { legendParts } from "./layers.js";
import { PICTURE_FONT, PICTURE_SCALE, pngOf } from "./pictures.js";
import { columnTitle } from "./viewer-readout.js";

const PICTURE_INK = "#1c1c20";
const PICTURE_LEAST = 320;
const PICTURE_PAD = 12;
const LEGEND_LINE = 20;
const DASHES = { algorithm: [7, 4], reference: [2, 3] };

// `shown` has view, slice (its words, or nothing), columns (those with an outline), layer, threshold and bare.
export function picturePng(stage, shown) {
  const { crop, picture } = visiblePart(stage);
  const width = Math.max(crop.width, PICTURE_LEAST);
  const lines = legendLines(shown, width - 2 * PICTURE_PAD);
  const canvas = document.createElement("canvas");
  const below = PICTURE_PAD * 2 + LEGEND_LINE * (1 + lines.length);
  canvas.width = Math.round(width * PICTURE_SCALE);
  canvas.height = Math.round((crop.height + below) * PICTURE_SCALE);
  const context = canvas.getContext("2d");
  context.scale(PICTURE_SCALE, PICTURE_SCALE);
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, crop.height + below);
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.drawImage(picture, 0, 0);
  context.restore();
  drawScaleBar(context, stage.place.zoom, shown.view, crop);
  drawSides(context, shown.view.letters, crop);
  drawLegend(context, shown, lines, crop.height + PICTURE_PAD, width - 2 * PICTURE_PAD);
  return pngOf(canvas);
}

// The stage again, twice as fine, and of it what lies on the picture.
function visiblePart(stage) {
  const { clientWidth, clientHeight } = stage.canvas;
  const whole = stage.copy(PICTURE_SCALE);
  const { left, top, zoom } = stage.place;
  const { width, height } = stage.size;
  const [x, y] = [Math.max(0, left), Math.max(0, top)];
  const right = Math.min(clientWidth, left + width * zoom);
  const bottom = Math.min(clientHeight, top + height * zoom);
  const crop = { width: Math.max(1, right - x), height: Math.max(1, bottom - y) };
  const picture = document.createElement("canvas");
  picture.width = Math.max(1, Math.round(crop.width * PICTURE_SCALE));
  picture.height = Math.max(1, Math.round(crop.height * PICTURE_SCALE));
  picture.getContext("2d").drawImage(whole, -Math.round(x * PICTURE_SCALE), -Math.round(y * PICTURE_SCALE));
  return { crop, picture };
}

// --- on the picture

// In mm where the size of a pixel is known; 1, 2 or 5 times a power of ten, up to a quarter of the picture.
export function scaleBar(zoom, view, width) {
  const size = view.pixel ?? view.step;
  const most = (width / 4 / zoom) * size;
  const power = 10 ** Math.floor(Math.log10(most));
  const length = [5, 2, 1].map((times) => times * power).find((long) => long <= most) ?? power;
  if (view.pixel === null && length < 1) return null;
  const unit = view.pixel === null ? (length === 1 ? "pixel" : "pixels") : "mm";
  return { length: (length / size) * zoom, words: `${Number(length.toPrecision(6))} ${unit}` };
}

function drawScaleBar(context, zoom, view, { width, height }) {
  const bar = scaleBar(zoom, view, width);
  if (!bar) return;
  const [x, y] = [PICTURE_PAD, height - PICTURE_PAD];
  context.fillStyle = "rgb(0 0 0 / 0.65)";
  context.fillRect(x - 2, y - 6, bar.length + 4, 8);
  context.fillStyle = "#fff";
  context.fillRect(x, y - 4, bar.length, 4);
  haloText(context, bar.words, x, y - 11, "left");
}

// Which side of the patient is where.
function drawSides(context, letters, { width, height }) {
  if (!letters) return;
  const places = [[PICTURE_PAD, height / 2], [width - PICTURE_PAD, height / 2], [width / 2, 22], [width / 2, height - PICTURE_PAD]];
  letters.forEach((letter, side) => haloText(context, letter, ...places[side], ["left", "right", "center", "center"][side]));
}

function haloText(context, words, x, y, side) {
  context.font = `600 14px ${PICTURE_FONT}`;
  context.textAlign = side;
  context.textBaseline = "alphabetic";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.strokeStyle = "rgb(0 0 0 / 0.75)";
  context.strokeText(words, x, y);
  context.fillStyle = "#fff";
  context.fillText(words, x, y);
}

// --- below it

// What is drawn, in lines that fit: each item has its words and how to draw its sign.
function legendLines({ view, columns, layer, threshold, bare }, width) {
  if (bare) return [];
  const named = columns.map((column) => {
    const who = view.columns[column];
    const words = columnTitle(view, who) + (who.empty ? " (marked nothing)" : "");
    return { words, sign: (context, x, y) => drawLineSign(context, who, x, y) };
  });
  const items = [...named, ...(layer ? legendParts(layer, threshold).map(layerItem) : [])];
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = `13px ${PICTURE_FONT}`;
  const lines = [];
  let room = 0;
  for (const item of items) {
    item.words = fitted(measure, item.words, width - (item.signWidth ?? 24));
    item.width = (item.signWidth ?? 24) + measure.measureText(item.words).width + 16;
    if (item.width > room || item.first) {
      lines.push([]);
      room = width + 16;
    }
    lines.at(-1).push(item);
    room -= item.width;
  }
  return lines;
}

function fitted(measure, words, width) {
  if (measure.measureText(words).width <= width) return words;
  let shown = words;
  while (shown.length > 1 && measure.measureText(`${shown}…`).width > width) shown = shown.slice(0, -1);
  return `${shown}…`;
}

function layerItem({ words, colours, first }) {
  const each = colours.length > 2 ? 10 : 18;
  const signWidth = colours.length ? colours.length * each + 6 : 0;
  const sign = (context, x, y) => {
    colours.forEach((colour, place) => {
      context.fillStyle = colour;
      context.fillRect(x + place * each, y - 10, each + 0.5, 12);
    });
  };
  return { words, sign, signWidth, first };
}

function drawLineSign(context, who, x, y) {
  context.beginPath();
  context.moveTo(x, y - 4);
  context.lineTo(x + 18, y - 4);
  // on a dark line as on the picture: some are white
  for (const [width, colour, dashes] of [[6, "rgb(0 0 0 / 0.62)", []], [3, who.colour, DASHES[who.role] ?? []]]) {
    Object.assign(context, { lineWidth: width, strokeStyle: colour });
    context.setLineDash(dashes);
    context.stroke();
  }
  context.setLineDash([]);
}

function drawLegend(context, { view, slice }, lines, top, width) {
  context.textAlign = "left";
  context.fillStyle = PICTURE_INK;
  context.font = `600 14px ${PICTURE_FONT}`;
  let y = top + LEGEND_LINE - 5;
  const words = fitted(context, [view.name, slice].filter(Boolean).join(", "), width);
  context.fillText(words, PICTURE_PAD, y);
  for (const line of lines) {
    y += LEGEND_LINE;
    let x = PICTURE_PAD;
    for (const item of line) {
      item.sign(context, x, y);
      context.font = `13px ${PICTURE_FONT}`;
      context.fillStyle = PICTURE_INK;
      context.fillText(item.words, x + (item.signWidth ?? 24), y);
      x += item.width;
    }
  }
}
