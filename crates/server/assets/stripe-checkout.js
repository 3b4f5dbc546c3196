// <stripe-checkout>: Stripe's own card form. The card goes from the browser to Stripe; this server never sees it.
//
// The booking is begun when the buyer presses pay, with the hold's own key: pressing twice, again after the network failed,
// or after a declined card and a reload, is about the same booking and the same payment.

const STRIPE = "https://js.stripe.com/v3/";

class StripeCheckout extends HTMLElement {
  #stripe;
  #elements;

  async connectedCallback() {
    this.form = this.querySelector("form");
    this.button = this.querySelector("button");
    this.fault = this.querySelector('[role="alert"]');
    try {
      await script(STRIPE);
    } catch {
      this.#refuse("Stripe cannot be reached. Look at your connection and load this page again.");
      return;
    }
    const { key, minor, currency } = this.dataset;
    this.#stripe = globalThis.Stripe(key);
    this.#elements = this.#stripe.elements({ mode: "payment", amount: Number(minor), currency });
    this.#elements.create("payment").mount(this.querySelector(".card-form"));
    this.button.disabled = false;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#pay();
    });
  }

  async #pay() {
    this.button.disabled = true;
    this.button.setAttribute("aria-busy", "true");
    this.fault.hidden = true;
    try {
      const said = (await this.#submitted()) ?? (await this.#charged());
      if (said) this.#refuse(said);
    } catch {
      this.#refuse("The connection broke off. Press pay again: you are charged once.");
    }
    this.button.disabled = false;
    this.button.removeAttribute("aria-busy");
  }

  async #submitted() {
    const { error } = await this.#elements.submit();
    return error?.message;
  }

  async #charged() {
    const answer = await fetch("/v1/bookings", {
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": this.dataset.intention },
      body: JSON.stringify({ hold: this.dataset.hold, payment: { provider: "stripe" } }),
    });
    const booking = await answer.json();
    if (!answer.ok) return booking.detail;
    const place = new URL(`/bookings/${booking.id}`, location.href).href;
    const { error } = await this.#stripe.confirmPayment({
      elements: this.#elements,
      clientSecret: booking.payment.client_secret,
      confirmParams: { return_url: place },
    });
    return error?.message;
  }

  #refuse(words) {
    this.fault.textContent = words;
    this.fault.hidden = false;
  }
}

function script(address) {
  return new Promise((done, failed) => {
    const element = document.createElement("script");
    element.src = address;
    element.onload = done;
    element.onerror = failed;
    document.head.append(element);
  });
}

customElements.define("stripe-checkout", StripeCheckout);
