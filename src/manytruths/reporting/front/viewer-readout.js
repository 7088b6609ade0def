// What is known about one pixel, and how it is shown and spoken.
import { NOT_RATED } from "./contours.js";
import { shortNumber } from "./layers.js";
import { viewerNode } from "./viewer-nodes.js";

// Look-ups alone. `x` and `y` count pixels of the picture from its upper left, `slice` slices as they are shown, all
// from 0; null outside of what is shown. `place` is the index in the file, axis by axis.
export function readOut(view, x, y, slice) {
  const [slices, rows, columns] = view.shape;
  const [column, row, shown] = [Math.floor(x / view.step), Math.floor(y / view.step), slice - view.first];
  if (!(column >= 0 && column < columns && row >= 0 && row < rows && shown >= 0 && shown < slices)) return null;
  const item = (shown * rows + row) * columns + column;
  const pattern = view.maps[0][item];
  const marks = view.columns.map((who, place) => markOf(view, who, view.patterns[place][pattern]));
  const layers = view.layers.map(({ name, title, kind, map, values }) => {
    return { name, title, kind, value: values[view.maps[map]?.[item]] ?? null };
  });
  const place = placeInFile(view, shown, row, column);
  return { x: column * view.step, y: row * view.step, slice, place, marks, layers, ...votesOf(view, marks, layers) };
}

// Volumes are turned for looking at them, so that rows may run backwards along any axis of the file.
function placeInFile(view, ...at) {
  const place = [];
  view.places.forEach(({ axis, start, step }, k) => {
    place[axis] = start + step * at[at.length - view.places.length + k];
  });
  return place;
}

function markOf(view, who, code) {
  const marked = code === NOT_RATED ? null : code !== view.background;
  const label = marked && severalLabels(view) ? (view.labels[code] ?? String(code)) : "";
  return { name: columnTitle(view, who), rater: who.name, role: who.role, colour: who.colour, again: readingsBefore(view, who), marked, label };
}

export function severalLabels(view) {
  return view.labels.length - (view.background === null ? 0 : 1) > 1;
}

// 0 for the reading that counts, 1 for the second one of the same rater.
function readingsBefore(view, who) {
  const own = view.columns.filter((other) => other.role === "rater" && other.name === who.name);
  return who.role === "rater" ? own.indexOf(who) : 0;
}

