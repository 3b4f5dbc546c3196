// The reference and the pages of problems.

import assert from "node:assert/strict";

import { assertAccessible } from "./support/axe.mjs";
import { openHouse } from "./support/browser.mjs";

const house = openHouse();

for (const path of ["/docs", "/problems", "/problems/unit_taken"]) {
  house.test(`${path} is accessible in every look`, async ({ visit }) => {
    await assertAccessible(await visit(path));
  });
}

house.test("an example of the reference runs as it stands", async ({ visit, shop }) => {
  const page = await visit("/docs");
  await page.getByLabel("API key").fill(shop.key);
  const example = page.locator("#placeHold");
  await example.getByText("Try it").click();
  await example.getByRole("button", { name: "Send" }).click();
  const answer = example.locator("output", { hasText: "expires_at" });
  await answer.waitFor();
  assert.match(await answer.textContent(), /^201 Created/);
});
