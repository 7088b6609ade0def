// Chains of pixel edges drawn as lines of the same width at any zoom.
//
// All of them run along rows and columns of the screen, so that they are painted straight into its pixels: many times
// faster than paths of a canvas, whose dashes take half a second for thirteen raters of a large picture.

import { packedColour } from "./layers.js";

export const HALO_OPACITY = 0.62;

export class LinePainter {
  constructor(width, height) {
    Object.assign(this, { width, height, picture: new ImageData(width, height) });
    this.pixels = new Uint32Array(this.picture.data.buffer);
  }

  clear() {
    this.pixels.fill(0);
  }

  // `place` is where the picture lies, in pixels of the screen; pens[set] says how a set of columns is drawn.
  paint(chains, grid, place, pens, { thickness, halo = 0, opacity = 1 }) {
    const xs = new Int32Array(grid.columns + 1).map((_, x) => Math.round(place.left + x * place.zoom));
    const ys = new Int32Array(grid.rows + 1).map((_, y) => Math.round(place.top + y * place.zoom * grid.aspect));
    const dark = inked(solidPen("#000000"), HALO_OPACITY * opacity);
    if (halo) this.paintChains(chains, xs, ys, pens.map(() => dark), thickness + 2 * halo);
    this.paintChains(chains, xs, ys, pens.map((pen) => pen && inked(pen, opacity)), thickness);
  }

  // Who begins changes from chain to chain, so that on short ones everybody is seen somewhere.
  paintChains({ width, corners, starts, of }, xs, ys, pens, thickness) {
    for (let chain = 0; chain < of.length; chain++) {
      const pen = pens[of[chain]];
      const end = starts[chain + 1];
      let walked = pen.slot * chain;
      let x = xs[corners[starts[chain]] % width];
      let y = ys[Math.floor(corners[starts[chain]] / width) - 1];
      for (let place = starts[chain] + 1; place < end; place++) {
        const nextX = xs[corners[place] % width];
        const nextY = ys[Math.floor(corners[place] / width) - 1];
        this.paintSegment(x, y, nextX, nextY, walked, pen, thickness);
        walked += Math.abs(nextX - x) + Math.abs(nextY - y);
        x = nextX;
        y = nextY;
      }
    }
  }

  paintSegment(x, y, endX, endY, walked, pen, thickness) {
    const left = Math.min(x, endX);
    const top = Math.min(y, endY);
    const right = Math.max(x, endX);
    const bottom = Math.max(y, endY);
    if (right < -thickness || bottom < -thickness) return;
    if (left > this.width + thickness || top > this.height + thickness) return;
    if (pen.solid) this.fill(left, top, right, bottom, thickness, thickness, pen.colours[0]);
    else this.paintDashes(x, y, endX, endY, walked, pen, thickness);
  }

  // The part off the screen is not walked: far zoomed in, a segment may have thousands of dashes.
  paintDashes(x, y, endX, endY, walked, pen, thickness) {
    const sideways = y === endY;
    const start = sideways ? x : y;
    const end = sideways ? endX : endY;
    const size = sideways ? this.width : this.height;
    const length = Math.abs(end - start);
    const stop = Math.min(length, start <= end ? size + 2 - start : start + 2);
    let from = Math.max(0, start <= end ? -start - 2 : start - size - 2);
    while (from <= stop) {
      const phase = (walked + from) % pen.period;
      const turn = Math.floor(phase / pen.slot);
      const within = phase - turn * pen.slot;
      const to = Math.min(from + pen.drawn[turn] - within, stop);
      if (to > from || (length === 0 && within < pen.drawn[turn])) {
        const ends = from === 0 || to === length ? thickness : 0;
        const low = start <= end ? start + from : start - to;
        if (sideways) this.fill(low, y, low + to - from, y, ends, thickness, pen.colours[turn]);
        else this.fill(x, low, x, low + to - from, thickness, ends, pen.colours[turn]);
      }
      from += pen.slot - within;
    }
  }

  // From one corner to another, and `wide` and `high` about them.
  fill(left, top, right, bottom, wide, high, colour) {
    const { pixels, width } = this;
    const first = Math.max(left - (wide >> 1), 0);
    const last = Math.min(right - (wide >> 1) + wide, width);
    const end = Math.min(bottom - (high >> 1) + high, this.height);
    for (let row = Math.max(top - (high >> 1), 0); row < end; row++) {
      for (let pixel = row * width + first; pixel < row * width + last; pixel++) pixels[pixel] = colour;
    }
  }
}

// Slots of the same length, and how much of each is drawn.
const DASHES = { slot: 11, drawn: [7] };
// Of reference standards in turn: dots, dots and dashes, dots far apart, a dash and two dots.
const DOTS = [
  { slot: 5, drawn: [2] },
  { slot: 9, drawn: [6, 2] },
  { slot: 9, drawn: [3] },
  { slot: 9, drawn: [7, 2, 2] },
];

