// One Chromium a file, a fresh visitor a test, and a picture of whatever failed.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { browserProgram, chromium, shots } from "./tools.mjs";
import { startShop } from "./server.mjs";

/** How long a test waits for something to appear. A signal ends the wait; this only ends the hopeless ones. */
export const PATIENCE_MS = 15_000;
/** A test that is not over by then hangs. */
const LONGEST_MS = 240_000;

/**
 * A file's tests: `house(options)` starts one shop and one browser before them and ends both after them.
 *
 * ```js
 * const house = openHouse();
 * house.test("a visitor sees the hall", async ({ visit }) => {
 *   const page = await visit("/o/hall");
 * });
 * ```
 * A test is given `visit` (a page of a new visitor; see `visitor` for its options), `visitor`, and `shop` with its `url`,
 * `key` and `api`.
 */
export function openHouse({ start = startShop, shop: shopOptions = {}, flags = [] } = {}) {
  let browser, shop;
  before(async () => {
    // One after the other: a shop that does not open must not leave a browser behind.
    shop = await start(shopOptions);
    browser = await launch(flags);
  });
  after(() => Promise.all([shop?.stop(), browser?.close()]));

  const run = (name, body, options = {}) =>
    test(name, { timeout: LONGEST_MS, ...options }, async (t) => {
      const visitors = [];
      const visitor = async (wishes = {}) => {
        const context = await newVisitor(browser, wishes.url ?? shop.url, wishes);
        visitors.push(context);
        return context;
      };
      const visit = async (path, wishes) => {
        const page = await (await visitor(wishes)).newPage();
        await page.goto(path);
        return page;
      };
      try {
        await body({ visit, visitor, shop, browser, t });
        visitors.forEach(noFaults);
      } catch (fault) {
        await picture(name, visitors);
        throw fault;
      } finally {
        await Promise.all(visitors.map((context) => context.close()));
      }
    });
  return { test: run };
}

function launch(flags) {
  // As root, in a container, Chromium has no sandbox to sit in, and little shared memory.
  const unconfined = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const args = [...unconfined, "--disable-gpu", "--disable-dev-shm-usage", ...flags];
  return chromium.launch({ executablePath: browserProgram(), args });
}

/**
 * Somebody with cookies of their own. Wishes: `javascript: false`, `scheme: "dark"`, `forcedColors: true`, `phone: true`,
 * `viewport`, `url` (another way to the server, such as a proxy), `reducedMotion: false`, `zone` (the visitor's clocks).
 */
async function newVisitor(browser, url, wishes) {
  const viewport = wishes.viewport ?? (wishes.phone ? { width: 390, height: 844 } : { width: 1280, height: 900 });
  const context = await browser.newContext({
    baseURL: url,
    viewport,
    hasTouch: Boolean(wishes.phone),
    javaScriptEnabled: wishes.javascript ?? true,
    colorScheme: wishes.scheme ?? "light",
    forcedColors: wishes.forcedColors ? "active" : "none",
    // Nothing glides: what a test sees is where it ends up.
    reducedMotion: wishes.reducedMotion === false ? "no-preference" : "reduce",
    deviceScaleFactor: wishes.scale ?? 1,
    timezoneId: wishes.zone,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  context.javascript = wishes.javascript ?? true;
  context.faults = [];
  context.on("weberror", (fault) => context.faults.push(String(fault.error().stack ?? fault.error())));
  context.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy/.test(message.text())) {
      context.faults.push(message.text());
    }
  });
  return context;
}

/** The clock that never jumps, of pages that this visitor opens from now on, can be put forward by `passes`. */
export const runsAhead = (context) =>
  context.addInitScript(() => {
    const now = performance.now.bind(performance);
    globalThis.aheadMs = 0;
    performance.now = () => now() + globalThis.aheadMs;
  });

/** So much time passes on the page, and none on the server. */
export const passes = (page, ms) => page.evaluate((ms) => void (globalThis.aheadMs += ms), ms);

/** A script that threw, or a page that broke its own policy, fails the test that met it. */
function noFaults(context) {
  if (context.faults.length) throw new Error(`the page met faults of its own:\n${context.faults.join("\n")}`);
}

async function picture(name, visitors) {
  await mkdir(shots, { recursive: true });
  const stem = name.replaceAll(/[^a-z0-9]+/gi, "-").slice(0, 80);
  const pages = visitors.flatMap((context) => context.pages());
  for (const [at, page] of pages.entries()) {
    const path = join(shots, `${stem}-${at + 1}.png`);
    const taken = await page.screenshot({ path, fullPage: true, timeout: 5_000 }).then(() => true, () => false);
    if (taken) console.error(`  picture of ${page.url()}: ${path}`);
  }
}
