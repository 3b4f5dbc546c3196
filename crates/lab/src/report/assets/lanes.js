// <race-lanes>: one race, a lane a buyer, time from left to right, and below it who owned the unit. What lies after
// the playhead is only a ghost. The element draws; `replay.js` moves the playhead.

const PHASES = {
  wait: 'waits',
  read: 'reads',
  think: 'thinks',
  write: 'writes',
  commit: 'commits',
  ask: 'asks',
};
const OUTCOMES = { won: 'won', refused: 'was refused', unknown: 'got no answer' };

/** Owners beyond these are counted, not drawn. */
const OWNER_ROWS = 5;
const OWNER_HEIGHT = 12;
/** Above the lanes, for the band's name; below them, for the time. */
const TOP = 22;
const AXIS = 20;
/** The lanes of one picture share about this many pixels. */
const LANES_HEIGHT = 320;

/** When the last thing in a race happened. */
function endOf(race) {
  const ends = [...race.lanes.map((lane) => lane.end_us), ...race.violations.map((found) => found.from_us)];
  return Math.max(1, ...ends);
}

/** How many own the unit at a moment. */
function ownersAt(race, at) {
  return race.owners.filter((owner) => owner.from_us <= at && (owner.to_us === null || owner.to_us > at));
}

/** What went wrong, by its name: a unit that seven people own was sold seven times. */
function wrongOf(race) {
  const [first] = race.violations;
  // The checker names as few as it takes to prove it; the owners are all there were.
  const holders = Math.max(first.holders.length, ownersAt(race, endOf(race)).length);
  if (first.kind === 'double_sale') return holders > 2 ? `sold ${whole.format(holders)} times` : 'sold twice';
  if (first.kind === 'stolen_hold') return `given to ${whole.format(holders)}`;
  return words(first.kind);
}

/** Everything that happens in a race, in order, in words. */
function eventsOf(race) {
  const events = [];
  for (const lane of race.lanes) {
    for (const span of lane.phases) {
      events.push({ at: span.start_us, text: `${lane.buyer} ${PHASES[span.phase]}` });
    }
    const heard = lane.words ? `: ${lane.words}` : '';
    events.push({ at: lane.end_us, text: `${lane.buyer} ${OUTCOMES[lane.outcome]}${heard}`, outcome: lane.outcome });
  }
  for (const found of race.violations) {
    events.push({ at: found.from_us, text: `${words(found.kind)}: ${found.words}`, outcome: 'violation' });
  }
  return events.sort((one, other) => one.at - other.at);
}

let pictures = 0;

class RaceLanes extends HTMLElement {
  #race;
  #span = 1;
  #at = Infinity;
  #parts = {};

