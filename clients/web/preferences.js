// What a user chooses for this browser alone.

const KEY = "parley.preferences";
const defaults = {
  theme: "system",
  language: "",
  availability: "online",
  notifications: false,
  sendsOnEnter: true,
  rings: true,
};
const dark = matchMedia("(prefers-color-scheme: dark)");

export const preferences = {
  get(name) {
    try {
      return JSON.parse(localStorage.getItem(KEY) ?? "{}")[name] ?? defaults[name];
    } catch {
      return defaults[name];
    }
  },

  set(name, value) {
    const all = Object.fromEntries(Object.keys(defaults).map((key) => [key, this.get(key)]));
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...all, [name]: value }));
    } catch {
      // Without storage a choice lasts as long as the page.
    }
  },

  /** Shows the chosen theme, or that of the system. */
  applyTheme() {
    const theme = this.get("theme");
    document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  },
};

/** Keeps a text of the login in this browser, or without one lets go of it. Without storage it lasts no longer than its use. */
export function keep(key, text) {
  try {
    text ? localStorage.setItem(key, text) : localStorage.removeItem(key);
  } catch {
    /* There is no storage. */
  }
}

export function kept(key) {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

dark.addEventListener("change", () => preferences.applyTheme());
