// Puts the page together from the report's data.

const report = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);

/** Shows a section if there is anything to show in it. */
function section(id, items, draw) {
  if (items.length === 0) return;
  byId(id).hidden = false;
  draw(byId(id), items);
}

/** How well a race tells the story: not too many lanes to see, not too few to believe. */
function story(race) {
  return Math.abs(Math.log(race.buyers / 24)) + (race.scenario.startsWith('one_seat') ? 0 : 10);
}

/** The pair to begin with: one that breaks beside one that holds, over the same course. */
function opening(races) {
  const best = (of, near) => races.filter(of).sort((one, other) => near(one) - near(other) || story(one) - story(other))[0];
  const broken = best((race) => race.violations.length > 0, (race) => (race.strategy === 'naive' ? 0 : isNaive(race) ? 1 : 2))
    ?? best(isNaive, (race) => (race.strategy === 'naive' ? 0 : 1));
  if (!broken) return races.slice(0, 1);
  const order = ['batched', 'writer'];
  const holds = best((race) => race !== broken && !isNaive(race) && race.violations.length === 0, (race) =>
    (race.scenario === broken.scenario ? 0 : 20) + (race.buyers === broken.buyers ? 0 : 5) + ((order.indexOf(race.strategy) + 3) % 3));
  return holds ? [broken, holds] : [broken];
}

/** The story of the races on show, in a line each. */
function headline(chosen) {
  const thing = chosen[0].scenario.startsWith('one_seat') ? 'One seat' : chosen[0].unit;
  const same = chosen.every((race) => race.buyers === chosen[0].buyers);
  byId('headline').replaceChildren(`${thing}. ${same ? `${plural(chosen[0].buyers, 'buyer')}. ` : ''}`, ...chosen.flatMap((race) => [soldLine(race), ' ']));
}

function soldLine(race) {
  const sold = ownersAt(race, endOf(race)).length;
  const times = ['never', 'once', 'twice'][sold] ?? `${whole.format(sold)} times`;
  const tone = race.violations.length ? 'bad' : 'good';
  const name = el('code', {}, race.strategy);
  const saviour = saviourOf(race);
  if (saviour) return el('span', { class: 'good' }, name, ` was saved by ${saviour}.`);
  if (race.violations.length === 0 && isNaive(race)) {
    return el('span', { class: 'unsure' }, name, ' was lucky: no double sale seen, which proves nothing.');
  }
  // A race against a running server is for a hold, which is not sold yet.
  if (race.scenario === 'one_unit') return sold ? el('span', { class: tone }, `${sold === 1 ? 'One' : whole.format(sold)} got it.`) : el('span', { class: 'unsure' }, nobodyLine(race));
  return el('span', { class: tone }, name, ` sold it ${times}.`);
}

function nobodyLine(race) {
  const gone = race.lanes.some((lane) => ['unit_taken', 'sold_out'].includes(lane.words));
  return gone ? 'Nobody got it: it was taken before the race.' : 'Nobody got it.';
}

function lead(chosen) {
  const [first, second] = chosen;
  if (second && first.strategy === 'naive' && !isNaive(second)) {
    return 'naive reads, thinks, then writes: everybody who read in between believes the seat is free. '
      + `${second.strategy} has one committed write that says yes, and everybody else hears no.`;
  }
  return 'Every buyer is a lane, and time runs to the right. Play the race, or step through it with the arrow keys.';
}

function key() {
  const one = (kind, label) => el('li', {}, svg('svg', { width: 22, height: 12, 'aria-hidden': 'true', class: 'lanes-key' }, ...kind), label);
  const bar = (phase) => [svg('rect', { class: phase, y: 1, width: 22, height: 10, rx: 2 })];
  const used = new Set(report.races.flatMap((race) => race.lanes.flatMap((lane) => lane.phases.map((span) => span.phase))));
  const thin = (phase) => [svg('rect', { class: phase, y: 4.5, width: 22, height: 3, rx: 1.5 })];
  const lane = (outcome) => [svg('g', { class: `lane ${outcome}` }, ending({ outcome }, 6, 6, 6))];
  byId('key').append(
    ...Object.keys(PHASES).filter((phase) => used.has(phase)).map((phase) => one(['think', 'wait'].includes(phase) ? thin(phase) : bar(phase), PHASES[phase])),
    one(lane('won'), 'told yes'), one(lane('refused'), 'told no'), one(lane('unknown'), 'no answer'),
    one([svg('rect', { class: 'band', width: 22, height: 12 })], 'sold more than once'),
    el('li', { class: 'keys' }, ...['←', '→', 'space', 'Home', 'End'].flatMap((name) => [el('kbd', {}, name), ' ']), 'move the race'));
}

function facts() {
  const { seed, version, started_at: started, machine, servers, quick } = report;
  const told = [started.slice(0, 16).replace('T', ' '), seed ? `seed ${seed}` : null, machine.cores ? `${plural(machine.cores, 'core')}${machine.cpu ? `, ${machine.cpu}` : ''}` : null,
    servers.postgres ? `PostgreSQL ${servers.postgres}` : null, servers.redis ? `Redis ${servers.redis}` : null, quick ? 'quick run' : null];
  byId('facts').textContent = told.filter(Boolean).join(' · ');
  byId('colophon').textContent = `Holdfast ${version}${machine.os ? `, ${machine.os}` : ''}. Verdicts are read from the recorded history by a checker that shares no code with what it `
    + 'judges. A finding is a rule broken on one unit, counted once however often that unit was sold. A run that found nothing has shown nothing: it says “none seen”. Speeds are of this machine on that day.';
}

/** The worst run of everything that broke, or should have. */
function broken(place, runs) {
  const worst = new Map();
  for (const run of runs) {
    const known = worst.get(run.strategy);
    if (!known || run.violations > known.violations) worst.set(run.strategy, run);
  }
  place.append(el('div', { class: 'cards' }, ...[...worst.values()].map((run) => el('article', { class: `card broken ${run.kind}` },
    el('h3', {}, el('code', {}, run.strategy)), el('p', {}, ...told(verdictOf(run)), ' ', el('small', {}, groupOf(run))),
    run.counterexample.length ? el('ol', { class: 'proof' }, ...run.counterexample.map((line) => el('li', {}, line))) : null))));
}

function skipped(place, items) {
  place.append(el('ul', { class: 'skipped' }, ...items.map(({ strategy, scenario, why }) =>
    el('li', {}, el('code', {}, strategy), ` in ${words(scenario)}: ${why}`))));
}

facts();
let shown = null;
section('replay', report.races, (place, races) => {
  key();
  new Replay(races, opening(races), {
    section: place, pair: byId('pair'), transport: byId('transport'),
    onchoose: (chosen) => {
      shown = chosen[0];
      headline(chosen);
      byId('lead').textContent = lead(chosen);
      byId('pair').classList.toggle('single', chosen.length === 1);
    },
  });
});
section('scoreboard', report.runs, (place, runs) => {
  const like = runs.find((run) => shown && run.scenario === shown.scenario && run.buyers === shown.buyers && run.load === 'closed');
  new Scoreboard(place, runs, like && groupOf(like));
});
section('contention', report.contention, buyersOf(report.contention).length > 1 ? drawContention : drawOneCrowd);
section('faults', report.faults, drawFaults);
section('broken', report.runs.filter((run) => run.kind !== 'strategy'), broken);
section('skipped', report.skipped, skipped);
