import Accounts
import Dialogs
import HTTPPort

/// Removes an identity from the caller, unless it is their last way to sign in.
enum DeleteIdentity: ServedOperation {
  typealias Input = IdentityReference
  typealias Output = EmptyBody
  static let name = "identity.delete"
  static let method = Method.delete
  static let path = "/v1/users/me/identities/{identityId}"

  static func perform(_ input: IdentityReference, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user()
    try await call.accounts.unlink(input.identityId, from: caller.user)
    return .done
  }
}
