// The picture of the seats, on a canvas. Three levels: sections with what is free in them, dots, numbered seats. A state is
// told by its shape as well as by its colour: what is free is full, what is held is hollow, what is gone is small.

import { within } from "./seat-layout.js";
import { AVAILABLE, BLOCKED, BOOKED, HELD } from "./seat-model.js";

/** What a seat may look like beyond what the server says of it. */
export const CLAIMING = 4;
export const YOURS = 5;

export const SECTIONS = 0;
export const DOTS = 1;
export const NUMBERS = 2;

/** Pixels a seat from which dots, and then numbers, can be told apart. */
const DOTS_FROM = 4.6;
const NUMBERS_FROM = 13;

export const levelAt = (scale) => (scale < DOTS_FROM ? SECTIONS : scale < NUMBERS_FROM ? DOTS : NUMBERS);
export const LEAST_FOR_NUMBERS = NUMBERS_FROM + 1;
/** Pixels a seat from which a finger hits the one that it means (WCAG 2.2, 2.5.8). */
export const LEAST_FOR_FINGERS = 24;

/** The colours of the page, as they are now: light, dark or forced. */
export function readLook(element) {
  const probe = document.createElement("span");
  probe.className = "map-probe";
  element.append(probe);
  const colour = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const names = ["ground", "plate", "edge", "ink", "quiet", "available", "on-available", "held", "booked", "blocked"];
  const look = Object.fromEntries([...names, "yours", "on-yours", "scene"].map((name) => [name, colour(`--map-${name}`)]));
  look.font = getComputedStyle(element).fontFamily;
  probe.remove();
  return look;
}

export class SeatPainter {
  #base;
  #marks;
  #sprites = null;
  #paths = new Map();
  #usualSize;

  /** `shown(unit)` is how a seat is to look; `dimmed(section)` whether it stands back. */
  constructor({ base, marks, model, layout, shown, dimmed }) {
    this.#base = base;
    this.#marks = marks;
    this.model = model;
    this.layout = layout;
    this.shown = shown;
    this.dimmed = dimmed;
    const sizes = layout.sections.map(labelSizeIn).sort((one, other) => one - other);
    this.#usualSize = sizes[Math.floor(sizes.length / 10)];
    this.view = { x: 0, y: 0, scale: 1 };
    this.size = { width: 0, height: 0 };
  }

  setLook(look) {
    this.look = look;
    this.#sprites = null;
  }

  /** The size in CSS pixels; the canvas has as many of its own as the screen. */
  resize(width, height) {
    this.size = { width, height };
    this.ratio = Math.min(devicePixelRatio || 1, 3);
    for (const canvas of [this.#base, this.#marks]) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(height * this.ratio);
    }
    this.#sprites = null;
  }

  get level() {
    return levelAt(this.view.scale);
  }

  get #scale() {
    return this.view.scale * this.ratio;
  }

