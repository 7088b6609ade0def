// What the adjudicator draws: brush, eraser and polygon in one plane, with undo and redo of every stroke.
import { stridesOf } from "./blocks.js";
import { fillRuns, runsOfValues, traceOutline } from "./marks.js";

const MOST_STROKES = 200;

export class Drawing {
  // `shape` of the block, `runs` to begin with, `sides` the size of a voxel along each axis; `kept` if somebody drew the runs.
  constructor(shape, runs, sides) {
    Object.assign(this, { shape, sides, strides: stridesOf(shape), done: [], undone: [], stroke: null, kept: false });
    this.values = fillRuns(new Uint8Array(shape[0] * shape[1] * shape[2]), runs);
  }

  get empty() {
    return this.values.every((value) => value === 0);
  }

  runs() {
    return runsOfValues(this.values);
  }

  begin(plane, slice, value) {
    this.stroke = { plane, slice, value, before: new Map() };
  }

  // From one point of the plane to another ({row, column}, in pixels), as wide as a circle of this radius, in mm.
  brush(from, to, radius) {
    const { plane } = this.stroke;
    const [high, wide] = [this.sides[plane.rows], this.sides[plane.columns]];
    const [rows, columns] = [this.shape[plane.rows], this.shape[plane.columns]];
    const span = (one, other, side, most) => {
      const reach = radius / side + 1;
      return [Math.max(0, Math.floor(Math.min(one, other) - reach)), Math.min(most - 1, Math.ceil(Math.max(one, other) + reach))];
    };
    const [top, bottom] = span(from.row, to.row, high, rows);
    const [left, right] = span(from.column, to.column, wide, columns);
    const start = { x: from.column * wide, y: from.row * high };
    const end = { x: to.column * wide, y: to.row * high };
    for (let row = top; row <= bottom; row++) {
      for (let column = left; column <= right; column++) {
        const inside = distanceTo({ x: (column + 0.5) * wide, y: (row + 0.5) * high }, start, end) <= radius;
        const under = row === Math.floor(to.row) && column === Math.floor(to.column);
        if (inside || under) this.put(row, column);
      }
    }
  }

  // All pixels whose middle lies inside a polygon of {row, column}.
  polygon(points) {
    const { plane } = this.stroke;
    const [rows, columns] = [this.shape[plane.rows], this.shape[plane.columns]];
    const tops = points.map(({ row }) => row);
    for (let row = Math.max(0, Math.floor(Math.min(...tops))); row <= Math.min(rows - 1, Math.ceil(Math.max(...tops))); row++) {
      const crossings = [];
      points.forEach((point, at) => {
        const next = points[(at + 1) % points.length];
        const middle = row + 0.5;
        if (point.row <= middle === next.row <= middle) return;
        crossings.push(point.column + ((middle - point.row) / (next.row - point.row)) * (next.column - point.column));
      });
      crossings.sort((one, other) => one - other);
      for (let at = 0; at + 1 < crossings.length; at += 2) {
        const first = Math.max(0, Math.ceil(crossings[at] - 0.5));
        for (let column = first; column < Math.min(columns, crossings[at + 1] - 0.5); column++) this.put(row, column);
      }
    }
  }

  put(row, column) {
    const { plane, slice, value, before } = this.stroke;
    const at = slice * this.strides[plane.across] + row * this.strides[plane.rows] + column * this.strides[plane.columns];
    if (this.values[at] === value) return;
    if (!before.has(at)) before.set(at, this.values[at]);
    this.values[at] = value;
  }

  // True where the stroke changed something.
  finish() {
    const { before, value } = this.stroke;
    this.stroke = null;
    if (!before.size) return false;
    this.done.push({ places: Int32Array.from(before.keys()), before: Uint8Array.from(before.values()), value });
    if (this.done.length > MOST_STROKES) this.done.shift();
    this.undone = [];
    return true;
  }

  undo() {
    const stroke = this.done.pop();
    if (!stroke) return false;
    stroke.places.forEach((place, at) => (this.values[place] = stroke.before[at]));
    this.undone.push(stroke);
    return true;
  }

  redo() {
    const stroke = this.undone.pop();
    if (!stroke) return false;
    for (const place of stroke.places) this.values[place] = stroke.value;
    this.done.push(stroke);
    return true;
  }

  // The outline of a slice, traced anew, as it changes with every movement.
  outline(plane, slice) {
    const { shape, strides, values } = this;
    const [rows, columns] = [shape[plane.rows], shape[plane.columns]];
    let [top, bottom, left, right] = [rows, -1, columns, -1];
    const from = slice * strides[plane.across];
    for (let row = 0; row < rows; row++) {
      for (let column = 0, at = from + row * strides[plane.rows]; column < columns; column++, at += strides[plane.columns]) {
        if (!values[at]) continue;
        [top, bottom] = [Math.min(top, row), row];
        [left, right] = [Math.min(left, column), Math.max(right, column)];
      }
    }
    if (bottom < 0) return null;
    const cut = { top, left, rows: bottom - top + 1, columns: right - left + 1 };
    cut.values = new Uint8Array(cut.rows * cut.columns);
    for (let row = 0, to = 0; row < cut.rows; row++) {
      for (let column = 0; column < cut.columns; column++) {
        cut.values[to++] = values[from + (top + row) * strides[plane.rows] + (left + column) * strides[plane.columns]];
      }
    }
    return traceOutline(cut);
  }
}

function distanceTo(point, start, end) {
  const [dx, dy] = [end.x - start.x, end.y - start.y];
  const length = dx * dx + dy * dy;
  const share = length ? Math.min(1, Math.max(0, ((point.x - start.x) * dx + (point.y - start.y) * dy) / length)) : 0;
  return Math.hypot(point.x - start.x - share * dx, point.y - start.y - share * dy);
}
