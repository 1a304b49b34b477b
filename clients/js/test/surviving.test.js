import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { FileStorage } from "../node.js";
import { MemoryStorage, Parley as Core } from "../parley.js";
import { ask, client, everybodyLeaves, inside, lossy, password, person, refuses, sees, url } from "./people.js";

const folder = mkdtempSync(join(tmpdir(), "parley-sdk-"));
const text = (message) => message.content.text;
/** All messages of a dialog as the server has them, oldest first. */
async function stored(who, dialogId) {
  const all = [];
  for (let before; ; ) {
    const page = await who.listMessages(dialogId, { before, limit: 100 });
    all.unshift(...page.items.reverse());
    before = page.nextCursor;
    if (!before) return all;
  }
}
/** Waits until a client has heard all these texts; gives them in the order in which they came. */
function hears(who, texts) {
  const heard = [],
    missing = new Set(texts);
  return new Promise((resolve) => {
    const off = who.on("message", ({ message }) => {
      heard.push(text(message));
      missing.delete(text(message));
      if (!missing.size) {
        off();
        resolve(heard.filter((each) => texts.includes(each)));
      }
    });
  });
}
const lines = (name, n) => Array.from({ length: n }, (_, i) => `${name} ${i}`);

afterEach(everybodyLeaves);
after(() => rmSync(folder, { recursive: true }));

test("kill -9 of the server in the middle of sends: each message once, in order, on both sides", async () => {
  const mercutio = await person("mercutio"),
    benvolio = await person("benvolio");
  const { id } = await mercutio.openPrivate("benvolio");
  const said = lines("plague", 60);
  const heard = hears(benvolio, said);
  for (const each of said.slice(0, 30)) await mercutio.send(id, each);
  const restarted = ask("restart");
  for (const each of said.slice(30)) await mercutio.send(id, each);
  await restarted;
  await mercutio.sent();
  assert.deepEqual(await heard, said);
  assert.deepEqual(
    (await stored(benvolio, id)).map(text).filter((each) => said.includes(each)),
    said,
  );
});

test("after an absence the unread numbers are right without a request, in however many dialogs", async () => {
  const asked = [];
  const counting = (url, input) => {
    asked.push(`${input.method} ${url}`);
    return fetch(url, input);
  };
  const mercutio = await person("mercutio"),
    benvolio = await person("benvolio", { fetch: counting });
  const groups = [];
  for (let i = 0; i < 70; i++)
    groups.push(await mercutio.createDialog({ type: "group", name: `Brawl ${i}`, memberIds: ["benvolio"] }));
  const isKnown = (number) =>
    groups.every(({ id }) => benvolio.dialogs.find((each) => each.id === id)?.me?.unreadCount === number);
  if (!isKnown(0)) await benvolio.next("dialogs", () => isKnown(0));
  await benvolio.disconnect();
  const said = [];
  for (const { id } of groups)
    said.push(await mercutio.sendNow(id, "A plague on both your houses"), await mercutio.sendNow(id, "A scratch"));
  await mercutio.deleteMessage(groups[0].id, said[0].id, "everyone");
  asked.length = 0;
  await benvolio.connect();
  const counts = () => groups.map(({ id }) => benvolio.dialogs.find((each) => each.id === id).me.unreadCount);
  // One of the first dialog's messages is deleted, and unread no more.
  const right = () => counts().every((each, i) => each === (i ? 2 : 1)) && benvolio.totalUnread >= 139;
  if (!right()) await benvolio.next("dialogs", right);
  assert.deepEqual(asked, []);
});

test("an error of the network has its cause: where nobody listens, that the connection was refused", async () => {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  const { message } = await refuses(client({ url: `http://127.0.0.1:${port}` }).info(), "network", { temporary: true });
  assert.equal(
    message,
    `No answer to GET http://127.0.0.1:${port}/v1/info: fetch failed: connect ECONNREFUSED 127.0.0.1:${port}`,
  );
});

