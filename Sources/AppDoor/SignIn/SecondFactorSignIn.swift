import Accounts
import Dialogs

/// Completes a login that was answered `second-factor-required`.
enum SecondFactorSignIn: SignIn {
  static let grant = "second-factor"

  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Accounts.Login {
    let challenge = try required(input.challenge, "challenge")
    let proof = try Checks.secondProof(code: input.code, recoveryCode: input.recoveryCode)
    return try await call.accounts.logIn(
      challenge: challenge, proof, from: call.address, device: input.deviceId, client: try client(input))
  }
}
