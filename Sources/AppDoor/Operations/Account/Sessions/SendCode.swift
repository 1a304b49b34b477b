import Accounts
import Dialogs
import HTTPPort

/// Sends a code to sign in with, to a mail address or a telephone; or, for a challenge, that of the second factor.
enum SendCode: ServedOperation {
  typealias Input = SendCodeInput
  typealias Output = SentBody
  static let name = "code.send"
  static let method = Method.post
  static let path = "/v1/codes"
  static let successes = [202]
  static let needsCaller = false

  static func perform(_ input: SendCodeInput, _ call: RequestContext) async throws(Problem) -> Outcome<SentBody> {
    let identity = try Checks.reachableIfAny(email: input.email, phone: input.phone)
    switch (identity, input.challenge) {
    case (let identity?, nil): try await call.accounts.sendCode(to: identity, in: call.realm.id, from: call.address)
    case (nil, let challenge?):
      try await call.accounts.sendSecondFactorCode(challenge: challenge, from: call.address)
    case (nil, nil), (.some, .some):
      throw Problem(.malformed, "input-malformed", "One of email, phone and challenge is needed.", field: "email")
    }
    return Outcome(status: 202, output: call.sent(AccountLimits.codeLifetime))
  }
}
