// The page where disputes are settled: its frame, and what keys and buttons do.
import { FileBackend } from "./backend-file.js";
import { ServerBackend } from "./backend-server.js";
import { WorkClock } from "./clock.js";
import { askFinish, askLeave, askName, askReopen, askRule, askUndo, dialogIsOpen, showKeys, showList } from "./dialogs.js";
import { watchPane } from "./gestures.js";
import { pageIcon } from "./icons.js";
import { actionOfKey } from "./keys.js";
import { BrowserMemory } from "./memory.js";
import { keyButton, pageNode, refill } from "./nodes.js";
import { Outbox } from "./outbox.js";
import { messagePart, panelContent } from "./panel.js";
import { Session } from "./session.js";
import { Stage } from "./stage.js";
import { PaneTools } from "./tools.js";
import { loadWords, say } from "./words.js";

const SAVED_MILLISECONDS = 2500;
const DISK_FULL = 507;

function backendOfPage() {
  const data = document.getElementById("data");
  return document.documentElement.dataset.backend === "file" && data ? new FileBackend(JSON.parse(data.textContent)) : new ServerBackend();
}

// --- the frame

function pageFrame(act) {
  const bar = {
    title: pageNode("h1", {}, ""),
    progress: pageNode("progress", { max: 1, value: 0, "aria-label": say("progress.label") }),
    words: pageNode("p", { class: "progress-words" }),
    saved: pageNode("p", { class: "saved", role: "status", "aria-live": "polite" }),
  };
  const buttons = pageNode("div", { class: "bar-buttons" },
    keyButton(say("bar.list"), "O", () => act("list"), { class: "bar-button", id: "open-list" }),
    keyButton(say("bar.undo"), "Z", () => act("undo"), { class: "bar-button", id: "undo-last" }),
    pageNode("button", { type: "button", class: "bar-button", id: "save-file", "aria-keyshortcuts": "Control+S", hidden: true, onclick: () => act("file") }),
    pageNode("details", { class: "menu" }, pageNode("summary", {}, say("bar.more")), pageNode("div", { class: "menu-items", id: "more" })),
    keyButton(say("bar.help"), "?", () => act("keys"), { class: "bar-button", id: "open-keys" }),
  );
  const alarm = pageNode("div", { class: "alarm-bar", role: "alert", hidden: true });
  const picture = pageNode("div", { class: "stage", id: "stage" });
  const tool = (name, key, press, more = {}) => pageNode("button", { type: "button", class: "stage-tool", "data-tool": name, "aria-label": say(`tool.${name}`), "aria-keyshortcuts": key, title: key ? `${say(`tool.${name}`)} (${key})` : say(`tool.${name}`), onclick: press, ...more }, pageIcon(name));
  const tools = pageNode("div", { class: "stage-tools", role: "toolbar", "aria-label": say("stage.tools") },
    tool("pan", null, () => act("tool", "pan"), { "aria-pressed": "true" }), tool("window", null, () => act("tool", "window"), { "aria-pressed": "false" }), tool("ruler", "T", () => act("tool", "ruler"), { "aria-pressed": "false" }),
    tool("zoomIn", "+", () => act("zoom", 1.5)), tool("zoomOut", "-", () => act("zoom", 1 / 1.5)), tool("fit", "0", () => act("fit")),
    tool("layout", "V", () => act("layout")), tool("bare", "Space", null, { class: "stage-tool bare" }),
  );
  const windows = pageNode("select", { id: "windows", "aria-label": say("stage.windows"), onchange: (event) => act("chooseWindow", event.target.value) });
  const slider = pageNode("input", { type: "range", id: "slices", min: 0, "aria-label": say("stage.slices"), oninput: (event) => act("setSlice", Number(event.target.value)) });
  const below = pageNode("div", { class: "stage-below" }, pageNode("label", { class: "windows-field" }, pageNode("span", {}, say("stage.windows")), windows, pageNode("kbd", { "aria-hidden": "true" }, "W")), slider);
  const panel = pageNode("aside", { class: "panel", id: "panel", "aria-label": say("panel.label") });
  const toast = pageNode("div", { class: "toast" });
  const news = pageNode("p", { class: "unseen", role: "status", "aria-live": "polite", id: "news" });
  document.getElementById("app").append(
    pageNode("header", { class: "bar" }, pageNode("div", { class: "bar-about" }, bar.title, bar.words), bar.progress, bar.saved, buttons),
    alarm,
    pageNode("main", {}, pageNode("section", { class: "picture", "aria-label": say("stage.label") }, picture, tools, below, toast), panel),
    news,
  );
  return { ...bar, alarm, picture, tools, windows, slider, below, toast, panel, news, more: document.getElementById("more"), undo: document.getElementById("undo-last"), fileButton: document.getElementById("save-file") };
}

