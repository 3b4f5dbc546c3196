// The seats of one section as a table for the keyboard and for those who listen: a real grid, one stop of the Tab key, arrows
// within. It shows a window of the section around the seat in focus, so that a row of ten thousand costs no more than one
// of forty.

const ROWS = 24;
const SEATS = 40;
/** How far Page Up and Page Down go. */
const PAGE = 5;

export class SeatGrid {
  #cells = new Map();
  #section = null;
  #active = 0;

  /** `describe(unit)` gives `{ state, label, claimable, answers }`; `onClaim` and `onFocus` are told units. */
  constructor({ host, model, describe, onClaim, onFocus }) {
    this.host = host;
    this.model = model;
    this.describe = describe;
    this.onFocus = onFocus;
    host.addEventListener("keydown", (event) => this.#onKey(event, onClaim));
    host.addEventListener("click", (event) => {
      const unit = unitOf(event.target);
      if (unit === undefined) return;
      this.#moveTo(unit);
      onClaim(unit, event.detail === 0);
    });
    host.addEventListener("focusin", (event) => {
      const unit = unitOf(event.target);
      if (unit !== undefined) onFocus(unit);
    });
    host.addEventListener("focusout", () => onFocus(undefined));
  }

  get section() {
    return this.#section;
  }

  hasFocus() {
    return this.host.contains(document.activeElement);
  }

  /** Shows a section, from its first free seat on. */
  show(section) {
    if (section === this.#section) return;
    this.#section = section;
    const units = Array.from({ length: section.seats }, (_, at) => section.first + at);
    this.#active = units.find((unit) => this.describe(unit).claimable) ?? section.first;
    this.#render();
  }

  /** Brings these seats up to date. */
  update(units) {
    for (const unit of units) {
      const cell = this.#cells.get(unit);
      if (cell) this.#dress(cell, unit);
    }
  }

  /** The seat in focus, if the grid has it. */
  get focused() {
    return unitOf(document.activeElement);
  }

  updateAll() {
    this.update(this.#cells.keys());
  }

  focus() {
    this.#cells.get(this.#active)?.focus();
  }

  #render() {
    const { rows, name } = this.#section;
    const row = this.model.rowOf(this.#active);
    const at = rows.indexOf(row);
    const firstRow = windowStart(at, ROWS, rows.length);
    const longest = Math.max(...rows.map((row) => row.seats));
    const firstSeat = windowStart(this.#active - row.first, SEATS, longest);
    this.#cells.clear();
    this.host.style.setProperty("--row-name", Math.max(...rows.map((row) => row.name.length)));
    this.host.setAttribute("aria-label", `Seats in ${name}`);
    this.host.setAttribute("aria-rowcount", rows.length);
    this.host.setAttribute("aria-colcount", longest + 1);
    this.host.replaceChildren(
      ...rows.slice(firstRow, firstRow + ROWS).map((row, index) => this.#row(row, firstRow + index, firstSeat)),
    );
  }

  #row(row, index, firstSeat) {
    const line = element("div", { role: "row", "aria-rowindex": index + 1 });
    line.append(element("span", { role: "rowheader", "aria-colindex": 1 }, row.name));
    for (let seat = firstSeat; seat < Math.min(firstSeat + SEATS, row.seats); seat += 1) {
      const unit = row.first + seat;
      const cell = element("div", { role: "gridcell", "aria-colindex": seat + 2, "data-unit": unit }, seat + 1);
      if (row.gaps.includes(seat + 1)) cell.classList.add("before-aisle");
      cell.tabIndex = unit === this.#active ? 0 : -1;
      this.#cells.set(unit, cell);
      this.#dress(cell, unit);
      line.append(cell);
    }
    return line;
  }

  #dress(cell, unit) {
    const { state, label, answers } = this.describe(unit);
    cell.dataset.state = state;
    cell.setAttribute("aria-label", label);
    cell.setAttribute("aria-disabled", String(!answers));
    cell.setAttribute("aria-selected", String(state === "yours"));
  }

  #moveTo(unit) {
    if (unit === this.#active) return;
    const before = this.#cells.get(this.#active);
    if (before) before.tabIndex = -1;
    this.#active = unit;
    if (!this.#cells.has(unit)) this.#render();
    this.#cells.get(unit).tabIndex = 0;
    this.focus();
  }

  #onKey(event, onClaim) {
    if (unitOf(event.target) === undefined || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      // A key that is kept down is one wish.
      if (!event.repeat) onClaim(this.#active, true);
      return;
    }
    const target = this.#target(event.key, event.ctrlKey);
    if (target === undefined) return;
    event.preventDefault();
    this.#moveTo(target);
  }

  /** Where a key leads from the seat in focus. */
  #target(key, toTheEnd) {
    const { rows } = this.#section;
    const row = this.model.rowOf(this.#active);
    const [at, seat] = [rows.indexOf(row), this.#active - row.first];
    const inRow = (index, wanted) => {
      const to = rows[Math.max(0, Math.min(index, rows.length - 1))];
      return to.first + Math.max(0, Math.min(wanted, to.seats - 1));
    };
    switch (key) {
      case "ArrowLeft":
        return inRow(at, seat - 1);
      case "ArrowRight":
        return inRow(at, seat + 1);
      case "ArrowUp":
        return inRow(at - 1, seat);
      case "ArrowDown":
        return inRow(at + 1, seat);
      case "PageUp":
        return inRow(at - PAGE, seat);
      case "PageDown":
        return inRow(at + PAGE, seat);
      case "Home":
        return toTheEnd ? inRow(0, 0) : inRow(at, 0);
      case "End":
        return toTheEnd ? inRow(rows.length - 1, Infinity) : inRow(at, Infinity);
      default:
        return undefined;
    }
  }
}

/** The first of a window of `size` around `at`, within `length`. */
const windowStart = (at, size, length) => Math.max(0, Math.min(at - (size >> 1), length - size));

function unitOf(target) {
  const unit = target.closest?.("[data-unit]")?.dataset.unit;
  return unit === undefined ? undefined : Number(unit);
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}
