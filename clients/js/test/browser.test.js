import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { everybodyLeaves, password, person, site, url } from "./people.js";

const here = (path) => new URL(path, import.meta.url);

test("in a browser: two tabs share one connection, and the outbox survives a reload", async () => {
  assert.ok(process.env.PARLEY_BROWSER, "a browser is missing: apt install chromium-headless-shell");
  const files = Object.fromEntries(
    readdirSync(here(".."))
      .filter((name) => name.endsWith(".js"))
      .map((name) => ["/sdk/" + name, readFileSync(here("../" + name))]),
  );
  const served = await site(
    readFileSync(here("page.html"), "utf8").replaceAll("PASSWORD", password).replaceAll("DIRECT", url),
    files,
  );
  const paris = await person("paris");
  let connections = 0;
  paris.on("message", ({ message, isOwn }) => {
    const { text } = message.content;
    if (!isOwn && text.startsWith("from")) paris.send(message.dialogId, "answer to " + text);
  });
  paris.on("presence", ({ userId, online }) => {
    if (userId === "rosaline" && online) connections++;
  });
  const folder = mkdtempSync(join(tmpdir(), "parley-browser-"));
  const browser = spawn(
    process.env.PARLEY_BROWSER,
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--remote-debugging-port=0",
      `--user-data-dir=${folder}`,
      served.url,
    ],
    { stdio: "ignore", detached: true },
  );
  try {
    await served.until("done");
    const id = (await served.until("dialog ")).slice(7);
    assert.deepEqual(
      served.told.filter((each) => each.startsWith("error")),
      [],
    );
    const { items } = await paris.listMessages(id, { limit: 100 });
    const texts = items
      .reverse()
      .filter((each) => each.senderId === "rosaline")
      .map((each) => each.content.text);
    assert.deepEqual(texts.slice(-5), [
      "from the second tab",
      "from the new leader",
      "kept",
      "a file",
      "from elsewhere",
    ]);
    const { attachments } = items.find((each) => each.content.text === "a file").content;
    assert.equal(await (await fetch(paris.fileUrl(attachments[0].url))).text(), "It is the east");
    assert.ok(connections >= 1);
  } finally {
    process.kill(-browser.pid, "SIGKILL");
    served.close();
    await everybodyLeaves();
    await new Promise((resolve) =>
      browser.exitCode === null && browser.signalCode === null ? browser.on("exit", resolve) : resolve(),
    );
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});
