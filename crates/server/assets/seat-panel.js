// What stands around the map: its buttons, the legend, what is yours, what went wrong. Plain elements, made here and filled
// by the map.

import { HoldTimer } from "./hold-timer.js";
import { element } from "./seat-grid.js";

/** As many seats as people take at a time where nobody says otherwise. */
const USUAL_PARTY = 8;

/** Buyers take seats, `limit` of them at most; organisers pick any. */
export function furnish(model, { limit, picks }) {
  const parts = {
    base: element("canvas", { "aria-hidden": "true" }),
    marks: element("canvas", { role: "img", "aria-label": "Map of the seats. The table below has the same seats." }),
    closer: element("button", { type: "button", "aria-label": "Closer" }, icon("M12 5v14M5 12h14")),
    farther: element("button", { type: "button", "aria-label": "Farther" }, icon("M5 12h14")),
    whole: element("button", { type: "button", "aria-label": "Whole map" }, icon("M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5")),
    tip: element("p", { class: "map-tip", "aria-hidden": "true", hidden: true }),
    line: element("span", {}, "Connecting"),
    voice: element("p", { class: "visually-hidden", role: "status" }),
    note: element("div", { class: "map-note" }),
    yours: element("ul", { class: "map-yours", id: "your-seats", "aria-label": "Your seats" }),
    unfold: element(
      "button",
      { type: "button", class: "map-unfold quiet-button", "aria-expanded": "false", "aria-controls": "your-seats", "aria-label": "Your seats, all of them" },
      icon("M6 15l6-6 6 6"),
    ),
    top: element("span", { class: "map-top", "aria-hidden": "true" }),
    categories: element("div", { class: "map-categories", role: "group", "aria-label": "Show a category" }),
    legend: element("ul", { class: "map-legend", "aria-label": "What the shapes mean" }),
    party: partySize(Math.min(limit ?? USUAL_PARTY, USUAL_PARTY)),
    sections: sectionPicker(model),
    sectionFigures: element("p", { class: "quiet small figures" }),
    grid: element("div", { role: "grid", class: "map-grid" }),
  };
  parts.stage = element(
    "div",
    { class: "map-stage", tabindex: "-1" },
    parts.base,
    parts.marks,
    element("div", { class: "map-tools" }, parts.closer, parts.farther, parts.whole),
    element("p", { class: "map-line" }, parts.line),
    parts.tip,
    parts.top,
  );
  parts.bar = bar(parts.unfold);
  parts.panel = element("div", { class: "map-panel" }, parts.note, parts.yours, parts.bar.root);
  parts.outcome = element("div", { class: "map-outcome" }, parts.panel);
  const party = field("Seats per click", parts.party);
  party.classList.add("map-party");
  const controls = element("div", { class: "map-controls" }, parts.categories, parts.legend);
  const around = [parts.stage, parts.outcome, controls, table(parts, picks), parts.voice];
  parts.root = element("div", { class: "map" }, ...(picks ? [] : [party]), ...around);
  return parts;
}

/** What is the visitor's in one line: for a narrow screen, and for whoever has scrolled on to the table. */
function bar(unfold) {
  const words = element("strong", {});
  const sum = element("span", { class: "quiet small" });
  const clock = Object.assign(new HoldTimer(), { className: "timer" });
  clock.append(element("span", { role: "timer", "aria-label": "Time left" }));
  const pay = element("a", { class: "button" }, "Check out");
  const what = element("p", { class: "map-bar-what" }, words, " ", sum);
  const open = element("p", { class: "map-bar-open" }, "Your seats");
  return { words, sum, clock, pay, root: element("div", { class: "map-bar", hidden: true }, what, open, pay, unfold) };
}

