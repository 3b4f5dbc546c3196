// States that no other walk stands still in: sales that are not open, weeks with nothing or with an hour too many, seats of
// one's own on the map, an organiser's empty lists and faulty sheets. Each accessible, in every look; some on a phone too.

import assert from "node:assert/strict";

import { assertAccessible } from "./support/axe.mjs";
import { openHouse } from "./support/browser.mjs";

const house = openHouse();

const DAY_MS = 86_400_000;
const at = (days) => new Date(Date.now() + days * DAY_MS).toISOString();
const button = (page, name) => page.getByRole("button", { name });

const stock = (id, more) => ({
  id, name: `Stock ${id}`, kind: "stock", currency: "EUR", stock: { lines: [{ key: "GA", capacity: 1, price: 500 }] }, ...more,
});

/** Accessible, and no wider than the screen. */
async function assertFits(page, what) {
  await assertAccessible(page, what);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(over <= 0, `${what} is ${over} px wider than the screen`);
}

house.test("an offer that is not open yet, closed or sold out says so, also in the list", async ({ visit, shop: { api } }) => {
  await api.post("/v1/offers", stock("later", { opens_at: at(3) }));
  await api.post("/v1/offers", stock("over", { opens_at: at(-3), closes_at: at(-1) }));
  await api.post("/v1/offers", stock("gone"));
  await api.post("/v1/holds", { holder: "somebody", lines: [{ offer: "gone", unit: "GA", qty: 1 }] });
  const page = await visit("/");
  for (const words of [/^Opens /, "Sale closed", "Sold out"]) await page.locator(".tag", { hasText: words }).first().waitFor();
  await assertFits(page, "a list with sales of every state");
  for (const [id, words] of [["later", "The sale opens on"], ["over", "The sale has closed"], ["gone", "Everything is held or booked"]]) {
    await page.goto(`/o/${id}`);
    await page.locator(".note", { hasText: words }).waitFor();
    await assertFits(page, `the offer ${id}`);
  }
});

house.test("what is hidden takes no room, whatever it is", async ({ visit }) => {
  const page = await visit("/o/dr-lee", { javascript: true });
  await page.locator("slot-week[data-version]").waitFor();
  await page.locator("#tz").waitFor();
  const shown = await page.locator("[hidden]").evaluateAll((hidden) => hidden.filter((one) => one.getClientRects().length > 0).length);
  assert.equal(shown, 0, "something hidden is shown");
});

house.test("a week with nothing free, and one with an hour that comes twice", async ({ visit, shop: { api } }) => {
  await api.post("/v1/offers", {
    id: "night", name: "Night shift", kind: "slots", currency: "EUR",
    slots: {
      timezone: "Europe/Berlin", grid_minutes: 30, capacity: 1,
      hours: [{ days: ["sun"], from: "00:00", to: "06:00" }], services: [{ key: "watch", minutes: 30, price: 1000 }],
    },
  });
  await api.post("/v1/offers", {
    id: "rare", name: "Rare hour", kind: "slots", currency: "EUR",
    slots: {
      timezone: "UTC", grid_minutes: 30, capacity: 1,
      hours: [{ days: ["sun"], from: "10:00", to: "10:30" }], services: [{ key: "visit", minutes: 30, price: 1000 }],
    },
  });
  await api.post("/v1/holds", { holder: "somebody", lines: [{ offer: "rare", service: "visit", start: "2027-10-31T10:00:00Z" }] });
  const page = await visit("/o/rare?from=2027-10-25");
  await page.getByText("Nothing is free in this week").waitFor();
  await assertFits(page, "an empty week");
  // The clocks of Berlin go back on the last Sunday of October.
  await page.goto("/o/night?from=2027-10-25");
  await page.getByText(/^first, UTC/).first().waitFor();
  await assertFits(page, "a week in which the clocks go back");
});

