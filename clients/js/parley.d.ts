/**
 * The JavaScript SDK of Parley: sign-in, a connection that resumes, an outbox that survives reloads, a local store of dialogs and
 * messages, uploads, calls' signalling. It speaks the public app protocol and nothing else: docs/app-protocol.md.
 *
 * Objects of the protocol (`User`, `Dialog`, `Message`, …) are passed on as the server sends them, unknown members included.
 */

import type {
  Attachment, AppPassword, Block, CallReason, CallState, Contact, ContentType, Device, Dialog, DialogPage, DialogSettings, Draft, Edit, Export,
  History, IceServer, Identity, Info, Invitation, Marker, Me, Member, Mention, Message, NewInvitation, PersonId, Presence, Receipt, Role,
  ScheduledMessage, SessionSummary, StorageUse, Time, User, Availability,
} from "./objects.js";

// MARK: Objects of the protocol

/** They are generated from docs/openapi.yaml. */
export * from "./objects.js";

export type JSONObject = Record<string, unknown>;

/** What a message contains. Show `text` for a `type` that you do not know. */
export interface Content {
  type: ContentType;
  text: string;
  attachments?: Attachment[];
  [member: string]: any;
}
/** What can be sent: see "Sending" in docs/app-protocol.md. Files are in `NewMessage.files`, or as ids in `attachments`. */
export type NewContent =
  | { type: "text"; text: string }
  | { type: "location"; lat: number; lng: number; text?: string; name?: string; accuracy?: number }
  | { type: "contact"; text: string; name?: string; organization?: string; userId?: string; phones?: string[]; emails?: string[] }
  | { type: "sticker"; text: string; pack?: string; sticker?: string }
  | { type: "custom"; text: string; kind: string; payload?: unknown }
  | { type: "image" | "video" | "file"; text?: string; attachments?: string[] }
  | { type: "audio"; text?: string; attachments?: string[]; waveform?: number[] };
/** One page of a list. Pass `nextCursor` as `cursor` for the next; the last page has none. */
export interface Page<T> { items: T[]; nextCursor?: string }
export interface PageInput { cursor?: string; limit?: number }

// MARK: Errors

/** Every failure that the SDK reports. Decide by `code`; `message` is for developers. */
export class ParleyError extends Error {
  private constructor();
  /**
   * The stable code of the problem (RFC 9457) that the server answered; or one of the SDK's own: `network` (no answer arrived, or not
   * in time; the effect is unknown), `aborted`, `signed-out`, `closed`, `storage` (the local store), `websocket-missing` (`connect` in a runtime without
   * one), `path-malformed` (an id of dots, which no URL can have), `answer-malformed` (not an answer of Parley).
   */
  readonly code: string;
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** The member of the request that is wrong. */
  readonly field?: string;
  /** Seconds after which a repeat can succeed. */
  readonly retryAfter?: number;
  readonly requestId?: string;
  /** With `second-factor-required`: for `signIn({ challenge, code })`. */
  readonly challenge?: string;
  readonly secondFactor?: "totp" | "sms";
  /** With `registration-proof-required`, beside `challenge`: what `signUp` computes a proof of work for. */
  readonly target?: string;
  /** Whether the same request may succeed later: no answer, too fast, or a server that is not operational at present. */
  readonly temporary: boolean;
}

// MARK: Storage

