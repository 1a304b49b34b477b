import { path } from "./requests.js";

const CALLS_MAX = 50;

/** The listeners of each call, by the type of what they are given. */
const listeners = new WeakMap();

const notify = (client, call, type, value) => {
  for (const listener of listeners.get(call)[type]) client.callListener(() => listener(value));
};

/** A call's signalling: see `Call` in parley.d.ts. */
export class Call {
  #client;
  #last;

  /**
   * @param {import("./core.js").Core} client
   * @param {import("./parley.js").CallState} state
   */
  constructor(client, state) {
    this.#client = client;
    listeners.set(this, { state: new Set(), signal: new Set() });
    this.id = state.id;
    this.state = state;
  }

  get isMine() {
    return this.state.callerId === this.#client.userId;
  }

  get isHere() {
    const { userId, deviceId } = this.#client;
    return this.state.participants.some((each) => each.userId === userId && each.deviceId === deviceId);
  }

  on(type, listener) {
    const mine = listeners.get(this)[type];
    mine.add(listener);
    return () => mine.delete(listener);
  }

  /** One after the other: a candidate must not overtake its offer. */
  #signal(action, data = {}) {
    const before = this.#last;
    const send = async () => {
      await before?.catch(() => {});
      const body = { action, ...data };
      this.#client.calls.apply(await this.#client.request("POST", path`/calls/${this.id}/signals`, { body }));
    };
    this.#last = send();
    return this.#last;
  }

  ringing() {
    return this.#signal("ringing");
  }
  accept() {
    return this.#signal("accept");
  }
  reject(reason) {
    return this.#signal("reject", { reason });
  }
  end(reason) {
    return this.#client.request("DELETE", path`/calls/${this.id}`, { query: { reason } });
  }
  offer(sdp) {
    return this.#signal("offer", { sdp });
  }
  answer(sdp) {
    return this.#signal("answer", { sdp });
  }
  candidate(candidate) {
    return this.#signal("candidate", { candidate });
  }
  info(info) {
    return this.#signal("info", { info });
  }
}

/** The calls that this client knows: one `Call` for each id. */
export class Calls {
  known = new Map();

  /** @param {import("./core.js").Core} client */
  constructor(client) {
    this.client = client;
  }

  apply(state) {
    let call = this.known.get(state.id);
    const isSame = call && JSON.stringify(call.state) === JSON.stringify(state);
    // An answer can be older than an event: a call never goes back.
    const order = ["ringing", "accepted", "ended"];
    if (call && order.indexOf(state.state) < order.indexOf(call.state.state)) return call;
    if (!call) {
      call = new Call(this.client, state);
      this.known.set(state.id, call);
      if (this.known.size > CALLS_MAX) this.known.delete(this.known.keys().next().value);
    }
    call.state = state;
    if (!isSame) {
      notify(this.client, call, "state", state);
      this.client.emit("call", { call });
    }
    return call;
  }

  async signal({ callId, ...signal }) {
    const call = this.known.get(callId) ?? this.apply(await this.client.request("GET", path`/calls/${callId}`));
    notify(this.client, call, "signal", signal);
    this.client.emit("call", { call, signal });
  }
}
