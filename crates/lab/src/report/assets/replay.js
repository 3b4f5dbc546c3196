// The replay: up to two races side by side under one playhead. Buttons, a slider and the keyboard move it; each step is
// one event, told in words.

/** At speed 1 the longer of the two races takes about this long. */
const WHOLE_MS = 9000;
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
/** Beyond this ratio a common axis would squeeze the shorter race into nothing. */
const COMMON_AXIS = 4;

class Replay {
  constructor(races, chosen, parts) {
    this.races = races;
    this.chosen = chosen;
    this.parts = parts;
    this.speed = 1;
    this.playing = null;
    this.panels = chosen.map((_, side) => this.panel(side));
    parts.pair.append(...this.panels.map((panel) => panel.card));
    parts.transport.append(...this.controls());
    parts.section.addEventListener('keydown', (event) => this.key(event));
    this.choose();
  }

  /** A race's card: which one, its verdict, how many own the unit now, the lanes. */
  panel(side) {
    const picker = el('select', { 'aria-label': `Race shown ${['first', 'second'][side]}`, onchange: () => {
      this.chosen[side] = this.races[picker.selectedIndex];
      this.choose();
    } }, ...this.races.map((race) => el('option', {}, nameOf(race, this.races))));
    const panel = {
      picker,
      lanes: el('race-lanes'),
      verdict: el('p', { class: 'verdict' }),
      count: el('p', { class: 'count' }),
      table: el('div'),
      said: el('p', { class: 'said' }),
    };
    const head = this.races.length > 1 ? picker : el('h2', { class: 'race-name' }, nameOf(this.races[0], this.races));
    panel.card = el('article', { class: 'card race' },
      el('div', { class: 'race-head' }, head, panel.count, panel.verdict), panel.lanes, panel.said, panel.table);
    return panel;
  }

  controls() {
    const button = (label, sign, act, extra = {}) =>
      el('button', { type: 'button', 'aria-label': label, title: label, onclick: act, ...extra }, icon(sign));
    this.play = button('Play', 'play', () => this.toggle(), { class: 'play' });
    this.slider = el('input', { type: 'range', min: 0, max: 1000, value: 1000, 'aria-label': 'Time', class: 'scrub',
      oninput: () => { this.pause(); this.move((this.end * this.slider.value) / 1000); } });
    this.clock = el('output', { class: 'clock', 'aria-live': 'off' });
    this.voice = el('p', { class: 'voice', role: 'status' });
    const speed = el('select', { 'aria-label': 'Speed', onchange: () => { this.speed = SPEEDS[speed.selectedIndex]; } },
      ...SPEEDS.map((each) => el('option', { selected: each === 1 }, `${each}×`)));
    return [
      el('div', { class: 'buttons', role: 'group', 'aria-label': 'Replay' },
        button('To the start', 'start', () => this.jump(0)),
        button('One step back', 'back', () => this.step(-1)),
        this.play,
        button('One step on', 'on', () => this.step(1)),
        button('To the end', 'end', () => this.jump(this.end))),
      this.slider, this.clock, speed, this.voice,
    ];
  }

  /** Shows the chosen races, whole: the picture should say something before anything is pressed. */
  choose() {
    this.pause();
    const ends = this.chosen.map(endOf);
    this.end = Math.max(...ends);
    const common = this.end / Math.min(...ends) <= COMMON_AXIS;
    this.steps = this.chosen.flatMap((race) => eventsOf(race).map((event) => ({ ...event, race })))
      .sort((one, other) => one.at - other.at);
    this.panels.forEach((panel, side) => {
      const race = this.chosen[side];
      panel.picker.selectedIndex = this.races.indexOf(race);
      panel.lanes.show(race, (common ? this.end : ends[side]) * 1.04);
      panel.verdict.replaceChildren(pill(raceVerdict(race)));
      panel.said.textContent = saidOf(race);
      panel.table.replaceChildren(lanesTable(race));
    });
    this.parts.onchoose(this.chosen);
    this.at = this.end;
    this.reached = this.steps.length;
    this.draw();
    this.voice.textContent = '';
  }

  draw() {
    this.panels.forEach((panel, side) => {
      panel.lanes.at = this.at >= this.end ? Infinity : this.at;
      counted(panel.count, this.chosen[side], this.at);
    });
    this.slider.value = Math.round((1000 * this.at) / this.end);
    this.slider.setAttribute('aria-valuetext', `${time(this.at)} of ${time(this.end)}`);
    this.clock.textContent = time(this.at);
  }

  /** To a moment, by slider, playing or jumping: the next step is the first one after it. */
  move(at) {
    this.at = Math.max(0, Math.min(this.end, at));
    const next = this.steps.findIndex((event) => event.at > this.at);
    this.reached = next < 0 ? this.steps.length : next;
    this.draw();
  }

  jump(at) {
    this.pause();
    this.move(at);
    this.say();
  }

