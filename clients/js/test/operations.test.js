/** The operations that no other test needs, by stories: each has its effect. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, client, everybodyLeaves, password, person, png, refuses } from "./people.js";

let romeo, juliet;
const ids = (page) => page.items.map((each) => each.id);
const code = async () => (await ask("letter")).code;

before(async () => {
  [romeo, juliet] = [await person("romeo"), await person("juliet")];
});
after(async () => {
  const { errors } = romeo;
  await everybodyLeaves();
  assert.deepEqual(errors, []);
});

test("an id that would make another path of it is sent to nobody", async () => {
  const { id } = await romeo.createDialog({ type: "group", name: "Vault", memberIds: ["juliet"] });
  for (const who of [".", ".."]) {
    await refuses(romeo.removeMember(id, who), "path-malformed", { status: 0, temporary: false });
    await refuses(romeo.block(who), "path-malformed");
  }
  await refuses(romeo.request("DELETE", `/dialogs/${id}/members/%2E%2e?for=everyone`), "path-malformed");
  assert.deepEqual(ids(await romeo.listDialogs({ query: "Vault" })), [id]);
  await romeo.deleteDialog(id, "everyone");
});

test("the list of dialogs: in pages, filtered, public ones that are joined and left, one that is ended", async () => {
  const made = [];
  for (const name of ["Feast", "Crypt", "Street"])
    made.push(await romeo.createDialog({ type: "group", name, memberIds: ["juliet"] }));
  const later = client();
  await later.signIn({ username: "romeo", password });
  assert.ok((await later.loadDialogs(2)) && later.hasMoreDialogs && later.dialogs.length === 2);
  while (await later.loadDialogs(50));
  assert.ok(!later.hasMoreDialogs && made.every(({ id }) => later.dialogs.some((each) => each.id === id)));
  const [feast, crypt, street] = made.map(({ id }) => id);
  assert.equal((await later.dialog(feast)).name, "Feast");
  const mentions = juliet.totalMentions + 1;
  const counted = juliet.next("unread", ({ totalMentions }) => totalMentions === mentions);
  await romeo.sendNow(feast, { text: "@juliet", mentions: [{ userId: "juliet", begin: 0, end: 7 }] });
  await counted;
  assert.equal(juliet.totalMentions, mentions);
  assert.ok(ids(await juliet.listDialogs({ unread: true, limit: 100 })).includes(feast));
  assert.ok(!ids(await romeo.listDialogs({ unread: true, limit: 100 })).includes(feast));

  const { id } = await romeo.createDialog({ type: "public", name: "Market of Verona" });
  assert.deepEqual(ids(await juliet.listDialogs({ scope: "public", query: "Verona" })), [id]);
  assert.equal((await juliet.putMember(id, "me", { nick: "Rosaline" })).nick, "Rosaline");
  await juliet.removeMember(id, "me");
  assert.deepEqual(
    (await romeo.listMembers(id)).items.map((each) => each.userId),
    ["romeo"],
  );

  // One's own id of a dialog: the same one again, another for others, and an event, which does not have it, leaves it.
  const externalId = `market-${Date.now()}`,
    own = await romeo.createDialog({ type: "group", externalId, memberIds: ["juliet"] });
  assert.equal((await romeo.createDialog({ type: "group", externalId })).id, own.id);
  const hers = await juliet.createDialog({ type: "group", externalId });
  assert.notEqual(hers.id, own.id);
  assert.equal((await juliet.request("GET", `/dialogs/${own.id}`)).externalId, undefined);
  const named = romeo.next("dialog.updated", ({ dialog }) => dialog.id === own.id);
  await romeo.request("PATCH", `/dialogs/${own.id}`, { body: { name: "Stall" } });
  assert.equal((await named).dialog.externalId, undefined);
  assert.equal((await romeo.dialog(own.id)).externalId, externalId);
  assert.equal((await romeo.dialog(own.id)).name, "Stall");
  await juliet.deleteDialog(hers.id, "everyone");
  await romeo.deleteDialog(own.id, "everyone");

  const updated = juliet.next("dialog.updated", ({ dialog }) => dialog.avatarHash);
  await romeo.setDialogAvatar(street, png);
  await updated;
  assert.ok((await juliet.dialogAvatar(street)).size > 0);
  await romeo.setDialogAvatar(street, null);
  assert.equal((await romeo.request("GET", `/dialogs/${street}`)).avatarHash, undefined);
  const ended = juliet.next("dialog.deleted", ({ dialogId }) => dialogId === crypt);
  await romeo.deleteDialog(crypt, "everyone");
  assert.equal((await ended).for, "everyone");
  assert.ok(![romeo, juliet].some((each) => each.dialogs.some((dialog) => dialog.id === crypt)));
});

test("messages: who has read one, reactions, a failed one that is sent again, a cleared history", async () => {
  const { id } = await romeo.createDialog({
    type: "group",
    name: "Vault",
    members: [{ userId: "juliet", role: "watcher" }],
  });
  const failing = juliet.next("outbox", ({ entry }) => entry?.status === "failed");
  const { key } = await juliet.send(id, "Yea, noise?");
  assert.equal((await failing).entry.error.code, "no-voice");
  await romeo.putMember(id, "juliet", { role: "member" });
  await juliet.retry(key);
  await juliet.sent();
  const said = (await romeo.listMessages(id)).items.find((each) => each.content.type === "text");
  assert.equal(said.clientId, key);
  await romeo.setReactions(id, said.id, ["🗡️"]);
  assert.deepEqual((await juliet.message(id, said.id)).reactions, { "🗡️": ["romeo"] });
  await romeo.markRead(id, said.id);
  assert.deepEqual(
    (await juliet.listReceipts(id, said.id)).items.map(({ userId, read }) => [userId, read]),
    [["romeo", true]],
  );
  await juliet.star(id, said.id);
  await juliet.star(id, said.id, false);
  assert.ok(!ids(await juliet.listStars()).includes(said.id));

  await juliet.clearDialog(id);
  assert.deepEqual((await juliet.listMessages(id)).items, []);
  assert.ok(ids(await romeo.listMessages(id)).includes(said.id));
  await juliet.deleteDialog(id, "me");
  assert.ok(!ids(await juliet.listDialogs({ limit: 100 })).includes(id));
});

test("later: a message is scheduled for another time with another text; a draft is taken back", async () => {
  const { id } = await romeo.openPrivate("juliet");
  const waiting = await romeo.schedule(id, new Date(Date.now() + 86_400_000), {
    text: "Tomorrow",
    files: [{ data: png, name: "a.png", mediaType: "image/png" }],
  });
  assert.equal(waiting.content.attachments.length, 1);
  const sendAt = new Date(Date.now() + 2 * 86_400_000);
  const { sendAt: changed, content } = await romeo.updateScheduled(waiting.id, {
    sendAt,
    content: { type: "text", text: "And tomorrow" },
  });
  assert.deepEqual([changed, content.text], [sendAt.toISOString(), "And tomorrow"]);
  await romeo.cancelScheduled(waiting.id);
  assert.deepEqual(
    (await romeo.listScheduled()).items.filter((each) => each.state === "pending"),
    [],
  );
  const written = romeo.next("draft.updated", ({ draft }) => draft?.text === "And");
  romeo.setDraft(id, "And");
  await written;
  const removed = romeo.next("draft.updated", ({ draft }) => !draft);
  romeo.setDraft(id, "");
  await removed;
  // One that waits to be sent does not follow what is stored at once.
  const told = [];
  romeo.on("draft.updated", ({ draft }) => told.push(draft?.text));
  romeo.setDraft(id, "But soft");
  await romeo.storeDraft(id, "But soft, what light");
  assert.equal((await romeo.dialog(id)).me.draft.text, "But soft, what light");
  await romeo.storeDraft(id, "");
  assert.equal((await romeo.dialog(id)).me.draft, undefined);
  await refuses(romeo.storeDraft("nowhere", "Lost"), "dialog-unknown", { status: 404 });
  assert.equal(told.includes("But soft"), false);
});

test("without a connection: typing, a marker and a message are requests", async () => {
  const offline = client();
  await offline.signIn({ username: "romeo", password });
  const { id } = await offline.openPrivate("juliet");
  const { id: messageId } = await juliet.sendNow(id, "Art thou not Romeo?");
  const typing = juliet.next("typing", ({ userIds }) => userIds.length > 0);
  offline.setTyping(id, true);
  assert.deepEqual((await typing).userIds, ["romeo"]);
  const read = juliet.next("marker.updated", ({ marker }) => marker.read === messageId);
  await offline.markRead(id, messageId);
  assert.equal((await read).marker.userId, "romeo");
  const said = juliet.next("message", ({ isOwn }) => !isOwn);
  await offline.sendNow(id, "Neither, fair maid");
  assert.equal((await said).message.content.text, "Neither, fair maid");
});

test("people: a presence, a contact who is asked, accepts and is removed", async () => {
  romeo.setPresence({ availability: "away", status: "In Mantua" });
  await juliet.next("presence", ({ userId, status }) => userId === "romeo" && status === "In Mantua");
  assert.equal((await juliet.fetchPresence("romeo")).availability, "away");
  const tybalt = await person("tybalt");
  assert.equal((await romeo.putContact("tybalt", { name: "Cousin" })).state, "pendingOut");
  const mutual = romeo.next("contact.updated", ({ contact }) => contact.state === "mutual");
  await tybalt.putContact("romeo");
  assert.equal((await mutual).contact.name, "Cousin");
  const gone = romeo.next("contact.updated", ({ removed }) => removed);
  await romeo.removeContact("tybalt");
  await gone;
  assert.ok(!(await romeo.listContacts()).items.some((each) => each.userId === "tybalt"));
  await romeo.getUser("juliet");
  assert.equal(romeo.knownUser("juliet").name, "Juliet");
});

test("files and calls: what is stored, the relays, the calls of the moment", async () => {
  const { files } = await romeo.storageUse();
  const { id, name } = await romeo.upload({ data: png, name: "dagger.png", mediaType: "image/png" });
  assert.equal((await romeo.attachment(id)).name, name);
  assert.equal((await romeo.storageUse()).files, files + 1);
  const [relay] = await romeo.iceServers();
  assert.ok(relay.urls[0].startsWith("turn:relay.example.org") && relay.credential);
  const rings = juliet.next("call", ({ call }) => call.state.state === "ringing");
  const call = await romeo.call({ userId: "juliet" }, "audio");
  assert.deepEqual(
    (await romeo.listCalls()).map((each) => each.id),
    [call.id],
  );
  const ended = new Promise((resolve) =>
    call.on("state", ({ state, reason }) => {
      if (state === "ended") resolve(reason);
    }),
  );
  await (await rings).call.reject("busy");
  assert.equal(await ended, "busy");
  assert.deepEqual(await romeo.listCalls(), []);
});

test("an account, from an invitation to its end", async () => {
  const rosa = client(),
    { token, url } = await romeo.createInvitation();
  assert.ok(url.endsWith(token));
  assert.equal((await rosa.invitation(token)).inviterId, "romeo");
  await rosa.signUp({ username: "rosa", password, invitation: token });
  await refuses(rosa.invitation(token), "invitation-unknown");
  assert.equal((await rosa.me()).termsRequired, "1");
  assert.equal((await rosa.acceptTerms("1")).termsRequired, undefined);
  await rosa.updateMe({ name: "Rosa of Verona", status: "in the kitchen" });
  assert.equal(rosa.user.status, "in the kitchen");
  assert.deepEqual(ids(await romeo.searchUsers({ query: "Rosa of" })), ["rosa"]);
  await rosa.setMyAvatar(png);
  assert.ok(rosa.user.avatarHash);
  await rosa.setMyAvatar(null);
  assert.equal(rosa.user.avatarHash, undefined);
  for (const who of [rosa, romeo]) await who.shareLocation({ latitude: 45.4386, longitude: 10.9928, ttl: 600 });
  const near = async () => ids(await romeo.searchUsers({ near: "45.44,10.99", radius: 2 }));
  assert.deepEqual(await near(), ["rosa"]);
  await rosa.shareLocation(null);
  assert.deepEqual(await near(), []);

  // Addresses.
  await rosa.sendMyCode({ phone: "+39045800000" });
  await rosa.setMyPhone({ phone: "+39045800000", code: await code(), password });
  assert.equal((await rosa.me()).phone, "+39045800000");
  await rosa.setMyPhone(null);
  assert.equal((await rosa.me()).phone, undefined);
  await rosa.sendMyCode({ email: "rosa@verona.example" });
  await rosa.setMyEmail({ email: "rosa@verona.example", code: await code(), password });

  // Ways to sign in.
  const { nonce } = await rosa.request("POST", "/nonces");
  const identity = await rosa.addIdentity({
    identityToken: (await ask("vouch", { nonce, prn: "rosa-of-the-app", name: "Rosa" })).token,
  });
  assert.deepEqual(
    (await rosa.listIdentities()).items.filter((each) => each.type === "external"),
    [identity],
  );
  const other = client();
  const vouched = async (nonce) => (await ask("vouch", { nonce, prn: "rosa-of-the-app", name: "Rosa" })).token;
  assert.equal((await other.signIn({ identity: vouched })).id, "rosa");
  await rosa.removeIdentity(identity.id);
  assert.deepEqual(
    (await rosa.listIdentities()).items.filter((each) => each.type === "external"),
    [],
  );
  assert.deepEqual(
    (await rosa.listSessions()).items.map((each) => each.deviceId).sort(),
    [rosa.deviceId, other.deviceId].sort(),
  );
  await rosa.endSession(other.deviceId);
  await refuses(other.me(), "refresh-token-invalid");
  const made = await rosa.createAppPassword("profanity");
  assert.ok(made.password);
  assert.deepEqual(ids(await rosa.listAppPasswords()), [made.id]);
  await rosa.removeAppPassword(made.id);
  assert.deepEqual(ids(await rosa.listAppPasswords()), []);
  const { secret } = await rosa.beginSecondFactor({ password });
  const { recoveryCodes } = await rosa.confirmSecondFactor((await ask("totp", { secret })).code);
  assert.ok((await rosa.me()).secondFactor);
  await rosa.endSecondFactor({ recoveryCode: recoveryCodes[0] });
  assert.ok(!(await rosa.me()).secondFactor);

  // Another password, by a letter and by the old one.
  await rosa.sendPasswordReset({ email: "rosa@verona.example" });
  await rosa.resetPassword((await ask("letter")).token, "By any other name");
  await refuses(rosa.me(), "refresh-token-invalid");
  await rosa.signIn({ username: "rosa", password: "By any other name" });
  await rosa.changePassword(password, "By any other name");
  await rosa.setMyEmail(null);
  assert.equal((await rosa.me()).email, undefined);

  const push = {
    provider: "webpush",
    subscription: {
      endpoint: "https://push.example.org/a",
      keys: {
        // those of RFC 8291 5
        p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        auth: "BTBZMqHH6r4Tts7J_aSIgg",
      },
    },
  };
  await rosa.putDevice("browser", { push, platform: "web" });
  assert.deepEqual(
    (await rosa.listDevices()).items.map(({ id, platform }) => [id, platform]),
    [["browser", "web"]],
  );
  await rosa.removeDevice("browser");
  assert.deepEqual((await rosa.listDevices()).items, []);

  const started = await rosa.startExport();
  let exported = started;
  while (exported.status === "pending") exported = await rosa.getExport(started.id);
  assert.equal((await (await fetch(rosa.fileUrl(exported.url))).arrayBuffer()).byteLength, exported.size);
  assert.deepEqual(ids(await rosa.listExports()), [started.id]);
  await rosa.deleteAccount({ erase: true });
  assert.ok(!rosa.signedIn);
  const error = await rosa.signIn({ username: "rosa", password }).then(
    () => assert.fail("the account is still there"),
    (each) => each,
  );
  assert.ok(["account-disabled", "wrong-credentials"].includes(error.code), error.stack);
});
