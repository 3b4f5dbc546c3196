// The fault strip: what was sold, refused and failed in each stretch of time, with the fault shaded.

const STRIP = 84;

function drawFaults(section, faults) {
  section.append(...faults.map((fault) => {
    const verdict = { valid: { tone: 'good', sign: '✓', text: 'held' }, invalid: { tone: 'bad', sign: '✕', text: 'broke' },
      unknown: { tone: 'unsure', sign: '?', text: 'not decided' } }[fault.verdict];
    const place = el('div', { class: 'strip' });
    whenSized(place, (width) => place.replaceChildren(strip(fault, width)));
    return el('article', { class: 'card fault' },
      el('h3', {}, el('code', {}, fault.strategy), ` · ${words(fault.fault).replace(/^fault /, '')} `, pill(verdict)),
      place, tableOf('As a table', `${fault.strategy}: ${words(fault.fault)}`, ['From', 'Sold', 'Refused', 'Failed'],
        () => fault.bins.map((bin) => [millis(bin.at_ms), bin.won, bin.refused, bin.failed])));
  }));
}

function strip(fault, width) {
  const bins = fault.bins;
  const step = bins.length > 1 ? bins[1].at_ms - bins[0].at_ms : Math.max(1, fault.to_ms - fault.from_ms);
  const end = Math.max(fault.to_ms, (bins.at(-1)?.at_ms ?? 0) + step);
  const [left, right, floor] = [4, 4, STRIP - 18];
  const x = (ms) => left + ((width - left - right) * Math.min(ms, end)) / end;
  // Refusals outnumber sales by far on a hot seat: the square root keeps both in sight.
  const most = Math.sqrt(Math.max(1, ...bins.map((bin) => bin.won + bin.refused + bin.failed)));
  const height = (count) => ((floor - 16) * Math.sqrt(count)) / most;
  const total = (key) => bins.reduce((sum, bin) => sum + bin[key], 0);
  const during = bins.filter((bin) => bin.at_ms + step > fault.from_ms && bin.at_ms < fault.to_ms).reduce((sum, bin) => sum + bin.won, 0);
  const picture = svg('svg', { width, height: STRIP, role: 'img', 'aria-label':
    `${fault.strategy}, ${words(fault.fault)} from ${millis(fault.from_ms)} to ${millis(fault.to_ms)}: ${total('won')} sold, `
    + `${during} of them during the fault, ${total('refused')} refused, ${total('failed')} failed.` });
  picture.append(
    svg('rect', { class: 'window', x: x(fault.from_ms), y: 0, width: Math.max(2, x(fault.to_ms) - x(fault.from_ms)), height: floor }),
    svg('text', { class: 'window-name', x: x(fault.from_ms) + 4, y: 11 }, 'fault'),
    ...bins.flatMap((bin) => stack(bin, x, step, floor, height)),
    svg('line', { class: 'base', x1: left, x2: width - right, y1: floor, y2: floor }),
    svg('text', { class: 'tick', x: left, y: STRIP - 4 }, '0'),
    svg('text', { class: 'tick', x: width - right, y: STRIP - 4, 'text-anchor': 'end' }, millis(end)),
    svg('text', { class: 'tick', x: width / 2, y: STRIP - 4, 'text-anchor': 'middle' },
      `${whole.format(total('won'))} sold (${whole.format(during)} during the fault), ${whole.format(total('failed'))} failed`));
  return picture;
}

/** Sold, refused and failed of one bin, side by side so that each can be compared along the strip. */
function stack(bin, x, step, floor, height) {
  const room = Math.max(1, (x(bin.at_ms + step) - x(bin.at_ms) - 1) / 3);
  return ['won', 'refused', 'failed'].map((key, at) => svg('rect', {
    class: key, x: x(bin.at_ms) + at * room, y: floor - height(bin[key]), width: Math.max(0.5, room - 0.3), height: height(bin[key]),
  })).filter((_, at) => bin[['won', 'refused', 'failed'][at]] > 0);
}
