// A sitting at the page: which dispute is shown, what is chosen or drawn for it, and what was sent.
import { readBlock } from "./blocks.js";
import { BackendError } from "./backend-server.js";
import { Drawing } from "./drawing.js";
import { readItem } from "./items.js";
import { CHOICE_COLOUR, DRAWN_COLOUR, lookOf } from "./looks.js";
import { tiedVolume, volumeOfRuns, withLabel } from "./marks.js";
import { say } from "./words.js";

const AHEAD = 2;
const KEPT_ITEMS = 6;
const RETRY_MILLISECONDS = 1500;
const MESSAGE_MILLISECONDS = 6000;
const INDEX_MILLISECONDS = 2500;
const CHOICE_FILL = "rgb(92 192 245 / 0.13)";
const DRAWN_FILL = "rgb(92 192 245 / 0.17)";
const FAINT = 0.32;
const BRUSH_SHARE = 0.012;
export const COMBINED = ["union", "intersection", "majority"];

export class Session {
  // `changed` is called when something that is shown has changed.
  constructor({ backend, memory, outbox, stage, clock, changed }) {
    Object.assign(this, { backend, memory, outbox, stage, clock, changed });
    Object.assign(this, { queue: [], loaded: new Map(), step: "loading", item: null, opened: 0, passed: new Set(), last: memory.read("last"), tool: "pan", brush: memory.read("brush", 0) });
    stage.readTile = (path) => backend.image(path);
    this.clear();
  }

  clear() {
    Object.assign(this, { outlines: null, choice: null, label: null, reason: "", comment: "", hidden: new Set(), highlighted: null, drawing: null, adding: false, message: null, shownExtra: null });
  }

  async start() {
    await this.refresh();
    this.watchIndex();
    const wanted = this.state.place?.item;
    const place = this.state.place ?? {};
    if (place.window) this.stage.scene.window = place.window;
    if (place.own) this.stage.scene.own = place.own;
    if (place.zooms) this.stage.scene.zooms = place.zooms;
    if (place.layout) this.stage.layout = place.layout;
    if (this.settings.finished) return this.showEnd();
    const known = this.queue.find((item) => item.id === wanted && item.status === "open");
    await this.open(known?.id ?? this.firstOpen());
  }

  async refresh() {
    this.state = await this.patiently(() => this.backend.get("/api/state"));
    this.progress = this.state.progress;
    this.stage.field = this.settings.field;
    this.queue = (await this.patiently(() => this.backend.get("/api/queue"))).items;
  }

  // While cases are still searched, the queue grows.
  watchIndex() {
    const { progress } = this;
    if (!(progress.indexed_cases < progress.cases)) return;
    setTimeout(async () => {
      try {
        await this.refresh();
        if (this.step === "end" || this.step === "empty") await this.open(this.firstOpen());
        else this.changed();
      } finally {
        this.watchIndex();
      }
    }, INDEX_MILLISECONDS);
  }

  get settings() {
    return this.state.settings;
  }

  get entry() {
    return this.queue.find(({ id }) => id === this.item?.id);
  }

  // As it is shown: practice is counted for itself.
  numberOf(id) {
    const entry = this.queue.find((item) => item.id === id);
    return entry ? this.queue.filter((item) => Boolean(item.practice) === Boolean(entry.practice)).indexOf(entry) + 1 : "";
  }

  get number() {
    return this.numberOf(this.item?.id);
  }

  get letters() {
    return this.outlines?.letters ?? [];
  }

  // Reads again until an answer comes.
  async patiently(read) {
    for (;;) {
      try {
        const answer = await read();
        this.unreachable(false);
        return answer;
      } catch (error) {
        if (error.status !== 0 && !(error.status >= 500)) throw error;
        this.unreachable(true);
        await new Promise((done) => setTimeout(done, RETRY_MILLISECONDS));
      }
    }
  }

  unreachable(gone) {
    if (this.gone === gone) return;
    this.gone = gone;
    this.changed();
  }

  // --- which dispute

  firstOpen(from = 0) {
    const open = ({ status }) => status === "open" || status === "stale";
    return (this.queue.slice(from).find(open) ?? this.queue.find(open))?.id ?? null;
  }

  // What was skipped comes back at the end, once.
  nextOpen() {
    const open = this.firstOpen(this.queue.findIndex(({ id }) => id === this.item?.id) + 1);
    return open ?? this.queue.find(({ id, status }) => status === "skipped" && !this.passed.has(id))?.id ?? null;
  }

