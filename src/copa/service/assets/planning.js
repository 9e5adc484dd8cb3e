// One plan at a time: a request waits until the hand rests, ends the one before it, and an answer that comes too late
// is not shown.
const PAUSE = 150; // milliseconds without a change
const SLOW = 200; // milliseconds after which the page says that it is working

export class Planning {
  // `ask(body, signal)` returns a promise; `shown`, `failed` and `busy` are told what comes of it.
  constructor({ ask, shown, failed, busy }) {
    Object.assign(this, { ask, shown, failed, busy });
    this.turn = 0;
    this.waiting = 0;
    this.controller = null;
  }

  request(body, pause = PAUSE) {
    this.turn += 1;
    const own = this.turn;
    clearTimeout(this.waiting);
    if (this.controller) { this.controller.abort(); }
    this.waiting = setTimeout(() => this.run(body, own), pause);
  }

  async run(body, own) {
    const controller = new AbortController();
    this.controller = controller;
    const slow = setTimeout(() => this.busy(true), SLOW);
    const isLast = () => own === this.turn;
    try {
      const answer = await this.ask(body, controller.signal);
      if (isLast()) { this.shown(answer, body); }
    } catch (error) {
      if (isLast() && error.name !== "AbortError") { this.failed(error); }
    } finally {
      clearTimeout(slow);
      if (isLast()) { this.busy(false); }
    }
  }
}