house.test("every line of stock shows how much is left of it, and nobody is offered more than they may have", async ({ visit, shop: { api } }) => {
  const lines = ["Stand", "Seat"].map((key) => ({ key, capacity: 4, price: 500 }));
  await api.post("/v1/offers", { ...stock("two"), stock: { lines } });
  const page = await visit("/o/two");
  const gauge = page.locator('[data-unit="Seat"] [data-live="gauge"]');
  assert.equal(await gauge.getAttribute("width"), "100");
  await api.post("/v1/holds", { holder: "somebody", lines: [{ offer: "two", unit: "Seat", qty: 3 }] });
  await page.locator('[data-unit="Seat"] [data-live="gauge"][width="25"]').waitFor();
  await page.locator('[data-unit="Stand"] [data-live="gauge"][width="100"]').waitFor();

  const sections = [{ name: "Stalls", category: "A", price: 4500, rows: [{ name: "A", seats: 6 }] }];
  await api.post("/v1/offers", { id: "single", name: "One each", kind: "seats", currency: "EUR", limit_per_holder: 1, seats: { sections } });
  await page.goto("/o/single");
  await button(page, "Find the best seats").click();
  await page.waitForURL("**/holds/*");
});

for (const phone of [false, true]) {
  const where = phone ? " on a phone" : "";
  house.test(`a seat of one's own and a seat just taken are on the map${where}`, async ({ visit, shop: { api } }) => {
    const page = await visit("/o/hall", { phone });
    await page.locator("seat-map[data-state=live]").waitFor();
    const seats = phone ? [3, 4] : [1, 2];
    await page.locator(`[role=gridcell][aria-label^="Row A, seat ${seats[0]},"]`).click();
    await page.locator(":is(.map-hold, .map-bar):visible").first().waitFor();
    await assertFits(page, `a map with a seat of one's own${where}`);
    await page.route("**/v1/holds", async (route) => {
      await api.hold("hall", [`A-${seats[1]}`]);
      await route.continue();
    });
    await page.locator(`[role=gridcell][aria-label^="Row A, seat ${seats[1]},"]`).click();
    await page.locator(".map-note .note").waitFor();
    await assertFits(page, `a seat just taken${where}`);
  });
}

house.test("buying on a phone", async ({ visit }) => {
  const page = await visit("/", { phone: true });
  await assertFits(page, "the shop on a phone");
  await page.goto("/o/dr-lee");
  await page.getByRole("link", { name: "Later" }).click();
  await page.locator("slot-week[data-version]").waitFor();
  await assertFits(page, "slots on a phone");
  await page.goto("/o/flash");
  await assertFits(page, "stock on a phone");
  await page.goto("/o/hall");
  await page.locator(".best-form [name=best]").fill("1");
  await button(page, "Find the best seats").click();
  await page.getByRole("heading", { name: "Yours, for now" }).waitFor();
  await assertFits(page, "the checkout on a phone");
  await button(page, /^Pay €/).click();
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
  await assertFits(page, "a booking on a phone");
});

house.test("an organiser's empty lists, faulty sheet and paused room", async ({ visit, shop }) => {
  const page = await visit("/admin/bookings?q=nobody");
  await page.getByLabel("API key").fill(shop.key);
  await button(page, "Sign in").click();
  await page.getByText("Nothing found.").waitFor();
  await assertFits(page, "no bookings");
  await page.goto("/admin/bookings?payment=manual");
  await page.getByText("None. Every payment has come to its end").waitFor();
  await assertFits(page, "no payments that need a person");
  await page.goto("/admin/journal?offer=hall&unit=H-1");
  await page.getByText("Nothing has happened to it yet.").waitFor();
  await assertFits(page, "a seat without a story");
  await page.goto("/admin/new/csv");
  await page.getByLabel("CSV", { exact: true }).fill("section,category,price,row,seats\nStalls,A,45,A,twelve\n");
  await page.getByText("Line 2: seats must be a whole number").waitFor();
  await assertFits(page, "a faulty sheet");
  await shop.api.put("/v1/offers/flash/room", { method: "fifo", max_active: 1 });
  await shop.api.post("/v1/offers/flash/room/pause");
  await page.goto("/admin/offers/flash");
  await button(page, "Resume").waitFor();
  await assertFits(page, "a paused room");
  const guest = await visit("/o/flash/queue");
  await guest.locator(".note").waitFor();
  await assertFits(guest, "a queue that stands still");
});

house.test("what is held of another offer is not on this map", async ({ visit }) => {
  const page = await visit("/o/hall");
  await page.locator(".best-form [name=best]").fill("1");
  await button(page, "Find the best seats").click();
  await page.waitForURL("**/holds/*");
  const read = page.waitForResponse(/\/v1\/holds\/hold_/);
  await page.goto("/o/stadium");
  await (await read).finished();
  await page.locator("seat-map[data-state=live]").waitFor();
  assert.equal(await page.locator(".map-hold").count(), 0);
});