// --- what is done

function actionsOf(page) {
  const { session, stage, tools } = page;
  return {
    look: (answer) => session.look(answer),
    choose: (choice) => session.choose(choice),
    save: () => {
      if (stage.scene.polygon?.length > 2) tools.closePolygon();
      else session.save();
    },
    draw: () => session.startDrawing(),
    add: () => session.item.unit !== "tile" && session.startDrawing(true),
    label: () => session.nextLabel(),
    reason: () => session.nextReason(),
    comment: () => document.getElementById("comment")?.focus(),
    second: () => session.second(),
    skip: () => session.skip(),
    undo: async () => {
      const { undoable } = session;
      if (session.settings.finished) return session.tell(say("undo.finished"));
      if (!undoable) return session.tell(say("undo.nothing"));
      const reason = await askUndo(undoable);
      if (reason) await session.undo(reason);
    },
    strokes: (by) => session.strokes(by),
    redo: () => session.step === "draw" && session.strokes(1),
    corner: () => stage.scene.polygon?.length && session.strokes(-1),
    brush: (factor) => session.sizeBrush(factor),
    tool: (name) => {
      const wanted = session.tool === name && name === "ruler" ? (session.step === "draw" ? "brush" : "pan") : name;
      session.tool = wanted;
      stage.change({ polygon: null, brush: null, ruler: wanted === "ruler" ? stage.scene.ruler : null });
      page.show();
    },
    toggle: (number) => session.toggle(number),
    bare: (bare) => stage.change({ bare }),
    slice: (steps) => stage.scene.item && (stage.sliceBy(steps), page.showSlices()),
    setSlice: (at) => stage.setSlice(stage.main.plane.across, stage.main.plane.flipSlices ? stage.scene.item.shape[stage.main.plane.across] - 1 - at : at),
    zoom: (factor) => stage.scene.item && (stage.zoomBy(factor), session.savePlace()),
    fit: () => stage.scene.item && (stage.fit(), session.savePlace()),
    layout: () => {
      if (!stage.scene.item || stage.layouts.length < 2) return session.tell(say("layout.only"));
      session.tell(say(`layout.${stage.nextLayout()}`));
      session.savePlace();
    },
    window: () => {
      if (!stage.scene.item) return;
      const name = stage.nextWindow();
      session.tell(name ? say("window.now", { name: say(`window.${name}`) }) : say("window.none"));
      session.savePlace();
    },
    chooseWindow: (name) => {
      stage.chooseWindow(name);
      session.savePlace();
      page.focusStage();
    },
    tune: ([right, down]) => {
      if (!stage.scene.item) return;
      stage.dragWindow(right, down);
      session.savePlace();
    },
    cursor: (by) => tools.moveCursor(by),
    touch: () => stage.scene.item && tools.touch(),
    step: (by) => (session.item ? session.stepBy(by) : session.open(session.firstOpen())),
    onwards: async () => session.open(session.nextOpen()),
    open: (id) => session.open(id),
    list: async () => {
      const id = await showList(session);
      if (id) await session.open(id);
    },
    keys: () => showKeys(),
    show: (what) => session.show(what),
    rule: async () => {
      if (session.settings.finished) return session.tell(say("undo.finished"));
      const rule = await askRule(session);
      const answer = rule && (await session.applyRule(rule));
      if (answer) session.tell(say("rule.done", { n: answer.settled }));
    },
    finish: async () => {
      if (session.settings.finished) return session.tell(say("undo.finished"));
      const signed = await askFinish(session);
      if (signed) await session.finish(signed.name, signed.meaning);
    },
    reopen: async () => {
      const reason = await askReopen();
      if (reason) await session.reopen(reason);
    },
    file: () => page.saveFile(),
    load: () => page.loadFile(),
    escape: async () => {
      if (stage.scene.polygon?.length) return stage.change({ polygon: null });
      if (stage.scene.ruler) return stage.change({ ruler: null });
      if (session.step === "draw") {
        const { drawing } = session;
        const leaves = !(drawing.done.length || drawing.kept) || (await askLeave());
        return leaves && session.drawing === drawing && session.stopDrawing();
      }
      if (session.step === "outlines" && session.choice) {
        session.choice = null;
        session.showTie = null;
        session.draw();
        page.show();
      }
      return null;
    },
    leave: () => page.focusStage(),
  };
}