  load(id) {
    if (!this.loaded.has(id)) {
      const loading = this.read(id);
      loading.catch(() => this.loaded.delete(id));
      this.loaded.set(id, loading);
      for (const old of [...this.loaded.keys()].slice(0, -KEPT_ITEMS)) if (old !== this.item?.id) this.loaded.delete(old);
    }
    return this.loaded.get(id);
  }

  async read(id) {
    const item = readItem(await this.backend.get(`/api/items/${id}`));
    const [{ rows, columns }] = item.planes;
    const part = [rows, columns].some((axis) => item.shape[axis] < item.full[axis]);
    const images = item.series.map((_, number) => this.backend.image(`/api/items/${id}/image${number ? `?series=${number}` : ""}`));
    const small = part ? this.backend.image(`/api/items/${id}/overview`).catch(() => null) : null;
    // without a first look, or after it, outlines are no secret
    const known = item.stage === "look" ? null : this.backend.get(`/api/items/${id}/outlines`);
    const [buffers, outlines] = await Promise.all([Promise.all(images), known]);
    const blocks = buffers.map((buffer) => buffer && liftSeries(readBlock(buffer)));
    return { item, blocks: blocks.filter((block, number) => block || number === 0), overview: overviewOf(await small, item.planes[0]), outlines };
  }

  async open(id) {
    const begun = performance.now();
    this.opening = id;
    if (id === null) return this.showEnd();
    this.keepDraft();
    const { item, blocks, overview, outlines } = await this.patiently(() => this.load(id)).catch((error) => this.fail(error));
    if (this.opening !== id) return;
    this.clear();
    Object.assign(this, { item, step: item.stage === "look" ? "look" : "loading", tool: "pan" });
    this.stage.show(item, blocks, overview);
    this.stage.change({ cross: true });
    this.stage.draw();
    this.shownAfter = performance.now() - begun;
    this.clock.restart();
    this.savePlace();
    if (item.stage !== "look") await this.showOutlines(outlines);
    this.changed();
    this.opened++;
    this.fetchAhead();
  }

  fail(error) {
    this.message = { words: error.status === 401 ? say("gone.token") : error.message, alarm: true };
    this.step = "failed";
    this.changed();
    throw error;
  }

  fetchAhead() {
    const at = this.queue.findIndex(({ id }) => id === this.item?.id);
    const next = [...this.queue.slice(at + 1), ...this.queue.slice(0, at)].filter(({ status }) => status === "open" || status === "stale");
    for (const { id } of next.slice(0, AHEAD)) this.load(id).catch(() => null);
  }

  // Another dispute without deciding this one.
  stepBy(by) {
    const at = this.queue.findIndex(({ id }) => id === this.item?.id);
    const to = this.queue[Math.min(Math.max(at + by, 0), this.queue.length - 1)];
    if (to && to.id !== this.item?.id) this.open(to.id);
  }

  showEnd() {
    this.clear();
    this.item = null;
    this.step = this.queue.length ? "end" : "empty";
    this.stage.scene.item = null;
    this.stage.root.replaceChildren();
    delete this.stage.root.dataset.panes;
    this.changed();
  }

  // --- first look, then outlines

  async look(answer) {
    if (this.step !== "look") return;
    const { item } = this;
    this.step = "waiting";
    this.changed();
    const body = { uuid: crypto.randomUUID(), answer, seconds: this.clock.seconds };
    try {
      await this.outbox.post(`/api/items/${item.id}/look`, body, { number: this.numberOf(item.id) });
    } catch (error) {
      this.step = "look";
      return this.tell(error.message, true);
    }
    item.stage = "outlines";
    if (this.item !== item) return;
    this.clock.restart();
    item.answer = answer;
    await this.showOutlines();
    this.changed();
  }

  // Who saw no lesion confirms that by one key.
  async showOutlines(known = null) {
    const { item } = this;
    const preset = { no_lesion: "none", not_evaluable: "not_evaluable" }[item.answer] ?? null;
    const outlines = known ?? (await this.patiently(() => this.backend.get(`/api/items/${item.id}/outlines`)).catch((error) => this.fail(error)));
    if (this.item !== item) return;
    this.outlines = this.readOutlines(outlines);
    this.label = item.decision?.label ?? outlines.label ?? item.label ?? null;
    this.step = item.decision ? "done" : "outlines";
    this.choice = item.decision?.choice ?? preset;
    if (item.decision?.runs) this.decided = volumeOfRuns(item.decision.runs, item.shape);
    const boxes = this.letters.map(({ volume }) => volume).filter(Boolean);
    this.box = item.unit === "tile" ? item.box : boxes.length ? boxAround(boxes) : null;
    if (this.box) {
      this.stage.reveal(this.box);
      this.stage.turnTo(this.box);
    }
    const draft = item.decision ? null : this.memory.read(`draft ${item.id}`);
    if (draft) this.takeDraft(draft);
    this.draw();
  }