// How the line of a column that shares it with nobody is broken; null of a rater's, which is not.
function breaksOf({ role, line }) {
  return { algorithm: DASHES, reference: DOTS[line % DOTS.length] }[role] ?? null;
}

// Drawn and left out in turn, for the samples in legends.
export function dashArray(who) {
  const breaks = breaksOf(who);
  return breaks ? breaks.drawn.flatMap((length) => [length, breaks.slot - length]) : [];
}

// Solid lines for raters, dashes for algorithms, dots for references. Columns that share a line take turns along it:
// each has a slot of the same length and draws on the first part of it.
export function pensOf(sets, columns, ratio) {
  return sets.map((set) => (set.length === 1 ? penAlone(columns[set[0]], ratio) : sharedPen(set.map((each) => columns[each]), ratio)));
}

function penAlone(who, ratio) {
  const breaks = breaksOf(who);
  if (!breaks) return solidPen(who.colour);
  const slot = Math.round(breaks.slot * ratio);
  const drawn = breaks.drawn.map((length) => Math.round(length * ratio));
  return { solid: false, colours: drawn.map(() => who.colour), drawn, slot, period: drawn.length * slot };
}

function sharedPen(members, ratio) {
  const slot = Math.round((members.length > 3 ? 6 : 9) * ratio);
  // dots beside solid lines; where there are none, what can be seen
  const dots = members.every(({ role }) => role === "reference") ? Math.round(slot * 0.6) : Math.round(2 * ratio);
  const lengths = { rater: slot, algorithm: Math.round(slot * 0.6), reference: dots };
  const drawn = members.map(({ role }) => lengths[role]);
  return { solid: false, colours: members.map(({ colour }) => colour), drawn, slot, period: members.length * slot };
}

export function solidPen(colour) {
  return { solid: true, colours: [colour], slot: 0 };
}

export function brokenPen(colour, drawn, slot) {
  return { solid: false, colours: [colour], drawn: [drawn], slot, period: slot };
}

// With red, green, blue and opacity as a canvas stores them.
function inked(pen, opacity) {
  const packed = (colour) => packedColour([1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16)), opacity);
  return { ...pen, colours: pen.colours.map(packed) };
}

// The same lines as paths of an SVG sheet, along the borders of items and in units of them: `unit` items are as long as
// a pixel of the page. Chains beside `box` are left out.
export function addPaths(sheet, chains, pens, { aspect, unit, box }, { thickness, halo = 0, opacity = 1 }) {
  const paths = new Map();
  const whole = [];
  for (let chain = 0; chain < chains.of.length; chain++) {
    const d = pathOf(chains, chain, aspect, box);
    if (!d) continue;
    whole.push(d);
    const pen = pens[chains.of[chain]];
    pen.colours.forEach((colour, turn) => {
      const key = [colour, ...dashesOf(pen, turn, chain, unit)].join(" ");
      if (!paths.has(key)) paths.set(key, { colour, dashes: dashesOf(pen, turn, chain, unit), parts: [] });
      paths.get(key).parts.push(d);
    });
  }
  const line = (d, colour, width, share) => ({ d, fill: "none", stroke: colour, "stroke-width": width * unit, "stroke-opacity": share });
  // all in one path: what is dark does not get darker where two lines meet
  if (halo) sheet.add("path", { ...line(whole.join(""), "#000000", thickness + 2 * halo, HALO_OPACITY * opacity), "stroke-linecap": "square" });
  for (const { colour, dashes, parts } of paths.values()) {
    const [pattern, offset] = dashes;
    const broken = pattern ? { "stroke-dasharray": pattern, "stroke-dashoffset": offset } : { "stroke-linecap": "square" };
    sheet.add("path", { ...line(parts.join(""), colour, thickness, opacity), ...broken });
  }
}

// As paintChains has them: who begins changes from chain to chain.
function dashesOf({ solid, drawn, slot, period }, turn, chain, unit) {
  if (solid) return [];
  return [`${drawn[turn] * unit} ${(period - drawn[turn]) * unit}`, ((((chain - turn) * slot) % period) + period) % period * unit];
}

function pathOf({ width, corners, starts }, chain, aspect, box) {
  const [from, end] = [starts[chain], starts[chain + 1]];
  let [low, high, top, bottom, d] = [Infinity, -Infinity, Infinity, -Infinity, ""];
  for (let place = from; place < end; place++) {
    const x = corners[place] % width;
    const y = (Math.floor(corners[place] / width) - 1) * aspect;
    if (place === from) d = `M${x} ${y}`;
    else d += corners[place - 1] % width === x ? `V${y}` : `H${x}`;
    [low, high, top, bottom] = [Math.min(low, x), Math.max(high, x), Math.min(top, y), Math.max(bottom, y)];
  }
  if (high < box.left || low > box.right || bottom < box.top || top > box.bottom) return "";
  return corners[from] === corners[end - 1] ? `${d}Z` : d;
}
