// <hold-timer data-left-ms="598000" data-hold="hold_…">: counts down what the server said was left.
//
// The visitor's clock is never asked, for it may be wrong: only how much time has passed since the answer arrived,
// which a monotonic clock knows. Whenever the page was out of sight the server is asked again, because that clock may
// sleep with the machine. The page is loaded anew only when the server says that the hold is over, and never while it is
// being paid: a bank's question to the buyer is part of the page, and would be lost with it.
//
// With `data-attend="hold_…"` the server hears when the page goes away, and when it is there again.
//
// A script that shows a hold makes one of these with `endsAt` set, by the page's own clock that never jumps, and with
// `data-name` where there may be several. It hears `hold-read` (with the hold) when the server was asked again and
// `hold-over` when nothing is left; where it takes these over by `preventDefault`, the page is not loaded anew.

import { attend, comeBack } from "./hold-presence.js";

const ASK_AGAIN_AFTER_MS = 20_000;
/** How often the server is asked about a hold whose time is up. */
const ASK_AT_THE_END_MS = 1_000;
/** … and about one that is being paid, for as long as nobody has said what came of that. */
const ASK_WHILE_PAYING_MS = 5_000;
const OFFER_EXTENSION_MS = 60_000;

export class HoldTimer extends HTMLElement {
  #endsAt = 0;
  #ticking = 0;
  #saidMinutes = null;
  #hiddenAt = 0;
  #offered = false;
  #leave = null;

  connectedCallback() {
    // The answer arrived some time before this script ran.
    const arrived = performance.getEntriesByType("navigation")[0]?.responseStart ?? performance.now();
    this.#endsAt ||= arrived + Number(this.dataset.leftMs);
    this.figure = this.querySelector("[role=timer]") ?? this;
    this.status ??= this.#live();
    document.addEventListener("visibilitychange", this);
    addEventListener("pageshow", this);
    this.#leave = new AbortController();
    if (this.dataset.attend) {
      attend(this.dataset.attend, this.#leave);
      document.querySelector("[data-leaving]")?.removeAttribute("hidden");
    }
    this.#count();
  }

  disconnectedCallback() {
    this.#leave.abort();
    clearInterval(this.#ticking);
    document.removeEventListener("visibilitychange", this);
    removeEventListener("pageshow", this);
  }

  handleEvent(event) {
    if (event.type === "visibilitychange" && document.hidden) this.#hiddenAt = performance.now();
    const away = event.type === "pageshow" ? event.persisted : !document.hidden;
    if (!away || !this.dataset.hold) return;
    if (event.type === "pageshow" || performance.now() - this.#hiddenAt >= ASK_AGAIN_AFTER_MS) this.#askServer();
  }

  /** What is left, by the server's word and the time since. */
  get leftMs() {
    return Math.max(0, this.#endsAt - performance.now());
  }

  /** Another end, as after an extension: what was said of the old one does not count any more. */
  set endsAt(endsAt) {
    if (endsAt === this.#endsAt) return;
    this.#endsAt = endsAt;
    this.dataset.leftMs = String(Math.round(this.leftMs));
    this.#saidMinutes = null;
    this.#offered = false;
    this.#extension?.classList.remove("offered");
    if (this.isConnected) this.#count();
  }

  /** The way to more time: in the hold's own card, or on its page. */
  get #extension() {
    return (this.closest(".map-hold, .map-bar") ?? document).querySelector(".extend");
  }

  #count() {
    clearInterval(this.#ticking);
    this.#ticking = setInterval(() => this.#tick(), 250);
    this.#tick();
  }

  #live() {
    if (this.hasAttribute("data-quiet")) return null;
    const status = document.createElement("span");
    status.className = "visually-hidden";
    status.setAttribute("role", "status");
    this.append(status);
    return status;
  }

  #tick() {
    const left = this.leftMs;
    const seconds = Math.ceil(left / 1000);
    const shown = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    if (this.figure.textContent !== shown) this.figure.textContent = shown;
    this.dataset.shownMs = String(Math.round(left));
    this.#speak(seconds);
    const offer = Math.max(OFFER_EXTENSION_MS, Number(this.dataset.leftMs) / 10);
    this.classList.toggle("soon", left < offer);
    if (left < offer) this.#offerExtension();
    if (left === 0) this.#over();
  }

  /** Once a minute, and no more often: a clock that talks all the time cannot be listened to. */
  #speak(seconds) {
    if (!this.status) return;
    const minutes = Math.ceil(seconds / 60);
    if (minutes === this.#saidMinutes) return;
    const first = this.#saidMinutes === null;
    this.#saidMinutes = minutes;
    if (!first) this.#say(minutes === 1 ? "Less than one minute left" : `${minutes} minutes left`);
  }

  #say(words) {
    const { name } = this.dataset;
    if (this.status) this.status.textContent = name ? `${name}: ${words}` : words;
  }

  #offerExtension() {
    if (this.#offered || !this.hasAttribute("data-may-extend")) return;
    this.#offered = true;
    const way = this.#extension;
    way?.classList.add("offered");
    (way?.querySelector("button") ?? way)?.classList.remove("quiet-button");
    this.#say("Time is running out. You can extend the hold.");
  }

  async #askServer() {
    try {
      // Another tab may have gone meanwhile, and this one may not have heard of it.
      if (this.dataset.attend) await comeBack(this.dataset.attend);
      const asked = performance.now();
      const answer = await fetch(`/v1/holds/${this.dataset.hold}`, { cache: "no-store" });
      if (!answer.ok) return;
      const hold = await answer.json();
      if (this.#tell("hold-read", hold)) this.#heed(hold, asked + hold.expires_in_ms);
    } catch {
      // Offline: the count goes on from what was last known.
    }
  }

  /** The page of a hold that is over, or booked, says so when it is loaded anew. */
  #heed({ state }, endsAt) {
    if (state === "active") {
      this.#endsAt = endsAt;
      this.#count();
    } else if (state === "paying") {
      if (this.leftMs === 0) this.#stand("Being paid. It stays yours until the bank has answered.");
    } else if (!isUnderWay()) {
      location.reload();
    }
  }

  /** The time is up by this clock; the server decides whether it is, and a payment under way has more of it. */
  #over() {
    clearInterval(this.#ticking);
    if (this.#tell("hold-over") && this.dataset.hold) this.#atTheEnd(ASK_AT_THE_END_MS);
  }

  /** Words in place of a clock that says nothing any more. */
  #stand(words) {
    this.figure.hidden = true;
    const about = this.querySelector(".timer-words");
    if (about) about.textContent = words;
  }

  #atTheEnd(ms) {
    clearTimeout(this.#ticking);
    this.#ticking = setTimeout(async () => {
      await this.#askServer();
      if (this.isConnected && this.leftMs === 0) this.#atTheEnd(ASK_WHILE_PAYING_MS);
    }, ms);
  }

  /** Whether what follows is left to this element. */
  #tell(event, detail) {
    return this.dispatchEvent(new CustomEvent(event, { bubbles: true, cancelable: true, detail }));
  }
}

/** Whether something was sent whose answer will show the way: a payment, or any other form. */
const isUnderWay = () => document.querySelector('main [aria-busy="true"]') !== null;

customElements.define("hold-timer", HoldTimer);