test("lost answers to a refresh of the tokens: the login goes on", async () => {
  const proxy = await lossy();
  try {
    const paris = client({ url: proxy.url });
    await paris.signIn({ username: "paris", password });
    const { current } = inside(paris).session;
    await inside(paris).session.replace({ ...current, accessToken: "spent" });
    proxy.cut(2, '"grant":"refresh"');
    await refuses(paris.me(), "network", { temporary: true });
    assert.equal(proxy.left, 0);
    assert.equal((await paris.me()).id, "paris");
    assert.notEqual(inside(paris).session.current.refreshToken, current.refreshToken);
    // Once the new tokens are used, the old one is a stolen one.
    const thief = client({ url: proxy.url });
    await thief.open();
    await inside(thief).session.replace({ ...current, accessToken: "spent" });
    await refuses(thief.me(), "refresh-token-invalid");
    await refuses(paris.me(), "refresh-token-invalid");
  } finally {
    proxy.close();
  }
});

test("lost answers: a repeat is the same message, over the WebSocket and over HTTP", async () => {
  const proxy = await lossy();
  try {
    const mercutio = await person("mercutio", { url: proxy.url }),
      benvolio = await person("benvolio");
    const { id } = await mercutio.openPrivate("benvolio");
    const view = await mercutio.view(id);
    const said = lines(`lost ${"and found ".repeat(20)}`, 8);
    const heard = hears(benvolio, said);
    proxy.cut(3, "nothing else");
    for (const each of said) await view.send(each);
    await mercutio.sent();
    assert.equal(proxy.left, 0);
    assert.deepEqual(await heard, said);
    await mercutio.disconnect();
    // Not connected, it is sent by requests.
    proxy.cut(2, "by request");
    const sent = await mercutio.sendNow(id, "by request");
    assert.equal(proxy.left, 0);
    assert.deepEqual(
      (await stored(benvolio, id)).map(text).filter((each) => each === "by request"),
      ["by request"],
    );
    await refuses(mercutio.sendNow(id, { text: "another text", clientId: sent.clientId }), "client-id-reused", {
      status: 409,
    });
  } finally {
    proxy.close();
  }
});

test("a message is not shown as being sent before it is stored, and those behind it wait for it", async () => {
  let release;
  const storage = new MemoryStorage(),
    isWritten = new Promise((resolve) => {
      release = resolve;
    });
  const { write } = storage;
  storage.write = async (changes) => {
    if (changes.some(([table, , entry]) => table === "outbox" && entry?.body.content.text === "slow")) await isWritten;
    return write.call(storage, changes);
  };
  const mercutio = await person("mercutio", { storage }),
    benvolio = await person("benvolio");
  const { id } = await mercutio.openPrivate("benvolio");
  const view = await mercutio.view(id);
  await view.fresh;
  const heard = hears(benvolio, ["slow", "quick"]);
  const slow = mercutio.send(id, "slow");
  assert.equal((await sees(view, (messages) => messages.find((each) => text(each) === "slow"))).status, "storing");
  assert.equal((await mercutio.send(id, "quick")).status, "sending");
  // One request after the other: "quick" would be there if anything had sent it.
  await inside(mercutio).connection.command("ping", {});
  assert.deepEqual(
    (await stored(mercutio, id)).map(text).filter((each) => each === "quick"),
    [],
  );
  assert.deepEqual(
    (await storage.all("outbox")).map(([, entry]) => [text({ content: entry.body.content }), entry.state]),
    [["quick", "queued"]],
  );
  release();
  await slow;
  assert.deepEqual(await heard, ["slow", "quick"]);
});