function table(parts, picks) {
  const picker = field("Section", parts.sections);
  const scroller = element("div", { class: "map-scroller" }, parts.grid);
  const title = element("h2", { id: "seats-by-row" }, "Seats by row");
  const enter = picks ? "Enter picks the seat." : "Enter takes the seat, or gives it back.";
  const help = `Arrow keys move, Home and End jump. ${enter}`;
  const about = element("div", {}, parts.sectionFigures, element("p", { class: "quiet small map-keys" }, help));
  const head = element("div", { class: "map-table-head" }, picker, about);
  return element("section", { class: "map-table", "aria-labelledby": "seats-by-row" }, title, head, scroller);
}

function field(words, control) {
  control.id = `seat-map-${words.toLowerCase().replaceAll(" ", "-")}`;
  return element("div", { class: "field" }, element("label", { for: control.id }, words), control);
}

function partySize(most) {
  const options = Array.from({ length: most }, (_, at) => element("option", { value: at + 1 }, at + 1));
  return element("select", {}, ...options);
}

function sectionPicker(model) {
  const option = ({ name, category, price }, index) =>
    element("option", { value: index }, `${name} · ${category} · ${model.price(price)}`);
  return element("select", {}, ...model.sections.map(option));
}

/** Fills in the legend; a category that is chosen stands out, and the others stand back. */
export function legend(parts, model, { picks, onCategory }) {
  const states = [
    ["available", "Free"],
    ["held", "Held"],
    ["booked", "Booked"],
    ["blocked", "Not for sale"],
    ["yours", picks ? "Picked" : "Yours"],
  ];
  parts.legend.append(...states.map(([state, words]) => element("li", {}, glyph(state), words)));
  const buttons = model.categories.map(({ name, prices }) => {
    const price = prices.length > 1 ? `from ${model.price(prices[0])}` : model.price(prices[0] ?? 0);
    const button = element("button", { type: "button", "aria-pressed": "false" }, `${name} `, element("span", {}, price));
    button.addEventListener("click", () => {
      const chosen = button.getAttribute("aria-pressed") !== "true";
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button && chosen)));
      onCategory(chosen ? name : null);
    });
    return button;
  });
  if (buttons.length > 1) parts.categories.append(...buttons);
  else parts.categories.remove();
}

/**
 * The visitor's holds, each with its clock, the way to pay, to more time and back. A card stays as long as its hold does:
 * whoever is on one of its buttons stays there, and its clock repeats nothing.
 */
export function yourHolds(parts, model, claims, { onExtend, onRelease }) {
  const cards = new Map([...parts.yours.children].map((card) => [card.dataset.hold, card]));
  for (const [id, card] of cards) if (!claims.holds.has(id)) takeAway(card, parts.stage);
  for (const hold of claims.holds.values()) {
    const card = cards.get(hold.id) ?? parts.yours.appendChild(yourHold(model, hold, { onExtend, onRelease }));
    card.querySelector("hold-timer").endsAt = hold.endsAt;
    if (!hold.mayExtend) card.querySelector(".extend")?.remove();
  }
  inOneLine(parts.bar, model, [...claims.holds.values()]);
}

/** The same in one line: the one hold with its way to pay, or how many there are; the clock is that of the next to end. */
function inOneLine({ root, words, sum, clock, pay }, model, holds) {
  root.hidden = holds.length === 0;
  // A clock without a hold would count from nowhere.
  if (root.hidden) return clock.remove();
  const next = holds.reduce((one, other) => (other.endsAt < one.endsAt ? other : one));
  const seats = holds.reduce((sum, { units }) => sum + units.length, 0);
  words.textContent = holds.length === 1 ? model.wordsOf(next.units) : `${seats} seats`;
  sum.textContent = model.price(holds.reduce((sum, { amount }) => sum + amount, 0));
  clock.dataset.name = model.wordsOf(next.units);
  clock.toggleAttribute("data-may-extend", next.mayExtend);
  clock.endsAt = next.endsAt;
  if (!clock.isConnected) pay.before(clock);
  pay.hidden = holds.length > 1;
  pay.href = `/holds/${next.id}`;
}

