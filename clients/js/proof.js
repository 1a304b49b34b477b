// The proof of work for a new account. It is loaded only where a server asks for it.
//
// `crypto.subtle` does one hash at a time, asynchronously, which takes ten times as long as SHA-256 does here, and is missing where a
// page came without TLS.

const WORK = 20;

/** The first 32 bits of the fractional parts of the `root`-th roots of the first primes (FIPS 180-4 4.2.2, 5.3.3). */
function constants(count, root) {
  const found = [];
  for (let number = 2; found.length < count; number++) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) isPrime = false;
    if (isPrime) found.push(((number ** (1 / root) % 1) * 2 ** 32) | 0);
  }
  return found;
}

const K = Int32Array.from(constants(64, 3));
const words = new Int32Array(64);

/** Hashes one block, the first 16 of `words`, into a state (FIPS 180-4 6.2.2). */
function compress(state) {
  const W = words;
  for (let t = 16; t < 64; t++) {
    const x = W[t - 15],
      y = W[t - 2];
    W[t] =
      ((((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)) +
        W[t - 7] +
        (((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)) +
        W[t - 16]) |
      0;
  }
  let a = state[0],
    b = state[1],
    c = state[2],
    d = state[3],
    e = state[4],
    f = state[5],
    g = state[6],
    h = state[7];
  for (let t = 0; t < 64; t++) {
    const one =
      (h +
        (((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))) +
        ((e & f) ^ (~e & g)) +
        K[t] +
        W[t]) |
      0;
    const two =
      ((((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))) +
        ((a & b) ^ (a & c) ^ (b & c))) |
      0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

/** Puts the bytes of a block into `words`. */
function load(bytes, start) {
  for (let t = 0; t < 16; t++, start += 4) {
    words[t] = (bytes[start] << 24) | (bytes[start + 1] << 16) | (bytes[start + 2] << 8) | bytes[start + 3];
  }
}

/**
 * Finds a text that begins with `challenge`, and whose SHA-256 ends in the bits of `target`. The page can do other things meanwhile.
 * What precedes the number that is counted up fills blocks, which are hashed once. Finds nothing for a target of more than 24 bits, with
 * which a server would keep a telephone busy.
 */
export async function prove({ challenge, target }) {
  const value = parseInt(target, 16),
    mask = 2 ** (32 - Math.clz32(value)) - 1;
  if (!(value < 2 ** 24)) return undefined;
  const length = new TextEncoder().encode(challenge).length;
  const text = challenge + "-".repeat((64 - (length % 64)) % 64);
  const bytes = new TextEncoder().encode(text);
  const start = Int32Array.from(constants(8, 2)),
    state = new Int32Array(8);
  for (let place = 0; place < bytes.length; place += 64) {
    load(bytes, place);
    compress(start);
  }
  const block = new Uint8Array(64),
    counted = 10;
  block[counted] = 0x80;
  new DataView(block.buffer).setUint32(60, (bytes.length + counted) * 8);
  for (let number = 0, until = Date.now() + WORK; ; number++) {
    const digits = String(number).padStart(counted, "0");
    for (let place = 0; place < counted; place++) block[place] = digits.charCodeAt(place);
    load(block, 0);
    state.set(start);
    compress(state);
    if ((state[7] & mask) === value) return text + digits;
    if ((number & 255) === 0 && Date.now() > until) {
      await new Promise((resolve) => {
        setTimeout(resolve);
      });
      until = Date.now() + WORK;
    }
  }
}