test("without a network: messages wait, also in a file over a restart of the program, and are sent once", async () => {
  const proxy = await lossy();
  try {
    const path = join(folder, "tybalt");
    const tybalt = await person("tybalt", { url: proxy.url, storage: new FileStorage(path) });
    const { id } = await tybalt.openPrivate("benvolio");
    await tybalt.sendNow(id, "first");
    const view = await tybalt.view(id);
    await view.fresh;
    proxy.down();
    const kept = await tybalt.send(id, "kept");
    assert.equal(kept.status, "sending");
    await tybalt.close();
    assert.equal(statSync(path).mode & 0o777, 0o600);
    // As after a crash in the middle of a write.
    writeFileSync(path, readFileSync(path, "utf8") + '[["outbox","zz",{"clientId":"cut');

    const again = client({ url: proxy.url, storage: new FileStorage(path) });
    assert.equal(await again.open(), true);
    assert.deepEqual(again.outbox.map(text), ["kept"]);
    assert.deepEqual(
      again.dialogs.map((each) => text(each.lastMessage)),
      ["first"],
    );
    assert.equal((await again.openPrivate("benvolio")).id, id);
    const states = [];
    again.on("connection", ({ state }) => states.push(state));
    const offline = await again.view(id);
    assert.deepEqual(offline.messages.map(text).slice(-2), ["first", "kept"]);
    assert.equal(offline.isFresh, false);
    await again.send(id, "later");
    const connected = again.connect();
    await again.next("connection", ({ state }) => state === "waiting");
    proxy.up();
    await connected;
    await again.sent();
    await offline.fresh;
    const now = (await stored(again, id)).filter((each) => each.senderId === "tybalt");
    assert.deepEqual(now.map(text), ["first", "kept", "later"]);
    assert.equal(now[1].clientId, kept.key);
    assert.deepEqual(states.slice(0, 3).concat(states.at(-1)), ["connecting", "waiting", "connecting", "online"]);
    assert.deepEqual(offline.messages.map(text).slice(-3), ["first", "kept", "later"]);
  } finally {
    proxy.close();
  }
});

test("sendNow with a clientId that waits: the answer is that of the message that waits, and another dialog is refused", async () => {
  const proxy = await lossy();
  try {
    const tybalt = await person("tybalt", { url: proxy.url });
    const { id } = await tybalt.openPrivate("benvolio"),
      other = await tybalt.openPrivate("mercutio");
    proxy.down();
    const kept = await tybalt.send(id, { text: "once", clientId: "waiting" });
    const answers = ["twice", "thrice"].map((words) => tybalt.sendNow(id, { text: words, clientId: "waiting" }));
    await refuses(tybalt.sendNow(other.id, { text: "elsewhere", clientId: "waiting" }), "client-id-reused");
    assert.deepEqual(tybalt.outbox.map(text), ["once"]);
    proxy.up();
    const [one, two] = await Promise.all(answers);
    assert.deepEqual([one.id, one.clientId, text(one)], [two.id, kept.key, "once"]);
    assert.deepEqual(
      (await stored(tybalt, id)).map(text).filter((each) => ["once", "twice", "thrice"].includes(each)),
      ["once"],
    );
    // What was refused before is sent once more, and refused again.
    const failed = tybalt.next("outbox", ({ clientId, entry }) => clientId === "long" && entry?.status === "failed");
    await tybalt.send(id, { text: "x".repeat(10_001), clientId: "long" });
    await failed;
    await refuses(tybalt.sendNow(id, { text: "short", clientId: "long" }), "text-too-long");
    assert.deepEqual(tybalt.outbox, []);
  } finally {
    proxy.close();
  }
});

test("what happened meanwhile comes by cursor: messages, edits, deletions, reactions, counts", async () => {
  const proxy = await lossy();
  try {
    const mercutio = await person("mercutio"),
      paris = await person("paris", { url: proxy.url });
    const { id } = await mercutio.openPrivate("paris");
    const [one, two] = [await mercutio.sendNow(id, "one"), await mercutio.sendNow(id, "two")];
    const view = await paris.view(id);
    await sees(view, (messages) => messages.length >= 2);
    proxy.down();
    await mercutio.edit(id, one.id, "edited");
    await mercutio.deleteMessage(id, two.id, "everyone");
    await mercutio.sendNow(id, "three");
    const replayed = paris.next("message", ({ isReplay, message }) => isReplay && text(message) === "three");
    proxy.up();
    await replayed;
    await sees(
      view,
      (messages) =>
        messages.some((each) => text(each) === "edited") &&
        messages.find((each) => each.id === two.id).content.type === "deleted" &&
        text(messages.at(-1)) === "three",
    );
    const { unreadCount } = (await paris.request("GET", `/dialogs/${id}`)).me;
    const counted = () => paris.dialogs.find((each) => each.id === id)?.me.unreadCount === unreadCount;
    if (!counted()) await paris.next("dialogs", counted);
  } finally {
    proxy.close();
  }
});

