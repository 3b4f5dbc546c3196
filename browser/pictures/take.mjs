// The pictures in docs/screenshots, of every page and state that people meet: `cargo xtask pictures`.
//
// One shop, arranged so that there is something to see on each page; the walk is the same in every look, by a visitor of
// its own, so that nobody finds the seats taken that the one before has bought. Words narrow it down: `cargo xtask
// pictures dark hall` takes the dark ones whose names contain "hall".

import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { browserProgram, chromium } from "../support/tools.mjs";
import { startShop } from "../support/server.mjs";

const folder = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "docs/screenshots");

/** A phone's screen has two pixels where a desktop's has one. */
const LOOKS = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 860 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1280, height: 860 } },
  { name: "phone", colorScheme: "light", viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true },
];

/** States that look on a phone as anybody would guess who has seen them elsewhere. */
const NOT_ON_A_PHONE = new Set([
  "hall-taken", "declined", "cancelled", "time-is-up", "refused", "queue", "queue-paused", "queue-sold-out", "sold-out",
  "not-yet", "not-found", "docs", "problems", "lab", "admin-sign-in", "admin-new-slots", "admin-csv", "admin-csv-fault",
  "admin-payments", "admin-payment", "admin-seat", "admin-room", "admin-room-paused", "admin-block",
]);

const DAY_MS = 86_400_000;
const VISA = { provider: "stripe", payment_method: "pm_card_visa" };
const CSV = "section,category,price,row,seats\nStalls,A,45,A,12\nStalls,A,45,B,14\nStalls,A,45,C,16\nBalcony,B,29,D,18\nBalcony,B,29,E,18\n";

// ── The shop ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const stock = (id, name, capacity, price, more = {}) =>
  ({ id, name, kind: "stock", currency: "EUR", stock: { lines: [{ key: "GA", capacity, price }] }, ...more });

async function book(api, offer, units, holder, payment = VISA) {
  const { id } = await api.hold(offer, units, holder);
  return api.post("/v1/bookings", { hold: id, payment });
}

/** Buyers who were here before, so that the pages are those of a shop that sells. */
async function arrange({ api }) {
  const booked = [];
  for (const [index, units] of [["B-1", "B-2"], ["C-3", "C-4", "C-5"], ["E-9"]].entries()) {
    booked.push(await book(api, "hall", units, `guest-${index + 1}`));
  }
  await api.hold("hall", ["D-10", "D-11"], "guest-4");
  await api.post("/v1/offers/hall/block", { units: ["H-19", "H-20"] });
  for (let party = 0; party < 60; party += 1) {
    await api.post("/v1/holds", { holder: `party-${party}`, lines: [{ offer: "stadium", best: { qty: 6 } }] });
  }
  await api.post("/v1/offers", stock("encore", "Encore", 2, 6500));
  const last = await api.post("/v1/holds", { holder: "guest-5", lines: [{ offer: "encore", unit: "GA", qty: 2 }] });
  await api.post("/v1/bookings", { hold: last.id, payment: VISA });
  const opens = new Date(Date.now() + 9 * DAY_MS).toISOString();
  await api.post("/v1/offers", stock("festival", "Harbour Festival", 4000, 8900, { opens_at: opens }));
  await api.post("/v1/offers", stock("brief", "Last Orders", 40, 500, { hold_ttl_s: 2 }));
  await api.post("/v1/offers", stock("doors", "Doors at Dawn", 500, 2500));
  // A refund that the bank refuses is a matter for a person.
  const refused = await book(api, "hall", ["E-1", "E-2"], "guest-6", { ...VISA, payment_method: "pm_simulator_refund_failure" });
  await api.post(`/v1/bookings/${refused.id}/cancel`);
  return { booking: booked[0].id, refused: refused.id };
}

/** A room that lets in one at a time, with some people in it. */
async function fill(browser, { url, api }, offer, people) {
  await api.put(`/v1/offers/${offer}/room`, { method: "fifo", max_active: 1, message: "Thank you for waiting. Four tickets a person." });
  for (let at = 0; at < people; at += 1) {
    const somebody = await browser.newContext({ baseURL: url });
    await somebody.request.post(`/o/${offer}/queue`);
    await somebody.close();
  }
}