  readOutlines(outlines) {
    const { shape } = this.item;
    const letters = outlines.letters.map((letter, number) => ({ ...letter, number, look: lookOf(number), volume: volumeOfRuns(letter.runs, shape) }));
    const shown = letters.filter(({ volume }) => volume);
    shown.forEach((letter, at) => (letter.turn = -Math.PI / 2 + (2 * Math.PI * at) / shown.length + 0.3));
    const choices = {};
    for (const name of COMBINED) {
      const { runs, tie } = outlines.choices?.[name] ?? {};
      choices[name] = { runs, tie: Boolean(tie), volume: tie ? tiedVolume(outlines.letters, shape) : volumeOfRuns(runs, shape) };
    }
    return { ...outlines, letters, shown, choices };
  }

  choose(choice) {
    if (this.step !== "outlines") return;
    const name = choice.replace("letter:", "");
    const letter = this.letters.find((each) => each.letter === name && choice.startsWith("letter:"));
    if (choice.startsWith("letter:") && !letter?.volume) return;
    const combined = this.outlines.choices[choice];
    if (combined?.tie) {
      this.showTie = combined.volume;
      this.choice = null;
      this.tell(say(combined.volume ? "choose.tie" : "choose.tie_label"), true);
      return this.draw();
    }
    if (combined && !combined.runs) return this.tell(say("choose.unavailable"), true);
    Object.assign(this, { choice, message: null, showTie: null });
    if (letter) this.hidden.delete(name);
    this.draw();
    this.changed();
  }

  toggle(number) {
    const letter = this.outlines?.shown[number];
    if (!letter) return;
    if (!this.hidden.delete(letter.letter)) this.hidden.add(letter.letter);
    this.draw();
    this.changed();
  }

  highlight(letter) {
    this.highlighted = letter;
    this.draw();
  }

  nextLabel() {
    const { labels } = this.settings;
    if (!labels || labels.length < 2) return;
    this.chooseLabel(labels[(labels.findIndex(({ value }) => value === this.label) + 1) % labels.length].value);
  }

  chooseLabel(value) {
    this.label = value;
    this.changed();
  }

  nextReason() {
    const { reasons = [] } = this.settings;
    const all = ["", ...reasons];
    this.remark({ reason: all[(all.indexOf(this.reason) + 1) % all.length] });
    this.changed();
  }

  remark(parts) {
    Object.assign(this, parts);
    this.keepDraft();
  }

  // What is no alarm goes by itself.
  tell(words, alarm = false) {
    const message = { words, alarm };
    this.message = message;
    this.changed();
    if (alarm || !words) return;
    setTimeout(() => {
      if (this.message !== message) return;
      this.message = null;
      this.changed();
    }, MESSAGE_MILLISECONDS);
  }

  // --- drawing

  get brushRadius() {
    const { item } = this.stage.scene;
    if (!item) return 1;
    const { rows, columns } = item.planes[0];
    const least = Math.min(this.stage.scene.sides[rows], this.stage.scene.sides[columns]);
    this.brush ||= Math.max(2 * least, BRUSH_SHARE * Math.min(item.shape[rows] * this.stage.scene.sides[rows], item.shape[columns] * this.stage.scene.sides[columns]));
    return Math.max(this.brush, 0.5 * least);
  }

  sizeBrush(factor) {
    this.brush = this.brushRadius * factor;
    this.memory.write("brush", this.brush);
    this.changed();
  }

  get drawnLabel() {
    return this.label ?? this.settings.labels?.[0]?.value ?? 1;
  }

  // From what is chosen, or from nothing.
  startDrawing(adding = false) {
    if (this.step !== "outlines") return;
    const letter = this.letters.find((each) => this.choice === `letter:${each.letter}`);
    const runs = adding ? [] : (letter?.runs ?? this.outlines.choices[this.choice]?.runs ?? []);
    this.beginDrawing(runs ?? [], adding);
    this.changed();
  }

