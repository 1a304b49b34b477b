import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { prove } from "../proof.js";
import { client, everybodyLeaves, password, refuses } from "./people.js";

const id = "0000018bcfee8fc00123456789abcdefd8a1e61a58218816c424017ef28c0524";

after(everybodyLeaves);

test("a proof begins with its challenge, and the bits of its hash end in the target", async () => {
  const found = [
    ["localhost" + id, "de", 55, 911],
    ["bücher.example" + id, "2743", 49, 5978],
    ["x".repeat(64), "1", 0, 0],
    ["", "8c", 0, 111],
  ];
  for (const [challenge, target, hyphens, number] of found) {
    const proof = await prove({ challenge, target });
    assert.equal(proof, challenge + "-".repeat(hyphens) + String(number).padStart(10, "0"));
    const hash = BigInt("0x" + createHash("sha256").update(proof).digest("hex"));
    assert.ok(hash.toString(2).endsWith(parseInt(target, 16).toString(2)), `${target}: ${hash}`);
  }
});

test("nothing is computed for a target that would keep a telephone busy, or that is none", async () => {
  for (const target of ["1000000", "x", ""]) assert.equal(await prove({ challenge: "localhost", target }), undefined);
});

test("other work goes on while a proof is computed", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++);
  // Half a million hashes.
  const proof = await prove({ challenge: "turns" + id, target: "c0ffe" });
  clearInterval(timer);
  assert.ok(proof && turns > 0);
});

test("the server asks for a proof, and a new account has one", async () => {
  const olivia = client();
  const account = { username: "olivia", password };
  const asked = await refuses(
    olivia.request("POST", "/users", { body: account, token: false }),
    "registration-proof-required",
    { status: 403, field: "proof" },
  );
  const proof = await prove(asked);
  assert.ok(proof.startsWith(asked.challenge));
  assert.equal((await olivia.request("POST", "/users", { body: { ...account, proof }, token: false })).id, "olivia");
  await refuses(
    olivia.request("POST", "/users", { body: { ...account, username: "orsino", proof }, token: false }),
    "registration-proof-required",
  );
  let proofs = 0;
  const antonio = client({
    fetch: (address, input) => {
      const body = input?.body ? JSON.parse(input.body) : {};
      if (!body.proof || ++proofs > 1) return fetch(address, input);
      return fetch(address, { ...input, body: JSON.stringify({ ...body, proof: `${body.proof}0` }) });
    },
  });
  assert.equal((await antonio.signUp({ username: "antonio", password })).id, "antonio");
  assert.equal(proofs, 2, "a proof that is refused is followed by another");
  const maria = client();
  assert.equal((await maria.signUp({ username: "maria", password })).id, "maria");
});
