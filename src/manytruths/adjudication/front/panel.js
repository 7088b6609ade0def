// The panel beside the stage: the question, and what can be answered.
import { lineSample, pageIcon } from "./icons.js";
import { keyButton, pageNode } from "./nodes.js";
import { COMBINED } from "./session.js";
import { hasWords, say } from "./words.js";

const LOOK_KEYS = [["lesion", "L"], ["no_lesion", "N"], ["not_evaluable", "X"]];
const COMBINED_KEYS = { union: "U", intersection: "I", majority: "M" };
const DRAW_TOOLS = [["brush", "B"], ["eraser", "E"], ["polygon", "G"]];

// `act` does what keys do: act(name, argument).
export function panelContent(session, act) {
  const parts = { loading: loadingPart, look: lookPart, waiting: waitingPart, outlines: outlinesPart, draw: drawPart, done: donePart, end: endPart, empty: emptyPart, failed: failedPart };
  return [headPart(session), session.item ? null : messagePart(session), ...parts[session.step](session, act)].filter(Boolean);
}

function headPart(session) {
  const { entry, progress } = session;
  if (!session.item || !entry) return null;
  const { practice } = entry;
  const { number } = session;
  const alike = session.queue.filter((item) => item.practice === practice).length;
  const of = practice ? alike : Math.max(progress.total, alike);
  const subject = practice ? null : (entry.subject ?? session.item.subject);
  return pageNode("p", { class: "panel-head" },
    practice ? pageNode("span", { class: "badge" }, say("practice.badge")) : null,
    pageNode("span", {}, say(practice ? "panel.practice" : "panel.number", { number, of })),
    subject ? pageNode("span", { class: "pale" }, say("panel.subject", { subject })) : null,
    session.item.case_name ? pageNode("span", { class: "pale" }, session.item.case_name) : null,
  );
}

// Beside an image it stands on the stage, so that no answer moves under the pointer when it comes or goes.
export function messagePart({ message }) {
  if (!message?.words) return null;
  return pageNode("p", { class: message.alarm ? "message alarm" : "message" }, message.words);
}

function question(words, hint) {
  return [pageNode("h2", { id: "question" }, words), hint ? pageNode("p", { class: "hint" }, hint) : null].filter(Boolean);
}

function loadingPart() {
  return question(say("panel.loading"));
}

function waitingPart() {
  return question(say("panel.loading"));
}

function lookPart(session, act) {
  const unit = session.item.unit === "tile" ? "tile" : "lesion";
  const buttons = LOOK_KEYS.map(([answer, key]) => keyButton(say(`look.${unit}.${answer}`), key, () => act("look", answer), { class: "answer", "data-name": answer }));
  return [
    ...question(say(`look.${unit}.question`), say(`look.${unit}.hint`)),
    pageNode("div", { class: "answers" }, buttons),
    session.entry?.practice ? pageNode("p", { class: "hint" }, say("practice.look")) : null,
    pageNode("div", { class: "lesser" }, keyButton(say("act.skip"), "S", () => act("skip"), { class: "quiet" })),
  ];
}

function outlinesPart(session, act) {
  const { outlines, settings } = session;
  const pressed = (choice) => ({ "aria-pressed": session.choice === choice ? "true" : "false", "data-name": choice, class: "choice" });
  const rows = outlines.shown.map((letter, number) => letterRow(session, act, letter, number));
  const combined = COMBINED.map((name) => {
    const { tie, runs, volume } = outlines.choices[name];
    const what = say(`choose.${name}`);
    const words = tie ? say("choose.majority_tie") : runs && !volume ? say("choose.empty", { what }) : what;
    return keyButton(words, COMBINED_KEYS[name], () => act("choose", name), { ...pressed(name), title: say(`choose.${name}_means`), ...(tie || !runs ? { "aria-disabled": "true" } : {}) });
  });
  const nothing = [["none", "N", noneWords(session)], ["not_evaluable", "X", say("choose.not_evaluable")]];
  return [
    ...question(say(rows.length ? "choose.question" : "choose.question_nobody"), chooseHint(session)),
    rows.length ? pageNode("ul", { class: "letters", "aria-label": say("choose.letters") }, rows) : pageNode("p", { class: "hint" }, say("choose.nobody")),
    pageNode("div", { class: "options" },
      rows.length ? pageNode("div", { class: "choices" }, combined) : null,
      pageNode("div", { class: "choices two" }, nothing.map(([choice, key, words]) => keyButton(words, key, () => act("choose", choice), pressed(choice)))),
      pageNode("div", { class: session.item.unit === "tile" ? "choices one" : "choices two" },
        keyButton(say(session.choice && session.choice !== "none" && session.choice !== "not_evaluable" ? "act.draw_from" : "act.draw"), "P", () => act("draw"), { class: "choice" }),
        session.item.unit === "tile" ? null : keyButton(say("act.add"), "⇧P", () => act("add"), { class: "choice" }),
      ),
    ),
    remarksPart(session),
    pageNode("div", { class: "lesser" },
      keyButton(say("act.second"), "Q", () => act("second"), { class: "quiet" }),
      keyButton(say("act.skip"), "S", () => act("skip"), { class: "quiet" }),
      ...(settings.shows ?? []).map((what) => keyButton(say(`show.${what}`), null, () => act("show", what), { class: "quiet" })),
    ),
    savePart(session, act, Boolean(session.choice)),
  ];
}

