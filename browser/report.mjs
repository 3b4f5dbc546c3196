// The lab's pictures: the report from a disk and from the server, stepped by keyboard, and the race on the spot.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assertAccessible } from "./support/axe.mjs";
import { openHouse } from "./support/browser.mjs";
import { sampleReport } from "./support/report.mjs";

const house = openHouse();

/** The report as a file of its own, opened from disk, with everything it asked for. */
async function fromDisk({ visitor, shop }, wishes, look, report = sampleReport()) {
  const { url } = await shop.api.post("/lab/reports", report);
  const folder = await mkdtemp(join(tmpdir(), "report-"));
  const file = join(folder, "report.html");
  await writeFile(file, await (await fetch(shop.url + url)).text());
  const page = await (await visitor(wishes)).newPage();
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  try {
    await page.goto(`file://${file}`);
    await page.locator("race-lanes svg").first().waitFor();
    await look(page);
    assert.deepEqual(asked, [`file://${file}`], "the file needs nothing else");
  } finally {
    await rm(folder, { recursive: true });
  }
}

const voice = (page) => page.locator(".voice");
const owners = (page) => page.locator(".count b").allTextContents();

for (const phone of [false, true]) {
  house.test(`a report from a disk is accessible in every look${phone ? ", on a phone" : ""}`, (given) =>
    fromDisk(given, { phone }, async (page) => {
      assert.match(await page.locator("h1").textContent(), /One seat\. 20 buyers\. naive sold it 16 times\. batched sold it once\./);
      for (const fold of await page.locator("details").all()) await fold.locator("summary").click();
      await assertAccessible(page);
      const [seen, whole] = await page.evaluate(() => [document.documentElement.clientWidth, document.documentElement.scrollWidth]);
      assert.ok(whole <= seen, `nothing hangs over the edge: ${whole} of ${seen}`);
    }));
}

house.test("a long scenario's name does not push a narrow page aside", (given) => {
  const report = sampleReport();
  report.runs.push({ ...report.runs[0], scenario: "open_uncontended_with_a_name_that_is_longer_than_a_phone_is_wide", load: "open", rate_per_s: 200 });
  return fromDisk(given, { viewport: { width: 500, height: 900 } }, async (page) => {
    const [seen, whole] = await page.evaluate(() => [document.documentElement.clientWidth, document.documentElement.scrollWidth]);
    assert.ok(whole <= seen, `nothing hangs over the edge: ${whole} of ${seen}`);
  }, report);
});

house.test("a race is stepped by keyboard, from its start to its end", (given) =>
  fromDisk(given, {}, async (page) => {
    assert.deepEqual(await owners(page), ["16", "1"], "the whole story is there at once");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Home");
    assert.match(await voice(page).textContent(), /^0 µs · .*buyer-1 (reads|asks)/);
    assert.deepEqual(await owners(page), ["0", "0"]);
    let said = "";
    for (let step = 0; step < 400 && !/double sale/.test(said); step += 1) {
      await page.keyboard.press("ArrowRight");
      said = await voice(page).textContent();
    }
    assert.match(said, /naive: double sale: A-1 has 16 owners/);
    assert.equal(await page.locator(".band-edge").count(), 1);
    assert.equal((await owners(page))[0], "2", "red from the second owner on");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("End");
    assert.deepEqual(await owners(page), ["16", "1"]);
    await page.keyboard.press(" ");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.keyboard.press(" ");
    await page.getByRole("button", { name: "Play" }).waitFor();
  }));

house.test("one crowd is drawn as bars, on a phone, too", (given) => {
  const report = sampleReport();
  report.contention = report.contention.filter((point) => point.buyers === 50);
  return fromDisk(given, { phone: true }, async (page) => {
    const chart = page.locator("#contention");
    assert.equal(await chart.locator("rect.bar").count(), 5);
    assert.equal(await chart.locator("svg text.name").first().textContent(), "writer", "the fastest on top");
    assert.match(await chart.locator(".lead").textContent(), /while 50 buyers want the same thing/);
    await assertAccessible(page);
  }, report);
});

house.test("the scoreboard sorts, and luck is not called safety", (given) =>
  fromDisk(given, {}, async (page) => {
    const board = page.locator(".scores");
    const firsts = () => board.locator("tbody th code").allTextContents();
    assert.equal((await firsts())[0], "writer", "strategies first, the fastest on top");
    await board.getByRole("button", { name: "p50" }).click();
    assert.equal(await board.locator("th[aria-sort=ascending]").textContent(), "p50 ↑");
    const row = (name) => board.locator("tr", { has: page.locator(`code:text-is("${name}")`) });
    assert.match(await row("naive_lucky").textContent(), /none seen/);
    assert.match(await row("naive_behind_unique").textContent(), /saved by the unique index/);
    assert.match(await row("naive").textContent(), /15 findings/);
    assert.doesNotMatch(await page.locator("main").innerText(), /\bsafe\b/i);
    await page.getByLabel("Scenario").selectOption("uncontended · 20 buyers");
    assert.deepEqual(await firsts(), ["uncontended_only"]);
  }));

house.test("in the demo a visitor runs the race and sees the seat sold again", async ({ visit }) => {
  const page = await visit("/lab");
  await assertAccessible(page);
  await page.getByRole("button", { name: "Run the race" }).click();
  await page.waitForURL(/\/lab\/races\/[0-9a-f]{12}$/);
  await page.locator("race-lanes svg").first().waitFor();
  assert.match(await page.locator("h1").textContent(), /naive sold it \d+ times\. writer sold it once/);
  await assertAccessible(page);
  await page.getByRole("link", { name: "All races and reports" }).click();
  await page.getByRole("link", { name: /naive: 20 buyers/ }).waitFor();
});
