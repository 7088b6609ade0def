// What the viewer shows, as a picture to take away: image, maps and outlines as they lie in the window, a scale bar, the
// case and the legend. A PNG has twice the size; in an SVG lines and words are vectors.
import { HATCHING, legendParts } from "./layers.js";
import { PICTURE_SCALE, pngOf } from "./pictures.js";
import { CanvasSheet, SvgSheet, widthOfText } from "./sheets.js";
import { addPaths, dashArray } from "./viewer-lines.js";
import { columnTitle } from "./viewer-readout.js";
import { NO_IMAGE } from "./viewer-stage.js";

const PICTURE_INK = "#1c1c20";
const PICTURE_LEAST = 320;
const PICTURE_PAD = 12;
const LEGEND_LINE = 20;
const SIGN_LINE = 22;
const LEGEND_SIGN = SIGN_LINE + 6;
const TITLE_TEXT = { size: 14, weight: 600, colour: PICTURE_INK };
const LEGEND_TEXT = { size: 13, colour: PICTURE_INK };
const HALO_TEXT = { size: 14, weight: 600, colour: "#fff", halo: true };

// `shown` has view, slice (its words, or nothing), columns (those with an outline), layer, threshold and bare.
export function picturePng(stage, shown) {
  const layout = layoutOf(stage, shown);
  const { crop, width, height } = layout;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * PICTURE_SCALE);
  canvas.height = Math.round(height * PICTURE_SCALE);
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  const [x, y, wide, high] = [crop.x, crop.y, crop.width, crop.height].map((part) => Math.round(part * PICTURE_SCALE));
  context.drawImage(stage.copy(PICTURE_SCALE), x, y, wide, high, 0, 0, wide, high);
  context.scale(PICTURE_SCALE, PICTURE_SCALE);
  drawAround(new CanvasSheet(context), stage, shown, layout);
  return pngOf(canvas);
}

export function pictureSvg(stage, shown) {
  const layout = layoutOf(stage, shown);
  const { crop, width, height } = layout;
  const sheet = new SvgSheet(width, height, titleOf(shown));
  sheet.box(0, 0, width, height, "#fff");
  const clip = sheet.add("clipPath", { id: "window" });
  sheet.into = clip;
  sheet.add("rect", { width: crop.width, height: crop.height });
  sheet.into = sheet.root;
  sheet.group({ "clip-path": "url(#window)" }, () => drawVectors(sheet, stage, crop, shown.bare));
  drawAround(sheet, stage, shown, layout);
  return sheet.toBlob();
}

// Where the picture lies in the window, and how large it is with what stands below it.
function layoutOf(stage, shown) {
  const { clientWidth, clientHeight } = stage.canvas;
  const { left, top, zoom } = stage.place;
  const [x, y] = [Math.max(0, left), Math.max(0, top)];
  const right = Math.min(clientWidth, left + stage.size.width * zoom);
  const bottom = Math.min(clientHeight, top + stage.size.height * zoom);
  const crop = { x, y, width: Math.max(1, right - x), height: Math.max(1, bottom - y) };
  const width = Math.max(crop.width, PICTURE_LEAST);
  const lines = legendLines(shown, width - 2 * PICTURE_PAD);
  return { crop, lines, width, height: crop.height + PICTURE_PAD * 2 + LEGEND_LINE * (1 + lines.length) };
}

function titleOf({ view, slice }) {
  return [view.name, slice].filter(Boolean).join(", ");
}

function drawAround(sheet, stage, shown, { crop, lines, width }) {
  drawScaleBar(sheet, stage.place.zoom, shown.view, crop);
  drawSides(sheet, shown.view.letters, crop);
  drawLegend(sheet, shown, lines, crop.height + PICTURE_PAD, width - 2 * PICTURE_PAD);
}

// --- the picture as vectors

// Pictures keep their own pixels, and lines run along the borders of items, in units of items.
function drawVectors(sheet, stage, crop, bare) {
  const { scene, size } = stage;
  const { zoom, left, top } = stage.place;
  const [over, down] = [(crop.x - left) / zoom, (crop.y - top) / zoom];
  const box = { left: over, top: down, right: over + crop.width / zoom, bottom: down + crop.height / zoom };
  const fine = Object.assign(Object.create(stage), { ratio: PICTURE_SCALE });
  sheet.group({ transform: `translate(${left - crop.x} ${top - crop.y}) scale(${zoom})` }, () => {
    if (scene.image) sheet.add("image", raster(scene.image, size, box, fine.isSmooth(scene.image, 3)));
    else sheet.box(0, 0, size.width, size.height, NO_IMAGE);
    if (bare) return;
    if (scene.heat) sheet.add("image", { ...raster(scene.heat, size, box, fine.isSmooth(scene.heat, 1)), opacity: scene.opacity });
    if (scene.heat && scene.between) addHatching(sheet, raster(scene.between, size, box, false), scene.opacity, stage.place);
    const unit = 1 / (zoom * PICTURE_SCALE);
    for (const { chains, pens, look } of stage.lineWork(PICTURE_SCALE)) {
      addPaths(sheet, chains, pens, { aspect: scene.grid.aspect, unit, box }, look);
    }
  });
  if (!bare) sheet.group({ transform: `translate(${-crop.x} ${-crop.y})` }, () => stage.drawMarks(sheet));
}

