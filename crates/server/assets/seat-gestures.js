// Fingers, wheels and mice over the map, as what they mean: move by so much, zoom around a point, a tap, pointing at.

const DRAG_FROM_PX = 6;
const WHEEL_SPEED = 0.0016;

/**
 * `canZoom(factor)` says whether zooming would change anything, `isMeant()` whether the map is what the visitor is at: a
 * wheel that only passes over it scrolls the page, and `unmeant()` hears of it.
 */
export function onGestures(canvas, { move, zoom, tap, point, canZoom, isMeant, unmeant }) {
  const fingers = new Map();
  let dragging = false;

  const place = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    fingers.set(event.pointerId, { at: place(event), from: place(event) });
    canvas.setPointerCapture(event.pointerId);
    dragging = fingers.size > 1;
  });

  canvas.addEventListener("pointermove", (event) => {
    const at = place(event);
    const finger = fingers.get(event.pointerId);
    if (!finger) return point(event.pointerType === "mouse" ? at : undefined);
    const before = [...fingers.values()].map(({ at }) => at);
    dragging ||= Math.hypot(at[0] - finger.from[0], at[1] - finger.from[1]) > DRAG_FROM_PX;
    if (!dragging) return;
    finger.at = at;
    const now = [...fingers.values()].map(({ at }) => at);
    const [from, to] = [middle(before), middle(now)];
    move(to[0] - from[0], to[1] - from[1]);
    if (now.length === 2) zoom(span(now) / Math.max(1, span(before)), to);
  });

  const lift = (event) => {
    const finger = fingers.get(event.pointerId);
    if (!finger) return;
    fingers.delete(event.pointerId);
    if (event.type === "pointerup" && !dragging) tap(finger.at, event.pointerType);
    // The finger that stays must not become a tap when it is lifted.
    if (fingers.size === 0) dragging = false;
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => point(undefined));

  canvas.addEventListener(
    "wheel",
    (event) => {
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const factor = Math.exp(-event.deltaY * lines * WHEEL_SPEED * (event.ctrlKey ? 4 : 1));
      if (!canZoom(factor)) return;
      if (!event.ctrlKey && !event.metaKey && !isMeant()) return unmeant();
      event.preventDefault();
      zoom(factor, place(event));
    },
    { passive: false },
  );
}

const middle = (points) => [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);
const span = ([one, other]) => Math.hypot(one[0] - other[0], one[1] - other[1]);
