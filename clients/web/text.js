// What others wrote, as nodes: names without marks that imitate, texts with links and mentions. Never markup.

import { h } from "./dom.js";
import { PROTOTYPES } from "./lookalikes.js";

/** Line breaks and tabs, which are gaps between words. */
const BREAKS = /[\t-\r\u0085\u2028\u2029]+/g;
/** Marks of direction and characters without a shape, by which one name can be made to look like another. */
const INVISIBLE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Marks that stack on a letter of any script, and of which no word needs many: accents, marks of symbols, half marks. */
const STACKING = "\u0300-\u036f\u0488\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f";
const TOWERS = new RegExp(`([${STACKING}]{4})[${STACKING}]+`, "g");

/**
 * Cuts towers of marks: at most four of those that stack on any letter stand one after the other, and ten of all. The words of living
 * scripts have up to nine: Burmese vowels and tones, Tibetan letters below others, Hebrew points with accents.
 */
const bounded = (text) => text.replace(TOWERS, "$1").replace(/(\p{M}{10})\p{M}+/gu, "$1");

/** What shows nothing beside gaps: characters that are ignored where they have no effect (The Unicode Standard, 5.21), and blank ones. */
const NOTHING = "\\p{Default_Ignorable_Code_Point}\\u2800\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}";
const SOMETHING = new RegExp(`[^\\s${NOTHING}]`, "u");

const oneLine = (text) =>
  bounded(
    String(text ?? "")
      .replace(BREAKS, " ")
      .replace(INVISIBLE, ""),
  )
    .replace(/\s+/g, " ")
    .trim();
const visible = (name) => (SOMETHING.test(name) ? name : "");

/** Cuts a text after some characters, none of them in two. */
export const cut = (text, count) => (text.length > count ? [...text].slice(0, count).join("") : text);

/**
 * Returns a name as it is shown: one line, without invisible characters and towers of marks; "" if nothing of it is visible. The server's
 * rule is the same (`ShownText`); Tests/Vectors/names.json holds both to it.
 */
export const cleanName = (text) => visible(cut(oneLine(text), 120).trim());

/** Returns the name of a file in the same way. A long one loses its middle, since its end says what the file is. */
export function cleanFileName(text) {
  const letters = [...oneLine(text)];
  return visible((letters.length > 120 ? [...letters.slice(0, 100), "…", ...letters.slice(-16)] : letters).join(""));
}

/** Returns an address in the same way, whose end says on which server it is. */
export const cleanAddress = cleanFileName;

/** Letters that look like Latin ones in some fonts, or are smaller. */
const RESEMBLING = new Map([
  ["ĸ", "k"],
  ["ᴛ", "t"],
  ["χ", "x"],
  ["ω", "w"],
]);
const latin = (text) =>
  [...text]
    .map((letter) => PROTOTYPES.get(letter) ?? letter)
    .map((letter) => RESEMBLING.get(letter) ?? letter)
    .join("");
/** Letter by letter, so that neither the language of the page nor the place in a word (Σ) makes a difference. */
const lower = (text) => [...text].map((letter) => letter.toLowerCase()).join("");

/** What makes no other name: what shows nothing, selectors of a glyph among it; marks that stack on any letter, and any on a letter of a script that is read without it. */
const ADDED = new RegExp(`[${STACKING}${NOTHING}]+`, "gu");
const OPTIONAL = /([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}])\p{M}+/gu;

const shape = (text) =>
  lower(latin(text))
    .replace(/[^\p{L}\p{M}\p{N}\p{Extended_Pictographic}]+/gu, "")
    .replaceAll("0", "o")
    .replace(/[1i]/g, "l")
    .replaceAll("rn", "m")
    .replaceAll("vv", "w");

/**
 * Returns what a name looks like, as it is written and in lower case: names look alike if they have one of these texts in common. Letters
 * of other alphabets (UTS 39), added marks, case and gaps make no difference. The marks of other scripts are the vowels of their words, so
 * that names which differ in them are two names. Rooms refuse fewer (`NickLook` of the server), but also copies by letters of one script
 * that look like none of ASCII, such as Arabic and Persian yeh. Tests/Vectors/names.json has both.
 */
export function looks(text) {
  const plain = text.normalize("NFKD").replace(ADDED, "").replace(OPTIONAL, "$1");
  return [...new Set([plain, lower(plain)].map(shape))].filter(Boolean);
}

/**
 * Returns a text in the form in which names are compared in a search: without regard to case, width and the accents of Latin, Greek and
 * Cyrillic. The server's rule is the same (`TextFolding`); Tests/Vectors/names.json holds both to it.
 */
export const folded = (text) => lower(text.normalize("NFKD").replace(/[\u0300-\u036f]+/g, ""));

/** Returns a text as it is shown: an override of direction ends with its text, and towers of marks are cut. */
export function cleanText(text) {
  return bounded(String(text ?? "").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ""));
}