// The pixels of a picture that are seen, and one around for what is drawn between pixels: the rest of it is not saved.
function raster(picture, { width, height }, box, smooth) {
  const [across, down] = [picture.width / width, picture.height / height];
  const [x, y] = [Math.max(Math.floor(box.left * across) - 1, 0), Math.max(Math.floor(box.top * down) - 1, 0)];
  const canvas = document.createElement("canvas");
  canvas.width = Math.min(Math.ceil(box.right * across) + 1, picture.width) - x;
  canvas.height = Math.min(Math.ceil(box.bottom * down) + 1, picture.height) - y;
  canvas.getContext("2d").drawImage(picture, -x, -y);
  const href = canvas.toDataURL("image/png");
  if (href === "data:,") throw new Error("the picture is too large");
  const place = { x: x / across, y: y / down, width: canvas.width / across, height: canvas.height / down };
  return { ...place, preserveAspectRatio: "none", "xlink:href": href, ...(smooth ? {} : { "image-rendering": "pixelated" }) };
}

function addHatching(sheet, where, opacity, { zoom, left, top }) {
  const { size, width, colour } = HATCHING;
  const outer = sheet.into;
  const tile = { x: -left / zoom, y: -top / zoom, width: size / zoom, height: size / zoom };
  sheet.into = sheet.add("pattern", { id: "hatching", patternUnits: "userSpaceOnUse", ...tile, viewBox: `0 0 ${size} ${size}` });
  sheet.lines([-size, 0, size].map((shift) => [shift - 1, size + 1, shift + size + 1, -1]), { width, colour });
  sheet.into = outer;
  sheet.into = sheet.add("mask", { id: "between" });
  sheet.add("image", where);
  sheet.into = outer;
  const { x, y, width: wide, height: high } = where;
  sheet.add("rect", { x, y, width: wide, height: high, fill: "url(#hatching)", mask: "url(#between)", opacity });
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

function drawScaleBar(sheet, zoom, view, { width, height }) {
  const bar = scaleBar(zoom, view, width);
  if (!bar) return;
  const [x, y] = [PICTURE_PAD, height - PICTURE_PAD];
  sheet.box(x - 2, y - 6, bar.length + 4, 8, "#000", 0.65);
  sheet.box(x, y - 4, bar.length, 4, "#fff");
  sheet.text(bar.words, x, y - 11, HALO_TEXT);
}

// Which side of the patient is where.
function drawSides(sheet, letters, { width, height }) {
  if (!letters) return;
  const places = [[PICTURE_PAD, height / 2], [width - PICTURE_PAD, height / 2], [width / 2, 22], [width / 2, height - PICTURE_PAD]];
  const sides = ["left", "right", "center", "center"];
  letters.forEach((letter, side) => sheet.text(letter, ...places[side], { ...HALO_TEXT, side: sides[side] }));
}

// --- below it

// What is drawn, in lines that fit: each item has its words and how to draw its sign.
function legendLines({ view, columns, layer, threshold, bare }, width) {
  if (bare) return [];
  const named = columns.map((column) => {
    const who = view.columns[column];
    const words = columnTitle(view, who) + (who.empty ? " (marked nothing)" : "");
    return { words, sign: (sheet, x, y) => drawLineSign(sheet, who, x, y), signWidth: LEGEND_SIGN };
  });
  const items = [...named, ...(layer ? legendParts(layer, threshold).map(layerItem) : [])];
  const lines = [];
  let room = 0;
  for (const item of items) {
    item.words = fitted(item.words, width - item.signWidth, LEGEND_TEXT);
    item.width = item.signWidth + widthOfText(item.words, LEGEND_TEXT) + 16;
    if (item.width > room || item.first) {
      lines.push([]);
      room = width + 16;
    }
    lines.at(-1).push(item);
    room -= item.width;
  }
  return lines;
}

function fitted(words, width, look) {
  if (widthOfText(words, look) <= width) return words;
  let shown = words;
  while (shown.length > 1 && widthOfText(`${shown}…`, look) > width) shown = shown.slice(0, -1);
  return `${shown}…`;
}

function layerItem({ words, colours, first }) {
  const each = colours.length > 2 ? 10 : 18;
  const sign = (sheet, x, y) => colours.forEach((colour, place) => sheet.box(x + place * each, y - 10, each + 0.5, 12, colour));
  return { words, sign, signWidth: colours.length ? colours.length * each + 6 : 0, first };
}

function drawLineSign(sheet, who, x, y) {
  const ends = [[x, y - 4, x + SIGN_LINE, y - 4]];
  // on a dark line as on the picture: some are white
  sheet.lines(ends, { width: 6, colour: "#000", opacity: 0.62 });
  sheet.lines(ends, { width: 3, colour: who.colour, dashes: dashArray(who) });
}

function drawLegend(sheet, shown, lines, top, width) {
  let y = top + LEGEND_LINE - 5;
  sheet.text(fitted(titleOf(shown), width, TITLE_TEXT), PICTURE_PAD, y, TITLE_TEXT);
  for (const line of lines) {
    y += LEGEND_LINE;
    let x = PICTURE_PAD;
    for (const item of line) {
      item.sign(sheet, x, y);
      sheet.text(item.words, x + item.signWidth, y, LEGEND_TEXT);
      x += item.width;
    }
  }
}