  beginDrawing(runs, adding) {
    this.drawing = new Drawing(this.item.shape, runs, this.stage.scene.sides);
    Object.assign(this, { adding, step: "draw", tool: "brush", message: null, from: this.choice });
    this.stage.change({ cursor: null, polygon: null, pixels: true });
    if (adding) this.stage.stepBack();
    this.draw();
  }

  stopDrawing() {
    if (this.adding && this.box) this.stage.reveal(this.box);
    Object.assign(this, { drawing: null, step: "outlines", tool: "pan", adding: false, message: null });
    this.stage.change({ brush: null, polygon: null, pixels: false });
    this.memory.forget(`draft ${this.item.id}`);
    this.draw();
    this.changed();
  }

  strokes(by) {
    const { scene } = this.stage;
    if (by < 0 && scene.polygon?.length) scene.polygon.pop();
    else if (by < 0) this.drawing.undo();
    else this.drawing.redo();
    this.drew();
  }

  drew() {
    this.keepDraft();
    this.draw();
    this.changed();
  }

  // Kept after every stroke and remark, so that a reload loses none.
  keepDraft() {
    const { item, drawing, label, reason, comment, adding, choice } = this;
    if (!item || !(drawing || (this.step === "outlines" && (reason || comment)))) return;
    this.memory.write(`draft ${item.id}`, { runs: drawing?.runs(), label, reason, comment, adding, choice });
  }

  takeDraft({ runs, label, reason, comment, adding, choice }) {
    Object.assign(this, { label: label ?? this.label, reason: reason ?? "", comment: comment ?? "", choice: choice ?? this.choice });
    if (!runs) return;
    this.beginDrawing(runs, Boolean(adding));
    this.drawing.kept = true;
    this.message = { words: say("draft.kept"), alarm: false };
  }

  // --- what the stage shows

  draw() {
    const { outlines, choice, step, stage } = this;
    const marks = [];
    if (outlines) {
      // "no lesion" is judged by what was drawn
      const busy = step === "draw" || (Boolean(choice) && choice !== "none" && choice !== "not_evaluable");
      for (const [number, { letter, volume, look, turn }] of outlines.shown.entries()) {
        if (this.hidden.has(letter)) continue;
        const mine = choice === `letter:${letter}` && step !== "draw";
        const shown = this.highlighted ? this.highlighted === letter : mine || !busy;
        const opacity = shown ? 1 : FAINT;
        marks.push({ volume, ...look, opacity, line: mine ? "bold" : "plain", fill: mine ? CHOICE_FILL : null, tag: letter, turn, inset: mine ? 0 : number });
      }
      marks.sort((one, other) => Number(one.line === "bold") - Number(other.line === "bold"));
      const combined = step !== "draw" && outlines.choices[choice];
      if (combined) marks.push({ volume: combined.volume, line: "bold", colour: CHOICE_COLOUR, dash: [], opacity: 1, fill: CHOICE_FILL });
      if (this.showTie && !choice) marks.push({ volume: this.showTie, fill: "hatched" });
      if (step === "done" && choice === "drawn") marks.push({ volume: this.decided, line: "bold", colour: DRAWN_COLOUR, dash: [], opacity: 1, fill: DRAWN_FILL });
      if (this.shownExtra) marks.unshift(...this.shownExtra);
    }
    if (this.drawing) marks.push({ volume: this.drawing, line: "bold", colour: DRAWN_COLOUR, dash: [], opacity: 1, fill: DRAWN_FILL });
    stage.change({ marks, cross: step === "look" || !outlines?.shown.length });
  }

  // --- decisions

  async save() {
    const { item, step } = this;
    if (step === "draw" && this.adding) return this.saveAdded();
    if (step !== "draw" && step !== "outlines") return;
    if (step === "draw" && this.drawing.empty) return this.tell(say("draw.empty"), true);
    if (step === "outlines" && !this.choice) return this.tell(say("choose.first"), true);
    const drawn = step === "draw";
    const body = { uuid: crypto.randomUUID(), choice: drawn ? "drawn" : this.choice, label: this.label, reason: this.reason, comment: this.comment, seconds: this.clock.seconds };
    if (drawn) body.runs = this.labelled(this.drawing.runs());
    this.memory.forget(`draft ${item.id}`);
    this.remember("decision", body.uuid, item.id, body);
    await this.leave(item, "done", `/api/items/${item.id}/decide`, body);
  }

