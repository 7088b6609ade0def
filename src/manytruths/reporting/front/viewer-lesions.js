// The lesions of a case: numbers on the picture with how many raters found each, and a list that leads to them.
import { widthOfText } from "./sheets.js";
import { viewerNode } from "./viewer-nodes.js";

// As the page has them: number, code of the label or null, place and reach in slices, rows and columns, raters.
export function readLesions(view) {
  return (view.lesions ?? []).map(([number, label, [slice, row, column], [slices, reach], found, rated, names]) => {
    return { number, label, slice, row, column, slices, reach, found, rated, names };
  });
}

function isOfLabel(lesion, label) {
  return label === null || lesion.label === null || lesion.label === label;
}

// Those that reach a slice, for a label's code or, with null, for any label.
export function lesionMarks(lesions, slice, label) {
  const here = lesions.filter((one) => isOfLabel(one, label) && Math.abs(one.slice - slice) <= Math.max(one.slices, 0.5));
  return here.map(({ row, column, number, found, rated }) => ({ row, column, words: `${number}: ${found} of ${rated}` }));
}

// `act` has lesions(on) and lesion(which).
export function lesionsPart(lesions, act) {
  const box = viewerNode("input", { type: "checkbox", id: "viewer-lesions" });
  box.addEventListener("change", () => act.lesions(box.checked));
  const line = viewerNode("label", { class: "viewer-column" }, box, viewerNode("span", { class: "viewer-name" }, "Numbers on the picture"), viewerNode("kbd", { "aria-hidden": "true" }, "L"));
  const head = viewerNode("div", { class: "viewer-part-head" }, viewerNode("h3", {}, "Lesions, and who found them"));
  const list = viewerNode("div", { class: "viewer-lesions" }, ...lesions.map((one) => lesionButton(one, act)));
  return viewerNode("section", { role: "group", "aria-label": "Lesions" }, head, line, list);
}

function lesionButton(lesion, act) {
  const { number, found, rated, names } = lesion;
  const words = [viewerNode("b", {}, `${number}: ${found} of ${rated}`), names ? ` ${names}` : ""];
  const button = viewerNode("button", { type: "button", class: "viewer-lesion", title: "Zoom to this lesion" }, ...words);
  button.dataset.lesion = number;
  button.addEventListener("click", () => act.lesion(lesion));
  return button;
}

// After a choice: only the lesions of the label that is shown.
export function updateLesions(panel, lesions, shown, label) {
  const box = panel.querySelector("#viewer-lesions");
  if (!box) return;
  box.checked = shown;
  panel.querySelectorAll(".viewer-lesion").forEach((button, place) => (button.hidden = !isOfLabel(lesions[place], label)));
}

const PLATE = 18;
const PLATE_TEXT = { size: 12, weight: 600, side: "center", colour: "#fff" };

// Words on dark plates, each at the middle of its lesion, or below another one.
export function drawLesionMarks(sheet, marks, place, aspect) {
  const taken = [];
  for (const { row, column, words } of marks) {
    const x = place.left + (column + 0.5) * place.zoom;
    const width = widthOfText(words, PLATE_TEXT) + 10;
    let y = place.top + (row + 0.5) * place.zoom * aspect;
    while (taken.some((one) => Math.abs(one.x - x) < (one.width + width) / 2 && Math.abs(one.y - y) < PLATE)) y += PLATE + 1;
    taken.push({ x, y, width });
    sheet.box(x - width / 2, y - PLATE / 2, width, PLATE, "#000", 0.62);
    sheet.text(words, x, y + 4.5, PLATE_TEXT);
  }
}
