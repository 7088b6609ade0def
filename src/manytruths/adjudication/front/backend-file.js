// The same calls without a server: disputes stand in the page, and decisions are kept in the browser until they are saved
// as a file. That file holds the calls themselves, which `manytruths adjudicate --merge` makes again.
import { BackendError } from "./backend-server.js";
import { BrowserMemory } from "./memory.js";

const PACK_FORMAT = "manytruths-decisions";
const [PACE_LEAST, PACE_LAST, PACE_ASSUMED] = [3, 50, 20];

export class FileBackend {
  constructor(data) {
    this.data = data;
    this.file = true;
    this.memory = new BrowserMemory(`file ${data.state.page}`);
    this.adjudicator = this.memory.read("adjudicator", "");
    this.readCalls();
  }

  // Another tab may have added some.
  readCalls() {
    this.calls = this.memory.keys("call ").map((key) => this.memory.read(key));
    this.recount();
  }

  name(adjudicator) {
    this.adjudicator = adjudicator;
    this.memory.write("adjudicator", adjudicator);
  }

  get unsaved() {
    return this.calls.length - this.memory.read("saved calls", 0);
  }

  async get(path) {
    const [, , what, id, part] = path.split("?")[0].split("/");
    if (what === "state") return this.state();
    if (what === "queue") return { items: this.data.queue.items.map((item) => ({ ...item, status: this.status(item.id) })) };
    const item = this.data.items[id];
    if (!item) throw new BackendError(404, "unknown", "There is no such dispute in this file.");
    if (!part) return { ...item, stage: this.stage(id), decision: this.decisions.get(id) ?? null };
    if (part === "outlines" && this.stage(id) !== "outlines") throw new BackendError(409, "first_look", "The first look comes first.");
    if (part === "outlines") return this.data.outlines[id];
    if (part === "extra") return this.data.extra?.[id]?.[new URLSearchParams(path.split("?")[1]).get("what")] ?? {};
    throw new BackendError(404, "unknown", "This file does not hold that.");
  }

  async image(path) {
    const [, , , id, part] = path.split("?")[0].split("/");
    if (part === "overview") return null;
    const key = this.data.images?.[id]?.[Number(new URLSearchParams(path.split("?")[1]).get("series") ?? 0)];
    const packed = this.data.blobs[key];
    if (!packed) return null;
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }

  // A call that came already is not made again.
  async post(path, body) {
    if (path === "/api/place") {
      this.memory.write("place", body);
      return { saved: true };
    }
    const known = this.calls.findIndex((call) => call.body.uuid === body.uuid);
    if (known < 0) {
      if (this.finished) throw new BackendError(409, "finished", "The adjudication is finished; nothing can be changed any more.");
      const call = { utc: new Date().toISOString(), path, body };
      if (!this.memory.write(keyOfCall(call), call)) {
        this.memory.forget(keyOfCall(call));
        throw new BackendError(507, "not_saved", "The browser has no room for more decisions.");
      }
      this.calls.push(call);
      this.recount();
    }
    const [, , what, id, part] = path.split("/");
    const answer = { saved: true, entry: known < 0 ? this.calls.length : known + 1, progress: this.progress() };
    return what === "items" ? { ...answer, next: this.next(id), ...(part === "look" ? { stage: "outlines" } : {}) } : answer;
  }

  // --- what the calls so far come to

  recount() {
    Object.assign(this, { looked: new Set(), decisions: new Map(), set: new Map(), seconds: new Map(), finished: false });
    const undone = new Map(this.calls.filter((call) => call.path === "/api/undo").map((call) => [call.body.of, true]));
    for (const { path, body } of this.calls) {
      const [, , what, id, part] = path.split("/");
      if (what === "finish") this.finished = true;
      if (what !== "items") continue;
      if (part === "look") this.looked.add(id);
      if (part === "look" || part === "decide") this.seconds.set(id, (this.seconds.get(id) ?? 0) + (body.seconds ?? 0));
      if (part === "skip") this.set.set(id, "skipped");
      if (part === "second") this.set.set(id, "second");
      if (part === "decide" && !undone.has(body.uuid)) {
        this.decisions.set(id, body);
        this.set.delete(id);
      } else if (part === "decide" && this.decisions.get(id)?.uuid === body.uuid) this.decisions.delete(id);
    }
  }

  status(id) {
    return this.decisions.has(id) ? "done" : (this.set.get(id) ?? "open");
  }

  stage(id) {
    return this.looked.has(id) || !this.data.state.settings.first_look ? "outlines" : "look";
  }

  next(id) {
    const { items } = this.data.queue;
    const at = items.findIndex((item) => item.id === id);
    return [...items.slice(at + 1), ...items.slice(0, at)].find((item) => this.status(item.id) === "open")?.id ?? null;
  }

  progress() {
    const counted = this.data.queue.items.filter((item) => !item.practice);
    const count = (status) => counted.filter((item) => this.status(item.id) === status).length;
    // as the server counts it: a few decisions say nothing about the pace yet
    const spent = counted.filter(({ id }) => this.decisions.has(id)).map(({ id }) => this.seconds.get(id) ?? 0).slice(-PACE_LAST);
    const each = spent.length >= PACE_LEAST ? spent.reduce((sum, one) => sum + one, 0) / spent.length : PACE_ASSUMED;
    const left = count("open") + count("skipped");
    const practice = this.data.queue.items.filter((item) => item.practice && this.status(item.id) === "open").length;
    return {
      ...this.data.state.progress, total: counted.length, done: count("done") + count("second"), skipped: count("skipped"), left,
      seconds_each: each, minutes_left: Math.ceil((left * each) / 60), practice_left: practice,
    };
  }

  state() {
    const { state } = this.data;
    const settings = { ...state.settings, finished: this.finished || state.settings.finished };
    return { ...state, settings, adjudicator: this.adjudicator, suggested: state.adjudicator ?? "", progress: this.progress(), place: this.memory.read("place") };
  }

  // --- the file that goes back

  pack() {
    this.readCalls();
    const { page } = this.data.state;
    return { format: PACK_FORMAT, version: 1, page, adjudicator: this.adjudicator, machine: "browser", calls: this.calls };
  }

  saved() {
    this.memory.write("saved calls", this.calls.length);
  }

  // A file that was saved before: work goes on where it ended. How many calls were new.
  take(pack) {
    if (pack?.format !== PACK_FORMAT || pack.page !== this.data.state.page) throw new BackendError(400, "other_page", "");
    const known = new Set(this.calls.map((call) => call.body.uuid));
    const fresh = pack.calls.filter((call) => !known.has(call.body.uuid));
    for (const call of fresh) this.memory.write(keyOfCall(call), call);
    this.readCalls();
    return fresh.length;
  }
}

// In the order of time; each for itself, so that two tabs do not overwrite each other's.
function keyOfCall({ utc, body }) {
  return `call ${utc} ${body.uuid}`;
}
