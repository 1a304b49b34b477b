import Accounts
import Dialogs
import HTTPPort

/// Removes the caller's telephone number.
enum RemoveMyPhone: ServedOperation {
  typealias Input = NoInput
  typealias Output = EmptyBody
  static let name = "me.phone.delete"
  static let method = Method.delete
  static let path = "/v1/users/me/phone"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    try await call.accounts.unbind(.phone, from: try call.user().user)
    return .done
  }
}
