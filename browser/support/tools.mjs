// Where the tools are that the tests did not bring along. `cargo xtask browser` says so in the environment; without it
// the places that it would use are tried, so that one file can be run by hand: `node --test browser/map.mjs`.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");

/** The server under test. */
export const program = process.env.HOLDFAST_TEST_PROGRAM ?? join(target, "debug/holdfast");

/** Where screenshots of failures are kept. */
export const shots = join(target, "browser");

const require = createRequire(join(process.env.HOLDFAST_TEST_TOOLS ?? join(target, "tools/browser"), "any.js"));

export const { chromium } = require("playwright-core");
export const axeSource = require("axe-core").source;

/** The browser of the system: nothing is downloaded. */
export function browserProgram() {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (!found) throw new Error("there is no Chromium here; `cargo xtask setup` installs it");
  return found;
}

/** A number from the environment, for tests whose full size takes long. */
export function knob(name, usual) {
  const given = process.env[name];
  return given === undefined ? usual : Number(given);
}
