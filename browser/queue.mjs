// Waiting: who comes first is led in, who comes second sees how many are ahead, with and without scripts.

import assert from "node:assert/strict";

import { assertAccessible } from "./support/axe.mjs";
import { openHouse } from "./support/browser.mjs";

const house = openHouse();

const button = (page, name) => page.getByRole("button", { name });

async function join(page, offer) {
  await page.goto(`/o/${offer}/queue`);
  await button(page, "Join the queue").click();
}

/** What a page shows that was led in. Seen, not deduced from its address, which changes while pages still come and go. */
const ledIn = (page) => button(page, "Hold").first().waitFor();

/** One at a time, in the order they come. */
const open = (shop, offer) => shop.api.put(`/v1/offers/${offer}/room`, { method: "fifo", max_active: 1 });

house.test("the first is led in by the page itself, the next waits and is told how many are ahead", async ({ visit, shop }) => {
  await open(shop, "flash");
  const [first, second] = [await visit("/o/flash/queue"), await visit("/o/flash/queue")];
  await assertAccessible(first, "queue, before joining");
  await join(first, "flash");
  await ledIn(first);
  await join(second, "flash");
  await second.getByRole("heading", { name: "You are in the queue" }).waitFor();
  await assertAccessible(second, "queue, waiting");
  await button(first, "Hold").first().click();
  await first.getByRole("heading", { name: "Yours, for now" }).waitFor();
  // The doors opened for everybody: the page that waits hears of it.
  await shop.api.post("/v1/offers/flash/room/fail-open");
  await ledIn(second);
});

house.test("without scripts a hold leads to the queue, and the queue to the hold", async ({ visit, shop }) => {
  await open(shop, "hall");
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
