// Waiting: who comes first is led in, who comes next sees how many are ahead and moves up as others leave; what the room
// goes through meanwhile is told live. With and without scripts.

import assert from "node:assert/strict";

import { assertAccessible } from "./support/axe.mjs";
import { openHouse } from "./support/browser.mjs";

const house = openHouse();

const button = (page, name) => page.getByRole("button", { name });
const heading = (page, name) => page.getByRole("heading", { name, exact: true });

async function join(page, offer) {
  await page.goto(`/o/${offer}/queue`);
  await button(page, "Join the queue").click();
}

/** What a page shows that was led in. Seen, not deduced from its address, which changes while pages still come and go. */
const ledIn = (page, timeout) => button(page, "Hold").first().waitFor({ timeout });

/** One at a time, in the order they come. */
const ONE_BY_ONE = { method: "fifo", max_active: 1 };
const plan = (shop, offer, room) => shop.api.put(`/v1/offers/${offer}/room`, room);

/** Something of its own to queue for, so that no test stands in another's queue. */
async function sell(shop, id, room, capacity = 5) {
  const stock = { lines: [{ key: "GA", capacity, price: 3000 }] };
  await shop.api.post("/v1/offers", { id, name: "Wanted", kind: "stock", currency: "EUR", hold_ttl_s: 600, stock });
  await plan(shop, id, room);
}

/** Somebody who is in the queue, behind one who is inside. */
async function waiting(visit, offer) {
  const first = await visit(`/o/${offer}/queue`);
  await join(first, offer);
  await ledIn(first);
  const next = await visit(`/o/${offer}/queue`);
  await join(next, offer);
  await heading(next, "You are in the queue").waitFor();
  return next;
}

const ahead = (page, words) => page.getByText(`${words} ahead of you`).waitFor();
const isNext = (page) => page.getByText("You are next.").waitFor();
const noNumber = async (page) => assert.equal(await page.getByText("ahead of you").isVisible(), false, "a number is no comfort");

/** Marks the page, and says later whether it is still the same one. */
const mark = (page) => page.evaluate(() => void (window.marked = true));
const isSame = (page) => page.evaluate(() => window.marked === true);

house.test("who waits is told how many are ahead, and moves up when the first has bought", async ({ visit, shop }) => {
  await sell(shop, "wanted", ONE_BY_ONE);
  const [first, second, third] = [await visit("/o/wanted/queue"), await visit("/o/wanted/queue"), await visit("/o/wanted/queue")];
  await assertAccessible(first, "queue, before joining");
  await join(first, "wanted");
  await ledIn(first);
  await first.getByText("It is your turn.").waitFor();
  await join(second, "wanted");
  await isNext(second);
  await join(third, "wanted");
  await ahead(third, "1 person is");
  await third.getByText(/It may take/).waitFor();
  await assertAccessible(third, "queue, waiting");
  assert.equal(await third.getByRole("status").textContent(), "", "a number that changes each second is not read out");
  await mark(third);
  await button(first, "Hold").first().click();
  await heading(first, "Yours, for now").waitFor();
  await button(first, /^Pay €/).click();
  await heading(first, "You're booked").waitFor();
  // Nobody opened the doors: the place inside came free, and the queue moved up by one.
  await ledIn(second);
  await isNext(third);
  assert.ok(await isSame(third), "without fetching the page anew");
});

house.test("who leaves makes room for the next", async ({ visit, shop }) => {
  await sell(shop, "left", ONE_BY_ONE);
  const pages = [];
  for (let comes = 0; comes < 3; comes += 1) pages.push(await visit("/o/left/queue"));
  const [first, second, third] = pages;
  await join(first, "left");
  await ledIn(first);
  for (const page of [second, third]) {
    await join(page, "left");
    await heading(page, "You are in the queue").waitFor();
  }
  await second.getByText("Leave the queue").click();
  await heading(second, "You are in the queue").waitFor();
  await assertAccessible(second, "queue, asked whether to leave");
  await button(second, "Give up my place").click();
  await second.getByText("You have left the queue.").waitFor();
  await assertAccessible(second, "queue, left");
  assert.equal(await first.evaluate(async () => (await fetch("/v1/offers/left/room/me", { method: "DELETE" })).status), 204);
  await ledIn(third);
});

