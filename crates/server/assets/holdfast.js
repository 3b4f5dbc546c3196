// A client of the Holdfast API for browsers: no dependencies, no state but the connection.
//
// Every request that changes something is one intention with one `Idempotency-Key`, and keeps that key across retries:
// whatever the network does, it happens once or not at all. A no of the server is a `Refusal` with its code; it is never
// retried. Trouble (no network, 429, 503, the same key still under way) is, with the patience the server asks for; where
// that is more than anybody waits before a page, it is a `Refusal` too, and says how long in `retryAfterMs`.

/** A typed no of the server, or trouble that did not pass: an RFC 9457 problem. */
export class Refusal extends Error {
  constructor(problem, retryAfterMs) {
    super(problem.detail ?? problem.title);
    this.name = "Refusal";
    this.status = problem.status;
    this.code = problem.code;
    this.conflicts = problem.conflicts ?? [];
    this.alternatives = problem.alternatives ?? [];
    this.joinUrl = problem.join_url;
    this.retryAfterMs = retryAfterMs;
    this.requestId = problem.request_id;
  }
}

/** A name for something that somebody wants to happen once. */
export const newIntention = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");

const ATTEMPTS = 6;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8_000;

/** What passes by itself, and may be asked again with the same key. */
const PASSING = new Set(["overloaded", "unavailable", "outcome_unknown", "idempotency_in_flight", "rate_limited"]);

export class Holdfast {
  #base;
  #apiKey;

  /** Without an API key the browser's session is the holder. */
  constructor({ base = "", apiKey } = {}) {
    this.#base = base;
    this.#apiKey = apiKey;
  }

  /** Takes all lines or none: `[{ offer: "hall", unit: "A-12" }]`. */
  hold(lines, { intention = newIntention(), holder, signal } = {}) {
    return this.#send("POST", "/v1/holds", { holder, lines }, { intention, signal });
  }

  readHold(id, { signal } = {}) {
    return this.#send("GET", `/v1/holds/${encodeURIComponent(id)}`, undefined, { signal });
  }

  extendHold(id, { intention = newIntention(), signal } = {}) {
    return this.#send("POST", `/v1/holds/${encodeURIComponent(id)}/extend`, {}, { intention, signal });
  }

  releaseHold(id, { signal } = {}) {
    return this.#send("DELETE", `/v1/holds/${encodeURIComponent(id)}`, undefined, { signal });
  }

  book(hold, payment, { intention = newIntention(), signal } = {}) {
    return this.#send("POST", "/v1/bookings", { hold, payment }, { intention, signal });
  }

  /** The layout of an offer's seats; by its hash it comes from the browser's cache. */
  map(offer, hash, { signal } = {}) {
    const query = hash ? `?v=${hash}` : "";
    return this.#send("GET", `/v1/offers/${encodeURIComponent(offer)}/map${query}`, undefined, { signal });
  }

  /** The states of all seats at one version. */
  mapStatus(offer, { signal } = {}) {
    return this.#send("GET", `/v1/offers/${encodeURIComponent(offer)}/map/status`, undefined, { signal });
  }

  /** Changes of the seats from version `since` on, until the signal; see `follow`. */
  followMap(offer, since, handlers) {
    return follow(`${this.#base}/v1/offers/${encodeURIComponent(offer)}/map/stream`, since, handlers);
  }

