import Accounts
import Dialogs
import HTTPPort

/// Sets the caller's mail address, proved by a code.
enum SetMyEmail: ServedOperation {
  typealias Input = SetEmailInput
  typealias Output = MeBody
  static let name = "me.email.put"
  static let method = Method.put
  static let path = "/v1/users/me/email"

  static func perform(_ input: SetEmailInput, _ call: RequestContext) async throws(Problem) -> Outcome<MeBody> {
    let caller = try call.user()
    try await call.accounts.bind(
      .email(input.email), code: input.code, password: input.password, to: caller.user, from: call.address)
    return .ok(try await call.me())
  }
}
