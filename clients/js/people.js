import { ofParley } from "./facade.js";
import { path, uuid } from "./requests.js";
import { upload } from "./uploads.js";

const DELIVERED_AFTER = 1000;
const TYPING_EVERY = 4000;
const DRAFT_AFTER = 1000;
const PICTURES_MAX = 200;

/** What people see of each other: markers, typing, presence, profiles, pictures, calls; drafts and files. */
export const people = ofParley({
  // MARK: Markers, typing, presence, drafts

  /**
   * @param {string} dialogId
   * @param {string} messageId
   * @param {{ private?: boolean }} input
   */
  markRead(dialogId, messageId, { private: isPrivate } = {}) {
    const me = this.store.dialogs.get(dialogId)?.me;
    if (me?.readMessageId === messageId && !me.markedUnread) return Promise.resolve();
    return this.repeatUntilAnswered(() =>
      this.setMarker(dialogId, { read: messageId, ...(isPrivate && { private: true }) }),
    );
  },

  setTyping(dialogId, on) {
    const last = this.typed.get(dialogId) ?? 0;
    if (on ? Date.now() - last < TYPING_EVERY : !last) return;
    if (on) this.typed.set(dialogId, Date.now());
    else this.typed.delete(dialogId);
    this.command("typing", { dialogId, on }, () =>
      this.request("POST", path`/dialogs/${dialogId}/typing`, { body: { on } }),
    ).catch(() => {});
  },

  typingIn(dialogId) {
    return (this.store.typing.get(dialogId) ?? []).filter((id) => id !== this.userId);
  },
  presenceOf(userId) {
    return this.store.presences.get(userId);
  },

  setPresence(presence) {
    this.wantedPresence = presence;
    if (this.connection.state === "online") this.connection.command("presence", presence).catch(() => {});
    else if (!this.tabs.leads) this.tabs.post({ t: "presence", presence });
  },

  setDraft(dialogId, text, replyTo) {
    const draft = text ? { dialogId, text, replyTo, updatedAt: this.now().toISOString() } : undefined;
    const had = this.store.dialogs.get(dialogId)?.me?.draft;
    this.store.changeMine(dialogId, { draft });
    if (!draft && !had) return;
    this.stopDraft(dialogId);
    this.runAfter("draft/" + dialogId, DRAFT_AFTER, () => this.storeDraft(dialogId, text, replyTo));
  },

  async storeDraft(dialogId, text, replyTo) {
    this.stopDraft(dialogId);
    const address = path`/dialogs/${dialogId}/draft`;
    const stored = text
      ? await this.request("PUT", address, { body: { text, replyTo } })
      : await this.request("DELETE", address).catch((error) => {
          if (error.status !== 404) throw error;
        });
    // Of what the server had already there is no event.
    if (!this.timers.has("draft/" + dialogId))
      this.applyFrame({ type: "draft.updated", data: { dialogId, draft: stored } });
  },

  // MARK: Files and people

  async upload(file, input) {
    await this.open();
    return upload(this, file, input);
  },

  /** A development server names its TLS port, whose certificate no browser trusts; the same files are on the port that we use. */
  fileUrl(url) {
    const { protocol } = new URL(this.url);
    const place = new URL(url, this.url);
    return protocol === "http:" && place.pathname.startsWith("/uploads/")
      ? this.url + place.pathname + place.search
      : place.href;
  },

  knownUser(id) {
    return id === this.userId ? this.user : this.store.users.get(id);
  },

  getUser(id) {
    const known = this.knownUser(id);
    if (known || id.startsWith("occupant:")) return Promise.resolve(known);
    if (!this.asked.has(id)) {
      if (!this.asked.size) queueMicrotask(() => this.askUsers());
      let resolve;
      const answer = new Promise((done) => {
        resolve = done;
      });
      this.asked.set(id, { answer, resolve });
    }
    return this.asked.get(id).answer;
  },

  async userAvatar(id) {
    return this.picture((await this.getUser(id))?.avatarHash, path`/users/${id}/avatar`);
  },
  async dialogAvatar(id) {
    return this.picture((await this.dialog(id)).avatarHash, path`/dialogs/${id}/avatar`);
  },

  async deleteAccount(input) {
    await this.request("DELETE", "/users/me", { query: input });
    await this.forget();
    this.emit("session", { signedIn: false });
  },

  // MARK: Calls

  async call(to, kind) {
    const body = { ...to, kind, clientId: uuid() };
    return this.calls.apply(await this.repeatUntilAnswered(() => this.request("POST", "/calls", { body })));
  },

  async listCalls() {
    return (await this.request("GET", "/calls")).items.map((state) => this.calls.apply(state));
  },
});

/** What the core needs for it, and apps do not call. */
export const peopleSupport = {
  command(type, data, fallback) {
    if (this.connection.state === "online") return this.connection.command(type, data);
    return fallback();
  },

  async setMarker(dialogId, marker) {
    const answer = await this.command("marker.set", { dialogId, ...marker }, () =>
      this.request("PUT", path`/dialogs/${dialogId}/marker`, { body: marker }),
    );
    this.store.applyMarker({ ...answer, userId: this.userId });
    this.flushLater();
  },

  /** Others see that a message has arrived; one marker for all of the same second. */
  markDelivered({ dialogId, id }) {
    if (!this.sendDelivered || !this.tabs.leads) return;
    this.reachedLast = (this.reachedLast ?? new Map()).set(dialogId, id);
    this.runAfter("delivered", DELIVERED_AFTER, async () => {
      const last = this.reachedLast;
      this.reachedLast = undefined;
      for (const [dialog, delivered] of last) {
        const { me, memberCount = 2 } = this.store.dialogs.get(dialog) ?? {};
        if (memberCount > 20 || me?.readMessageId === delivered) continue;
        await this.setMarker(dialog, { delivered }).catch((error) => {
          if (error.status >= 500) this.reportError(error);
        });
      }
    });
  },

  stopDraft(dialogId) {
    clearTimeout(this.timers.get("draft/" + dialogId));
    this.timers.delete("draft/" + dialogId);
  },

  async askUsers() {
    const { asked } = this;
    this.asked = new Map();
    const ids = [...asked.keys()];
    for (let i = 0; i < ids.length; i += 100) {
      const some = ids.slice(i, i + 100);
      try {
        for (const user of (await this.searchUsers({ ids: some.join(","), limit: 100 })).items)
          this.store.putUser(user);
      } catch (error) {
        this.reportError(error);
      }
      for (const id of some) asked.get(id).resolve(this.store.users.get(id));
    }
  },

  picture(hash, address) {
    if (!hash) return Promise.resolve(undefined);
    if (!this.pictures.has(hash)) {
      if (this.pictures.size >= PICTURES_MAX) this.pictures.delete(this.pictures.keys().next().value);
      this.pictures.set(
        hash,
        this.request("GET", address).catch((error) => {
          this.pictures.delete(hash);
          if (error.status === 404) return undefined;
          throw error;
        }),
      );
    }
    return this.pictures.get(hash);
  },
};
