import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ParleyError } from "../node.js";
import { ask, client, everybodyLeaves, password, person, png, refuses, sees, url } from "./people.js";

let romeo, juliet, talk;

before(async () => {
  romeo = await person("romeo");
  juliet = await person("juliet");
  talk = (await romeo.openPrivate("juliet")).id;
});
after(async () => {
  const { errors } = romeo;
  await everybodyLeaves();
  assert.deepEqual(errors, []);
});

test("signing in", async () => {
  const stranger = client();
  await refuses(stranger.signIn({ username: "romeo", password: "wrong" }), "wrong-credentials", {
    status: 401,
    temporary: false,
  });
  await refuses(stranger.me(), "signed-out");
  await refuses(stranger.connect(), "signed-out");
  const guest = await stranger.signIn({ grant: "guest" });
  assert.equal((await stranger.me()).guest, true);
  await stranger.connect();
  assert.equal(stranger.userId, guest.id);
  await stranger.signOut();
  await refuses(stranger.me(), "signed-out");
  const info = await stranger.info();
  assert.ok(info.grants.includes("password") && info.registration);
});

test("signing up, a code, a second factor, an identity of the app's backend", async () => {
  const viola = client();
  await viola.signUp({ username: "viola", password, name: "Viola" });
  assert.equal(viola.user.name, "Viola");
  await viola.sendMyCode({ email: "viola@illyria.example" });
  await viola.setMyEmail({ email: "viola@illyria.example", code: (await ask("letter")).code, password });
  const again = client();
  await again.sendCode({ email: "viola@illyria.example" });
  assert.equal((await again.signIn({ email: "viola@illyria.example", code: (await ask("letter")).code })).id, "viola");

  const { secret } = await viola.beginSecondFactor({ password });
  const { recoveryCodes } = await viola.confirmSecondFactor((await ask("totp", { secret })).code);
  const { challenge, secondFactor } = await refuses(
    again.signIn({ username: "viola", password }),
    "second-factor-required",
  );
  assert.equal(secondFactor, "totp");
  assert.equal((await again.signIn({ challenge, recoveryCode: recoveryCodes[0] })).id, "viola");

  const cesario = client();
  const user = await cesario.signIn({
    identity: async (nonce) => (await ask("vouch", { nonce, prn: "cesario@illyria.example", name: "Cesario" })).token,
  });
  assert.equal(user.name, "Cesario");
});

test("a message climbs the ladder, on both sides", async () => {
  const mine = await romeo.view(talk);
  await mine.fresh;
  const arrives = juliet.next("message", ({ message }) => message.content.text === "But soft");
  const sending = await mine.send("But soft");
  assert.equal(sending.status, "sending");
  const { message, isOwn } = await arrives;
  assert.equal(isOwn, false);
  const reached = await sees(mine, (messages) =>
    messages.find((each) => each.key === sending.key && each.status === "delivered"),
  );
  assert.equal(reached.id, message.id);
  const yours = await juliet.view(talk);
  await yours.fresh;
  await yours.markRead();
  await sees(mine, (messages) => messages.find((each) => each.key === sending.key && each.status === "read"));
  assert.deepEqual(mine.readersOf(message.id), ["juliet"]);
  assert.equal(mine.messages.filter((each) => each.content.text === "But soft").length, 1);
  assert.deepEqual(romeo.outbox, []);
  mine.close();
  // A view that is opened later knows it too.
  const later = await (await client()).open().then(() => person("romeo"));
  const view = await later.view(talk);
  await sees(view, (messages) => messages.find((each) => each.key === sending.key && each.status === "read"));
  await later.close();
  yours.close();
});

test("what is refused is kept as failed, can be discarded, and never blocks what follows", async () => {
  const view = await romeo.view(talk);
  const long = await view.send("x".repeat(10_001));
  const short = await view.send("short");
  const failed = await sees(view, (messages) =>
    messages.find((each) => each.key === long.key && each.status === "failed"),
  );
  assert.equal(failed.error.code, "text-too-long");
  await sees(view, (messages) => messages.find((each) => each.key === short.key && each.status !== "sending"));
  assert.equal(romeo.outbox.length, 1);
  await romeo.discard(long.key);
  assert.ok(!view.messages.some((each) => each.key === long.key));
  const error = await refuses(romeo.sendNow(talk, { content: { type: "rose" } }), "content-type-unknown", {
    status: 400,
  });
  assert.ok(error instanceof ParleyError && error.field);
  assert.deepEqual(romeo.outbox, []);
  view.close();
});

