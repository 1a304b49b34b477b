import { signedOut } from "./errors.js";

/** What a tab does with what the others tell it: see tabs.js. */
export const following = {
  /** @param {any} message */
  async fromTab({ t, ...message }) {
    const { queue, store } = this;
    if (t === "entry") queue.take(message.entry);
    else if (t === "gone" && queue.entries.has(message.clientId))
      queue.gone(queue.entries.get(message.clientId), message.message);
    else if (t === "session") await this.otherSession(message);
    else if (this.tabs.leads) {
      if (t === "join") {
        // Events that are told from here on are held by the other tab until it has read what is stored.
        this.tabs.post({ t: "joined", state: this.state, typing: [...store.typing], presences: [...store.presences] });
        await this.flush();
        this.tabs.post({ t: "flushed" });
      } else if (t === "presence") this.setPresence(message.presence);
    } else if (this.connected) {
      if (t === "joined" && !this.isFollowing) Object.assign(this, { isFollowing: true, held: [], joined: message });
      else if (t === "flushed" && this.held) await this.follow(this.joined);
      else if (t === "state") this.setState(message);
      else if (t === "lead") {
        this.isFollowing = false;
        this.tabs.post({ t: "join" });
      } else if (t === "resync") {
        await store.load();
        this.reloaded(message);
      } else if (t === "frame" && this.isFollowing) this.followed(message);
    }
  },

  /** Another tab has signed in or out, or has another token. */
  async otherSession({ keepsOutbox }) {
    const before = this.userId;
    await this.session.reload();
    if (this.userId === before) return;
    const { current } = this.session;
    this.reset();
    await this.disconnect(current ? undefined : signedOut());
    this.session.current = current;
    if (current) {
      await this.store.load();
      this.store.user ??= current.user;
    } else {
      // What this tab was storing at that moment.
      await this.tabs.alone(async () => {
        await this.flushing;
        if (!(await this.storage.get("state", "session"))) await this.wipe(keepsOutbox);
      });
    }
    this.emit("session", { signedIn: this.signedIn, ...(!current && keepsOutbox && { error: signedOut() }) });
  },

  reloaded({ reason }) {
    for (const views of this.store.views.values()) for (const view of views) view.reload();
    this.sorted = undefined;
    this.emit("resync", { reason });
    this.emit("dialogs", {});
  },

  /** Reads what the leading tab has stored, and applies its events from there. */
  async follow({ state, typing, presences }) {
    await this.store.load();
    Object.assign(this.store, { typing: new Map(typing), presences: new Map(presences) });
    this.sorted = undefined;
    const { held } = this;
    this.held = undefined;
    for (const message of held) this.followed(message);
    this.emit("dialogs", {});
    this.setState({ state });
  },

  followed({ frame, isReplay }) {
    if (this.held) return this.held.push({ frame, isReplay });
    // Events come in order; those from before the stored state are applied again without harm.
    this.applyFrame(frame, isReplay);
    this.store.dirty.clear();
  },
};
