import Accounts
import Dialogs
import HTTPPort

/// Removes the caller's mail address.
enum RemoveMyEmail: ServedOperation {
  typealias Input = NoInput
  typealias Output = EmptyBody
  static let name = "me.email.delete"
  static let method = Method.delete
  static let path = "/v1/users/me/email"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    try await call.accounts.unbind(.email, from: try call.user().user)
    return .done
  }
}
