// Languages. Each string of the client is in `strings/`, and nowhere else.

import en from "./strings/en.js";

/** The languages, each with its own name. */
export const languages = { en: "English", ar: "العربية" };

let strings = en;
let locale = "en";
let plurals = new Intl.PluralRules(locale);
let formats = new Map();

/** Switches to a language, or to that of the browser. */
export async function useLanguage(wanted) {
  const browser = navigator.languages?.map((tag) => tag.split("-")[0]).find((code) => code in languages);
  const code = wanted in languages ? wanted : (browser ?? "en");
  strings = code === "en" ? en : { ...en, ...(await import(`./strings/${code}.js`).catch(() => ({}))).default };
  // English is written as the browser's region does.
  locale = navigator.languages?.find((tag) => tag.split("-")[0] === code) ?? code;
  plurals = new Intl.PluralRules(locale);
  formats = new Map();
  document.documentElement.lang = code;
  document.documentElement.dir = strings.direction;
  return code;
}

/**
 * Returns the string of a key. `{name}` stands for a value, which is isolated: its direction changes nothing around it. A string
 * with plural forms is chosen by `count`.
 */
export function t(key, values = {}) {
  return t.optional(key, values) ?? key;
}

t.optional = (key, values = {}) => {
  let text = strings[key];
  if (text && typeof text === "object") text = text[plurals.select(values.count ?? 0)] ?? text.other;
  return text?.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name] ?? "";
    return typeof value === "number" ? number(value) : `\u2068${value}\u2069`;
  });
};

function format(kind, options) {
  const key = `${kind.name}${JSON.stringify(options)}`;
  if (!formats.has(key)) formats.set(key, new kind(locale, options));
  return formats.get(key);
}

/** The server's time, once somebody is signed in: the clock of this machine may be wrong. */
let now = () => new Date();

export function useClock(clock) {
  now = clock;
}

export const isFuture = (time) => Boolean(time) && new Date(time) > now();
export const inAnHour = () => new Date(now().getTime() + 3_600_000);

export const number = (value) => format(Intl.NumberFormat, {}).format(value);
export const clock = (time) =>
  format(Intl.DateTimeFormat, { hour: "numeric", minute: "2-digit" }).format(new Date(time));
export const moment = (time) =>
  format(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "short" }).format(new Date(time));

/** Returns the number of a day of this time zone. */
const dayNumber = (date) => Math.floor((date.getTime() - date.getTimezoneOffset() * 60_000) / 86_400_000);

/** Names a day: today, yesterday, a weekday, a date. */
export function day(time) {
  const date = new Date(time);
  const past = dayNumber(now()) - dayNumber(date);
  if (past === 0 || past === 1) {
    const text = format(Intl.RelativeTimeFormat, { numeric: "auto" }).format(-past, "day");
    return text.charAt(0).toLocaleUpperCase(locale) + text.slice(1);
  }
  if (past > 1 && past < 7) return format(Intl.DateTimeFormat, { weekday: "long" }).format(date);
  const isThisYear = date.getFullYear() === now().getFullYear();
  return format(Intl.DateTimeFormat, {
    day: "numeric",
    month: "long",
    year: isThisYear ? undefined : "numeric",
  }).format(date);
}

/** The time of a list's row: the clock today, else the day in short. */
export function shortTime(time) {
  const date = new Date(time);
  const past = dayNumber(now()) - dayNumber(date);
  if (past === 0) return clock(time);
  if (past === 1) return day(time);
  if (past > 1 && past < 7) return format(Intl.DateTimeFormat, { weekday: "short" }).format(date);
  return format(Intl.DateTimeFormat, { day: "numeric", month: "numeric", year: "2-digit" }).format(date);
}

export const isSameDay = (one, other) => dayNumber(new Date(one)) === dayNumber(new Date(other));

/** Formats a length of time such as 3:07. */
export function duration(milliseconds) {
  const seconds = Math.round((milliseconds || 0) / 1000);
  return `${number(Math.floor(seconds / 60))}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Formats a number of bytes. */
export function bytes(count) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  let value = count || 0;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return format(Intl.NumberFormat, {
    style: "unit",
    unit: units[unit],
    unitDisplay: "short",
    maximumFractionDigits: value < 10 && unit ? 1 : 0,
  }).format(value);
}
