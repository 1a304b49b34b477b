/** Codes of 5xx that a repeat does not change. */
const PERMANENT = new Set([501, 505]);

/** Every failure that the SDK reports. See parley.d.ts. */
export class ParleyError extends Error {
  constructor(code, detail, problem = {}, cause) {
    super(detail || code, cause && { cause });
    this.name = "ParleyError";
    this.code = code;
    this.status = problem.status ?? 0;
    for (const member of ["field", "retryAfter", "requestId", "challenge", "secondFactor", "target"]) {
      if (problem[member] !== undefined) this[member] = problem[member];
    }
    this.temporary =
      code === "network" ||
      this.status === 408 ||
      this.status === 429 ||
      (this.status >= 500 && !PERMANENT.has(this.status));
  }

  /** The error of a problem (RFC 9457) of an HTTP answer or a reply on the WebSocket. */
  static of(problem, status = problem?.status) {
    return new ParleyError(problem?.code ?? "answer-malformed", problem?.detail ?? problem?.title, {
      ...problem,
      status,
    });
  }
}

/** What an error says, with its causes: what `fetch` of Node says is "fetch failed", and its cause names the address and the reason. */
export const reason = ({ message, cause, errors = cause ? [cause] : [] }) =>
  [message, errors.map(reason).join(", ")].filter(Boolean).join(": ");

export const signedOut = () => new ParleyError("signed-out", "Nobody is signed in.");
export const closed = () => new ParleyError("closed", "The client has been closed.");
export const aborted = () => new ParleyError("aborted", "The request was aborted.");