/** One change of a table; `undefined` removes the key. */
export type StorageChange = [table: string, key: string, value: unknown | undefined];
/** Where the SDK keeps what must survive a restart. Values are structured-cloneable; a storage serves one account. */
export interface Storage {
  /** Whether values may contain `Blob`s, so that files to be sent survive a restart. */
  readonly keepsBlobs?: boolean;
  get(table: string, key: string): Promise<any>;
  /** Returns all keys and values of a table, in the order of the keys. */
  all(table: string): Promise<[string, any][]>;
  /** Applies all changes or none, and returns when they are durable. */
  write(changes: StorageChange[]): Promise<void>;
  /** Removes everything. */
  clear(): Promise<void>;
  close(): Promise<void>;
}
/** Keeps nothing beyond the process. The default outside browsers. */
export class MemoryStorage implements Storage {
  get(table: string, key: string): Promise<any>; all(table: string): Promise<[string, any][]>;
  write(changes: StorageChange[]): Promise<void>; clear(): Promise<void>; close(): Promise<void>;
}
/** A database of the browser. The default in browsers; tabs of one origin share it. */
export class IndexedDBStorage implements Storage {
  constructor(name?: string);
  readonly keepsBlobs: true;
  get(table: string, key: string): Promise<any>; all(table: string): Promise<[string, any][]>;
  write(changes: StorageChange[]): Promise<void>; clear(): Promise<void>; close(): Promise<void>;
}

// MARK: The client

export interface Options {
  /** The server's address: `https://chat.example.org`. In browsers the page's own origin is the default. */
  url?: string;
  /** `IndexedDBStorage` in browsers that have it, else `MemoryStorage`. `FileStorage` is in the Node entry. */
  storage?: Storage;
  /** Separates several accounts on one origin: part of the names of the database, the lock and the channel. The default is `default`. */
  account?: string;
  /** The name of this program in the user's list of sessions. */
  client?: string;
  /** A class like the browser's `WebSocket`. The Node entry brings its own. */
  WebSocket?: new (url: string, protocols: string[]) => any;
  fetch?: typeof fetch;
  /** How many of the newest messages of a dialog are kept locally. Default 60. */
  keepMessages?: number;
  /** How many dialogs have messages kept locally: those opened last. Default 50. */
  keepDialogs?: number;
  /** Whether arriving messages of others are marked as delivered. Default true. */
  sendDelivered?: boolean;
  /** Whether tabs of this origin and account share one connection. Default true where the browser has Web Locks. */
  shareConnection?: boolean;
  /**
   * The milliseconds within which a request is answered, else it fails with `network`; default 90,000, at most 2 ** 30 (as `Infinity`). One that carries bytes has another second
   * for each 16,000 of them, and so has an answer that says how many bytes it has. A command on the WebSocket that is not answered within this time ends its connection, which is opened again.
   */
  requestTimeout?: number;
}

/** What `signIn` takes; `grant` may be left out where the other members decide it. */
export type SignInInput = { deviceId?: string } & (
  | { grant?: "password"; username: string; password: string }
  | { grant?: "password"; email: string; password: string }
  | { grant?: "password"; phone: string; password: string }
  | { grant?: "code"; email?: string; phone?: string; code: string; name?: string }
  | { grant: "guest" }
  | { grant?: "second-factor"; challenge: string; code?: string; recoveryCode?: string }
  | { grant?: "jwt"; identityToken: string }
  | { grant?: "jwt"; /** Is given a fresh nonce, and returns the identity token of the app's own backend. */ identity: (nonce: string) => Promise<string> | string }
  | { grant?: "provider"; provider: string; idToken: string }
  | { grant?: "provider"; provider: string; code: string; codeVerifier: string; redirectUri: string }
);

/**
 * `stopped`: not connected, by choice or signed out. `connecting`: the first attempt, or right after a loss. `online`: live events
 * arrive. `waiting`: the next attempt comes at `retryAt`, in milliseconds since 1970. A tab that follows another one has that tab's state.
 */
export type ConnectionState = "stopped" | "connecting" | "online" | "waiting";

/**
 * The ladder of one's own messages. `storing`: not stored here yet, the end of the page would lose it. `failed`: refused; `retry` or
 * `discard` it. In groups one other member suffices for the next step.
 */
export type MessageStatus = "storing" | "sending" | "sent" | "delivered" | "read" | "failed";

