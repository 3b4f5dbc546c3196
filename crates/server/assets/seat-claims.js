// The visitor's own: what is being claimed, what is held, and what to say when a seat went to somebody else.
//
// The holds of the session are remembered by id in the browser, so that a reload or a second tab finds them; what they are
// is always asked of the server. Holds that the page knows of (`data-holds`) count the same. A tab adds what is live by the
// server's word and takes out what is over, one id at a time, and otherwise writes nothing: tabs that each wrote down what
// they themselves know would call each other for ever.

import { attend, comeBack } from "./hold-presence.js";
import { Refusal, newIntention } from "./holdfast.js";
import { isNewer } from "./seat-model.js";

/** More than one visitor may hold. */
const KEPT = 200;
/** How often a hold may be extended; the server says so too. */
const MOST_EXTENSIONS = 3;

/** What is said of a hold that is no longer there to be extended. */
const OVER = new Set(["unknown_hold", "hold_expired", "hold_released", "already_booked"]);
/** States of a hold in which it may be a visitor's seat again; one that is being paid comes back if the card is declined. */
const LIVES = new Set(["active", "paying"]);

export class SeatClaims {
  /** Units on their way. */
  claiming = new Set();
  /**
   * Live holds by id: `{ id, units, together, amount, version, heldAt, endsAt, mayExtend, attended }`: how many lines it has,
   * those of other offers too, and since when it is known here and when it ends, by this page's own clock that never jumps.
   */
  holds = new Map();
  #ofUnit = new Map();

  constructor({ client, model, onChange, signal }) {
    this.client = client;
    this.model = model;
    this.onChange = onChange;
    this.signal = signal;
    this.store = `holdfast:holds:${model.offer}`;
    addEventListener("storage", (event) => event.key === this.store && this.refresh(), { signal });
  }

  holdOf(unit) {
    return this.#ofUnit.get(unit);
  }

  /** Finds the holds of this session again. */
  async refresh(known = []) {
    const remembered = this.#remembered();
    const unknown = [...known, ...remembered].filter((id) => !this.holds.has(id));
    // Another tab took it out because it is over, or wrote at the same moment and did not see it.
    const missing = [...this.holds.keys()].filter((id) => remembered.length < KEPT && !remembered.includes(id));
    const ids = [...new Set([...unknown, ...missing])];
    const isHere = (hold) => hold.state === "active" && hold.lines.some((line) => line.offer === this.model.offer);
    const read = async (id) => {
      await comeBack(id);
      const hold = await this.client.readHold(id);
      if (!LIVES.has(hold.state)) this.#over(id);
      else if (isHere(hold)) this.#keep(hold);
    };
    // One that cannot be read now is found another time; one that is not there any more never is.
    const unread = (id, fault) => OVER.has(fault.code) && this.#over(id);
    await Promise.all(ids.map((id) => read(id).catch((fault) => unread(id, fault))));
  }

  #over(id) {
    this.forget(id);
    this.#unremember(id);
  }

  /** Takes these seats in one hold. Answers with the hold, or throws the refusal. */
  async claim(units) {
    units.forEach((unit) => this.claiming.add(unit));
    this.onChange(units);
    try {
      const lines = units.map((unit) => ({ offer: this.model.offer, unit: this.model.key(unit) }));
      const hold = await this.client.hold(lines, { intention: newIntention() });
      return this.#keep(hold, { fresh: true });
    } finally {
      units.forEach((unit) => this.claiming.delete(unit));
      this.onChange(units);
    }
  }

  /** Starts a hold's time anew. Answers with the hold, or throws the refusal; one that is over is forgotten. */
  async extend(id) {
    try {
      return this.#keep(await this.client.extendHold(id), { fresh: true });
    } catch (fault) {
      if (fault instanceof Refusal && OVER.has(fault.code)) this.forget(id);
      throw fault;
    }
  }

  /** What the server just said of a hold. */
  heard(hold) {
    if (hold.state === "active") this.#keep(hold, { fresh: true });
    else this.forget(hold.id);
  }

  /** Gives a hold back. One that is gone already is gone. */
  async release(id) {
    try {
      await this.client.releaseHold(id);
    } catch (fault) {
      if (!(fault instanceof Refusal) || fault.code !== "unknown_hold") throw fault;
    }
    this.forget(id);
  }

  forget(id) {
    const hold = this.holds.get(id);
    if (!hold) return;
    hold.attended.abort();
    this.holds.delete(id);
    hold.units.forEach((unit) => this.#ofUnit.delete(unit));
    this.#unremember(id);
    this.onChange(hold.units);
  }

  /** A seat that the map says is no longer held was given back, ran out or was booked. An older word does not count. */
  follow(units, isHeld, version) {
    for (const unit of units) {
      const hold = this.#ofUnit.get(unit);
      if (hold && !isHeld(unit) && isNewer(version, hold.version)) this.forget(hold.id);
    }
  }

  #keep(hold, { fresh = false } = {}) {
    const mine = hold.lines.filter((line) => line.offer === this.model.offer);
    const units = mine.map((line) => this.model.find(line.unit)).sort((one, other) => one - other);
    const endsAt = performance.now() + hold.expires_in_ms;
    const before = this.holds.get(hold.id);
    before?.attended.abort();
    const attended = new AbortController();
    this.signal.addEventListener("abort", () => attended.abort(), { signal: attended.signal });
    attend(hold.id, { signal: attended.signal, fresh });
    const mayExtend = hold.extensions < MOST_EXTENSIONS;
    const heldAt = before?.heldAt ?? performance.now();
    const [together, { amount, version }] = [hold.lines.length, hold];
    const kept = { id: hold.id, units, together, amount, version, heldAt, endsAt, mayExtend, attended };
    this.holds.set(hold.id, kept);
    units.forEach((unit) => this.#ofUnit.set(unit, kept));
    this.#remember(hold.id);
    this.onChange(units);
    return kept;
  }

  #remembered() {
    try {
      return JSON.parse(localStorage.getItem(this.store) ?? "[]");
    } catch {
      return [];
    }
  }

  #remember(id) {
    const known = this.#remembered();
    if (!known.includes(id)) this.#write([...known, id].slice(-KEPT));
  }

  #unremember(id) {
    const known = this.#remembered();
    if (known.includes(id)) this.#write(known.filter((other) => other !== id));
  }

  /** A browser that keeps nothing still sells: a reload then shows these seats as held by somebody. */
  #write(ids) {
    try {
      localStorage.setItem(this.store, JSON.stringify(ids));
    } catch {
      // Nothing to be done, and nothing lost that the server does not know.
    }
  }
}
