// <seat-map data-offer="hall">: the live map of an offer's seats. What stands inside the element is what people see who
// have no scripts; it is replaced once the seats are there.
//
//   layout (kept for good by its hash) + snapshot (2 bits a seat) ─► model ◄─ stream of deltas
//                                                                      │
//                                     canvas ◄─ only what changed ─────┴─► grid for keyboard and screen reader
//
// `data-version` is the version that the map shows, the same as in `availability`; `data-state` is `loading`, `live`,
// `stale` (the line is down, what is shown may be old) or `failed`. A click claims: the seats look "claiming" at once, then
// they are yours, or what was refused is told together with what may be had instead.

import { Holdfast, Refusal } from "./holdfast.js";
import { SeatClaims } from "./seat-claims.js";
import { onGestures } from "./seat-gestures.js";
import { SeatGrid, element } from "./seat-grid.js";
import { layOut } from "./seat-layout.js";
import { AVAILABLE, HELD, STATE_WORDS, SeatModel } from "./seat-model.js";
import { CLAIMING, LEAST_FOR_NUMBERS, NUMBERS, SECTIONS, SeatPainter, YOURS, readLook } from "./seat-paint.js";
import { furnish, legend, noteOf, yourHolds } from "./seat-panel.js";

const MOST_PX_A_SEAT = 46;
const GLIDE_MS = 260;
/** Room around the plan, and below it for the buttons. */
const EDGE_PX = 12;
const FOOT_PX = 52;
/** How many deltas' times are kept for those who measure. */
const TIMES_KEPT = 256;

export class SeatMap extends HTMLElement {
  #leave = null;
  #client = new Holdfast();
  #dirty = new Set();
  #frame = 0;
  #pointed = {};
  #party = 1;
  #category = null;
  #lost = null;
  /** `firstPaintMs` from the data being there to the picture being there; `deltaMs` the script time of recent deltas. */
  figures = { firstPaintMs: null, deltaMs: [] };

  connectedCallback() {
    this.#leave = new AbortController();
    this.#load().catch((fault) => this.#fail(fault));
  }