test("editing, reacting, replying, forwarding, pinning, starring, deleting", async () => {
  const view = await juliet.view(talk);
  const said = await romeo.sendNow(talk, {
    text: "Good nigth @juliet",
    mentions: [{ userId: "juliet", begin: 11, end: 18 }],
  });
  const shown = (test) => sees(view, (messages) => messages.find((each) => each.id === said.id && test(each)));
  await shown((each) => each.mentions.length === 1);
  await romeo.edit(talk, said.id, "Good night");
  await shown((each) => each.editedAt && each.content.text === "Good night");
  assert.equal((await romeo.listEdits(talk, said.id)).items.length, 2);
  const reacted = await juliet.toggleReaction(await shown(() => true), "🌙");
  assert.deepEqual(reacted.reactions, { "🌙": ["juliet"] });
  assert.equal((await juliet.toggleReaction(reacted, "🌙")).reactions, undefined);
  const reply = await juliet.sendNow(talk, { text: "Sleep well", replyTo: said.id });
  assert.equal(reply.replyTo, said.id);
  await juliet.pin(talk, said.id);
  assert.deepEqual(
    (await romeo.listPins(talk)).items.map((each) => each.id),
    [said.id],
  );
  await juliet.pin(talk, said.id, false);
  const starred = juliet.next("message.starred");
  await juliet.star(talk, said.id);
  assert.deepEqual(await starred, { dialogId: talk, messageId: said.id, starred: true });
  assert.equal((await juliet.listStars()).items[0].id, said.id);
  const notes = await juliet.openPrivate("juliet");
  const copy = await juliet.sendNow(notes.id, { forwardFrom: { dialogId: talk, messageId: said.id } });
  assert.equal(copy.content.text, "Good night");
  assert.equal((await juliet.searchMessages({ query: "sleep" })).items[0].id, reply.id);
  await romeo.deleteMessage(talk, said.id, "everyone");
  await shown((each) => each.content.type === "deleted");
  await juliet.deleteMessage(talk, reply.id, "me");
  await sees(view, (messages) => !messages.some((each) => each.id === reply.id));
  await juliet.report(talk, (await romeo.sendNow(talk, "Buy roses")).id, { reason: "spam" });
  view.close();
});

test("opening a dialog costs one request, which has its members, pins, markers and people", async () => {
  const asked = [];
  const counting = (url, input) => {
    asked.push(`${input.method} ${url}`);
    return fetch(url, input);
  };
  const group = await romeo.createDialog({ type: "group", name: "Tomb", memberIds: ["juliet"] });
  const said = await juliet.sendNow(group.id, "O happy dagger");
  await romeo.pin(group.id, said.id);
  await romeo.markRead(group.id, said.id);
  const later = await person("juliet", { fetch: counting });
  asked.length = 0;
  const view = await later.view(group.id);
  await view.fresh;
  assert.equal(view.messages.find((each) => each.id === said.id).status, "read");
  assert.deepEqual([...view.members.keys()].sort(), ["juliet", "romeo"]);
  assert.deepEqual(
    view.pins.map((each) => each.id),
    [said.id],
  );
  assert.equal((await later.getUser("romeo")).id, "romeo");
  assert.equal(view.dialog.me.role, "member");
  // Changes come as events.
  await romeo.pin(group.id, said.id, false);
  await sees(view, () => !view.pins.length);
  await romeo.putMember(group.id, "nurse");
  await sees(view, () => view.members.has("nurse"));
  await romeo.removeMember(group.id, "nurse");
  await sees(view, () => !view.members.has("nurse"));
  await romeo.sendNow(group.id, "Here");
  await sees(view, (messages) => messages.at(-1).content.text === "Here");
  assert.deepEqual(asked, [
    `GET ${url}/v1/dialogs/${group.id}/messages?limit=50&include=dialog%2Cmembers%2Cpins%2Cmarkers%2Cusers`,
  ]);
  await later.close();
});