// --- the page

class AdjudicationPage {
  constructor() {
    this.backend = backendOfPage();
    this.act = (name, argument) => {
      if (!this.actions || (dialogIsOpen() && name !== "escape")) return;
      Promise.resolve(this.actions[name]?.(argument)).catch((error) => this.session.tell(error.message, true));
    };
    this.frame = pageFrame(this.act);
  }

  async start() {
    const { backend, frame } = this;
    this.stage = new Stage(frame.picture);
    this.mail = { kind: "idle", waiting: 0 };
    const state = await this.firstState();
    if (!state) return;
    if (backend.file && !backend.adjudicator) backend.name((await askName(state.suggested)) ?? (state.suggested || say("name.unknown")));
    const memory = new BrowserMemory(`page ${state.page}`);
    this.outbox = new Outbox(backend, memory, (mail) => this.told(mail));
    this.session = new Session({ backend, memory, outbox: this.outbox, stage: this.stage, clock: new WorkClock(), changed: () => this.show() });
    this.tools = new PaneTools(this.session, this.stage);
    this.stage.watch = (pane) => watchPane(this.stage, pane, this.tools);
    this.actions = actionsOf(this);
    this.listen();
    frame.title.textContent = state.study.title;
    document.title = `${state.study.title} · ${say("page.title")}`;
    this.session.state = state;
    this.fillMenu();
    // what an earlier page could not send goes first
    if (this.outbox.unsent) {
      const sent = this.outbox.send();
      await Promise.race([sent, new Promise((done) => setTimeout(done, 3000))]);
    }
    await this.session.start();
    this.tellWarnings(state.warnings);
  }

  // Without a first answer there is no page yet: what is missing is said in its place.
  async firstState() {
    for (;;) {
      try {
        const state = await this.backend.get("/api/state");
        this.alarm(null);
        return state;
      } catch (error) {
        if (error.status === 401) return this.alarm(say("gone.token"));
        this.alarm(error.status === 0 ? say("gone.start") : error.message);
        await new Promise((done) => setTimeout(done, 1500));
      }
    }
  }

  tellWarnings(warnings) {
    if (warnings?.length) this.session.tell(warnings.map((words) => `${words[0].toUpperCase()}${words.slice(1)}.`).join(" "), true);
  }

  listen() {
    const { act } = this;
    document.addEventListener("keydown", (event) => this.pressed(event));
    document.addEventListener("keyup", (event) => event.key === " " && act("bare", false));
    window.addEventListener("blur", () => act("bare", false));
    window.addEventListener("hashchange", () => /token=/.test(location.hash) && location.reload());
    window.addEventListener("beforeunload", (event) => {
      this.session.keepDraft();
      if (this.backend.file && this.backend.unsaved) event.preventDefault();
    });
    const bare = this.frame.tools.querySelector(".bare");
    for (const [name, on] of [["pointerdown", true], ["pointerup", false], ["pointerleave", false], ["pointercancel", false]]) bare.addEventListener(name, () => act("bare", on));
    bare.addEventListener("keydown", (event) => [" ", "Enter"].includes(event.key) && act("bare", true));
    bare.addEventListener("keyup", () => act("bare", false));
    // after a click the keys belong to the stage again
    document.addEventListener("click", (event) => {
      const button = event.target.closest?.("button");
      if (button && event.detail > 0 && !button.closest("dialog")) this.focusStage();
      const menu = document.querySelector(".menu[open]");
      if (menu && (!menu.contains(event.target) || button)) menu.open = false;
    });
    this.frame.picture.addEventListener("wheel", () => {
      this.showSlices();
      this.session.savePlace();
    }, { passive: true });
  }

  pressed(event) {
    if (dialogIsOpen()) return;
    const stageName = { look: "look", outlines: "outlines", draw: "draw" }[this.session.step] ?? "done";
    const letters = this.session.letters.filter(({ volume }) => volume).map(({ letter }) => letter);
    const action = actionOfKey(event, stageName, letters);
    if (!action) return;
    if (event.repeat && !["slice", "zoom", "cursor", "brush", "tune"].includes(action[0])) return event.preventDefault();
    event.preventDefault();
    this.act(...action);
  }