test("an unknown cursor: everything is fetched anew, and followed from there", async () => {
  const storage = new FileStorage(join(folder, "rosaline"));
  const rosaline = await person("rosaline", { storage });
  const { id } = await rosaline.openPrivate("paris");
  await rosaline.sendNow(id, "before");
  const view = await rosaline.view(id);
  await view.fresh;
  await rosaline.disconnect();
  inside(rosaline).store.cursor = "of-another-server";
  const paris = await person("paris");
  await paris.sendNow(id, "meanwhile");
  const resync = rosaline.next("resync");
  await rosaline.connect();
  assert.equal((await resync).reason, "cursorUnknown");
  await sees(view, (messages) => text(messages.at(-1)) === "meanwhile");
  assert.equal(text(rosaline.dialogs.find((each) => each.id === id).lastMessage), "meanwhile");
  await paris.sendNow(id, "afterwards");
  await sees(view, (messages) => text(messages.at(-1)) === "afterwards");
});

test("a token that is no longer valid is replaced, once for all; a revoked login ends", async () => {
  let refreshes = 0;
  const counting = (address, input) => {
    if (input.body?.includes?.('"refresh"')) refreshes++;
    return fetch(address, input);
  };
  const paris = await person("paris", { fetch: counting });
  inside(paris).session.current = { ...inside(paris).session.current, accessToken: "expired" };
  await inside(paris).storage.write([["state", "session", inside(paris).session.current]]);
  await Promise.all([paris.me(), paris.listContacts(), paris.listSessions(), paris.me()]);
  assert.equal(refreshes, 1);
  // The same for the WebSocket.
  await paris.disconnect();
  inside(paris).session.current = { ...inside(paris).session.current, accessToken: "expired" };
  await inside(paris).storage.write([["state", "session", inside(paris).session.current]]);
  await paris.connect();
  assert.equal(refreshes, 2);

  const other = await person("paris");
  await inside(other).flush();
  assert.ok((await inside(other).storage.all("dialogs")).length > 0);
  const ended = other.next("session");
  await paris.endOtherSessions();
  const { signedIn, error } = await ended;
  assert.equal(signedIn, false);
  assert.equal(error.status, 401);
  assert.equal(other.state, "stopped");
  await refuses(other.me(), "signed-out");
  assert.deepEqual(
    (await Promise.all(["dialogs", "tails"].map((table) => inside(other).storage.all(table)))).flat(),
    [],
  );
  assert.deepEqual(
    (await inside(other).storage.all("state")).map(([key]) => key),
    ["deviceId", "former"],
  );
  assert.equal((await paris.me()).id, "paris");
});

test("the same device elsewhere: the older client stops, and does not fight", async () => {
  const one = await person("rosaline");
  const stopped = one.next("connection", ({ error }) => error?.code === "session-replaced");
  const two = client();
  await inside(two).storage.write([["state", "session", { ...inside(one).session.current }]]);
  await two.connect();
  await stopped;
  assert.equal(one.state, "stopped");
  assert.equal(two.state, "online");
});

test("an event comes again until the promise of its listener has ended", async () => {
  const path = join(folder, "working.store");
  const mercutio = await person("mercutio");
  const { id } = await mercutio.openPrivate("benvolio");
  const begin = async (work) => {
    const heard = [],
      bot = client({ storage: new FileStorage(path) });
    bot.on("message", ({ message, isOwn }) => {
      if (isOwn) return undefined;
      heard.push(text(message));
      return work(text(message));
    });
    if (!(await bot.open())) await bot.signIn({ username: "benvolio", password });
    await bot.connect();
    return { bot, heard };
  };
  // The first one is worked on for ever, the second one is done at once.
  const first = await begin((words) => (words === "Draw" ? new Promise(() => {}) : Promise.resolve()));
  const both = hears(first.bot, ["Draw", "Peace"]);
  await mercutio.sendNow(id, "Draw");
  await mercutio.sendNow(id, "Peace");
  await both;
  await first.bot.close();
  const second = await begin(async () => {});
  assert.deepEqual(second.heard, ["Draw", "Peace"]);
  await new Promise(setImmediate); // the promises have ended
  await second.bot.close();
  const third = await begin(async () => {});
  assert.deepEqual(third.heard, []);
  // A second answer while the first one waits is the first one.
  const [one, other] = await Promise.all(
    ["Here", "There"].map((words) => third.bot.send(id, { text: words, clientId: "working" })),
  );
  assert.deepEqual([other.key, other.content.text], [one.key, "Here"]);
  await third.bot.sent();
  assert.deepEqual(
    (await stored(mercutio, id))
      .filter(({ senderId, content }) => senderId === "benvolio" && /ere$/.test(content.text))
      .map(text),
    ["Here"],
  );
});

