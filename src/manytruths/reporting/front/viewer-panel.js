// The controls beside the picture: whose outlines, which map, how strong.
import { fillLegend } from "./layers.js";
import { lesionsPart, updateLesions } from "./viewer-lesions.js";
import { dashArray } from "./viewer-lines.js";
import { viewerNode } from "./viewer-nodes.js";
import { columnTitle, severalLabels } from "./viewer-readout.js";

const PANEL_ROLES = [
  ["rater", "Raters"],
  ["algorithm", "Algorithms"],
  ["reference", "Reference standards"],
];

const MOST_OUTLINES = 8;

// What stays chosen from case to case: a rater switched off in one is off in the next.
export function firstChoices() {
  return { columns: new Map(), layer: null, opacity: 0.7, threshold: 0.5, label: null, lesions: false };
}

export function columnKey(who) {
  return JSON.stringify([who.role, who.name, who.session]);
}

export function isVisible(view, choices, who) {
  const chosen = choices.columns.get(columnKey(who));
  if (chosen !== undefined) return chosen;
  // outlines hide the map of an overview; they are for its places
  if (view.shown) return false;
  if (view.drawn) return view.drawn.includes(view.columns.indexOf(who));
  if (who.role === "rater") return fewRaters(view) && isFirstReading(view, who);
  return who.role === "algorithm" && view.columns.filter((other) => other.role === who.role).length === 1;
}

// The outlines of more raters hide the picture and each other; how many marked it then says more.
function fewRaters(view) {
  return new Set(view.columns.filter((who) => who.role === "rater").map((who) => who.name)).size <= MOST_OUTLINES;
}

function isFirstReading(view, who) {
  return view.columns.find((other) => other.role === who.role && other.name === who.name) === who;
}

export function visibleColumns(view, choices) {
  return view.columns.flatMap((who, column) => (isVisible(view, choices, who) ? [column] : []));
}

// Without an image there is nothing to see below, so that a map is shown from the start.
export function chosenLayer(view, choices) {
  const first = view.layers.some((layer) => layer.name === "votes") ? "votes" : "disputes";
  const name = choices.layer ?? view.shown ?? (view.image && fewRaters(view) ? "none" : first);
  const named = (asked) => view.layers.find((layer) => layer.name === asked);
  // an overview has maps of its own
  return named(name) ?? (name === "none" ? null : named(view.shown)) ?? null;
}

// Of several labels the first is shown, until another or all of them (an empty name) are asked for.
export function chosenLabel(view, choices) {
  if (!severalLabels(view)) return null;
  const codes = view.labels.map((_, code) => code).filter((code) => code !== view.background);
  if (choices.label === null) return codes[0];
  const code = view.labels.indexOf(choices.label);
  return codes.includes(code) ? code : null;
}

// `act` has column(who, on), role(role, on), highlight(column), label(name), layer(name), opacity(share), threshold(value),
// lesions(on), lesion(which).
export function fillPanel(panel, view, choices, act, lesions) {
  const parts = PANEL_ROLES.map(([role, title]) => columnsPart(role, title, view, choices, act));
  panel.replaceChildren(...parts.filter(Boolean), layersPart(view, choices, act));
  if (severalLabels(view)) panel.prepend(labelPart(view, choices, act));
  if (lesions.length) panel.append(lesionsPart(lesions, act));
  if (view.note) panel.append(viewerNode("p", { class: "viewer-note" }, view.note));
  updatePanel(panel, view, choices, lesions);
}

// After a choice: what is shown follows it, and nothing loses the focus.
export function updatePanel(panel, view, choices, lesions) {
  updateLesions(panel, lesions, choices.lesions, chosenLabel(view, choices));
  const layer = chosenLayer(view, choices);
  for (const box of panel.querySelectorAll("input[data-column]")) {
    box.checked = isVisible(view, choices, view.columns[box.dataset.place]);
  }
  panel.querySelector("#viewer-opacity-line").hidden = !layer;
  panel.querySelector("#viewer-threshold-line").hidden = layer?.kind !== "probability";
  panel.querySelector("#viewer-opacity-line output").textContent = `${Math.round(choices.opacity * 100)}%`;
  const threshold = thresholdOf(layer, choices);
  panel.querySelector("#viewer-threshold-line output").textContent = threshold.toFixed(layer?.most > 10 ? 0 : 2);
  fillLegend(panel.querySelector("#viewer-legend"), layer, threshold);
}

// Chosen as a share of the largest value, which is 1 of probabilities.
export function thresholdOf(layer, choices) {
  return choices.threshold * (layer?.most ?? 1);
}

