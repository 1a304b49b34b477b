/** Calls of /v1/admin with an app key. The key is kept for this tab only, until it is closed or the admin signs out. */
const NAME = "parley-admin-key";

export const key = {
  get value() { return sessionStorage.getItem(NAME); },
  set(value) { if (value) sessionStorage.setItem(NAME, value); else sessionStorage.removeItem(NAME); },
};

export class Refusal extends Error {
  constructor(problem, status) {
    super(problem?.detail ?? `The server answered ${status}.`);
    Object.assign(this, { code: problem?.code, status });
  }
}

/** Returns the answer's JSON; undefined without one. Throws a `Refusal`. */
export async function call(method, path, body) {
  let response;
  try {
    response = await fetch("/v1/admin" + path, {
      method, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit",
      headers: { Authorization: `Bearer ${key.value}`, ...(body && { "Content-Type": "application/json" }) },
    });
  } catch {
    throw new Refusal({ code: "network", detail: "The server does not answer." }, 0);
  }
  const value = response.status === 204 ? undefined : await response.json().catch(() => undefined);
  if (!response.ok) throw new Refusal(value, response.status);
  return value;
}

/** Calls any operation by its name, as the `parley` command does from elsewhere. */
export const operation = (name, input = {}) => call("POST", "/operations/" + name, input);

/** Returns a query of what is given. */
export function query(members) {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== "");
  return given.length ? "?" + new URLSearchParams(given) : "";
}
