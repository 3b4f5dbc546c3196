// The scoreboard: one row a strategy, sortable by any column, one scenario at a time or all.

const COLUMNS = [
  { key: 'won', head: 'Won', show: whole.format },
  { key: 'refused', head: 'Refused', show: whole.format },
  { key: 'unknown', head: 'Unknown', show: whole.format },
  { key: 'violations', head: 'Findings', show: whole.format, bad: true },
  { key: 'false_refusals', head: 'False refusals', show: whole.format, bad: true },
  { key: 'goodput_per_s', head: 'Goodput /s', show: short.format, bar: true },
  { key: 'p50_ms', head: 'p50', show: millis },
  { key: 'p95_ms', head: 'p95', show: millis },
  { key: 'p99_ms', head: 'p99', show: millis },
  { key: 'p999_ms', head: 'p99.9', show: millis },
  { key: 'attempts_per_success', head: 'Attempts / success', show: short.format },
  { key: 'round_trips_per_booking', head: 'Round trips / booking', show: short.format },
  { key: 'fsyncs_per_booking', head: 'Fsyncs / booking', show: short.format },
  { key: 'cpu_ms_per_booking', head: 'CPU / booking', show: millis },
];

/** More of these is better, so that is how they are first sorted. */
const MORE_IS_BETTER = ['goodput_per_s', 'won'];
const KIND_ORDER = { strategy: 0, naive: 1, mistake: 2 };

class Scoreboard {
  constructor(section, runs, wanted) {
    this.runs = runs;
    this.groups = [...new Set(runs.map(groupOf))];
    this.group = this.groups.find((name) => name === wanted) ?? this.groups[0];
    this.sort = { key: null, down: false };
    this.picker = el('select', { id: 'scenario', onchange: () => { this.group = this.groups[this.picker.selectedIndex] ?? null; this.draw(); } },
      ...this.groups.map((name) => el('option', { selected: name === this.group }, name)), el('option', {}, 'all of them'));
    this.place = el('div');
    section.append(el('p', { class: 'pick' }, el('label', { for: 'scenario' }, 'Scenario'), this.picker), this.place);
    this.draw();
  }

  draw() {
    const runs = this.ordered(this.runs.filter((run) => this.group === null || groupOf(run) === this.group));
    // A column that nobody measured here says nothing.
    const columns = COLUMNS.filter(({ key }) => runs.some((run) => run[key] !== null && run[key] !== undefined));
    const most = Math.max(1e-9, ...runs.map((run) => run.goodput_per_s));
    const caption = `${this.group ?? 'All scenarios'}; ${plural(runs.length, 'run')}`;
    const heads = [this.head('strategy', 'Strategy'), this.head('verdict', 'Verdict'), ...columns.map(({ key, head }) => this.head(key, head))];
    const table = el('table', { class: 'scores' }, el('caption', {}, caption), el('thead', {}, el('tr', {}, ...heads)),
      el('tbody', {}, ...runs.map((run) => this.row(run, columns, most))));
    this.place.replaceChildren(scrolling('Scoreboard', table));
  }

  ordered(runs) {
    const { key, down } = this.sort;
    const usual = (one, other) => KIND_ORDER[one.kind] - KIND_ORDER[other.kind] || other.goodput_per_s - one.goodput_per_s;
    if (!key) return runs.sort(usual);
    const value = (run) => (key === 'verdict' ? verdictOf(run).text : run[key]);
    return runs.sort((one, other) => {
      const [a, b] = [value(one), value(other)];
      // What was not measured is last, whichever way one sorts.
      if (a === null || b === null) return (a === null) - (b === null);
      return (typeof a === 'number' ? a - b : String(a).localeCompare(String(b))) * (down ? -1 : 1) || usual(one, other);
    });
  }

  head(key, label) {
    const mine = this.sort.key === key;
    const press = () => {
      this.sort = { key, down: mine ? !this.sort.down : MORE_IS_BETTER.includes(key) };
      this.draw();
      this.place.querySelector(`[data-key="${key}"]`).focus();
    };
    const sign = el('span', { 'aria-hidden': 'true', class: 'arrow' }, mine ? (this.sort.down ? ' ↓' : ' ↑') : '');
    return el('th', { scope: 'col', 'aria-sort': mine ? (this.sort.down ? 'descending' : 'ascending') : null },
      el('button', { type: 'button', 'data-key': key, onclick: press }, label, sign));
  }

  row(run, columns, most) {
    const name = el('th', { scope: 'row' }, el('code', {}, run.strategy), run.kind === 'mistake' ? el('small', {}, ' mistake') : null,
      this.group === null ? el('small', { class: 'group' }, groupOf(run)) : null);
    return el('tr', { class: run.kind }, name, el('td', { class: 'verdict-cell' }, ...told(verdictOf(run))), ...columns.map((column) => cell(run, column, most)));
  }
}

function cell(run, { key, show, bad, bar }, most) {
  const value = run[key];
  const td = el('td', { class: `number${bad && value > 0 ? ' wrong' : ''}` }, figure(value, show));
  if (bar) td.append(svg('svg', { class: 'meter', viewBox: '0 0 100 4', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { width: Math.max(0.5, (100 * value) / most), height: 4 })));
  return td;
}

function groupOf(run) {
  const load = run.load === 'open' ? ` · open loop${run.rate_per_s ? ` at ${whole.format(run.rate_per_s)}/s` : ''}` : '';
  return `${words(run.scenario)} · ${plural(run.buyers, 'buyer')}${load}`;
}
