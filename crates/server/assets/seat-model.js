// What the seats are and how they stand: the layout's names and numbers, and the states of a snapshot brought forward by
// deltas. Knows nothing of pictures, pages or networks.

export const AVAILABLE = 0;
export const HELD = 1;
export const BOOKED = 2;
export const BLOCKED = 3;

export const STATE_WORDS = ["available", "held", "booked", "not for sale"];

/** The letters of a delta: `a3h12-15,40b7` says 3 is available, 12 to 15 and 40 are held, 7 is booked. */
const LETTERS = { a: AVAILABLE, h: HELD, b: BOOKED, x: BLOCKED };

export class SeatModel {
  constructor(layout, language) {
    this.offer = layout.offer;
    this.seats = layout.seats;
    this.categories = layout.categories;
    this.sections = layout.sections.map((section, index) => asSection(section, index));
    this.rows = this.sections.flatMap((section) => section.rows);
    this.states = new Uint8Array(layout.seats);
    this.version = null;
    const money = new Intl.NumberFormat(language, { style: "currency", currency: layout.currency });
    const minor = 10 ** money.resolvedOptions().maximumFractionDigits;
    this.price = (amount) => money.format(amount / minor);
    const plain = new Intl.NumberFormat(language);
    this.number = (count) => plain.format(count);
  }

  /** Takes a snapshot of all states. */
  reset(status) {
    const packed = atob(status.states);
    for (let unit = 0; unit < this.seats; unit += 1) {
      this.states[unit] = (packed.charCodeAt(unit >> 2) >> ((unit & 3) << 1)) & 3;
    }
    for (const section of this.sections) {
      section.free = 0;
      for (let unit = section.first; unit < section.first + section.seats; unit += 1) {
        if (this.states[unit] === AVAILABLE) section.free += 1;
      }
    }
    this.version = status.version;
  }

  /**
   * Brings the states forward. Says which seats changed; `null` when the delta does not follow what is here, and only a
   * new snapshot helps. A delta says what a seat *is*, so one that reaches back is told again without harm.
   */
  apply({ from, to, d }) {
    if (isNewer(from, this.version) || !sameHistory(to, this.version)) return null;
    if (!isNewer(to, this.version)) return [];
    const changed = [];
    for (const [, letter, ranges] of d.matchAll(/([ahbx])([0-9,-]+)/g)) {
      for (const range of ranges.split(",")) {
        const [first, last = first] = range.split("-").map(Number);
        for (let unit = first; unit <= last && unit < this.seats; unit += 1) this.#set(unit, LETTERS[letter], changed);
      }
    }
    this.version = to;
    return changed;
  }

  #set(unit, state, changed) {
    const before = this.states[unit];
    if (before === state) return;
    this.states[unit] = state;
    if (before === AVAILABLE) this.sectionOf(unit).free -= 1;
    if (state === AVAILABLE) this.sectionOf(unit).free += 1;
    changed.push(unit);
  }

  get free() {
    return this.sections.reduce((sum, section) => sum + section.free, 0);
  }

  /** `150 of 160 seats free`, as the page's head says it. */
  get freeInWords() {
    return `${this.number(this.free)} of ${this.number(this.seats)} ${this.seats === 1 ? "seat" : "seats"} free`;
  }

  rowOf(unit) {
    let [low, high] = [0, this.rows.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.rows[middle].first <= unit) low = middle;
      else high = middle - 1;
    }
    return this.rows[low];
  }

  sectionOf(unit) {
    return this.sections[this.rowOf(unit).section];
  }

  /** `A-12`, as the API names it. */
  key(unit) {
    const row = this.rowOf(unit);
    return `${row.name}-${unit - row.first + 1}`;
  }

  find(key) {
    const dash = key.lastIndexOf("-");
    const row = this.rows.find((row) => row.name === key.slice(0, dash));
    return row && row.first + Number(key.slice(dash + 1)) - 1;
  }

  /** `Row A, seat 12`, as people say it. */
  words(unit) {
    const row = this.rowOf(unit);
    return `Row ${row.name}, seat ${unit - row.first + 1}`;
  }

  /** `Row A, seats 12 and 13`, shortest where all stand in one row. */
  wordsOf(units) {
    if (units.length === 1) return this.words(units[0]);
    const row = this.rowOf(units[0]);
    if (units.some((unit) => this.rowOf(unit) !== row)) return units.map((unit) => this.key(unit)).join(", ");
    const numbers = units.map((unit) => unit - row.first + 1);
    return `Row ${row.name}, seats ${numbers.slice(0, -1).join(", ")} and ${numbers.at(-1)}`;
  }

  /**
   * The seats for a party of so many around one of them: side by side in its row, all free by `isFree`, no aisle between
   * them, the asked one as near to their middle as can be. `null` where so many are not together.
   */
  party(unit, count, isFree) {
    const row = this.rowOf(unit);
    const [low, high] = this.#runAround(unit, row, isFree);
    if (high - low + 1 < count || !isFree(unit)) return null;
    const wanted = unit - (count >> 1);
    const first = Math.max(low, Math.min(wanted, high - count + 1));
    return Array.from({ length: count }, (_, at) => first + at);
  }

  #runAround(unit, row, isFree) {
    const aisleAfter = (seat) => row.gaps.includes(seat - row.first + 1);
    let [low, high] = [unit, unit];
    while (low > row.first && isFree(low - 1) && !aisleAfter(low - 1)) low -= 1;
    while (high < row.first + row.seats - 1 && isFree(high + 1) && !aisleAfter(high)) high += 1;
    return [low, high];
  }
}

/** A plan as an organiser writes it, as the layout and the status that the server would give: all of it free. */
export function asLayout({ sections }, currency = "EUR") {
  let seats = 0;
  const numbered = (row) => {
    seats += row.seats;
    return { ...row, first: seats - row.seats };
  };
  const placed = sections.map((section) => ({ ...section, rows: section.rows.map(numbered) }));
  const categories = [...new Set(sections.map(({ category }) => category))].map((name) => {
    const prices = sections.filter(({ category }) => category === name).map(({ price }) => price);
    return { name, prices: [...new Set(prices)].sort((one, other) => one - other) };
  });
  const states = btoa("\0".repeat(Math.ceil(seats / 4)));
  return [{ currency, seats, categories, sections: placed }, { version: "0.0", states }];
}

function asSection(section, index) {
  const rows = section.rows.map((row) => ({ gaps: [], ...row, section: index }));
  const seats = rows.reduce((sum, row) => sum + row.seats, 0);
  return { ...section, index, rows, first: rows[0]?.first ?? 0, seats, free: 0 };
}

/** Versions are `history.number`. */
const parts = (version) => version.split(".").map(Number);
const sameHistory = (one, other) => parts(one)[0] === parts(other)[0];

export function isNewer(one, other) {
  const [[history, number], [otherHistory, otherNumber]] = [parts(one), parts(other)];
  return history === otherHistory ? number > otherNumber : history > otherHistory;
}
