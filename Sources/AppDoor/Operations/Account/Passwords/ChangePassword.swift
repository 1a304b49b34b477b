import Accounts
import Dialogs
import HTTPPort

/// Changes the caller's password, or sets a first one. This login continues, all others end.
enum ChangePassword: ServedOperation {
  typealias Input = ChangePasswordInput
  typealias Output = EmptyBody
  static let name = "me.password.put"
  static let method = Method.put
  static let path = "/v1/users/me/password"

  static func perform(_ input: ChangePasswordInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody>
  {
    try await call.accounts.changePassword(
      of: try call.user(), current: input.current, to: input.password, from: call.address)
    return .done
  }
}
