// Buying something, from the list to the ticket: without scripts, impatiently, with a wrong clock, with a bad card, and
// against somebody who wants the same seat.

import assert from "node:assert/strict";

import { assertAccessible } from "./support/axe.mjs";
import { openHouse, passes, runsAhead } from "./support/browser.mjs";

const house = openHouse();

const button = (page, name) => page.getByRole("button", { name });
const idIn = (page) => new URL(page.url()).pathname.split("/").at(-1);

/** Holds seats through the form that needs no script; the page is then the hold's. */
async function holdSeats(page, units) {
  await page.goto("/o/hall");
  for (const unit of units) await page.locator(`input[name=unit][value="${unit}"]`).check({ force: true });
  await button(page, "Hold these seats").click();
  await page.waitForURL("**/holds/*");
}

/** Holds the best seats there are, as everybody can. */
async function holdBest(page, qty) {
  await page.goto("/o/hall");
  await page.locator(".best-form [name=best]").fill(String(qty));
  await button(page, "Find the best seats").click();
  await page.waitForURL("**/holds/*");
}

const pay = async (page, card) => {
  await page.locator(`input[value="${card}"]`).check();
  await button(page, /^Pay €/).click();
};

const bookingsOf = async (shop, hold) =>
  (await shop.api.get("/v1/bookings?offer=hall&limit=500")).data.filter((booking) => booking.hold === hold);

house.test("the whole purchase without a script, every page of it accessible", async ({ visit }) => {
  const page = await visit("/", { javascript: false });
  await assertAccessible(page, "shop");
  await page.getByRole("link", { name: "Night at the Hall" }).click();
  await assertAccessible(page, "seats");
  await holdSeats(page, ["A-1", "A-2"]);
  await assertAccessible(page, "hold");
  await page.getByText("Row A, seat 2").waitFor();
  await pay(page, "pm_card_visa");
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
  await page.getByRole("img", { name: /QR code/ }).waitFor();
  await assertAccessible(page, "booking");
  await page.getByText("Cancel this booking").click();
  await button(page, "Cancel it").click();
  await page.getByRole("heading", { name: "Cancelled" }).waitFor();
  await assertAccessible(page, "cancelled");
});

for (const javascript of [true, false]) {
  house.test(`paying twice books once, ${javascript ? "with" : "without"} scripts`, async ({ visit, shop }) => {
    const page = await visit("/", { javascript });
    await holdBest(page, 2);
    const hold = idIn(page);
    await button(page, /^Pay €/).dblclick();
    await page.getByRole("heading", { name: "You're booked" }).waitFor();
    assert.equal((await bookingsOf(shop, hold)).length, 1);
  });
}

house.test("a clock that is ten minutes wrong changes nothing", async ({ visitor }) => {
  for (const wrong of [-600_000, 600_000]) {
    const context = await visitor();
    await context.addInitScript((wrong) => {
      const Right = Date;
      globalThis.Date = class extends Right {
        constructor(...given) {
          super(...(given.length ? given : [Right.now() + wrong]));
        }
        static now() {
          return Right.now() + wrong;
        }
      };
    }, wrong);
    const page = await context.newPage();
    await holdBest(page, 1);
    const shown = await page.locator("hold-timer[data-shown-ms]").getAttribute("data-shown-ms");
    assert.ok(Number(shown) > 570_000 && Number(shown) <= 600_000, `${shown} ms are shown of 600,000`);
    await pay(page, "pm_card_visa");
    await page.getByRole("heading", { name: "You're booked" }).waitFor();
  }
});

house.test("a declined card keeps the seats, and a good one pays for them", async ({ visit, shop }) => {
  const page = await visit("/");
  await holdBest(page, 2);
  const hold = idIn(page);
  const lines = (await shop.api.get(`/v1/holds/${hold}`)).lines;
  await pay(page, "pm_card_chargeDeclinedInsufficientFunds");
  await page.getByRole("alert").getByText("The card was not charged").waitFor();
  await assertAccessible(page, "declined");
  assert.deepEqual((await shop.api.get(`/v1/holds/${hold}`)).lines, lines);
  await pay(page, "pm_card_visa");
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
  const [booking] = (await bookingsOf(shop, hold)).filter(({ state }) => state === "confirmed");
  assert.deepEqual(booking.lines, lines);
});

house.test("a reload, a second tab and a return find the hold again, and one of them buys it", async ({ visitor, shop }) => {
  const context = await visitor();
  const page = await context.newPage();
  await holdBest(page, 1);
  const [address, hold] = [page.url(), idIn(page)];
  await page.reload();
  await page.getByRole("heading", { name: "Yours, for now" }).waitFor();
  const second = await context.newPage();
  await second.goto("/");
  await second.getByRole("heading", { name: "You are holding" }).waitFor();
  await assertAccessible(second, "shop, holding");
  await second.getByRole("link", { name: "Continue" }).first().click();
  await second.waitForURL(address);
  await second.reload();
  await pay(second, "pm_card_visa");
  await second.getByRole("heading", { name: "You're booked" }).waitFor();
  await pay(page, "pm_card_visa");
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
  assert.equal(page.url(), second.url(), "whoever pays in the other tab is led to the same booking");
  assert.deepEqual((await bookingsOf(shop, hold)).map(({ state }) => state), ["confirmed"]);
});

