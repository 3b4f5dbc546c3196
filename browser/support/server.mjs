// A private server on a free port, and a client of its API with the admin's key.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

import { program } from "./tools.mjs";

/** All visitors of a test speak from one address, and most of them never buy. */
const ONE_ADDRESS = { HOLDFAST_UNCONFIRMED_SHARE_PER_ADDRESS: "0" };

/**
 * Starts the demo's shop without its live buyers, so that nothing moves but what a test moves.
 * Settings are given as the environment variables they have anyway.
 */
export async function startShop({ env = {}, buyers = 0 } = {}) {
  const child = spawn(program, ["demo", "--listen", "127.0.0.1:0", "--buyers", String(buyers)], {
    env: { ...process.env, NO_COLOR: "1", ...ONE_ADDRESS, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Whatever ends this process ends the server too.
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  const { url, key } = await banner(child);
  const gone = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    process.off("exit", end);
    child.kill("SIGTERM");
    await gone;
  };
  return { url, key, api: client(url, key), stop };
}

/** What the demo prints: where it listens, and its key. */
async function banner(child) {
  let url, key;
  for await (const line of createInterface({ input: child.stdout })) {
    const words = line.split(/\s+/);
    url ??= words.find((word) => word.endsWith("/docs"))?.slice(0, -"/docs".length);
    key ??= words.find((word) => word.startsWith("hf_"));
    if (url && key) {
      // Read on, so that the server never waits for a reader.
      child.stdout.resume();
      return { url, key };
    }
  }
  throw new Error("the server ended before it said where it listens");
}

/** Calls of the API in one line each. An answer that is no success throws, unless `expect` names its status. */
function client(url, key) {
  async function call(method, path, body, { expect } = {}) {
    const answer = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(method === "POST" ? { "idempotency-key": randomUUID() } : {}),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (expect === undefined ? !answer.ok : answer.status !== expect) {
      throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    }
    return text ? JSON.parse(text) : null;
  }
  return {
    get: (path, options) => call("GET", path, undefined, options),
    post: (path, body = {}, options) => call("POST", path, body, options),
    put: (path, body, options) => call("PUT", path, body, options),
    patch: (path, body, options) => call("PATCH", path, body, options),
    delete: (path, options) => call("DELETE", path, undefined, options),
    /** Somebody else takes these seats. */
    hold: (offer, units, holder = `guest-${randomUUID()}`) =>
      call("POST", "/v1/holds", { holder, lines: units.map((unit) => ({ offer, unit })) }),
    version: async (offer) => (await call("GET", `/v1/offers/${offer}/map/status`)).version,
  };
}
