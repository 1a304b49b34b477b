import AppProtocol
import Dialogs

/// A user name and its password. Failures are counted by the core (`LoginFailures`).
enum PasswordSignIn: SignIn {
  static let grant = "password"

  static func perform(_ input: LogInInput, _ call: Call) async throws(Problem) -> Parley.Login {
    let username = try required(input.username, "username")
    let password = try required(input.password, "password")
    let client = try client(input)
    // A name that cannot be is a wrong one: nothing is told about names.
    guard let address = try? Checks.address(username, domain: call.realm.domain, field: "username") else {
      throw Problem(.unauthenticated, "wrong-credentials", "The user name or the password is wrong.")
    }
    // The device's id is no secret (others see it in the resource): whoever names it is not known by it.
    let attempt = LoginAttempt(of: address, from: call.address, device: nil)
    return try await call.parley.logIn(attempt, password: password, device: input.deviceId, client: client)
  }
}