test("dialogs that the server finds, among those of the pages", async () => {
  const morning = await romeo.sendNow(talk, "Good morrow");
  const vault = await romeo.createDialog({ type: "group", name: "Vault", memberIds: ["juliet"] });
  const crypt = await romeo.createDialog({ type: "group", name: "Crypt", memberIds: ["juliet"] });
  await romeo.sendNow(crypt.id, "Here lies Tybalt");
  // Who reads moves no dialog: lists are in the order of what is shown.
  await juliet.markRead(talk, morning.id);
  const later = client();
  await later.signIn({ username: "juliet", password });
  assert.equal(await later.loadDialogs(1), true);
  const { items } = await later.listDialogs({ query: "VAU" });
  assert.deepEqual(
    items.map(({ id }) => id),
    [vault.id],
  );
  assert.deepEqual(
    later.dialogs.map(({ id }) => id),
    [crypt.id, vault.id],
  );
  assert.deepEqual(
    later.dialogs.map((each) => later.isListed(each)),
    [true, false],
  );
  while (await later.loadDialogs());
  assert.equal(later.isListed(items[0]), true);
});

test("history in pages, a jump into it, and back to the end", async () => {
  const group = await romeo.createDialog({ type: "group", name: "Orchard", memberIds: ["juliet"] });
  for (let i = 0; i < 60; i++) await romeo.send(group.id, `line ${i}`);
  await romeo.sent();
  const view = await juliet.view(group.id, { limit: 20 });
  await view.fresh;
  assert.equal(view.messages.length, 20);
  // A second reader, as a screen that is scrolled meanwhile, waits for the first.
  const first = view.loadOlder(20);
  while (await view.loadOlder(20));
  assert.equal(await first, true);
  const texts = view.messages.filter((each) => each.content.type === "text").map((each) => each.content.text);
  assert.deepEqual(
    texts,
    Array.from({ length: 60 }, (_, i) => `line ${i}`),
  );
  const all = view.messages.map((each) => each.seq);
  const fifth = view.messages.find((each) => each.content.text === "line 5");
  view.trim(10);
  assert.ok(view.messages.length === 10 && view.hasOlder);
  await view.jump(fifth.id, 10);
  assert.ok(view.hasNewer && view.messages.some((each) => each.id === fifth.id) && view.messages.length === 11);
  const live = juliet.next("message", ({ message }) => message.content.text === "live");
  await romeo.send(group.id, "live");
  await live;
  assert.ok(!view.messages.some((each) => each.content.text === "live"), "a gap");
  while (await view.loadNewer(20));
  const seqs = view.messages.map((each) => each.seq);
  assert.deepEqual(
    seqs,
    seqs.map((_, i) => seqs[0] + i),
  );
  assert.equal(view.messages.at(-1).content.text, "live");
  await view.jump("", 10);
  assert.ok(!view.hasOlder && view.hasNewer && view.messages.length === 10);
  assert.equal(view.messages[0].seq, all[0]);
  await view.loadNewer(10);
  assert.deepEqual(
    view.messages.map((each) => each.seq),
    all.slice(0, 20),
  );
  await view.jump(fifth.id);
  await view.toEnd();
  assert.equal(view.messages.at(-1).content.text, "live");
  assert.ok(juliet.dialogs.find((each) => each.id === group.id).lastMessage.content.text === "live");
  // The event may come before the answer.
  const renamed = juliet.next("dialogs", () => juliet.dialogs.find((each) => each.id === group.id)?.name === "Balcony");
  await romeo.updateDialog(group.id, { name: "Balcony" });
  await renamed;
  assert.equal((await romeo.listMembers(group.id)).items.length, 2);
  const gone = juliet.next("dialogs", () => !juliet.dialogs.some((each) => each.id === group.id));
  await romeo.removeMember(group.id, "juliet");
  await gone;
  view.close();
});

