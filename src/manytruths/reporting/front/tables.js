// Tables that can be sorted, filtered, copied and saved. The page holds them whole, so that they also read without this.

const NATURAL = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const PRINTED_LINES = 60;

/** Every table of the page; each sends the event "lines" when its lines were sorted or filtered. */
export function setUpTables() {
  for (const table of document.querySelectorAll("table[data-name]")) {
    const lines = [...table.tBodies[0].rows];
    [...table.tHead.rows[0].cells].forEach((head, column) => makeSortable(table, lines, head, column));
    setUpFilter(table, lines);
    setUpWhole(table);
    onTool("copy", table, (button) => copyText(shownText(table), button));
    onTool("csv", table, () => saveText(exactText(table), `${table.dataset.name}.csv`, "text/csv"));
  }
  watchScrolling();
}

/** The lines that pass the filter, in the order that is shown. */
export function linesShown(table) {
  return [...table.tBodies[0].rows].filter((line) => !line.hidden);
}

/** To the clipboard; an old way where the browser keeps the new one from files. */
export async function copyText(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    done = copyBySelection(text);
  }
  sayOnButton(button, done ? "Copied" : "Not copied");
}

/** As a file. */
export function saveText(text, name, type = "text/plain") {
  saveBlob(new Blob([text], { type: `${type};charset=utf-8` }), name);
}

export function saveBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function copyBySelection(text) {
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return done;
}

export function sayOnButton(button, words) {
  const own = (button.dataset.words ??= button.textContent);
  button.textContent = words;
  document.querySelector(".announcer").textContent = words;
  clearTimeout(button.timer);
  button.timer = setTimeout(() => {
    button.textContent = own;
    document.querySelector(".announcer").textContent = "";
  }, 1800);
}

function toolOf(kind, table) {
  return document.querySelector(`.${kind}[data-table="${CSS.escape(table.dataset.name)}"]`);
}

function onTool(kind, table, action) {
  const button = toolOf(kind, table);
  button?.addEventListener("click", () => action(button));
}

// --- sorting

function makeSortable(table, lines, head, column) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "sort";
  button.append(...head.childNodes);
  head.append(button);
  head.setAttribute("aria-sort", "none");
  button.addEventListener("click", () => {
    const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", next);
    table.tBodies[0].append(...sorted(lines, column, next, "number" in head.dataset));
    tell(table);
  });
}

function sorted(lines, column, direction, asNumbers) {
  if (direction === "none") return lines;
  const keys = new Map(lines.map((line) => [line, sortKey(line.cells[column], asNumbers)]));
  const sign = direction === "ascending" ? 1 : -1;
  return [...lines].sort((a, b) => compareKeys(keys.get(a), keys.get(b), sign));
}

/** Numbers by all their digits, words as people sort them; null, which comes last, where there is none. */
function sortKey(cell, asNumber) {
  if (!asNumber) return cell.textContent.trim() || null;
  const value = Number.parseFloat(cell.dataset.v ?? cell.textContent.replace("−", "-").replaceAll(",", ""));
  return Number.isNaN(value) ? null : value;
}

function compareKeys(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  return sign * (typeof a === "number" ? a - b : NATURAL.compare(a, b));
}

// --- filtering

function setUpFilter(table, lines) {
  const box = toolOf("filter", table);
  const group = toolOf("group", table);
  const texts = new Map(lines.map((line) => [line, line.textContent.toLowerCase()]));
  const apply = () => {
    const words = (box?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    for (const line of lines) {
      const fits = !group?.value || line.dataset.group === group.value;
      line.hidden = !(fits && words.every((word) => texts.get(line).includes(word)));
    }
    countLines(table, lines.length);
    tell(table);
  };
  box?.addEventListener("input", apply);
  group?.addEventListener("change", apply);
}

function countLines(table, all) {
  const shown = linesShown(table).length;
  const noun = all === 1 ? "line" : "lines";
  const count = toolOf("count", table);
  if (count) count.textContent = shown === all ? `${all} ${noun}` : `${shown} of ${all} ${noun}`;
  const rest = toolOf("rest", table);
  rest.hidden = shown <= PRINTED_LINES;
  rest.firstElementChild.textContent = shown - PRINTED_LINES;
  const more = toolOf("more", table);
  if (more) more.hidden = shown <= 10;
}

function setUpWhole(table) {
  const more = toolOf("more", table);
  more?.addEventListener("click", () => {
    const whole = table.classList.toggle("whole");
    toolOf("thumbnails", table)?.classList.toggle("whole", whole);
    more.setAttribute("aria-expanded", whole);
    more.dataset.words ??= more.textContent;
    more.textContent = whole ? "Show fewer lines" : more.dataset.words;
    if (!whole) table.closest(".block").scrollIntoView({ block: "nearest" });
  });
}

function tell(table) {
  table.dispatchEvent(new CustomEvent("lines"));
}

// --- taking away

/** The lines that are shown, as they are shown: for a document. */
function shownText(table) {
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
  const rows = [heads, ...linesShown(table).map((line) => [...line.cells].map((cell) => harmless(ownWords(cell))))];
  return rows.map((row) => row.map((words) => words.replaceAll(/[\t\r\n]+/g, " ")).join("\t") + "\n").join("");
}

/** The lines that are shown, with all digits; a column with intervals becomes three. */
function exactText(table) {
  const heads = [...table.tHead.rows[0].cells];
  const lines = linesShown(table);
  const wide = heads.map((_, column) => lines.some((line) => "low" in line.cells[column].dataset));
  const rows = [heads.flatMap((head, column) => headWords(head.textContent.trim(), wide[column]))];
  rows.push(...lines.map((line) => [...line.cells].flatMap((cell, column) => exactWords(cell, wide[column]))));
  return rows.map((row) => row.map(fieldText).join(",") + "\r\n").join("");
}

function headWords(title, wide) {
  return wide ? [title, `${title} low`, `${title} high`] : [title];
}

function exactWords(cell, wide) {
  const value = cell.dataset.v ?? harmless(ownWords(cell));
  return wide ? [value, cell.dataset.low ?? "", cell.dataset.high ?? ""] : [value];
}

/** A name such as =1+1 is no formula, whatever opens the file. */
function harmless(words) {
  return /^[=@]/.test(words) ? `'${words}` : words;
}

/** Without what is said beneath. */
function ownWords(cell) {
  const below = cell.querySelector(".below")?.textContent ?? "";
  return cell.textContent.slice(0, cell.textContent.length - below.length).trim();
}

function fieldText(words) {
  return /[",\r\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
}

// --- boxes that scroll can be reached by keyboard

function watchScrolling() {
  const check = (box) => {
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (scrolls) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  const watcher = new ResizeObserver((seen) => seen.forEach(({ target }) => check(target.closest(".scroll"))));
  for (const box of document.querySelectorAll(".scroll")) watcher.observe(box.firstElementChild ?? box);
}
