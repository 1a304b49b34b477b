import Accounts
import Dialogs

/// A client's token of a provider: an ID token (OpenID Connect), or, if there is none, an authorization code that the
/// server redeems (RFC 6749 4.1.3, RFC 7636 4.5). Never an access token: it does not tell which app it was issued to.
struct ProviderToken {
  let idToken: String?
  let code: String?
  let verifier: String?
  let redirectURI: String?

  var isEmpty: Bool { idToken == nil && code == nil && verifier == nil && redirectURI == nil }

  func token(of provider: String) throws(Problem) -> IdentityToken {
    switch (idToken, code, verifier, redirectURI) {
    case (let text?, nil, nil, nil): return .provider(provider, idToken: text)
    case (nil, let code?, let verifier?, let redirectURI?):
      return .code(provider, CodeGrant(code: code, verifier: verifier, redirectURI: redirectURI))
    default:
      throw Problem(
        .malformed, "input-malformed", "Give idToken, or code, codeVerifier and redirectUri.",
        field: code == nil ? "idToken" : verifier == nil ? "codeVerifier" : "redirectUri")
    }
  }
}