// Of several labels, the one that most raters gave.
function mostFrequentLabel(view, first) {
  const counts = new Map();
  for (const mark of first) {
    const name = mark.marked ? mark.label : view.labels[view.background];
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [label, votes] = [...counts].reduce((best, each) => (each[1] > best[1] ? each : best), ["", 0]);
  return { votes, raters: first.length, label };
}

// A rater who read twice counts once, with the first reading.
function votesOf(view, marks, layers) {
  const first = marks.filter((mark) => mark.role === "rater" && !mark.again && mark.marked !== null);
  if (severalLabels(view)) return mostFrequentLabel(view, first);
  const counted = layers.find((layer) => layer.name === "votes")?.value ?? null;
  return { votes: counted ?? first.filter((mark) => mark.marked).length, raters: first.length };
}

export function columnTitle(view, who) {
  const alike = view.columns.filter((other) => other.name === who.name && other.role === who.role);
  return alike.length > 1 && who.session ? `${who.name}, reading ${who.session}` : who.name;
}

export function showReadOut(box, reading) {
  if (!reading) {
    box.replaceChildren(viewerNode("p", { class: "readout-hint" }, "Point at the picture, or tap it, to read a pixel."));
    return;
  }
  const lines = viewerNode("div", { class: "readout-lines" });
  readOutLines(reading).forEach(([title, marks], place) => marks.length && lines.append(marksLine(title, marks, place === 0)));
  lines.append(valuesLine(reading));
  box.replaceChildren(placeBlock(reading), lines);
}

// The box is made as high as the read-outs of a case are, so that the picture does not move while the pointer does.
export function makeRoom(box, view) {
  box.style.minHeight = "";
  showReadOut(box, longReading(view));
  keepHeight(box);
}

// A read-out that is longer still widens it, once.
export function keepHeight(box) {
  box.style.minHeight = `${box.offsetHeight}px`;
}

// Of every kind of line: some marked it, others did not.
function longReading(view) {
  const code = view.labels.findIndex((_, label) => label !== view.background);
  const marks = view.columns.map((who, column) => markOf(view, who, column % 2 ? view.background : code));
  const layers = view.layers.map((layer) => ({ ...layer, value: layer.kind === "region" ? 1 : 0.999 * layer.most }));
  const place = view.places.map(({ start, step }, axis) => start + step * view.shape.at(axis - view.places.length));
  return { place, marks, layers, ...votesOf(view, marks, []) };
}

// Titles and marks. The names after the count of raters are those that it counts: later readings stand apart.
function readOutLines(reading) {
  const of = (role) => reading.marks.filter((mark) => mark.role === role && !mark.again);
  return [
    [votesInWords(reading), of("rater")],
    [laterReadings(reading), reading.marks.filter((mark) => mark.again).map((mark) => ({ ...mark, name: laterName(reading, mark) }))],
    ["Algorithms", of("algorithm")],
    ["References", of("reference")],
  ];
}

function laterReadings({ marks }) {
  return marks.some((mark) => mark.again > 1) ? "Later readings" : "Second readings";
}

function laterName({ marks }, mark) {
  return marks.some((other) => other.again > 1) ? mark.name : mark.rater;
}

// Of a picture column and row, of a volume the index along each axis of the file.
function namedPlace({ place }) {
  return place.length === 2 ? [["x", place[1]], ["y", place[0]]] : place.map((value, axis) => ["ijk"[axis], value]);
}

function placeBlock(reading) {
  const spans = namedPlace(reading).map(([axis, value]) => viewerNode("span", {}, viewerNode("i", {}, axis), ` ${value}`));
  const title = reading.place.length === 2 ? "Column and row, counted from 0" : "Index along each axis of the file, from 0";
  return viewerNode("div", { class: "readout-place", title }, ...spans);
}

function marksLine(title, marks, counted) {
  const line = viewerNode("p", {}, viewerNode("b", {}, title));
  appendNames(line, counted ? "" : "marked", marks.filter((mark) => mark.marked));
  appendNames(line, "not", marks.filter((mark) => mark.marked === false));
  appendNames(line, "did not rate here", marks.filter((mark) => mark.marked === null));
  return line;
}

function votesInWords(reading) {
  return `${reading.votes} of ${reading.raters} raters ${reading.label ? `gave ${reading.label}` : "marked it"}`;
}

function appendNames(line, words, marks) {
  if (!marks.length) return;
  const names = marks.map((mark) => {
    const dot = viewerNode("span", { class: `readout-dot ${mark.role}${mark.marked ? "" : " hollow"}` });
    dot.style.setProperty("--colour", mark.colour);
    return viewerNode("span", { class: "readout-name" }, dot, nameWithLabel(mark));
  });
  line.append(viewerNode("span", { class: classOfMarks(marks) }, words ? `${words}: ` : "", ...names));
}

function classOfMarks(marks) {
  return marks[0].marked ? "readout-marked" : "readout-unmarked";
}

function nameWithLabel(mark) {
  return mark.label ? `${mark.name} (${mark.label})` : mark.name;
}

function valuesLine(reading) {
  const values = reading.layers.filter((layer) => layer.name !== "votes").map((layer) => {
    return viewerNode("span", { class: "readout-value" }, `${layer.title} `, viewerNode("b", {}, layerValue(layer)));
  });
  return viewerNode("p", { class: "readout-values" }, ...values);
}

const REGION_WORDS = ["outside", "between", "inside"];

function layerValue(layer) {
  return layer.kind === "region" ? (REGION_WORDS[layer.value] ?? "not defined") : shortNumber(layer.value);
}

// For screen readers, in one sentence.
export function spokenReadOut(reading) {
  const place = namedPlace(reading).map(([axis, value]) => `${axis} ${value}`).join(", ");
  const named = (again) => reading.marks.filter((mark) => mark.marked && Boolean(mark.again) === again).map(nameWithLabel);
  const [names, later] = [named(false), named(true)];
  const values = reading.layers.filter((layer) => layer.name !== "votes");
  const spoken = values.map((layer) => `${layer.title} ${layerValue(layer)}`);
  const by = [names.length ? `marked by ${names.join(", ")}` : "", later.length ? `and again by ${later.join(", ")}` : ""];
  return [place, votesInWords(reading), ...by, ...spoken]
    .filter(Boolean)
    .join("; ");
}
