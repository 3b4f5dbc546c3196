// On every page: forms say at once that they were sent, and times are shown on the visitor's own clocks.

/** What the button says while its form is on the way. Submitting again before the answer changes nothing. */
function say(form, button) {
  form.setAttribute("aria-busy", "true");
  if (!button) return;
  button.dataset.said = button.innerHTML;
  button.setAttribute("aria-busy", "true");
  const words = form.dataset.busy;
  // A button with a figure of its own, such as a time, keeps it.
  if (!button.name) button.textContent = words;
}

function unsay(form) {
  form.removeAttribute("aria-busy");
  for (const button of form.querySelectorAll("button[data-said]")) {
    button.innerHTML = button.dataset.said;
    button.removeAttribute("aria-busy");
    delete button.dataset.said;
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-busy]");
  if (!form) return;
  if (form.getAttribute("aria-busy") === "true") {
    event.preventDefault();
    return;
  }
  say(form, event.submitter);
});

// A page that comes back from the browser's memory is shown as it was left: on the way to somewhere.
addEventListener("pageshow", (event) => {
  if (event.persisted) document.querySelectorAll("form[aria-busy]").forEach(unsay);
});

const WHOLE = { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit" };

for (const time of document.querySelectorAll("time[data-local]")) {
  const shape = time.dataset.local === "time" ? TIME : WHOLE;
  time.textContent = new Intl.DateTimeFormat(undefined, shape).format(new Date(time.dateTime));
}
