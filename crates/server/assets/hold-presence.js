// Leaving shortens a hold, it does not cut it: as the page that shows it goes away the server is told, and keeps the hold
// for a little while. A page that is there says so, and the hold has its own time again. Going on to another page of the
// shop is not leaving.

/** When a page says that it is there. Twice: the last word of a page may overtake the first one of the next, and any may be lost. */
const STILL_HERE_MS = [1_000, 10_000];
/** A page that goes within this time of a click goes where the click led. */
const GOING_ON_MS = 10_000;

const NOTHING = new URLSearchParams();

/** Tells the server that this page shows the hold. Whatever becomes of that, the page goes on. */
export const comeBack = (hold) => fetch(`/holds/${hold}/return`, { method: "POST", body: NOTHING }).catch(() => {});

/** Tells the server of this page's going and coming, until `signal` says otherwise. A `fresh` hold cannot have been left. */
export function attend(hold, { signal, fresh = false }) {
  const stillHere = () => STILL_HERE_MS.forEach((ms) => setTimeout(() => signal.aborted || comeBack(hold), ms));
  // Other tabs with the same hold hear of it when one of them goes.
  const tabs = new BroadcastChannel(`holdfast:${hold}`);
  tabs.addEventListener("message", stillHere);
  signal.addEventListener("abort", () => tabs.close());

  let goingOnUntil = 0;
  const goOn = () => (goingOnUntil = performance.now() + GOING_ON_MS);
  const follow = ({ target }) => target.closest?.("a[href]")?.origin === location.origin && goOn();
  const leave = () => {
    if (performance.now() < goingOnUntil) return;
    navigator.sendBeacon(`/holds/${hold}/leave`, NOTHING);
    tabs.postMessage("left");
  };
  const show = ({ persisted }) => {
    goingOnUntil = 0;
    if (!persisted) return;
    comeBack(hold);
    stillHere();
  };
  document.addEventListener("click", follow, { signal });
  document.addEventListener("submit", goOn, { signal });
  addEventListener("pagehide", leave, { signal });
  addEventListener("pageshow", show, { signal });
  if (!fresh) stillHere();
}
