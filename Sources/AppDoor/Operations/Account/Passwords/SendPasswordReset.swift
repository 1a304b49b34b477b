import Accounts
import Dialogs
import HTTPPort

/// Sends a link to set a new password. The answer does not tell whether a user has the address.
enum SendPasswordReset: ServedOperation {
  typealias Input = ReachableInput
  typealias Output = SentBody
  static let name = "passwordReset.send"
  static let method = Method.post
  static let path = "/v1/password-resets"
  static let successes = [202]
  static let needsCaller = false

  static func perform(_ input: ReachableInput, _ call: RequestContext) async throws(Problem) -> Outcome<SentBody> {
    let identity = try Checks.reachable(email: input.email, phone: input.phone)
    try await call.accounts.sendPasswordReset(to: identity, in: call.realm.id, from: call.address)
    return Outcome(status: 202, output: call.sent(AccountLimits.passwordResetLifetime))
  }
}
