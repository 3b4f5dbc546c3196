// <stock-lines>: how much is left, as it changes.

import { poll } from "./poll.js";

const EVERY_MS = 2_000;

class StockLines extends HTMLElement {
  #leaving = new AbortController();

  connectedCallback() {
    poll(`/v1/offers/${this.dataset.offer}/availability`, EVERY_MS, (now) => this.#heard(now), this.#leaving.signal);
  }

  disconnectedCallback() {
    this.#leaving.abort();
  }

  #heard({ version, counts, units }) {
    this.dataset.version = version;
    const figure = new Intl.NumberFormat("en");
    for (const { unit, remaining } of units) {
      const form = [...this.querySelectorAll("form")].find((form) => form.dataset.unit === unit);
      if (!form) continue;
      form.querySelector('[data-live="remaining"]').textContent = figure.format(remaining);
      // The only line is counted by the offer, which may have been given more of it since.
      const capacity = units.length === 1 ? counts.capacity : Number(form.dataset.capacity);
      const percent = Math.min(100, Math.floor((100 * remaining) / capacity));
      form.querySelector('[data-live="gauge"]').setAttribute("width", String(percent));
      form.querySelector('[data-live="qty"]').hidden = remaining === 0;
      const button = form.querySelector("button");
      if (button.getAttribute("aria-busy") === "true") continue;
      button.disabled = remaining === 0;
      button.textContent = remaining === 0 ? "Sold out" : "Hold";
    }
    const left = document.querySelector('.head-figures [data-live="left"]');
    if (left) left.textContent = `${figure.format(counts.available)} of ${figure.format(counts.capacity)} left`;
  }
}

customElements.define("stock-lines", StockLines);