/** Asks on its card whether a hold of several seats is to be given back. Answers with the button that does. */
export function askBack(parts, id) {
  const card = parts.yours.querySelector(`[data-hold="${id}"]`);
  const button = card?.querySelector(".give-back");
  card?.classList.add("asked");
  button?.addEventListener("blur", () => card.classList.remove("asked"), { once: true });
  return button;
}

/** Whoever is on a card that goes is led to the next one, or to the map. */
function takeAway(card, stage) {
  const hadFocus = card.contains(document.activeElement);
  const next = card.nextElementSibling ?? card.previousElementSibling;
  card.remove();
  if (hadFocus) (next?.querySelector("a") ?? stage).focus({ preventScroll: true });
}

function yourHold(model, { id, units, together, amount, endsAt, mayExtend }, { onExtend, onRelease }) {
  const words = model.wordsOf(units);
  const act = (label, attributes, run) => {
    const button = element("button", { type: "button", "aria-label": `${label} ${words}`, ...attributes }, label);
    button.addEventListener("click", async () => {
      button.setAttribute("aria-busy", "true");
      await run(id);
      button.removeAttribute("aria-busy");
    });
    return button;
  };
  const figure = element("span", { role: "timer", "aria-label": "Time left" });
  const clock = Object.assign(new HoldTimer(), { className: "timer", endsAt });
  Object.assign(clock.dataset, { hold: id, name: words });
  clock.toggleAttribute("data-may-extend", mayExtend);
  clock.append(figure);
  const pay = element("a", { class: "button", href: `/holds/${id}` }, "Check out");
  const longer = act("Extend", { class: "extend quiet-button" }, onExtend);
  const back = act("Give back", { class: "give-back quiet-button" }, onRelease);
  return element(
    "li",
    { "data-hold": id, class: "map-hold" },
    element("p", { class: "map-hold-head" }, element("strong", {}, words), clock),
    element("p", { class: "quiet small" }, `${model.price(amount)} · yours until the clock runs out`),
    element("p", { class: "small map-hold-ask" }, `Held together: all ${together} go back.`),
    element("div", { class: "actions" }, pay, longer, back),
  );
}

/** What happened, and what can be done about it in one tap. */
export function noteOf({ kind, title, text, actions = [], link }, onClose) {
  const buttons = actions.map(({ label, run }) => {
    const button = element("button", { type: "button" }, label);
    button.addEventListener("click", run);
    return button;
  });
  if (link) buttons.push(element("a", { class: "button", href: link.href }, link.label));
  const note = element("div", { class: `note ${kind}`, role: "alert" }, element("p", {}, element("strong", {}, title), " ", text));
  if (buttons.length) note.append(element("div", { class: "actions" }, ...buttons));
  const close = element("button", { type: "button", class: "map-close", "aria-label": "Close this note" }, icon("M6 6l12 12M18 6L6 18"));
  close.addEventListener("click", onClose);
  note.append(close);
  return note;
}

const SVG = "http://www.w3.org/2000/svg";

function drawing(size, ...shapes) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
  svg.setAttribute("aria-hidden", "true");
  for (const [name, attributes] of shapes) {
    const shape = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
    svg.append(shape);
  }
  return svg;
}

const icon = (d) => drawing(24, ["path", { d }]);

/** The shape of a state, as on the map. */
function glyph(state) {
  const shapes = {
    available: ["circle", { cx: 8, cy: 8, r: 6.6 }],
    held: ["circle", { cx: 8, cy: 8, r: 5.4 }],
    booked: ["circle", { cx: 8, cy: 8, r: 3.6 }],
    blocked: ["path", { d: "M4.8 4.8l6.4 6.4M11.2 4.8l-6.4 6.4" }],
    yours: ["rect", { x: 1.2, y: 1.2, width: 13.6, height: 13.6, rx: 3 }],
  };
  const tick = ["path", { d: "M4.8 8.3l2.3 2.4 4.2-5", class: "tick" }];
  const svg = drawing(16, shapes[state], ...(state === "yours" ? [tick] : []));
  svg.setAttribute("class", `map-glyph ${state}`);
  return svg;
}