/** A program of its own. `until` waits for a text that it prints, or its end, and gives all that it has printed. */
function program(source) {
  const { NODE_TEST_CONTEXT, ...env } = process.env; // the program is not a test
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "",
    isRunning = true;
  const looks = new Set();
  const look = () => {
    for (const each of [...looks]) each();
  };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
      look();
    });
  const ended = new Promise((resolve) =>
    child.on("close", (status) => {
      isRunning = false;
      look();
      resolve(status);
    }),
  );
  const until = (text) =>
    new Promise((resolve) => {
      const see = () => {
        if (!isRunning || output.includes(text)) {
          looks.delete(see);
          resolve(output);
        }
      };
      looks.add(see);
      see();
    });
  return { child, ended, until };
}

test("a message whose listener fails ends the program once, and not at each start", async () => {
  const mercutio = await person("mercutio");
  const { id } = await mercutio.openPrivate("benvolio");
  for (const keyword of ["", "async "]) {
    const source = `import { FileStorage, Parley } from ${JSON.stringify(new URL("../node.js", import.meta.url).href)};
      const bot = new Parley({ url: ${JSON.stringify(url)}, storage: new FileStorage(${JSON.stringify(join(folder, `${keyword}failing.store`))}) });
      bot.on("message", ${keyword}({ message, isOwn }) => {
        if (isOwn) return;
        if (message.content.text === "Poison") throw new Error("It is poisonous.");
        console.log("heard " + message.content.text);
      });
      if (!await bot.open()) await bot.signIn({ username: "benvolio", password: ${JSON.stringify(password)} });
      await bot.connect();
      console.log("it listens");`;
    const first = program(source);
    await first.until("it listens");
    await mercutio.sendNow(id, "Poison");
    assert.equal(await first.ended, 1);
    assert.match(await first.until(""), /It is poisonous/);
    await mercutio.sendNow(id, "Herbs");
    const second = program(source);
    try {
      assert.match(await second.until("heard Herbs"), /heard Herbs/);
      await mercutio.sendNow(id, "Honey");
      assert.match(await second.until("heard Honey"), /heard Honey/);
      assert.doesNotMatch(await second.until(""), /It is poisonous/);
    } finally {
      second.child.kill();
    }
    await second.ended;
  }
});

test("a runtime without a WebSocket: what is missing is said, at once, and requests work", async () => {
  const { WebSocket } = globalThis;
  delete globalThis.WebSocket;
  try {
    const core = new Core({ url });
    await core.signIn({ username: "mercutio", password });
    const error = await refuses(core.connect(), "websocket-missing", { temporary: false });
    assert.match(error.message, /option `WebSocket`/);
    assert.equal(core.state, "stopped");
    assert.ok((await core.listContacts()).items.length > 0);
    await core.signOut();
    await core.close();
  } finally {
    if (WebSocket) globalThis.WebSocket = WebSocket;
  }
});

test("what waits for a connection ends with the wish for one: connect, next, sent, sendNow", async () => {
  const proxy = await lossy();
  try {
    const paris = client({ url: proxy.url });
    await paris.signIn({ username: "paris", password });
    const { id } = await paris.openPrivate("rosaline");
    proxy.down();
    // Before the connecting has begun, and while it waits for its next attempt.
    const early = refuses(paris.connect(), "aborted");
    await paris.disconnect();
    await early;
    const waiting = paris.next("connection", ({ state }) => state === "waiting");
    const late = refuses(paris.connect(), "aborted");
    await waiting;
    await paris.disconnect();
    await late;
    assert.equal(paris.state, "stopped");
    // A later wish is the one that counts.
    proxy.up();
    await paris.connect();
    const left = paris.disconnect();
    await Promise.all([left, paris.connect()]);
    assert.equal(paris.state, "online");

    proxy.down();
    const leaving = client({ url: proxy.url });
    await inside(leaving).storage.write([["state", "session", inside(paris).session.current]]);
    const [connecting, lost] = [
      refuses(leaving.connect(), "closed"),
      leaving.next("connection", ({ state }) => state === "waiting"),
    ];
    await lost;
    await leaving.close();
    await connecting;
    const queued = paris.next("outbox");
    const ends = [refuses(paris.next("custom"), "closed"), refuses(paris.sendNow(id, "never answered"), "closed")];
    await queued;
    ends.push(refuses(paris.sent(), "closed"));
    await paris.close();
    await Promise.all(ends);
    for (const late of [() => paris.connect(), () => paris.next("custom"), () => paris.send(id, "late")])
      await refuses(late(), "closed");
    // As with `send`, the next start sends it.
    assert.deepEqual(
      (await inside(paris).storage.all("outbox")).map(([, { body }]) => body.content.text),
      ["never answered"],
    );
  } finally {
    proxy.close();
  }
});

