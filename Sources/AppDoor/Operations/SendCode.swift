import AppProtocol
import Dialogs

/// Sends a code to sign in by, to a mail address or a telephone.
enum SendCode: ServedOperation {
  typealias Input = ReachableInput
  typealias Output = SentBody
  static let name = "code.send"
  static let method = Method.post
  static let path = "/v1/codes"
  static let successes = [202]
  static let needsCaller = false

  static func perform(_ input: ReachableInput, _ call: Call) async throws(Problem) -> Outcome<SentBody> {
    let identity = try Checks.reachable(email: input.email, phone: input.phone)
    try await call.parley.sendCode(to: identity, in: call.realm.id, from: call.address)
    return Outcome(status: 202, output: call.sent(Limits.codeLifetime))
  }
}
