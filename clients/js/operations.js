import { ofParley } from "./facade.js";
import { path, uuid } from "./requests.js";

const wish = (on) => (on === false ? "DELETE" : "PUT");
const put = (value) => (value === null ? "DELETE" : "PUT");
const date = (value) => (value instanceof Date ? value.toISOString() : value);
const body = (value) => (value === null ? {} : { body: value });

/** Operations that are one request each. Those that answer with a changed message or dialog apply it to the local state. */
export const operations = ofParley({
  // Dialogs
  async listDialogs(query) {
    const { store } = this,
      asked = store.clock;
    const page = await this.request("GET", "/dialogs", { query });
    if (!query?.scope) for (const id of store.putDialogs(page.items, asked)) this.fetchDialog(id);
    return page;
  },
  async updateDialog(id, changes) {
    return this.applyAnswer(await this.request("PATCH", path`/dialogs/${id}`, { body: changes }));
  },
  async deleteDialog(id, forWhom, reason) {
    await this.request("DELETE", path`/dialogs/${id}`, { query: { for: forWhom, reason } });
    this.store.removeDialog(id);
    this.flushLater();
  },
  clearDialog(id) {
    return this.request("DELETE", path`/dialogs/${id}/messages`, { query: { for: "me" } });
  },
  async updateSettings(id, changes) {
    const settings = await this.request("PATCH", path`/dialogs/${id}/me`, { body: changes });
    this.applyFrame({ type: "settings.updated", data: { settings } });
    return settings;
  },
  listMembers(id, query) {
    return this.request("GET", path`/dialogs/${id}/members`, { query });
  },
  putMember(id, userId, input = {}) {
    return this.request("PUT", path`/dialogs/${id}/members/${userId}`, { body: input });
  },
  removeMember(id, userId, reason) {
    return this.request("DELETE", path`/dialogs/${id}/members/${userId}`, { query: { reason } });
  },
  async setDialogAvatar(id, picture) {
    await this.request(put(picture), path`/dialogs/${id}/avatar`, body(picture));
  },

  // Messages
  listMessages(id, query) {
    return this.request("GET", path`/dialogs/${id}/messages`, { query });
  },
  message(id, messageId) {
    return this.request("GET", path`/dialogs/${id}/messages/${messageId}`);
  },
  searchMessages(query) {
    return this.request("GET", "/messages", { query });
  },
  async edit(id, messageId, text, mentions) {
    const input = { text, mentions, clientId: uuid() };
    return this.applyMessage(
      await this.repeatUntilAnswered(() =>
        this.request("PATCH", path`/dialogs/${id}/messages/${messageId}`, { body: input }),
      ),
    );
  },
  deleteMessage(id, messageId, forWhom, reason) {
    return this.repeatUntilAnswered(() =>
      this.request("DELETE", path`/dialogs/${id}/messages/${messageId}`, { query: { for: forWhom, reason } }),
    );
  },
  async setReactions(id, messageId, emoji) {
    return this.applyMessage(
      await this.repeatUntilAnswered(() =>
        this.request("PUT", path`/dialogs/${id}/messages/${messageId}/reactions`, { body: { emoji } }),
      ),
    );
  },
  toggleReaction({ dialogId, id, reactions = {} }, emoji) {
    const mine = Object.keys(reactions).filter((each) => reactions[each].includes(this.userId));
    return this.setReactions(
      dialogId,
      id,
      mine.includes(emoji) ? mine.filter((each) => each !== emoji) : [...mine, emoji],
    );
  },
  async pin(id, messageId, on) {
    return this.applyMessage(await this.request(wish(on), path`/dialogs/${id}/messages/${messageId}/pin`));
  },
  listPins(id) {
    return this.request("GET", path`/dialogs/${id}/pins`);
  },
  async star(id, messageId, on = true) {
    await this.request(wish(on), path`/dialogs/${id}/messages/${messageId}/star`);
    this.applyFrame({ type: "message.starred", data: { dialogId: id, messageId, starred: on } });
  },
  listStars(query) {
    return this.request("GET", "/stars", { query });
  },
  listEdits(id, messageId, query) {
    return this.request("GET", path`/dialogs/${id}/messages/${messageId}/edits`, { query });
  },
  listReceipts(id, messageId, query) {
    return this.request("GET", path`/dialogs/${id}/messages/${messageId}/receipts`, { query });
  },
  report(id, messageId, input) {
    return this.request("POST", path`/dialogs/${id}/messages/${messageId}/flags`, { body: input });
  },
  sendCustom(id, kind, payload) {
    return this.request("POST", path`/dialogs/${id}/events`, { body: { kind, payload } });
  },
  async schedule(id, sendAt, message) {
    const [input, files] = this.prepare(message);
    if (files) {
      const attachments = [];
      for (const file of files) attachments.push((await this.upload(file)).id);
      input.content = { ...input.content, attachments };
    }
    input.sendAt = date(sendAt);
    return this.repeatUntilAnswered(() =>
      this.request("POST", path`/dialogs/${id}/scheduled-messages`, { body: input }),
    );
  },
  listScheduled() {
    return this.request("GET", "/scheduled-messages");
  },
  updateScheduled(id, changes) {
    return this.request("PATCH", path`/scheduled-messages/${id}`, {
      body: { ...changes, sendAt: date(changes.sendAt) },
    });
  },
  cancelScheduled(id) {
    return this.request("DELETE", path`/scheduled-messages/${id}`);
  },

  // Files
  attachment(id) {
    return this.request("GET", path`/attachments/${id}`);
  },
  storageUse() {
    return this.request("GET", "/users/me/storage");
  },

  // People
  searchUsers(query) {
    return this.request("GET", "/users", { query });
  },
  fetchPresence(id) {
    return this.request("GET", path`/users/${id}/presence`);
  },
  listContacts() {
    return this.request("GET", "/contacts");
  },
  putContact(id, input = {}) {
    return this.request("PUT", path`/contacts/${id}`, { body: input });
  },
  removeContact(id) {
    return this.request("DELETE", path`/contacts/${id}`);
  },
  listBlocks() {
    return this.request("GET", "/blocks");
  },
  block(id) {
    return this.request("PUT", path`/blocks/${id}`);
  },
  unblock(id) {
    return this.request("DELETE", path`/blocks/${id}`);
  },

  // One's own account
  async me() {
    return this.applyMe(await this.request("GET", "/users/me"));
  },
  async updateMe(changes) {
    return this.applyMe(await this.request("PATCH", "/users/me", { body: changes }));
  },
  async acceptTerms(version) {
    return this.applyMe(await this.request("PUT", "/users/me/terms", { body: { version } }));
  },
  async setMyAvatar(picture) {
    await this.request(put(picture), "/users/me/avatar", body(picture));
    await this.me();
  },
  shareLocation(input) {
    return this.request(put(input), "/users/me/location", body(input));
  },
  changePassword(password, current) {
    return this.request("PUT", "/users/me/password", { body: { password, current } });
  },
  sendMyCode(input) {
    return this.request("POST", "/users/me/codes", { body: input });
  },
  setMyEmail(input) {
    return this.request(put(input), "/users/me/email", body(input));
  },
  setMyPhone(input) {
    return this.request(put(input), "/users/me/phone", body(input));
  },
  beginSecondFactor(input = {}) {
    return this.request("POST", "/users/me/second-factor", { body: input });
  },
  confirmSecondFactor(code) {
    return this.request("PUT", "/users/me/second-factor", { body: { code } });
  },
  endSecondFactor(query) {
    return this.request("DELETE", "/users/me/second-factor", { query });
  },
  listSessions() {
    return this.request("GET", "/sessions");
  },
  endSession(id) {
    return this.request("DELETE", path`/sessions/${id}`);
  },
  endOtherSessions() {
    return this.request("DELETE", "/sessions");
  },
  listIdentities() {
    return this.request("GET", "/users/me/identities");
  },
  addIdentity(input) {
    return this.request("POST", "/users/me/identities", { body: input });
  },
  removeIdentity(id) {
    return this.request("DELETE", path`/users/me/identities/${id}`);
  },
  listAppPasswords() {
    return this.request("GET", "/app-passwords");
  },
  createAppPassword(name) {
    return this.request("POST", "/app-passwords", { body: { name } });
  },
  removeAppPassword(id) {
    return this.request("DELETE", path`/app-passwords/${id}`);
  },
  listDevices() {
    return this.request("GET", "/devices");
  },
  putDevice(id, input) {
    return this.request("PUT", path`/devices/${id}`, { body: input });
  },
  removeDevice(id) {
    return this.request("DELETE", path`/devices/${id}`);
  },
  startExport() {
    return this.request("POST", "/users/me/exports");
  },
  listExports() {
    return this.request("GET", "/users/me/exports");
  },
  createInvitation() {
    return this.request("POST", "/invitations");
  },
  getExport(id) {
    return this.request("GET", path`/users/me/exports/${id}`);
  },

  // Before signing in
  info() {
    return this.request("GET", "/info", { token: false });
  },
  invitation(token) {
    return this.request("GET", path`/invitations/${token}`, { token: false });
  },
  sendCode(input) {
    return this.request("POST", "/codes", { body: input, token: false });
  },
  sendPasswordReset(input) {
    return this.request("POST", "/password-resets", { body: input, token: false });
  },
  resetPassword(token, password) {
    return this.request("PUT", path`/password-resets/${token}`, { body: { password }, token: false });
  },

  async iceServers() {
    return (await this.request("GET", "/ice-servers")).items;
  },
});
