// Where the seats lie. The unit of length is the width of a seat.
//
// Every section is bent by one function `at(along, back)`: so far along its rows from their middle, so far back from its
// front row. Seats, outlines and labels all come from it, so a block that is straight, fanned around a stage or wrapped
// around the end of a stadium is the same block.
//
// Organisers may draw a plan (`x`, `y`, `angle`, `curve`, `gaps`); where not every section has a place, a few sections
// become a hall before a stage and many become rings around a pitch.

const ROW_PITCH = 1.18;
/** Room around the seats of a section, for its edge and the names of its rows. */
const MARGIN = 1.5;
const BACK_MARGIN = 0.75;
const AISLE = 1;
/** Between sections side by side, and between one tier or ring and the next. */
const BETWEEN = 0.5;
const BEHIND = 2;
/** More sections than this are a stadium. */
const HALL_SECTIONS = 12;

/** Lays a model out: `{ kind, sections, box, centre }`, each section with `outline`, `box`, `middle` and `seats()`. */
export function layOut(model) {
  const blocks = model.sections.map(asBlock);
  const drawn = blocks.every(({ section }) => section.x !== undefined && section.y !== undefined);
  const place = drawn ? asDrawn : blocks.length <= HALL_SECTIONS ? asHall : asStadium;
  const scene = place(blocks);
  const sections = blocks.map(finish);
  return { ...scene, sections, box: boxOf([...sections.map((section) => section.box), ...(scene.boxes ?? [])]) };
}

/** A section's measures, before anyone knows where it lies. */
function asBlock(section) {
  const widths = section.rows.map((row) => row.seats + row.gaps.length * AISLE);
  const width = Math.max(1, ...widths);
  return { section, widths, width, depth: Math.max(0, section.rows.length - 1) * ROW_PITCH, at: null };
}

const outerWidth = (block) => block.width - 1 + 2 * MARGIN;
const outerDepth = (block) => block.depth + 2 * BACK_MARGIN;

// ── As the organiser drew it ───────────────────────────────────────────────────────────────────────────────────────

function asDrawn(blocks) {
  for (const block of blocks) {
    const { x, y, angle = 0, curve = 0 } = block.section;
    const bend = arc(block.width, curve);
    const turn = (angle * Math.PI) / 180;
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    block.at = (along, back) => {
      const [u, v] = bend(along, back);
      return [x + u * cos - v * sin, y + u * sin + v * cos];
    };
  }
  return { kind: "drawn" };
}

/** Rows bent around a point before them so that the front row spans so many degrees. */
function arc(width, degrees) {
  if (degrees === 0) return (along, back) => [along, back];
  const radius = (width * 180) / (degrees * Math.PI);
  return (along, back) => {
    const reach = radius + back;
    const angle = along / reach;
    return [reach * Math.sin(angle), reach * Math.cos(angle) - radius];
  };
}

// ── A hall before a stage ──────────────────────────────────────────────────────────────────────────────────────────

/** The widest that a tier may reach around the stage. */
const HALL_ARC = 1.15;
const STAGE_ROOM = 4.5;

function asHall(blocks) {
  const tiers = inTiers(blocks);
  let back = 0;
  let radius = 9;
  for (const tier of tiers) {
    tier.back = back;
    tier.width = tier.blocks.reduce((sum, block) => sum + outerWidth(block) + BETWEEN, -BETWEEN);
    radius = Math.max(radius, tier.width / HALL_ARC - back);
    back += Math.max(...tier.blocks.map(outerDepth)) + BEHIND;
  }
  for (const tier of tiers) {
    let left = -tier.width / 2;
    for (const block of tier.blocks) {
      const middle = left + outerWidth(block) / 2;
      left += outerWidth(block) + BETWEEN;
      block.at = (along, depth) => {
        const reach = radius + tier.back + depth;
        const angle = (middle + along) / reach;
        return [reach * Math.sin(angle), reach * Math.cos(angle) - radius];
      };
    }
  }
  const half = Math.min(tiers[0].width * 0.36, 16);
  const stage = { left: -half, right: half, top: -STAGE_ROOM - 2, bottom: -STAGE_ROOM + 0.6 };
  return { kind: "hall", stage, boxes: [stage] };
}

/** Neighbours of one category and as many rows lie side by side; whatever differs lies behind. */
function inTiers(blocks) {
  const tiers = [];
  for (const block of blocks) {
    const last = tiers.at(-1)?.blocks[0];
    const beside =
      last &&
      last.section.category === block.section.category &&
      last.section.rows.length === block.section.rows.length &&
      tiers.at(-1).blocks.length < 5;
    if (beside) tiers.at(-1).blocks.push(block);
    else tiers.push({ blocks: [block] });
  }
  return tiers;
}

// ── Rings around a pitch ───────────────────────────────────────────────────────────────────────────────────────────

/** The straight sides of the pitch, as a multiple of the radius of its ends. */
const STRAIGHT = 1.5;
const FEWEST_IN_RING = 14;

function asStadium(blocks) {
  const rings = inRings(blocks);
  let out = 0;
  let radius = 14;
  for (const ring of rings) {
    ring.out = out;
    ring.needs = ring.blocks.reduce((sum, block) => sum + outerWidth(block) + BETWEEN, 0);
    radius = Math.max(radius, (ring.needs - 2 * Math.PI * out) / (2 * STRAIGHT + 2 * Math.PI));
    out += Math.max(...ring.blocks.map(outerDepth)) + BEHIND;
  }
  for (const ring of rings) placeRing(ring, radius);
  const pitch = { half: (STRAIGHT * radius) / 2, radius: radius - 4 };
  return { kind: "stadium", pitch };
}

