import { ParleyError, aborted, reason, signedOut } from "./errors.js";

const encoder = encodeURIComponent;
/** The bytes of a body that add a millisecond to the time of its request: a slow network takes long to carry them. */
const SLOWEST = 16;

/**
 * @typedef {object} RequestInput
 * @property {Record<string, unknown>} [query]
 * @property {any} [body] Sent as JSON, bytes as they are.
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 * @property {boolean} [token] Whether the access token is sent, which it is unless this is `false`.
 */

/** Returns a path with its parts encoded: path`/dialogs/${id}`. */
export const path = (strings, ...values) => strings.reduce((all, part, i) => all + encoder(values[i - 1]) + part);

/** Whether these are bytes, also of another frame. */
export const isBytes = (value) =>
  ArrayBuffer.isView(value) || /^\[object (Blob|File)\]$/.test(Object.prototype.toString.call(value));

/** A random UUID, also where the page is not a secure context. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * HTTP requests of the protocol, with the access token. An expired token is replaced by the refresh token, once for all requests and
 * all tabs at a time: a refresh token works once, but for a client that did not get the answer.
 */
export class Requests {
  /** `session` has `current`, `reload()`, `replace(session)` and `end(error)`; `lock(work)` runs it alone among the tabs. */
  constructor(base, fetch, session, lock, timeout) {
    this.base = base;
    this.fetch = fetch;
    this.session = session;
    this.lock = lock;
    this.timeout = timeout;
  }

  /**
   * Returns the value of the answer: JSON, a Blob for other types, the fields for HEAD, undefined without a body.
   *
   * @param {string} method
   * @param {string} path
   * @param {RequestInput} input
   */
  async send(method, path, { query, body, headers = {}, signal, token = true } = {}) {
    // A URL is sent without these segments (WHATWG URL 4.4): DELETE of members/.. would be one of the dialog.
    if (/\/(\.|%2e){1,2}(?=[/?]|$)/i.test(path))
      throw new ParleyError("path-malformed", `${path}: nobody has this id.`);
    for (let attempt = 0; ; attempt++) {
      const used = token && this.session.current?.accessToken;
      if (token && !used) throw signedOut();
      try {
        return await this.once(method, this.base + "/v1" + path + text(query), { body, headers, signal }, used);
      } catch (error) {
        const isToken = error.code === "token-expired" || error.code === "token-invalid";
        if (!used || !isToken || attempt > 0) throw error;
        await this.refresh(used);
      }
    }
  }

  /**
   * One attempt.
   *
   * @param {string} method
   * @param {string} url
   * @param {RequestInput} input
   * @param {string} [token]
   */
  async once(method, url, { body, headers = {}, signal }, token) {
    const fields = { ...headers };
    if (token) fields.Authorization = "Bearer " + token;
    if (body !== undefined && !isBytes(body)) {
      fields["Content-Type"] = "application/json";
      body = JSON.stringify(body);
    }
    // The answer is no longer waited for once this is aborted, whether `fetch` heeds it or not.
    const abort = new AbortController();
    const ended = new Promise((_, reject) => {
      abort.signal.onabort = () => reject(new Error("It took too long."));
    });
    const end = () => abort.abort();
    let timer;
    const endsAfter = (bytes) => {
      clearTimeout(timer);
      timer = setTimeout(end, this.timeout + bytes / SLOWEST);
    };
    endsAfter(body?.size ?? body?.length ?? 0);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
    const answered = async () => {
      const response = await this.fetch(url, {
        method,
        headers: fields,
        body,
        signal: abort.signal,
        credentials: "omit",
        cache: "no-store",
      });
      const type = response.headers.get("Content-Type") ?? "";
      if (!abort.signal.aborted) endsAfter(Number(response.headers.get("Content-Length")) || 0);
      if (method === "HEAD") return [response, response.headers];
      if (response.status === 204) return [response];
      return [response, await (/\bjson\b/.test(type) ? response.json() : response.blob())];
    };
    let response, value;
    try {
      [response, value] = await Promise.race([ended, answered()]);
    } catch (error) {
      if (signal?.aborted) throw aborted();
      throw new ParleyError("network", `No answer to ${method} ${url.split("?")[0]}: ${reason(error)}`, {}, error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
    }
    if (!response.ok) {
      const problem = value?.code ? value : { title: `HTTP ${response.status}` };
      const wait = Number(response.headers.get("Retry-After")) || undefined;
      throw ParleyError.of({ retryAfter: wait, ...problem }, response.status);
    }
    return value;
  }

  /** Replaces the access token `used`, unless it has been replaced meanwhile. Ends the session if the login has ended. */
  refresh(used) {
    this.refreshing ??= this.lock(async () => {
      await this.session.reload();
      const session = this.session.current;
      if (!session) throw signedOut();
      if (session.accessToken !== used) return;
      const body = { grant: "refresh", refreshToken: session.refreshToken };
      const ask = () => this.once("POST", this.base + "/v1/sessions", { body });
      try {
        // A repeat has the same answer, as long as its tokens are not used.
        const next = await ask().catch((error) => {
          if (error.code !== "network") throw error;
          return ask();
        });
        await this.session.replace({ ...session, ...next });
      } catch (error) {
        if (error.status === 401 || error.status === 403) await this.session.end(error);
        throw error;
      }
    }).finally(() => {
      this.refreshing = undefined;
    });
    return this.refreshing;
  }
}

function text(query) {
  const parts = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  return parts.length ? "?" + parts.map(([name, value]) => `${name}=${encoder(value)}`).join("&") : "";
}
