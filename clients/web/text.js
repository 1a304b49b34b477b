// What others wrote, as nodes: names without marks that imitate, texts with links and mentions. Never markup.

import { h } from "./dom.js";

/** Marks of direction and characters without a shape, by which one name can be made to look like another. */
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Returns a name as it is shown: one line, without invisible characters, with at most two marks on one letter. */
export function cleanName(text) {
  return String(text ?? "").replace(INVISIBLE, "").replace(/(\p{M}{2})\p{M}+/gu, "$1").replace(/\s+/g, " ").trim().slice(0, 120);
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
  // The title has the host as it is looked up, so that letters of other alphabets cannot imitate it.
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer", title: address, ...properties }, shown);
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
