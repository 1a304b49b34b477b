import Accounts
import Dialogs
import HTTPPort

/// Removes the second factor, with a proof of it.
enum RemoveSecondFactor: ServedOperation {
  typealias Input = SecondFactorInput
  typealias Output = EmptyBody
  static let name = "me.secondFactor.delete"
  static let method = Method.delete
  static let path = "/v1/users/me/second-factor"

  static func perform(_ input: SecondFactorInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let proof = try Checks.secondProof(code: input.code, recoveryCode: input.recoveryCode)
    try await call.accounts.removeSecondFactor(try call.user(), proof, from: call.address)
    return .done
  }
}
