// The frame of the viewer: bar, stage, slices, read-out, and room for the controls.
import { keySheet } from "./viewer-keys.js";
import { viewerNode } from "./viewer-nodes.js";

// `act` has go(step), close(), zoom(factor), fit(), save(kind), bare(on), keys() and sliceTo(slice).
export function buildViewer(act) {
  const dialog = document.getElementById("viewer") ?? viewerNode("dialog", { id: "viewer" });
  if (!dialog.isConnected) document.body.append(dialog);
  dialog.setAttribute("aria-labelledby", "viewer-title");
  const canvas = viewerNode("canvas", { id: "viewer-stage", tabindex: 0, role: "img", "aria-describedby": "viewer-readout" });
  dialog.replaceChildren(
    viewerBar(act),
    viewerNode("div", { class: "viewer-picture" }, canvas, letterFrame(), viewerMessage(), stageTools(act), keySheet()),
    sliceLine(act),
    viewerNode("div", { id: "viewer-readout" }),
    viewerNode("div", { id: "viewer-panel" }),
    viewerNode("p", { id: "viewer-announce", role: "status", "aria-live": "polite" }),
  );
  const part = (name) => dialog.querySelector(`#viewer-${name}`);
  const names = ["title", "about", "previous", "next", "help", "message", "tools", "keys", "slices", "slice", "readout", "panel", "announce", "letters", "bare"];
  return { dialog, canvas, ...Object.fromEntries(names.map((name) => [name, part(name)])) };
}

function viewerBar(act) {
  const heading = viewerNode("div", { class: "viewer-heading" });
  heading.append(viewerNode("h2", { id: "viewer-title" }), viewerNode("p", { id: "viewer-about" }));
  const help = viewerButton("help", "Keys", "Show the keys", act.keys);
  help.setAttribute("aria-expanded", "false");
  help.setAttribute("aria-controls", "viewer-keys");
  return viewerNode(
    "header",
    { class: "viewer-bar" },
    viewerButton("previous", "‹", "Previous case", () => act.go(-1)),
    viewerButton("next", "›", "Next case", () => act.go(1)),
    heading,
    help,
    viewerButton("close", "×", "Close", act.close),
  );
}

function viewerMessage() {
  return viewerNode("p", { id: "viewer-message", role: "status", hidden: true });
}

// Which side of the patient is where: right, left, front (A), back (P), head (S), feet (I).
function letterFrame() {
  const sides = ["left", "right", "top", "bottom"].map((side) => viewerNode("span", { class: side }));
  return viewerNode("div", { id: "viewer-letters", "aria-hidden": "true" }, ...sides);
}

export function showLetters(frame, letters) {
  [...frame.children].forEach((side, place) => (side.textContent = letters?.[place] ?? ""));
}

function stageTools(act) {
  const bare = viewerButton("bare", "Bare image", "Hold to see the bare image", () => {});
  for (const event of ["pointerdown", "keydown"]) {
    bare.addEventListener(event, (pressed) => (pressed.key ?? " ") === " " && act.bare(true));
  }
  for (const event of ["pointerup", "pointerleave", "pointercancel", "keyup", "blur"]) {
    bare.addEventListener(event, () => act.bare(false));
  }
  return viewerNode(
    "div",
    { id: "viewer-tools" },
    bare,
    viewerButton("zoom-out", "−", "Zoom out", () => act.zoom(1 / 1.5)),
    viewerButton("zoom-in", "+", "Zoom in", () => act.zoom(1.5)),
    viewerButton("fit", "Fit", "Fit to the window", act.fit),
    viewerButton("save-svg", "SVG", "Save the picture as SVG", () => act.save("svg")),
    viewerButton("save-png", "PNG", "Save the picture as PNG", () => act.save("png")),
  );
}

function sliceLine(act) {
  const slider = viewerNode("input", { type: "range", id: "viewer-slice", min: 0, step: 1 });
  slider.addEventListener("input", () => act.sliceTo(Number(slider.value)));
  const label = viewerNode("label", { for: "viewer-slice" });
  return viewerNode("div", { id: "viewer-slices", hidden: true }, label, slider);
}

function viewerButton(name, words, title, act) {
  const button = viewerNode("button", { type: "button", id: `viewer-${name}`, title }, words);
  if (title !== words) button.setAttribute("aria-label", title);
  button.addEventListener("click", act);
  return button;
}
