// What others wrote, as nodes: names without marks that imitate, texts with links and mentions. Never markup.

import { h } from "./dom.js";

/** Marks of direction and characters without a shape, by which one name can be made to look like another. */
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

const oneLine = (text) => String(text ?? "").replace(INVISIBLE, "").replace(/(\p{M}{2})\p{M}+/gu, "$1").replace(/\s+/g, " ").trim();

/** Returns a name as it is shown: one line, without invisible characters, with at most two marks on one letter. */
export const cleanName = (text) => oneLine(text).slice(0, 120);

/** Returns the name of a file in the same way. A long one loses its middle, since its end says what the file is. */
export function cleanFileName(text) {
  const name = oneLine(text);
  return name.length > 120 ? `${name.slice(0, 100)}…${name.slice(-16)}` : name;
}

/** Letters that look like Latin ones, each before its Latin letter: the usual ones of Unicode's confusables (UTS 39). */
const LOOKALIKES = new Map([..."АAВBЕEЅSІIЈJКKМMНHОOРPСCТTУYХXԌGаaеeѕsіiјjкkоoрpсcтtуyхxһhԁdԛqԝwӏlүyΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXαaγyηnιiκkνvοoρpτtυuχxωwıiɑaɡgօoսuհhոn".matchAll(/(.)(.)/gu)]
  .map(([, letter, latin]) => [letter, latin]));
const latin = (text) => [...text].map((letter) => LOOKALIKES.get(letter) ?? letter).join("");

/** Returns a text that is the same for names which look alike: letters of other alphabets, marks, case and gaps make no difference. */
export function look(text) {
  return latin(text.normalize("NFKD").replace(/\p{M}+/gu, "")).toLowerCase().replace(/[^\p{L}\p{N}\p{Extended_Pictographic}]+/gu, "")
    .replaceAll("0", "o").replace(/[1i]/g, "l").replaceAll("rn", "m").replaceAll("vv", "w");
}

/** Returns a text as it is shown: an override of direction ends with its text, and towers of marks are cut. */
export function cleanText(text) {
  return String(text ?? "").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "").replace(/(\p{M}{4})\p{M}+/gu, "$1");
}

const LINK = /\b(?:https?:\/\/|xmpp:|mailto:)[^\s<>"\u2066-\u2069\u202a-\u202e]+/gi;
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
  const made = h("a", { href: address, target: "_blank", rel: "noopener noreferrer", title: address, ...properties }, shown);
  const host = hostBehind(text, address);
  return host ? [made, h("bdi", { class: "note" }, ` (${host})`)] : made;
}

/**
 * Returns the host as it is looked up, if a link looks as if it led elsewhere: by a name before the host, or by letters that imitate
 * Latin ones.
 */
function hostBehind(text, address) {
  const { host, hostname, username } = new URL(address);
  const imitates = hostname.includes("xn--") && (/^\w+:\/\/([^/?#]*)/.exec(text.normalize("NFKC"))?.[1] ?? "").split(".").some((label) => /[^\0-\x7f]/.test(label) && /^[\0-\x7f]*$/.test(latin(label)));
  return hostname && (username || imitates) ? host : undefined;
}

function links(text) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(LINK)) {
    const trimmed = match[0].replace(/[.,;:!?)\]}'"»”]+$/u, (tail) => (tail[0] === ")" && match[0].includes("(") ? ")" : ""));
    nodes.push(text.slice(end, match.index), link(trimmed));
    end = match.index + trimmed.length;
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
  const placed = mentions.filter((each) => Number.isInteger(each.begin) && Number.isInteger(each.end)).sort((a, b) => a.begin - b.begin);
  for (const each of placed) {
    if (!mention || each.begin < end || each.end <= each.begin || each.end > characters.length) continue;
    nodes.push(...links(cleanText(characters.slice(end, each.begin).join(""))));
    nodes.push(mention(each.userId, cleanText(characters.slice(each.begin, each.end).join(""))));
    end = each.end;
  }
  nodes.push(...links(cleanText(characters.slice(end).join(""))));
  return nodes;
}

/** Whether a text is one to three emoji, which are shown large. */
export const isEmoji = (text) => /^(?:\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?(?:\u200d\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?)*\s?){1,3}$/u.test(text);

/** Marks the first place of `query` in a text, for hits of a search. */
export function marked(text, query) {
  const at = query ? text.toLocaleLowerCase().indexOf(query.toLocaleLowerCase()) : -1;
  if (at < 0) return [text];
  const begin = Math.max(0, at - 30);
  return [begin > 0 && "…", text.slice(begin, at), h("mark", {}, text.slice(at, at + query.length)), text.slice(at + query.length)];
}

/** Returns a text in the form in which names are compared: without regard to case, accents and width. */
export const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase();
