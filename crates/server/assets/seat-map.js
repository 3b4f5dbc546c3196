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
//
// For organisers: with `data-picks` a click picks any seat instead, and `pick` events tell `{ units: ["A-12"] }`; an element
// without an offer shows whatever plan is given to `preview(plan, currency)`.

import { Holdfast, Refusal } from "./holdfast.js";
import { SeatCamera } from "./seat-camera.js";
import { SeatClaims } from "./seat-claims.js";
import { onGestures } from "./seat-gestures.js";
import { SeatGrid, element } from "./seat-grid.js";
import { layOut } from "./seat-layout.js";
import { SeatLine } from "./seat-line.js";
import { AVAILABLE, HELD, STATE_WORDS, SeatModel, asLayout } from "./seat-model.js";
import { CLAIMING, LEAST_FOR_FINGERS, NUMBERS, SECTIONS, SeatPainter, YOURS, readLook } from "./seat-paint.js";
import { askBack, furnish, legend, noteOf, yourHolds } from "./seat-panel.js";

/** With more changes than this at once, sections are repainted whole. */
const MOST_BY_SEAT = 200;
/** How many deltas' times are kept for those who measure. */
const TIMES_KEPT = 256;
/** Two clicks within this are one that was meant once. */
const DOUBLE_CLICK_MS = 600;
/** From this width on what is the visitor's stands beside the map; below it is a bar at the foot of the screen. */
const BESIDE = "(min-width: 62rem)";
/** How long a word on how to zoom stays. */
const HINT_MS = 1_600;

/** How long it is until then, in words. */
function minutesTo(endsAt) {
  const minutes = Math.max(1, Math.round((endsAt - performance.now()) / 60_000));
  return `${minutes} ${minutes === 1 ? "minute" : "minutes"}`;
}

/** What was refused, and when it may be worth asking again, where the server says so. */
function saidWhen({ message, retryAfterMs }) {
  if (!retryAfterMs) return message;
  const seconds = Math.ceil(retryAfterMs / 1000);
  const wait = seconds < 100 ? `${seconds} ${seconds === 1 ? "second" : "seconds"}` : `${Math.ceil(seconds / 60)} minutes`;
  return `${message} Try again in ${wait}.`;
}

const titleOf = ({ code }) => (code === "limit_reached" ? "That is more than one person may have." : "That did not work.");

/** A limit in seats, which is what there are here; anything else in the server's words. */
function saidTo(refusal, offer) {
  if (refusal.code !== "limit_reached") return saidWhen(refusal);
  const seats = (limit) => (limit === "1" ? "1 seat" : `${limit} seats`);
  return refusal.message.replace(/ (\d+) of (\S+) and/, (as, limit, id) => (id === offer ? ` ${seats(limit)} and` : as)).replace(/;[^;]*$/, ".");
}

export class SeatMap extends HTMLElement {
  #leave = null;
  #client = new Holdfast();
  #dirty = new Set();
  #dirtySeats = new Set();
  #frame = 0;
  #pointed = {};
  #party = 1;
  #category = null;
  #isPast = false;
  #hinting = 0;
  /** `firstPaintMs` from the data being there to the picture being there; `deltaMs` the script time of recent deltas. */
  figures = { firstPaintMs: null, deltaMs: [] };

  connectedCallback() {
    this.#leave = new AbortController();
    if (this.dataset.offer) this.#load().catch((fault) => this.#fail(fault));
  }