test("a first answer that fails, or comes after a jump", async () => {
  const group = await romeo.createDialog({ type: "group", name: "Churchyard", memberIds: ["juliet"] });
  for (let i = 0; i < 12; i++) await romeo.send(group.id, `step ${i}`);
  await romeo.sent();
  let answer = fetch;
  const later = await person("juliet", { fetch: (address, input) => answer(address, input) });
  const texts = (view) => view.messages.filter((each) => each.content.type === "text").map((each) => each.content.text);
  /** Answers the next such request otherwise. */
  const once = (part, other) => {
    answer = (address, input) => {
      if (!address.includes(part)) return fetch(address, input);
      answer = fetch;
      return other(address, input);
    };
  };
  const busy = async () => new Response("{}", { status: 503, headers: { "Content-Type": "application/json" } });
  const held = (part = "include=") => {
    let release;
    const gate = new Promise((resolve) => {
      release = resolve;
    });
    once(part, async (...request) => {
      await gate;
      return fetch(...request);
    });
    return release;
  };

  // The connection stands, so that nothing else asks again.
  once("include=", busy);
  const view = await later.view(group.id, { limit: 5 });
  await view.fresh;
  assert.equal(view.error, undefined);
  assert.deepEqual(texts(view), ["step 7", "step 8", "step 9", "step 10", "step 11"]);
  while (await view.loadOlder());
  const second = view.messages.find((each) => each.content.text === "step 2");
  view.close();

  let release = held();
  const led = await later.view(group.id, { limit: 5 });
  await led.jump(second.id, 2);
  release();
  await led.fresh;
  assert.deepEqual(
    [texts(led), [...led.members.keys()].sort(), led.hasNewer],
    [["step 1", "step 2", "step 3"], ["juliet", "romeo"], true],
  );
  led.close();

  release = held();
  const lost = await later.view(group.id, { limit: 5 });
  await assert.rejects(lost.jump("00000000-0000-4000-8000-000000000000"), ParleyError);
  release();
  await lost.fresh;
  assert.deepEqual(texts(lost), ["step 7", "step 8", "step 9", "step 10", "step 11"]);
  lost.close();

  release = held();
  const left = await later.view(group.id);
  left.close();
  await refuses(left.fresh, "aborted");
  release();

  // A page of older messages that comes after the first answer, which has replaced the kept messages that it continues.
  const whole = await later.view(group.id);
  await whole.fresh;
  whole.close();
  release = held();
  const scrolled = await later.view(group.id, { limit: 5 });
  assert.ok(scrolled.messages.length > 5);
  const letPage = held("before=");
  const page = scrolled.loadOlder();
  release();
  await scrolled.fresh;
  letPage();
  await page;
  while (await scrolled.loadOlder());
  assert.deepEqual(
    texts(scrolled),
    Array.from({ length: 12 }, (_, i) => `step ${i}`),
  );
  scrolled.close();

  once("/v1/dialogs/", busy);
  const known = later.next("dialogs", () => later.dialogs.some((each) => each.name === "Monument"));
  await romeo.createDialog({ type: "group", name: "Monument", memberIds: ["juliet"] });
  await known;
  assert.deepEqual(later.errors, []);
  await later.close();
  const late = await later.view(group.id);
  await refuses(late.fresh, "closed");
});

test("a view that jumps at once has the members and pins of its dialog, and the newest messages if that message is gone", async () => {
  const group = await romeo.createDialog({ type: "group", name: "Friary", memberIds: ["juliet"] });
  const first = await romeo.sendNow(group.id, "line 0");
  for (let i = 1; i < 30; i++) await romeo.send(group.id, `line ${i}`);
  await romeo.sent();
  await romeo.pin(group.id, first.id);
  const view = await juliet.view(group.id, { limit: 10 });
  await view.jump(first.id, 4);
  await view.fresh;
  assert.ok(
    view.isFresh && view.hasNewer && view.messages.some(({ id }) => id === first.id) && view.messages.length < 10,
  );
  assert.deepEqual([...view.members.keys()].sort(), ["juliet", "romeo"]);
  assert.deepEqual(
    view.pins.map(({ id }) => id),
    [first.id],
  );
  view.close();
  await juliet.deleteMessage(group.id, first.id, "me");
  const other = await juliet.view(group.id, { limit: 10 });
  await refuses(other.jump(first.id, 4), "message-unknown", { status: 404 });
  await other.fresh;
  assert.equal(other.messages.at(-1).content.text, "line 29");
  assert.ok(!other.hasNewer);
  other.close();
});