  async #send(method, path, body, { intention, signal } = {}) {
    for (let attempt = 1; ; attempt += 1) {
      const { answer, problem, retryAfterMs } = await this.#once(method, path, body, intention, signal);
      if (!problem) return answer;
      const passes = PASSING.has(problem.code) || problem.code === undefined;
      if (!passes || attempt === ATTEMPTS || retryAfterMs > LONGEST_WAIT_MS) throw new Refusal(problem, retryAfterMs);
      await pause(Math.min(retryAfterMs ?? backoff(attempt), LONGEST_WAIT_MS), signal);
    }
  }

  async #once(method, path, body, intention, signal) {
    const headers = new Headers({ Accept: "application/json" });
    if (body !== undefined) headers.set("Content-Type", "application/json");
    if (intention) headers.set("Idempotency-Key", intention);
    if (this.#apiKey) headers.set("Authorization", `Bearer ${this.#apiKey}`);
    const request = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) };
    try {
      const answer = await fetch(this.#base + path, request);
      const text = await answer.text();
      if (answer.ok) return { answer: text ? JSON.parse(text) : null };
      const problem = problemOf(answer, text);
      return { problem, retryAfterMs: problem.retry_after_ms ?? retryAfter(answer) };
    } catch (fault) {
      if (signal?.aborted) throw fault;
      return { problem: { status: 0, title: "The server cannot be reached.", detail: String(fault.message ?? fault) } };
    }
  }
}

function problemOf(answer, text) {
  try {
    return { status: answer.status, ...JSON.parse(text) };
  } catch {
    // Something between us and the server answered in its place.
    return { status: answer.status, title: answer.statusText || "The server cannot be reached." };
  }
}

function retryAfter(answer) {
  const seconds = Number(answer.headers.get("Retry-After"));
  return seconds > 0 ? seconds * 1000 : undefined;
}

/** Twice as long each time, and never the same for two clients. */
const backoff = (attempt) => Math.min(FIRST_WAIT_MS * 2 ** (attempt - 1), LONGEST_WAIT_MS) * (0.5 + Math.random());

/** Waits so long; a signal ends the wait with its reason. */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}

/** The server says something every 15 s at least; a line that is silent for longer than this is dead. */
const SILENCE_MS = 40_000;

/**
 * Server-sent events, resumed with `Last-Event-ID` for as long as the signal allows.
 *
 * Read with fetch and not with EventSource: that one neither sees that a connection is dead, nor starts from a version
 * that came with a snapshot, nor comes back after a 503. `onEvent({ id, event, data })` hears what is said; `onOpen` and
 * `onLost` say how the line is, and `onRefused(status)` that the server would not have it, before it is asked again.
 */
export async function follow(url, since, { onEvent, onOpen, onLost, onRefused, signal }) {
  let last = since;
  for (let failures = 0; !signal.aborted; ) {
    try {
      await once(url, last, signal, {
        onOpen: () => {
          failures = 0;
          onOpen?.();
        },
        onEvent: (event) => {
          last = event.id ?? last;
          onEvent(event);
        },
        onRefused,
      });
    } catch {
      // However it ended, what follows is the same.
    }
    if (signal.aborted) return;
    failures += 1;
    onLost?.();
    await pauseOrOnline(failures === 1 ? 100 * (1 + Math.random()) : backoff(failures), signal);
  }
}

async function once(url, last, signal, { onEvent, onOpen, onRefused }) {
  const attempt = new AbortController();
  const giveUp = () => attempt.abort();
  signal.addEventListener("abort", giveUp, { once: true });
  let watchdog = setTimeout(giveUp, SILENCE_MS);
  try {
    const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
    const answer = await fetch(url, { headers, cache: "no-store", signal: attempt.signal });
    if (!answer.ok) {
      onRefused?.(answer.status);
      throw new Error(`the stream answered ${answer.status}`);
    }
    const parse = parser(onEvent);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let first = true; ; first = false) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(giveUp, SILENCE_MS);
      if (first) onOpen();
      parse(value);
    }
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener("abort", giveUp);
    attempt.abort();
  }
}

/** Takes text as it comes and hands over whole events. */
export function parser(onEvent) {
  let rest = "";
  let event = {};
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (event.data !== undefined) onEvent(event);
        event = {};
        continue;
      }
      const at = line.indexOf(":");
      if (at <= 0) continue;
      const value = line.slice(at + 1).replace(/^ /, "");
      const field = line.slice(0, at);
      event[field] = field === "data" && event.data !== undefined ? `${event.data}\n${value}` : value;
    }
  };
}

/** Waits, but not a moment longer than it takes the network to come back. */
function pauseOrOnline(ms, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done, { once: true });
    signal.addEventListener("abort", done, { once: true });
  });
}
