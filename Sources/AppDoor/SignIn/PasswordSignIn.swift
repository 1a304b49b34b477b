import Accounts
import Addresses
import Dialogs

/// Signs in with a user name, a mail address or a telephone number, and the password. The core counts failures
/// (`LoginFailures`).
enum PasswordSignIn: SignIn {
  static let grant = "password"

  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Accounts.Login {
    let password = try required(input.password, "password")
    let client = try client(input)
    let address = try await address(input, call)
    // The device's id is no secret (others see it in the resource), so it does not identify a known client.
    let attempt = LoginAttempt(of: address, from: call.address, device: nil)
    return try await call.accounts.logIn(attempt, password: password, device: input.deviceId, client: client)
  }

  private static func address(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> BareJID {
    if let identity = try Checks.reachableIfAny(email: input.email, phone: input.phone) {
      return try await call.accounts.address(for: identity, in: call.realm.id)
    }
    let username = try required(input.username, "username")
    // An invalid name is a wrong one: nothing is revealed about names.
    let name = try? Checks.address(username, domain: call.realm.domain, field: "username")
    // Users type their mail address instead of a name; one of this domain is a user's own.
    if username.utf8.contains(UInt8(ascii: "@")), name.map({ !$0.hasDomain(call.realm.domain) }) ?? true,
      let email = try? Identity.email(username)
    {
      return try await call.accounts.address(for: email, in: call.realm.id)
    }
    guard let name else {
      throw Problem(.unauthenticated, "wrong-credentials", "The user name or the password is wrong.")
    }
    return name
  }
}
