import AppProtocol
import Dialogs

/// Sends a code by which the caller proves that an address is theirs.
enum SendMyCode: ServedOperation {
  typealias Input = ReachableInput
  typealias Output = SentBody
  static let name = "me.code.send"
  static let method = Method.post
  static let path = "/v1/users/me/codes"
  static let successes = [202]

  static func perform(_ input: ReachableInput, _ call: Call) async throws(Problem) -> Outcome<SentBody> {
    let caller = try call.user()
    let identity = try Checks.reachable(email: input.email, phone: input.phone)
    try await call.parley.sendCode(to: identity, for: caller.user, from: call.address)
    return Outcome(status: 202, output: call.sent(Limits.codeLifetime))
  }
}
