// The picture on its dark stage: drawing, zoom and pan.
import { hatching } from "./layers.js";
import { CanvasSheet } from "./sheets.js";
import { drawLesionMarks } from "./viewer-lesions.js";
import { brokenPen, LinePainter, pensOf, solidPen } from "./viewer-lines.js";
import { drawPlaceFrames } from "./viewer-places.js";

const STAGE_MARGIN = 14;
const MOST_ZOOM = 64;
// Of outlines, in pixels of the page; lines are half as thick where items are smaller than those, lest they hide all.
const PLAIN_LINE = { width: 2, halo: 1 };
const FAINT_LINE = { width: 2, halo: 1, opacity: 0.25 };
const BOLD_LINE = { width: 3, halo: 1 };
const THRESHOLD_LINE = { width: 2, halo: 1 };
const SMALL_ITEMS = 0.85;
export const NO_IMAGE = "#22272e";
// Of the picture that is shown around a lesion, in diameters of it.
const AROUND = 2.5;

// `scene` says what to draw: grid {columns, rows, aspect}, image, heat, between, opacity, outlines, columns, faint,
// highlight, threshold, marks, frames, cursor, bare. Places are in items of the map from the left and the top.
export class PictureStage {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.lines = document.createElement("canvas");
    this.place = { zoom: 1, left: 0, top: 0 };
    this.fitted = true;
    this.scene = null;
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  show(scene) {
    this.scene = scene;
    this.linesStale = true;
    this.request();
  }

