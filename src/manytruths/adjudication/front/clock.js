// Seconds that somebody worked: pauses of more than a minute and hidden pages are left out.

const IDLE_MILLISECONDS = 60_000;

export class WorkClock {
  constructor(target = document, now = () => performance.now()) {
    Object.assign(this, { now, worked: 0, last: now() });
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel"]) target.addEventListener(name, () => this.tick(), { passive: true, capture: true });
    document.addEventListener("visibilitychange", () => (document.hidden ? this.tick() : (this.last = this.now())));
  }

  tick() {
    const now = this.now();
    if (now - this.last <= IDLE_MILLISECONDS) this.worked += now - this.last;
    this.last = now;
  }

  restart() {
    Object.assign(this, { worked: 0, last: this.now() });
  }

  get seconds() {
    this.tick();
    return Math.round(this.worked / 100) / 10;
  }
}
