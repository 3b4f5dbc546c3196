// Stripe's own card form on the hold's page. Its script is played here, and what it would ask of Stripe goes to the
// simulator: nothing leaves the machine, and the page keeps the policy that it has.

import assert from "node:assert/strict";

import { assertAccessible } from "./support/axe.mjs";
import { openHouse, passes, runsAhead } from "./support/browser.mjs";
import { startStripeShop } from "./support/server.mjs";

const house = openHouse({ start: startStripeShop });

/** What Stripe's script is to the page: a form in a place, and a payment with the secret that the page was given. */
const STRIPE_SCRIPT = `
globalThis.Stripe = (key) => {
  const card = document.createElement("input");
  const label = document.createElement("label");
  label.append("Card ", card);
  return {
    elements: ({ mode, amount, currency }) => ({
      create: () => ({ mount: (host) => host.append(label) }),
      submit: async () => (mode === "payment" && amount > 0 && currency ? {} : { error: { message: "Not set up." } }),
    }),
    confirmPayment: async ({ clientSecret, confirmParams }) => {
      const [intent] = clientSecret.split("_secret_");
      const [method, asks] = card.value.split(" ");
      // What a bank asks of the buyer stands on this very page.
      if (asks) await new Promise((answered) => (globalThis.answerTheBank = answered));
      const body = new URLSearchParams({ key, client_secret: clientSecret, payment_method: method });
      const answer = await fetch("https://api.stripe.com/v1/payment_intents/" + intent + "/confirm", { method: "POST", body });
      const { error } = await answer.json();
      if (!error) location.href = confirmParams.return_url + "?redirect_status=succeeded";
      return { error };
    },
  };
};`;

async function visitWithStripe(visitor, shop) {
  const context = await visitor();
  await context.route("https://js.stripe.com/**", (route) =>
    route.fulfill({ contentType: "text/javascript", body: STRIPE_SCRIPT }));
  await context.route("https://api.stripe.com/**", async (route) => {
    const { pathname } = new URL(route.request().url());
    const { key, ...sent } = Object.fromEntries(new URLSearchParams(route.request().postData()));
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/x-www-form-urlencoded" };
    const answer = await fetch(shop.stripeUrl + pathname, { method: "POST", headers, body: new URLSearchParams(sent) });
    const allowed = { "access-control-allow-origin": "*" };
    await route.fulfill({ status: answer.status, headers: allowed, contentType: "application/json", body: await answer.text() });
  });
  return context;
}

async function holdOne(page) {
  await page.goto("/o/hall");
  await page.locator(".best-form [name=best]").fill("1");
  await page.getByRole("button", { name: "Find the best seats" }).click();
  await page.waitForURL("**/holds/*");
  return new URL(page.url()).pathname.split("/").at(-1);
}

async function pay(page, card) {
  await page.getByRole("textbox", { name: "Card" }).fill(card);
  await page.getByRole("button", { name: /^Pay €/ }).click();
}

const bookingsOf = async (shop, hold) =>
  (await shop.api.get("/v1/bookings?offer=hall&limit=500")).data.filter((booking) => booking.hold === hold);

house.test("a card is paid in Stripe's form, and the webhook books", async ({ visitor, shop }) => {
  const page = await (await visitWithStripe(visitor, shop)).newPage();
  const hold = await holdOne(page);
  await pay(page, "pm_card_visa");
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
  const [booking] = await bookingsOf(shop, hold);
  assert.deepEqual([booking.state, booking.payment.state], ["confirmed", "succeeded"]);
});

house.test("declined, loaded again, and paid with a good card: one booking, one payment", async ({ visitor, shop }) => {
  const context = await visitWithStripe(visitor, shop);
  const page = await context.newPage();
  const hold = await holdOne(page);
  await pay(page, "pm_card_visa_chargeDeclined");
  await page.getByRole("alert").getByText("declined").waitFor();
  assert.equal((await shop.api.get(`/v1/holds/${hold}`)).state, "paying");

  await page.reload();
  await page.getByRole("heading", { name: "Not paid yet" }).waitFor();
  await assertAccessible(page, "not paid yet");
  await pay(page, "pm_card_chargeDeclinedInsufficientFunds");
  await page.getByRole("alert").getByText("insufficient funds").waitFor();
  const second = await context.newPage();
  await second.goto(page.url());
  await pay(second, "pm_card_visa");
  await second.getByRole("heading", { name: "You're booked" }).waitFor();

  const bookings = await bookingsOf(shop, hold);
  assert.deepEqual(bookings.map(({ state, payment }) => [state, payment.state]), [["confirmed", "succeeded"]]);
  await page.reload();
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
});

/** The page goes out of sight, for so long, and is looked at again. */
async function lookAway(page, ms) {
  const look = (hidden) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  await look(true);
  await passes(page, ms);
  await look(false);
}

house.test("a bank that asks the buyer something is given time, also beyond the clock's end", async ({ visitor, shop }) => {
  const context = await visitWithStripe(visitor, shop);
  await runsAhead(context);
  const page = await context.newPage();
  const hold = await holdOne(page);
  await pay(page, "pm_card_visa asks");
  await page.waitForFunction(() => globalThis.answerTheBank);
  const asked = () => page.waitForResponse(`**/v1/holds/${hold}`);
  const looked = asked();
  await lookAway(page, 30_000);
  await (await looked).finished();
  const atTheEnd = asked();
  await passes(page, 700_000);
  await (await atTheEnd).finished();
  await page.getByText("It stays yours until the bank has answered.").waitFor();
  await page.evaluate(() => globalThis.answerTheBank());
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
});

house.test("whoever comes back from the bank without having paid is led to the form", async ({ visitor, shop }) => {
  const page = await (await visitWithStripe(visitor, shop)).newPage();
  const hold = await holdOne(page);
  await pay(page, "pm_card_visa_chargeDeclined");
  await page.getByRole("alert").getByText("declined").waitFor();
  const [booking] = await bookingsOf(shop, hold);
  await page.goto(`/bookings/${booking.id}?redirect_status=failed`);
  await page.getByRole("heading", { name: "Not paid yet" }).waitFor();
  await assertAccessible(page, "not paid, by the booking");
  await page.getByRole("link", { name: "Go on to pay" }).click();
  await pay(page, "pm_card_visa");
  await page.getByRole("heading", { name: "You're booked" }).waitFor();
});