  focusStage() {
    this.stage.main?.canvas.focus({ preventScroll: true });
  }

  // --- what is shown

  show() {
    if (!this.session?.progress) return;
    const { session, frame } = this;
    refill(frame.panel, panelContent(session, this.act));
    frame.toast.replaceChildren(...[session.item && messagePart(session)].filter(Boolean));
    this.showProgress();
    this.showTools();
    this.showSlices();
    frame.undo.setAttribute("aria-disabled", String(!session.undoable || Boolean(session.settings.finished)));
    this.stage.root.setAttribute("data-tool", this.tools.tool());
    const { message } = session;
    frame.news.textContent = [message?.words, frame.panel.querySelector("#question")?.textContent].filter(Boolean).join(" ");
    if (this.stage.main && session.item) this.stage.main.canvas.setAttribute("aria-label", say("stage.picture", { number: session.number }));
    this.showMail();
  }

  showProgress() {
    const { progress } = this.session;
    const { frame } = this;
    Object.assign(frame.progress, { max: Math.max(1, progress.total), value: progress.done });
    const parts = [say("progress.left", { n: progress.left })];
    if (progress.left) parts.push(minutesWords(progress.minutes_left));
    if (progress.practice_left) parts.unshift(say("progress.practice", { n: progress.practice_left }));
    if (progress.indexed_cases < progress.cases) parts.push(say("progress.indexing", { done: progress.indexed_cases, of: progress.cases }));
    frame.words.textContent = parts.join(" · ");
  }

  showTools() {
    const { session, stage, frame } = this;
    for (const button of frame.tools.querySelectorAll("[aria-pressed]")) button.setAttribute("aria-pressed", String(button.dataset.tool === this.tools.tool()));
    frame.tools.hidden = frame.below.hidden = !session.item;
    if (!session.item) return;
    frame.tools.querySelector("[data-tool=layout]").hidden = stage.layouts.length < 2;
    const names = stage.windowNames;
    frame.windows.parentElement.hidden = !names.length;
    const now = stage.scene.blocks[0] ? stage.windowOf(0).name : null;
    const chosen = now === null ? [["", say("window.own")]] : [];
    const options = [...chosen, ...names.map((name) => [name, say(`window.${name}`)])];
    if (frame.windows.dataset.names !== options.join()) {
      frame.windows.dataset.names = options.join();
      frame.windows.replaceChildren(...options.map(([value, words]) => pageNode("option", { value }, words)));
    }
    frame.windows.value = now ?? "";
  }

  showSlices() {
    const { stage, frame, session } = this;
    const volume = session.item?.volume;
    frame.slider.hidden = !volume;
    if (!volume) return;
    const { across, flipSlices } = stage.main.plane;
    const most = session.item.shape[across] - 1;
    frame.slider.max = most;
    frame.slider.value = flipSlices ? most - stage.scene.point[across] : stage.scene.point[across];
  }

  fillMenu() {
    const { backend, frame, act, session } = this;
    const items = [
      backend.file && keyButton(say("file.save"), "Ctrl+S", () => act("file")),
      backend.file && keyButton(say("file.load"), null, () => act("load")),
      !backend.file && session.settings.rules !== null && keyButton(say("rule.open"), null, () => act("rule")),
      keyButton(say("finish.open"), null, () => act("finish")),
    ];
    frame.more.replaceChildren(...items.filter(Boolean));
  }

  // --- what was sent

  told(mail) {
    this.mail = mail;
    if (mail.kind === "refused") this.session.refused(mail);
    if (mail.kind === "saved") {
      clearTimeout(this.fading);
      this.fading = setTimeout(() => {
        if (this.mail.kind === "saved") this.frame.saved.classList.add("faded");
      }, SAVED_MILLISECONDS);
    }
    this.showMail();
  }

