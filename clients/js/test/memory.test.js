import assert from "node:assert/strict";
import { after, test } from "node:test";
import { everybodyLeaves, person } from "./people.js";

const COUNT = Number(process.env.PARLEY_MESSAGES ?? 10_000);
after(everybodyLeaves);

test(`${COUNT} messages sent and received: none is lost, and memory is flat`, async () => {
  const [sender, receiver] = [await person("mercutio"), await person("benvolio")];
  const { id } = await sender.openPrivate("benvolio");
  const views = [await sender.view(id), await receiver.view(id)];
  let received = 0,
    expected = 0;
  const begin = `${Date.now()} `;
  receiver.on("message", ({ message }) => {
    if (!message.content.text.startsWith(begin)) return;
    assert.equal(message.content.text, begin + received++);
    if (received === expected) arrived();
  });
  let arrived;
  const round = async (n) => {
    expected += n;
    const all = new Promise((resolve) => {
      arrived = resolve;
    });
    // As a user who writes faster than the network: a hundred wait at a time.
    for (let i = expected - n; i < expected; i += 100) {
      for (let j = i; j < Math.min(i + 100, expected); j++) await sender.send(id, begin + j);
      await sender.sent();
    }
    await all;
    for (let i = 0; i < 3; i++) {
      gc();
      await new Promise(setImmediate);
    }
    return process.memoryUsage().heapUsed;
  };
  const begun = COUNT / 5;
  const first = await round(begun);
  const second = await round(COUNT - begun);
  assert.equal(received, COUNT);
  const grown = (second - first) / (COUNT - begun);
  console.log(
    `heap ${(first / 1e6).toFixed(1)} MB after ${begun}, ${(second / 1e6).toFixed(1)} MB after ${COUNT}: ${grown.toFixed(0)} bytes a message`,
  );
  // A message that stayed would be some 1,500 bytes in each of the two clients.
  assert.ok(grown < 500, `${grown} bytes a message`);
  for (const view of views) assert.ok(view.messages.length <= 600);
});
