// What holds the page together: theme, contents, texts to take away, and the way from a case's name to its view.

import { setUpPictures } from "./pictures.js";
import { copyText, linesShown, saveText, setUpTables } from "./tables.js";
import { openViewer, setUpViewer } from "./viewer.js";

const pageCases = JSON.parse(document.getElementById("case-list").textContent);
const indexOfCase = new Map(pageCases.map((entry) => [entry.name, entry.index]));
const awaitedViews = new Map();

setUpTheme();
setUpContents();
setUpTables();
setUpTexts();
setUpThumbnails();
setUpPoints();
setUpPictures();
document.addEventListener("click", openWhatWasClicked);
if (pageCases.length) setUpViewer({ cases: pageCases, order: orderOfCases, load: loadView, about: toldOfCase, numbered: Boolean(document.getElementById("lesions")) });

// --- cases

/** Indices of the cases as they stand in the table now, without those filtered away. */
function orderOfCases() {
  const lines = [...document.querySelectorAll("tbody tr[data-case]:not([hidden])")];
  const shown = lines.map((line) => indexOfCase.get(line.dataset.case));
  return shown.length ? shown : pageCases.map((entry) => entry.index);
}

/** What the table says first of a case: its words, and its first two numbers with their names. */
function toldOfCase(index) {
  const line = document.querySelector(`tbody tr[data-case="${CSS.escape(pageCases[index].name)}"]`);
  if (!line) return [];
  const heads = line.closest("table").tHead.rows[0].cells;
  const figures = [...line.cells].filter((cell) => "v" in cell.dataset).slice(0, 2);
  const numbers = figures.map((cell) => `${heads[cell.cellIndex].textContent} ${cell.textContent}`);
  return [...numbers, line.querySelector(".telling")?.textContent];
}

function openWhatWasClicked(event) {
  const place = event.target.closest("[data-case]");
  const index = indexOfCase.get(place?.dataset.case);
  if (index === undefined) return;
  if (event.ctrlKey || event.metaKey) return;
  if (place.localName === "a") event.preventDefault();
  // words of a line can be selected without opening it
  if (place.localName === "tr" && !getSelection().isCollapsed) return;
  openViewer(index);
}

/** The view of a case: inside the page, else from the script beside it. */
async function loadView(index) {
  const inside = document.getElementById(`case-${index}`);
  if (inside) return JSON.parse(inside.textContent);
  const { file, name } = pageCases.find((entry) => entry.index === index) ?? {};
  if (!file) throw new Error(`There is nothing to look at for ${name ?? index}.`);
  if (!awaitedViews.has(index)) addCaseFile(index, file);
  return awaitedViews.get(index).view;
}

function addCaseFile(index, file) {
  const script = document.createElement("script");
  const awaited = {};
  awaitedViews.set(index, awaited);
  awaited.view = new Promise((resolve, reject) => {
    awaited.resolve = resolve;
    const missing = () => reject(new Error(`${file} cannot be read: it belongs beside this page.`));
    // a script that came without its view has told nothing
    script.addEventListener("load", missing);
    script.addEventListener("error", missing);
    script.src = file;
    document.head.append(script);
  }).finally(() => {
    awaitedViews.delete(index);
    script.remove();
  });
}

// What the scripts beside the page call; a file that another report left there is not taken for this one's.
globalThis.manytruthsCase = (index, view) => {
  const { name } = pageCases.find((entry) => entry.index === index) ?? {};
  if (view.name === name) awaitedViews.get(index)?.resolve(view);
};

/** Small pictures follow the lines of their table. */
function setUpThumbnails() {
  for (const list of document.querySelectorAll(".thumbnails")) {
    const table = document.getElementById(`table-${list.dataset.table}`);
    const pictures = new Map([...list.children].map((item) => [item.dataset.name, item]));
    const words = document.querySelector(`.pictured[data-table="${CSS.escape(list.dataset.table)}"]`);
    new ResizeObserver(() => countPictures(pictures, words)).observe(list);
    table.addEventListener("lines", () => {
      for (const item of pictures.values()) item.hidden = true;
      const shown = linesShown(table).map((line) => pictures.get(line.dataset.case)).filter(Boolean);
      for (const item of shown) item.hidden = false;
      list.append(...shown);
      countPictures(pictures, words);
    });
  }
}

/** Of many only the first are shown, and on a phone fewer. */
function countPictures(pictures, words) {
  const wanted = [...pictures.values()].filter((item) => !item.hidden);
  const shown = wanted.filter((item) => item.getClientRects().length).length;
  const told = shown < wanted.length ? `${shown} of ${wanted.length} pictures shown` : "";
  if (words.textContent !== told) words.textContent = told;
}

/** Points of charts that stand for cases, by pointer and by key. */
function setUpPoints() {
  for (const point of document.querySelectorAll("svg [data-case]")) {
    if (!indexOfCase.has(point.dataset.case)) continue;
    point.setAttribute("tabindex", "0");
    point.setAttribute("role", "button");
    point.setAttribute("aria-label", point.querySelector("title")?.textContent ?? point.dataset.case);
    // inside an image there would be no buttons
    point.closest("svg").setAttribute("role", "group");
    point.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      openViewer(indexOfCase.get(point.dataset.case));
    });
  }
}

// --- texts to take away

function setUpTexts() {
  for (const button of document.querySelectorAll("button[data-text]")) {
    const text = () => wordsOf(document.getElementById(`text-${button.dataset.text}`));
    button.addEventListener("click", () => {
      if (button.dataset.file) saveText(text(), button.dataset.file);
      else copyText(text(), button);
    });
  }
}

function wordsOf(block) {
  const exact = block.querySelector("pre");
  return exact ? exact.textContent : [...block.querySelectorAll(".prose p")].map((p) => p.textContent).join("\n\n");
}

// --- theme and contents

function setUpTheme() {
  const button = document.querySelector("button.theme");
  const themes = ["auto", "light", "dark"];
  let chosen = 0;
  button.addEventListener("click", () => {
    chosen = (chosen + 1) % themes.length;
    button.textContent = `Theme: ${themes[chosen]}`;
    if (chosen) document.documentElement.dataset.theme = themes[chosen];
    else delete document.documentElement.dataset.theme;
  });
}

function setUpContents() {
  const contents = document.querySelector("nav.contents");
  const menu = contents.querySelector(".menu");
  const links = new Map([...contents.querySelectorAll("ol a")].map((link) => [link.hash.slice(1), link]));
  const fold = (open) => menu.setAttribute("aria-expanded", open);
  menu.addEventListener("click", () => fold(menu.getAttribute("aria-expanded") !== "true"));
  contents.addEventListener("click", (event) => event.target.closest("ol a") && fold(false));
  document.addEventListener("click", (event) => contents.contains(event.target) || fold(false));
  contents.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || menu.getAttribute("aria-expanded") !== "true") return;
    fold(false);
    menu.focus();
  });
  watchSections(links, contents.querySelector(".here"));
}

/** The section at the height where people read is the current one. */
function watchSections(links, here) {
  const mark = (current) => {
    for (const link of links.values()) link.removeAttribute("aria-current");
    current?.setAttribute("aria-current", "true");
    here.textContent = current?.textContent ?? "Contents";
  };
  const entered = (seen) => {
    const last = seen.filter((entry) => entry.isIntersecting).at(-1);
    if (last) mark(links.get(last.target.id));
  };
  mark(links.values().next().value);
  const watcher = new IntersectionObserver(entered, { rootMargin: "-15% 0px -80% 0px" });
  for (const section of document.querySelectorAll("main > section")) watcher.observe(section);
}