/** A message as it is shown: one of the server, or one of the outbox that has no `id` yet. */
export interface LocalMessage extends Message {
  /** Stable from the first moment on, also when the server's answer arrives: use it as the key of a list. */
  key: string;
  /** Of the caller's own messages only. */
  status?: MessageStatus;
  /** Why it failed. */
  error?: { code: string; detail: string; field?: string };
  /** Of the upload of its files: 0 to 1. */
  progress?: number;
}

/** What the SDK sends: text, or any content; or files; or the copy of another message. */
export interface NewMessage {
  /** Short for `content: {type: "text", text}`; beside `files` or `content` their caption. */
  text?: string;
  content?: NewContent;
  /** Uploaded before the message is sent. `content.type` is that of the files (`image`, `video`, `audio`, else `file`) unless it is given. */
  files?: FileInput[];
  replyTo?: string;
  /** `begin` and `end` are places in `[...text]`, which are code points. */
  mentions?: Mention[];
  metadata?: JSONObject;
  forwardFrom?: { dialogId: string; messageId: string };
  /** Generated if absent. A repeat with the same one never makes a second message; while the first one waits, the repeat is that one. */
  clientId?: string;
}
/** Bytes with a name; a `File` already has both. */
export type FileInput = Blob | { data: Blob | Uint8Array; name?: string; mediaType?: string; width?: number; height?: number; durationMs?: number };

/** What owners and admins change of a dialog: its type, its look, and all of its settings; `null` removes. */
export type DialogChanges = { type?: "group" | "public" } & {
  [Member in Exclude<keyof Dialog,
    "id" | "type" | "jid" | "memberIds" | "memberCount" | "ownerId" | "avatarHash" | "temporary" | "externalId" | "createdAt" |
    "updatedAt" | "user" | "lastMessage" | "me">]?: Dialog[Member] | null
};

/** The events of a client: names and what listeners are given. Events of the protocol have their own names (docs/app-protocol.md). */
export interface Events {
  /** The connection's state changed. */
  connection: { state: ConnectionState; retryAt?: number; error?: ParleyError };
  /** Signed in, or out: then `error.code` says why, unless `signOut` was called. */
  session: { signedIn: boolean; error?: ParleyError };
  /** Dialogs of the local list changed, were added or removed; `undefined`: many of them, read the list again. */
  dialogs: { dialogIds?: string[] };
  /** `totalUnread` and `totalMentions` changed. */
  unread: { totalUnread: number; totalMentions: number };
  /** A message arrived, also while replaying: for notifications and bots. `isOwn`: the user sent it, here or elsewhere. */
  message: { message: Message; isOwn: boolean; isReplay: boolean };
  /** The outbox changed. `entry`: the message in its new state. `isGone`: it was sent (`message`) or discarded. */
  outbox: { clientId: string; dialogId: string; entry?: LocalMessage; isGone?: boolean; message?: Message };
  /** Those who type in a dialog. */
  typing: { dialogId: string; userIds: PersonId[] };
  presence: Presence;
  /** A call rings, was answered, ended, or the other device sent a signal. */
  call: { call: Call; signal?: CallSignal };
  /** The local state was fetched anew, because events were lost: read everything again. */
  resync: { reason: string };
  /** Something failed in the background. */
  error: ParleyError;

