// QR codes (ISO/IEC 18004) of bytes, with error correction of level M, as a picture of squares.

import { h } from "./dom.js";

/**
 * By version: error-correction bytes of a block, and the numbers of data bytes of the blocks. Level M, versions 1 to 13.
 *
 * @type {[correction: number, data: number[]][]}
 */
const BLOCKS = [
  [10, [16]],
  [16, [28]],
  [26, [44]],
  [18, [32, 32]],
  [24, [43, 43]],
  [16, [27, 27, 27, 27]],
  [18, [31, 31, 31, 31]],
  [22, [38, 38, 39, 39]],
  [22, [36, 36, 36, 37, 37]],
  [26, [43, 43, 43, 43, 44]],
  [30, [50, 51, 51, 51, 51]],
  [22, [36, 36, 36, 36, 36, 36, 37, 37]],
  [22, [37, 37, 37, 37, 37, 37, 37, 37, 38]],
];
/** The bytes of a text that version 13 has room for. */
const BYTES_MAX = 331;
/** The centres of the alignment patterns by version. */
const ALIGNMENT = [
  [],
  [6, 18],
  [6, 22],
  [6, 26],
  [6, 30],
  [6, 34],
  [6, 22, 38],
  [6, 24, 42],
  [6, 26, 46],
  [6, 28, 50],
  [6, 30, 54],
  [6, 32, 58],
  [6, 34, 62],
];

const EXP = new Uint8Array(512);
const LOG = new Uint8Array(256);
for (let value = 1, power = 0; power < 255; power += 1) {
  EXP[power] = EXP[power + 255] = value;
  LOG[value] = power;
  value = (value << 1) ^ (value & 128 ? 0x11d : 0);
}
const times = (a, b) => (a && b ? EXP[LOG[a] + LOG[b]] : 0);

/** Returns the remainder of Reed-Solomon's division. */
function correction(data, count) {
  let generator = [1];
  for (let power = 0; power < count; power += 1) {
    const next = [...generator, 0];
    generator.forEach((factor, index) => {
      next[index + 1] ^= times(factor, EXP[power]);
    });
    generator = next;
  }
  const rest = [...data, ...Array(count).fill(0)];
  for (let index = 0; index < data.length; index += 1) {
    const factor = rest[index];
    if (factor)
      generator.forEach((each, offset) => {
        rest[index + offset] ^= times(each, factor);
      });
  }
  return rest.slice(data.length);
}

/** Returns the data and correction bytes in the order in which they are drawn, and the version. */
function encode(text) {
  const bytes = [...new TextEncoder().encode(text)];
  const version =
    BLOCKS.findIndex(
      ([, sizes], index) =>
        sizes.reduce((sum, size) => sum + size, 0) * 8 >= 4 + (index < 9 ? 8 : 16) + bytes.length * 8,
    ) + 1;
  const [count, sizes] = BLOCKS[version - 1];
  const capacity = sizes.reduce((sum, size) => sum + size, 0);
  const bits = [];
  const put = (value, length) => {
    for (let bit = length - 1; bit >= 0; bit -= 1) bits.push((value >> bit) & 1);
  };
  put(4, 4);
  put(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) put(byte, 8);
  put(0, Math.min(4, capacity * 8 - bits.length));
  while (bits.length % 8) bits.push(0);
  const data = [];
  for (let index = 0; index < bits.length; index += 8)
    data.push(bits.slice(index, index + 8).reduce((value, bit) => (value << 1) | bit, 0));
  for (let pad = 0xec; data.length < capacity; pad ^= 0xec ^ 0x11) data.push(pad);
  let start = 0;
  const blocks = sizes.map((size) => {
    start += size;
    return data.slice(start - size, start);
  });
  const corrections = blocks.map((block) => correction(block, count));
  const interleaved = (lists) =>
    Array.from({ length: Math.max(...lists.map((list) => list.length)) }, (_, index) =>
      lists.map((list) => list[index]).filter((byte) => byte !== undefined),
    ).flat();
  return { version, bytes: [...interleaved(blocks), ...interleaved(corrections)] };
}

/** Appends the remainder of a BCH code. */
function withRemainder(value, generator, length) {
  let rest = value << length;
  for (let bit = 31 - Math.clz32(rest); bit >= length; bit -= 1)
    if ((rest >> bit) & 1) rest ^= generator << (bit - length);
  return (value << length) | rest;
}

