// Decisions on their way. Each is kept in the browser before it is sent, one after another, until the answer says that it
// is saved: a decision sent twice has the same uuid and counts once.

const WAIT_FIRST = 1000;
const WAIT_MOST = 8000;

export class Outbox {
  // `tell` gets {kind, waiting, error}: idle, sending, saved, unreachable, not_saved, token or refused.
  constructor(backend, memory, tell) {
    Object.assign(this, { backend, memory, tell, waiting: memory.keys("waiting ").map((key) => memory.read(key)), hopes: new Map(), wait: WAIT_FIRST, busy: false });
  }

  get unsent() {
    return this.waiting.length;
  }

  // The answer, when it came; an error where the server refused the call for good.
  post(path, body, about = {}) {
    const answer = new Promise((resolve, reject) => this.hopes.set(body.uuid, { resolve, reject }));
    const call = { path, body, about, made: Date.now() };
    this.waiting.push(call);
    this.memory.write(keptAs(call), call);
    this.tell({ kind: "sending", waiting: this.unsent });
    this.send();
    return answer;
  }

  retry() {
    clearTimeout(this.timer);
    this.send();
  }

  async send() {
    if (this.busy) return;
    this.busy = true;
    while (this.unsent) {
      const { path, body, about } = this.waiting[0];
      let answer;
      try {
        answer = await this.backend.post(path, body);
      } catch (error) {
        if (this.settle(error, body, about)) continue;
        break;
      }
      this.drop(body.uuid);
      this.wait = WAIT_FIRST;
      this.tell({ kind: "saved", waiting: this.unsent, answer, about });
      this.hopes.get(body.uuid)?.resolve(answer);
      this.hopes.delete(body.uuid);
    }
    this.busy = false;
  }

  drop(uuid) {
    for (const call of this.waiting.filter((each) => each.body.uuid === uuid)) this.memory.forget(keptAs(call));
    this.waiting = this.waiting.filter((call) => call.body.uuid !== uuid);
  }

  // True where the next call can be sent.
  settle(error, body, about) {
    const later = error.status === 0 || error.status >= 500 || error.status === 429;
    if (later || error.status === 401) {
      const kind = error.status === 401 ? "token" : error.status === 0 ? "unreachable" : "not_saved";
      this.tell({ kind, waiting: this.unsent, error });
      if (later) this.timer = setTimeout(() => this.send(), this.wait);
      this.wait = Math.min(this.wait * 1.6, WAIT_MOST);
      return false;
    }
    this.drop(body.uuid);
    this.tell({ kind: "refused", waiting: this.unsent, error, body, about });
    this.hopes.get(body.uuid)?.reject(error);
    this.hopes.delete(body.uuid);
    return true;
  }
}

// Each for itself, so that two tabs do not take each other's away, and in the order of time.
function keptAs({ made, body }) {
  return `waiting ${String(made).padStart(15, "0")} ${body.uuid}`;
}