  "message.created": { message: Message };
  "message.updated": { message: Message };
  "message.deleted": { dialogId: string; messageId: string; by: PersonId; for: "me" | "everyone"; reason?: string; message?: Message };
  "message.starred": { dialogId: string; messageId: string; starred: boolean };
  "marker.updated": { marker: Marker };
  "contact.updated": { contact: Contact; removed: boolean };
  "contacts.changed": { change: "joined" | "left" | "renamed"; userIds: string[] };
  "block.updated": { blocks: Block[]; blocked: boolean };
  "user.updated": { user: User };
  "dialog.created": { dialog: Dialog; message?: Message };
  "dialog.updated": { dialog: Dialog; message?: Message };
  "dialog.deleted": { dialogId: string; for: "me" | "everyone"; message?: Message };
  "dialog.cleared": { dialogId: string; messageId?: string };
  "dialog.invited": { dialogId?: string; jid: string; inviterId?: PersonId; name?: string; reason?: string; elsewhere?: true };
  "member.updated": { dialogId: string; member: Member; dialog: Dialog; message?: Message };
  "settings.updated": { settings: DialogSettings };
  "draft.updated": { dialogId: string; draft?: Draft };
  "scheduled.updated": {
    scheduledMessageId: string; dialogId: string; sendAt: Time; state: ScheduledMessage["state"]; messageId?: string; code?: string; detail?: string;
  };
  "call.updated": { call: CallState };
  "presence.updated": { presence: Presence };
  "typing.updated": { dialogId: string; userIds: PersonId[] };
  "unread.updated": { dialogId: string; unreadCount: number; mentionCount: number; totalUnread: number; totalMentions: number };
  custom: { dialogId: string; senderId: PersonId; kind: string; payload: JSONObject };
  "call.signal": CallSignal & { callId: string; dialogId: string; senderId: string };
}

export class Parley {
  constructor(options?: Options);
  readonly url: string;
  /** The signed-in user. */
  readonly user?: Me | User;
  readonly userId?: string;
  readonly deviceId?: string;
  readonly signedIn: boolean;
  readonly state: ConnectionState;
  /** Whether this tab holds the connection; always true where nothing is shared. */
  readonly isLeader: boolean;
  /** The loaded part of the user's dialogs: pinned ones first, then by the last message, newest first. Archived ones included. */
  readonly dialogs: Dialog[];
  /** Whether `loadDialogs` finds more. */
  readonly hasMoreDialogs: boolean;
  /** Whether a dialog is of the pages of `loadDialogs`. Above another one, which became known by its id or a filter, there may be some that are not. */
  isListed(dialog: Dialog): boolean;
  readonly totalUnread: number;
  readonly totalMentions: number;
  /** Messages that wait for being sent, or failed, in all dialogs. */
  readonly outbox: LocalMessage[];

  /**
   * Calls the listener for every such event, until the returned function is called. `"*"`: every event of the protocol, as its frame.
   * A promise that the listener of an event of the protocol (`message` and `call` included) returns is awaited: until it has ended, the stored
   * cursor is before the event, which comes again after a restart.
   */
  on<K extends keyof Events>(type: K, listener: (data: Events[K]) => void): () => void;
  on(type: "*", listener: (frame: { type: string; cursor?: string; data: any }) => void): () => void;
  /** Resolves with the next such event that fits. Rejects with `closed` when the client is closed. */
  next<K extends keyof Events>(type: K, test?: (data: Events[K]) => boolean): Promise<Events[K]>;

  // Session
  /** Reads the local store. Returns whether somebody is signed in. Everything else waits for it. */
  open(): Promise<boolean>;
  info(): Promise<Info>;
  /** Throws `second-factor-required` with a `challenge`, if the user has one: then `signIn({ challenge, code })`. */
  signIn(input: SignInInput): Promise<User>;
  /** Creates an account and signs in. Computes the proof of work that a server may ask for, within seconds, while the page goes on. */
  signUp(input: {
    username?: string; password: string; name?: string; email?: string; phone?: string; code?: string; invitation?: string;
  }): Promise<User>;
  /** Makes a link for one person, who becomes a contact; throws `invitations-off` where the features of `info()` have no `invitations`. */
  createInvitation(): Promise<NewInvitation>;
  /** Who invites, by the token of an invitation's link; throws `invitation-unknown` if it is used up or expired. */
  invitation(token: string): Promise<Invitation>;
  /** Ends the login, here and at the server, and removes what is stored locally, unsent messages too. */
  signOut(): Promise<void>;
  /** Sends a one-time code for signing in; with `challenge` one for the second factor. */
  sendCode(input: { email?: string; phone?: string; challenge?: string }): Promise<{ expiresAt: Time }>;
  sendPasswordReset(input: { email?: string; phone?: string }): Promise<{ expiresAt: Time }>;
  resetPassword(token: string, password: string): Promise<void>;