  /** One event on or back. Events of the same microsecond are steps of their own. */
  step(by) {
    this.pause();
    this.reached = Math.max(0, Math.min(this.steps.length, this.reached + by));
    this.at = this.reached === 0 ? 0 : this.steps[this.reached - 1].at;
    this.draw();
    this.say();
  }

  say() {
    const event = this.steps[this.reached - 1];
    const who = event && this.chosen.length > 1 ? `${event.race.strategy}: ` : '';
    this.voice.textContent = event ? `${time(event.at)} · ${who}${event.text}` : 'The start: nobody has asked yet.';
    this.voice.dataset.outcome = event?.outcome ?? '';
  }

  toggle() {
    if (this.playing) return this.pause();
    if (this.at >= this.end) this.move(0);
    let last = performance.now();
    const frame = (now) => {
      this.move(this.at + ((now - last) * this.speed * this.end) / WHOLE_MS);
      last = now;
      // Words that flicker by help nobody; wrong things are worth stopping the eye for.
      if (this.steps[this.reached - 1]?.outcome === 'violation') this.say();
      if (this.at >= this.end) this.pause();
      else this.playing = requestAnimationFrame(frame);
    };
    this.playing = requestAnimationFrame(frame);
    this.play.replaceChildren(icon('pause'));
    this.play.setAttribute('aria-label', 'Pause');
  }

  pause() {
    cancelAnimationFrame(this.playing);
    this.playing = null;
    this.play.replaceChildren(icon('play'));
    this.play.setAttribute('aria-label', 'Play');
  }

  key(event) {
    if (event.target.matches('select, summary, .scroll') || event.altKey || event.ctrlKey || event.metaKey) return;
    const far = event.shiftKey ? 10 : 1;
    const acts = {
      ArrowRight: () => this.step(far),
      ArrowLeft: () => this.step(-far),
      Home: () => this.jump(0),
      End: () => this.jump(this.end),
      ' ': () => this.toggle(),
    };
    // A button that has the focus is pressed by space; that is not for us.
    if (!acts[event.key] || (event.key === ' ' && event.target.matches('button, a'))) return;
    event.preventDefault();
    acts[event.key]();
  }
}

/** Races are told apart by as much as differs between them. */
function nameOf(race, races) {
  const parts = [race.strategy, words(race.scenario), plural(race.buyers, 'buyer')];
  const alike = races.filter((other) => other.strategy === race.strategy && other.scenario === race.scenario && other.buyers === race.buyers);
  if (alike.length > 1) parts.push(`seed ${race.seed}`);
  return parts.join(' · ');
}

function isNaive(race) {
  return race.strategy.startsWith('naive');
}

/** Who refused the double sale that this way of selling would have made; in a few words. */
function saviourOf(race) {
  const run = report.runs.find((run) => run.strategy === race.strategy && run.scenario === race.scenario && run.saved_by);
  return run?.saved_by.split(',')[0];
}

function raceVerdict(race) {
  if (race.violations.length > 0) return { tone: 'bad', sign: '✕', text: wrongOf(race) };
  if (race.lanes.some((lane) => lane.outcome === 'unknown')) return { tone: 'unsure', sign: '?', text: 'not every answer is known' };
  const saviour = saviourOf(race);
  if (saviour) return { tone: 'saved', sign: '■', text: 'saved', note: `by ${saviour}` };
  if (isNaive(race)) return { tone: 'unsure', sign: '–', text: 'none seen' };
  return { tone: 'good', sign: '✓', text: race.owners.length === 1 ? 'one owner' : 'held' };
}

/** The figure of the picture: how many were told that it is theirs. */
function counted(place, race, at) {
  const now = ownersAt(race, at).length;
  place.classList.toggle('bad', now > 1 && race.violations.length > 0);
  place.classList.toggle('none', now === 0);
  place.replaceChildren(el('b', {}, whole.format(now)), now === 1 ? ' owner' : ' owners');
}

function saidOf(race) {
  const of = (outcome) => race.lanes.filter((lane) => lane.outcome === outcome).length;
  const left = race.buyers - race.lanes.length;
  const shown = left > 0 ? ` ${plural(left, 'more lane is', 'more lanes are')} not drawn.` : '';
  const found = race.violations.length ? ` ${race.violations[0].words.replace(/\.$/, '')}.` : '';
  const silent = of('unknown') ? `, ${whole.format(of('unknown'))} nothing` : '';
  return `${plural(of('won'), 'buyer')} heard yes, ${whole.format(of('refused'))} no${silent}, all within ${time(endOf(race))}.${found}${shown}`;
}

function lanesTable(race) {
  const head = ['Buyer', 'Outcome', 'From', 'To', 'What it did', 'What it heard'];
  const doing = (lane) => lane.phases.map((span) => `${PHASES[span.phase]} ${time(span.start_us)}–${time(span.end_us)}`).join(', ');
  const rows = () => race.lanes.map((lane) => [lane.buyer, lane.outcome, time(lane.start_us), time(lane.end_us), doing(lane), lane.words]);
  return tableOf('As a table', `The race on ${race.strategy}, lane by lane`, head, rows);
}
