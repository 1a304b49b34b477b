import { ParleyError } from "./errors.js";

const PING_AFTER = 25_000;
const SILENCE_MAX = 40_000;
const HELLO_WITHIN = 20_000;
const DELAY_MAX = 60_000;

/** Returns the milliseconds before attempt `n` (from 0): doubled each time, half of it random, as clients are many. */
export const delay = (n, first = 1000) => Math.min(DELAY_MAX, first * 2 ** n) * (0.5 + Math.random() / 2);

/**
 * One WebSocket at a time, which is opened again after each loss. `owner` has `cursor()`, `token()`, `refresh(token)`, `frame(frame)`,
 * `changed(state, retryAt, error)`, and `ended(error)` for an end after which nothing is tried again.
 */
export class Connection {
  constructor(url, WebSocket, owner, timeout) {
    this.url = url;
    this.WebSocket = WebSocket;
    this.owner = owner;
    this.timeout = timeout;
    this.state = "stopped";
    this.attempts = 0;
    this.replies = new Map();
    this.number = 0;
    this.wake = () => {
      if (this.state === "waiting") this.open();
      else if (this.state === "online") this.ping();
    };
    this.shown = () => {
      if (!globalThis.document?.hidden) this.wake();
    };
  }

  start() {
    if (this.state !== "stopped") return;
    globalThis.addEventListener?.("online", this.wake);
    globalThis.document?.addEventListener?.("visibilitychange", this.shown);
    this.attempts = 0;
    this.open();
  }

  stop() {
    globalThis.removeEventListener?.("online", this.wake);
    globalThis.document?.removeEventListener?.("visibilitychange", this.shown);
    clearTimeout(this.timer);
    this.drop(1000);
    this.turn("stopped");
  }

  turn(state, retryAt, error) {
    this.state = state;
    this.owner.changed(state, retryAt, error);
  }

  open() {
    clearTimeout(this.timer);
    this.drop(4000);
    this.turn("connecting");
    let socket;
    try {
      socket = new this.WebSocket(this.url, ["parley.v1"]);
    } catch (error) {
      return this.lost(new ParleyError("network", error.message, {}, error));
    }
    this.socket = socket;
    this.heard = Date.now();
    const mine = (work) => (event) => {
      if (this.socket === socket) work(event);
    };
    socket.onopen = mine(() => this.hello());
    socket.onmessage = mine((event) => this.receive(event.data));
    socket.onerror = () => {};
    socket.onclose = mine((event) => this.closed(event.code, event.reason));
    this.watch = setInterval(() => this.check(), 5000);
  }

  /** Leaves the socket, unheard from then on. 1000 tells the server that the user is away, others that they return. */
  drop(code) {
    clearInterval(this.watch);
    const socket = this.socket;
    this.socket = undefined;
    try {
      socket?.close(code);
    } catch {
      /* it was not open yet */
    }
    for (const { reject, timer } of this.replies.values()) {
      clearTimeout(timer);
      reject(new ParleyError("network", "The connection ended before the answer."));
    }
    this.replies.clear();
  }

  async hello() {
    const token = this.owner.token();
    try {
      await this.command("hello", { token, cursor: this.owner.cursor() });
    } catch (error) {
      if (error.code === "token-expired" || error.code === "token-invalid") this.renew(token);
      else if (error.code !== "network") this.lost(error);
    }
  }

  async renew(token) {
    this.drop(4000);
    this.turn("connecting");
    try {
      await this.owner.refresh(token);
      if (this.state === "connecting") this.open();
    } catch (error) {
      if (this.state === "connecting") this.lost(error);
    }
  }

  /** Sends a command and returns the data of its answer. */
  command(type, data) {
    return new Promise((resolve, reject) => {
      // One that is being closed takes nothing any more, and a browser complains.
      if (!this.socket || this.socket.readyState > 1)
        return reject(new ParleyError("network", "There is no connection."));
      const id = String(++this.number);
      // A connection on which an answer is missing is replaced by another one.
      const timer = setTimeout(() => this.lost(new ParleyError("network", `No answer to ${type}.`)), this.timeout);
      this.replies.set(id, { resolve, reject, timer });
      this.socket.send(JSON.stringify({ id, type, data }));
    });
  }

  ping() {
    this.command("ping", {}).catch(() => {});
  }

  check() {
    const silence = Date.now() - this.heard;
    const bound = this.state === "online" ? SILENCE_MAX : HELLO_WITHIN;
    if (silence > bound || silence < -bound) {
      // Also after a sleep of the machine, or a jump of its clock: a new connection is never wrong.
      this.lost(new ParleyError("network", "The server has fallen silent."));
    } else if (silence > PING_AFTER && this.state === "online") this.ping();
  }

  receive(text) {
    this.heard = Date.now();
    let frame;
    try {
      frame = JSON.parse(text);
    } catch {
      return;
    }
    if (frame.re !== undefined) {
      const reply = this.replies.get(frame.re);
      this.replies.delete(frame.re);
      clearTimeout(reply?.timer);
      if (frame.error) reply?.reject(ParleyError.of(frame.error));
      else reply?.resolve(frame.data);
      return;
    }
    if (frame.type === "goaway") this.away = frame.data;
    if (frame.type === "caught_up") {
      this.attempts = 0;
      this.owner.frame(frame);
      this.turn("online");
    } else this.owner.frame(frame);
  }

  closed(code, reason) {
    const { away } = this;
    this.away = undefined;
    if (code === 4401) return this.renew(this.owner.token());
    if (code === 4409 || away?.reason === "session-replaced") {
      this.drop(1000);
      return this.owner.ended(new ParleyError("session-replaced", "The same device has connected elsewhere."));
    }
    const error = new ParleyError("network", reason || `The connection was closed (${code}).`);
    this.lost(error, away?.retryAfterMs ?? (code === 4429 ? 5000 : code === 1013 ? 10_000 : 0));
  }

  lost(error, atLeast = 0) {
    this.drop(4000);
    if (this.state === "stopped") return;
    // The first attempt after a working connection is early: most losses are short.
    const wait = Math.max(error.retryAfter * 1000 || 0, atLeast * (1 + Math.random() / 2), delay(this.attempts++, 500));
    this.turn("waiting", Date.now() + wait, error);
    this.timer = setTimeout(() => this.open(), wait);
  }
}