  /**
   * Connects, and stays connected until `disconnect`: resumes by cursor, and tries again after losses (0.5 s to 60 s, with jitter, at
   * once when the browser is online again). Resolves when the client has caught up for the first time; rejects if the login has ended, and
   * with `aborted` if `disconnect` is called before, with `closed` if `close` is.
   */
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  /** Disconnects and closes the local store; a process may end afterwards. The login stays. */
  close(): Promise<void>;
  /** Waits until the outbox has nothing left to send (failed messages are left). Rejects with `closed` when the client is closed. */
  sent(): Promise<void>;

  // Dialogs
  /** Loads the next page of the user's dialogs into `dialogs`. Returns whether there are more. */
  loadDialogs(limit?: number): Promise<boolean>;
  /** Returns the dialog of the local list, or asks the server. */
  dialog(dialogId: string): Promise<Dialog>;
  /** The private dialog with a user: of the local list, also without a network; or the server's, which creates it if there is none. */
  openPrivate(userId: string): Promise<Dialog>;
  createDialog(input: {
    type: "group" | "public"; name?: string; about?: string; topic?: string; metadata?: JSONObject; memberIds?: string[];
    members?: { userId: string; role?: Exclude<Role, "banned"> }[]; historyVisibility?: "all" | "sinceJoin"; externalId?: string;
  }): Promise<Dialog>;
  updateDialog(dialogId: string, changes: DialogChanges): Promise<Dialog>;
  /** `everyone`: ends it (owners). `me`: removes it from one's list until a new message arrives. */
  deleteDialog(dialogId: string, forWhom: "everyone" | "me", reason?: string): Promise<void>;
  /** Deletes all messages so far for oneself. */
  clearDialog(dialogId: string): Promise<void>;
  /** Sets one's own settings: pinned, archived, muted, … */
  updateSettings(dialogId: string, changes: {
    notify?: "always" | "mentions" | "never" | null; mutedUntil?: Time | null; pinned?: boolean; archived?: boolean; markedUnread?: boolean;
    retentionDays?: number | null;
  }): Promise<DialogSettings>;
  /** A page of one's own dialogs, which then are among `dialogs` too, or of the public ones. `query` is a part of a name. */
  listDialogs(input?: PageInput & { scope?: "public"; type?: string; archived?: boolean; pinned?: boolean; unread?: boolean; query?: string }):
    Promise<DialogPage>;
  listMembers(dialogId: string, input?: PageInput & { role?: Role }): Promise<Page<Member>>;
  /** Adds or changes a member. `me` joins a public dialog, or changes one's `nick`. */
  putMember(dialogId: string, userId: string, input?: { role?: Role; nick?: string; reason?: string }): Promise<Member>;
  /** Removes a member. `me` leaves. */
  removeMember(dialogId: string, userId: string, reason?: string): Promise<void>;
  /** A picture of PNG, JPEG, GIF or WebP; `null` removes it. */
  setDialogAvatar(dialogId: string, picture: Blob | Uint8Array | null): Promise<void>;
  /** The picture, or `undefined` without one. For `<img>`: `URL.createObjectURL`. Pictures are kept by their hash. */
  dialogAvatar(dialogId: string): Promise<Blob | undefined>;

