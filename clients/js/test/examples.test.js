import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import * as sdk from "../node.js";
import { everybodyLeaves, password, person, sees, url } from "./people.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "parley-bot-"));
after(async () => {
  await everybodyLeaves();
  rmSync(folder, { recursive: true });
});

/** Starts a program, and waits until it prints this. */
function start(path, printed, more = {}) {
  const { NODE_TEST_CONTEXT, ...environment } = process.env; // the program is not a test
  const child = spawn(process.execPath, [path], {
    cwd: folder,
    env: { ...environment, BOT_URL: url, BOT_PASSWORD: password, ...more },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const ready = new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      if (text.includes(printed)) resolve();
    });
    ended.then((code) => reject(new Error(`it ended with ${code} after ${text}`)));
  });
  ready.catch(() => {});
  return { child, ready, ended };
}

test("the bot answers each question once, also those from while it was killed", async () => {
  const paris = await person("paris");
  const { id } = await paris.openPrivate("bot");
  const view = await paris.view(id);
  const answered = (n) => sees(view, (messages) => messages.filter((each) => each.senderId === "bot").length >= n);
  const program = join(process.env.PARLEY_APP, "bot.js"); // in an app of its own, in which the package is installed
  let bot = start(program, "bot listens");
  await bot.ready;
  await paris.send(id, "/echo But soft!");
  await answered(1);
  bot.child.kill("SIGKILL");
  await bot.ended;
  await paris.sendNow(id, "/time");
  await paris.sendNow(id, "not for you");
  bot = start(program, "bot listens");
  await bot.ready;
  await answered(2);
  await paris.send(id, "/what");
  await answered(3);
  const answers = view.messages.filter((each) => each.senderId === "bot").map((each) => each.content.text);
  assert.equal(answers.length, 3);
  assert.equal(answers[0], "But soft!");
  assert.match(answers[1], /^\d{4}-/);
  assert.equal(answers[2], "I know /time, /echo, /help.");
  bot.child.kill("SIGTERM");
  assert.equal(await bot.ended, 0);
  const lines = readFileSync(program, "utf8").split("\n");
  assert.ok(lines.length <= 45, `${lines.length} lines`);
});

test("the bot without a password says what to set", () => {
  const { NODE_TEST_CONTEXT, BOT_PASSWORD, ...environment } = process.env;
  const { status, stderr } = spawnSync(process.execPath, [join(process.env.PARLEY_APP, "bot.js")], {
    cwd: folder,
    env: { ...environment, BOT_URL: url, BOT_FILE: "nobody.store" },
    encoding: "utf8",
  });
  assert.equal(status, 1);
  assert.match(stderr, /^Set BOT_PASSWORD to the password of bot: /);
  assert.ok(!stderr.includes("    at "), stderr); // no stack
});

test("the code of README.md runs, in its order", async () => {
  const pieces = [...readFileSync(here("../README.md"), "utf8").matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
  assert.ok(pieces.length > 5);
  const code = pieces.join("\n").replace(/import .* from "parley-client";\n/g, "");
  const shown = [];
  const run = new (Object.getPrototypeOf(async () => {}).constructor)(
    ...Object.keys(sdk),
    "address",
    "password",
    "show",
    "file",
    code,
  );
  const { Parley, ...others } = sdk;
  const made = [];
  class Counted extends Parley {
    constructor(options) {
      super(options);
      made.push(this);
    }
  }
  const values = Object.keys(sdk).map((name) => (name === "Parley" ? Counted : others[name]));
  const other = await person("romeo");
  other.on("message", ({ message, isOwn }) => {
    if (!isOwn && message.content.text === "Wherefore art thou?") other.markRead(message.dialogId, message.id);
  });
  try {
    await run(...values, url, password, (...what) => shown.push(what), {
      data: new Uint8Array(300_000),
      name: "rose.png",
      mediaType: "image/png",
    });
  } finally {
    for (const each of made) await each.close();
  }
  assert.ok(shown.length > 3);
});
