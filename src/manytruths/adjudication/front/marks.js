// Marks on a block: runs of pixels, the small volume that they fill, and outlines along the edges of their pixels.
import { stridesOf } from "./blocks.js";

// Values in a box of a block; beside the box nothing is marked.
export class MarkVolume {
  constructor(starts, shape) {
    this.starts = starts;
    this.shape = shape;
    this.values = new Uint8Array(shape[0] * shape[1] * shape[2]);
    this.outlines = new Map();
  }

  // A slice of the block across a plane as {top, left, rows, columns, values}, or null where it passes the box by.
  slice(plane, number) {
    const at = number - this.starts[plane.across];
    if (at < 0 || at >= this.shape[plane.across]) return null;
    const strides = stridesOf(this.shape);
    const [rows, columns] = [this.shape[plane.rows], this.shape[plane.columns]];
    const values = new Uint8Array(rows * columns);
    let some = 0;
    for (let row = 0, to = 0; row < rows; row++) {
      let from = at * strides[plane.across] + row * strides[plane.rows];
      for (let column = 0; column < columns; column++, from += strides[plane.columns]) some |= values[to++] = this.values[from];
    }
    return some ? { top: this.starts[plane.rows], left: this.starts[plane.columns], rows, columns, values } : null;
  }

  // Kept, as slices are drawn many times.
  outline(plane, number) {
    const key = `${plane.across} ${number}`;
    if (!this.outlines.has(key)) {
      const slice = this.slice(plane, number);
      this.outlines.set(key, slice && traceOutline(slice));
    }
    return this.outlines.get(key);
  }
}

// The volume of runs [[value, [start, length, …]], …] of a block, in the least box that holds them; null without any.
export function volumeOfRuns(runs, shape) {
  const rowLength = shape[2];
  const low = [Infinity, Infinity, Infinity];
  const high = [-1, -1, -1];
  const stretch = (index) => {
    const place = [Math.floor(index / (shape[1] * rowLength)), Math.floor(index / rowLength) % shape[1], index % rowLength];
    for (let axis = 0; axis < 3; axis++) {
      low[axis] = Math.min(low[axis], place[axis]);
      high[axis] = Math.max(high[axis], place[axis]);
    }
    return place;
  };
  eachRun(runs, (_, start, length) => {
    const first = stretch(start);
    const last = stretch(start + length - 1);
    // a run that goes over the end of a row reaches every column
    if (first[1] !== last[1] || first[0] !== last[0]) [low[2], high[2]] = [0, rowLength - 1];
    if (first[0] !== last[0]) [low[1], high[1]] = [0, shape[1] - 1];
  });
  if (high[0] < 0) return null;
  const volume = new MarkVolume(low, high.map((last, axis) => last - low[axis] + 1));
  const [slices, rows] = [volume.shape[1] * volume.shape[2], volume.shape[2]];
  eachRun(runs, (value, start, length) => {
    for (let index = start; index < start + length; index++) {
      const [slice, row, column] = [Math.floor(index / (shape[1] * rowLength)), Math.floor(index / rowLength) % shape[1], index % rowLength];
      volume.values[(slice - low[0]) * slices + (row - low[1]) * rows + column - low[2]] = value;
    }
  });
  return volume;
}

function eachRun(runs, take) {
  for (const [value, pairs] of runs ?? []) for (let at = 0; at < pairs.length; at += 2) take(value, pairs[at], pairs[at + 1]);
}

export function fillRuns(values, runs) {
  eachRun(runs, (value, start, length) => values.fill(value, start, start + length));
  return values;
}

// Values of a whole block as runs by value.
export function runsOfValues(values) {
  const found = new Map();
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (value === 0) continue;
    const start = at;
    while (at + 1 < values.length && values[at + 1] === value) at++;
    if (!found.has(value)) found.set(value, []);
    found.get(value).push(start, at + 1 - start);
  }
  return [...found].sort(([one], [other]) => one - other);
}

// All pixels of runs with one value.
export function withLabel(runs, label) {
  const pairs = [];
  eachRun(runs, (_, start, length) => pairs.push([start, length]));
  return [[label, pairs.sort(([one], [other]) => one - other).flat()]];
}

// --- outlines

// The outline of a slice, every value for itself: a path in columns and rows of the block, its corners, where each ring of
// them starts, and the way inwards from each corner.
export function traceOutline({ top, left, rows, columns, values }) {
  const path = new Path2D();
  const outline = { path, corners: [], starts: [], inwards: [] };
  for (const value of new Set(values)) {
    if (value !== 0) traceValue(values, value, rows, columns, top, left, outline);
  }
  return outline;
}

// From an edge to the pixel at its right hand, by heading.
const INWARDS = [[0, 1], [-1, 0], [0, -1], [1, 0]];

// Edges run clockwise about their pixels; each corner keeps in four bits in which directions edges leave it.
function traceValue(values, value, rows, columns, top, left, { path, corners, starts, inwards }) {
  const width = columns + 1;
  const leaving = new Uint8Array(width * (rows + 1));
  const marked = (row, column) => row >= 0 && column >= 0 && row < rows && column < columns && values[row * columns + column] === value;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (values[row * columns + column] !== value) continue;
      const corner = row * width + column;
      if (!marked(row - 1, column)) leaving[corner] |= 1;
      if (!marked(row, column + 1)) leaving[corner + 1] |= 2;
      if (!marked(row + 1, column)) leaving[corner + width + 1] |= 4;
      if (!marked(row, column - 1)) leaving[corner + width] |= 8;
    }
  }
  const steps = [1, width, -1, -width];
  for (let first = 0; first < leaving.length; first++) {
    while (leaving[first]) {
      let corner = first;
      const way = Math.log2(leaving[first] & -leaving[first]);
      let heading = way;
      let turned = true;
      let before = heading;
      const ring = inwards.length;
      starts.push(corners.length);
      do {
        if (turned) {
          const [x, y] = [left + (corner % width), top + Math.floor(corner / width)];
          if (corner === first) path.moveTo(x, y);
          else path.lineTo(x, y);
          corners.push(x, y);
          inwards.push(INWARDS[before][0] + INWARDS[heading][0], INWARDS[before][1] + INWARDS[heading][1]);
        }
        leaving[corner] &= ~(1 << heading);
        corner += steps[heading];
        // where two pixels touch at a corner, the line stays with its own
        const next = [1, 0, 3].map((turn) => (heading + turn) % 4).find((each) => leaving[corner] & (1 << each));
        turned = next !== heading;
        [before, heading] = [heading, next];
      } while (corner !== first && heading !== undefined);
      // only here is it known from where the first corner was reached
      for (const part of [0, 1]) inwards[ring + part] = INWARDS[before][part] + INWARDS[way][part];
      path.closePath();
    }
  }
}

// Pixels that exactly half of those who rated the place marked.
export function tiedVolume(letters, shape) {
  const rated = letters.filter((letter) => letter.rated);
  const counts = new Map();
  for (const { runs } of rated) eachRun(runs, (_, start, length) => {
    for (let index = start; index < start + length; index++) counts.set(index, (counts.get(index) ?? 0) + 1);
  });
  const tied = [...counts].filter(([, count]) => 2 * count === rated.length).flatMap(([index]) => [index, 1]);
  return volumeOfRuns([[1, tied]], shape);
}
