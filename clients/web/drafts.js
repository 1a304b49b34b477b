// Drafts that the server may not have yet. The SDK sends one a second after the last letter, and a page may be left before that, or have
// no network. So what is written is kept here, too, until the server has it: in `localStorage`, which a page that is left at once
// has written to.

/** The keys are those of a user and a dialog. */
const PREFIX = "parley.draft/";
/**
 * By how much a draft of the server must be newer, in milliseconds, to be another device's: one that was sent from here has its time
 * from the server, which may be a moment after what was written here since.
 */
const LATER = 5000;

const keys = () => {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
};
const isSame = (one, other) => (one?.text ?? "") === (other?.text ?? "") && one?.replyTo === other?.replyTo;
const isNewer = (theirs, kept) => Date.parse(theirs?.updatedAt) > Date.parse(kept.updatedAt) + LATER;

export class Drafts {
  /** By dialog: the draft of a message that the outbox is storing. */
  leaving = new Map();

  /** @param {import("./app.js").App} app */
  constructor(app) {
    this.app = app;
    app.parley.on("draft.updated", ({ dialogId, draft }) => {
      if (isSame(this.kept(dialogId), draft)) this.put(dialogId);
    });
    app.parley.on("connection", ({ state }) => {
      if (state === "online") this.send();
    });
  }

  get prefix() {
    return `${PREFIX}${this.app.parley.userId}/`;
  }

  /** Returns what was written here and may not have reached the server; without text it is that a draft is gone. */
  kept(dialogId) {
    try {
      return JSON.parse(localStorage.getItem(this.prefix + dialogId)) ?? undefined;
    } catch {
      return undefined;
    }
  }

  put(dialogId, draft) {
    try {
      if (draft) localStorage.setItem(this.prefix + dialogId, JSON.stringify(draft));
      else localStorage.removeItem(this.prefix + dialogId);
    } catch {
      // Without storage the server has it in a second.
    }
  }

  /** Returns what the server knows of a dialog's draft. */
  known(dialogId) {
    return this.app.parley.dialogs.find((each) => each.id === dialogId)?.me?.draft;
  }

  /** Returns the draft that goes on: what was written here, unless that of the server is newer. */
  of(dialogId) {
    const [kept, theirs] = [this.kept(dialogId), this.known(dialogId)];
    const draft = !kept || isNewer(theirs, kept) ? theirs : kept;
    return (draft !== kept || draft?.text) && !isSame(draft, this.leaving.get(dialogId)) ? draft : undefined;
  }

  /** Hides the draft of a message that is being sent, and deletes it when the outbox has the message: a page that ends before finds it again. */
  async leave(dialogId, draft, storing) {
    this.leaving.set(dialogId, draft);
    const isStored = await storing;
    if (this.leaving.get(dialogId) === draft) this.leaving.delete(dialogId);
    if (isStored && draft.text && isSame(this.kept(dialogId) ?? this.known(dialogId), draft)) this.keep(dialogId, "");
  }

  /** Keeps a draft, and has it sent. Those of guests stay here: the server has none. */
  keep(dialogId, text, replyTo) {
    const { isGuest, parley } = this.app;
    if (!parley.signedIn || (!text && !this.kept(dialogId) && !this.known(dialogId))) return;
    this.put(dialogId, text || !isGuest ? { text, replyTo, updatedAt: parley.now().toISOString() } : undefined);
    if (!isGuest) parley.setDraft(dialogId, text, replyTo);
  }

  /** Sends what an earlier page has left, or what could not be sent. */
  async send() {
    if (this.app.isGuest) return;
    for (const key of keys().filter((each) => each.startsWith(this.prefix))) {
      const dialogId = key.slice(this.prefix.length);
      const kept = this.kept(dialogId);
      if (!kept) continue;
      const { text, replyTo } = kept;
      try {
        if (!isNewer(this.known(dialogId), kept)) await this.app.parley.storeDraft(dialogId, text, replyTo);
      } catch (error) {
        // What is refused will be refused again: the dialog may be gone.
        if (error.temporary || !error.status) continue;
      }
      if (isSame(this.kept(dialogId), kept)) this.put(dialogId);
    }
  }
}

/** Lets go of all: a login has ended. */
export function clearDrafts() {
  for (const key of keys()) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
}