  /** Everything. */
  paint() {
    const context = this.#base.getContext("2d", { alpha: false });
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.look.ground;
    context.fillRect(0, 0, this.#base.width, this.#base.height);
    this.#paintScene(context);
    for (const place of this.layout.sections) if (this.#isVisible(place.box)) this.#paintSection(context, place);
  }

  /** Only these sections, over what is there: each paints its own ground first. */
  paintSections(indexes) {
    const context = this.#base.getContext("2d", { alpha: false });
    for (const index of indexes) {
      const place = this.layout.sections[index];
      if (this.#isVisible(place.box)) this.#paintSection(context, place);
    }
  }

  /** Only these seats, each over its own small ground. For what fills no more than that, before and after. */
  paintSeats(units) {
    // Who went farther away meanwhile had everything painted.
    if (this.level === SECTIONS) return;
    const context = this.#base.getContext("2d", { alpha: false });
    const sprites = this.#spritesNow();
    const k = this.#scale;
    for (const unit of units) {
      const row = this.model.rowOf(unit);
      const [x, y] = this.#pixel(this.placeOf(unit));
      if (x < -k || y < -k || x > this.#base.width + k || y > this.#base.height + k) continue;
      context.translate(x, y);
      disc(context, k * 0.5, this.look.plate);
      context.globalAlpha = this.dimmed(this.model.sections[row.section]) ? 0.3 : 1;
      context.drawImage(sprites.of[this.shown(unit)], -sprites.size / 2, -sprites.size / 2);
      this.#setType(context, row);
      if (this.level === NUMBERS) this.#paintNumber(context, row, unit, 0, 0);
      context.globalAlpha = 1;
      context.setTransform(1, 0, 0, 1, 0, 0);
    }
  }

  #isVisible(box) {
    const { x, y, scale } = this.view;
    const [right, bottom] = [x + this.size.width / scale, y + this.size.height / scale];
    return box.right > x && box.left < right && box.bottom > y && box.top < bottom;
  }

  #inWorld(context) {
    const k = this.#scale;
    context.setTransform(k, 0, 0, k, -this.view.x * k, -this.view.y * k);
  }

  #path(place) {
    const known = this.#paths.get(place);
    if (known) return known;
    const path = new Path2D();
    for (const [x, y] of place.outline) path.lineTo(x, y);
    path.closePath();
    this.#paths.set(place, path);
    return path;
  }

  /** One size for the names of all sections, so that none looks more important than another. */
  #labelSize() {
    return Math.min(this.#usualSize * this.#scale, 17 * this.ratio);
  }

  #paintSection(context, place) {
    const { section } = place;
    const sections = this.level === SECTIONS;
    const share = section.seats ? section.free / section.seats : 0;
    this.#inWorld(context);
    context.fillStyle = sections ? this.#shade(section, share) : this.look.plate;
    context.fill(this.#path(place));
    context.lineWidth = 1 / this.view.scale;
    context.strokeStyle = this.look.edge;
    context.stroke(this.#path(place));
    context.setTransform(1, 0, 0, 1, 0, 0);
    if (sections) this.#labelSection(context, place, share);
    else this.#paintSeats(context, place);
  }

  /** From the plate (nothing free) to the colour of what is free; the least that is free can be told from nothing. */
  #shade(section, share) {
    const strength = share === 0 ? 0 : 0.14 + 0.86 * share;
    return mix(this.look.plate, this.look.available, this.dimmed(section) ? strength * 0.22 : strength);
  }

  #labelSection(context, place, share) {
    const { section } = place;
    const size = this.#labelSize();
    if (size < 6.5 * this.ratio) return;
    const [x, y] = this.#pixel(place.middle);
    const { ink, "on-available": onAvailable } = this.look;
    context.fillStyle = readable(this.#shade(section, share), [ink, onAvailable, "rgb(0 0 0)", "rgb(255 255 255)"]);
    context.textAlign = "center";
    context.textBaseline = "middle";
    const percent = section.free === 0 ? "sold out" : `${Math.max(1, Math.floor(share * 100))} %`;
    const twoLines = size > 8 * this.ratio;
    context.font = `650 ${size}px ${this.look.font}`;
    const name = fitted(context, section.name, lineRoomIn(place, size / this.#scale) * this.#scale);
    context.fillText(name, x, twoLines ? y - size * 0.52 : y);
    if (!twoLines) return;
    context.font = `450 ${size * 0.82}px ${this.look.font}`;
    context.fillText(percent, x, y + size * 0.6);
  }

  #pixel([x, y]) {
    return [(x - this.view.x) * this.#scale, (y - this.view.y) * this.#scale];
  }

  #paintSeats(context, place) {
    const places = place.seats();
    const { section } = place;
    const sprites = this.#spritesNow();
    const [k, half] = [this.#scale, sprites.size / 2];
    const [left, top] = [this.view.x * k + half, this.view.y * k + half];
    const [right, bottom] = [this.#base.width + half, this.#base.height + half];
    context.globalAlpha = this.dimmed(section) ? 0.3 : 1;
    for (let at = 0; at < section.seats; at += 1) {
      const x = places[2 * at] * k - left;
      const y = places[2 * at + 1] * k - top;
      if (x < -sprites.size || y < -sprites.size || x > right || y > bottom) continue;
      context.drawImage(sprites.of[this.shown(section.first + at)], x, y);
    }
    if (this.level === NUMBERS) this.#paintNumbers(context, place, places);
    context.globalAlpha = 1;
  }

  #paintNumbers(context, place, places) {
    const k = this.#scale;
    const { section } = place;
    section.rows.forEach((row, index) => {
      this.#setType(context, row);
      for (let unit = row.first; unit < row.first + row.seats; unit += 1) {
        const at = 2 * (unit - section.first);
        const x = (places[at] - this.view.x) * k;
        const y = (places[at + 1] - this.view.y) * k;
        if (x >= 0 && y >= 0 && x <= this.#base.width && y <= this.#base.height) this.#paintNumber(context, row, unit, x, y);
      }
      context.fillStyle = this.look.quiet;
      const label = row.name.startsWith(section.name) ? row.name.slice(section.name.length) || row.name : row.name;
      context.font = `600 ${k * 0.44}px ${this.look.font}`;
      for (const side of [-1, 1]) {
        const [x, y] = this.#pixel(place.rowEnd(index, side));
        context.fillText(fitted(context, label, k * 1.1), x, y);
      }
    });
  }

  #paintNumber(context, row, unit, x, y) {
    const colour = this.#numberColour(this.shown(unit));
    if (!colour) return;
    context.fillStyle = colour;
    context.fillText(unit - row.first + 1, x, y + this.#scale * 0.024);
  }

  /** The type of the numbers in a row: three digits are set smaller. */
  #setType(context, row) {
    context.font = `600 ${this.#scale * (row.seats > 99 ? 0.32 : 0.4)}px ${this.look.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
  }

  #numberColour(state) {
    if (state === AVAILABLE) return this.look["on-available"];
    return state === HELD || state === CLAIMING ? this.look.ink : null;
  }

  /** One small picture for each way a seat may look, made anew when the size changes. */
  #spritesNow() {
    const size = Math.max(2, Math.ceil(this.#scale * 1.04));
    if (this.#sprites?.size === size) return this.#sprites;
    const sprite = (draw) => {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = size;
      const context = canvas.getContext("2d");
      context.translate(size / 2, size / 2);
      draw(context, this.#scale);
      return canvas;
    };
    const of = [];
    of[AVAILABLE] = sprite((context, k) => disc(context, k * 0.42, this.look.available));
    of[HELD] = sprite((context, k) => ring(context, k * 0.35, Math.max(1, k * 0.1), this.look.held));
    of[BOOKED] = sprite((context, k) => disc(context, k * 0.22, this.look.booked));
    of[BLOCKED] = sprite((context, k) => cross(context, k * 0.19, Math.max(1, k * 0.1), this.look.blocked));
    of[CLAIMING] = sprite((context, k) => {
      disc(context, k * 0.42, mix(this.look.plate, this.look.yours, 0.25));
      ring(context, k * 0.38, Math.max(1.2, k * 0.12), this.look.yours, 1.5 * Math.PI);
    });
    of[YOURS] = sprite((context, k) => yours(context, k, this.look));
    this.#sprites = { size, of };
    return this.#sprites;
  }

  #paintScene(context) {
    const { stage, pitch } = this.layout;
    this.#inWorld(context);
    context.fillStyle = this.look.scene;
    context.strokeStyle = this.look.edge;
    context.lineWidth = 1 / this.view.scale;
    if (stage) this.#paintStage(context, stage);
    if (pitch) this.#paintPitch(context, pitch);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  #paintStage(context, stage) {
    context.beginPath();
    context.moveTo(stage.left, stage.top);
    context.lineTo(stage.right, stage.top);
    context.quadraticCurveTo(stage.right, stage.bottom - 0.6, stage.right * 0.82, stage.bottom);
    context.quadraticCurveTo(0, stage.bottom + 1.4, stage.left * 0.82, stage.bottom);
    context.quadraticCurveTo(stage.left, stage.bottom - 0.6, stage.left, stage.top);
    context.fill();
    context.stroke();
    context.setTransform(1, 0, 0, 1, 0, 0);
    const size = Math.min(this.#scale * 1.1, 17 * this.ratio);
    const [x, y] = this.#pixel([0, (stage.top + stage.bottom) / 2 + 0.3]);
    context.fillStyle = this.look.quiet;
    context.font = `600 ${size}px ${this.look.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.letterSpacing = `${size * 0.12}px`;
    context.fillText("STAGE", x, y);
    context.letterSpacing = "0px";
  }

  #paintPitch(context, { half, radius }) {
    const [width, height] = [2 * (half + radius * 0.62), 2 * radius * 0.78];
    context.beginPath();
    context.roundRect(-width / 2, -height / 2, width, height, radius * 0.06);
    context.fill();
    context.stroke();
    context.strokeStyle = this.look.edge;
    context.beginPath();
    context.moveTo(0, -height / 2);
    context.lineTo(0, height / 2);
    context.moveTo(height * 0.16, 0);
    context.arc(0, 0, height * 0.16, 0, 2 * Math.PI);
    for (const side of [-1, 1]) {
      const [w, h] = [width * 0.13, height * 0.52];
      context.rect(side < 0 ? -width / 2 : width / 2 - w, -h / 2, w, h);
    }
    context.stroke();
  }

  /** What is pointed at, has the keyboard, or is offered instead: over the seats, so that nothing under it is repainted. */
  paintMarks({ section, units = [], focus, offered = [] }) {
    const context = this.#marks.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.#marks.width, this.#marks.height);
    if (section && this.level === SECTIONS) {
      this.#inWorld(context);
      context.lineWidth = 2.5 / this.view.scale;
      context.strokeStyle = this.look.ink;
      context.stroke(this.#path(this.layout.sections[section.index]));
      context.setTransform(1, 0, 0, 1, 0, 0);
    }
    if (this.level === SECTIONS) return;
    if (this.level === DOTS) this.#nameSections(context);
    const mark = (unit, radius, width, colour, dash = []) => {
      const [x, y] = this.#pixel(this.placeOf(unit));
      context.setLineDash(dash.map((length) => length * this.#scale));
      context.beginPath();
      context.arc(x, y, radius * this.#scale, 0, 2 * Math.PI);
      context.lineWidth = Math.max(2 * this.ratio, width * this.#scale);
      context.strokeStyle = colour;
      context.stroke();
    };
    offered.forEach((unit) => mark(unit, 0.5, 0.12, this.look.yours, [0.3, 0.18]));
    units.forEach((unit) => mark(unit, 0.48, 0.1, this.look.ink));
    if (focus !== undefined) {
      mark(focus, 0.54, 0.16, this.look.ground);
      mark(focus, 0.54, 0.1, this.look.ink);
    }
    context.setLineDash([]);
    if (this.level === NUMBERS) this.#pinRows(context);
  }

  /**
   * A row whose left end is out of the picture has its name at the edge, so that a number never stands alone. Where there is
   * no room for all of them, as along the top of a stand that is turned, some do without.
   */
  #pinRows(context) {
    const pinned = [];
    const size = 12 * this.ratio;
    context.font = `650 ${size}px ${this.look.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const place of this.layout.sections.filter(({ box }) => this.#isVisible(box))) {
      const places = place.seats();
      place.section.rows.forEach((row, index) => {
        const ends = [-1, 1].map((side) => this.#pixel(place.rowEnd(index, side)));
        // Around a pitch some rows begin on the right.
        const turned = ends[1][0] < ends[0][0];
        if (!this.#isInside(...ends[turned ? 1 : 0])) this.#pinRow(context, place, places, row, turned, pinned);
      });
    }
  }

  #pinRow(context, { section }, places, row, turned, pinned) {
    const seat = (at) => {
      const unit = (turned ? row.first + row.seats - 1 - at : row.first + at) - section.first;
      return this.#pixel([places[2 * unit], places[2 * unit + 1]]);
    };
    let first = 0;
    while (first < row.seats && !this.#isInside(...seat(first))) first += 1;
    if (first === row.seats) return;
    // Beside the first seat in the picture, towards those that are not.
    const [x, y] = seat(first);
    const [bx, by] = seat(Math.max(0, first - 1));
    const away = Math.hypot(bx - x, by - y) || 1;
    const [half, high] = [context.measureText(row.name).width / 2 + 5 * this.ratio, 10 * this.ratio];
    const reach = Math.min(1, (this.#scale * 0.85) / away);
    const cx = between(half + 2 * this.ratio, x + (bx - x) * reach, this.#marks.width - half - 2 * this.ratio);
    const cy = between(high + 2 * this.ratio, y + (by - y) * reach, this.#marks.height - high - 2 * this.ratio);
    const overlaps = (other) => Math.abs(cx - other.cx) < half + other.half && Math.abs(cy - other.cy) < high + other.high;
    if (pinned.some(overlaps)) return;
    pinned.push({ cx, cy, half, high });
    context.beginPath();
    context.roundRect(cx - half, cy - high, 2 * half, 2 * high, 5 * this.ratio);
    context.fillStyle = this.look.ground;
    context.fill();
    context.lineWidth = this.ratio;
    context.strokeStyle = this.look.edge;
    context.stroke();
    context.fillStyle = this.look.ink;
    context.fillText(row.name, cx, cy + this.ratio);
  }

  #isInside(x, y) {
    return x >= 0 && y >= 0 && x <= this.#base.width && y <= this.#base.height;
  }

  /** Where seats have no names yet, their sections keep theirs. */
  #nameSections(context) {
    const size = 13 * this.ratio;
    context.font = `650 ${size}px ${this.look.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = size * 0.5;
    for (const place of this.layout.sections.filter(({ box }) => this.#isVisible(box))) {
      const [x, y] = this.#pixel(place.middle);
      const name = fitted(context, place.section.name, (place.box.right - place.box.left) * this.#scale);
      context.strokeStyle = this.look.plate;
      context.strokeText(name, x, y);
      context.fillStyle = this.look.ink;
      context.fillText(name, x, y);
    }
  }

  placeOf(unit) {
    const { index, first } = this.model.sectionOf(unit);
    const places = this.layout.sections[index].seats();
    return [places[2 * (unit - first)], places[2 * (unit - first) + 1]];
  }

  /** Where a seat is in the picture, in CSS pixels. */
  pointOf(unit) {
    return this.#pixel(this.placeOf(unit)).map((at) => at / this.ratio);
  }

  /** Where the pixel lies in the plan. */
  worldAt(x, y) {
    return [this.view.x + x / this.view.scale, this.view.y + y / this.view.scale];
  }

  sectionAt(x, y) {
    const [wx, wy] = this.worldAt(x, y);
    return this.layout.sections.find(({ box, outline }) => {
      const near = wx >= box.left && wx <= box.right && wy >= box.top && wy <= box.bottom;
      return near && within(outline, wx, wy);
    })?.section;
  }

  /** The seat under the pixel, if one is near enough. */
  seatAt(x, y) {
    const section = this.sectionAt(x, y);
    if (!section) return undefined;
    const [wx, wy] = this.worldAt(x, y);
    const places = this.layout.sections[section.index].seats();
    let [nearest, least] = [undefined, 0.62];
    for (let at = 0; at < section.seats; at += 1) {
      const distance = (places[2 * at] - wx) ** 2 + (places[2 * at + 1] - wy) ** 2;
      if (distance < least) [nearest, least] = [section.first + at, distance];
    }
    return nearest;
  }
}

// A section's label is a name above a percentage. In sizes of its letters it reaches so far from the middle:
const LABEL = { across: 1.4, down: 1.05 };

/** The largest letters whose label lies within the section, however the section is turned. */
const labelSizeIn = (place) => largest(place, (size) => [LABEL.across * size, LABEL.down * size]);

/** How long a line may be beside the middle of the section, in letters of that size. */
const lineRoomIn = (place, size) => 2 * largest(place, (reach) => [reach, LABEL.down * size]);

/** The largest number for which a box that reaches so far from the section's middle lies within its outline. */
function largest({ outline, middle: [x, y], box }, reachOf) {
  const fits = (number) => {
    const [across, down] = reachOf(number);
    return [-across, across].every((dx) => [-down, down].every((dy) => within(outline, x + dx, y + dy)));
  };
  let [least, most] = [0, Math.max(box.right - box.left, box.bottom - box.top)];
  for (let round = 0; round < 12; round += 1) {
    const between = (least + most) / 2;
    if (fits(between)) least = between;
    else most = between;
  }
  return least;
}

const between = (least, wanted, most) => Math.max(least, Math.min(wanted, most));

function disc(context, radius, colour) {
  context.beginPath();
  context.arc(0, 0, radius, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
}

function ring(context, radius, width, colour, turn = 2 * Math.PI) {
  context.beginPath();
  context.arc(0, 0, radius, -Math.PI / 2, turn - Math.PI / 2);
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke();
}

function cross(context, reach, width, colour) {
  context.beginPath();
  for (const side of [-1, 1]) {
    context.moveTo(-reach, -reach * side);
    context.lineTo(reach, reach * side);
  }
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke();
}

/** A square with a tick: nothing else on the map has corners. */
function yours(context, k, look) {
  const side = k * 0.9;
  context.beginPath();
  context.roundRect(-side / 2, -side / 2, side, side, k * 0.2);
  context.fillStyle = look.yours;
  context.fill();
  if (k < 7) return;
  context.beginPath();
  context.moveTo(-k * 0.2, k * 0.02);
  context.lineTo(-k * 0.05, k * 0.18);
  context.lineTo(k * 0.22, -k * 0.16);
  context.lineWidth = k * 0.12;
  context.lineCap = "round";
  context.lineJoin = "round";
  context.strokeStyle = look["on-yours"];
  context.stroke();
}

const channels = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);

/** So much of the second colour in the first. */
function mix(one, other, share) {
  const [from, to] = [channels(one), channels(other)];
  return `rgb(${from.map((channel, at) => Math.round(channel + (to[at] - channel) * share)).join(" ")})`;
}

/** How much light a colour gives, as WCAG counts it. */
function luminance(colour) {
  const [red, green, blue] = channels(colour).map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((one, other) => one - other);
  return (light + 0.05) / (dark + 0.05);
}

/** The first of these colours that can be read on that ground. Black or white always can. */
const readable = (ground, colours) => colours.find((colour) => contrast(colour, ground) >= 4.5);

/** As much of a text as fits. */
function fitted(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let cut = text;
  while (cut.length > 1 && context.measureText(`${cut}…`).width > room) cut = cut.slice(0, -1);
  return cut.length > 1 ? `${cut}…` : cut;
}
