// Private servers on free ports, and a client of their API with the admin's key.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { program } from "./tools.mjs";

/** All visitors of a test speak from one address, and most of them never buy. */
const ONE_ADDRESS = { HOLDFAST_UNCONFIRMED_SHARE_PER_ADDRESS: "0" };

/**
 * Starts the demo's shop without its live buyers, so that nothing moves but what a test moves.
 * Settings are given as the environment variables they have anyway.
 */
export async function startShop({ env = {}, buyers = 0 } = {}) {
  const { child, stop } = start(["demo", "--listen", "127.0.0.1:0", "--buyers", String(buyers)], env);
  const { url, key } = await banner(child);
  return { url, key, api: client(url, key), stop };
}

/** A program that ends with this process at the latest. */
function start(args, env = {}) {
  const child = spawn(program, args, {
    env: { ...process.env, NO_COLOR: "1", ...ONE_ADDRESS, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  const gone = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    process.off("exit", end);
    child.kill("SIGTERM");
    await gone;
  };
  return { child, stop };
}

/** A shop with a small hall whose pages show Stripe's own form, and the simulator that takes the money. */
export async function startStripeShop() {
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  const webhooks = `${url}/v1/webhooks/stripe`;
  const stripe = start(["stripe-simulator", "--json", "--listen", "127.0.0.1:0", "--webhook-url", webhooks]);
  const told = JSON.parse(await firstLine(stripe.child));
  const data = await mkdtemp(join(tmpdir(), "holdfast-browser-"));
  const key = `key-${randomUUID()}`;
  const shop = start(["serve", "--listen", listen, "--data", data, "--admin-key", key], {
    HOLDFAST_STRIPE_URL: told.url,
    HOLDFAST_STRIPE_SECRET_KEY: told.secret_key,
    HOLDFAST_STRIPE_PUBLISHABLE_KEY: told.publishable_key,
    HOLDFAST_STRIPE_WEBHOOK_SECRET: told.webhook_secret,
  });
  shop.child.stdout.resume();
  const stop = async () => {
    await Promise.all([shop.stop(), stripe.stop()]);
    await rm(data, { recursive: true, force: true });
  };
  const api = client(url, key);
  try {
    await untilReady(url, shop.child);
    const rows = ["A", "B", "C"].map((name) => ({ name, seats: 20 }));
    const sections = [{ name: "Stalls", category: "A", price: 4500, rows }];
    await api.post("/v1/offers", { id: "hall", name: "Hall", kind: "seats", currency: "EUR", hold_ttl_s: 600, seats: { sections } });
  } catch (fault) {
    await stop();
    throw fault;
  }
  return { url, key, api, stripeUrl: told.url, stop };
}

async function untilReady(url, child) {
  while (child.exitCode === null) {
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    if (answer?.ok) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error("the server ended before it was ready");
}

/** A port that was free a moment ago: two programs that must know each other cannot both be given one by the system. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function firstLine(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    child.stdout.resume();
    return line;
  }
  throw new Error("the program ended before it said anything");
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
