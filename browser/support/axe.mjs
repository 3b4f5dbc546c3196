// axe on a page, in every way that people look at it.

import assert from "node:assert/strict";

import { axeSource } from "./tools.mjs";

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Every look that a page must be readable in. */
export const LOOKS = [
  { name: "light", media: { colorScheme: "light", forcedColors: "none" } },
  { name: "dark", media: { colorScheme: "dark", forcedColors: "none" } },
  // Here the colours are the visitor's own, and axe reads the text's as the page would have had it.
  { name: "forced colours", media: { colorScheme: "dark", forcedColors: "active" }, without: ["color-contrast"] },
];

/** Fails with what axe found on the page as it stands, in light, dark and forced colours. */
export async function assertAccessible(page, what = page.url()) {
  if (page.context().javascript !== false) return assertEveryLook(page, what);
  const copy = await copyOf(page);
  await assertEveryLook(copy, what);
  await copy.context().close();
}

/** axe is a script. A page that may run none is looked at in a copy that may: what it is made of, at the same address. */
async function copyOf(page) {
  const html = await page.content();
  const context = await page.context().browser().newContext({ viewport: page.viewportSize() });
  const copy = await context.newPage();
  await copy.route("**/*", (route) => {
    if (route.request().isNavigationRequest()) return route.fulfill({ contentType: "text/html; charset=utf-8", body: html });
    return route.request().resourceType() === "script" ? route.abort() : route.continue();
  });
  await copy.goto(page.url());
  return copy;
}

async function assertEveryLook(page, what) {
  for (const { name, media, without = [] } of LOOKS) {
    await page.emulateMedia(media);
    // A picture is taken of a finished frame: from then on the page has its new colours.
    await page.screenshot({ clip: { x: 0, y: 0, width: 1, height: 1 } });
    const violations = await inspect(page, without);
    assert.equal(violations.length, 0, `${what}, ${name}:\n${violations.map(describe).join("\n")}`);
  }
  await page.emulateMedia(LOOKS[0].media);
}

/** Run outside the page's own policy, as a browser's extension would. */
async function inspect(page, without) {
  const session = await page.context().newCDPSession(page);
  try {
    const { frameTree } = await session.send("Page.getFrameTree");
    const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", {
      frameId: frameTree.frame.id,
      worldName: "axe",
    });
    const evaluate = async (expression, awaitPromise = false) => {
      const answer = await session.send("Runtime.evaluate", { expression, contextId, awaitPromise, returnByValue: true });
      if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? "axe failed");
      return answer.result.value;
    };
    await evaluate(axeSource);
    const rules = Object.fromEntries(without.map((rule) => [rule, { enabled: false }]));
    const options = { runOnly: { type: "tag", values: RULES }, rules, resultTypes: ["violations"] };
    return await evaluate(`axe.run(document, ${JSON.stringify(options)}).then((found) => found.violations)`, true);
  } finally {
    await session.detach();
  }
}

function describe({ id, impact, help, nodes }) {
  const places = nodes.slice(0, 5).map((node) => `    ${node.html.slice(0, 160)}\n      ${node.failureSummary}`);
  return `  ${id} (${impact}): ${help}\n${places.join("\n")}`;
}