  // Messages
  /** Opens a dialog for reading: one request. What is known locally is there before the answer. */
  view(dialogId: string, input?: { limit?: number }): Promise<DialogView>;
  /**
   * Puts a message into the outbox, and returns it when it is stored there, as it is shown until the server has it. It is sent in
   * order, again and again until there is an answer, also after a restart.
   */
  send(dialogId: string, message: string | NewMessage): Promise<LocalMessage>;
  /**
   * The same, and waits for the answer of the server. Throws if the message is refused; it is then no longer in the outbox. If the client is
   * closed before the answer it throws `closed`, and the message stays in the outbox.
   */
  sendNow(dialogId: string, message: string | NewMessage): Promise<Message>;
  /** Sends a failed message once more. */
  retry(clientId: string): Promise<void>;
  /** Removes a message from the outbox, and cancels its upload. Whether it had been sent already cannot be known while it is being sent. */
  discard(clientId: string): Promise<void>;
  /** `include`: of `dialog`, `members`, `pins`, `markers`, `users`, separated by commas. A view asks for all of them at once. */
  listMessages(dialogId: string, input?: { before?: string; after?: string; limit?: number; include?: string }): Promise<History>;
  message(dialogId: string, messageId: string): Promise<Message>;
  searchMessages(input: PageInput & { query?: string; type?: string; dialogId?: string; from?: string }): Promise<Page<Message>>;
  edit(dialogId: string, messageId: string, text: string, mentions?: Mention[]): Promise<Message>;
  deleteMessage(dialogId: string, messageId: string, forWhom: "everyone" | "me", reason?: string): Promise<void>;
  /** Sets all of one's reactions to a message. */
  setReactions(dialogId: string, messageId: string, emoji: string[]): Promise<Message>;
  /** Adds the reaction, or takes it back. */
  toggleReaction(message: Message, emoji: string): Promise<Message>;
  pin(dialogId: string, messageId: string, on?: boolean): Promise<Message>;
  listPins(dialogId: string): Promise<Page<Message>>;
  /** Also told by the event `message.starred`. */
  star(dialogId: string, messageId: string, on?: boolean): Promise<void>;
  listStars(input?: PageInput): Promise<Page<Message>>;
  listEdits(dialogId: string, messageId: string, input?: PageInput): Promise<Page<Edit>>;
  /** Who received and read it. */
  listReceipts(dialogId: string, messageId: string, input?: PageInput): Promise<Page<Receipt>>;
  report(dialogId: string, messageId: string, input: { reason: "spam" | "abuse"; text?: string; mayTellOrigin?: boolean }): Promise<void>;
  /** Marks everything up to a message as read; `private`: without telling others. Repeats and steps back are not sent. */
  markRead(dialogId: string, messageId: string, input?: { private?: boolean }): Promise<void>;
  /** Call it at every key press: renewals are limited to one in four seconds. */
  setTyping(dialogId: string, on: boolean): void;
  /** Who types there at present. */
  typingIn(dialogId: string): PersonId[];
  /** An event that only your app understands, to those who are connected. */
  sendCustom(dialogId: string, kind: string, payload?: JSONObject): Promise<void>;
  /** Stores the draft, a second after the last call; an empty text removes it. The event `draft.updated` tells that the server has it. */
  setDraft(dialogId: string, text: string, replyTo?: string): void;
  /** Stores the draft at once. Resolves when the server has it; one whose `setDraft` still waits is not sent any more. */
  storeDraft(dialogId: string, text: string, replyTo?: string): Promise<void>;
  schedule(dialogId: string, sendAt: Date | Time, message: string | NewMessage): Promise<ScheduledMessage>;
  listScheduled(): Promise<Page<ScheduledMessage>>;
  updateScheduled(id: string, changes: { sendAt?: Date | Time; content?: NewContent; metadata?: JSONObject }): Promise<ScheduledMessage>;
  cancelScheduled(id: string): Promise<void>;

  // Files
  /**
   * Uploads a file: in parts, if it is large. A part whose answer is lost is continued where the server has it. Returns the
   * attachment, whose `id` can be sent.
   */
  upload(file: FileInput, input?: { signal?: AbortSignal; onProgress?: (done: number, total: number) => void; purpose?: "message" | "profile" }):
    Promise<Attachment & { id: string }>;
  attachment(id: string): Promise<Attachment>;
  /** The address at which this client reads a file: on a development server without a trusted certificate that of the plain port. */
  fileUrl(url: string): string;
  storageUse(): Promise<StorageUse>;

