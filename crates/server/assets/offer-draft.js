// <offer-draft data-preview="/address">: draws the preview again while somebody types, and reads a file into the sheet.
//
// The server draws it, as it does without this script when "Update preview" is pressed; here it is only asked more often.

const PAUSE_MS = 250;

class OfferDraft extends HTMLElement {
  #timer = 0;
  #asking = null;

  connectedCallback() {
    this.addEventListener("input", () => this.#soon());
    const upload = this.querySelector("[data-upload]");
    if (!upload) return;
    upload.hidden = false;
    upload.querySelector("input").addEventListener("change", (event) => this.#read(event.target.files[0]));
  }

  async #read(file) {
    if (!file) return;
    this.querySelector('[name="sheet"]').value = await file.text();
    this.#soon();
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#draw(), PAUSE_MS);
  }

  async #draw() {
    this.#asking?.abort();
    const asking = (this.#asking = new AbortController());
    const body = new URLSearchParams(new FormData(this.querySelector("form")));
    try {
      const answer = await fetch(this.dataset.preview, { method: "POST", body, signal: asking.signal });
      if (!answer.ok) return;
      const drawn = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-preview-part]");
      if (!drawn) return;
      this.querySelector("[data-preview-part]").replaceWith(document.adoptNode(drawn));
      // What was wrong when the form was sent is told anew beside the preview, or is wrong no more.
      document.querySelector("main > .note.bad")?.remove();
    } catch (fault) {
      // The next key that is pressed asks again.
      if (!asking.signal.aborted) console.debug(fault);
    }
  }
}

customElements.define("offer-draft", OfferDraft);