function chooseHint({ entry, outlines }) {
  const hints = [entry?.practice && outlines.shown.length ? say("practice.choose") : null, outlines.kind === "label" ? say("kind.label") : null];
  return hints.filter(Boolean).join(" ") || null;
}

function drawHint({ tool, item }) {
  const slices = item.volume ? [say("draw.slices_hint")] : [];
  return [say(tool === "polygon" ? "draw.polygon_hint" : "draw.hint"), ...slices].join(" ");
}

function noneWords({ item }) {
  return say(item.unit === "tile" ? "look.tile.no_lesion" : "choose.none");
}

function letterRow(session, act, letter, number) {
  const { labels = [] } = session.settings;
  const choice = `letter:${letter.letter}`;
  const hidden = session.hidden.has(letter.letter);
  const names = labels.length > 1 ? (letter.runs ?? []).map(([value]) => labels.find((label) => label.value === value)?.name ?? value) : [];
  const words = [letter.name, ...names, sizeWords(session, letter)].filter(Boolean).join(" · ");
  const take = pageNode("button", {
    type: "button", class: "choice letter", "data-name": choice, title: words, "aria-pressed": session.choice === choice ? "true" : "false", "aria-label": say("choose.letter", { letter: letter.letter, words }),
    "aria-keyshortcuts": letter.letter.length === 1 ? letter.letter : null, onclick: () => act("choose", choice), onpointerenter: () => session.highlight(letter.letter), onpointerleave: () => session.highlight(null),
    onfocus: (event) => event.target.matches(":focus-visible") && session.highlight(letter.letter), onblur: () => session.highlight(null),
  }, pageNode("kbd", {}, letter.letter), pageNode("span", { class: "chip" }, lineSample(letter.look)), pageNode("span", { class: "letter-words" }, words));
  const see = pageNode("button", {
    type: "button", class: "see", "data-name": `see ${letter.letter}`, "aria-pressed": hidden ? "false" : "true", "aria-label": say("choose.see", { letter: letter.letter }), title: say("choose.see", { letter: letter.letter }),
    onclick: () => act("toggle", number),
  }, pageIcon("bare"), number < 9 ? String(number + 1) : "");
  return pageNode("li", { class: hidden ? "hidden-letter" : null }, take, see);
}

function sizeWords(session, { volume }) {
  if (!volume) return "";
  const count = volume.values.reduce((sum, value) => sum + (value ? 1 : 0), 0);
  const { spacing, volume: deep } = session.item;
  if (!spacing) return say("size.pixels", { n: count.toLocaleString() });
  const one = spacing.reduce((product, side) => product * side, 1);
  const size = count * one;
  return `${Number(size.toPrecision(3)).toLocaleString()} ${say(deep ? "unit.mm3" : "unit.mm2")}`;
}

function labelPart(session) {
  const { labels = [] } = session.settings;
  if (labels.length < 2) return null;
  const options = labels.map(({ value, name }) => pageNode("option", { value, selected: value === session.label }, name));
  const keep = session.step === "outlines" ? [pageNode("option", { value: "", selected: session.label === null }, say("label.keep"))] : [];
  const list = pageNode("select", { id: "label", "data-name": "label", onchange: (event) => session.chooseLabel(event.target.value === "" ? null : Number(event.target.value)) }, keep, options);
  return pageNode("div", { class: "field" }, pageNode("label", { for: "label" }, say("label.label"), " ", pageNode("kbd", { "aria-hidden": "true" }, "L")), list);
}

function remarksPart(session) {
  const { reasons = [] } = session.settings;
  const named = (reason) => (hasWords(`reason.${reason}`) ? say(`reason.${reason}`) : reason);
  const options = ["", ...reasons].map((reason) => pageNode("option", { value: reason, selected: reason === session.reason }, reason ? named(reason) : say("reason.none")));
  const list = pageNode("select", { id: "reason", "data-name": "reason", onchange: (event) => session.remark({ reason: event.target.value }) }, options);
  const comment = pageNode("textarea", { id: "comment", rows: 1, maxlength: 2000, "data-name": "comment", placeholder: say("comment.leave"), oninput: (event) => session.remark({ comment: event.target.value }) });
  comment.value = session.comment;
  return pageNode("div", { class: "remarks" },
    labelPart(session),
    pageNode("div", { class: "field" }, pageNode("label", { for: "reason" }, say("reason.label"), " ", pageNode("kbd", { "aria-hidden": "true" }, "R")), list),
    pageNode("div", { class: "field" }, pageNode("label", { for: "comment" }, say("comment.label"), " ", pageNode("kbd", { "aria-hidden": "true" }, "/")), comment),
  );
}

