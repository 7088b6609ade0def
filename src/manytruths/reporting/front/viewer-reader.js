// Reading pixels: what is under the pointer, else what the cross is on.
import { keepHeight, makeRoom, readOut, showReadOut, spokenReadOut } from "./viewer-readout.js";

const ANNOUNCE_MS = 400;

export class PixelReader {
  constructor(stage, box, announcement) {
    Object.assign(this, { stage, box, announcement, view: null, slice: 0, cursor: null });
  }

  // Another case; the cross goes, for it was put onto something in the last one.
  use(view) {
    Object.assign(this, { view, slice: 0, cursor: null, shown: null, last: null });
    clearTimeout(this.waiting);
  }

  // For a case that is laid out, and when the window has another size.
  measure() {
    if (!this.view) return;
    makeRoom(this.box, this.view);
    this.shown = null;
    this.hover(this.last);
  }

  // The pointer may rest on the picture while slices turn.
  useSlice(slice) {
    this.slice = slice;
    this.hover(this.last);
  }

  // More has become known about what is read.
  again() {
    const [shown, last] = [this.shown, this.last];
    this.shown = null;
    if (shown) this.hover(last);
  }

  hover(item) {
    if (!this.view) return;
    const read = item ?? this.cursor;
    const key = read ? `${read.column} ${read.row} ${this.slice}` : "";
    if (this.shown !== key) {
      showReadOut(this.box, read ? this.reading(read) : null);
      keepHeight(this.box);
    }
    this.shown = key;
    this.last = item;
  }

  reading({ column, row }) {
    return readOut(this.view, column * this.view.step, row * this.view.step, this.view.first + this.slice);
  }

  // Spoken a moment after the cross has come to rest, never for the pointer: that would not end.
  setCursor(item) {
    if (!this.view) return;
    this.cursor = item;
    this.stage.change({ cursor: item });
    this.hover(item);
    clearTimeout(this.waiting);
    if (item) this.waiting = setTimeout(() => this.announce(item), ANNOUNCE_MS);
  }

  announce(item) {
    this.announcement.textContent = spokenReadOut(this.reading(item));
  }

  moveCursor([right, down]) {
    if (!this.view) return;
    const [, rows, columns] = this.view.shape;
    const from = this.cursor ?? this.stage.itemInMiddle() ?? { column: 0, row: 0 };
    const inside = (value, count) => Math.min(Math.max(value, 0), count - 1);
    const item = { column: inside(from.column + right, columns), row: inside(from.row + down, rows) };
    this.setCursor(item);
    this.stage.reveal(item);
  }
}
