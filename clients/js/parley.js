import { Call } from "./calls.js";
import { Core } from "./core.js";
import { dialogs } from "./dialogs.js";
import { ParleyError } from "./errors.js";
import { forward, setInternal } from "./facade.js";
import { operations } from "./operations.js";
import { people } from "./people.js";
import { IndexedDBStorage, MemoryStorage } from "./storage.js";

export { Call, IndexedDBStorage, MemoryStorage, ParleyError };

/** The client: see parley.d.ts. What it does is in core.js. */
export class Parley {
  /** @param {import("./parley.js").Options} [options] */
  constructor(options) {
    setInternal(this, new Core(options));
  }
}

forward(
  Parley,
  [
    ...[
      "on",
      "next",
      "open",
      "request",
      "signIn",
      "signUp",
      "signOut",
      "connect",
      "disconnect",
      "close",
      "sent",
      "now",
    ],
    ...[dialogs, operations, people].flatMap((methods) => Object.keys(methods)),
  ],
  [
    ...["url", "user", "userId", "deviceId", "signedIn", "state", "isLeader"],
    ...["dialogs", "hasMoreDialogs", "totalUnread", "totalMentions", "outbox"],
  ],
);