  showMail() {
    const { mail, frame, session } = this;
    const full = mail.error?.status === DISK_FULL;
    const trouble = { unreachable: "gone.unreachable", not_saved: full ? "gone.full" : "gone.not_saved", token: "gone.token_kept" }[mail.kind];
    const why = mail.kind === "not_saved" && !full ? ` (${mail.error?.message})` : "";
    if (trouble) this.alarm(`${say(trouble, { n: mail.waiting })}${why}`, mail.kind !== "token");
    else this.alarm(session?.gone ? say("gone.reading") : null, true);
    let words = "";
    if (mail.kind === "saved") words = this.savedWords(mail.about ?? {});
    else if (mail.kind === "sending") words = say("saved.sending");
    else if (trouble) words = say("saved.not", { n: mail.waiting });
    const { fileButton } = frame;
    fileButton.hidden = !this.backend.file;
    if (this.backend.file) fileButton.replaceChildren(say("file.short"), this.backend.unsaved ? pageNode("span", { class: "count", "aria-label": say("file.unsaved", { n: this.backend.unsaved }) }, String(this.backend.unsaved)) : "");
    if (frame.saved.textContent !== words) {
      frame.saved.textContent = words;
      frame.saved.classList.remove("faded");
    }
    frame.saved.classList.toggle("alarm", Boolean(trouble));
    frame.saved.dataset.kind = mail.kind;
  }

  savedWords({ number, decision, status, practice }) {
    if (!number || !decision) return say("saved.saved");
    const keys = { skipped: "saved.skipped", second: "saved.second" };
    return say(keys[status] ?? (practice ? "saved.practice" : "saved.number"), { number });
  }

  alarm(words, retry = false) {
    const { alarm } = this.frame;
    if (alarm.dataset.words === (words ?? "")) return null;
    alarm.dataset.words = words ?? "";
    alarm.hidden = !words;
    const again = retry && this.outbox ? pageNode("button", { type: "button", onclick: () => this.outbox.retry() }, say("gone.retry")) : "";
    alarm.replaceChildren(words ? pageNode("p", {}, words) : "", again);
    return null;
  }

  // --- the file of decisions

  async saveFile() {
    if (!this.backend.file) return;
    const pack = this.backend.pack();
    const link = pageNode("a", { href: URL.createObjectURL(new Blob([JSON.stringify(pack)], { type: "application/json" })), download: `decisions-${fileName(pack.adjudicator)}.json` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    this.backend.saved();
    this.session.tell(say("file.saved", { n: pack.calls.length }));
    this.showMail();
  }

  loadFile() {
    const input = pageNode("input", { type: "file", accept: ".json,application/json" });
    input.addEventListener("change", async () => {
      try {
        const count = this.backend.take(JSON.parse(await input.files[0].text()));
        await this.session.refresh();
        await this.session.open(this.session.firstOpen());
        this.session.tell(say("file.loaded", { n: count }));
      } catch {
        this.session.tell(say("file.wrong"), true);
      }
    });
    input.click();
  }
}

function minutesWords(minutes) {
  if (!Number.isFinite(minutes)) return "";
  if (minutes < 1) return say("progress.under_a_minute");
  return minutes < 90 ? say("progress.minutes", { n: Math.round(minutes) }) : say("progress.hours", { n: Math.round(minutes / 6) / 10 });
}

function fileName(name) {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "adjudicator";
}

loadWords(document.getElementById("words").textContent, document.documentElement.lang);
const adjudicationPage = new AdjudicationPage();
// what is shown now, for tests and for whoever asks in the console
window.manytruthsAdjudication = {
  state: () => {
    const { session, stage, mail } = adjudicationPage;
    if (!session) return { step: "starting" };
    const { scene } = stage;
    return {
      step: session.step, id: session.item?.id ?? null, number: session.number, choice: session.choice, label: session.label, reason: session.reason, tool: session.tool, adding: session.adding,
      letters: session.letters.map(({ letter }) => letter), hidden: [...session.hidden], statuses: session.queue.map(({ status }) => status), progress: session.progress,
      drawn: session.drawing ? session.drawing.values.reduce((sum, value) => sum + (value ? 1 : 0), 0) : null, waiting: adjudicationPage.outbox.unsent, mail: mail.kind,
      camera: structuredClone(scene.camera), point: scene.point, window: scene.item && scene.blocks[0] ? stage.windowOf(0) : null, layout: stage.layout, bare: Boolean(scene.bare), shownAfter: session.shownAfter, opened: session.opened, gone: Boolean(session.gone),
      polygon: scene.polygon?.length ?? 0, ruler: Boolean(scene.ruler), cursor: scene.cursor ?? null,
    };
  },
  at: (column, row) => {
    const { main, scene } = adjudicationPage.stage;
    const { x, y } = main.toScreen(main.placing(scene), { column, row });
    const box = main.canvas.getBoundingClientRect();
    return { x: box.left + x, y: box.top + y };
  },
};
adjudicationPage.start();