  change(parts) {
    if (!this.scene) return;
    const { outlines, highlight, threshold } = this.scene;
    Object.assign(this.scene, parts);
    const { scene } = this;
    this.linesStale ||= outlines !== scene.outlines || highlight !== scene.highlight || threshold !== scene.threshold;
    this.request();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    this.ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(clientWidth * this.ratio));
    const height = Math.max(1, Math.round(clientHeight * this.ratio));
    for (const canvas of [this.canvas, this.lines]) Object.assign(canvas, { width, height });
    this.painter = new LinePainter(width, height);
    if (!this.scene) return;
    if (this.fitted) this.fit();
    else this.moved();
    this.draw();
  }

  get size() {
    const { columns, rows, aspect } = this.scene.grid;
    return { width: columns, height: rows * aspect };
  }

  fit() {
    if (!this.scene) return;
    const { clientWidth, clientHeight } = this.canvas;
    const { width, height } = this.size;
    const across = (clientWidth - 2 * STAGE_MARGIN) / width;
    const down = (clientHeight - 2 * STAGE_MARGIN) / height;
    const zoom = Math.max(Math.min(across, down), 0.01);
    this.place = { zoom, left: (clientWidth - width * zoom) / 2, top: (clientHeight - height * zoom) / 2 };
    this.fittedZoom = zoom;
    this.fitted = true;
    this.moved();
  }

  zoomBy(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    if (!this.scene) return;
    const { zoom, left, top } = this.place;
    const least = Math.min(this.fittedZoom, 1) / 2;
    const next = Math.min(Math.max(zoom * factor, least), Math.max(MOST_ZOOM, this.fittedZoom));
    const grown = next / zoom;
    this.place = { zoom: next, left: x - (x - left) * grown, top: y - (y - top) * grown };
    this.fitted = false;
    this.moved();
  }

  // A place in the middle, with room about what reaches so many items from it.
  zoomTo({ column, row, reach }) {
    if (!this.scene) return;
    const { clientWidth, clientHeight } = this.canvas;
    const wanted = Math.min(clientWidth, clientHeight) / (AROUND * 2 * Math.max(reach, 1));
    const zoom = Math.max(Math.min(wanted, MOST_ZOOM / 2), this.fittedZoom);
    const top = clientHeight / 2 - (row + 0.5) * zoom * this.scene.grid.aspect;
    this.place = { zoom, left: clientWidth / 2 - (column + 0.5) * zoom, top };
    this.fitted = false;
    this.moved();
  }

  panBy(right, down) {
    if (!this.scene) return;
    this.place.left += right;
    this.place.top += down;
    this.fitted = false;
    this.moved();
  }

  // The middle of the stage stays on the picture, so that it is never lost.
  moved() {
    const { zoom } = this.place;
    const { width, height } = this.size;
    const [x, y] = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2];
    this.place.left = Math.min(Math.max(this.place.left, x - width * zoom), x);
    this.place.top = Math.min(Math.max(this.place.top, y - height * zoom), y);
    this.linesStale = true;
    this.request();
  }

  // The item under a point of the window, or null beside the picture.
  itemAt(clientX, clientY) {
    if (!this.scene) return null;
    const box = this.canvas.getBoundingClientRect();
    const { columns, rows, aspect } = this.scene.grid;
    const { zoom, left, top } = this.place;
    const column = Math.floor((clientX - box.left - left) / zoom);
    const row = Math.floor((clientY - box.top - top) / (zoom * aspect));
    return column >= 0 && row >= 0 && column < columns && row < rows ? { column, row } : null;
  }

  itemInMiddle() {
    const box = this.canvas.getBoundingClientRect();
    return this.itemAt(box.left + box.width / 2, box.top + box.height / 2);
  }

  // Moves the picture as little as needed to see an item.
  reveal({ column, row }) {
    const { zoom, left, top } = this.place;
    const x = left + (column + 0.5) * zoom;
    const y = top + (row + 0.5) * zoom * this.scene.grid.aspect;
    const inside = (value, length) => Math.min(Math.max(value, STAGE_MARGIN), length - STAGE_MARGIN);
    const [right, down] = [inside(x, this.canvas.clientWidth) - x, inside(y, this.canvas.clientHeight) - y];
    if (right || down) this.panBy(right, down);
  }

  request() {
    if (this.requested) return;
    this.requested = requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.requested);
    this.requested = 0;
    const { context, canvas, scene } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!scene || !this.ratio) return;
    this.toPicture(context, this.place);
    this.drawPicture();
    if (scene.bare) return;
    this.drawHeat();
    this.drawLines();
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.drawMarks(new CanvasSheet(context));
  }

  // Frames of places, numbers of lesions and the reading cross.
  drawMarks(sheet) {
    const { scene, place } = this;
    if (scene.frames) drawPlaceFrames(sheet, scene.frames, place, scene.grid.aspect);
    if (scene.marks) drawLesionMarks(sheet, scene.marks, place, scene.grid.aspect);
    if (scene.cursor) this.drawCursor(sheet);
  }

  // What the stage shows, drawn anew with so many pixels for each of the page.
  copy(ratio) {
    const { clientWidth, clientHeight } = this.canvas;
    const [width, height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    const [canvas, lines] = [document.createElement("canvas"), document.createElement("canvas")];
    for (const each of [canvas, lines]) Object.assign(each, { width, height });
    const parts = { canvas, lines, context: canvas.getContext("2d"), painter: new LinePainter(width, height) };
    const other = Object.assign(Object.create(PictureStage.prototype), this, parts, { ratio, linesStale: true, requested: 0 });
    other.draw();
    return canvas;
  }

  // Whether a picture is drawn with passages between its pixels: where they are not much larger than those of the screen.
  isSmooth(picture, most) {
    return (this.place.zoom * this.ratio * this.size.width) / picture.width < most;
  }

  toPicture(context, { zoom, left, top }) {
    context.setTransform(zoom * this.ratio, 0, 0, zoom * this.ratio, left * this.ratio, top * this.ratio);
  }

  drawPicture() {
    const { context, scene } = this;
    const { width, height } = this.size;
    if (!scene.image) {
      context.fillStyle = NO_IMAGE;
      context.fillRect(0, 0, width, height);
      return;
    }
    context.imageSmoothingEnabled = this.isSmooth(scene.image, 3);
    context.imageSmoothingQuality = "high";
    context.drawImage(scene.image, 0, 0, width, height);
  }

  drawHeat() {
    const { context, scene } = this;
    if (!scene.heat) return;
    const { width, height } = this.size;
    context.imageSmoothingEnabled = this.isSmooth(scene.heat, 1);
    context.globalAlpha = scene.opacity;
    context.drawImage(scene.heat, 0, 0, width, height);
    if (scene.between) this.drawHatching(width, height);
    context.globalAlpha = 1;
  }

  drawHatching(width, height) {
    const layer = document.createElement("canvas");
    [layer.width, layer.height] = [this.canvas.width, this.canvas.height];
    const drawing = layer.getContext("2d");
    this.toPicture(drawing, this.place);
    drawing.imageSmoothingEnabled = false;
    drawing.drawImage(this.scene.between, 0, 0, width, height);
    drawing.setTransform(1, 0, 0, 1, 0, 0);
    drawing.globalCompositeOperation = "source-in";
    drawing.fillStyle = hatching(drawing, this.ratio);
    drawing.fillRect(0, 0, layer.width, layer.height);
    this.context.save();
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.drawImage(layer, 0, 0);
    this.context.restore();
  }

  // Kept while nothing moves, so that a map can change below them.
  drawLines() {
    if (this.linesStale) this.paintLines();
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.drawImage(this.lines, 0, 0);
  }

  paintLines() {
    const { zoom, left, top } = this.place;
    const { ratio } = this;
    const place = { zoom: zoom * ratio, left: left * ratio, top: top * ratio };
    this.painter.clear();
    for (const { chains, pens, look } of this.lineWork(ratio)) this.painter.paint(chains, this.scene.grid, place, pens, look);
    this.lines.getContext("2d").putImageData(this.painter.picture, 0, 0);
    this.linesStale = false;
  }

  // Chains, pens and looks of all lines, the lowest first, with so many pixels for each of the page.
  lineWork(ratio) {
    const { outlines, highlight, threshold, columns } = this.scene;
    const size = this.place.zoom < SMALL_ITEMS ? ratio / 2 : ratio;
    const work = (chains, pens, { width, halo = 0, opacity = 1 }) => {
      return { chains, pens, look: { thickness: Math.round(width * size), halo: Math.round(halo * size), opacity } };
    };
    const outlined = (chains, line) => work(chains, pensOf(chains.sets, columns, ratio), line);
    return [
      threshold && work(threshold, [null, solidPen("#ffffff")], THRESHOLD_LINE),
      outlines && outlined(outlines, highlight ? FAINT_LINE : PLAIN_LINE),
      highlight && outlined(highlight, BOLD_LINE),
      // whole below the outlines and in dashes above them: where they fall together, all are seen
      threshold && work(threshold, [null, brokenPen("#ffffff", 5 * ratio, 14 * ratio)], { width: 2 }),
    ].filter(Boolean);
  }

  // A cross with a free middle, so that the item itself is seen.
  drawCursor(sheet) {
    const { place, scene } = this;
    const { column, row } = scene.cursor;
    const x = place.left + (column + 0.5) * place.zoom;
    const y = place.top + (row + 0.5) * place.zoom * scene.grid.aspect;
    const free = Math.max(4, place.zoom / 2 + 2);
    const ends = [[1, 0], [-1, 0], [0, 1], [0, -1]].map(([right, down]) => {
      return [x + right * free, y + down * free, x + right * (free + 12), y + down * (free + 12)];
    });
    sheet.lines(ends, { width: 4, colour: "#000", opacity: 0.7 });
    sheet.lines(ends, { width: 1.6, colour: "#fff" });
  }
}