  disconnectedCallback() {
    this.#leave.abort();
    cancelAnimationFrame(this.#frame);
  }

  /** The states of all seats as the map has them, one number a seat. */
  get states() {
    return this.model?.states.slice();
  }

  // ── Coming to life ───────────────────────────────────────────────────────────────────────────────────────────────

  async #load() {
    const { signal } = this.#leave;
    const { offer } = this.dataset;
    this.dataset.state = "loading";
    // The page may say which layout it is; then both come at once, the layout from the cache.
    const early = this.dataset.map && this.#client.map(offer, this.dataset.map, { signal });
    const status = await this.#client.mapStatus(offer, { signal });
    const layout = await (this.dataset.map === status.map ? early : this.#client.map(offer, status.map, { signal }));
    const begun = performance.now();
    this.#furnish(layout, status);
    await new Promise(requestAnimationFrame);
    this.figures.firstPaintMs = performance.now() - begun;
    this.#furnishTable();
    this.dataset.painted = "";
    this.#follow();
    await this.claims.refresh((this.dataset.holds ?? "").split(" ").filter(Boolean));
  }

  #furnish(layout, status) {
    this.model = new SeatModel(layout, document.documentElement.lang || undefined);
    this.model.reset(status);
    this.parts = furnish(this.model, { limit: Number(this.dataset.limit) || undefined });
    this.replaceChildren(this.parts.root);
    this.claims = new SeatClaims({ client: this.#client, model: this.model, onChange: (units) => this.#changed(units) });
    this.painter = new SeatPainter({
      base: this.parts.base,
      marks: this.parts.marks,
      model: this.model,
      layout: layOut(this.model),
      shown: (unit) => this.#shown(unit),
      dimmed: (section) => this.#category !== null && section.category !== this.#category,
    });
    this.#wire();
    this.#measure();
    this.#relook();
    this.painter.view = this.#fit(this.painter.layout.box);
    this.#settle();
    this.painter.paint();
    this.dataset.version = this.model.version;
  }

  /** The table comes a moment after the picture, which nobody has to wait for it to see. */
  #furnishTable() {
    this.grid = new SeatGrid({
      host: this.parts.grid,
      model: this.model,
      describe: (unit) => this.#describe(unit),
      onClaim: (unit, byKeyboard) => this.#claimAround(unit, byKeyboard),
      onFocus: (unit) => this.#focused(unit),
    });
    this.#showSection(this.model.sections.find((section) => section.free > 0) ?? this.model.sections[0]);
  }

  #fail(fault) {
    if (this.#leave.signal.aborted) return;
    this.dataset.state = "failed";
    const said = fault instanceof Refusal ? fault.message : "The map could not be shown.";
    this.prepend(element("p", { role: "alert", class: "note bad" }, `${said} The form works all the same.`));
    if (!(fault instanceof Refusal)) throw fault;
  }

  // ── Following the sale ───────────────────────────────────────────────────────────────────────────────────────────

  #follow() {
    const { signal } = this.#leave;
    // A page that nobody looks at needs no line to the server; coming back, it goes on where it was.
    const begin = () => {
      if (document.hidden || signal.aborted) return;
      const line = new AbortController();
      const end = () => document.hidden && line.abort();
      document.addEventListener("visibilitychange", end);
      signal.addEventListener("abort", () => line.abort(), { once: true });
      const done = this.#client.followMap(this.model.offer, this.model.version, {
        signal: line.signal,
        onOpen: () => this.#online(),
        onLost: () => this.#offline(),
        onEvent: ({ event, data }) => this.#hear(event, JSON.parse(data), line),
      });
      done.then(() => document.removeEventListener("visibilitychange", end));
    };
    document.addEventListener("visibilitychange", begin, { signal });
    this.#begin = begin;
    begin();
  }
  #begin = null;

  #online() {
    clearTimeout(this.#lost);
    this.#lost = null;
    this.#setState("live");
  }

  /** A blink of the line is not worth a word. */
  #offline() {
    this.#lost ??= setTimeout(() => this.#setState("stale"), 1_000);
  }

  #setState(state) {
    if (this.dataset.state === state) return;
    const wasStale = this.dataset.state === "stale";
    this.dataset.state = state;
    this.parts.line.textContent = state === "live" ? "Live" : "Reconnecting. What you see may be a moment old.";
    if (state === "stale" || wasStale) this.#say(this.parts.line.textContent);
  }

  #hear(event, data, line) {
    const begun = performance.now();
    const changed = event === "reset" ? null : this.model.apply(data);
    if (changed === null) return this.#startAgain(line);
    this.claims.follow(changed, (unit) => this.model.states[unit] === HELD, this.model.version);
    this.#changed(changed);
    // Who waits on a seat hears what becomes of it; of one's own claims the answer tells.
    const { focused } = this.grid;
    if (changed.includes(focused) && this.#shown(focused) < CLAIMING) this.#say(this.#describe(focused).label);
    this.dataset.version = this.model.version;
    this.#spent(performance.now() - begun, true);
  }

  /** What is here cannot be brought forward: take a new snapshot, and follow from that. */
  async #startAgain(line) {
    line.abort();
    const status = await this.#snapshot();
    if (!status) return;
    this.model.reset(status);
    const all = Array.from(this.claims.holds.values(), (hold) => hold.units).flat();
    this.claims.follow(all, (unit) => this.model.states[unit] === HELD, this.model.version);
    this.painter.paint();
    this.grid.updateAll();
    this.#refreshFigures();
    this.dataset.version = this.model.version;
    this.#begin();
  }

  /** A snapshot, however long it takes; none when nobody looks any more, or the server says that there is none. */
  async #snapshot() {
    const { signal } = this.#leave;
    while (!signal.aborted) {
      try {
        return await this.#client.mapStatus(this.model.offer, { signal });
      } catch (fault) {
        const passes = fault instanceof Refusal && (fault.status === 0 || fault.status === 429 || fault.status >= 500);
        if (!passes) return this.#fail(fault);
        this.#offline();
      }
    }
  }

  /** Seats look different: their sections are repainted, all together, when the screen is next drawn. */
  #changed(units) {
    if (units.length === 0) return;
    for (const unit of units) this.#dirty.add(this.model.sectionOf(unit).index);
    this.grid?.update(units);
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      const begun = performance.now();
      this.painter.paintSections(this.#dirty);
      this.#dirty.clear();
      this.#drawMarks();
      this.#refreshFigures();
      this.#spent(performance.now() - begun, false);
    });
  }

  /** The time of a delta is that of taking it and that of the painting that follows. */
  #spent(ms, fresh) {
    const { deltaMs } = this.figures;
    if (fresh) deltaMs.push(ms);
    else if (deltaMs.length) deltaMs[deltaMs.length - 1] += ms;
    if (deltaMs.length > TIMES_KEPT) deltaMs.shift();
  }

  #refreshFigures() {
    const { free, seats, price, category } = this.grid.section;
    this.parts.sectionFigures.textContent = `${free} of ${seats} free · ${this.model.price(price)} · category ${category}`;
    this.parts.free.textContent = this.model.number(this.model.free);
    yourHolds(this.parts, this.model, this.claims, { onRelease: (id) => this.#release(id) });
    this.#tick();
  }

  // ── Claiming ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #shown(unit) {
    if (this.claims.claiming.has(unit)) return CLAIMING;
    return this.claims.holdOf(unit) ? YOURS : this.model.states[unit];
  }

  #isFree = (unit) => this.#shown(unit) === AVAILABLE;

  #describe(unit) {
    const shown = this.#shown(unit);
    const word = shown === CLAIMING ? "being claimed" : shown === YOURS ? "yours" : STATE_WORDS[shown];
    const price = this.model.price(this.model.sectionOf(unit).price);
    const state = ["available", "held", "booked", "blocked", "claiming", "yours"][shown];
    return { state, label: `${this.model.words(unit)}, ${price}, ${word}`, claimable: shown === AVAILABLE };
  }

  #claimAround(unit, byKeyboard) {
    const { label, claimable, state } = this.#describe(unit);
    if (state === "yours") return this.#say(`${label}. It is in your list.`);
    if (!claimable) return this.#note({ kind: "plain", title: `${label}.`, text: "Choose another one." });
    const party = this.model.party(unit, this.#party, this.#isFree);
    if (party) return this.#claim(party, byKeyboard);
    this.#note({
      kind: "plain",
      title: `There are not ${this.#party} seats together here.`,
      text: "Choose a wider gap, or fewer seats at a time.",
    });
  }

  async #claim(units, byKeyboard) {
    this.#note(null);
    this.#pointed = {};
    this.parts.tip.hidden = true;
    this.#say(`Claiming ${this.model.wordsOf(units)}.`);
    try {
      const hold = await this.claims.claim(units);
      const minutes = Math.max(1, Math.round((hold.endsAt - performance.now()) / 60_000));
      this.#say(`${this.model.wordsOf(units)} ${units.length > 1 ? "are" : "is"} yours for ${minutes} minutes.`);
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      this.#refused(units, fault, byKeyboard);
    }
  }

  #refused(units, refusal, byKeyboard) {
    const taken = refusal.code === "unit_taken" || refusal.code === "sold_out";
    const offered = taken ? refusal.alternatives.map((keys) => keys.map((key) => this.model.find(key))) : [];
    const title = taken ? `${this.model.wordsOf(units)}: just taken.` : "That did not work.";
    const text = taken && offered.length ? "Take these instead:" : taken ? "Nothing near it is free." : refusal.message;
    this.#pointed = { offered: offered.flat() };
    this.#drawMarks();
    const actions = offered.map((units) => ({
      label: `${this.model.wordsOf(units)} · ${this.model.price(units.length * this.model.sectionOf(units[0]).price)}`,
      run: () => this.#claim(units, byKeyboard),
    }));
    const link = refusal.joinUrl && { href: refusal.joinUrl, label: "Join the queue" };
    this.#note({ kind: taken ? "held" : "bad", title, text, actions, link });
    if (byKeyboard) this.parts.note.querySelector("button, a")?.focus();
  }

  async #release(id) {
    const { units } = this.claims.holds.get(id);
    try {
      await this.claims.release(id);
      this.#say(`${this.model.wordsOf(units)} given back.`);
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      this.#note({ kind: "bad", title: "That did not work.", text: fault.message });
    }
  }

  #note(note) {
    this.parts.note.replaceChildren(...(note ? [noteOf(note)] : []));
  }

  #say(text) {
    this.parts.voice.textContent = text;
  }

  // ── Looking around ───────────────────────────────────────────────────────────────────────────────────────────────

  #wire() {
    const { signal } = this.#leave;
    const { parts } = this;
    // Closer to what: to the section in the middle, or else to the one in the table.
    const zoomBy = (factor) => {
      const over = this.painter.sectionAt(...this.#centre());
      const { middle } = this.painter.layout.sections[this.grid.section.index];
      const { scale } = this.#zoomed(factor, this.#centre());
      this.#glideTo(over ? this.#zoomed(factor, this.#centre()) : this.#around(middle, scale));
    };
    parts.closer.addEventListener("click", () => zoomBy(1.8));
    parts.farther.addEventListener("click", () => zoomBy(1 / 1.8));
    parts.whole.addEventListener("click", () => this.#glideTo(this.#fit(this.painter.layout.box)));
    parts.sections.addEventListener("change", () => {
      const section = this.model.sections[Number(parts.sections.value)];
      this.#showSection(section);
      this.#glideTo(this.#closeTo(section));
    });
    parts.party.addEventListener("change", () => (this.#party = Number(parts.party.value)));
    legend(parts, this.model, (category) => {
      this.#category = category;
      this.painter.paint();
    });
    onGestures(parts.marks, {
      move: (dx, dy) => {
        const { x, y, scale } = this.painter.view;
        this.#look({ x: x - dx / scale, y: y - dy / scale, scale });
      },
      zoom: (factor, at) => this.#look(this.#zoomed(factor, at)),
      canZoom: (factor) => this.#zoomed(factor, this.#centre()).scale !== this.painter.view.scale,
      tap: (at) => this.#tap(at),
      point: (at) => this.#point(at),
    });
    new ResizeObserver(() => this.#resized()).observe(parts.stage);
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      matchMedia(query).addEventListener("change", () => (this.#relook(), this.painter.paint(), this.#drawMarks()), { signal });
    }
    const clock = setInterval(() => this.#tick(), 1_000);
    signal.addEventListener("abort", () => clearInterval(clock), { once: true });
  }

  /** Counts what is left, and lets go of what ran out: the server did, to the millisecond. */
  #tick() {
    const now = performance.now();
    for (const hold of [...this.claims.holds.values()]) {
      if (hold.endsAt > now) continue;
      this.claims.forget(hold.id);
      this.#say(`${this.model.wordsOf(hold.units)}: the time is up.`);
    }
    this.parts.root.querySelectorAll("[data-ends]").forEach((clock) => {
      const left = Math.max(0, Math.ceil((Number(clock.dataset.ends) - now) / 1000));
      clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    });
  }

  #relook() {
    this.painter.setLook(readLook(this));
  }

  #measure() {
    const { width, height } = this.parts.stage.getBoundingClientRect();
    this.painter.resize(width, height);
  }

  /** What was in the middle stays there; who saw everything still does. */
  #resized() {
    const { width, height } = this.parts.stage.getBoundingClientRect();
    if (width === this.painter.size.width && height === this.painter.size.height) return;
    const sawAll = this.painter.view.scale <= this.#fit(this.painter.layout.box).scale * 1.01;
    const middle = this.painter.worldAt(...this.#centre());
    const { scale } = this.painter.view;
    this.#measure();
    const kept = { scale, x: middle[0] - width / scale / 2, y: middle[1] - height / scale / 2 };
    this.#look(sawAll ? this.#fit(this.painter.layout.box) : kept);
  }

  #centre() {
    return [this.painter.size.width / 2, this.painter.size.height / 2];
  }

  /** The view that shows a box whole. */
  #fit(box, most = MOST_PX_A_SEAT) {
    const [width, height] = [this.painter.size.width, this.painter.size.height - FOOT_PX];
    const fits = (room, needed) => Math.max(1, room - 2 * EDGE_PX) / needed;
    const scale = Math.min(fits(width, box.right - box.left), fits(height, box.bottom - box.top), most);
    return { scale, x: (box.left + box.right) / 2 - width / scale / 2, y: (box.top + box.bottom) / 2 - height / scale / 2 };
  }

  /** The view of one section, near enough for numbers. */
  #closeTo(section) {
    const all = this.#fit(this.painter.layout.box);
    if (all.scale >= LEAST_FOR_NUMBERS) return all;
    const { box, middle } = this.painter.layout.sections[section.index];
    const whole = this.#fit(box);
    if (whole.scale >= LEAST_FOR_NUMBERS) return whole;
    return this.#around(middle, LEAST_FOR_NUMBERS);
  }

  #around([wx, wy], scale) {
    const { width, height } = this.painter.size;
    return { scale, x: wx - width / scale / 2, y: wy - height / scale / 2 };
  }

  #zoomed(factor, [px, py]) {
    const { x, y, scale: before } = this.painter.view;
    const least = this.#fit(this.painter.layout.box).scale;
    const scale = Math.min(MOST_PX_A_SEAT, Math.max(least, before * factor));
    return { scale, x: x + px / before - px / scale, y: y + py / before - py / scale };
  }

  /** Shows the plan from there, but never only what is beside it. */
  #look(view) {
    const { box } = this.painter.layout;
    const { width, height } = this.painter.size;
    const bounded = (at, low, high, shown) =>
      shown >= high - low ? (low + high - shown) / 2 : Math.min(Math.max(at, low - shown / 4), high - (3 * shown) / 4);
    this.painter.view = {
      scale: view.scale,
      x: bounded(view.x, box.left, box.right, width / view.scale),
      y: bounded(view.y, box.top, box.bottom + FOOT_PX / view.scale, height / view.scale),
    };
    this.painter.paint();
    this.#settle();
    this.#drawMarks();
  }

  /** What follows from where one looks. */
  #settle() {
    const least = this.#fit(this.painter.layout.box).scale;
    const whole = this.painter.view.scale <= least * 1.001;
    this.parts.stage.dataset.level = ["sections", "dots", "numbers"][this.painter.level];
    // A finger on the whole map scrolls the page; on a part of it, it moves the map.
    this.parts.stage.classList.toggle("is-whole", whole);
    this.parts.farther.disabled = whole;
    this.parts.closer.disabled = this.painter.view.scale >= MOST_PX_A_SEAT;
    if (this.grid && !whole && this.painter.level !== SECTIONS && !this.grid.hasFocus()) {
      const section = this.painter.sectionAt(...this.#centre());
      if (section) this.#showSection(section);
    }
  }

  #glideTo(view) {
    cancelAnimationFrame(this.#gliding);
    const from = this.painter.view;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.#look(view);
    const begun = performance.now();
    const { width, height } = this.painter.size;
    const middle = ({ x, y, scale }) => [x + width / scale / 2, y + height / scale / 2];
    const [[ax, ay], [bx, by]] = [middle(from), middle(view)];
    const step = (now) => {
      const done = Math.min(1, Math.max(0, (now - begun) / GLIDE_MS));
      const eased = 1 - (1 - done) ** 3;
      const scale = from.scale * (view.scale / from.scale) ** eased;
      this.#look(done === 1 ? view : this.#around([ax + (bx - ax) * eased, ay + (by - ay) * eased], scale));
      if (done < 1) this.#gliding = requestAnimationFrame(step);
    };
    this.#gliding = requestAnimationFrame(step);
  }
  #gliding = 0;

  #showSection(section) {
    this.grid.show(section);
    this.parts.sections.value = section.index;
    this.#refreshFigures();
  }

  #tap(at) {
    const section = this.painter.sectionAt(...at);
    if (!section) return;
    if (this.painter.level === SECTIONS) {
      this.#showSection(section);
      return this.#glideTo(this.#closeTo(section));
    }
    if (this.painter.level !== NUMBERS) {
      return this.#glideTo(this.#around(this.painter.worldAt(...at), Math.max(this.#closeTo(section).scale, LEAST_FOR_NUMBERS)));
    }
    const unit = this.painter.seatAt(...at);
    if (unit !== undefined) this.#claimAround(unit, false);
  }

  #point(at) {
    const section = at && this.painter.sectionAt(...at);
    const unit = at && this.painter.level !== SECTIONS ? this.painter.seatAt(...at) : undefined;
    if (section === this.#pointed.section && unit === this.#pointed.unit) return;
    const party = unit !== undefined && this.painter.level === NUMBERS ? this.model.party(unit, this.#party, this.#isFree) : null;
    this.#pointed = { ...this.#pointed, section, unit, units: party ?? [] };
    this.parts.marks.style.cursor = party || (section && this.painter.level !== NUMBERS) ? "pointer" : "";
    this.#drawMarks();
    this.#tip(at, section, unit);
  }

  #tip(at, section, unit) {
    const { tip } = this.parts;
    tip.hidden = !section || (unit === undefined && this.painter.level !== SECTIONS);
    if (tip.hidden) return;
    const share = `${section.free} of ${section.seats} free`;
    const about = `${section.name} · ${section.category} · ${this.model.price(section.price)} · ${share}`;
    tip.textContent = unit === undefined ? about : this.#describe(unit).label;
    const x = Math.max(8, Math.min(at[0] + 14, this.painter.size.width - tip.offsetWidth - 8));
    const above = at[1] - tip.offsetHeight - 18;
    tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(above > 4 ? above : at[1] + 24)}px)`;
  }

  /** The seat that has the keyboard is shown on the map too. */
  #focused(unit) {
    this.#pointed = { ...this.#pointed, focus: unit };
    if (unit !== undefined && this.painter.level !== SECTIONS) {
      const [wx, wy] = this.painter.placeOf(unit);
      const { x, y, scale } = this.painter.view;
      const { width, height } = this.painter.size;
      const seen = wx > x + 1 && wy > y + 1 && wx < x + width / scale - 1 && wy < y + height / scale - 1;
      if (!seen) return this.#look(this.#around([wx, wy], scale));
    }
    this.#drawMarks();
  }

  #drawMarks() {
    this.painter.paintMarks(this.#pointed);
  }
}

customElements.define("seat-map", SeatMap);