  // People
  /** A user's profile, from a cache of 500 that events keep current; requests of the same moment are sent as one. `undefined`: unknown. */
  getUser(userId: string): Promise<User | undefined>;
  /** What the cache has, at once. */
  knownUser(userId: string): User | undefined;
  searchUsers(input: PageInput & { query?: string; field?: string; ids?: string; externalId?: string; near?: string; radius?: number }): Promise<Page<User>>;
  userAvatar(userId: string): Promise<Blob | undefined>;
  /** The last known presence of a contact. */
  presenceOf(userId: string): Presence | undefined;
  fetchPresence(userId: string): Promise<Presence>;
  /** The server's time, as it was told with the last connection: the clock of this machine may be wrong. */
  now(): Date;
  /** One's own presence; set again after each reconnect. */
  setPresence(presence: { availability: Availability; status?: string; activeDialogId?: string }): void;
  listContacts(): Promise<Page<Contact>>;
  /** Asks, accepts or renames. */
  putContact(userId: string, input?: { name?: string }): Promise<Contact>;
  /** Removes, declines or withdraws. */
  removeContact(userId: string): Promise<void>;
  listBlocks(): Promise<Page<Block>>;
  block(userId: string): Promise<Block>;
  unblock(userId: string): Promise<void>;

  // One's own account
  me(): Promise<Me>;
  updateMe(changes: Partial<Record<keyof Me, unknown>>): Promise<Me>;
  acceptTerms(version: string): Promise<Me>;
  setMyAvatar(picture: Blob | Uint8Array | null): Promise<void>;
  shareLocation(input: { latitude: number; longitude: number; ttl?: number } | null): Promise<{ expiresAt: Time } | void>;
  changePassword(password: string, current?: string): Promise<void>;
  sendMyCode(input: { email?: string; phone?: string; secondFactor?: boolean }): Promise<{ expiresAt: Time }>;
  setMyEmail(input: { email: string; code: string; password?: string } | null): Promise<Me | void>;
  setMyPhone(input: { phone: string; code: string; password?: string } | null): Promise<Me | void>;
  beginSecondFactor(input?: { password?: string; method?: "totp" | "sms" }): Promise<{ method: string; secret?: string; uri?: string; expiresAt?: Time }>;
  confirmSecondFactor(code: string): Promise<{ recoveryCodes: string[] }>;
  endSecondFactor(input: { code?: string; recoveryCode?: string }): Promise<void>;
  listSessions(): Promise<Page<SessionSummary>>;
  endSession(sessionId: string): Promise<void>;
  /** Ends all other logins. */
  endOtherSessions(): Promise<void>;
  listIdentities(): Promise<Page<Identity>>;
  addIdentity(input: JSONObject): Promise<Identity>;
  removeIdentity(identityId: string): Promise<void>;
  listAppPasswords(): Promise<Page<AppPassword>>;
  createAppPassword(name: string): Promise<AppPassword>;
  removeAppPassword(id: string): Promise<void>;
  listDevices(): Promise<Page<Device>>;
  /** Registers for pushes; the result of `PushSubscription.toJSON()` is a `subscription`. */
  putDevice(deviceId: string, input: JSONObject): Promise<Device>;
  removeDevice(deviceId: string): Promise<void>;
  startExport(): Promise<Export>;
  listExports(): Promise<Page<Export>>;
  getExport(id: string): Promise<Export>;
  /** Deletes the account; `erase`: its messages too, for everyone. */
  deleteAccount(input?: { erase?: boolean }): Promise<void>;

  // Calls
  /** Rings at all devices of a user. */
  call(to: { userId: string } | { dialogId: string }, kind: "audio" | "video"): Promise<Call>;
  /** The calls that have not ended. */
  listCalls(): Promise<Call[]>;
  iceServers(): Promise<IceServer[]>;

