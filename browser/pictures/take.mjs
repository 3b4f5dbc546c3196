// The pictures in docs/screenshots, of every page, in light and dark: `cargo xtask pictures`.
//
// One shop, arranged so that there is something to see on each page; the walk is the same in every look, by a visitor of
// its own, so that nobody finds the seats taken that the one before has bought.

import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { browserProgram, chromium } from "../support/tools.mjs";
import { startShop } from "../support/server.mjs";

const folder = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "docs/screenshots");

const LOOKS = [
  { name: "light", colorScheme: "light", width: 1280 },
  { name: "dark", colorScheme: "dark", width: 1280 },
  { name: "phone", colorScheme: "light", width: 390 },
];

/** Buyers who were here before, so that the pages are those of a shop that sells. */
async function arrange({ api }) {
  const booked = [];
  for (const [index, units] of [["B-1", "B-2"], ["C-3", "C-4", "C-5"], ["E-9"]].entries()) {
    const { id } = await api.hold("hall", units, `guest-${index + 1}`);
    const payment = { provider: "stripe", payment_method: "pm_card_visa" };
    booked.push(await api.post("/v1/bookings", { hold: id, payment }));
  }
  await api.hold("hall", ["D-10", "D-11"], "guest-4");
  await api.post("/v1/offers/hall/block", { units: ["H-19", "H-20"] });
  for (let party = 0; party < 60; party += 1) {
    await api.post("/v1/holds", { holder: `party-${party}`, lines: [{ offer: "stadium", best: { qty: 6 } }] });
  }
  return booked[0].id;
}

async function walk(look, browser, shop, booking) {
  const { width, colorScheme } = look;
  const context = await browser.newContext({
    baseURL: shop.url,
    viewport: { width, height: width > 500 ? 860 : 844 },
    colorScheme,
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const picture = (name, fullPage = false) =>
    page.screenshot({ path: join(folder, `${name}-${look.name}.png`), fullPage });
  await buy(page, picture, shop);
  await organise(page, picture, shop, booking);
  await context.close();
}

async function buy(page, picture, { api }) {
  await page.goto("/");
  await picture("shop");
  for (const offer of ["hall", "stadium"]) {
    await page.goto(`/o/${offer}`);
    await page.locator("seat-map[data-state=live]").waitFor();
    await picture(offer);
  }
  await page.goto("/o/dr-lee");
  await page.getByRole("link", { name: "Later" }).click();
  await page.locator("slot-week[data-version]").waitFor();
  await picture("slots");
  await page.goto("/o/flash");
  await picture("stock");
  await page.goto("/o/hall");
  await page.locator(".best-form [name=best]").fill("2");
  await page.getByRole("button", { name: "Find the best seats" }).click();
  await page.waitForURL("**/holds/*");
  await picture("checkout", true);
  await page.locator('input[value="pm_card_chargeDeclinedInsufficientFunds"]').check();
  await page.getByRole("button", { name: /^Pay €/ }).click();
  await page.getByRole("alert").waitFor();
  await picture("declined");
  await page.locator('input[value="pm_card_visa"]').check();
  await page.getByRole("button", { name: /^Pay €/ }).click();
  await page.getByRole("heading", { name: "It is yours" }).waitFor();
  await picture("booking", true);
  await api.put("/v1/offers/flash/room", { method: "fifo", max_active: 1 });
  await page.goto("/o/flash/queue");
  await picture("queue");
  await page.goto("/docs");
  await picture("docs");
}

async function organise(page, picture, { key }, booking) {
  await page.goto("/admin");
  await page.getByLabel("API key").fill(key);
  await picture("admin-sign-in");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading").first().waitFor();
  await picture("admin");
  await page.goto("/admin/offers/hall");
  await page.locator("seat-map[data-state=live]").waitFor();
  await picture("admin-offer", true);
  await page.goto("/admin/new/seats");
  await picture("admin-new");
  await page.goto(`/admin/bookings/${booking}`);
  await picture("admin-booking");
  await page.goto("/admin/journal?offer=hall&unit=B-1");
  await picture("admin-journal");
}

await mkdir(folder, { recursive: true });
const shop = await startShop();
const unconfined = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath: browserProgram(), args: [...unconfined, "--disable-gpu"] });
try {
  const booking = await arrange(shop);
  for (const look of LOOKS) {
    await walk(look, browser, shop, booking);
    console.log(`${look.name}: done`);
  }
} finally {
  await browser.close();
  await shop.stop();
}