// ── The walk ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A visitor with a camera: `at` is which of the looks it is, `picture(name)` takes one. */
async function visitor(browser, shop, look, wanted) {
  const { name: lookName, ...screen } = look;
  const context = await browser.newContext({ baseURL: shop.url, reducedMotion: "reduce", timezoneId: "America/New_York", ...screen });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const picture = async (name, { whole = false, of = page } = {}) => {
    const file = `${name}-${lookName}.png`;
    if ((lookName === "phone" && NOT_ON_A_PHONE.has(name)) || !wanted(file)) return;
    await of.screenshot({ path: join(folder, file), fullPage: whole });
  };
  const withoutScripts = () => browser.newContext({ baseURL: shop.url, javaScriptEnabled: false, ...screen });
  return { page, picture, shop, browser, withoutScripts, isPhone: lookName === "phone", at: LOOKS.indexOf(look), close: () => context.close() };
}

const live = (page) => page.locator("seat-map[data-state=live]").waitFor();
const cell = (page, row, seat) => page.locator(`[role=gridcell][aria-label^="Row ${row}, seat ${seat},"]`);
const top = (page) => page.evaluate(() => scrollTo(0, 0));

/** The map itself: on a phone it begins below the first screen. */
const showMap = (page, isPhone) =>
  page.locator(".map-stage").evaluate((stage, below) => scrollTo(0, below ? stage.getBoundingClientRect().top + scrollY - 16 : 0), isPhone);
const button = (page, name) => page.getByRole("button", { name });

async function seeTheMaps({ page, picture, shop, at, isPhone }) {
  await page.goto("/o/hall");
  await live(page);
  await picture("hall");
  await page.getByLabel("Seats per click").selectOption("2");
  await cell(page, "A", 6 + 3 * at).click();
  await page.locator(":is(.map-hold, .map-bar):visible").first().waitFor();
  await showMap(page, isPhone);
  await picture("hall-yours");
  await page.getByRole("link", { name: "Check out" }).click();
  await page.waitForURL("**/holds/*");
  await page.goto("/");
  await page.getByRole("heading", { name: "You are holding" }).waitFor();
  await picture("shop");
  await page.goto("/o/hall");
  await live(page);
  // Somebody is quicker, by as much as the request is under way.
  const seat = 8 + 2 * at;
  await page.route("**/v1/holds", async (route) => {
    await shop.api.hold("hall", [`B-${seat}`], `quicker-${at}`);
    await route.continue();
  });
  await cell(page, "B", seat).click();
  await page.locator(".map-note .note").waitFor();
  await page.unroute("**/v1/holds");
  await top(page);
  await picture("hall-taken");
  await page.goto("/o/stadium");
  await live(page);
  await picture("stadium");
  await page.getByLabel("Section", { exact: true }).selectOption({ index: 3 });
  await showMap(page, isPhone);
  await picture("stadium-seats");
}

async function seeTheOthers({ page, picture }) {
  await page.goto("/o/dr-lee");
  await page.getByRole("link", { name: "Later" }).click();
  await page.locator("slot-week[data-version]").waitFor();
  await picture("slots");
  await page.goto("/o/flash");
  await picture("stock");
  await page.goto("/o/encore");
  await picture("sold-out");
  await page.goto("/o/festival");
  await picture("not-yet");
  await page.goto("/nowhere");
  await picture("not-found");
  for (const [path, name] of [["/docs", "docs"], ["/problems", "problems"]]) {
    await page.goto(path);
    await picture(name);
  }
}

async function buy({ page, picture }) {
  await page.goto("/o/hall");
  await page.locator(".best-form [name=best]").fill("2");
  await button(page, "Find the best seats").click();
  await page.waitForURL("**/holds/*");
  await picture("checkout", { whole: true });
  await page.locator('input[value="pm_card_chargeDeclinedInsufficientFunds"]').check();
  await button(page, /^Pay €/).click();
  await page.getByRole("alert").waitFor();
  await picture("declined");
  await page.locator('input[value="pm_card_visa"]').check();
  await button(page, /^Pay €/).click();
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
  await picture("booking", { whole: true });
  const ticket = page.url();
  await page.goto("/bookings");
  await picture("bookings");
  await page.goto(ticket);
  await page.getByText("Cancel this booking").click();
  await button(page, "Cancel it").click();
  await page.getByRole("heading", { name: "Cancelled" }).waitFor();
  await picture("cancelled");
  await page.goto("/o/brief");
  await button(page, "Hold").click();
  await page.getByRole("heading", { name: "Time is up" }).waitFor();
  await picture("time-is-up");
}

/** Without scripts, what somebody else has by now is refused with a page of its own. */
async function comeTooLate({ picture, shop, withoutScripts, at }) {
  const context = await withoutScripts();
  const page = await context.newPage();
  const seat = `A-${3 + at}`;
  await page.goto("/o/hall");
  await page.locator(`input[name=unit][value="${seat}"]`).check({ force: true });
  await shop.api.hold("hall", [seat], `sooner-${at}`);
  await button(page, "Hold these seats").click();
  await page.getByRole("heading", { name: "Just taken" }).waitFor();
  await picture("refused", { of: page });
  await context.close();
}