  disconnectedCallback() {
    this.#leave.abort();
    cancelAnimationFrame(this.#frame);
  }

  /** The states of all seats as the map has them, one number a seat. */
  get states() {
    return this.model?.states.slice();
  }

  /** Shows a plan that is not on sale yet: the `seats` of an offer, as somebody draws it. */
  preview(plan, currency) {
    this.#leave.abort();
    this.#leave = new AbortController();
    this.#picked.clear();
    this.#furnish(...asLayout(plan, currency));
    this.#furnishTable();
    this.dataset.state = "preview";
    this.parts.line.textContent = "Preview";
  }

  /** The seats picked, by their keys; given anew, other seats are. */
  get picked() {
    return Array.from(this.#picked, (unit) => this.model.key(unit));
  }

  set picked(keys) {
    const before = [...this.#picked];
    this.#picked = new Set(keys.map((key) => this.model.find(key)).filter((unit) => unit !== undefined));
    this.#changed([...before, ...this.#picked]);
  }
  #picked = new Set();

  /** Whether a click picks, as organisers do, and does not claim. */
  get #picks() {
    return this.dataset.picks !== undefined;
  }

  // ── Coming to life ───────────────────────────────────────────────────────────────────────────────────────────────

  async #load() {
    const { signal } = this.#leave;
    const { offer } = this.dataset;
    this.dataset.state = "loading";
    const status = await this.#client.mapStatus(offer, { signal });
    const layout = await this.#client.map(offer, status.map, { signal });
    const begun = performance.now();
    this.#furnish(layout, status);
    await new Promise(requestAnimationFrame);
    this.figures.firstPaintMs = performance.now() - begun;
    this.#furnishTable();
    this.dataset.painted = "";
    this.#follow();
    // Who picks seats as an organiser does not buy them here.
    if (!this.#picks) await this.claims.refresh((this.dataset.holds ?? "").split(" ").filter(Boolean));
  }

  #furnish(layout, status) {
    this.model = new SeatModel(layout, document.documentElement.lang || undefined);
    this.model.reset(status);
    this.parts = furnish(this.model, { limit: Number(this.dataset.limit) || undefined, picks: this.#picks });
    this.replaceChildren(this.parts.root);
    this.claims = new SeatClaims({
      client: this.#client,
      model: this.model,
      onChange: (units) => this.#changed(units),
      signal: this.#leave.signal,
    });
    this.painter = new SeatPainter({
      base: this.parts.base,
      marks: this.parts.marks,
      model: this.model,
      layout: layOut(this.model),
      shown: (unit) => this.#shown(unit),
      dimmed: (section) => this.#category !== null && section.category !== this.#category,
    });
    this.camera = new SeatCamera(this.painter, () => this.#settle());
    this.#wire();
    const { width, height } = this.parts.stage.getBoundingClientRect();
    this.painter.resize(width, height);
    this.#relook();
    this.camera.look(this.camera.whole());
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
    this.line = new SeatLine({
      client: this.#client,
      model: this.model,
      signal: this.#leave.signal,
      onDelta: (changed, begun) => this.#hear(changed, begun),
      onReset: () => this.#startAgain(),
      onState: (state) => this.#setState(state),
      onFail: (fault) => this.#fail(fault),
    });
  }

  #setState(state) {
    if (this.dataset.state === state) return;
    const wasStale = this.dataset.state === "stale";
    this.dataset.state = state;
    this.parts.line.textContent = state === "live" ? "Live" : "Reconnecting. What you see may be a moment old.";
    if (state === "stale" || wasStale) this.#say(this.parts.line.textContent);
  }

  #hear(changed, begun) {
    this.#followHolds(changed);
    this.#changed(changed, true);
    // Who waits on a seat hears what becomes of it; of one's own claims the answer tells.
    const { focused } = this.grid;
    if (changed.includes(focused) && this.#shown(focused) < CLAIMING) this.#say(this.#describe(focused).label);
    this.dataset.version = this.model.version;
    this.#spent(performance.now() - begun, true);
  }

  #startAgain() {
    this.#followHolds(Array.from(this.claims.holds.values(), (hold) => hold.units).flat());
    this.painter.paint();
    this.grid.updateAll();
    this.#refreshFigures();
    this.dataset.version = this.model.version;
  }

  #followHolds(units) {
    this.claims.follow(units, (unit) => this.model.states[unit] === HELD, this.model.version);
  }

  /**
   * Seats look different, and are repainted all together when the screen is next drawn: seat by seat where they only
   * changed hands, else by section, because what is the visitor's is larger than a seat.
   */
  #changed(units, changedHands = false) {
    if (units.length === 0) return;
    const bySeat = changedHands && units.length <= MOST_BY_SEAT && this.painter.level !== SECTIONS;
    for (const unit of units) {
      if (bySeat && this.#shown(unit) < CLAIMING) this.#dirtySeats.add(unit);
      else this.#dirty.add(this.model.sectionOf(unit).index);
    }
    this.grid?.update(units);
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      const begun = performance.now();
      this.painter.paintSections(this.#dirty);
      this.painter.paintSeats(this.#dirtySeats);
      this.#dirty.clear();
      this.#dirtySeats.clear();
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
    const left = document.querySelector('.head-figures [data-live="left"]');
    if (left) left.textContent = this.model.freeInWords;
    const acts = { onExtend: (id) => this.#extend(id), onRelease: (id) => this.#release(id) };
    yourHolds(this.parts, this.model, this.claims, acts);
    this.#furnishFoot();
  }

  /**
   * What is the visitor's stands beside the map while one looks at the map, and is a bar at the foot of the screen where
   * there is no room beside it, or where one has gone on to the table.
   */
  #furnishFoot() {
    const { outcome, panel, note, yours, stage } = this.parts;
    const isEmpty = note.childElementCount === 0 && yours.childElementCount === 0;
    const compact = !matchMedia(BESIDE).matches || this.#isPast;
    // The place beside the map is kept meanwhile: nothing else moves because somebody scrolls.
    if (compact && !panel.classList.contains("compact")) outcome.style.minHeight = `${outcome.offsetHeight}px`;
    if (!compact || isEmpty) outcome.style.minHeight = "";
    const hadFocus = panel.contains(document.activeElement);
    panel.classList.toggle("compact", compact);
    if (yours.childElementCount === 0) this.#unfold(false);
    if (hadFocus && document.activeElement === document.body) (panel.querySelector(".map-bar a, .map-bar button") ?? stage).focus({ preventScroll: true });
  }

  #unfold(open) {
    const { panel, unfold } = this.parts;
    panel.classList.toggle("open", open);
    unfold.setAttribute("aria-expanded", String(open));
  }

  // ── Claiming ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #shown(unit) {
    if (this.claims.claiming.has(unit)) return CLAIMING;
    return this.claims.holdOf(unit) || this.#picked.has(unit) ? YOURS : this.model.states[unit];
  }

  #isFree = (unit) => this.#shown(unit) === AVAILABLE;

  #describe(unit) {
    const shown = this.#shown(unit);
    const picked = this.#picked.has(unit) ? `${STATE_WORDS[this.model.states[unit]]}, picked` : "yours";
    const word = shown === CLAIMING ? "being claimed" : shown === YOURS ? picked : STATE_WORDS[shown];
    const price = this.model.price(this.model.sectionOf(unit).price);
    const state = ["available", "held", "booked", "blocked", "claiming", "yours"][shown];
    const label = `${this.model.words(unit)}, ${price}, ${word}`;
    return { state, label, claimable: shown === AVAILABLE, answers: shown === AVAILABLE || shown === YOURS };
  }

