import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

/** The most bytes. With esbuild 0.17 there were 19,130 when it was set. */
const SIZE_MAX = 19_500;

/** What a page loads at once as a bundler makes it, as bytes. The proof of work is loaded when somebody signs up where it is asked for. */
function bundled() {
  const entry = fileURLToPath(new URL("../parley.js", import.meta.url));
  const options = [
    "--bundle",
    "--minify",
    "--format=esm",
    "--target=es2022",
    "--external:./proof.js",
    "--log-level=warning",
  ];
  try {
    return execFileSync("esbuild", [entry, ...options]);
  } catch (error) {
    if (error.code === "ENOENT") throw new Error("esbuild is missing: apt install esbuild");
    throw error;
  }
}

test(`what a browser loads has at most ${SIZE_MAX} bytes, minified and compressed`, (context) => {
  const size = gzipSync(bundled(), { level: 9 }).length;
  context.diagnostic(`${size} bytes`);
  assert.ok(size <= SIZE_MAX, `${size}`);
});