  // One label at a time is drawn; where there is but one, its value stands for all that was drawn.
  labelled(runs) {
    const { labels = [] } = this.settings;
    return labels.length < 2 && runs.length ? withLabel(runs, this.drawnLabel) : runs;
  }

  async saveAdded() {
    if (this.drawing.empty) return this.tell(say("draw.empty"), true);
    const runs = this.labelled(this.drawing.runs());
    const body = { uuid: crypto.randomUUID(), item: this.item.id, label: this.drawnLabel, runs, reason: this.reason, comment: this.comment, seconds: this.clock.seconds };
    this.stopDrawing();
    this.remember("lesion", body.uuid, this.item.id);
    this.post("/api/add", body, { number: this.number });
    this.tell(say("add.done"));
  }

  skip() {
    if (!["look", "outlines", "draw"].includes(this.step)) return;
    if (this.firstOpen() === null || this.entry.status === "skipped") this.passed.add(this.item.id);
    return this.leave(this.item, "skipped", `/api/items/${this.item.id}/skip`, { uuid: crypto.randomUUID(), reason: this.reason });
  }

  second() {
    if (this.step !== "outlines") return;
    return this.leave(this.item, "second", `/api/items/${this.item.id}/second`, { uuid: crypto.randomUUID(), reason: this.reason, comment: this.comment });
  }

  // On to the next dispute while the decision is on its way.
  async leave(item, status, path, body) {
    // what was chosen and not saved is there again when the dispute is
    if (status !== "done" && this.choice) this.memory.write(`draft ${item.id}`, { choice: this.choice, label: this.label, reason: this.reason, comment: this.comment });
    this.step = "waiting";
    this.drawing = null;
    const entry = this.entry;
    if (entry) entry.status = status;
    this.loaded.delete(item.id);
    const sent = this.post(path, body, { number: this.numberOf(item.id), practice: Boolean(entry?.practice), status, id: item.id, decision: body });
    const next = this.nextOpen();
    if (next === null) {
      this.changed();
      await sent;
    }
    await this.open(next ?? this.nextOpen());
  }

  async post(path, body, about) {
    try {
      const answer = await this.outbox.post(path, body, about);
      await this.saved(answer);
      return answer;
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      return null;
    }
  }

  async saved(answer) {
    if (!answer.progress) return;
    const before = this.progress;
    this.progress = answer.progress;
    if (before && before.practice_left > 0 && this.progress.practice_left === 0) this.tell(say("practice.over"));
    if (this.progress.total !== before?.total || this.progress.indexed_cases !== before?.indexed_cases) {
      this.queue = (await this.patiently(() => this.backend.get("/api/queue"))).items;
    }
    this.changed();
  }

  // What the server refused for good is put back to its dispute as a draft.
  refused({ about, error }) {
    if (!about?.id) return this.tell(say("refused.action", { error: error.message }), true);
    this.putBack(about.id, about.decision);
    const entry = this.queue.find(({ id }) => id === about.id);
    if (entry) entry.status = "open";
    this.tell(say("refused", { number: about.number, error: error.message }), true);
  }

  // A decision as a draft, so that nothing has to be drawn or written again.
  putBack(id, decision) {
    if (!decision) return;
    const { runs, choice, label, reason, comment } = decision;
    const drawn = choice === "drawn";
    this.memory.write(`draft ${id}`, { runs: drawn ? runs : undefined, choice: drawn ? null : choice, label, reason, comment });
  }

  // --- undo

  get undoable() {
    const { item } = this;
    if (item?.decision && this.step === "done") return { what: "decision", id: item.id, uuid: item.decision.uuid, decision: item.decision, number: this.number };
    return this.last;
  }

  // What Z undoes.
  remember(what, uuid, id = null, decision = null) {
    this.last = { what, uuid, id, decision, number: this.numberOf(id) };
    this.memory.write("last", this.last);
  }

  async undo(reason) {
    const wanted = this.undoable;
    if (!wanted) return;
    this.last = null;
    this.memory.forget("last");
    const answer = await this.post("/api/undo", { uuid: crypto.randomUUID(), of: wanted.uuid, reason }, { number: wanted.number });
    if (!answer) return;
    if (wanted.what !== "decision") {
      this.loaded.clear();
      await this.refresh();
      if (!this.item) await this.open(this.firstOpen());
      return this.tell(say("undo.undone"));
    }
    const entry = this.queue.find(({ id }) => id === wanted.id);
    if (entry) entry.status = "open";
    this.putBack(wanted.id, wanted.decision);
    this.loaded.delete(wanted.id);
    await this.open(wanted.id);
    this.tell(say("undo.done", { number: wanted.number }));
  }

