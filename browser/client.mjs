// holdfast.js, as a page of somebody else's would use it.

import assert from "node:assert/strict";

import { openHouse } from "./support/browser.mjs";

const house = openHouse();

/** Holds a seat from within the page, and says what came of it. */
const hold = (page, unit) =>
  page.evaluate(async (unit) => {
    const { Holdfast } = await import("/assets/holdfast.js");
    try {
      return await new Holdfast().hold([{ offer: "hall", unit }]);
    } catch ({ name, code, status, alternatives, conflicts, retryAfterMs }) {
      return { name, code, status, alternatives, conflicts, retryAfterMs };
    }
  }, unit);

/** What became of each attempt at a hold; `fate` may answer, lose or pass it on. */
async function attempts(page, fate) {
  const keys = [];
  await page.route("**/v1/holds", async (route) => {
    keys.push(route.request().headers()["idempotency-key"]);
    await fate(route, keys.length);
  });
  return keys;
}

house.test("an answer that is lost on the way is found again with the same key", async ({ visit, shop }) => {
  const page = await visit("/");
  const keys = await attempts(page, async (route, attempt) => {
    if (attempt > 1) return route.continue();
    await route.fetch();
    await route.abort("connectionreset");
  });
  const held = await hold(page, "A-1");
  assert.equal(held.state, "active");
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
  const journal = await shop.api.get("/v1/journal?offer=hall&unit=A-1");
  assert.deepEqual(journal.data.map(({ hold }) => hold), [held.id]);
});

house.test("a server that asks for patience is given it", async ({ visit }) => {
  const page = await visit("/");
  const body = JSON.stringify({ title: "Busy", status: 503, code: "overloaded" });
  const busy = { status: 503, contentType: "application/problem+json", headers: { "retry-after": "1" }, body };
  const keys = await attempts(page, (route, attempt) => (attempt > 2 ? route.continue() : route.fulfill(busy)));
  assert.equal((await hold(page, "A-2")).state, "active");
  assert.equal(new Set(keys).size, 1);
  assert.equal(keys.length, 3);
});

house.test("a wait that nobody would wait is told at once", async ({ visit }) => {
  const page = await visit("/");
  const body = JSON.stringify({ title: "Too many", status: 429, code: "rate_limited", retry_after_ms: 150_000 });
  const later = { status: 429, contentType: "application/problem+json", headers: { "retry-after": "150" }, body };
  const keys = await attempts(page, (route) => route.fulfill(later));
  const refused = await hold(page, "A-4");
  assert.deepEqual([refused.code, refused.retryAfterMs, keys.length], ["rate_limited", 150_000, 1]);
});

house.test("a refusal is told at once, with what may be had instead", async ({ visit, shop }) => {
  await shop.api.hold("hall", ["A-3"]);
  const page = await visit("/");
  const keys = await attempts(page, (route) => route.continue());
  const refused = await hold(page, "A-3");
  assert.deepEqual([refused.name, refused.code, refused.status], ["Refusal", "unit_taken", 409]);
  assert.equal(refused.conflicts[0].unit, "A-3");
  assert.ok(refused.alternatives.length > 0);
  assert.equal(keys.length, 1);
});
