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
  return { name: columnTitle(view, who), rater: who.name, role: who.role, colour: who.colour, marked, label };
}

export function severalLabels(view) {
  return view.labels.length - (view.background === null ? 0 : 1) > 1;
}

// Of several labels, the one that most raters gave; a rater who read twice counts with the first reading.
function mostFrequentLabel(view, marks) {
  const first = new Map();
  for (const mark of marks) {
    if (mark.role === "rater" && mark.marked !== null && !first.has(mark.rater)) first.set(mark.rater, mark);
  }
  const counts = new Map();
  for (const mark of first.values()) {
    const name = mark.marked ? mark.label : view.labels[view.background];
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [label, votes] = [...counts].reduce((best, each) => (each[1] > best[1] ? each : best), ["", 0]);
  return { votes, raters: first.size, label };
}

// A rater who read twice counts once.
function votesOf(view, marks, layers) {
  if (severalLabels(view)) return mostFrequentLabel(view, marks);
  const raters = marks.filter((mark) => mark.role === "rater" && mark.marked !== null);
  const marking = new Set(raters.filter((mark) => mark.marked).map((mark) => mark.rater));
  const counted = layers.find((layer) => layer.name === "votes")?.value ?? null;
  return { votes: counted ?? marking.size, raters: new Set(raters.map((mark) => mark.rater)).size };
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
  for (const [role, title] of READOUT_ROLES) {
    const marks = reading.marks.filter((mark) => mark.role === role);
    if (marks.length) lines.append(marksLine(role, title, marks, reading));
  }
  lines.append(valuesLine(reading));
  box.replaceChildren(placeBlock(reading), lines);
}

const READOUT_ROLES = [
  ["rater", "Raters"],
  ["algorithm", "Algorithms"],
  ["reference", "References"],
];

// Of a picture column and row, of a volume the index along each axis of the file.
function namedPlace({ place }) {
  return place.length === 2 ? [["x", place[1]], ["y", place[0]]] : place.map((value, axis) => ["ijk"[axis], value]);
}

function placeBlock(reading) {
  const spans = namedPlace(reading).map(([axis, value]) => viewerNode("span", {}, viewerNode("i", {}, axis), ` ${value}`));
  const title = reading.place.length === 2 ? "Column and row, counted from 0" : "Index along each axis of the file, from 0";
  return viewerNode("div", { class: "readout-place", title }, ...spans);
}

function marksLine(role, title, marks, reading) {
  const line = viewerNode("p", {}, viewerNode("b", {}, role === "rater" ? votesInWords(reading) : title));
  appendNames(line, role === "rater" ? "" : "marked", marks.filter((mark) => mark.marked));
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
    const dot = viewerNode("span", { class: mark.marked ? "readout-dot" : "readout-dot hollow" });
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
  const names = reading.marks.filter((mark) => mark.marked).map(nameWithLabel);
  const values = reading.layers.filter((layer) => layer.name !== "votes");
  const spoken = values.map((layer) => `${layer.title} ${layerValue(layer)}`);
  return [place, votesInWords(reading), names.length ? `marked by ${names.join(", ")}` : "", ...spoken]
    .filter(Boolean)
    .join("; ");
}
