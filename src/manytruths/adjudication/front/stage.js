// The stage: panes in a layout, and the one camera that all of them follow.
import { windowOf } from "./blocks.js";
import { pageNode } from "./nodes.js";
import { Pane } from "./pane.js";
import { Tiles } from "./tiles.js";
import { say } from "./words.js";

const MOST_ZOOM = 48;
const FIRST_SIDE = 200;
// Of a close look at outlines: the share of the pane that they fill, and the most pixels of the page for one of the image.
const NEAR_SHARE = 0.45;
const WHOLE_SHARE = 0.72;
const NEAR_PIXELS = 22;
const LAYOUTS = ["planes", "single", "series"];

export class Stage {
  constructor(root) {
    this.root = root;
    this.scene = { item: null, marks: [], planes: [], camera: { centre: [0, 0, 0], zoom: 0 }, zooms: { look: 0, closer: 0 }, window: null, own: {} };
    this.layout = "planes";
    this.panes = [];
    this.scene.tiles = new Tiles((path) => this.readTile(path), () => this.request());
    new ResizeObserver(() => this.resized()).observe(root);
  }

  // Layouts that differ for what there is to see.
  get layouts() {
    const { item, blocks } = this.scene;
    return LAYOUTS.filter((name) => name === "single" || (name === "planes" ? item.volume : blocks.length > 1));
  }

  show(item, blocks, overview) {
    const sides = item.spacing ?? [1, 1, 1];
    this.scene = {
      ...this.scene, item, blocks, overview, sides, planes: item.planes, point: middleOf(item).map(Math.floor), marks: [],
      camera: { centre: middleOf(item), zoom: 1 }, moved: false, ruler: null, brush: null, polygon: null, cursor: null, bare: false, pixels: false,
    };
    this.arrange();
    this.stepBack();
  }

  // Little is shown beside the block, and it stands in the middle where all of it is seen.
  keepInside() {
    const { scene, main } = this;
    main.measure();
    for (const [axis, size] of [[main.plane.columns, main.width], [main.plane.rows, main.height]]) {
      const half = size / (2 * scene.camera.zoom * scene.sides[axis]);
      const [start, stop] = this.reach(axis);
      const most = stop - start;
      const least = Math.min(0.8 * half, most / 2);
      scene.camera.centre[axis] = 2 * half >= most ? (start + stop) / 2 : Math.min(Math.max(scene.camera.centre[axis], start + least), stop - least);
    }
  }

  // What can be seen along an axis, in pixels of the block: the block, or all of an image that has tiles.
  reach(axis) {
    const { item } = this.scene;
    const from = item.tiles ? item.view[axis][0] : 0;
    return [-from, (item.tiles ? item.full : item.shape)[axis] - from];
  }

  // At first so much around the cross as gives an idea of the place, the same for all sizes of lesions.
  firstZoom(item, sides) {
    const { rows, columns } = item.planes[0];
    const { clientWidth, clientHeight } = this.root;
    if (item.unit === "tile") {
      const room = (axis, size) => (WHOLE_SHARE * size) / ((item.box[axis][1] - item.box[axis][0]) * sides[axis]);
      return Math.min(room(columns, clientWidth), room(rows, clientHeight));
    }
    const share = item.volume ? 0.62 : 1;
    const most = Math.max(...[rows, columns].map((axis) => this.reach(axis)[1] - this.reach(axis)[0]));
    const side = Math.min(Math.max(FIRST_SIDE, this.field ?? 0), most);
    return (0.92 * Math.min(clientWidth * share, clientHeight)) / (side * Math.min(sides[rows], sides[columns]));
  }

  arrange() {
    const { layouts } = this;
    if (!layouts.includes(this.layout)) this.layout = layouts[0];
    const { planes, blocks } = this.scene;
    const shown = { single: [[0, 0]], planes: [[0, 0], [1, 0], [2, 0]], series: blocks.map((_, series) => [0, series]) }[this.layout];
    const key = `${this.layout} ${shown.length}`;
    if (this.root.dataset.panes !== key) {
      this.root.dataset.panes = key;
      this.root.dataset.layout = this.layout;
      this.panes = shown.map((_, number) => this.makePane(number));
      this.root.replaceChildren(...this.panes.map((pane) => pane.holder));
    }
    shown.forEach(([plane, series], number) => {
      const pane = this.panes[number];
      pane.set({ plane: planes[plane], series, factor: 1, main: number === 0 });
      const name = this.layout === "series" ? this.scene.item.series[series] : this.layout === "planes" ? say(`plane.${planes[plane].name}`) : "";
      pane.name.textContent = name ?? "";
    });
    this.scene.panes = shown.length;
    this.request();
  }

