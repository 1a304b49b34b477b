import { Options, Parley as Core, Storage, StorageChange } from "./parley.js";
export * from "./parley.js";

/** The client with what Node lacks: a WebSocket. */
export class Parley extends Core {
  /** In Node `url` is required. */
  constructor(options: Options & { url: string });
}
/**
 * Keeps everything in one file of the user's own (mode 0600), which one process uses at a time. Each write is appended and synced;
 * the file is rewritten when most of it is obsolete. Files to be sent are not kept (`keepsBlobs` is absent) until they are uploaded.
 */
export class FileStorage implements Storage {
  constructor(path: string);
  get(table: string, key: string): Promise<any>; all(table: string): Promise<[string, any][]>;
  write(changes: StorageChange[]): Promise<void>; clear(): Promise<void>; close(): Promise<void>;
}
