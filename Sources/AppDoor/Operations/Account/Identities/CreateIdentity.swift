import Accounts
import Dialogs
import HTTPPort

/// Binds the identity of a token to the caller. A guest becomes an ordinary user by it.
enum CreateIdentity: ServedOperation {
  typealias Input = IdentityInput
  typealias Output = IdentityBody
  static let name = "identity.create"
  static let method = Method.post
  static let path = "/v1/users/me/identities"
  static let successes = [200, 201]

  static func perform(_ input: IdentityInput, _ call: RequestContext) async throws(Problem) -> Outcome<IdentityBody> {
    let caller = try call.user()
    let token: IdentityToken
    let given = ProviderToken(
      idToken: input.idToken, code: input.code, verifier: input.codeVerifier, redirectURI: input.redirectUri)
    switch (input.identityToken, input.provider) {
    case (let text?, nil) where given.isEmpty: token = .backend(text)
    case (nil, let provider?): token = try given.token(of: provider)
    default:
      throw Problem(
        .malformed, "input-malformed", "Either identityToken, or provider and what it gave are expected.",
        field: "identityToken")
    }
    do throws(Problem) {
      let (identity, isNew) = try await call.accounts.link(token, to: caller.user)
      let body = IdentityBody(identity)
      return isNew ? .created(body) : .ok(body)
    } catch {
      // 401 would refer to the access token, which is valid.
      guard error.kind == .unauthenticated else { throw error }
      let counted = call.accounts.wrongToken(error, from: call.address)
      throw counted.kind == .tooFast ? counted : Problem(.forbidden, error.code, error.text)
    }
  }
}
