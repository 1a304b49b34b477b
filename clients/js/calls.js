import { internalOf, setInternal } from "./facade.js";
import { path } from "./requests.js";

const CALLS_MAX = 50;

const notify = (call, type, value) => {
  const { client, listeners } = internalOf(call);
  for (const listener of listeners[type]) client.callListener(() => listener(value));
};

/** Sends a signal after those before it: a candidate must not overtake its offer. */
function signal(call, action, data = {}) {
  const internal = internalOf(call);
  const { client, last: before } = internal;
  const send = async () => {
    await before?.catch(() => {});
    const body = { action, ...data };
    client.calls.apply(await client.request("POST", path`/calls/${call.id}/signals`, { body }));
  };
  internal.last = send();
  return internal.last;
}

/** A call's signalling: see `Call` in parley.d.ts. */
export class Call {
  /**
   * @param {import("./core.js").Core} client
   * @param {import("./parley.js").CallState} state
   */
  constructor(client, state) {
    setInternal(this, { client, last: undefined, listeners: { state: new Set(), signal: new Set() } });
    this.id = state.id;
    this.state = state;
  }

  get isMine() {
    return this.state.callerId === internalOf(this).client.userId;
  }

  get isHere() {
    const { userId, deviceId } = internalOf(this).client;
    return this.state.participants.some((each) => each.userId === userId && each.deviceId === deviceId);
  }

  on(type, listener) {
    const mine = internalOf(this).listeners[type];
    mine.add(listener);
    return () => mine.delete(listener);
  }

  ringing() {
    return signal(this, "ringing");
  }
  accept() {
    return signal(this, "accept");
  }
  reject(reason) {
    return signal(this, "reject", { reason });
  }
  end(reason) {
    return internalOf(this).client.request("DELETE", path`/calls/${this.id}`, { query: { reason } });
  }
  offer(sdp) {
    return signal(this, "offer", { sdp });
  }
  answer(sdp) {
    return signal(this, "answer", { sdp });
  }
  candidate(candidate) {
    return signal(this, "candidate", { candidate });
  }
  info(info) {
    return signal(this, "info", { info });
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
      notify(call, "state", state);
      this.client.emit("call", { call });
    }
    return call;
  }

  async signal({ callId, ...signal }) {
    const call = this.known.get(callId) ?? this.apply(await this.client.request("GET", path`/calls/${callId}`));
    notify(call, "signal", signal);
    this.client.emit("call", { call, signal });
  }
}
