import Accounts
import Dialogs
import HTTPPort

/// Sends a code by which the caller proves an address; or that of their second factor.
enum SendMyCode: ServedOperation {
  typealias Input = SendMyCodeInput
  typealias Output = SentBody
  static let name = "me.code.send"
  static let method = Method.post
  static let path = "/v1/users/me/codes"
  static let successes = [202]

  static func perform(_ input: SendMyCodeInput, _ call: RequestContext) async throws(Problem) -> Outcome<SentBody> {
    let caller = try call.user()
    let identity = try Checks.reachableIfAny(email: input.email, phone: input.phone)
    switch (identity, input.secondFactor == true) {
    case (let identity?, false): try await call.accounts.sendCode(to: identity, for: caller.user, from: call.address)
    case (nil, true): try await call.accounts.sendSecondFactorCode(to: caller, from: call.address)
    case (nil, false), (.some, true):
      throw Problem(.malformed, "input-malformed", "One of email, phone and secondFactor is needed.", field: "email")
    }
    return Outcome(status: 202, output: call.sent(AccountLimits.codeLifetime))
  }
}
