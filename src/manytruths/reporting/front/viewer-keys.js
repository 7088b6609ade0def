// Keys of the viewer, and the sheet that tells them.
import { viewerNode } from "./viewer-nodes.js";

const KEY_SHEET = [
  ["← →  or  P N", "previous, next case"],
  ["↑ ↓  Page Up, Page Down", "slices of a volume, places of a large image"],
  ["1 – 9", "switch an outline on or off"],
  ["L", "numbers of lesions on or off"],
  ["Space, held", "the bare image"],
  ["+  −  0", "zoom in, zoom out, fit"],
  ["R", "read the pixel in the middle"],
  ["Shift + arrows", "move the reading cross"],
  ["S  V", "save the picture as PNG, as SVG"],
  ["Wheel, drag, pinch", "zoom and pan; with Shift the wheel turns slices"],
  ["?", "this list"],
  ["Esc", "close"],
];

export function keySheet() {
  const lines = KEY_SHEET.flatMap(([keys, words]) => [viewerNode("dt", {}, keys), viewerNode("dd", {}, words)]);
  const head = viewerNode("h3", {}, "Keys");
  return viewerNode("section", { id: "viewer-keys", hidden: true, "aria-label": "Keys" }, head, viewerNode("dl", {}, ...lines));
}

const PLAIN_KEYS = {
  ArrowLeft: ["go", -1],
  ArrowRight: ["go", 1],
  p: ["go", -1],
  n: ["go", 1],
  ArrowUp: ["slice", -1],
  ArrowDown: ["slice", 1],
  PageUp: ["slice", -1],
  PageDown: ["slice", 1],
  "+": ["zoom", 1.5],
  "=": ["zoom", 1.5],
  "-": ["zoom", 1 / 1.5],
  "−": ["zoom", 1 / 1.5],
  0: ["fit"],
  r: ["read"],
  s: ["save", "png"],
  v: ["save", "svg"],
  l: ["lesions"],
  "?": ["keys"],
};
const CURSOR_KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// The action and its argument for a key, or null where the key belongs to the control that has the focus.
export function actionOfKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (keepsKey(event.target, key)) return null;
  if (event.shiftKey && CURSOR_KEYS[key]) return ["cursor", CURSOR_KEYS[key]];
  if (/^[1-9]$/.test(key)) return ["toggle", Number(key) - 1];
  if (key === " ") return ["bare", true];
  return PLAIN_KEYS[key] ?? null;
}

function keepsKey(target, key) {
  if (target.matches?.("select")) return key !== "Escape";
  if (key === " ") return Boolean(target.matches?.("button, input"));
  return /^(Arrow|Page)/.test(key) && Boolean(target.matches?.("input[type=range], input[type=radio]"));
}
