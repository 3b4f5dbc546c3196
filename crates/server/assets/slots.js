// <slot-week>: starts that are taken vanish, and every start is shown on the visitor's clocks too.

import { poll } from "./poll.js";

const EVERY_MS = 2_000;

class SlotWeek extends HTMLElement {
  #leaving = new AbortController();

  connectedCallback() {
    this.#showTheirs(this.dataset.visitor || Intl.DateTimeFormat().resolvedOptions().timeZone);
    const { offer, service, from, to } = this.dataset;
    const query = new URLSearchParams({ service, from, to });
    poll(`/v1/offers/${offer}/availability?${query}`, EVERY_MS, (now) => this.#heard(now), this.#leaving.signal);
  }

  disconnectedCallback() {
    this.#leaving.abort();
  }

  /** The visitor's zone, unless it shows the same as the calendar's. */
  #showTheirs(zone) {
    if (!zone || zone === this.dataset.zone) return;
    const day = { timeZone: zone, weekday: "short" };
    const time = { timeZone: zone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
    for (const button of this.querySelectorAll("button.slot")) {
      const at = new Date(button.value);
      const here = new Intl.DateTimeFormat("en", { ...day, timeZone: this.dataset.zone }).format(at);
      const there = new Intl.DateTimeFormat("en", day).format(at);
      const clock = new Intl.DateTimeFormat("en-GB", time).format(at);
      const theirs = here === there ? clock : `${there} ${clock}`;
      button.querySelector(".theirs").textContent = theirs;
    }
    this.#nameZone(zone);
  }

  #nameZone(zone) {
    const select = this.querySelector("#tz");
    if (![...select.options].some((option) => option.text === zone)) select.add(new Option(zone));
    select.value = zone;
    const key = this.querySelector('[data-live="zones"]');
    key.lastChild.textContent = this.dataset.visitor ? ` ${zone}` : " yours";
    key.hidden = false;
    select.addEventListener("change", () => select.form.requestSubmit());
    select.form.querySelector("button").hidden = true;
  }

  /** Whoever was on a start that has gone goes on from the next one, or from the one before. */
  #nearest(item) {
    const items = [...this.querySelectorAll(".starts li")];
    const [before, after] = [items.slice(0, items.indexOf(item)), items.slice(items.indexOf(item))];
    const isThere = ({ hidden }) => !hidden;
    return (after.find(isThere) ?? before.findLast(isThere))?.querySelector("button");
  }

  /** What can be had now. A start that came back is shown on the next visit; one that is gone goes at once. */
  #heard({ version, starts }) {
    this.dataset.version = version;
    const free = new Set(starts.filter((start) => start.state === "available").map((start) => start.start));
    const focused = document.activeElement?.closest(".starts li");
    let gone = 0;
    for (const button of this.querySelectorAll("button.slot")) {
      const item = button.closest("li");
      const taken = !free.has(button.value);
      if (taken && !item.hidden && button.getAttribute("aria-busy") !== "true") gone += 1;
      if (button.getAttribute("aria-busy") !== "true") item.hidden = taken;
    }
    if (focused?.hidden) this.#nearest(focused)?.focus();
    for (const day of this.querySelectorAll(".day")) {
      day.classList.toggle("none", !day.querySelector(".starts li:not([hidden])"));
    }
    if (gone > 0) this.querySelector('[data-live="said"]').textContent = gone === 1 ? "One time was just taken" : `${gone} times were just taken`;
  }
}

customElements.define("slot-week", SlotWeek);