  #claimAround(unit, byKeyboard) {
    if (this.#picks) return this.#pick(unit);
    if (!this.model.offer) return;
    const { label, claimable, state } = this.#describe(unit);
    if (state === "yours") return this.#giveBack(this.claims.holdOf(unit));
    // Its answer is on the way: the second half of a double click asks for nothing.
    if (state === "claiming") return;
    if (!claimable) return this.#note({ kind: "", title: `${label}.`, text: "Choose another one." });
    const party = this.model.party(unit, this.#party, this.#isFree);
    if (party) return this.#claim(party, byKeyboard);
    this.#note({
      kind: "",
      title: `There are not ${this.#party} seats together here.`,
      text: "Choose a wider gap, or fewer seats at a time.",
    });
  }

  /**
   * Who takes a seat by a click gives it back by another. Seats that are held together go together, so that is asked
   * first, on their card. A click that follows the claim at once is the second half of a double click.
   */
  #giveBack({ id, units, together, heldAt }) {
    if (performance.now() - heldAt < DOUBLE_CLICK_MS) return;
    if (together === 1) return this.#release(id);
    this.#unfold(true);
    const button = askBack(this.parts, id);
    button?.scrollIntoView({ block: "nearest" });
    button?.focus({ preventScroll: true });
    this.#say(`${this.model.wordsOf(units)}: held together. Give all of it back?`);
  }

  /** So many seats from this one on in its row, whatever their state, are picked or no longer so. */
  #pick(unit) {
    const row = this.model.rowOf(unit);
    const last = Math.min(unit + this.#party, row.first + row.seats);
    const units = Array.from({ length: last - unit }, (_, at) => unit + at);
    const [all, some] = [units.every((unit) => this.#picked.has(unit)), this.#picked];
    units.forEach((unit) => (all ? some.delete(unit) : some.add(unit)));
    this.#changed(units);
    this.#say(`${this.model.wordsOf(units)}: ${all ? "no longer picked" : "picked"}. ${this.#picked.size} in all.`);
    this.dispatchEvent(new CustomEvent("pick", { bubbles: true, detail: { units: this.picked } }));
  }

  /** `onward` where somebody took what was offered instead by keyboard, and is led on to it. */
  async #claim(units, byKeyboard, onward = false) {
    this.#note(null);
    this.#pointed = {};
    this.parts.tip.hidden = true;
    this.#say(`Claiming ${this.model.wordsOf(units)}.`);
    try {
      const hold = await this.claims.claim(units);
      this.#say(`${this.model.wordsOf(units)} ${units.length > 1 ? "are" : "is"} yours for ${minutesTo(hold.endsAt)}.`);
      if (onward) this.#toCard(hold.id);
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      this.#refused(units, fault, byKeyboard);
    }
  }

  #refused(units, refusal, byKeyboard) {
    const taken = refusal.code === "unit_taken" || refusal.code === "sold_out";
    const offered = taken ? refusal.alternatives.map((keys) => keys.map((key) => this.model.find(key))) : [];
    // The way forward is a page: `join_url` is for programs, and takes posts only.
    if (refusal.code === "queue_required") return this.#queue(byKeyboard);
    const title = taken ? `${this.model.wordsOf(units)}: just taken.` : titleOf(refusal);
    const text = taken && offered.length ? "Take these instead:" : taken ? "Nothing near it is free." : saidTo(refusal, this.dataset.offer);
    this.#pointed = { offered: offered.flat() };
    this.#drawMarks();
    const actions = offered.map((units) => ({
      label: `${this.model.wordsOf(units)} · ${this.model.price(units.length * this.model.sectionOf(units[0]).price)}`,
      run: (event) => this.#claim(units, byKeyboard, event.detail === 0),
    }));
    this.#note({ kind: taken ? "held" : "bad", title, text, actions });
    if (byKeyboard) this.#toNote();
  }

  /** People are let in one after another, and it is not this visitor's turn. */
  #queue(byKeyboard) {
    this.#pointed = {};
    this.#drawMarks();
    const text = "People are let in one after another, and nothing is held for you yet.";
    const link = { href: `/o/${encodeURIComponent(this.dataset.offer)}/queue`, label: "Join the queue" };
    this.#note({ kind: "held", title: "There is a queue.", text, link });
    if (byKeyboard) this.#toNote();
  }

  #toNote() {
    this.parts.note.querySelector("button, a")?.focus();
  }

  #release(id) {
    const { units } = this.claims.holds.get(id);
    return this.#told(async () => {
      await this.claims.release(id);
      this.#say(`${this.model.wordsOf(units)} given back.`);
    });
  }

  #extend(id) {
    return this.#told(async () => {
      const { units, endsAt } = await this.claims.extend(id);
      this.#say(`${this.model.wordsOf(units)}: yours for ${minutesTo(endsAt)} from now.`);
    });
  }

  /** Does it, or tells why the server would not. */
  async #told(act) {
    try {
      await act();
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      this.#note({ kind: "bad", title: "That did not work.", text: saidWhen(fault) });
    }
  }

  /** The clock of a hold has run out: the server let go of it, to the millisecond. */
  #over(id) {
    const hold = this.claims.holds.get(id);
    if (!hold) return;
    this.claims.forget(id);
    this.#say(`${this.model.wordsOf(hold.units)}: the time is up.`);
  }

  #note(note) {
    const hadFocus = this.parts.note.contains(document.activeElement);
    this.parts.note.replaceChildren(...(note ? [noteOf(note, () => this.#note(null))] : []));
    this.#furnishFoot();
    // Whoever was on one of its buttons is not sent back to the top of the page.
    if (hadFocus) (this.parts.note.querySelector("button, a") ?? this.parts.stage).focus({ preventScroll: true });
  }

  /** On to a hold, once its card is there; whoever has gone elsewhere meanwhile is not called back. */
  #toCard(id) {
    if (document.activeElement !== this.parts.stage) return;
    requestAnimationFrame(() => {
      this.#unfold(true);
      this.parts.yours.querySelector(`[data-hold="${id}"] a`)?.focus({ preventScroll: true });
    });
  }

  #say(text) {
    this.parts.voice.textContent = text;
  }

  // ── Looking around ───────────────────────────────────────────────────────────────────────────────────────────────

  #wire() {
    const { signal } = this.#leave;
    const { parts, camera } = this;
    // Closer to what: to the section in the middle, or else to the one in the table.
    const zoomBy = (factor) => {
      const over = this.painter.sectionAt(...camera.centre);
      const { middle } = this.painter.layout.sections[this.grid.section.index];
      const zoomed = camera.zoomed(factor);
      camera.glideTo(over ? zoomed : camera.around(middle, zoomed.scale));
    };
    parts.closer.addEventListener("click", () => zoomBy(1.8));
    parts.farther.addEventListener("click", () => zoomBy(1 / 1.8));
    parts.whole.addEventListener("click", () => camera.glideTo(camera.whole()));
    parts.sections.addEventListener("change", () => {
      const section = this.model.sections[Number(parts.sections.value)];
      this.#showSection(section);
      camera.glideTo(camera.closeTo(section));
    });
    parts.party.addEventListener("change", () => (this.#party = Number(parts.party.value)));
    const onCategory = (category) => {
      this.#category = category;
      this.painter.paint();
    };
    legend(parts, this.model, { picks: this.#picks, onCategory });
    onGestures(parts.marks, {
      move: (dx, dy) => camera.look(camera.shifted(dx, dy)),
      zoom: (factor, at) => camera.look(camera.zoomed(factor, at)),
      canZoom: (factor) => camera.zoomed(factor).scale !== camera.view.scale,
      isMeant: () => parts.stage.contains(document.activeElement),
      unmeant: () => this.#hint(),
      tap: (at, pointer) => this.#tap(at, pointer === "touch"),
      point: (at) => this.#point(at),
    });
    new ResizeObserver(() => this.#resized()).observe(parts.stage);
    const passed = new IntersectionObserver(([seen]) => ((this.#isPast = !seen.isIntersecting), this.#furnishFoot()));
    passed.observe(parts.top);
    signal.addEventListener("abort", () => passed.disconnect());
    matchMedia(BESIDE).addEventListener("change", () => this.#furnishFoot(), { signal });
    parts.unfold.addEventListener("click", () => this.#unfold(!parts.panel.classList.contains("open")));
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      matchMedia(query).addEventListener("change", () => (this.#relook(), this.painter.paint(), this.#drawMarks()), { signal });
    }
    // What the clocks of the holds say is the map's to act on.
    parts.yours.addEventListener("hold-over", (event) => (event.preventDefault(), this.#over(event.target.dataset.hold)));
    parts.yours.addEventListener("hold-read", (event) => (event.preventDefault(), this.claims.heard(event.detail)));
  }

  #relook() {
    this.painter.setLook(readLook(this));
  }

  #resized() {
    const { width, height } = this.parts.stage.getBoundingClientRect();
    const { size } = this.painter;
    if (width !== size.width || height !== size.height) this.camera.resized(() => this.painter.resize(width, height));
  }

  /** What follows from where one looks. */
  #settle() {
    const { isWhole: whole, isNearest, centre } = this.camera;
    this.parts.stage.dataset.level = ["sections", "dots", "numbers"][this.painter.level];
    // A finger on the whole map scrolls the page; on a part of it, it moves the map.
    this.parts.stage.classList.toggle("is-whole", whole);
    this.parts.farther.disabled = whole;
    this.parts.closer.disabled = isNearest;
    if (this.grid && !whole && this.painter.level !== SECTIONS && !this.grid.hasFocus()) {
      const section = this.painter.sectionAt(...centre);
      if (section) this.#showSection(section);
    }
    this.#drawMarks();
  }

  #showSection(section) {
    this.grid.show(section);
    this.parts.sections.value = section.index;
    this.#refreshFigures();
  }

  /** Takes a seat where seats are large enough to be told apart, by the eye or by a finger; else it leads closer to them. */
  #tap(at, byFinger) {
    const least = byFinger ? LEAST_FOR_FINGERS : undefined;
    const section = this.painter.sectionAt(...at);
    if (!section) return;
    if (this.painter.level === SECTIONS) {
      this.#showSection(section);
      return this.camera.glideTo(this.camera.closeTo(section, least));
    }
    if (this.painter.level !== NUMBERS || this.camera.view.scale < least) {
      const { scale } = this.camera.closeTo(section, least);
      return this.camera.glideTo(this.camera.around(this.painter.worldAt(...at), scale));
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
    const own = unit !== undefined && this.claims.holdOf(unit) !== undefined;
    this.parts.marks.style.cursor = party || own || (section && this.painter.level !== NUMBERS) ? "pointer" : "";
    this.#drawMarks();
    this.#tip(at, section, unit);
  }

  #tip(at, section, unit) {
    const { tip } = this.parts;
    clearTimeout(this.#hinting);
    tip.hidden = !section || (unit === undefined && this.painter.level !== SECTIONS);
    if (tip.hidden) return;
    const share = `${section.free} of ${section.seats} free`;
    const about = `${section.name} · ${section.category} · ${this.model.price(section.price)} · ${share}`;
    const own = unit !== undefined && this.claims.holdOf(unit) ? ". Click to give back" : "";
    tip.textContent = unit === undefined ? about : this.#describe(unit).label + own;
    // Over the middle of the seat, wherever the pointer is on it.
    const seat = unit !== undefined && this.painter.level === NUMBERS;
    const [[x, y], reach] = seat ? [this.painter.pointOf(unit), this.camera.view.scale * 0.55] : [at, 10];
    this.#placeTip(x, y - reach - 6, y + reach + 6);
  }

  /** Above the one height, or below the other where there is no room; never cut off. */
  #placeTip(x, above, below) {
    const { tip } = this.parts;
    const left = Math.max(8, Math.min(x - tip.offsetWidth / 2, this.painter.size.width - tip.offsetWidth - 8));
    const top = above - tip.offsetHeight > 4 ? above - tip.offsetHeight : below;
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  /** The wheel scrolls the page, and says once how it would zoom. */
  #hint() {
    const { tip } = this.parts;
    const key = /mac|iphone|ipad/i.test(navigator.platform) ? "⌘" : "Ctrl";
    tip.textContent = `Hold ${key} to zoom, or click the map first`;
    tip.hidden = false;
    const [x, y] = this.camera.centre;
    this.#placeTip(x, y, y);
    clearTimeout(this.#hinting);
    this.#hinting = setTimeout(() => (tip.hidden = true), HINT_MS);
  }

  /** The seat that has the keyboard is shown on the map too. */
  #focused(unit) {
    this.#pointed = { ...this.#pointed, focus: unit };
    if (unit !== undefined && this.painter.level !== SECTIONS) {
      const place = this.painter.placeOf(unit);
      if (!this.camera.sees(place)) return this.camera.look(this.camera.around(place, this.camera.view.scale));
    }
    this.#drawMarks();
  }

  #drawMarks() {
    this.painter.paintMarks(this.#pointed);
  }
}

customElements.define("seat-map", SeatMap);