/** A ring for each category in its turn; a category of very many becomes several, fuller the farther out they lie. */
function inRings(blocks) {
  const groups = [];
  for (const block of blocks) {
    if (groups.at(-1)?.[0].section.category === block.section.category) groups.at(-1).push(block);
    else groups.push([block]);
  }
  return groups.flatMap(split).map((group) => ({ blocks: group }));
}

function split(group) {
  const width = group.reduce((sum, block) => sum + outerWidth(block) + BETWEEN, 0) / group.length;
  const depth = Math.max(...group.map(outerDepth)) + BEHIND;
  // So many more fit into each ring than into the one inside it.
  const more = (2 * Math.PI * depth) / width;
  const innermost = (rings) => (group.length - (more * rings * (rings - 1)) / 2) / rings;
  let rings = 1;
  while (group.length > 40 && innermost(rings + 1) >= FEWEST_IN_RING) rings += 1;
  const parts = [];
  let taken = 0;
  for (let ring = 0; ring < rings; ring += 1) {
    const count = ring === rings - 1 ? group.length - taken : Math.round(innermost(rings) + more * ring);
    parts.push(group.slice(taken, taken + count));
    taken += count;
  }
  return parts.filter((part) => part.length > 0);
}

function placeRing(ring, radius) {
  const path = oval(STRAIGHT * radius, radius + ring.out);
  const spread = path.length / ring.needs;
  const stretch = Math.min(spread, 1.12);
  let start = -((outerWidth(ring.blocks[0]) + BETWEEN) * spread) / 2;
  for (const block of ring.blocks) {
    const middle = start + ((outerWidth(block) + BETWEEN) * spread) / 2;
    start += (outerWidth(block) + BETWEEN) * spread;
    // Seat 1 is to the left of those who sit and look at the pitch, which from above is against the clock.
    block.at = (along, back) => path.at(middle - along * stretch, back);
  }
}

/** Two straight sides and two half circles; `at(length, out)` walks clockwise from the middle of the upper side. */
function oval(straight, radius) {
  const bend = Math.PI * radius;
  const length = 2 * (straight + bend);
  const half = straight / 2;
  return {
    length,
    at(walked, out) {
      const s = ((walked % length) + length) % length;
      const reach = radius + out;
      if (s < half) return [s, -reach];
      if (s < half + bend) {
        const angle = (s - half) / radius;
        return [half + reach * Math.sin(angle), -reach * Math.cos(angle)];
      }
      if (s < half + bend + straight) return [half - (s - half - bend), reach];
      if (s < half + 2 * bend + straight) {
        const angle = (s - half - bend - straight) / radius;
        return [-half - reach * Math.sin(angle), reach * Math.cos(angle)];
      }
      return [s - length, -reach];
    },
  };
}

// ── What comes of it ───────────────────────────────────────────────────────────────────────────────────────────────

function finish(block) {
  const outline = outlineOf(block);
  let seats;
  return {
    section: block.section,
    outline,
    box: boxOfPoints(outline),
    middle: block.at(0, block.depth / 2),
    /** The places of its seats, x and y by turns, worked out when first looked at. */
    seats: () => (seats ??= seatsOf(block)),
    /** The place beside a row's first or last seat, for its name. */
    rowEnd: (row, side) => block.at(side * (block.widths[row] / 2 + 0.4), row * ROW_PITCH),
  };
}

function seatsOf({ section, widths, at }) {
  const places = new Float32Array(section.seats * 2);
  let next = 0;
  section.rows.forEach((row, index) => {
    let along = -(widths[index] - 1) / 2;
    for (let seat = 1; seat <= row.seats; seat += 1) {
      const [x, y] = at(along, index * ROW_PITCH);
      places[next] = x;
      places[next + 1] = y;
      next += 2;
      along += row.gaps.includes(seat) ? 1 + AISLE : 1;
    }
  });
  return places;
}

/** Around the seats with some room: along the front, down one side row by row, along the back, up the other. */
function outlineOf({ widths, depth, at }) {
  const half = (row) => (widths[row] - 1) / 2 + MARGIN;
  const last = widths.length - 1;
  const points = [];
  const walk = (from, to, back) => {
    const steps = Math.max(2, Math.min(48, Math.ceil(Math.abs(to - from) / 1.5)));
    for (let step = 0; step <= steps; step += 1) points.push(at(from + ((to - from) * step) / steps, back));
  };
  walk(-half(0), half(0), -BACK_MARGIN);
  for (let row = 1; row < last; row += 1) if (half(row) !== half(row - 1)) points.push(at(half(row), row * ROW_PITCH));
  walk(half(last), -half(last), depth + BACK_MARGIN);
  for (let row = last - 1; row > 0; row -= 1) if (half(row) !== half(row + 1)) points.push(at(-half(row), row * ROW_PITCH));
  return points;
}

function boxOfPoints(points) {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const [x, y] of points) {
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
  }
  return box;
}

export function boxOf(boxes) {
  return {
    left: Math.min(...boxes.map((box) => box.left)),
    right: Math.max(...boxes.map((box) => box.right)),
    top: Math.min(...boxes.map((box) => box.top)),
    bottom: Math.max(...boxes.map((box) => box.bottom)),
  };
}

/** Whether a point lies within an outline. */
export function within(outline, x, y) {
  let inside = false;
  for (let at = 0, before = outline.length - 1; at < outline.length; before = at, at += 1) {
    const [ax, ay] = outline[at];
    const [bx, by] = outline[before];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}