async function wait({ page, picture, browser, shop }) {
  const { api } = shop;
  // Whoever does not come when called is passed over: by the next look these have gone.
  await fill(browser, shop, "doors", 24);
  await page.goto("/o/doors/queue");
  await picture("queue");
  await button(page, "Join the queue").click();
  await page.getByRole("heading", { name: "You are in the queue" }).waitFor();
  await picture("queue-waiting");
  await api.post("/v1/offers/doors/room/pause");
  await page.reload();
  await picture("queue-paused");
  await api.post("/v1/offers/doors/room/resume");
  await page.goto("/o/encore/queue");
  await picture("queue-sold-out");
}

async function organise({ page, picture, isPhone, shop: { key, api } }, { booking, refused }) {
  await page.goto("/admin");
  await page.getByLabel("API key").fill(key);
  await picture("admin-sign-in");
  await button(page, "Sign in").click();
  await button(page, "Sign out").waitFor();
  await picture("admin");
  await page.goto("/admin/offers/hall");
  await live(page);
  await picture("admin-offer", { whole: !isPhone });
  for (const seat of [7, 8, 9, 10]) await cell(page, "C", seat).click();
  await page.getByText("4 seats picked").waitFor();
  await page.locator("#units").evaluate((units) => scrollTo(0, units.offsetTop - 16));
  await picture("admin-block");
  await page.goto("/admin/offers/doors#room");
  await picture("admin-room");
  await api.post("/v1/offers/doors/room/pause");
  await page.goto("/admin/offers/doors?#room");
  await page.reload();
  await picture("admin-room-paused");
  await api.post("/v1/offers/doors/room/resume");
  for (const kind of ["seats", "slots"]) {
    await page.goto(`/admin/new/${kind}`);
    await picture(`admin-new-${kind}`);
  }
  await page.goto("/admin/new/csv");
  await page.getByLabel("Name", { exact: true }).fill("Night of the Organ");
  await page.getByLabel("CSV", { exact: true }).fill(CSV);
  await page.getByText("78 seats").waitFor();
  await picture("admin-csv");
  await page.getByLabel("CSV", { exact: true }).fill(CSV.replace("B,14", "B,fourteen"));
  await page.getByText("Line 3: seats must be a whole number").waitFor();
  await picture("admin-csv-fault");
  for (const [path, name] of [
    ["/admin/bookings", "admin-bookings"],
    ["/admin/bookings?offer=hall&unit=B-1", "admin-seat"],
    ["/admin/bookings?payment=manual", "admin-payments"],
    [`/admin/bookings/${booking}`, "admin-booking"],
    [`/admin/bookings/${refused}`, "admin-payment"],
    ["/admin/journal?offer=hall&unit=B-1", "admin-journal"],
  ]) {
    await page.goto(path);
    await picture(name);
  }
}

/** The first visitor runs the race, the others look at it. */
async function experiment({ page, picture }) {
  await page.goto("/lab");
  if (!(await page.getByRole("link", { name: /naive/ }).count())) {
    await button(page, "Run the race").click();
    await page.waitForURL("**/lab/races/*");
    await page.goto("/lab");
  }
  await picture("lab");
  await page.getByRole("link", { name: /naive/ }).first().click();
  await page.locator("race-lanes svg").first().waitFor();
  await picture("race");
}

async function walk(visit, arranged) {
  await seeTheMaps(visit);
  await seeTheOthers(visit);
  await buy(visit);
  await comeTooLate(visit);
  await wait(visit);
  await organise(visit, arranged);
  await experiment(visit);
}

const words = process.argv.slice(2);
const isLook = (word) => LOOKS.some(({ name }) => name === word);
const looks = words.some(isLook) ? LOOKS.filter(({ name }) => words.includes(name)) : LOOKS;
const parts = words.filter((word) => !isLook(word));
const wanted = (file) => parts.length === 0 || parts.some((part) => file.includes(part));

await mkdir(folder, { recursive: true });
const shop = await startShop();
const unconfined = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath: browserProgram(), args: [...unconfined, "--disable-gpu"] });
try {
  const arranged = await arrange(shop);
  await fill(browser, shop, "encore", 0);
  for (const look of looks) {
    const visit = await visitor(browser, shop, look, wanted);
    await walk(visit, arranged);
    await visit.close();
    console.log(`${look.name}: done`);
  }
} finally {
  await browser.close();
  await shop.stop();
}
