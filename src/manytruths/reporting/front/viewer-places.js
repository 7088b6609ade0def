// Places of a case that is too large to be shown at once: frames on its overview, and a list that leads to them.
import { widthOfText } from "./sheets.js";
import { viewerNode } from "./viewer-nodes.js";

// Frames in items of the overview; none of a case that is shown whole.
export function placeFrames(view) {
  return (view.parts ?? []).map(({ box: [row, column, rows, columns] }, place) => {
    const [top, left, bottom, right] = [row, column, row + rows, column + columns].map((end) => end / view.step);
    return { number: place + 1, top, left, bottom: Math.min(bottom, view.shape[1]), right: Math.min(right, view.shape[2]) };
  });
}

// The number of the place that an item of the overview is in, of several that whose middle is nearest; 0 where it is in none.
export function placeAt(view, item) {
  if (!item) return 0;
  const [row, column] = [item.row + 0.5, item.column + 0.5];
  const here = placeFrames(view).filter(({ top, left, bottom, right }) => row > top && row < bottom && column > left && column < right);
  const distance = ({ top, left, bottom, right }) => Math.hypot((top + bottom) / 2 - row, (left + right) / 2 - column);
  return here.sort((one, other) => distance(one) - distance(other))[0]?.number ?? 0;
}

// `go` takes the number of a place, 0 for the overview.
export function placesPart(view, shown, go) {
  const named = view.parts.map(({ about: [words, where] }, place) => {
    return [viewerNode("b", {}, String(place + 1)), ` ${words}`, viewerNode("small", {}, where)];
  });
  const lines = [["Overview"], ...named].map((words, number) => {
    const radio = viewerNode("input", { type: "radio", name: "viewer-place", value: number });
    radio.checked = number === shown;
    radio.addEventListener("change", () => go(number));
    return viewerNode("label", { class: "viewer-layer viewer-place" }, radio, viewerNode("span", {}, ...words));
  });
  const head = viewerNode("div", { class: "viewer-part-head" }, viewerNode("h3", {}, "Disputed places, at full resolution"));
  return viewerNode("section", { role: "radiogroup", "aria-label": "Places at full resolution" }, head, ...lines);
}

const FRAME_TEXT = { size: 13, weight: 700, side: "center", colour: "#fff" };
const FRAME_PLATE = 18;

// White frames on dark ones, each with its number above its upper left corner, or in it where there is no room above.
export function drawPlaceFrames(sheet, frames, place, aspect) {
  for (const { number, top, left, bottom, right } of frames) {
    const [x, toX] = [left, right].map((column) => place.left + column * place.zoom);
    const [y, toY] = [top, bottom].map((row) => place.top + row * place.zoom * aspect);
    const ends = [[x, y, toX, y], [toX, y, toX, toY], [toX, toY, x, toY], [x, toY, x, y]];
    sheet.lines(ends, { width: 4, colour: "#000", opacity: 0.7 });
    sheet.lines(ends, { width: 2, colour: "#fff" });
    const width = Math.max(FRAME_PLATE, widthOfText(String(number), FRAME_TEXT) + 8);
    const above = y < FRAME_PLATE + 2 ? y : y - FRAME_PLATE - 2;
    sheet.box(x, above, width, FRAME_PLATE, "#000", 0.75);
    sheet.text(String(number), x + width / 2, above + FRAME_PLATE - 4.5, FRAME_TEXT);
  }
}
