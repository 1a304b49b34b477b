/**
 * The tabs of one origin and account: the one that has the lock leads and holds the connection; it tells the others each event. When
 * it goes, the browser gives the lock to the next. Where there are no locks, everybody leads.
 */
export class Tabs {
  constructor(name, isShared, { onLead, onMessage }) {
    const { locks } = globalThis.navigator ?? {};
    this.name = name;
    this.onLead = onLead;
    this.onMessage = onMessage;
    this.leads = false;
    this.locks = isShared && locks && globalThis.BroadcastChannel ? locks : undefined;
    if (!this.locks) return;
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = (event) => this.onMessage(event.data);
  }

  /** Leads as soon as no other tab does. */
  join() {
    if (this.leaving) return;
    this.leaving = new AbortController();
    if (!this.locks) {
      this.leads = true;
      this.onLead();
      return;
    }
    const { signal } = this.leaving;
    const held = new Promise((resolve) => signal.addEventListener("abort", resolve));
    this.locks
      .request(this.name, { signal }, () => {
        if (signal.aborted) return undefined;
        this.leads = true;
        this.onLead();
        return held;
      })
      .catch(() => {});
  }

  leave() {
    this.leaving?.abort();
    this.leaving = undefined;
    this.leads = false;
  }

  /** Runs work that only one tab at a time may do. */
  alone(work) {
    return this.locks ? this.locks.request(this.name + ":session", work) : work();
  }

  post(message) {
    this.channel?.postMessage(message);
  }

  close() {
    this.leave();
    this.channel?.close();
    this.channel = undefined;
  }
}
