/** A program that types.test.js compiles: it uses each class, and what it says to be wrong has to be refused. It never runs. */
import {
  Call,
  type Content,
  type DialogView,
  type Events,
  IndexedDBStorage,
  type LocalMessage,
  type Me,
  MemoryStorage,
  type Message,
  type NewMessage,
  type Options,
  type Page,
  Parley,
  ParleyError,
  type SignInInput,
  type Storage,
  type StorageChange,
} from "parley-client";

/** An app's own storage. */
class Kept implements Storage {
  readonly keepsBlobs = true;
  private tables = new Map<string, Map<string, unknown>>();
  async get(table: string, key: string) {
    return this.tables.get(table)?.get(key);
  }
  async all(table: string): Promise<[string, any][]> {
    return [...(this.tables.get(table) ?? [])];
  }
  async write(changes: StorageChange[]) {
    for (const [table, key, value] of changes) {
      if (value === undefined) this.tables.get(table)?.delete(key);
      else this.tables.get(table)?.set(key, value);
    }
  }
  async clear() {
    this.tables.clear();
  }
  async close() {}
}

const storages: Storage[] = [new Kept(), new MemoryStorage(), new IndexedDBStorage("parley:juliet")];
const options: Options & { url: string } = {
  url: "https://chat.example.org",
  storage: storages[0],
  account: "juliet",
  keepMessages: 100,
};
const parley = new Parley(options);

export async function signIn(): Promise<Me> {
  const grants: SignInInput[] = [
    { username: "juliet", password: "x" },
    { email: "juliet@example.org", code: "123456" },
    { grant: "guest" },
    { challenge: "x", recoveryCode: "x" },
    { identity: async (nonce) => nonce + nonce.length },
    { provider: "google", idToken: "x" },
  ];
  // @ts-expect-error: a password needs a name
  grants.push({ grant: "password", password: "x" });
  try {
    if (!(await parley.open())) await parley.signIn(grants[0]!);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const seconds: number = error.retryAfter ?? 0;
    if (error.code === "second-factor-required" && !seconds)
      await parley.signIn({ challenge: error.challenge!, code: "123456" });
    // @ts-expect-error: it is read only
    error.code = "x";
  }
  await parley.connect();
  return parley.me();
}

export function listen(): () => void {
  const ends = [
    parley.on("message", ({ message, isOwn, isReplay }) => {
      if (!isOwn && !isReplay) show(message.content);
    }),
    parley.on("call", ({ call, signal }) => {
      if (signal) answer(call, signal.sdp ?? "");
    }),
    parley.on("member.updated", ({ member, dialog }) => show(`${member.role} ${dialog.memberCount}`)),
    parley.on("*", ({ type, cursor }) => show(`${type} ${cursor}`)),
  ];
  // @ts-expect-error: there is no such event
  parley.on("massage", () => {});
  // @ts-expect-error: it has no such member
  parley.on("unread", ({ unreadTotal }) => show(String(unreadTotal)));
  return () => {
    for (const end of ends) end();
  };
}

export async function talk(): Promise<LocalMessage[]> {
  const next: Promise<Events["typing"]> = parley.next("typing", ({ userIds }) => userIds.length > 0);
  const { id, me } = await parley.openPrivate("romeo");
  const view: DialogView = await parley.view(id, { limit: 20 });
  const message: NewMessage = { text: "A rose", files: [new Blob(["x"]), { data: new Uint8Array(1), name: "rose" }] };
  await view.send(message);
  const kept: Message = await parley.sendNow(id, { content: { type: "location", lat: 45.4, lng: 11 } });
  // @ts-expect-error: a location has a latitude
  await parley.sendNow(id, { content: { type: "location", lng: 11 } });
  const page: Page<Message> = await parley.listMessages(id, { before: kept.id });
  await parley.deleteMessage(id, page.items[0]!.id, "me");
  // @ts-expect-error: for whom?
  await parley.deleteMessage(id, page.items[0]!.id);
  show(`${me?.unreadCount} ${(await next).dialogId} ${[...view.members.values()].map(({ nick }) => nick ?? "")}`);
  return view.messages.filter(({ key, status, error }) => key && (status === "failed" ? error?.code : true));
}

async function answer(call: Call, sdp: string): Promise<void> {
  call.on("state", ({ state }) => show(state));
  if (call.state.state === "ringing" && !call.isMine) await call.accept();
  await call.answer(sdp);
  // @ts-expect-error: a call comes from `call`, or as an event
  new Call();
}

function show(what: Content | string): void {
  document.body.append(
    typeof what === "string" ? what : `${what.type} ${what.text} ${what.attachments?.map(({ url }) => url)}`,
  );
}
