import Accounts
import Dialogs
import HTTPPort

/// Returns a nonce for the token of the app's backend: valid once, for ten minutes.
enum CreateNonce: ServedOperation {
  typealias Input = NoInput
  typealias Output = NonceBody
  static let name = "nonce.create"
  static let method = Method.post
  static let path = "/v1/nonces"
  static let successes = [201]
  static let needsCaller = false

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<NonceBody> {
    let (text, expires) = try call.accounts.makeNonce(in: call.realm.id)
    return .created(NonceBody(nonce: text, expiresAt: expires))
  }
}
