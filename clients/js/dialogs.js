import { delay } from "./connection.js";
import { closed, signedOut } from "./errors.js";
import { ofParley } from "./facade.js";
import { path, uuid } from "./requests.js";
import { timeOf } from "./store.js";
import { asFile, typeOf } from "./uploads.js";
import { DialogView, View } from "./view.js";

const FETCHES = 4;

/** Dialogs and sending. */
export const dialogs = ofParley({
  // MARK: Dialogs

  async loadDialogs(limit = 50) {
    await this.open();
    if (this.store.listCursor === null) return false;
    this.applyAnswer(await this.listDialogs({ limit, cursor: this.store.listCursor }));
    return this.hasMoreDialogs;
  },

  isListed(dialog) {
    return !this.hasMoreDialogs || timeOf(dialog) >= this.store.listEnd;
  },

  async dialog(id) {
    await this.open();
    return this.store.dialogs.get(id) ?? this.applyAnswer(await this.request("GET", path`/dialogs/${id}`));
  },

  async openPrivate(userId) {
    await this.open();
    return (
      this.dialogs.find((each) => each.type === "private" && each.user?.id === userId) ??
      this.applyAnswer(
        await this.repeatUntilAnswered(() => this.request("POST", "/dialogs", { body: { type: "private", userId } })),
      )
    );
  },

  async createDialog(input) {
    return this.applyAnswer(await this.request("POST", "/dialogs", { body: input }));
  },

  async view(dialogId, { limit = 50 } = {}) {
    await this.open();
    const view = new View(this, dialogId, limit);
    await view.start();
    return /** @type {any} */ (new DialogView(view));
  },

  // MARK: Sending

  async send(dialogId, message) {
    await this.open();
    if (this.isClosed) throw closed();
    if (!this.signedIn) throw signedOut();
    const [body, files] = this.prepare(message);
    return this.queue.add(dialogId, body, files);
  },

  async sendNow(dialogId, message) {
    const given = typeof message === "string" ? { text: message } : message;
    const clientId = given.clientId ?? uuid();
    const { waiters } = this.queue;
    const isFirst = !waiters.has(clientId);
    if (isFirst) {
      const waiter = {};
      waiter.answer = new Promise((resolve, reject) => Object.assign(waiter, { resolve, reject }));
      waiter.answer.catch(() => {});
      waiters.set(clientId, waiter);
    }
    const { answer } = waiters.get(clientId);
    try {
      await this.send(dialogId, { ...given, clientId });
      return await answer;
    } catch (error) {
      if (isFirst) waiters.delete(clientId);
      if (error.code !== "client-id-reused" && error.code !== "closed") await this.discard(clientId);
      throw error;
    }
  },

  retry(clientId) {
    return this.queue.retry(clientId);
  },
  discard(clientId) {
    return this.queue.discard(clientId);
  },
});

/** What the core needs for it, and apps do not call. */
export const dialogSupport = {
  /**
   * Applies an answer: a page of the user's dialogs, or one dialog. `asked` is the time of the request by the store's clock; without it the
   * answer is taken for newer than all events.
   */
  applyAnswer(answer, asked) {
    if (answer.items) {
      this.store.cursor ??= answer.cursor;
      this.store.listCursor = answer.nextCursor ?? null;
      for (const each of answer.items) if (!(timeOf(each) >= this.store.listEnd)) this.store.listEnd = timeOf(each);
      this.store.setTotals(answer);
      this.store.isStateDirty = true;
      if (this.sendDelivered) {
        for (const { lastMessage, me } of answer.items) {
          if (me?.unreadCount && lastMessage && me.deliveredMessageId !== lastMessage.id)
            this.markDelivered(lastMessage);
        }
      }
    } else if (answer.me) this.store.putDialogs([answer], asked);
    this.flushLater();
    return answer;
  },

  /** Asks for a dialog that is not known, or whose copy may be old. */
  fetchDialog(id) {
    if (this.isClosed || !this.signedIn) return;
    this.missing.add(id);
    if (this.fetching >= FETCHES) return;
    this.fetching++;
    queueMicrotask(async () => {
      let attempts = 0;
      for (const next of this.missing) {
        this.missing.delete(next);
        const asked = this.store.clock;
        try {
          const dialog = await this.request("GET", path`/dialogs/${next}`);
          attempts = 0;
          if (dialog.me && this.store.putDialogs([dialog], asked).length) this.missing.add(next);
        } catch (error) {
          if (error.status === 404 || error.status === 403) this.store.removeDialog(next);
          else if (error.temporary) {
            this.missing.add(next);
            await this.pause(error.retryAfter * 1000 || delay(attempts++), true);
          } else if (error.code !== "signed-out") this.reportError(error);
        }
      }
      this.fetching--;
    });
  },

  pending(dialogId, isElsewhere) {
    return isElsewhere ? [] : this.queue.of(dialogId).map((entry) => this.queue.shown(entry));
  },

  /**
   * @param {string | import("./parley.js").NewMessage} message
   * @returns {[body: any, files?: any[]]}
   */
  prepare(message) {
    const { files, text, ...body } = /** @type {any} */ (typeof message === "string" ? { text: message } : message);
    body.clientId ??= uuid();
    if (body.forwardFrom) return [body];
    const given = files?.map(asFile);
    const type = given ? typeOf(given) : "text";
    body.content = { type, ...(text !== undefined && { text }), ...body.content };
    return [body, given];
  },

  /** Repeats a change, whose repetition has no further effect, until it is answered; a few times. */
  async repeatUntilAnswered(work) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (error.code !== "network" || attempt === 4) throw error;
        await this.pause(500 * attempt, true);
      }
    }
  },

  applyMessage(message) {
    this.store.updateMessage(message);
    this.flushLater();
    return message;
  },

  applyMe(me) {
    this.store.user = me;
    this.store.isStateDirty = true;
    this.flushLater();
    return me;
  },
};
