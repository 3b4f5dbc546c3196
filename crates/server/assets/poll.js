// Asks again and again while the page is looked at, and says only what is new.

/**
 * Calls `heard` with the answer whenever it is another one than before; `every` milliseconds apart, longer after a
 * failure, and not at all while the page is out of sight. Ends when `signal` says so.
 */
export async function poll(address, every, heard, signal) {
  let tag = null;
  let wait = every;
  while (!signal.aborted) {
    await visible(signal);
    try {
      const answer = await fetch(address, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store", signal });
      if (answer.ok) {
        tag = answer.headers.get("ETag");
        heard(await answer.json());
      }
      wait = answer.ok || answer.status === 304 ? every : Math.min(wait * 2, 30_000);
    } catch {
      wait = Math.min(wait * 2, 30_000);
    }
    await sleep(wait, signal);
  }
}

function sleep(ms, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
}

function visible(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    document.addEventListener("visibilitychange", done, { once: true, signal });
    signal.addEventListener("abort", done, { once: true });
  });
}