  /**
   * Any other request of the protocol, with the access token: for what has no method here. `path` is without `/v1`. `body` is sent as JSON,
   * bytes as they are.
   */
  request(method: string, path: string, input?: { query?: Record<string, unknown>; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal }): Promise<any>;
}

/** A dialog that is being read: a gapless piece of its messages. Memory holds what was loaded; `close` it when it leaves the screen. */
export interface DialogView {
  readonly dialogId: string;
  /** The dialog as it is now. */
  readonly dialog?: Dialog;
  /** Oldest first; at the end those that are still being sent. A new array after each change. */
  readonly messages: LocalMessage[];
  /**
   * The first 100 members of a group, kept current: a map by user id, where `messages` is an array; `[...members.values()]` is one.
   * `membersCursor` continues with `listMembers`. A private dialog has none.
   */
  readonly members: Map<PersonId, Member>;
  readonly membersCursor?: string;
  /** The pinned messages, the last pinned first, kept current. */
  readonly pins: Message[];
  readonly hasOlder: boolean;
  /** Only after `jump`: the newest messages are not loaded. */
  readonly hasNewer: boolean;
  /** Whether the first answer of the server has arrived; before, `messages` are what was kept locally. */
  readonly isFresh: boolean;
  /** The reason why the first answer is missing (offline, say); after a temporary one the answer is asked for again, at the latest when the client is connected. */
  readonly error?: ParleyError;
  /** Resolves with the first answer, or rejects with its error; with `aborted` if the view is closed before. */
  readonly fresh: Promise<void>;
  /** Calls the listener after each change of `messages`, `members` and `pins`. */
  onChange(listener: () => void): () => void;
  /** Returns whether there are more. One page at a time: while one is loading, another call waits for it. */
  loadOlder(limit?: number): Promise<boolean>;
  loadNewer(limit?: number): Promise<boolean>;
  /**
   * Loads the surroundings of a message, for a hit of a search or a quoted message, and replaces `messages`; with an empty id the first ones.
   * A later `jump` or `toEnd` takes its place: one that is still loading then resolves and changes nothing.
   */
  jump(messageId: string, limit?: number): Promise<void>;
  /** Back to the newest messages. Without a network it resolves once there is one. */
  toEnd(): Promise<void>;
  /** Drops the oldest messages from memory, so that a long session stays small; `loadOlder` finds them again. */
  trim(keep: number): void;
  send(message: string | NewMessage): Promise<LocalMessage>;
  /** Marks everything that is loaded as read. */
  markRead(): Promise<void>;
  /** The users who have read one's message, as far as known from markers. */
  readersOf(messageId: string): PersonId[];
  close(): void;
}

/** What one device tells the other in a call. */
export interface CallSignal {
  action: "offer" | "answer" | "candidate" | "info"; sdp?: string; candidate?: JSONObject; info?: JSONObject;
}
/** A call: its state is `state`, which `call` events keep current. The SDK carries signals; media is the app's (`RTCPeerConnection`). */
export class Call {
  private constructor();
  readonly id: string;
  /** The last state that the server told. */
  readonly state: CallState;
  readonly isMine: boolean;
  /** Whether this device is one of the two in the call. */
  readonly isHere: boolean;
  /** Calls the listener at each change of the state, and with each signal of the other device. */
  on(type: "state", listener: (state: CallState) => void): () => void;
  on(type: "signal", listener: (signal: CallSignal) => void): () => void;
  /** Tells the caller that this device rings. */
  ringing(): Promise<void>;
  /** Answers here; throws `call-answered` if another device was faster, `call-ended` after the end. */
  accept(): Promise<void>;
  reject(reason?: "rejected" | "busy"): Promise<void>;
  end(reason?: CallReason): Promise<void>;
  offer(sdp: string): Promise<void>;
  answer(sdp: string): Promise<void>;
  candidate(candidate: JSONObject): Promise<void>;
  info(info: JSONObject): Promise<void>;
}