test("what is never answered fails after its time: a request whatever its `fetch` does, and a command together with its connection", async () => {
  const mercutio = await person("mercutio");
  const { id } = await mercutio.openPrivate("benvolio");
  const { current } = inside(mercutio).session;
  const begun = () => new Response(new ReadableStream(), { headers: { "Content-Type": "application/json" } });
  for (const answer of [() => new Promise(() => {}), begun]) {
    let given;
    const asking = client({
      requestTimeout: 50,
      fetch: async (_, input) => {
        given = input.signal;
        return answer();
      },
    });
    await inside(asking).storage.write([["state", "session", current]]);
    await refuses(asking.me(), "network", { temporary: true, status: 0 });
    assert.ok(given.aborted);
    const view = await asking.view(id);
    await sees(view, () => view.error?.code === "network");
    view.close();
  }

  const patient = client({ requestTimeout: Infinity });
  await inside(patient).storage.write([["state", "session", current]]);
  assert.equal((await patient.me()).id, "mercutio");
  // An answer that says how long it is has the time for that: it outlives a request that began behind it.
  let writer;
  const slow = new ReadableStream({
    start(given) {
      writer = given;
    },
  });
  const large = { headers: { "Content-Type": "application/json", "Content-Length": "1600000" } };
  const reading = client({
    requestTimeout: 50,
    fetch: async (address) => (address.includes("/large") ? new Response(slow, large) : begun()),
  });
  await inside(reading).storage.write([["state", "session", current]]);
  await reading.open();
  const answer = reading.request("GET", "/large");
  await refuses(reading.request("GET", "/small"), "network");
  writer.enqueue(new TextEncoder().encode('{"isWhole":true}'));
  writer.close();
  assert.deepEqual(await answer, { isWhole: true });

  /** Says that nothing was missed, and then nothing. */
  class Mute {
    readyState = 1;
    constructor() {
      queueMicrotask(() => this.onopen({}));
    }
    send(frame) {
      const { id: re, type } = JSON.parse(frame);
      if (type === "hello")
        for (const each of [
          { re, data: {} },
          { type: "caught_up", data: { cursor: "c", totalUnread: 0, totalMentions: 0 } },
        ])
          this.say(each);
    }
    say(frame) {
      queueMicrotask(() => this.onmessage({ data: JSON.stringify(frame) }));
    }
    close() {}
  }
  const quiet = client({ requestTimeout: 50, WebSocket: Mute });
  await inside(quiet).storage.write([
    ["state", "session", current],
    ["state", "sync", { cursor: "c" }],
  ]);
  const lost = quiet.next("connection", ({ state }) => state === "waiting");
  await quiet.connect();
  await refuses(inside(quiet).connection.command("ping", {}), "network", { temporary: true });
  assert.match((await lost).error.message, /No answer to/);
});

test("a part of an upload whose answer is lost is continued", async () => {
  const proxy = await lossy();
  try {
    const mercutio = client({ url: proxy.url });
    await mercutio.signIn({ username: "mercutio", password });
    const bytes = new Uint8Array(1_200_000).map((_, i) => i % 241);
    let isCut = false;
    const attachment = await mercutio.upload(
      { data: bytes, name: "cut.bin" },
      {
        onProgress: (done) => {
          if (done > 300_000 && !isCut) {
            isCut = true;
            proxy.drop();
          }
        },
      },
    );
    assert.ok(isCut);
    const back = await (await fetch(mercutio.fileUrl(attachment.url))).arrayBuffer();
    assert.deepEqual(Buffer.from(back), Buffer.from(bytes));
  } finally {
    proxy.close();
  }
});
