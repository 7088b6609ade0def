// Keys: which action each means at each stage, and the sheet that tells them. Letters of raters leave out those used here.

const ALWAYS_KEYS = {
  ArrowLeft: ["step", -1],
  ArrowRight: ["step", 1],
  ArrowUp: ["slice", -1],
  ArrowDown: ["slice", 1],
  PageUp: ["slice", -1],
  PageDown: ["slice", 1],
  "+": ["zoom", 1.5],
  "=": ["zoom", 1.5],
  "-": ["zoom", 1 / 1.5],
  "−": ["zoom", 1 / 1.5],
  0: ["fit"],
  w: ["window"],
  v: ["layout"],
  t: ["tool", "ruler"],
  o: ["list"],
  z: ["undo"],
  "?": ["keys"],
  ".": ["touch"],
  Escape: ["escape"],
};
const STAGE_KEYS = {
  look: { l: ["look", "lesion"], n: ["look", "no_lesion"], x: ["look", "not_evaluable"], s: ["skip"] },
  outlines: {
    u: ["choose", "union"],
    i: ["choose", "intersection"],
    m: ["choose", "majority"],
    n: ["choose", "none"],
    x: ["choose", "not_evaluable"],
    l: ["label"],
    p: ["draw"],
    r: ["reason"],
    "/": ["comment"],
    q: ["second"],
    s: ["skip"],
    Enter: ["save"],
  },
  draw: {
    b: ["tool", "brush"],
    e: ["tool", "eraser"],
    g: ["tool", "polygon"],
    p: ["tool", "brush"],
    "[": ["brush", 1 / 1.25],
    "]": ["brush", 1.25],
    z: ["strokes", -1],
    y: ["strokes", 1],
    l: ["label"],
    r: ["reason"],
    "/": ["comment"],
    Enter: ["save"],
    Backspace: ["corner"],
  },
  done: { Enter: ["onwards"] },
};
// Brighter, darker, narrower, wider.
const TUNE_KEYS = { PageUp: [0, -20], PageDown: [0, 20], Home: [-20, 0], End: [20, 0] };
const CURSOR_KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const KEY_SHEET = [
  ["look", [["L", "lesion"], ["N", "no_lesion"], ["X", "not_evaluable"]]],
  ["outlines", [
    ["A B C …", "letter"], ["U  I  M", "combined"], ["N  X", "nothing"], ["Enter", "save"], ["P", "draw"], ["L", "label"], ["R  /", "reason"],
    ["Shift + P", "add"], ["Q", "second"], ["S", "skip"],
  ]],
  ["draw", [["B  E  G", "tools"], ["[  ]", "size"], ["Z  Y", "strokes"], ["Shift + ↑ ↓ ← →", "cursor"], [".", "touch"], ["Esc", "leave"]]],
  ["see", [
    ["Space", "bare"], ["1 – 9", "toggle"], ["+  −  0", "zoom"], ["↑ ↓", "slices"], ["W", "window"], ["Shift + Page ↑ ↓", "level"], ["Shift + Home, End", "width"], ["V", "layout"], ["T", "ruler"], ["wheel", "mouse"],
  ]],
  ["go", [["← →", "step"], ["O", "list"], ["Z", "undo"], ["?", "keys"]]],
];

// The action and its argument for a key, or null where the key belongs to the control that has the focus.
export function actionOfKey(event, stage, letters) {
  // on many keyboards brackets are typed with AltGr, which looks like Ctrl and Alt
  const typed = event.getModifierState?.("AltGraph");
  if ((event.altKey && !typed) || event.isComposing) return null;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (ownsKey(event.target, key)) return key === "Escape" ? ["leave"] : null;
  if ((event.ctrlKey && !typed) || event.metaKey) {
    if (key === "s") return ["file"];
    if (key === "y") return ["redo"];
    return key === "z" ? [event.shiftKey ? "redo" : stage === "draw" ? "strokes" : "undo", -1] : null;
  }
  if (event.shiftKey && CURSOR_KEYS[key]) return ["cursor", CURSOR_KEYS[key]];
  if (event.shiftKey && TUNE_KEYS[key]) return ["tune", TUNE_KEYS[key]];
  if (event.shiftKey && key === "p" && stage === "outlines") return ["add"];
  if (event.shiftKey && key === "z" && stage === "draw") return ["strokes", 1];
  if (/^[1-9]$/.test(key)) return ["toggle", Number(key) - 1];
  if (key === " ") return ["bare", true];
  if (STAGE_KEYS[stage]?.[key]) return STAGE_KEYS[stage][key];
  if (stage === "outlines" && letters.includes(key.toUpperCase())) return ["choose", `letter:${key.toUpperCase()}`];
  return ALWAYS_KEYS[key] ?? null;
}

function ownsKey(target, key) {
  if (target.matches?.("textarea, input[type=text], input[type=number], select")) return true;
  if (key === " ") return Boolean(target.matches?.("button, input, summary"));
  // what is chosen already is not pressed again: Enter saves
  if (key === "Enter") return Boolean(target.matches?.("button:not(.choice[aria-pressed=true]), a, input, summary"));
  return /^(Arrow|Page)/.test(key) && Boolean(target.matches?.("input[type=range], input[type=radio]"));
}

// Words of the sheet by part: [title, [[keys, words], …]].
export function keySheet(say) {
  return KEY_SHEET.map(([part, lines]) => [say(`keys.${part}`), lines.map(([keys, name]) => [say(keys === "wheel" ? "keys.wheel" : keys), say(`keys.${part}.${name}`)])]);
}
