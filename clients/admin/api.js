/**
 * Calls of /v1/admin, with an administrator's login or with an app key. What it holds is kept for this tab only, until it is
 * closed or somebody signs out.
 */
const NAME = "parley-admin";

export const held = {
  /** `{ key }`, or `{ accessToken, refreshToken, name }`; undefined if nobody is signed in. */
  get value() {
    return JSON.parse(sessionStorage.getItem(NAME) ?? "null") ?? undefined;
  },
  set(value) {
    if (value) sessionStorage.setItem(NAME, JSON.stringify(value));
    else sessionStorage.removeItem(NAME);
  },
};

export class Refusal extends Error {
  constructor(problem, status) {
    super(problem?.detail ?? `The server answered ${status}.`);
    Object.assign(this, problem);
    this.code = problem?.code;
    this.status = status;
  }

  /** Whether there is no way on but to sign in again. */
  get endsAccess() {
    return this.status === 401 || this.code === "administrator-required";
  }
}

/** Returns the answer's JSON; undefined without one. Throws a `Refusal`. */
async function send(method, path, body, token) {
  let response;
  try {
    response = await fetch("/v1" + path, {
      method,
      body: body && JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      headers: {
        ...(token && { Authorization: `Bearer ${token}` }),
        ...(body && { "Content-Type": "application/json" }),
      },
    });
  } catch {
    throw new Refusal({ code: "network", detail: "The server does not answer." }, 0);
  }
  const value = response.status === 204 ? undefined : await response.json().catch(() => undefined);
  if (!response.ok) throw new Refusal(value, response.status);
  return value;
}

// MARK: Signing in

/** Signs in by the app protocol, whose grants and steps these are. Throws `second-factor-required` with its `challenge`. */
export async function signIn(input) {
  const login = await send("POST", "/sessions", { client: "Administration", ...input });
  hold(login);
}

function hold({ accessToken, refreshToken, user }) {
  held.set({ accessToken, refreshToken, name: user?.jid ?? user?.name ?? user?.id });
}

/** Sends a one-time code to `{ email }` or `{ phone }`, or for the `{ challenge }` of a second factor. */
export const sendCode = (input) => send("POST", "/codes", input);

/** What the server offers: its domain, and the ways to sign in. */
export const info = () => send("GET", "/info");

/** Ends the login, too: a copy of its tokens opens nothing any more. */
export async function signOut() {
  const token = held.value?.accessToken;
  held.set(undefined);
  if (token) await send("DELETE", "/sessions/current", undefined, token).catch(() => {});
}

let renewing;

/** Renews the access token. Several calls that find it expired share one renewal: a refresh token works once. */
function renew() {
  renewing ??= (async () => {
    try {
      hold(await send("POST", "/sessions", { grant: "refresh", refreshToken: held.value?.refreshToken }));
    } finally {
      renewing = undefined;
    }
  })();
  return renewing;
}

// MARK: Calls

/** Calls an operation by its route. */
export async function call(method, path, body) {
  const token = () => held.value?.key ?? held.value?.accessToken;
  try {
    return await send(method, "/admin" + path, body, token());
  } catch (error) {
    if (error.code !== "token-expired" || !held.value?.refreshToken) throw error;
  }
  await renew();
  return send(method, "/admin" + path, body, token());
}

/** Calls any operation by its name, as the `parley` command does from elsewhere. */
export const operation = (name, input = {}) => call("POST", "/operations/" + name, input);

/** Returns a query of what is given. */
export function query(members) {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== "");
  return given.length ? "?" + new URLSearchParams(given) : "";
}
