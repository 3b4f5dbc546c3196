// From where the plan is looked at: which part, how near, and how one gets from one view to another. A view is
// `{ x, y, scale }`: the place in the upper left corner, and the pixels of a seat.

import { LEAST_FOR_NUMBERS } from "./seat-paint.js";

const MOST_PX_A_SEAT = 46;
const GLIDE_MS = 260;
/** Room around the plan, and below it for the buttons. */
const EDGE_PX = 12;
const FOOT_PX = 52;

export class SeatCamera {
  #painter;
  #moved;
  #gliding = 0;

  /** `moved` is told after every change, when the picture is painted. */
  constructor(painter, moved) {
    this.#painter = painter;
    this.#moved = moved;
  }

  get view() {
    return this.#painter.view;
  }

  /** The middle of the picture, in pixels. */
  get centre() {
    const { width, height } = this.#painter.size;
    return [width / 2, height / 2];
  }

  get isWhole() {
    return this.view.scale <= this.whole().scale * 1.001;
  }

  get isNearest() {
    return this.view.scale >= MOST_PX_A_SEAT;
  }

  /** All of the plan. */
  whole() {
    return this.#fit(this.#painter.layout.box);
  }

  /** One section, near enough for numbers, or for so many pixels a seat; where the whole plan is that, the whole plan. */
  closeTo(section, least = LEAST_FOR_NUMBERS) {
    const { box, middle } = this.#painter.layout.sections[section.index];
    const views = [this.whole(), this.#fit(box)];
    return views.find(({ scale }) => scale >= least) ?? this.around(middle, least);
  }

  /** A place in the middle. */
  around([x, y], scale) {
    const { width, height } = this.#painter.size;
    return { scale, x: x - width / scale / 2, y: y - height / scale / 2 };
  }

  /** Nearer or farther by a factor, with what is under the pixel staying there. */
  zoomed(factor, [px, py] = this.centre) {
    const { x, y, scale: before } = this.view;
    const scale = Math.min(MOST_PX_A_SEAT, Math.max(this.whole().scale, before * factor));
    return { scale, x: x + px / before - px / scale, y: y + py / before - py / scale };
  }

  /** Shifted by so many pixels. */
  shifted(dx, dy) {
    const { x, y, scale } = this.view;
    return { scale, x: x - dx / scale, y: y - dy / scale };
  }

  /** Whether a place is in the picture, and not at its very edge. */
  sees([wx, wy]) {
    const { x, y, scale } = this.view;
    const { width, height } = this.#painter.size;
    return wx > x + 1 && wy > y + 1 && wx < x + width / scale - 1 && wy < y + height / scale - 1;
  }

  #fit(box) {
    const [width, height] = [this.#painter.size.width, this.#painter.size.height - FOOT_PX];
    const fits = (room, needed) => Math.max(1, room - 2 * EDGE_PX) / needed;
    const scale = Math.min(fits(width, box.right - box.left), fits(height, box.bottom - box.top), MOST_PX_A_SEAT);
    return { scale, x: (box.left + box.right) / 2 - width / scale / 2, y: (box.top + box.bottom) / 2 - height / scale / 2 };
  }

  /** Looks from there at once, but never only at what is beside the plan. */
  look(view) {
    const { box } = this.#painter.layout;
    const { width, height } = this.#painter.size;
    const bounded = (at, low, high, shown) =>
      shown >= high - low ? (low + high - shown) / 2 : Math.min(Math.max(at, low - shown / 4), high - (3 * shown) / 4);
    this.#painter.view = {
      scale: view.scale,
      x: bounded(view.x, box.left, box.right, width / view.scale),
      y: bounded(view.y, box.top, box.bottom + FOOT_PX / view.scale, height / view.scale),
    };
    this.#painter.paint();
    this.#moved();
  }

  /** Goes there, gently unless people ask for less motion. */
  glideTo(view) {
    cancelAnimationFrame(this.#gliding);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.look(view);
    const from = this.view;
    const { width, height } = this.#painter.size;
    const middle = ({ x, y, scale }) => [x + width / scale / 2, y + height / scale / 2];
    const [[ax, ay], [bx, by]] = [middle(from), middle(view)];
    const begun = performance.now();
    const step = (now) => {
      const done = Math.min(1, Math.max(0, (now - begun) / GLIDE_MS));
      const eased = 1 - (1 - done) ** 3;
      const scale = from.scale * (view.scale / from.scale) ** eased;
      this.look(done === 1 ? view : this.around([ax + (bx - ax) * eased, ay + (by - ay) * eased], scale));
      if (done < 1) this.#gliding = requestAnimationFrame(step);
    };
    this.#gliding = requestAnimationFrame(step);
  }

  /** The picture has another size: what was in the middle stays there, and who saw everything still does. */
  resized(resize) {
    const sawAll = this.isWhole;
    const middle = this.#painter.worldAt(...this.centre);
    resize();
    this.look(sawAll ? this.whole() : this.around(middle, this.view.scale));
  }
}
