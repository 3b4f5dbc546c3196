// On every page: forms say at once that they were sent, times are shown on the visitor's own clocks, and what is meant for
// paper has a button for it.

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

// An appointment is told by the clocks of its place; whoever's own show something else is told that too.
const SLOT = { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
for (const time of document.querySelectorAll("time[data-theirs]")) {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const part = Object.fromEntries(new Intl.DateTimeFormat("en-GB", SLOT).formatToParts(new Date(time.dateTime)).map(({ type, value }) => [type, value]));
  const shown = `${part.weekday} ${part.day} ${part.month} ${part.year}, ${part.hour}:${part.minute}`;
  if (time.dataset.theirs.startsWith(shown)) continue;
  time.textContent = `${shown} (${timeZone})`;
  time.parentElement.hidden = false;
}

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

for (const time of document.querySelectorAll("time[data-local]")) {
  const shape = time.dataset.local === "time" ? TIME : WHOLE;
  time.textContent = new Intl.DateTimeFormat(undefined, shape).format(new Date(time.dateTime));
}