  // --- the rest

  // Shown when asked for, which is logged first.
  async show(what) {
    const { item } = this;
    if (this.step !== "outlines") return;
    if (!(await this.post(`/api/items/${item.id}/show`, { uuid: crypto.randomUUID(), what }, { number: this.numberOf(item.id) }))) return;
    const extra = await this.patiently(() => this.backend.get(`/api/items/${item.id}/extra?what=${what}`));
    if (this.item !== item) return;
    this.shownExtra = extraMarks(what, extra, item.shape);
    if (what === "names") this.outlines = this.readOutlines(await this.patiently(() => this.backend.get(`/api/items/${item.id}/outlines`)));
    this.draw();
    this.tell(extra.grey?.length ? say("shown.grey", { names: extra.grey.join(", ") }) : say(`shown.${what}`));
  }

  async finish(name, meaning) {
    const answer = await this.post("/api/finish", { uuid: crypto.randomUUID(), name, meaning }, {});
    if (!answer) return false;
    this.settings.finished = true;
    this.showEnd();
    return true;
  }

  async reopen(reason) {
    if (!(await this.post("/api/reopen", { uuid: crypto.randomUUID(), reason }, {}))) return;
    await this.refresh();
    await this.open(this.firstOpen());
  }

  async applyRule(body) {
    const uuid = crypto.randomUUID();
    const answer = await this.post("/api/rule", { uuid, ...body }, {});
    if (!answer) return null;
    this.remember("rule", uuid);
    this.loaded.clear();
    await this.refresh();
    await this.open(this.firstOpen());
    return answer;
  }

  savePlace() {
    const { zooms, window: chosen, own } = this.stage.scene;
    clearTimeout(this.placing);
    this.placing = setTimeout(() => {
      const place = { item: this.item?.id, zooms, window: chosen, own, layout: this.stage.layout };
      this.backend.post("/api/place", place).catch(() => null);
    }, 400);
  }
}

// Extra series may be flat or volumes, as the image is.
function liftSeries(block) {
  const lift = (list, first) => (list?.length === 2 ? [first, ...list] : list);
  return { ...block, view: lift(block.view, [0, 1]), scales: lift(block.scales, 1), shifts: lift(block.shifts, 0) };
}

// A small picture of the whole slice; its rows may be those of the array and not of the picture.
function overviewOf(buffer, plane) {
  if (!buffer) return null;
  const block = readBlock(buffer);
  const { shape, values, channels } = block;
  const turned = block.axes?.[0] !== undefined && block.axes[0] > block.axes[1] !== plane.rows > plane.columns;
  const picture = document.createElement("canvas");
  [picture.width, picture.height] = [shape[2], shape[1]];
  const data = new ImageData(shape[2], shape[1]);
  for (let at = 0; at < shape[1] * shape[2]; at++) {
    for (let part = 0; part < 3; part++) data.data[4 * at + part] = values[channels === 3 ? 3 * at + part : at];
    data.data[4 * at + 3] = 255;
  }
  picture.getContext("2d").putImageData(data, 0, 0);
  if (!turned) return { picture, frame: block.frame };
  const other = document.createElement("canvas");
  [other.width, other.height] = [picture.height, picture.width];
  const context = other.getContext("2d");
  context.setTransform(0, 1, 1, 0, 0, 0);
  context.drawImage(picture, 0, 0);
  return { picture: other, frame: [...block.frame].reverse() };
}

function boxAround(volumes) {
  return [0, 1, 2].map((axis) => [
    Math.min(...volumes.map(({ starts }) => starts[axis])),
    Math.max(...volumes.map(({ starts, shape }) => starts[axis] + shape[axis])),
  ]);
}

function extraMarks(what, extra, shape) {
  const marked = (runs, fill, line = null) => ({ volume: volumeOfRuns(runs, shape), fill, line, colour: "#f2f2f5", dash: [3, 3], opacity: 1 });
  if (what === "votes") return (extra.runs ?? []).map(([count, pairs]) => marked([[1, pairs]], `rgb(64 196 220 / ${0.06 + (0.5 * count) / (extra.most || 1)})`));
  if (what === "algorithms") return (extra.letters ?? []).map(({ runs }) => marked(runs, null, "plain"));
  return extra.runs ? [marked(extra.runs, "rgb(64 196 220 / 0.3)", "plain")] : [];
}
