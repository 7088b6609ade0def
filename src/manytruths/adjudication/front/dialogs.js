// Dialogs: keys, the list of disputes, undo, rules, finish, and the name that the file asks for.
import { keySheet } from "./keys.js";
import { pageNode } from "./nodes.js";
import { say } from "./words.js";

const STATUS_SIGNS = { open: "", done: "✓", skipped: "»", second: "2", stale: "!" };

// Opens a dialog and gives what `done(value)` was called with, or null where it was closed.
function ask(title, fill, attributes = {}) {
  return new Promise((resolve) => {
    const dialog = pageNode("dialog", { "aria-labelledby": "dialog-title", ...attributes });
    let result = null;
    const done = (value) => {
      result = value;
      dialog.close();
    };
    const close = pageNode("button", { type: "button", class: "close", "aria-label": say("act.close"), onclick: () => dialog.close() }, "×");
    dialog.append(pageNode("header", {}, pageNode("h2", { id: "dialog-title" }, title), close), ...[fill(done)].flat().filter(Boolean));
    const before = document.activeElement;
    dialog.addEventListener("close", () => {
      dialog.remove();
      before?.focus?.({ preventScroll: true });
      resolve(result);
    });
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("[autofocus]")?.focus();
  });
}

export function dialogIsOpen() {
  return Boolean(document.querySelector("dialog[open]"));
}

export function showKeys() {
  const parts = keySheet(say).map(([title, lines]) => pageNode("section", {},
    pageNode("h3", {}, title),
    pageNode("dl", {}, lines.flatMap(([keys, words]) => [pageNode("dt", {}, keys), pageNode("dd", {}, words)])),
  ));
  return ask(say("keys.title"), () => pageNode("div", { class: "key-sheet" }, parts), { class: "wide" });
}

// Every dispute by number, subject by subject.
export function showList(session) {
  const subjects = new Map();
  for (const item of session.queue) {
    const subject = item.practice ? say("practice.badge") : say("panel.subject", { subject: item.subject });
    subjects.set(subject, [...(subjects.get(subject) ?? []), item]);
  }
  return ask(say("list.title"), (done) => [
    pageNode("p", { class: "pale" }, say("list.legend")),
    pageNode("div", { class: "list" }, [...subjects].map(([subject, items]) => pageNode("section", {},
      pageNode("h3", {}, subject),
      pageNode("div", { class: "list-items" }, items.map((item) => listButton(session, item, done))),
    ))),
  ], { class: "wide" });
}

function listButton(session, item, done) {
  const here = item.id === session.item?.id;
  const words = say("list.item", { number: session.numberOf(item.id), status: say(`status.${item.status}`) });
  return pageNode("button", {
    type: "button", class: `list-item ${item.status}`, "aria-label": words, title: words, "aria-current": here ? "true" : null, autofocus: here, onclick: () => done(item.id),
  }, String(session.numberOf(item.id)), pageNode("span", { class: "sign" }, STATUS_SIGNS[item.status] ?? ""));
}

export function askUndo(undoable) {
  const reasons = ["wrong_key", "looked_again", "something_else"];
  return ask(say(`undo.title.${undoable.what}`, { number: undoable.number }), (done) => pageNode("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); done(event.submitter?.value ?? reasons[0]); } },
    pageNode("p", {}, say("undo.why")),
    pageNode("div", { class: "choices one" }, reasons.map((reason, at) => pageNode("button", { type: "submit", value: say(`undo.${reason}`), class: at ? "choice" : "choice first", autofocus: at === 0 }, say(`undo.${reason}`)))),
  ));
}

export function askLeave() {
  return ask(say("draw.leave_title"), (done) => [
    pageNode("p", {}, say("draw.leave_why")),
    pageNode("div", { class: "choices two" },
      pageNode("button", { type: "button", class: "choice", autofocus: true, onclick: () => done(false) }, say("draw.leave_stay")),
      pageNode("button", { type: "button", class: "choice", onclick: () => done(true) }, say("draw.leave_drop")),
    ),
  ]);
}

export function askName(name) {
  return ask(say("name.title"), (done) => {
    const input = pageNode("input", { type: "text", id: "adjudicator", autocomplete: "name", maxlength: 80, required: true, autofocus: true });
    input.value = name;
    return pageNode("form", { onsubmit: (event) => { event.preventDefault(); if (input.value.trim()) done(input.value.trim()); } },
      pageNode("p", {}, say("name.why")),
      pageNode("div", { class: "field" }, pageNode("label", { for: "adjudicator" }, say("name.label")), input),
      pageNode("button", { type: "submit", class: "primary" }, say("name.start")),
    );
  });
}

export function askFinish(session) {
  const left = session.queue.filter(({ status, practice }) => !practice && status !== "done" && status !== "second").length;
  return ask(say("finish.title"), (done) => {
    const name = pageNode("input", { type: "text", id: "finish-name", maxlength: 80, required: true, autofocus: true });
    name.value = session.state.adjudicator ?? "";
    const meaning = pageNode("input", { type: "text", id: "finish-meaning", maxlength: 200, required: true });
    meaning.value = say("finish.meaning_text");
    return pageNode("form", { onsubmit: (event) => { event.preventDefault(); done({ name: name.value.trim(), meaning: meaning.value.trim() }); } },
      pageNode("p", {}, say("finish.why")),
      left ? pageNode("p", { class: "alarm" }, say("finish.left", { n: left })) : null,
      pageNode("div", { class: "field" }, pageNode("label", { for: "finish-name" }, say("finish.name")), name),
      pageNode("div", { class: "field" }, pageNode("label", { for: "finish-meaning" }, say("finish.meaning")), meaning),
      pageNode("button", { type: "submit", class: "primary" }, say("finish.lock")),
    );
  });
}

export function askReopen() {
  return ask(say("reopen.title"), (done) => {
    const why = pageNode("input", { type: "text", id: "reopen-why", maxlength: 200, required: true, autofocus: true });
    return pageNode("form", { onsubmit: (event) => { event.preventDefault(); done(why.value.trim()); } },
      pageNode("p", {}, say("reopen.why")),
      pageNode("div", { class: "field" }, pageNode("label", { for: "reopen-why" }, say("reopen.reason")), why),
      pageNode("button", { type: "submit", class: "primary" }, say("reopen.open")),
    );
  });
}

// One rule for all disputes of a kind that are still open.
export function askRule(session) {
  const kinds = ["missed", "label", "border", "tile"];
  const rules = session.settings.rules ?? ["majority", "union", "intersection", "none"];
  return ask(say("rule.title"), (done) => {
    const list = (id, names, words) => pageNode("select", { id, autofocus: id === "rule-kind" }, names.map((name) => pageNode("option", { value: name }, say(`${words}.${name}`))));
    const kind = list("rule-kind", kinds, "rule.kind");
    const rule = list("rule-rule", rules, "choose");
    const most = pageNode("input", { type: "number", id: "rule-most", min: 0, step: 0.1, inputmode: "decimal" });
    const field = (words, control) => pageNode("div", { class: "field" }, pageNode("label", { for: control.id }, say(words)), control);
    return pageNode("form", { onsubmit: (event) => { event.preventDefault(); done({ kind: kind.value, rule: rule.value, ...(most.value ? { max_mm: Number(most.value) } : {}) }); } },
      pageNode("p", {}, say("rule.why")),
      field("rule.which", kind), field("rule.becomes", rule), field("rule.most", most),
      pageNode("button", { type: "submit", class: "primary" }, say("rule.apply")),
    );
  });
}