test("jumps that overlap: the last one wins, also over the way to the end, and what happens meanwhile is in its answer", async () => {
  const group = await romeo.createDialog({ type: "group", name: "Piazza", memberIds: ["juliet"] });
  for (let i = 0; i < 30; i++) await romeo.send(group.id, `line ${i}`);
  await romeo.sent();
  const gates = new Map();
  /** Keeps back answers to addresses with this part. `reached`: the server has answered as many. */
  const held = (part, count = 1) => {
    const gate = {};
    gate.reached = new Promise((resolve) => {
      gate.reach = () => {
        if (--count === 0) resolve();
      };
    });
    gate.opened = new Promise((resolve) => {
      gate.release = () => {
        gates.delete(part);
        resolve();
      };
    });
    gates.set(part, gate);
    return gate;
  };
  const later = await person("juliet", {
    fetch: async (address, input) => {
      const answer = await fetch(address, input);
      const gate = [...gates].find(([part]) => address.includes(part))?.[1];
      gate?.reach();
      await gate?.opened;
      return answer;
    },
  });
  const { items } = await romeo.listMessages(group.id, { limit: 100 });
  const [near, far, last] = [4, 20, 28].map((i) => items.find(({ content }) => content.text === `line ${i}`).id);
  const view = await later.view(group.id, { limit: 5 });
  await view.fresh;
  const texts = () => view.messages.map(({ content }) => content.text);
  /** Jumps, which is three requests, and does something else before their answers come. */
  const jumping = async (id, limit, meanwhile) => {
    const gate = held(id, 3);
    const jump = view.jump(id, limit);
    await gate.reached;
    await meanwhile();
    gate.release();
    await jump;
  };

  await jumping(near, 2, () => view.jump(far, 2));
  assert.deepEqual(texts(), ["line 19", "line 20", "line 21"]);
  await view.toEnd();
  await jumping(near, 2, () => view.toEnd());
  assert.deepEqual([texts(), view.hasNewer], [["line 25", "line 26", "line 27", "line 28", "line 29"], false]);
  // A way to the end that is still loading.
  await view.jump(far, 2);
  const gate = held("include=");
  const end = view.toEnd();
  await gate.reached;
  await view.jump(near, 2);
  gate.release();
  await end;
  assert.deepEqual([texts(), view.hasNewer], [["line 3", "line 4", "line 5"], true]);

  await jumping(last, 4, async () => {
    const live = later.next("message", ({ message }) => message.content.text === "live");
    await romeo.sendNow(group.id, "live");
    await live;
  });
  assert.deepEqual(texts(), ["line 26", "line 27", "line 28", "line 29", "live"]);
  await jumping(near, 2, async () => {
    const edited = later.next("message.updated", ({ message }) => message.id === near);
    await romeo.edit(group.id, near, "edited");
    await edited;
  });
  assert.deepEqual(texts(), ["line 3", "edited", "line 5"]);
  await view.toEnd();
  await jumping(near, 2, async () => {
    const gone = later.next("message.deleted", ({ messageId }) => messageId === near);
    await juliet.deleteMessage(group.id, near, "me");
    await gone;
  });
  assert.deepEqual(texts(), ["line 3", "line 5"]);
  await later.close();
});

test("typing, presence, unread numbers, drafts, settings", async () => {
  romeo.setTyping(talk, true);
  await juliet.next("typing", ({ userIds }) => userIds.includes("romeo"));
  assert.deepEqual(juliet.typingIn(talk), ["romeo"]);
  const stopped = juliet.next("typing", ({ userIds }) => !userIds.length);
  romeo.setTyping(talk, false);
  await stopped;
  const seen = juliet.next(
    "presence",
    ({ userId, availability }) => userId === "romeo" && availability === "doNotDisturb",
  );
  romeo.setPresence({ availability: "doNotDisturb" });
  await seen;
  assert.equal(juliet.presenceOf("romeo").availability, "doNotDisturb");
  const counted = juliet.next("dialogs", () => juliet.dialogs.find((each) => each.id === talk)?.me.unreadCount > 0);
  const { id } = await romeo.sendNow(talk, "Count me");
  await counted;
  const read = juliet.next("dialogs", () => juliet.dialogs.find((each) => each.id === talk)?.me.unreadCount === 0);
  await juliet.markRead(talk, id);
  await read;
  const other = await person("juliet");
  const drafted = other.next("draft.updated");
  juliet.setDraft(talk, "It is the");
  juliet.setDraft(talk, "It is the lark");
  assert.equal((await drafted).draft.text, "It is the lark");
  const pinned = other.next("settings.updated");
  await juliet.updateSettings(talk, { pinned: true });
  await pinned;
  assert.equal(other.dialogs[0].id, talk);
  await other.close();
  const later = await romeo.schedule(talk, new Date(Date.now() + 86_400_000), "It was the nightingale");
  assert.equal((await romeo.listScheduled()).items[0].id, later.id);
  await romeo.cancelScheduled(later.id);
  const waved = juliet.next("custom");
  await romeo.sendCustom(talk, "wave", { hand: "left" });
  assert.deepEqual((await waved).payload, { hand: "left" });
});

