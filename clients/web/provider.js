// Signing in by a provider, or connecting one to an account: the browser goes there and comes back with an authorization code
// (RFC 6749 4.1), whose proof key only this tab has (RFC 7636). The server redeems it: nothing of the provider is loaded here, and its tokens are never in the browser.

/** In the storage of the tab while its user is at a provider. */
const KEY = "parley.authorization";
/** The redirect URI of this client: the page itself, at whatever address it is. */
const here = () => `${location.origin}/`;
const text = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const random = () => text(crypto.getRandomValues(new Uint8Array(32)));

/** Returns the providers that can send a user back to this address. Proof keys need a page that came securely. */
export function providersFor(info) {
  return globalThis.crypto?.subtle
    ? (info.authorizationEndpoints ?? []).filter((each) => each.redirectUris.includes(here()))
    : [];
}

/** A provider's name as a person would write it. */
export const titleOf = (provider) => provider.charAt(0).toUpperCase() + provider.slice(1);

/** Leaves for a provider: to sign in, or with `userId` to connect it to that user's account. */
export async function leaveFor({ provider, url, clientId, scope }, userId) {
  const [state, codeVerifier] = [random(), random()];
  const proof = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(codeVerifier));
  sessionStorage.setItem(KEY, JSON.stringify({ provider, state, codeVerifier, userId }));
  const address = new URL(url);
  const query = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: here(),
    ...(scope && { scope }),
    state,
    code_challenge: text(new Uint8Array(proof)),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  location.assign(address);
}

/**
 * Returns what a provider has sent the user back with: what `signIn` takes, or `{error}`; `undefined` if nobody comes from one. Who left
 * to connect the provider to their account has a `userId`. It is taken out of the address, and works once. What this tab has not asked for (RFC 6749 10.12) is an error.
 */
export function returned() {
  const query = new URLSearchParams(location.search);
  if (!query.has("state") && !query.has("error")) return undefined;
  history.replaceState(null, "", `/${location.hash}`);
  const { provider, state, codeVerifier, userId } = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  sessionStorage.removeItem(KEY);
  // Some providers send a refusal without the state: it gives nobody anything.
  if (state && query.has("error")) return { error: query.get("error"), userId };
  if (!state || state !== query.get("state") || !query.get("code")) return { error: "state", userId };
  return { provider, code: query.get("code"), codeVerifier, redirectUri: here(), userId };
}