/** A link with what may follow it, and what stands before it: no letter or digit of Latin, where it would be the end of a word. */
const LINK = /(^|[^a-z0-9])((?:https?:\/\/|xmpp:|mailto:)[^\s<>"\u2066-\u2069\u202a-\u202e]+)/gi;
/** What stands between two links that have no gap between them. */
const BETWEEN = /[,|;，、。；][()[\]{}（「『【《〈]*(?=https?:\/\/)/i;
/** Brackets, each closing one with its opening one. */
const BRACKETS = new Map(
  [..."()[]{}（）「」『』【】《》〈〉"].flatMap((mark, index, all) => (index % 2 ? [[mark, all[index - 1]]] : [])),
);
/** Marks that end a sentence, a quotation or something emphasised, and no link. */
const CLOSING = new Set(".,;:!?'«»‹›“”„‘’‚…*`。，、！？：；");
/** Marks that end a link if the same one stands before it. */
const AROUND = new Set("_~");
const SCHEMES = new Set(["https:", "http:", "mailto:", "xmpp:", "geo:"]);

/** Returns the address of a link, if it is of a harmless kind. */
export function safeAddress(text) {
  try {
    const address = new URL(text);
    return SCHEMES.has(address.protocol) ? address.href : undefined;
  } catch {
    return undefined;
  }
}

export function link(text, shown = text, properties = {}) {
  const address = safeAddress(text);
  if (!address) return shown;
  const made = h(
    "a",
    { href: address, target: "_blank", rel: "noopener noreferrer", title: address, ...properties },
    shown,
  );
  const host = hostBehind(text, address);
  return host ? [made, h("bdi", { class: "note" }, ` (${host})`)] : made;
}

/** Letters by which a host imitates another: not those of Latin that have a stroke or are two in one, which are letters of languages (ø, æ). */
const IMITATING = /[^\p{Script=Latin}]|[ıɑɡ]/gu;

/**
 * Returns the host as it is looked up, if a link looks as if it led elsewhere: by a name before the host, or by letters that imitate
 * Latin ones.
 */
function hostBehind(text, address) {
  const { host, hostname, username } = new URL(address);
  const imitates =
    hostname.includes("xn--") &&
    (/^\w+:\/\/([^/?#]*)/.exec(text.normalize("NFKC"))?.[1] ?? "")
      .split(".")
      .some((label) => /[^\0-\x7f]/.test(label) && /^[\0-\x7f]*$/.test(label.replace(IMITATING, latin)));
  return hostname && (username || imitates) ? host : undefined;
}

/** Returns the link at the beginning of `found`, behind the character `before`: brackets at its end belong to it as far as they are paired in it. */
function linkIn(found, before) {
  const [text] = found.split(BETWEEN, 1);
  const count = (mark) => text.split(mark).length - 1;
  const unpaired = new Map([...BRACKETS].map(([closing, opening]) => [closing, count(closing) - count(opening)]));
  let end = text.length;
  for (; ; end -= 1) {
    const last = text[end - 1];
    if (unpaired.get(last) > 0) unpaired.set(last, unpaired.get(last) - 1);
    else if (!CLOSING.has(last) && !(AROUND.has(last) && last === before)) return text.slice(0, end);
  }
}

function links(text) {
  const nodes = [];
  let end = 0;
  LINK.lastIndex = 0;
  for (let match = LINK.exec(text); match; match = LINK.exec(text)) {
    const begin = match.index + match[1].length;
    const found = linkIn(match[2], match[1]);
    nodes.push(text.slice(end, begin), link(found));
    end = begin + found.length;
    LINK.lastIndex = end;
  }
  nodes.push(text.slice(end));
  return nodes.filter((node) => node !== "");
}

/**
 * Renders a text. `mentions` count code points (docs/app-protocol.md); `mention` makes the element of one. What is marked must be
 * in order and within the text, or is shown as plain text.
 */
export function rich(text, mentions = [], mention = undefined) {
  const characters = [...String(text ?? "")];
  const nodes = [];
  let end = 0;
  const placed = mentions
    .filter((each) => Number.isInteger(each.begin) && Number.isInteger(each.end))
    .sort((a, b) => a.begin - b.begin);
  for (const each of placed) {
    if (!mention || each.begin < end || each.end <= each.begin || each.end > characters.length) continue;
    nodes.push(...links(cleanText(characters.slice(end, each.begin).join(""))));
    nodes.push(mention(each.userId, cleanText(characters.slice(each.begin, each.end).join(""))));
    end = each.end;
  }
  nodes.push(...links(cleanText(characters.slice(end).join(""))));
  return nodes;
}

/** One to three emoji of UTS 51 as pictures: signs such as © only with U+FE0F. A browser that does not know the set has no large ones. */
const EMOJI = (() => {
  try {
    // biome-ignore lint/complexity/useRegexLiterals: a browser that does not know the flag would refuse the whole file.
    return new RegExp("^(?:\\p{RGI_Emoji}\\s?){1,3}$", "v");
  } catch {
    return undefined;
  }
})();

/** Whether a text is one to three emoji, which are shown large. */
export const isEmoji = (text) => text.length < 60 && EMOJI?.test(text) === true;

/** The characters of a text that stand before a hit, so that the hit is in sight in a narrow row. */
const BEFORE_HIT = 10;

/** Marks the first place of `query` in a text, or that of the first of its words, for hits of a search. */
export function marked(text, query) {
  const letters = [...text];
  // Where each letter of the folded text comes from.
  const origins = letters.flatMap((letter, index) => Array(folded(letter).length).fill(index));
  const all = letters.map(folded).join("");
  const wanted = folded(query).trim();
  const hits = [[wanted], wanted.split(/\s+/)].map((parts) =>
    parts
      .filter(Boolean)
      .map((part) => ({ part, at: all.indexOf(part) }))
      .filter(({ at }) => at >= 0),
  );
  const [hit] = (hits[0].length ? hits[0] : hits[1]).sort((a, b) => a.at - b.at);
  if (!hit) return [text];
  const begin = origins[hit.at];
  let end = origins[hit.at + hit.part.length - 1] + 1;
  while (/^\p{M}$/u.test(letters[end] ?? "")) end += 1;
  const from = Math.max(0, begin - BEFORE_HIT);
  const cut = (...place) => letters.slice(...place).join("");
  return [from > 0 && "…", cut(from, begin).replace(/^\p{M}+/u, ""), h("mark", {}, cut(begin, end)), cut(end)];
}