function columnsPart(role, title, view, choices, act) {
  const places = view.columns.map((who, place) => place).filter((place) => view.columns[place].role === role);
  if (!places.length) return null;
  const head = viewerNode("div", { class: "viewer-part-head" }, viewerNode("h3", {}, title));
  if (places.length > 1) head.append(allButton(role, title, "All", true, act), allButton(role, title, "None", false, act));
  const longest = Math.max(...places.map((place) => nameLength(view, view.columns[place])));
  const width = longest < 4 ? "short" : longest > 9 ? "long" : "";
  const lines = places.map((place) => columnLine(place, view, act));
  const list = viewerNode("div", { class: `viewer-columns ${width}` }, ...lines);
  const part = viewerNode("section", { role: "group", "aria-label": title }, head, list);
  if (role === "rater" && view.absent.length) part.append(viewerNode("p", { class: "viewer-note" }, `Absent: ${view.absent.join(", ")}`));
  return part;
}

function nameLength(view, who) {
  return columnTitle(view, who).length + (who.empty ? " marked nothing".length : 0);
}

function allButton(role, title, words, on, act) {
  const name = `${words} ${title.toLowerCase()}`;
  const button = viewerNode("button", { type: "button", class: "viewer-quiet", "aria-label": name }, words);
  button.dataset.all = `${role} ${words.toLowerCase()}`;
  button.addEventListener("click", () => act.role(role, on));
  return button;
}

function columnLine(place, view, act) {
  const who = view.columns[place];
  const box = viewerNode("input", { type: "checkbox", "data-column": who.name, "data-place": place });
  if (who.session) box.dataset.session = who.session;
  const swatch = viewerNode("span", { class: "viewer-swatch", "aria-hidden": "true" });
  swatch.style.setProperty("--line", sampleLine(who));
  const title = columnTitle(view, who);
  const name = viewerNode("span", { class: "viewer-name" }, title);
  if (who.empty) name.append(viewerNode("small", {}, " marked nothing"));
  const line = viewerNode("label", { class: "viewer-column", title }, box, swatch, name);
  if (place < 9) line.append(viewerNode("kbd", { "aria-hidden": "true" }, String(place + 1)));
  box.addEventListener("change", () => act.column(who, box.checked));
  for (const event of ["pointerenter", "focusin"]) line.addEventListener(event, () => act.highlight(place));
  for (const event of ["pointerleave", "focusout"]) line.addEventListener(event, () => act.highlight(null));
  return line;
}

// As it runs on the picture.
function sampleLine(who) {
  let end = 0;
  const stops = dashArray(who).map((length, place) => `${place % 2 ? "transparent" : who.colour} ${end}px ${(end += length)}px`);
  return stops.length ? `repeating-linear-gradient(to right, ${stops.join(", ")})` : who.colour;
}

function labelPart(view, choices, act) {
  const select = viewerNode("select", { id: "viewer-label" }, viewerNode("option", { value: "" }, "all labels as one"));
  const names = view.labels.filter((_, code) => code !== view.background);
  select.append(...names.map((name) => viewerNode("option", { value: name }, name)));
  const code = chosenLabel(view, choices);
  select.value = code === null ? "" : view.labels[code];
  select.addEventListener("change", () => act.label(select.value));
  return viewerNode("section", { class: "viewer-label" }, viewerNode("label", { for: "viewer-label" }, "Outlines of"), select);
}

function layersPart(view, choices, act) {
  const chosen = chosenLayer(view, choices)?.name ?? "none";
  const layers = [{ name: "none", title: "None" }, ...view.layers];
  const radios = layers.map(({ name, title }) => {
    const radio = viewerNode("input", { type: "radio", name: "viewer-layer", value: name });
    radio.checked = name === chosen;
    radio.addEventListener("change", () => act.layer(name));
    return viewerNode("label", { class: "viewer-layer" }, radio, viewerNode("span", {}, title));
  });
  return viewerNode(
    "section",
    { role: "radiogroup", "aria-label": "Map over the picture" },
    viewerNode("div", { class: "viewer-part-head" }, viewerNode("h3", {}, "Map over the picture")),
    viewerNode("div", { class: "viewer-layers" }, ...radios),
    sliderLine("viewer-threshold", "Threshold", choices.threshold, 0.01, act.threshold),
    sliderLine("viewer-opacity", "Opacity", choices.opacity, 0.05, act.opacity),
    viewerNode("div", { id: "viewer-legend" }),
  );
}

function sliderLine(id, title, value, step, act) {
  const slider = viewerNode("input", { type: "range", id, min: 0, max: 1, step });
  slider.value = value;
  slider.addEventListener("input", () => act(Number(slider.value)));
  const label = viewerNode("label", { for: id }, title);
  return viewerNode("div", { class: "viewer-slider", id: `${id}-line` }, label, slider, viewerNode("output", { for: id }));
}