house.test("a pause is told live, and so is its end", async ({ visit, shop }) => {
  await sell(shop, "paused", ONE_BY_ONE);
  const page = await waiting(visit, "paused");
  await page.getByText(/It may take/).waitFor();
  await mark(page);
  await shop.api.post("/v1/offers/paused/room/pause");
  await heading(page, "The queue is paused").waitFor();
  await page.getByText("Nobody can tell yet how long it will take.").waitFor();
  await isNext(page);
  assert.match(await page.getByRole("status").textContent(), /The queue is paused/, "and said aloud, once");
  await assertAccessible(page, "queue, paused");
  await shop.api.post("/v1/offers/paused/room/resume");
  await heading(page, "You are in the queue").waitFor();
  await page.getByText(/It may take/).waitFor();
  assert.ok(await isSame(page), "without fetching the page anew");
});

house.test("a line that has died without a word is noticed, and opened again", async ({ visit, shop }) => {
  await sell(shop, "silent", ONE_BY_ONE);
  const page = await waiting(visit, "silent");
  await page.clock.install();
  const stream = "**/v1/offers/silent/room/me/stream";
  // Never answered, as by a proxy that has forgotten the connection.
  await page.route(stream, () => {}, { times: 1 });
  const first = page.waitForRequest(stream);
  await page.reload();
  await first;
  const second = page.waitForRequest(stream);
  await page.clock.fastForward(60_000);
  await second;
  await shop.api.post("/v1/offers/silent/room/pause");
  await heading(page, "The queue is paused").waitFor();
});

house.test("sold out and closed have words of their own, and no number", async ({ visit, shop }) => {
  await sell(shop, "gone", ONE_BY_ONE, 2);
  const page = await waiting(visit, "gone");
  await isNext(page);
  const hold = await shop.api.post("/v1/holds", { holder: "guest", lines: [{ offer: "gone", unit: "GA", qty: 2 }] });
  const { id } = await shop.api.post("/v1/bookings", { hold: hold.id, payment: { provider: "none" } });
  await heading(page, "Everything is sold").waitFor();
  await noNumber(page);
  await assertAccessible(page, "queue, sold out");
  const late = await visit("/o/gone/queue");
  await late.getByText(/Everything is sold/).waitFor();
  await assertAccessible(late, "queue, sold out, before joining");

  await shop.api.post(`/v1/bookings/${id}/cancel`);
  await heading(page, "You are in the queue").waitFor();
  await isNext(page);

  await plan(shop, "gone", { method: "reject" });
  await heading(page, "Nobody is let in").waitFor();
  await noNumber(page);
  await assertAccessible(page, "queue, closed");
  await late.reload();
  await heading(late, "The doors are closed").waitFor();
  assert.equal(await button(late, "Join the queue").count(), 0, "nothing to join");
  await assertAccessible(late, "queue, closed, before joining");
});

house.test("a lottery says so, and shows the place once it is drawn", async ({ visit, shop }) => {
  const by = (s) => ({ method: "lottery", max_active: 1, opens_at: new Date(Date.now() + s * 1000).toISOString() });
  await sell(shop, "lots", by(3600));
  const [one, other] = [await visit("/o/lots/queue"), await visit("/o/lots/queue")];
  await assertAccessible(one, "lottery, before joining");
  for (const page of [one, other]) {
    await join(page, "lots");
    await page.getByText("Places are drawn by lot").waitFor();
    await page.getByText("The doors are not open yet.").waitFor();
    await noNumber(page);
    await mark(page);
  }
  await assertAccessible(one, "lottery, before the draw");
  await plan(shop, "lots", by(4));
  // One of them is led in, once the draw has settled; the other hears its place on the page it has.
  const first = await Promise.any([one, other].map((page) => ledIn(page, 60_000).then(() => page)));
  const second = first === one ? other : one;
  await isNext(second);
  assert.ok(await isSame(second), "without fetching the page anew");
});

house.test("without scripts a hold leads to the queue, and the queue to the hold", async ({ visit, shop }) => {
  await plan(shop, "hall", ONE_BY_ONE);
  const page = await visit("/o/hall", { javascript: false });
  await page.locator(".best-form [name=best]").fill("1");
  await button(page, "Find the best seats").click();
  await button(page, "Join the queue").click();
  for (let tries = 0; page.url().includes("/queue") && tries < 40; tries += 1) {
    // As the page's own refresh would, only sooner.
    await page.waitForTimeout(500);
    await page.reload();
  }
  assert.ok(!page.url().includes("/queue"), "led in");
  await page.goto("/o/hall");
  await page.locator(".best-form [name=best]").fill("1");
  await button(page, "Find the best seats").click();
  await page.getByRole("heading", { name: "Yours, for now" }).waitFor();
});
