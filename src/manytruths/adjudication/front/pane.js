// One picture on the stage: a plane of a series, with the outlines, cross and tools that lie on it.
import { paintSlice, windowOf } from "./blocks.js";
import { say } from "./words.js";

const LINE = { thin: 1.25, plain: 2, bold: 2.75, halo: 2 };
const INSET = 2.6;
const CROSS = { free: 20, arm: 26 };
const TAG_DISTANCE = 15;
const OVERVIEW_SIDE = 112;
const EDGE = 12;
// Of the tools that lie on the main pane.
const TOOLS_WIDTH = matchMedia("(pointer: coarse)").matches ? 64 : 54;
// From this size on screen on, pixels are shown as such where outlines are drawn.
const PIXEL_SIDE = 8;

export class Pane {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.kept = { key: "", picture: null };
  }

  // `plane` and the number of the series; `factor` shrinks smaller panes, so that all show the same part.
  set({ plane, series, factor, main }) {
    Object.assign(this, { plane, series, factor, main });
  }

  measure() {
    const { clientWidth, clientHeight } = this.canvas;
    this.ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.max(1, Math.round(clientWidth * this.ratio)), Math.max(1, Math.round(clientHeight * this.ratio))];
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    Object.assign(this, { width: clientWidth, height: clientHeight });
  }

  // From columns and rows of the block to pixels of the page: x = left + across · column, y = top + down · row.
  placing(scene) {
    const { plane } = this;
    const zoom = scene.camera.zoom * this.factor;
    const across = zoom * scene.sides[plane.columns] * (plane.flipColumns ? -1 : 1);
    const down = zoom * scene.sides[plane.rows] * (plane.flipRows ? -1 : 1);
    const { centre } = scene.camera;
    return { across, down, left: this.width / 2 - across * centre[plane.columns], top: this.height / 2 - down * centre[plane.rows] };
  }

  toBlock(scene, x, y) {
    const { across, down, left, top } = this.placing(scene);
    return { column: (x - left) / across, row: (y - top) / down };
  }

  toScreen(placing, { column, row }) {
    return { x: placing.left + placing.across * column, y: placing.top + placing.down * row };
  }

  slice(scene) {
    return scene.point[this.plane.across];
  }

  draw(scene) {
    this.measure();
    const { context, ratio } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (!scene?.item) return;
    const placing = this.placing(scene);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawPicture(scene, placing);
    if (!scene.bare) {
      this.drawMarks(scene, placing);
      this.drawTools(scene, placing);
      // nothing can be drawn beyond the block
      if (scene.item.tiles && scene.pixels) this.drawFrame(scene, placing, scene.item.shape.map((size) => [0, size]));
      if (scene.item.unit === "tile") this.drawFrame(scene, placing, scene.item.box);
      else if (scene.cross) this.drawCross(scene, placing);
    }
    this.drawGuides(scene, placing);
  }

  // --- the image

  drawPicture(scene, placing) {
    const { context } = this;
    const { shape } = scene.item;
    const block = scene.blocks[this.series];
    const [columns, rows] = [shape[this.plane.columns], shape[this.plane.rows]];
    if (!block) {
      const { x, y } = this.toScreen(placing, { column: 0, row: 0 });
      context.fillStyle = "#22272e";
      context.fillRect(x, y, columns * placing.across, rows * placing.down);
      return;
    }
    if (scene.item.tiles && this.series === 0) this.drawAround(scene, placing, block);
    const map = (axis) => seriesMap(scene.item, block, axis);
    const [acrossMap, rowMap, columnMap] = [this.plane.across, this.plane.rows, this.plane.columns].map(map);
    const slice = Math.floor((this.slice(scene) + 0.5) * acrossMap.scale + acrossMap.shift);
    if (slice < 0 || slice >= block.shape[this.plane.across]) return;
    const picture = this.pictureOf(scene, block, slice);
    const sizes = { x: placing.across / columnMap.scale, y: placing.down / rowMap.scale };
    const start = this.toScreen(placing, { column: -columnMap.shift / columnMap.scale, row: -rowMap.shift / rowMap.scale });
    context.save();
    context.translate(start.x, start.y);
    context.scale(sizes.x, sizes.y);
    // as where images are read; pixels are seen where they are drawn
    context.imageSmoothingEnabled = !scene.pixels || Math.abs(sizes.x) * this.ratio < PIXEL_SIDE;
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0);
    context.restore();
  }

  // What lies around the block of a large flat image: all of it coarsely, and tiles.
  drawAround(scene, placing, block) {
    const { item, overview } = scene;
    const { plane, context, ratio, width, height } = this;
    const start = this.toScreen(placing, { column: -item.view[plane.columns][0], row: -item.view[plane.rows][0] });
    context.imageSmoothingEnabled = true;
    if (overview) context.drawImage(overview.picture, start.x, start.y, item.full[plane.columns] * placing.across, item.full[plane.rows] * placing.down);
    const ends = windowOf(block, scene.own[item.series[this.series]] ?? scene.window);
    scene.tiles?.draw(context, item, plane, placing, { width, height, ratio }, ends);
  }

  pictureOf(scene, block, slice) {
    const ends = windowOf(block, scene.own[scene.item.series[this.series]] ?? scene.window);
    const key = [scene.item.id, this.series, this.plane.across, slice, ends.low, ends.high].join(" ");
    if (this.kept.key !== key) this.kept = { key, picture: paintSlice(block, this.plane, slice, ends) };
    return this.kept.picture;
  }

  // --- outlines

  drawMarks(scene, placing) {
    const { context, plane } = this;
    const turn = new DOMMatrix([placing.across, 0, 0, placing.down, placing.left, placing.top]);
    const slice = this.slice(scene);
    const shown = [];
    for (const mark of scene.marks) {
      const outline = mark.volume?.outline(plane, slice);
      if (!outline) continue;
      const path = mark.inset ? insetPath(outline, placing, mark.inset * this.insetStep(scene, placing)) : new Path2D();
      if (!mark.inset) path.addPath(outline.path, turn);
      shown.push({ ...mark, outline, path });
    }
    for (const { path, fill } of shown) {
      if (!fill) continue;
      context.fillStyle = fill === "hatched" ? hatchedPattern(context) : fill;
      context.fill(path, "evenodd");
    }
    context.lineJoin = "round";
    context.strokeStyle = "rgb(0 0 0 / 0.5)";
    context.setLineDash([]);
    for (const { path, line, opacity } of shown) {
      if (!line || opacity < 0.5) continue;
      context.lineWidth = LINE[line] + LINE.halo;
      context.stroke(path);
    }
    for (const { path, line, colour, dash, opacity } of shown) {
      if (!line) continue;
      context.globalAlpha = opacity;
      context.strokeStyle = colour;
      context.lineWidth = LINE[line];
      context.setLineDash(dash);
      context.stroke(path);
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    if (this.main) this.drawTags(shown, placing);
  }

  // Outlines that run along the same pixels lie beside each other, within a third of a pixel.
  insetStep({ marks }, { across, down }) {
    const most = Math.max(...marks.map(({ inset }) => inset ?? 0), 1);
    return Math.min(INSET, Math.min(Math.abs(across), Math.abs(down)) / 3 / most);
  }

  // Letters beside their outlines, each on a side of its own.
  drawTags(shown, placing) {
    const tagged = shown.filter((mark) => mark.tag && mark.opacity > 0.5);
    const taken = [];
    for (const { tag, colour, outline, turn } of tagged) {
      const [right, below] = [Math.cos(turn), Math.sin(turn)];
      let [best, furthest] = [null, -Infinity];
      for (let at = 0; at < outline.corners.length; at += 2) {
        const point = this.toScreen(placing, { column: outline.corners[at], row: outline.corners[at + 1] });
        const far = point.x * right + point.y * below;
        if (far > furthest) [best, furthest] = [point, far];
      }
      let [x, y] = [best.x + right * TAG_DISTANCE, best.y + below * TAG_DISTANCE];
      for (let tries = 0; tries < 8 && taken.some((other) => Math.hypot(other.x - x, other.y - y) < 17); tries++) {
        [x, y] = [x + right * 9, y + below * 9];
      }
      taken.push({ x, y });
      this.words(tag, x, y, { colour, align: "center", middle: true, weight: 700 });
    }
  }

  // --- cross, ruler, brush and polygon

  drawCross(scene, placing) {
    const { plane } = this;
    const { centre } = scene.item;
    const { x, y } = this.toScreen(placing, { column: centre[plane.columns] + 0.5, row: centre[plane.rows] + 0.5 });
    const here = centre[plane.across] === this.slice(scene);
    const half = Math.max(Math.abs(placing.across), Math.abs(placing.down)) / 2;
    const free = Math.max(CROSS.free * (this.main ? 1 : 0.6), half + 4);
    const end = free + CROSS.arm * (this.main ? 1 : 0.7);
    const arms = [[1, 0], [-1, 0], [0, 1], [0, -1]].map(([right, down]) => [x + right * free, y + down * free, x + right * end, y + down * end]);
    this.strokeLines(arms, { colour: "#fff", width: 2, opacity: here ? 1 : 0.4 });
  }

  // What is to be settled at once, where there are no lesions.
  drawFrame(scene, placing, box) {
    const [[top, bottom], [left, right]] = [box[this.plane.rows], box[this.plane.columns]];
    const start = this.toScreen(placing, { column: left, row: top });
    const end = this.toScreen(placing, { column: right, row: bottom });
    const sides = [[start.x, start.y, end.x, start.y], [end.x, start.y, end.x, end.y], [end.x, end.y, start.x, end.y], [start.x, end.y, start.x, start.y]];
    this.strokeLines(sides, { colour: "#fff", width: 1.5, opacity: 0.8 });
  }

  drawTools(scene, placing) {
    const { ruler, brush, polygon, cursor } = scene;
    if (ruler?.from && ruler.pane === this && ruler.slice === this.slice(scene)) this.drawRuler(scene, placing, ruler);
    if (polygon?.length && this.main) this.drawPolygon(placing, polygon);
    if (brush && this.main) this.drawBrush(scene, placing, brush);
    if (cursor && this.main) {
      const { x, y } = this.toScreen(placing, cursor);
      this.strokeLines([[x - 8, y, x - 3, y], [x + 3, y, x + 8, y], [x, y - 8, x, y - 3], [x, y + 3, x, y + 8]], { colour: "#f4ea4f", width: 1.75, opacity: 1 });
    }
  }

  drawRuler(scene, placing, { from, to }) {
    const [start, end] = [this.toScreen(placing, from), this.toScreen(placing, to)];
    this.strokeLines([[start.x, start.y, end.x, end.y]], { colour: "#f4ea4f", width: 1.75, opacity: 1 });
    for (const { x, y } of [start, end]) this.strokeLines([[x - 4, y, x + 4, y], [x, y - 4, x, y + 4]], { colour: "#f4ea4f", width: 1.75, opacity: 1 });
    this.words(rulerWords(scene, this.plane, { from, to }), end.x + 10, end.y - 8, { colour: "#f4ea4f", weight: 600 });
  }

  drawPolygon(placing, points) {
    const corners = points.map((point) => this.toScreen(placing, point));
    const sides = corners.slice(1).map((corner, at) => [corners[at].x, corners[at].y, corner.x, corner.y]);
    this.strokeLines(sides, { colour: "#fff", width: 1.75, opacity: 1 });
    for (const { x, y } of corners) this.strokeLines([[x - 2.5, y, x + 2.5, y]], { colour: "#fff", width: 5, opacity: 1 });
  }

  drawBrush(scene, placing, { at, radius, erase }) {
    const { context } = this;
    const { x, y } = this.toScreen(placing, at);
    const size = Math.max(2, radius * scene.camera.zoom * this.factor);
    for (const [colour, width] of [["rgb(0 0 0 / 0.7)", 3], [erase ? "#ff7d66" : "#fff", 1.25]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.arc(x, y, size, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  // --- what helps to know where one is

  drawGuides(scene, placing) {
    const { letters } = this.plane;
    if (letters) {
      const places = [[this.main ? TOOLS_WIDTH : EDGE, this.height / 2, "left"], [this.width - EDGE, this.height / 2, "right"], [this.width / 2, EDGE + 8, "center"], [this.width / 2, this.height - EDGE, "center"]];
      letters.forEach((letter, side) => this.words(letter, places[side][0], places[side][1], { align: places[side][2], colour: "#b9bdc6", weight: 600 }));
    }
    if (this.main) this.drawScale(scene, placing);
    if (this.main && !scene.bare) this.drawOverview(scene, placing);
    else if (scene.panes > 1 && !scene.bare && this.plane !== scene.planes[0]) this.drawLevel(scene, placing);
  }

  // Where the slice of the main pane crosses this plane.
  drawLevel(scene, placing) {
    const { across } = scene.planes[0];
    const at = scene.point[across] + 0.5;
    const sideways = this.plane.rows === across;
    const { x, y } = this.toScreen(placing, { column: at, row: at });
    const line = sideways ? [0, y, this.width, y] : [x, 0, x, this.height];
    this.strokeLines([line], { colour: "#f4ea4f", width: 1, opacity: 0.55, halo: false });
  }

  drawScale(scene, placing) {
    const known = Boolean(scene.item.spacing);
    const perUnit = scene.camera.zoom * this.factor;
    const most = this.width / 5 / perUnit;
    if (!(most > 0)) return;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].map((times) => times * power).find((long) => long <= most) ?? power;
    const [x, y, long] = [EDGE, this.height - EDGE, length * perUnit];
    this.strokeLines([[x, y, x + long, y]], { colour: "#fff", width: 3, opacity: 1 });
    this.words(`${Number(length.toPrecision(6))} ${say(known ? "unit.mm" : "unit.pixels")}`, x, y - 8, { colour: "#fff", weight: 600 });
  }

  // The whole slice in a corner with a frame around what is seen, where not all of it is.
  drawOverview(scene, placing) {
    const block = scene.blocks[this.series];
    const known = scene.overview;
    if (!block && !known) return;
    const { plane, context } = this;
    const start = this.toScreen(placing, { column: 0, row: 0 });
    const end = this.toScreen(placing, { column: scene.item.shape[plane.columns], row: scene.item.shape[plane.rows] });
    const whole = [start, end].every(({ x, y }) => x >= -2 && y >= -2 && x <= this.width + 2 && y <= this.height + 2);
    if (whole && !known) return;
    const picture = known?.picture ?? this.kept.picture;
    if (!picture) return;
    const frame = known?.frame ?? [[0, picture.height], [0, picture.width]];
    const tall = (picture.height * Math.abs(placing.down)) / (picture.width * Math.abs(placing.across));
    const [wide, high] = tall > 1 ? [OVERVIEW_SIDE / tall, OVERVIEW_SIDE] : [OVERVIEW_SIDE, OVERVIEW_SIDE * tall];
    if (this.width < 4 * wide) return;
    const [left, top] = [this.width - wide - EDGE, EDGE];
    context.save();
    context.translate(plane.flipColumns ? left + wide : left, plane.flipRows ? top + high : top);
    context.scale(plane.flipColumns ? -1 : 1, plane.flipRows ? -1 : 1);
    context.globalAlpha = 0.9;
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0, wide, high);
    context.globalAlpha = 1;
    context.strokeStyle = "rgb(255 255 255 / 0.45)";
    context.lineWidth = 1;
    context.strokeRect(0, 0, wide, high);
    const seen = [this.toBlock(scene, 0, 0), this.toBlock(scene, this.width, this.height)];
    const inside = (share, [from, to], most, size) => (size / most) * Math.min(most, Math.max(0, from + share * (to - from)));
    const xs = seen.map(({ column }) => inside(column / scene.item.shape[plane.columns], frame[1], picture.width, wide));
    const ys = seen.map(({ row }) => inside(row / scene.item.shape[plane.rows], frame[0], picture.height, high));
    context.strokeStyle = "#f4ea4f";
    context.lineWidth = 1.5;
    context.strokeRect(Math.min(...xs), Math.min(...ys), Math.abs(xs[1] - xs[0]), Math.abs(ys[1] - ys[0]));
    context.restore();
  }

  // --- ink

  strokeLines(lines, { colour, width, opacity, halo = true }) {
    const { context } = this;
    context.lineCap = "butt";
    context.globalAlpha = opacity;
    for (const [ink, wide] of halo ? [["rgb(0 0 0 / 0.75)", width + 2.5], [colour, width]] : [[colour, width]]) {
      context.strokeStyle = ink;
      context.lineWidth = wide;
      context.beginPath();
      for (const [x, y, endX, endY] of lines) {
        context.moveTo(x, y);
        context.lineTo(endX, endY);
      }
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  words(text, x, y, { colour, align = "left", weight = 400, middle = false }) {
    const { context } = this;
    context.font = `${weight} 13px system-ui, "Segoe UI", sans-serif`;
    context.textAlign = align;
    context.textBaseline = middle ? "middle" : "alphabetic";
    context.lineJoin = "round";
    context.lineWidth = 3.5;
    context.strokeStyle = "rgb(0 0 0 / 0.8)";
    context.strokeText(text, x, y);
    context.fillStyle = colour;
    context.fillText(text, x, y);
  }
}

// An outline moved inwards by so many pixels of the page.
function insetPath({ corners, starts, inwards }, { across, down, left, top }, by) {
  const path = new Path2D();
  for (let at = 0; at < corners.length; at += 2) {
    const x = left + across * corners[at] + Math.sign(across) * by * inwards[at];
    const y = top + down * corners[at + 1] + Math.sign(down) * by * inwards[at + 1];
    if (!starts.includes(at)) path.lineTo(x, y);
    else {
      if (at) path.closePath();
      path.moveTo(x, y);
    }
  }
  path.closePath();
  return path;
}

// From an index of the block to that of a series with pixels of its own: index · scale + shift.
function seriesMap(item, block, axis) {
  if (!block.scales) return { scale: 1, shift: 0 };
  const scale = block.scales[axis];
  return { scale, shift: item.view[axis][0] * scale + block.shifts[axis] - block.view[axis][0] };
}

export function rulerLength(scene, plane, { from, to }) {
  return Math.hypot((to.column - from.column) * scene.sides[plane.columns], (to.row - from.row) * scene.sides[plane.rows]);
}

function rulerWords(scene, plane, ends) {
  return `${rulerLength(scene, plane, ends).toFixed(1)} ${say(scene.item.spacing ? "unit.mm" : "unit.pixels")}`;
}

let keptHatching = null;

function hatchedPattern(context) {
  if (keptHatching) return keptHatching;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const ink = tile.getContext("2d");
  ink.strokeStyle = "rgb(255 255 255 / 0.85)";
  ink.lineWidth = 1.5;
  for (const shift of [-8, 0, 8]) {
    ink.moveTo(shift - 1, 9);
    ink.lineTo(shift + 9, -1);
  }
  ink.stroke();
  keptHatching = context.createPattern(tile, "repeat");
  return keptHatching;
}
