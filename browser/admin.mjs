// The organiser's pages: signing in, putting something on sale, blocking seats, cancelling and paying back.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { assertAccessible } from "./support/axe.mjs";
import { openHouse } from "./support/browser.mjs";

const house = openHouse();

/** A page among the organiser's, for somebody who has just signed in. */
async function enter({ visit, shop }, path = "/admin", wishes) {
  const page = await visit(path, wishes);
  await page.getByLabel("API key").fill(shop.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  return page;
}

async function booking(shop, units, holder) {
  const { id } = await shop.api.hold("hall", units, holder);
  return shop.api.post("/v1/bookings", { hold: id, payment: { provider: "stripe", payment_method: "pm_card_visa" } });
}

const CSV = "section,category,price,row,seats,gaps,curve\nStalls,A,45.00,A,12,3 9,60\nStalls,A,45.00,B,14,,\nBalcony,B,29.00,C,10,,\n";

house.test("a wrong key is told so, a right one opens the page that was meant", async ({ visit, shop }) => {
  const page = await visit("/admin/offers/hall");
  await page.getByLabel("API key").fill("hf_nothing");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("No such key").waitFor();
  await assertAccessible(page, "signing in");
  await page.getByLabel("API key").fill(shop.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Night at the Hall" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
});

house.test("a sheet becomes an offer, drawn before it is on sale", async (at) => {
  const page = await enter(at, "/admin/new/csv");
  await page.getByLabel("Name", { exact: true }).fill("Sheet Night");
  await page.getByLabel("Web address").fill("sheet-night");
  await page.getByLabel("CSV", { exact: true }).fill(CSV.replace("B,14", "B,fourteen"));
  await page.getByText("Line 3: seats must be a whole number").waitFor();
  await page.getByLabel("CSV", { exact: true }).fill(CSV);
  await page.getByText("36 seats", { exact: true }).waitFor();
  await page.getByRole("cell", { name: "€29.00" }).waitFor();
  await page.getByRole("img", { name: "The plan of the seats" }).waitFor();
  await assertAccessible(page, "a sheet and its preview");
  await page.getByRole("button", { name: "Put on sale" }).click();
  await page.getByRole("status").getByText("It is on sale.").waitFor();
  const { counts, seats } = await at.shop.api.get("/v1/offers/sheet-night");
  assert.equal(counts.capacity, 36);
  const [stalls, balcony] = seats.sections;
  assert.deepEqual([stalls.price, stalls.curve, stalls.rows[0].gaps], [4500, 60, [3, 9]]);
  assert.deepEqual([balcony.price, balcony.y > stalls.y], [2900, true], "what says nothing lies behind");
});

house.test("a plan is drawn again while it is typed, with aisles and a curve", async (at) => {
  const page = await enter(at, "/admin/new/seats");
  const plan = page.locator(".hall-seats").first();
  /** Does it, and waits until the plan is drawn another way than before. */
  const drawsAnew = async (act) => {
    const before = await plan.getAttribute("d");
    await act();
    await page.waitForFunction((old) => document.querySelector(".hall-seats").getAttribute("d") !== old, before);
  };
  await drawsAnew(() => page.getByLabel("Seats in it").fill("24"));
  await page.getByText("192 seats", { exact: true }).waitFor();
  await drawsAnew(() => page.getByLabel("Aisles after seats").fill("6, 18"));
  await page.getByText("Curve and place on the map").click();
  await drawsAnew(() => page.getByLabel("Curve, degrees").fill("60"));
  await assertAccessible(page, "the editor of a plan");
  await page.getByLabel("Name", { exact: true }).first().fill("Curved Night");
  await page.getByLabel("Web address").fill("curved-night");
  await page.getByRole("button", { name: "Put on sale" }).click();
  await page.getByRole("status").getByText("It is on sale.").waitFor();
  const [stalls] = (await at.shop.api.get("/v1/offers/curved-night")).seats.sections;
  assert.deepEqual([stalls.curve, stalls.rows[0].gaps, stalls.rows[0].seats], [60, [6, 18], 24]);
});

for (const javascript of [true, false]) {
  house.test(`a section is added and removed, ${javascript ? "with" : "without"} scripts`, async (at) => {
    const page = await enter(at, "/admin/new/seats", { javascript });
    assert.equal(await page.getByRole("button", { name: "Remove section 1" }).count(), 0, "the only one stays");
    await page.getByRole("button", { name: "One more section" }).click();
    await page.locator("#section_1").fill("Balcony");
    await page.locator("#category_1").fill("B");
    await page.locator(".preview-side").getByRole("button", { name: "Update preview" }).click();
    await page.getByRole("cell", { name: "Balcony" }).waitFor();
    await page.getByRole("button", { name: "Remove section 1" }).click();
    await page.getByRole("cell", { name: "Stalls" }).waitFor({ state: "detached" });
    assert.equal(await page.locator("#section_0").inputValue(), "Balcony");
    await page.locator("#section_0").press("Enter");
    await page.getByRole("cell", { name: "Balcony" }).waitFor();
    assert.equal(await page.locator("#section_1").count(), 0, "Enter only looks");
  });
}

house.test("seats are picked on the map and taken off sale", async (at) => {
  const page = await enter(at, "/admin/offers/hall");
  await page.locator("seat-map[data-state=live]").waitFor();
  await page.locator('[role=gridcell][aria-label^="Row B, seat 7,"]').click();
  await page.locator('[role=gridcell][aria-label^="Row B, seat 8,"]').click();
  assert.equal(await page.getByLabel("Seats by name").inputValue(), "B-7 B-8");
  await page.getByText("2 seats picked").waitFor();
  await page.getByRole("button", { name: "Take off sale", exact: true }).click();
  await page.getByRole("status").getByText("2 are off sale.").waitFor();
  const { units } = await at.shop.api.get("/v1/offers/hall/availability");
  const state = (name) => units.find(({ unit }) => unit === name).state;
  assert.deepEqual([state("B-7"), state("B-8"), state("B-9")], ["blocked", "blocked", "available"]);
  await page.locator("seat-map[data-state=live]").waitFor();
  await assertAccessible(page, "an offer");
});

house.test("figures follow the sale without a reload", async (at) => {
  const page = await enter(at, "/admin/offers/hall");
  const held = page.locator(".tile", { hasText: "held" }).locator("dd");
  const before = Number(await held.textContent());
  await at.shop.api.hold("hall", ["C-1", "C-2"]);
  await page.waitForFunction((wanted) => {
    const tile = [...document.querySelectorAll(".tile")].find((tile) => tile.textContent.includes("held"));
    return Number(tile.querySelector("dd").textContent) === wanted;
  }, before + 2);
});

house.test("a booking is found, cancelled and paid back", async (at) => {
  const holder = `buyer-${randomUUID()}`;
  const { id } = await booking(at.shop, ["A-1"], holder);
  const page = await enter(at, "/admin/bookings");
  await page.getByLabel("Booking, hold or holder").fill(holder);
  await page.getByRole("button", { name: "Find" }).click();
  await assertAccessible(page, "bookings");
  await page.getByRole("link", { name: id }).click();
  await page.getByText(`Booked by ${holder}.`).waitFor();
  await assertAccessible(page, "a booking");
  await page.getByText("Cancel and refund €45.00").click();
  await page.getByRole("button", { name: "Yes, cancel and refund" }).click();
  await page.getByRole("status").getByText("Cancelled.").waitFor();
  for (let looks = 0; !(await page.getByText("Refunded", { exact: true }).count()); looks += 1) {
    assert.ok(looks < 50, "the money goes back");
    await page.reload();
  }
  assert.equal((await at.shop.api.get(`/v1/bookings/${id}`)).payment.state, "refunded");
});

house.test("a seat's booking is found by its seat, with who has it now", async (at) => {
  const holder = `seated-${randomUUID()}`;
  const { id } = await booking(at.shop, ["B-3"], holder);
  const page = await enter(at, "/admin/bookings");
  await page.getByLabel("Offer").selectOption("hall");
  await page.getByLabel("Its seat or unit").fill("B-3");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByRole("status").getByText(`${holder} has it.`).waitFor();
  await page.getByRole("row", { name: id }).getByText("has it now").waitFor();
  await assertAccessible(page, "a seat's bookings");
});

house.test("a payment that needs a person is seen from any page, without a reload", async (at) => {
  const page = await enter(at, "/admin");
  const held = await at.shop.api.hold("hall", ["E-1"], `refunded-${randomUUID()}`);
  const payment = { provider: "stripe", payment_method: "pm_simulator_refund_failure" };
  const { id } = await at.shop.api.post("/v1/bookings", { hold: held.id, payment });
  await at.shop.api.post(`/v1/bookings/${id}/cancel`);
  for (let looks = 0; (await at.shop.api.get(`/v1/bookings/${id}`)).payment.state !== "manual"; looks += 1) {
    assert.ok(looks < 2_000, "the bank refuses");
  }
  await page.evaluate(() => document.querySelector("nav live-part").refresh());
  const link = page.getByRole("link", { name: "Payments 1 waiting for a person" });
  await assertAccessible(page, "the figure beside the payments");
  await link.click();
  await page.getByRole("link", { name: id }).waitFor();
});

house.test("every line of a stock follows the sale", async (at) => {
  const lines = [{ key: "GA", capacity: 500, price: 3000 }, { key: "VIP", capacity: 20, price: 9000 }];
  await at.shop.api.post("/v1/offers", { id: "lines", name: "Two Lines", kind: "stock", currency: "EUR", stock: { lines } });
  const page = await enter(at, "/admin/offers/lines");
  const vip = page.locator(".line-figures li", { hasText: "VIP" });
  await vip.getByText("20 free").waitFor();
  await assertAccessible(page, "the lines of a stock");
  await at.shop.api.hold("lines", ["VIP"]);
  await vip.getByText("19 free").waitFor();
  await vip.getByText("1 held").waitFor();
});

house.test("a seat's story says who had it and what the next one heard", async (at) => {
  await booking(at.shop, ["A-9"], "first-come");
  await at.shop.api.post("/v1/holds", { holder: "second", lines: [{ offer: "hall", unit: "A-9" }] }, { expect: 409 });
  const page = await enter(at, "/admin/journal");
  await assertAccessible(page, "the journal");
  await page.getByLabel("Offer").selectOption("hall");
  await page.getByLabel("Unit").fill("A-9");
  await page.getByRole("button", { name: "Look" }).click();
  const spans = page.getByRole("table");
  await spans.getByText("first-come").first().waitFor();
  await spans.getByText("Someone else has it").first().waitFor();
  await assertAccessible(page, "a seat's story");
});

house.test("the room is opened with one click, and paused with one", async (at) => {
  const page = await enter(at, "/admin/offers/flash");
  await page.getByRole("button", { name: "Open a waiting room" }).click();
  await page.getByRole("status").getByText("There is a waiting room now").waitFor();
  assert.equal((await at.shop.api.get("/v1/offers/flash/room")).method, "fifo");
  await assertAccessible(page, "the controls of a room");
  await page.getByRole("button", { name: "Pause the room" }).click();
  await page.getByRole("status").getByText("The room is paused").waitFor();
  assert.equal((await at.shop.api.get("/v1/offers/flash/room")).state, "paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("status").getByText("The room goes on.").waitFor();
  assert.equal((await at.shop.api.get("/v1/offers/flash/room")).state, "open");
});

house.test("everything works without scripts", async (at) => {
  const page = await enter(at, "/admin/offers/hall", { javascript: false });
  await page.getByLabel("D-5, free").check();
  await page.getByLabel("The whole row C").check();
  await page.getByRole("button", { name: "Take these off sale" }).click();
  await page.getByRole("status").getByText(/are off sale/).waitFor();
  await page.getByLabel("D-5, off sale").waitFor();
  await assertAccessible(page, "an offer without scripts");
  await page.goto("/admin/new/stock");
  await page.getByLabel("Name", { exact: true }).fill("Plain Stock");
  await page.getByRole("button", { name: "One more line" }).click();
  await page.getByLabel("Line 3").fill("VIP");
  await page.getByLabel("How many").nth(2).fill("20");
  await page.getByLabel("Price").nth(2).fill("99.50");
  await page.getByRole("button", { name: "Update preview" }).click();
  await page.getByRole("cell", { name: "€99.50" }).waitFor();
  await page.getByRole("button", { name: "Put on sale" }).click();
  await page.getByRole("status").getByText("It is on sale.").waitFor();
});

for (const path of ["/admin", "/admin/new/stock", "/admin/new/slots", "/admin/offers/flash", "/admin/offers/dr-lee"]) {
  house.test(`${path} is accessible, also on a phone`, async (at) => {
    await assertAccessible(await enter(at, path));
    const phone = await enter(at, path, { phone: true });
    await assertAccessible(phone, `${path} on a phone`);
    const overflow = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} px wider than a phone`);
  });
}