// Stays in sight where the panel is long.
function savePart(session, act, ready) {
  const words = session.adding ? say("act.save_added") : say("act.save");
  const save = keyButton(words, "Enter", () => act("save"), { class: "primary", "data-name": "save", ...(ready ? {} : { "aria-disabled": "true" }) });
  return pageNode("div", { class: "foot" }, save);
}

function drawPart(session, act) {
  const tools = DRAW_TOOLS.map(([name, key]) => keyButton(say(`tool.${name}`), key, () => act("tool", name), { class: "choice", "data-name": name, "aria-pressed": session.tool === name ? "true" : "false" }));
  const { drawing } = session;
  const size = pageNode("input", { id: "brush", type: "range", min: 0, max: 100, value: sizeToSlide(session.brushRadius), "data-name": "brush-size", oninput: (event) => session.sizeBrush(slideToSize(event.target.value) / session.brushRadius) });
  const strokes = [
    keyButton(say("draw.undo"), "Z", () => act("strokes", -1), { class: "choice", "data-name": "undo-stroke", ...(drawing.done.length ? {} : { "aria-disabled": "true" }) }),
    keyButton(say("draw.redo"), "Y", () => act("strokes", 1), { class: "choice", "data-name": "redo-stroke", ...(drawing.undone.length ? {} : { "aria-disabled": "true" }) }),
  ];
  return [
    ...question(say(session.adding ? "add.question" : "draw.question"), drawHint(session)),
    pageNode("div", { class: "choices" }, tools),
    pageNode("div", { class: "field" }, pageNode("label", { for: "brush" }, say("draw.size"), " ", pageNode("kbd", { "aria-hidden": "true" }, "[ ]")), size),
    pageNode("div", { class: "choices two" }, strokes),
    remarksPart(session),
    pageNode("div", { class: "lesser" }, keyButton(say("draw.leave"), "Esc", () => act("escape"), { class: "quiet" })),
    savePart(session, act, !drawing.empty),
  ];
}

function sizeToSlide(radius) {
  return Math.round(20 * Math.log2(Math.max(radius, 0.25) * 4));
}

function slideToSize(slide) {
  return 2 ** (slide / 20) / 4;
}

function donePart(session, act) {
  const { choice, reason, comment } = session.item.decision;
  const chosen = choice.startsWith("letter:") ? say("done.letter", { letter: choice.slice(7) }) : say(`choose.${choice}`);
  return [
    ...question(say("done.question")),
    pageNode("p", { class: "decided" }, chosen),
    reason ? pageNode("p", {}, hasWords(`reason.${reason}`) ? say(`reason.${reason}`) : reason) : null,
    comment ? pageNode("p", { class: "pale" }, comment) : null,
    session.settings.finished ? null : keyButton(say("done.undo"), "Z", () => act("undo"), { class: "choice" }),
    keyButton(say("done.onwards"), "Enter", () => act("onwards"), { class: "primary" }),
  ];
}

function endPart(session, act) {
  const { progress, settings } = session;
  const skipped = session.queue.filter(({ status }) => status === "skipped");
  const second = session.queue.filter(({ status }) => status === "second").length;
  if (settings.finished) {
    const again = session.backend.file ? null : keyButton(say("reopen.open"), null, () => act("reopen"), { class: "choice" });
    return [...question(say("end.finished"), say("end.finished_hint")), again];
  }
  const more = progress.indexed_cases < progress.cases;
  const title = more ? say("end.waiting") : skipped.length ? say("end.skipped_question", { n: skipped.length }) : say("end.question", { n: progress.done });
  const first = (is) => (is ? "primary" : "choice");
  return [
    ...question(title, more ? say("progress.indexing", { done: progress.indexed_cases, of: progress.cases }) : say("end.hint")),
    second ? pageNode("p", { class: "hint" }, say("end.second", { n: second })) : null,
    skipped.length ? keyButton(say("end.skipped", { n: skipped.length }), null, () => act("open", skipped[0].id), { class: first(!more) }) : null,
    session.backend.file ? keyButton(say("file.save"), null, () => act("file"), { class: first(!skipped.length) }) : null,
    more ? null : keyButton(say("finish.open"), null, () => act("finish"), { class: first(!skipped.length && !session.backend.file) }),
  ];
}

function emptyPart(session) {
  const { progress } = session;
  const more = progress && progress.indexed_cases < progress.cases;
  return question(say(more ? "end.waiting" : "end.empty"), more ? say("progress.indexing", { done: progress.indexed_cases, of: progress.cases }) : null);
}

function failedPart(session, act) {
  return [...question(say("failed.question")), keyButton(say("done.onwards"), "Enter", () => act("onwards"), { class: "primary" })];
}
