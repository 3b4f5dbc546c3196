// The queue page, live: the server says where one stands whenever that changes, and the page is fetched anew when it is
// one's turn, or when there is something else to say than a number. Without this the page refreshes itself.

const words = (from, to) => {
  const [low, high] = [Math.floor(from / 60), Math.ceil(to / 60)];
  if (high <= 1) return "less than a minute";
  if (low === 0) return `up to ${high} minutes`;
  if (high <= 120) return `${low} to ${high} minutes`;
  return `${Math.max(1, Math.floor(low / 60))} to ${Math.ceil(high / 60)} hours`;
};

class QueueStatus extends HTMLElement {
  connectedCallback() {
    this.least = Number(this.part("ahead")?.textContent ?? Infinity);
    this.source = new EventSource(this.dataset.stream);
    this.source.onmessage = (event) => this.show(JSON.parse(event.data));
    // A stream that is refused is not tried again by the browser: then the page asks as it would without scripts.
    this.source.onerror = () => {
      if (this.source.readyState === EventSource.CLOSED) {
        setTimeout(() => this.go(() => location.reload()), Number(this.dataset.retryMs));
      }
    };
  }

  disconnectedCallback() {
    this.source?.close();
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
    const drawn = place.ahead !== null && !this.part("ahead");
    if (place.state !== this.dataset.state || drawn) return this.go(() => location.reload());
    if (place.ahead !== null) {
      this.least = Math.min(this.least, place.ahead);
      this.part("ahead").textContent = String(this.least);
      this.part("people").textContent = this.least === 1 ? "person is" : "people are";
    }
    const wait = this.part("wait");
    if (wait && place.eta_s) wait.textContent = `It may take ${words(...place.eta_s)}.`;
  }
}

customElements.define("queue-status", QueueStatus);