house.test("a seat of the map is in the shop, and its booking is found again after the tab is closed", async ({ visitor }) => {
  const context = await visitor();
  const page = await context.newPage();
  await page.goto("/o/hall");
  await page.locator("seat-map[data-state=live]").waitFor();
  const free = page.locator("[role=gridcell][data-state=available]").first();
  const seat = (await free.getAttribute("aria-label")).split(", €")[0];
  await free.click();
  await page.locator(":is(.map-hold, .map-bar):visible").first().waitFor();
  await page.getByRole("link", { name: "Shop" }).first().click();
  await page.getByRole("heading", { name: "You are holding" }).waitFor();
  await page.getByText(`Night at the Hall: ${seat}`).waitFor();
  await page.getByRole("link", { name: "Continue" }).click();
  await pay(page, "pm_card_visa");
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
  const booking = page.url();
  await page.close();
  const later = await context.newPage();
  await later.goto("/");
  await later.getByRole("link", { name: "Your bookings" }).click();
  await assertAccessible(later, "your bookings");
  await later.getByRole("link", { name: "Night at the Hall" }).click();
  await later.waitForURL(booking);
});

house.test("what is given back is gone from every tab", async ({ visitor }) => {
  const context = await visitor();
  const page = await context.newPage();
  await holdBest(page, 1);
  const second = await context.newPage();
  await second.goto(page.url());
  await button(second, "Give it back").click();
  await second.getByRole("heading", { name: "Given back" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Given back" }).waitFor();
  await assertAccessible(page, "given back");
});

/** What the journal says of a hold, entry by entry. */
const storyOf = async (shop, hold) => (await shop.api.get(`/v1/journal?hold=${hold}`)).data.map(({ kind }) => kind);

/** Asks the server until something is as it should be: what a page says as it goes, nobody hears of otherwise. */
async function until(ask, isRight) {
  for (let asked = 0; ; asked += 1) {
    const found = await ask();
    if (isRight(found)) return found;
    assert.ok(asked < 200, `it stays ${JSON.stringify(found)}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
const untilHold = (shop, hold, isRight) => until(() => shop.api.get(`/v1/holds/${hold}`), isRight);
const untilStory = (shop, hold, isRight) => until(() => storyOf(shop, hold), isRight);

const isShort = ({ expires_in_ms: left }) => left <= 60_000;
const isLong = ({ expires_in_ms: left }) => left > 500_000;

house.test("leaving shortens a hold, and coming back gives back its time", async ({ visit, shop }) => {
  const page = await visit("/");
  await holdBest(page, 1);
  const [address, hold] = [page.url(), idIn(page)];
  await page.getByText(/If you close this page we keep your seats? for 1 minute\./).waitFor();
  await page.getByRole("link", { name: "Shop" }).first().click();
  await page.getByRole("heading", { name: "You are holding" }).waitFor();
  await page.getByRole("link", { name: "Continue" }).first().click();
  await page.waitForURL(address);
  assert.deepEqual(await storyOf(shop, hold), ["hold_placed"], "from page to page nobody leaves");

  await page.goto("about:blank");
  await untilHold(shop, hold, isShort);
  await page.goto(address);
  await untilHold(shop, hold, isLong);
  await page.locator("hold-timer.big .timer-figure").filter({ hasText: /^(9|10):/ }).waitFor();
  assert.deepEqual(await storyOf(shop, hold), ["hold_placed", "hold_left", "hold_returned"]);
});

house.test("a second tab that closes takes nothing from the first", async ({ visitor, shop }) => {
  const context = await visitor();
  const page = await context.newPage();
  await holdBest(page, 1);
  const second = await context.newPage();
  await second.goto(page.url());
  await second.goto("about:blank");
  // The first may say that it is still there a moment later: the journal forgets neither.
  await untilStory(shop, idIn(page), (story) => story.includes("hold_left") && story.at(-1) === "hold_returned");
  await untilHold(shop, idIn(page), isLong);
});

house.test("two browsers race for one seat: one has it, the other has another", async ({ visit, shop }) => {
  const racers = await Promise.all([1, 2].map(() => visit("/o/hall", { javascript: false })));
  for (const page of racers) await page.locator('input[name=unit][value="B-7"]').check({ force: true });
  await Promise.all(racers.map((page) => button(page, "Hold these seats").click()));
  await Promise.all(racers.map((page) => page.getByRole("heading", { name: /^(Yours, for now|Just taken)$/ }).waitFor()));
  const won = racers.filter((page) => page.url().includes("/holds/"));
  assert.equal(won.length, 1, "one sees that it is theirs");
  const [second] = racers.filter((page) => !won.includes(page));
  await second.getByRole("heading", { name: "Just taken" }).waitFor();
  await assertAccessible(second, "just taken");
  await second.locator(".alternative").first().click();
  await second.getByRole("heading", { name: "Yours, for now" }).waitFor();
  const journal = await shop.api.get("/v1/journal?offer=hall&unit=B-7");
  const placed = journal.data.filter(({ kind }) => kind === "hold_placed");
  assert.deepEqual(placed.map(({ hold }) => hold), [idIn(won[0])], "the journal agrees");
});

house.test("the clock speaks once a minute, and an extension is offered before the end", async ({ visitor, shop }) => {
  const context = await visitor();
  await runsAhead(context);
  const page = await context.newPage();
  await holdBest(page, 1);
  const hold = idIn(page);
  const clock = page.locator("hold-timer.big");
  const spoken = clock.getByRole("status");
  const says = (words) => spoken.filter({ hasText: words }).waitFor({ state: "attached" });
  await clock.getByRole("timer").filter({ hasText: /^(10:00|9:)/ }).waitFor();
  assert.equal(await spoken.textContent(), "", "what the page has just said is not said again");
  await passes(page, 61_000);
  await says("9 minutes left");
  await passes(page, 60_000);
  await says("8 minutes left");
  await passes(page, 430_000);
  await says("You can extend the hold.");
  await page.locator("form.extend.offered").waitFor();

  const before = Date.parse((await shop.api.get(`/v1/holds/${hold}`)).expires_at);
  await button(page, "Extend the hold").click();
  await page.getByText("You can do this 2 more times.").waitFor();
  await clock.getByRole("timer").filter({ hasText: /^(10:00|9:)/ }).waitFor();
  const extended = await shop.api.get(`/v1/holds/${hold}`);
  assert.ok(Date.parse(extended.expires_at) > before, "the end has moved");
  assert.equal(extended.extensions, 1);
});

house.test("time runs out, and there is a way back", async ({ visit, shop }) => {
  await shop.api.post("/v1/offers", {
    id: "brief", name: "Brief encounter", kind: "stock", currency: "EUR", hold_ttl_s: 3,
    stock: { lines: [{ key: "GA", capacity: 5, price: 500 }] },
  });
  const page = await visit("/o/brief");
  await assertAccessible(page, "stock");
  await button(page, "Hold").click();
  await page.getByRole("heading", { name: "Time is up" }).waitFor();
  await assertAccessible(page, "time is up");
  await button(page, "Try to hold it again").click();
  await page.getByRole("heading", { name: "Yours, for now" }).waitFor();
});

house.test("a start that somebody takes vanishes from the week", async ({ visit, shop }) => {
  const page = await visit("/o/dr-lee");
  await page.getByRole("link", { name: "Later" }).click();
  await page.locator("slot-week[data-version]").waitFor();
  await assertAccessible(page, "slots");
  const slot = page.locator("button.slot").nth(3);
  const start = await slot.getAttribute("value");
  await slot.focus();
  await shop.api.post("/v1/holds", { holder: "somebody", lines: [{ offer: "dr-lee", service: "consult", start }] });
  await page.locator(`button.slot[value="${start}"]`).waitFor({ state: "hidden" });
  await page.locator("button.slot:focus:visible").waitFor();
});

house.test("an appointment is bought, shown on the clocks of both places", async ({ visit, shop }) => {
  const page = await visit("/o/dr-lee", { zone: "America/New_York" });
  await page.getByRole("link", { name: "Later" }).click();
  await page.locator("slot-week[data-version]").waitFor();
  await page.getByText("Times in Europe/Berlin.").waitFor();
  assert.equal(await page.getByLabel("Also show").inputValue(), "America/New_York");
  const slot = page.locator("button.slot").first();
  const start = await slot.getAttribute("value");
  const clock = (timeZone) =>
    new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(new Date(start));
  const [here, theirs] = [clock("Europe/Berlin"), clock("America/New_York")];
  assert.notEqual(here, theirs);
  assert.equal(start.slice(11, 16), here, "its offset is the calendar's");
  assert.equal(await slot.locator("span:not(.visually-hidden)").textContent(), here);
  assert.equal(await slot.locator(".theirs").textContent(), theirs);

  await slot.click();
  await page.waitForURL("**/holds/*");
  const bothClocks = async () => {
    await page.locator(".lines strong").getByText(here).waitFor();
    await page.getByText("Europe/Berlin").first().waitFor();
    await page.getByText(`${theirs} (America/New_York)`).waitFor();
  };
  await bothClocks();
  await assertAccessible(page, "an appointment held");
  await pay(page, "pm_card_visa");
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
  await bothClocks();
  await assertAccessible(page, "an appointment booked");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Add to calendar" }).click()]);
  assert.equal(file.suggestedFilename(), "booking.ics");
  const { lines } = await shop.api.get(`/v1/bookings/${idIn(page)}`);
  assert.deepEqual([lines[0].service, Date.parse(lines[0].unit)], ["consult", Date.parse(start)]);
});

house.test("what is not there has a page too", async ({ visit }) => {
  const page = await visit("/nowhere");
  await page.getByRole("link", { name: "To the shop" }).waitFor();
  await assertAccessible(page, "404");
});
