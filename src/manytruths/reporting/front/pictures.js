// Charts to take away, as SVG and as PNG of twice the size. They are drawn in inks for white paper, which the page
// changes for dark screens: what is saved has its own inks, and needs no style of the page.
import { saveBlob, sayOnButton } from "./tables.js";

export const PICTURE_SCALE = 2;
export const PICTURE_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

export function setUpPictures() {
  for (const button of document.querySelectorAll("button.picture")) {
    button.addEventListener("click", () => saveChart(button));
  }
}

async function saveChart(button) {
  const { chart, kind } = button.dataset;
  const svg = document.querySelector(`#chart-${CSS.escape(chart)} svg`);
  const { text, width, height } = standalone(svg);
  try {
    const made = kind === "svg" ? new Blob([text], { type: "image/svg+xml;charset=utf-8" }) : await drawn(text, width, height);
    saveBlob(made, `${chart}.${kind}`);
  } catch {
    sayOnButton(button, "Not saved");
  }
}

/** The chart as a file of its own: without what makes its points buttons of the page. */
function standalone(svg) {
  const copy = svg.cloneNode(true);
  for (const point of copy.querySelectorAll("[data-case]")) {
    for (const name of ["tabindex", "role", "aria-label", "data-case"]) point.removeAttribute(name);
  }
  copy.setAttribute("role", "img");
  const { width, height } = copy.viewBox.baseVal;
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
  return { text, width, height };
}

async function drawn(text, width, height) {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * PICTURE_SCALE);
  canvas.height = Math.round(height * PICTURE_SCALE);
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return pngOf(canvas);
}

export function pngOf(canvas) {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png");
  });
}
