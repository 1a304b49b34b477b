/** The part of typed.ts that only Node has. */
import { FileStorage, Parley, type Storage } from "parley-client";

const storage: Storage = new FileStorage("juliet.store");
export const parley = new Parley({ url: "http://127.0.0.1:8080", storage });
// @ts-expect-error: there is no page whose address would be the default
new Parley({ storage });

declare global {
  /** What the example uses of Node, whose own declarations are not here. */
  const process: {
    env: Record<string, string | undefined>;
    on(signal: string, listener: () => void): void;
    exit(code: number): never;
  };
}