  makePane(number) {
    const canvas = pageNode("canvas", { class: "pane-picture", ...(number ? {} : { tabindex: 0, role: "img" }) });
    const pane = new Pane(canvas);
    pane.name = pageNode("span", { class: "pane-name" });
    pane.place = pageNode("span", { class: "pane-place" });
    pane.holder = pageNode("div", { class: number ? "pane" : "pane main-pane" }, canvas, pane.name, pane.place);
    this.watch?.(pane);
    return pane;
  }

  get main() {
    return this.panes[0];
  }

  change(parts) {
    Object.assign(this.scene, parts);
    this.request();
  }

  request() {
    this.requested ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.requested);
    this.requested = 0;
    if (!this.scene.item) return;
    for (const pane of this.panes) pane.measure();
    const [main, ...others] = this.panes;
    const least = (pane) => Math.min(pane.width, pane.height);
    for (const pane of others) pane.factor = this.layout === "planes" ? Math.max(0.3, least(pane) / Math.max(1, least(main))) : 1;
    for (const pane of this.panes) {
      pane.draw(this.scene);
      pane.place.textContent = this.placeWords(pane);
    }
  }

  placeWords(pane) {
    const { item, blocks } = this.scene;
    const parts = [];
    const slices = item.full[pane.plane.across];
    if (slices > 1) parts.push(say("stage.slice", { at: pane.slice(this.scene) + item.view[pane.plane.across][0] + 1, of: slices }));
    const block = blocks[pane.series];
    if (block && (pane.main || this.layout === "series") && (block.windows.length || this.scene.own[this.scene.item.series[pane.series]])) {
      const { low, high } = this.windowOf(pane.series);
      parts.push(say("stage.window", { level: roundFor((low + high) / 2, high - low), width: roundFor(high - low, high - low) }));
    }
    return parts.join("\n");
  }

  // --- moving

  zoomBy(factor, pane = this.main, x = pane.width / 2, y = pane.height / 2) {
    const { scene } = this;
    const before = pane.toBlock(scene, x, y);
    const sides = scene.sides.filter((side) => side > 0);
    const least = (0.5 * Math.min(this.main.width, this.main.height)) / Math.max(...scene.sides.map((side, axis) => (this.reach(axis)[1] - this.reach(axis)[0]) * side));
    scene.camera.zoom = Math.min(Math.max(scene.camera.zoom * factor, least), Math.max(least, MOST_ZOOM / Math.min(...sides)));
    this.keepZoom(scene.camera.zoom);
    const after = pane.toBlock(scene, x, y);
    this.moveTo(pane.plane, before.column - after.column, before.row - after.row);
  }

  panBy(pane, right, down) {
    const { across, down: below } = pane.placing(this.scene);
    this.moveTo(pane.plane, -right / across, -down / below);
  }

  // The middle of the stage stays on the block.
  moveTo(plane, columns, rows) {
    const { centre } = this.scene.camera;
    this.scene.moved = true;
    for (const [axis, by] of [[plane.columns, columns], [plane.rows, rows]]) {
      const [start, stop] = this.reach(axis);
      centre[axis] = Math.min(Math.max(centre[axis] + by, start), stop);
    }
    this.request();
  }

  // The whole image; once more, back to where the page had zoomed by itself.
  fit() {
    const { scene, main } = this;
    const { rows, columns } = main.plane;
    const middle = (axis) => (this.reach(axis)[0] + this.reach(axis)[1]) / 2;
    const sizes = [[columns, main.width], [rows, main.height]].map(([axis, size]) => size / ((this.reach(axis)[1] - this.reach(axis)[0]) * scene.sides[axis]));
    const whole = 0.96 * Math.min(...sizes);
    const seen = [rows, columns].every((axis) => scene.camera.centre[axis] === middle(axis));
    const back = seen && scene.camera.zoom === whole;
    // the whole image at one dispute's outlines is not wanted for those of the next
    if (back || !scene.close) this.keepZoom(back ? 0 : whole);
    if (!back) {
      scene.moved = true;
      scene.camera.zoom = whole;
      for (const axis of [rows, columns]) scene.camera.centre[axis] = middle(axis);
    } else if (scene.close) this.reveal(scene.close);
    else this.stepBack();
    this.request();
  }

  // Where nobody has moved the image, all that is to be seen stays in sight.
  resized() {
    const { item, moved, close } = this.scene;
    if (!item || moved) this.request();
    else if (close) this.reveal(close);
    else this.stepBack();
  }

  // As at the first look.
  stepBack() {
    const { scene } = this;
    Object.assign(scene, { close: null, moved: false });
    scene.camera = { centre: middleOf(scene.item), zoom: scene.zooms.look || this.firstZoom(scene.item, scene.sides) };
    this.keepInside();
    this.request();
  }

  // What was chosen stays: a zoom for all first looks, as a close look is no place to search from, and for all outlines how much closer than the page goes by itself, as lesions differ in size.
  keepZoom(zoom) {
    const { scene } = this;
    scene.zooms = { ...scene.zooms, ...(scene.close ? { closer: zoom / this.nearZoom(scene.close) } : { look: zoom }) };
  }

  // How close the page goes to a box by itself.
  nearZoom(box) {
    const { scene, main } = this;
    const { rows, columns } = main.plane;
    const wide = scene.zooms.look || this.firstZoom(scene.item, scene.sides);
    return Math.max(wide, Math.min(this.room(box, NEAR_SHARE), NEAR_PIXELS / Math.min(scene.sides[rows], scene.sides[columns])));
  }

  // The zoom at which a box fills a share of the main pane.
  room(box, share) {
    const { scene, main } = this;
    const { rows, columns } = main.plane;
    return Math.min(...[[columns, main.width], [rows, main.height]].map(([axis, size]) => (share * size) / Math.max(1, (box[axis][1] - box[axis][0]) * scene.sides[axis])));
  }

  // A close look at a box of the block, which is seen whole.
  reveal(box) {
    const { scene, main } = this;
    Object.assign(scene, { close: box, moved: false });
    main.measure();
    scene.camera.zoom = Math.min((scene.zooms.closer || 1) * this.nearZoom(box), this.room(box, WHOLE_SHARE));
    scene.camera.centre = box.map(([start, stop]) => (start + stop) / 2);
    this.keepInside();
    this.request();
  }

  sliceBy(steps, pane = this.main) {
    const { across } = pane.plane;
    this.setSlice(across, this.scene.point[across] + (pane.plane.flipSlices ? -steps : steps));
  }

  setSlice(axis, at) {
    const { shape } = this.scene.item;
    this.scene.point[axis] = Math.min(Math.max(Math.round(at), 0), shape[axis] - 1);
    this.request();
  }

  // The planes of the other panes go through a point.
  pointAt(pane, { column, row }) {
    this.setSlice(pane.plane.columns, Math.floor(column));
    this.setSlice(pane.plane.rows, Math.floor(row));
  }

  // Back to the lesion, where the slices that are shown have nothing of a box.
  turnTo(box) {
    const { item, point } = this.scene;
    const middle = middleOf(item);
    box.forEach(([start, stop], axis) => {
      if (point[axis] < start || point[axis] >= stop) this.setSlice(axis, Math.floor(middle[axis]));
    });
  }

  nextLayout() {
    const { layouts } = this;
    this.layout = layouts[(layouts.indexOf(this.layout) + 1) % layouts.length];
    this.arrange();
    return this.layout;
  }

  // --- windows

  get windowNames() {
    return this.scene.blocks?.[0]?.windows.map(({ name }) => name) ?? [];
  }

  // Of a series: the one that was dragged for it, or the one that was chosen for all.
  windowOf(series) {
    return windowOf(this.scene.blocks[series], this.scene.own[this.scene.item.series[series]] ?? this.scene.window);
  }

  chooseWindow(name) {
    this.change({ window: { name }, own: {} });
  }

  nextWindow() {
    const { windowNames: names } = this;
    if (!names.length) return null;
    const now = names.indexOf(this.windowOf(0).name);
    this.chooseWindow(names[(now + 1) % names.length]);
    return names[(now + 1) % names.length];
  }

  // To the right wider, downwards darker.
  dragWindow(right, down, series = 0) {
    const block = this.scene.blocks[series];
    if (!block) return;
    const { low, high } = this.windowOf(series);
    const whole = block.windows.reduce((most, each) => Math.max(most, each.high - each.low), 0) || 255;
    const width = Math.max((high - low) * Math.exp(right / 200), whole / 1000);
    const level = (low + high) / 2 + (down / 400) * Math.max(high - low, whole / 50);
    const own = { name: null, low: level - width / 2, high: level + width / 2 };
    this.change({ own: { ...this.scene.own, [this.scene.item.series[series]]: own } });
  }
}

// The cross, or the middle of the frame, which does not tell where the marks in it are.
function middleOf({ unit, centre, box }) {
  return unit === "tile" ? box.map(([start, stop]) => (start + stop) / 2) : centre.map((at) => at + 0.5);
}

function roundFor(value, span) {
  return Number(value.toFixed(span > 20 ? 0 : span > 2 ? 1 : 3));
}
