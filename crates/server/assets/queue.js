// The queue page, live: the server says where one stands whenever that changes. Everything that may have to be said is in
// the page already, so that a room that pauses before fifty thousand people is not fifty thousand pages; only when it is
// one's turn the page is fetched anew. Without this the page refreshes itself. The line is followed as the map's is: one that
// has died without a word is noticed and opened again, for nobody may wait at a page that hears nothing.

import { follow } from "./holdfast.js";

const words = (from, to) => {
  const [low, high] = [Math.floor(from / 60), Math.ceil(to / 60)];
  if (high <= 1) return "less than a minute";
  if (low === 0) return `up to ${high} minutes`;
  if (high <= 120) return `${low} to ${high} minutes`;
  return `${Math.max(1, Math.floor(low / 60))} to ${Math.ceil(high / 60)} hours`;
};

/** What there is to say to somebody who stands there. */
const sceneOf = ({ state, room }) => (state === "waiting" && room === "paused" ? "paused" : state);
/** Scenes in which one stays on this page. */
const STAYS = new Set(["waiting", "paused", "sold_out", "closed"]);
const MOVES = new Set(["waiting", "paused"]);
/** A number that changes each second is for the eyes; a screen reader hears of it this often at most. */
const SPOKEN_EVERY_MS = 60_000;

class QueueStatus extends HTMLElement {
  connectedCallback() {
    this.least = this.part("draw").hidden ? Number(this.part("ahead").textContent) : Infinity;
    this.spoken = { at: performance.now(), words: this.line() };
    this.following = new AbortController();
    follow(this.dataset.stream, undefined, {
      signal: this.following.signal,
      onEvent: ({ data }) => this.show(JSON.parse(data)),
      onRefused: () => this.askWithout(),
    });
    // Whoever leaves is led away by the form, and not called back by the stream that tells of it.
    this.addEventListener("submit", () => (this.following.abort(), (this.gone = true)));
  }

  disconnectedCallback() {
    this.following.abort();
  }

  /** There is no line to be had: then the page asks as it would without scripts. */
  askWithout() {
    this.following.abort();
    setTimeout(() => this.go(() => location.reload()), Number(this.dataset.retryMs));
  }

  /** Once: going again while the next page is on its way would call the first one back. */
  go(onward) {
    if (this.gone) return;
    this.gone = true;
    onward();
  }

  part(name) {
    return this.querySelector(`[data-part="${name}"]`);
  }

  show(place) {
    if (place.state === "open" || place.state === "admitted") return this.go(() => location.assign(this.dataset.offer));
    const scene = sceneOf(place);
    if (!STAYS.has(scene)) return this.go(() => location.reload());
    const isNew = scene !== this.dataset.scene;
    this.dataset.scene = scene;
    for (const part of this.querySelectorAll("[data-when]")) part.hidden = part.dataset.when !== scene;
    this.part("early").hidden = place.room !== "scheduled";
    this.part("line").hidden = !MOVES.has(scene);
    if (place.ahead !== null) this.count(place.ahead);
    this.part("wait").textContent = place.eta_s
      ? `It may take ${words(place.eta_s[0], Math.max(place.eta_s[1], Number(this.dataset.leastS)))}.`
      : "Nobody can tell yet how long it will take.";
    if (isNew) this.say(this.querySelector(`[data-when="${scene}"]`).textContent);
    else if (MOVES.has(scene)) this.sayLine();
  }

  /** How many are ahead; that never rises. */
  count(ahead) {
    this.least = Math.min(this.least, ahead);
    this.part("ahead").textContent = String(this.least);
    this.part("people").textContent = this.least === 1 ? "person is" : "people are";
    this.part("next").hidden = this.least !== 0;
    this.part("count").hidden = this.least === 0;
    this.part("draw").hidden = true;
  }

  line() {
    return ["draw", "next", "count"].map((name) => this.part(name)).find((part) => !part.hidden).textContent;
  }

  /** Where one stands, aloud: not as often as it changes. */
  sayLine() {
    const words = this.line();
    if (words === this.spoken.words || performance.now() - this.spoken.at < SPOKEN_EVERY_MS) return;
    this.say(`${words.replace(/\.$/, "")}. ${this.part("wait").textContent}`, words);
  }

  say(text, words = this.line()) {
    this.spoken = { at: performance.now(), words };
    this.part("voice").textContent = text.replaceAll(/\s+/g, " ").trim();
  }
}

customElements.define("queue-status", QueueStatus);
