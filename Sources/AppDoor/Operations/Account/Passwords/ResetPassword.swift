import Accounts
import Dialogs
import HTTPPort

/// Sets a password with the link of a reset. All sessions end, in both protocols.
enum ResetPassword: ServedOperation {
  typealias Input = ResetPasswordInput
  typealias Output = EmptyBody
  static let name = "passwordReset.use"
  static let method = Method.put
  static let path = "/v1/password-resets/{token}"
  static let needsCaller = false

  static func perform(_ input: ResetPasswordInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    try await call.accounts.resetPassword(token: input.token, to: input.password, from: call.address)
    return .done
  }
}
