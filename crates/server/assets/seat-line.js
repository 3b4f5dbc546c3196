// The line over which a model is kept up to date: a stream of deltas that goes on where it was, and a new snapshot where it
// cannot. A page that nobody looks at keeps none, because browsers allow few lines to one server.

import { Refusal, pause } from "./holdfast.js";

/** A blink of the line is not worth a word. */
const BLINK_MS = 1_000;

export class SeatLine {
  #current = null;
  #restarting = false;
  #lost = null;

  /**
   * `onDelta(changed)` is told which seats changed, `onReset()` that all may have, `onState` whether the line is `live` or
   * what is shown may be `stale`, `onFail` that the server knows nothing of such seats any more.
   */
  constructor({ client, model, signal, onDelta, onReset, onState, onFail }) {
    Object.assign(this, { client, model, signal, onDelta, onReset, onState, onFail });
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#current?.abort() : this.#begin()), { signal });
    signal.addEventListener("abort", () => this.#current?.abort(), { once: true });
    this.#begin();
  }

  #begin() {
    const isOpen = this.#current && !this.#current.signal.aborted;
    if (document.hidden || this.signal.aborted || isOpen || this.#restarting) return;
    const line = new AbortController();
    this.#current = line;
    this.client.followMap(this.model.offer, this.model.version, {
      signal: line.signal,
      onOpen: () => this.#online(),
      onLost: () => this.#offline(),
      onEvent: ({ event, data }) => this.#hear(event, JSON.parse(data)),
    });
  }

  #online() {
    clearTimeout(this.#lost);
    this.#lost = null;
    this.onState("live");
  }

  #offline() {
    this.#lost ??= setTimeout(() => this.onState("stale"), BLINK_MS);
  }

  #hear(event, data) {
    const begun = performance.now();
    const changed = event === "reset" ? null : this.model.apply(data);
    if (changed) this.onDelta(changed, begun);
    else this.#startAgain();
  }

  /** What is here cannot be brought forward: take a new snapshot, and follow from that. */
  async #startAgain() {
    this.#current.abort();
    this.#restarting = true;
    const status = await this.#snapshot();
    this.#restarting = false;
    if (!status) return;
    this.model.reset(status);
    this.onReset();
    this.#begin();
  }

  /** A snapshot, however long it takes; none when nobody looks any more, or the server says that there is none. */
  async #snapshot() {
    while (!this.signal.aborted) {
      try {
        return await this.client.mapStatus(this.model.offer, { signal: this.signal });
      } catch (fault) {
        if (this.signal.aborted) return undefined;
        const passes = fault instanceof Refusal && (fault.status === 0 || fault.status === 429 || fault.status >= 500);
        if (!passes) return this.onFail(fault);
        this.#offline();
        await pause(fault.retryAfterMs ?? 0, this.signal).catch(() => {});
      }
    }
    return undefined;
  }
}
