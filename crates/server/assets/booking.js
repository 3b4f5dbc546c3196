// A booking that waits for the bank: look until it has answered, then show the page anew.

import { poll } from "./poll.js";

const ticket = document.querySelector("[data-booking]");
const done = new AbortController();

poll(
  `/v1/bookings/${ticket.dataset.booking}`,
  1_500,
  (booking) => {
    if (booking.state === ticket.dataset.state) return;
    done.abort();
    // A card that was declined leaves the hold as it was, for another. Whoever paid too late is told so by this page.
    if (booking.state === "failed" && booking.payment.state === "failed") location.replace(`/holds/${booking.hold}?declined=${booking.id}`);
    else location.reload();
  },
  done.signal,
);
