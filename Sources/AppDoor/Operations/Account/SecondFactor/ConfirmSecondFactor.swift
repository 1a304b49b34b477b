import Accounts
import Dialogs
import HTTPPort

/// Turns the second factor on. XMPP sessions opened with the password alone end.
enum ConfirmSecondFactor: ServedOperation {
  typealias Input = ConfirmSecondFactorInput
  typealias Output = RecoveryCodesBody
  static let name = "me.secondFactor.confirm"
  static let method = Method.put
  static let path = "/v1/users/me/second-factor"

  static func perform(
    _ input: ConfirmSecondFactorInput, _ call: RequestContext
  ) async throws(Problem) -> Outcome<RecoveryCodesBody> {
    let codes = try await call.accounts.confirm(try call.user(), code: input.code, from: call.address)
    return .ok(RecoveryCodesBody(recoveryCodes: codes))
  }
}