test("people: profiles in one request, contacts, blocks", async () => {
  const requests = [];
  const other = client({
    fetch: (...input) => {
      requests.push(input[0]);
      return fetch(...input);
    },
  });
  await other.signIn({ username: "romeo", password });
  requests.length = 0;
  const found = await Promise.all(["juliet", "nurse", "nobody"].map((id) => other.getUser(id)));
  assert.deepEqual(
    found.map((each) => each?.name),
    ["Juliet", "Nurse", undefined],
  );
  assert.equal(requests.length, 1);
  await other.getUser("juliet");
  assert.equal(requests.length, 1);
  await other.close();
  await juliet.setMyAvatar(png);
  assert.ok((await romeo.userAvatar("juliet")).size > 0);
  const asked = juliet.next("contact.updated", ({ contact }) => contact.userId === "nurse");
  const nurse = client();
  await nurse.signIn({ username: "nurse", password });
  await nurse.putContact("juliet");
  assert.equal((await asked).contact.state, "pendingIn");
  await juliet.block("nurse");
  await refuses(nurse.openPrivate("juliet"), "user-unreachable", { status: 404 });
  await juliet.unblock("nurse");
  assert.equal((await juliet.listBlocks()).items.length, 0);
});

test("files: in parts, with progress, a picture, a cancellation", async () => {
  const steps = [];
  const bytes = new Uint8Array(1_500_000).map((_, i) => i % 251);
  const attachment = await romeo.upload(
    { data: bytes, name: "east.bin" },
    { onProgress: (done, total) => steps.push(done / total) },
  );
  assert.ok(steps.length > 4 && steps.at(-1) === 1 && steps.every((each, i) => i === 0 || each >= steps[i - 1]));
  const back = new Uint8Array(await (await fetch(romeo.fileUrl(attachment.url))).arrayBuffer());
  assert.deepEqual(Buffer.from(back), Buffer.from(bytes));
  const progress = [];
  const off = romeo.on("outbox", ({ entry }) => {
    if (entry?.progress !== undefined) progress.push(entry.progress);
  });
  const message = await romeo.sendNow(talk, {
    text: "A rose",
    files: [{ data: png, name: "rose.png", mediaType: "image/png" }],
  });
  off();
  assert.equal(message.content.type, "image");
  assert.equal(message.content.attachments[0].width, 1);
  assert.equal(progress.at(-1), 1);
  const abort = new AbortController();
  await refuses(
    romeo.upload(
      { data: bytes, name: "cut" },
      {
        signal: abort.signal,
        onProgress: (done) => {
          if (done > 0) abort.abort();
        },
      },
    ),
    "aborted",
  );
  const waiting = await romeo.send(talk, { files: [{ data: bytes, name: "never" }] });
  await romeo.next("outbox", ({ clientId, entry }) => clientId === waiting.key && entry?.progress > 0);
  await romeo.discard(waiting.key);
  assert.deepEqual(romeo.outbox, []);
  assert.ok(!(await juliet.listMessages(talk)).items.some((each) => each.clientId === waiting.key));
});

test("a call: ringing, answered here, signals both ways in order, ended", async () => {
  const rings = juliet.next("call", ({ call }) => call.state.state === "ringing");
  const mine = await romeo.call({ userId: "juliet" }, "video");
  const { call: yours } = await rings;
  assert.ok(mine.isMine && !yours.isMine && yours.id === mine.id);
  const accepted = new Promise((resolve) =>
    mine.on("state", (state) => {
      if (state.state === "accepted") resolve();
    }),
  );
  await yours.ringing();
  await yours.accept();
  await accepted;
  assert.ok(mine.isHere && yours.isHere);
  const heard = [];
  const all = new Promise((resolve) =>
    yours.on("signal", (signal) => {
      heard.push(signal.candidate?.n ?? signal.sdp);
      if (heard.length === 11) resolve();
    }),
  );
  await Promise.all([mine.offer("v=0"), ...Array.from({ length: 10 }, (_, n) => mine.candidate({ n }))]);
  await all;
  assert.deepEqual(heard, ["v=0", ...Array.from({ length: 10 }, (_, n) => n)]);
  const answered = new Promise((resolve) => mine.on("signal", resolve));
  await yours.answer("v=1");
  assert.equal((await answered).sdp, "v=1");
  const ended = juliet.next("call", ({ call }) => call.state.state === "ended");
  await mine.end();
  await ended;
  const [log] = (await romeo.listMessages(talk, { limit: 1 })).items;
  assert.equal(log.content.type, "call");
});

test("an XMPP client is the other person", async () => {
  const nurse = await romeo.openPrivate("nurse");
  const view = await romeo.view(nurse.id);
  await ask("arrive");
  const sent = await view.send("Nurse?");
  const reply = await sees(view, (messages) => messages.find((each) => each.senderId === "nurse"));
  assert.equal(reply.content.text, "heard: Nurse?");
  await sees(view, (messages) => messages.find((each) => each.key === sent.key && each.status === "read"));
  view.close();
});