const MASKS = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** Returns the rows of a QR code: true is dark. */
export function qrModules(text) {
  const { version, bytes } = encode(text);
  const size = 17 + 4 * version;
  const dark = Array.from({ length: size }, () => Array(size).fill(false));
  const fixed = Array.from({ length: size }, () => Array(size).fill(false));
  const set = (x, y, value) => {
    if (x >= 0 && y >= 0 && x < size && y < size) {
      dark[y][x] = value;
      fixed[y][x] = true;
    }
  };
  for (let index = 0; index < size; index += 1) {
    set(6, index, index % 2 === 0);
    set(index, 6, index % 2 === 0);
  }
  for (const [centreX, centreY] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ]) {
    for (let y = -4; y <= 4; y += 1)
      for (let x = -4; x <= 4; x += 1) {
        const ring = Math.max(Math.abs(x), Math.abs(y));
        set(centreX + x, centreY + y, ring !== 2 && ring !== 4);
      }
  }
  const centres = ALIGNMENT[version - 1];
  for (const y of centres)
    for (const x of centres) {
      if ((x === 6 && y === 6) || (x === 6 && y === size - 7) || (x === size - 7 && y === 6)) continue;
      for (let dy = -2; dy <= 2; dy += 1)
        for (let dx = -2; dx <= 2; dx += 1) set(x + dx, y + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
    }
  const format = (mask) => {
    const bits = withRemainder(mask, 0x537, 10) ^ 0x5412;
    const bit = (index) => ((bits >> index) & 1) === 1;
    for (let index = 0; index < 6; index += 1) set(8, index, bit(index));
    set(8, 7, bit(6));
    set(8, 8, bit(7));
    set(7, 8, bit(8));
    for (let index = 9; index < 15; index += 1) set(14 - index, 8, bit(index));
    for (let index = 0; index < 8; index += 1) set(size - 1 - index, 8, bit(index));
    for (let index = 8; index < 15; index += 1) set(8, size - 15 + index, bit(index));
    set(8, size - 8, true);
  };
  format(0);
  if (version >= 7) {
    const bits = withRemainder(version, 0x1f25, 12);
    for (let index = 0; index < 18; index += 1) {
      const value = ((bits >> index) & 1) === 1;
      set(size - 11 + (index % 3), Math.floor(index / 3), value);
      set(Math.floor(index / 3), size - 11 + (index % 3), value);
    }
  }
  let next = 0;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      const y = (right + 1) & 2 ? step : size - 1 - step;
      for (const x of [right, right - 1]) {
        if (fixed[y][x]) continue;
        dark[y][x] = next < bytes.length * 8 && ((bytes[next >> 3] >> (7 - (next & 7))) & 1) === 1;
        next += 1;
      }
    }
  }
  const masked = (mask) =>
    dark.map((row, y) => row.map((value, x) => (fixed[y][x] ? value : value !== MASKS[mask](x, y))));
  let best;
  for (let mask = 0; mask < 8; mask += 1) {
    format(mask);
    const rows = masked(mask);
    const cost = penalty(rows);
    if (!best || cost < best.cost) best = { cost, rows };
  }
  return best.rows;
}

/** Returns how hard a code is to read: runs, squares, patterns like those of the corners, and too much of one colour. */
function penalty(rows) {
  const size = rows.length;
  let cost = 0;
  const columns = rows.map((_, x) => rows.map((row) => row[x]));
  for (const line of [...rows, ...columns]) {
    let run = 0;
    for (let index = 0; index < size; index += 1) {
      run = index && line[index] === line[index - 1] ? run + 1 : 1;
      if (run === 5) cost += 3;
      else if (run > 5) cost += 1;
    }
    const text = line.map((value) => (value ? "1" : "0")).join("");
    cost += 40 * ((text.match(/(?=10111010000)/g) ?? []).length + (text.match(/(?=00001011101)/g) ?? []).length);
  }
  for (let y = 1; y < size; y += 1)
    for (let x = 1; x < size; x += 1) {
      if (rows[y][x] === rows[y - 1][x] && rows[y][x] === rows[y][x - 1] && rows[y][x] === rows[y - 1][x - 1])
        cost += 3;
    }
  const count = rows.flat().filter(Boolean).length;
  return cost + 10 * Math.floor(Math.abs(count * 20 - size * size * 10) / (size * size));
}

/** Draws a QR code. `label` says what it leads to. A text that is too long for one, as with an address of hundreds of letters, has none. */
export function qrCode(text, label) {
  if (new TextEncoder().encode(text).length > BYTES_MAX) return undefined;
  const rows = qrModules(text);
  const scale = 6;
  const canvas = h("canvas", {
    class: "qr",
    width: rows.length * scale,
    height: rows.length * scale,
    role: "img",
    "aria-label": label,
  });
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "#000";
  for (const [y, row] of rows.entries()) {
    for (const [x, isDark] of row.entries()) if (isDark) context.fillRect(x * scale, y * scale, scale, scale);
  }
  return canvas;
}
