// Words, numbers and elements: what every picture needs. Text is only ever set as text, never as markup, because
// names in a report come from outside.

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element with attributes and children; a string child is text. */
function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** Microseconds for people. */
function time(us) {
  if (us < 1000) return `${Math.round(us)} µs`;
  return millis(us / 1000);
}

function millis(ms) {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms >= 100) return `${whole.format(ms)} ms`;
  return `${ms.toFixed(ms >= 10 ? 1 : 2)} ms`;
}

/** A measured value, or a dash that says it was not measured. */
function figure(value, show = short.format) {
  return value === null || value === undefined ? '–' : show(value);
}

function plural(count, one, many = `${one}s`) {
  return `${whole.format(count)} ${count === 1 ? one : many}`;
}

/** `one_seat` is `one seat` to a reader. */
function words(name) {
  return name.replaceAll('_', ' ');
}

/** Round values for an axis, about `wanted` of them. */
function ticks(most, wanted) {
  const rough = most / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const values = [];
  for (let value = 0; value <= most * 1.0001; value += step) values.push(value);
  return values;
}

/** Draws again whenever the element's width changes; a hidden one waits until it is seen. */
function whenSized(element, draw) {
  let last = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width > 0 && width !== last) draw((last = width));
  }).observe(element);
}

/** A table behind a fold: the same figures as the picture above it. Filled when it is first opened. */
function tableOf(summary, caption, head, rows) {
  const fold = el('details', { class: 'fold' }, el('summary', {}, summary));
  fold.addEventListener('toggle', () => {
    if (fold.open && fold.childElementCount === 1) fold.append(scrolling(caption, plainTable(caption, head, rows())));
  });
  return fold;
}

function plainTable(caption, head, rows) {
  const cells = (row) => row.map((cell, at) => el(at ? 'td' : 'th', at ? {} : { scope: 'row' }, String(cell)));
  return el('table', { class: 'plain' },
    el('caption', {}, caption),
    el('thead', {}, el('tr', {}, ...head.map((name) => el('th', { scope: 'col' }, name)))),
    el('tbody', {}, ...rows.map((row) => el('tr', {}, ...cells(row)))));
}

/** What may be wider than the screen scrolls by itself, by keyboard too. */
function scrolling(label, ...children) {
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, ...children);
}

/** What the checker's word on a run amounts to. A naive run that found nothing has shown nothing. */
function verdictOf({ kind, verdict, violations, saved_by: savedBy }) {
  if (verdict === 'invalid' || violations > 0) {
    return { tone: 'bad', sign: '✕', text: violations > 0 ? plural(violations, 'finding') : 'broke' };
  }
  if (verdict === 'unknown') return { tone: 'unsure', sign: '?', text: 'not decided' };
  if (savedBy) return { tone: 'saved', sign: '■', text: 'saved', note: `by ${savedBy}` };
  if (kind !== 'strategy') return { tone: 'unsure', sign: '–', text: 'none seen' };
  return { tone: 'good', sign: '✓', text: 'held' };
}

function pill({ tone, sign, text }) {
  return el('span', { class: `pill ${tone}` }, el('span', { 'aria-hidden': 'true' }, `${sign} `), text);
}

/** The pill with what is to be said beside it. */
function told(verdict) {
  return [pill(verdict), verdict.note ? el('small', { class: 'beside' }, ` ${verdict.note}`) : null];
}

const ICONS = {
  start: 'M5 5v14M19 5l-10 7 10 7z',
  back: 'M16 5l-10 7 10 7z',
  play: 'M8 4l12 8-12 8z',
  pause: 'M8 5v14M16 5v14',
  on: 'M8 5l10 7-10 7z',
  end: 'M19 5v14M5 5l10 7-10 7z',
};

/** A sign drawn by ourselves: fonts differ in which they have. */
function icon(name) {
  return svg('svg', { class: 'icon', viewBox: '0 0 24 24', width: 18, height: 18, 'aria-hidden': 'true' }, svg('path', { d: ICONS[name] }));
}
