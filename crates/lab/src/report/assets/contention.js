// Goodput against contention: a line a strategy, or a bar where there was one crowd only. Buyers on a logarithmic axis, because the question is what ten times
// as many do. Lines differ by colour, dashes and marks; pressing a name brings its line to the front.

const COLOURS = 8;
const DASHES = ['', '7 4', '2 4'];

function drawContention(section, points) {
  const names = [...new Set(points.map((point) => point.strategy))];
  const lines = names.map((name, at) => ({
    name, at, points: points.filter((point) => point.strategy === name).sort((one, other) => one.buyers - other.buyers),
  }));
  const place = el('div', { class: 'chart' });
  const chosen = new Set();
  const refresh = () => place.querySelectorAll('[data-line]').forEach((line) => {
    line.classList.toggle('dim', chosen.size > 0 && !chosen.has(line.dataset.line));
  });
  const legend = el('div', { class: 'legend', role: 'group', 'aria-label': 'Strategies brought to the front' }, ...lines.map((line) => {
    const button = el('button', { type: 'button', 'aria-pressed': 'false', onclick: () => {
      if (!chosen.delete(line.name)) chosen.add(line.name);
      button.setAttribute('aria-pressed', String(chosen.has(line.name)));
      refresh();
    } }, svg('svg', { width: 26, height: 10, 'aria-hidden': 'true', class: `series s${line.at % COLOURS}` },
      svg('line', { x1: 0, x2: 26, y1: 5, y2: 5, 'stroke-dasharray': dashOf(line) }), mark(line, 13, 5)), line.name);
    return button;
  }));
  section.append(el('div', { class: 'card' }, place, legend, tableOf('As a table', 'Goodput a second by number of buyers',
    ['Strategy', ...buyersOf(points).map((count) => plural(count, 'buyer'))], () => contentionRows(lines, buyersOf(points)))));
  whenSized(place, (width) => { place.replaceChildren(contentionChart(lines, points, width)); refresh(); });
}

/** With one number of buyers there is no line to draw: a bar a strategy, the fastest on top. */
function drawOneCrowd(section, points) {
  const crowd = plural(points[0].buyers, 'buyer');
  section.querySelector('.lead').textContent =
    `Bookings a second while ${crowd} want the same thing. Higher is better; with several numbers in --buyers this shows what more of them do.`;
  const fastest = [...points].sort((one, other) => other.goodput_per_s - one.goodput_per_s);
  const place = el('div', { class: 'chart' });
  section.append(el('div', { class: 'card' }, place, tableOf('As a table', `Goodput a second with ${crowd}`,
    ['Strategy', crowd], () => fastest.map((point) => [point.strategy, figure(point.goodput_per_s)]))));
  whenSized(place, (width) => place.replaceChildren(crowdBars(fastest, crowd, width)));
}

function crowdBars(fastest, crowd, width) {
  const [row, names, figures] = [24, width > 520 ? 110 : 88, 48];
  const most = Math.max(1e-9, ...fastest.map((point) => point.goodput_per_s));
  const long = (value) => (Math.max(0, width - names - figures) * value) / most;
  const picture = svg('svg', { width, height: fastest.length * row, role: 'img', 'aria-label':
    `Goodput a second of ${fastest.length} strategies with ${crowd}; ${fastest[0].strategy} has the most. The table below has the figures.` });
  picture.append(...fastest.flatMap(({ strategy, goodput_per_s: goodput }, at) => [
    svg('text', { class: 'name', x: names - 8, y: at * row + 16, 'text-anchor': 'end' }, strategy),
    svg('rect', { class: 'bar', x: names, y: at * row + 5, width: Math.max(1, long(goodput)), height: row - 10, rx: 2 }),
    svg('text', { class: 'tick', x: names + long(goodput) + 6, y: at * row + 16 }, short.format(goodput)),
  ]));
  return picture;
}

function buyersOf(points) {
  return [...new Set(points.map((point) => point.buyers))].sort((one, other) => one - other);
}

function contentionRows(lines, buyers) {
  return lines.map(({ name, points }) => [name, ...buyers.map((count) =>
    figure(points.find((point) => point.buyers === count)?.goodput_per_s))]);
}

function dashOf({ at }) {
  return DASHES[Math.floor(at / COLOURS) % DASHES.length];
}