  connectedCallback() {
    whenSized(this, (width) => this.#draw(width));
  }

  /** Shows a race on an axis of `span` microseconds. */
  show(race, span) {
    this.#race = race;
    this.#span = span;
    if (this.clientWidth) this.#draw(Math.floor(this.clientWidth));
  }

  /** Moves the playhead. */
  set at(us) {
    this.#at = us;
    this.#place();
  }

  #draw(width) {
    const race = this.#race;
    if (!race) return;
    // In the order of their endings, so that winners of a broken race lie side by side.
    const lanes = [...race.lanes].sort((one, other) => rank(one) - rank(other) || one.end_us - other.end_us);
    const lane = Math.min(18, Math.max(3, Math.floor(LANES_HEIGHT / Math.max(1, lanes.length))));
    const named = lane >= 12 && width > 420;
    const box = { left: named ? 76 : 8, right: 22, lane, width };
    const x = (us) => box.left + ((width - box.left - box.right) * Math.min(us, this.#span)) / this.#span;
    const bottom = TOP + lanes.length * lane;
    const owners = ownerRows(race);
    const height = bottom + AXIS + 24 + Math.max(1, Math.min(owners.length, OWNER_ROWS + 1)) * OWNER_HEIGHT;
    const id = `race-${(pictures += 1)}`;
    const future = svg('g', { id: `${id}-all` },
      ...lanes.map((each, at) => laneOf(each, at, x, box)),
      ...ownersOf(race, owners, x, bottom + AXIS + 22, this.#span));
    const clip = svg('rect', { x: 0, y: 0, width, height });
    const head = svg('line', { class: 'head', y1: TOP - 6, y2: height });
    const picture = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': summaryOf(race) },
      svg('defs', {}, hatch(id), svg('clipPath', { id: `${id}-past` }, clip)),
      axis(x, this.#span, bottom, width),
      svg('g', { class: 'bands' }),
      ...(named ? lanes.map((each, at) => nameAt(each, at, box)) : []),
      svg('g', { class: 'ghost' }, future),
      svg('g', { 'clip-path': `url(#${id}-past)` }, svg('use', { href: `#${id}-all` })),
      svg('text', { class: 'label', x: box.left, y: bottom + AXIS + 15 }, `Owners of ${race.unit}`),
      furtherOwners(owners, x, bottom + AXIS + 22),
      head);
    this.replaceChildren(picture);
    this.#parts = { x, head, clip, bands: picture.querySelector('.bands'), id, bottom, width };
    this.#place();
  }

  #place() {
    const { x, head, clip, bands, id, bottom, width } = this.#parts;
    if (!x) return;
    const at = Math.min(this.#at, this.#span);
    const done = this.#at >= endOf(this.#race);
    head.setAttribute('transform', `translate(${x(at)} 0)`);
    head.classList.toggle('done', done);
    clip.setAttribute('width', done ? width : x(at));
    bands.replaceChildren(...bandOf(this.#race, this.#at, this.#span, x, bottom, id));
  }
}
customElements.define('race-lanes', RaceLanes);

/** Winners on top, then those who never heard, then the rest. */
function rank(lane) {
  return { won: 0, unknown: 1, refused: 2 }[lane.outcome];
}

function laneOf(lane, at, x, box) {
  const top = TOP + at * box.lane;
  const gap = box.lane >= 8 ? 2 : box.lane >= 5 ? 1 : 0.5;
  const group = svg('g', { class: `lane ${lane.outcome}` }, svg('title', {}, `${lane.buyer} ${OUTCOMES[lane.outcome]}. ${lane.words}`));
  // What no phase covers was spent on the way.
  const line = Math.max(0.6, box.lane * 0.12);
  group.append(svg('rect', { class: 'wait', x: x(lane.start_us), y: top + (box.lane - gap - line) / 2, width: Math.max(1, x(lane.end_us) - x(lane.start_us)), height: line }));
  for (const span of lane.phases) {
    // Thinking and waiting are thin: they are the gap in which others act.
    const thin = span.phase === 'think' || span.phase === 'wait';
    const height = thin ? Math.max(1, box.lane * 0.25) : box.lane - gap;
    const y = thin ? top + (box.lane - gap - height) / 2 : top;
    const width = Math.max(1, x(span.end_us) - x(span.start_us));
    group.append(svg('rect', { class: span.phase, x: x(span.start_us), y, width, height, rx: Math.min(2, height / 2) }));
  }
  group.append(ending(lane, x(lane.end_us) + 2, top + (box.lane - gap) / 2, Math.min(6, box.lane / 2)));
  return group;
}

function nameAt(lane, at, box) {
  const y = TOP + at * box.lane + box.lane / 2 + 3;
  return svg('text', { class: `name ${lane.outcome}`, x: box.left - 8, y, 'text-anchor': 'end' }, brief(lane.buyer));
}

function brief(name) {
  return name.length > 11 ? `${name.slice(0, 10)}…` : name;
}

/** How a lane ends, told by shape as well as by colour. */
function ending(lane, x, y, size) {
  const s = Math.max(1.5, size * 0.8);
  if (lane.outcome === 'won') return svg('circle', { class: 'end', cx: x + s, cy: y, r: s });
  const path = lane.outcome === 'refused'
    ? `M${x} ${y - s * 0.7}L${x + s * 1.4} ${y + s * 0.7}M${x + s * 1.4} ${y - s * 0.7}L${x} ${y + s * 0.7}`
    : `M${x} ${y}L${x + s} ${y - s}L${x + s * 2} ${y}L${x + s} ${y + s}Z`;
  return svg('path', { class: 'end', d: path });
}

/** Owners packed into rows so that no two in a row overlap: a second row is a second owner. */
function ownerRows(race) {
  const rows = [];
  for (const owner of [...race.owners].sort((one, other) => one.from_us - other.from_us)) {
    const row = rows.find((held) => held.at(-1).to_us !== null && held.at(-1).to_us <= owner.from_us);
    if (row) row.push(owner);
    else rows.push([owner]);
  }
  return rows;
}

function ownersOf(race, rows, x, top, span) {
  if (rows.length === 0) return [svg('text', { class: 'label quiet', x: x(0), y: top + 9 }, 'nobody')];
  return rows.slice(0, OWNER_ROWS).flatMap((row, at) => row.map((owner) => {
    const from = x(owner.from_us);
    const width = Math.max(2, x(owner.to_us ?? span) - from);
    const y = top + at * OWNER_HEIGHT;
    return svg('g', { class: at ? 'owner second' : 'owner' },
      svg('title', {}, `${owner.holder} from ${time(owner.from_us)}${owner.to_us === null ? '' : ` to ${time(owner.to_us)}`}`),
      svg('rect', { x: from, y, width, height: OWNER_HEIGHT - 2, rx: 2 }),
      width > 60 ? svg('text', { x: from + 5, y: y + OWNER_HEIGHT - 4 }, brief(owner.holder)) : null);
  }));
}

function furtherOwners(rows, x, top) {
  const more = rows.length - OWNER_ROWS;
  return more > 0 ? svg('text', { class: 'label', x: x(0), y: top + OWNER_ROWS * OWNER_HEIGHT + 10 }, `and ${more} more at the same time`) : null;
}

/** The red band: from the moment something was wrong to the playhead or its end. The worst comes first; what else was
 * found often follows from it. */
function bandOf(race, at, span, x, bottom, id) {
  const begun = race.violations.filter((found) => found.from_us <= at && found.kind === race.violations[0].kind);
  if (begun.length === 0) return [];
  const from = Math.min(...begun.map((found) => found.from_us));
  const to = Math.min(at, span, Math.max(...begun.map((found) => Math.max(found.to_us, found.from_us))));
  const band = { x: x(from), y: TOP - 6, width: Math.max(3, x(to) - x(from)), height: bottom - TOP + 8 };
  const label = wrongOf(race);
  const onLeft = band.x > x(0) + 110;
  return [
    svg('rect', { class: 'band', ...band }),
    svg('rect', { class: 'band-lines', fill: `url(#${id}-hatch)`, ...band }),
    svg('line', { class: 'band-edge', x1: band.x, x2: band.x, y1: 4, y2: bottom + 2 }),
    svg('text', { class: 'band-label', x: onLeft ? band.x - 6 : band.x + 6, y: 13, 'text-anchor': onLeft ? 'end' : 'start' }, label.toUpperCase()),
  ];
}

function hatch(id) {
  return svg('pattern', { id: `${id}-hatch`, width: 7, height: 7, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    svg('line', { class: 'hatch', x1: 0, y1: 0, x2: 0, y2: 7 }));
}

function axis(x, span, bottom, width) {
  const marks = ticks(span, width > 420 ? 5 : 3).slice(0, -1);
  return svg('g', { class: 'axis' }, ...marks.flatMap((us) => [
    svg('line', { x1: x(us), x2: x(us), y1: TOP - 4, y2: bottom + 4 }),
    svg('text', { x: x(us), y: bottom + 15, 'text-anchor': us ? 'middle' : 'start' }, us ? time(us).replace(/\.0+ /, ' ') : '0'),
  ]));
}

/** The race in a sentence, for those who do not see it. */
function summaryOf(race) {
  const of = (outcome) => race.lanes.filter((lane) => lane.outcome === outcome).length;
  const found = race.violations.length ? race.violations.map((each) => each.words).join('; ') : 'no violation seen';
  return `${race.strategy}: ${plural(race.buyers, 'buyer')} want ${race.unit}; ${of('won')} won, ${of('refused')} refused, `
    + `${of('unknown')} without an answer; ${found}.`;
}
