// <live-part data-from="/address" data-every="2000">: a part of a page that the server draws again while somebody looks.
//
// The server's HTML is the part as it stands, so there is one place that knows how it looks; without this script the
// page shows it as it was when it was loaded. Nothing is replaced under somebody's fingers.

const EVERY_MS = 2000;
const SLOWEST_MS = 30_000;

class LivePart extends HTMLElement {
  #wait = EVERY_MS;
  #timer = 0;
  #asking = null;

  connectedCallback() {
    this.#wait = this.#every;
    document.addEventListener("visibilitychange", this.#look);
    this.#later();
  }

  disconnectedCallback() {
    document.removeEventListener("visibilitychange", this.#look);
    clearTimeout(this.#timer);
    this.#asking?.abort();
  }

  get #every() {
    return Number(this.dataset.every) || EVERY_MS;
  }

  /** Looks at once: something happened that the part should show. */
  refresh() {
    clearTimeout(this.#timer);
    return this.#ask();
  }

  #look = () => {
    if (document.visibilityState === "visible") this.refresh();
  };

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), this.#wait);
  }

  async #ask() {
    if (document.visibilityState === "hidden" || !this.isConnected) return;
    this.#asking?.abort();
    const asking = (this.#asking = new AbortController());
    try {
      const answer = await fetch(this.dataset.from, { signal: asking.signal, headers: { accept: "text/html" } });
      // The session is over: the page says so better than a part of it, unless it is another page that is being read.
      if (answer.status === 401) return this.closest("main") ? location.reload() : undefined;
      if (answer.ok) this.#show(await answer.text());
      this.#wait = answer.ok ? this.#every : Math.min(this.#wait * 2, SLOWEST_MS);
    } catch (fault) {
      if (asking.signal.aborted) return;
      this.#wait = Math.min(this.#wait * 2, SLOWEST_MS);
    }
    this.#later();
  }

  #show(html) {
    const drawn = new DOMParser().parseFromString(html, "text/html").querySelector("live-part");
    if (!drawn || this.contains(document.activeElement)) return;
    if (drawn.innerHTML !== this.innerHTML) this.replaceChildren(...document.adoptNode(drawn).childNodes);
    this.dataset.drawn = String(Number(this.dataset.drawn ?? 0) + 1);
  }
}

customElements.define("live-part", LivePart);