function mark({ at }, x, y) {
  const r = 3.2;
  const shapes = [
    () => svg('circle', { cx: x, cy: y, r }),
    () => svg('rect', { x: x - r, y: y - r, width: 2 * r, height: 2 * r }),
    () => svg('path', { d: `M${x} ${y - r - 1}L${x + r + 1} ${y}L${x} ${y + r + 1}L${x - r - 1} ${y}Z` }),
    () => svg('path', { d: `M${x} ${y - r - 1}L${x + r + 1} ${y + r}L${x - r - 1} ${y + r}Z` }),
  ];
  return shapes[at % shapes.length]();
}

function contentionChart(lines, points, width) {
  const box = { left: 48, right: width > 520 ? 110 : 76, top: 14, bottom: 40, height: width > 520 ? 380 : 320 };
  const buyers = buyersOf(points);
  const [least, most] = [Math.log(buyers[0]), Math.log(buyers.at(-1))];
  const x = (count) => box.left + ((width - box.left - box.right) * (Math.log(count) - least)) / Math.max(1e-9, most - least);
  const goodputs = points.map((point) => point.goodput_per_s);
  const top = Math.max(...goodputs) * 1.05;
  const floor = Math.max(top / 1e5, Math.min(...goodputs.filter((value) => value > 0)) * 0.8);
  // Strategies differ by orders of magnitude more often than not; then only a logarithm shows them all.
  const steep = top / floor > 30;
  const share = (value) => (steep ? Math.log(Math.max(value, floor) / floor) / Math.log(top / floor) : value / top);
  const y = (value) => box.height - box.bottom - (box.height - box.top - box.bottom) * share(value);
  const marks = steep ? decades(floor, top) : ticks(top, 5);
  const picture = svg('svg', { width, height: box.height, role: 'img',
    'aria-label': `Goodput a second of ${lines.length} strategies, from ${buyers[0]} to ${buyers.at(-1)} buyers; the table below has the figures.` });
  picture.append(
    svg('g', { class: 'axis' },
      ...marks.flatMap((value) => [
        svg('line', { x1: box.left, x2: width - box.right, y1: y(value), y2: y(value) }),
        svg('text', { x: box.left - 8, y: y(value) + 4, 'text-anchor': 'end' }, short.format(value))]),
      ...buyers.flatMap((count) => [
        svg('line', { x1: x(count), x2: x(count), y1: box.top, y2: box.height - box.bottom }),
        svg('text', { x: x(count), y: box.height - box.bottom + 18, 'text-anchor': 'middle' }, whole.format(count))]),
      svg('text', { x: box.left, y: box.height - 4 }, `buyers on one thing (log)${steep ? '; bookings a second (log)' : '; bookings a second'}`)),
    ...lines.map((line) => series(line, x, y)),
    ...labels(lines, y, width - box.right + 10, box));
  return picture;
}

function decades(floor, top) {
  const values = [];
  for (let power = Math.ceil(Math.log10(floor)); 10 ** power <= top; power += 1) values.push(10 ** power);
  return values;
}

function series(line, x, y) {
  const path = line.points.map((point, at) => `${at ? 'L' : 'M'}${x(point.buyers)} ${y(point.goodput_per_s)}`).join('');
  return svg('g', { class: `series s${line.at % COLOURS}`, 'data-line': line.name },
    svg('path', { class: 'line', d: path, 'stroke-dasharray': dashOf(line) }),
    ...line.points.map((point) => {
      const shape = mark(line, x(point.buyers), y(point.goodput_per_s));
      shape.append(svg('title', {}, `${line.name}, ${plural(point.buyers, 'buyer')}: ${whole.format(point.goodput_per_s)}/s`));
      return shape;
    }));
}

/** Names at the lines' ends, pushed apart where lines end together. */
function labels(lines, y, left, box) {
  const room = 14;
  const wanted = lines.map((line) => ({ line, at: y(line.points.at(-1).goodput_per_s) })).sort((one, other) => one.at - other.at);
  wanted.forEach((label, at) => { if (at) label.at = Math.max(label.at, wanted[at - 1].at + room); });
  const over = wanted.length ? wanted.at(-1).at - (box.height - box.bottom) : 0;
  if (over > 0) {
    wanted.at(-1).at -= over;
    for (let at = wanted.length - 2; at >= 0; at -= 1) wanted[at].at = Math.min(wanted[at].at, wanted[at + 1].at - room);
  }
  return wanted.map(({ line, at }) => svg('text', { class: `series-name s${line.at % COLOURS}`, 'data-line': line.name, x: left, y: at + 4 }, line.name));
}
