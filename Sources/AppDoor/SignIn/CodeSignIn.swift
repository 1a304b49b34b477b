import Accounts
import Dialogs

/// Signs in with a code that was sent to a mail address or a telephone (`POST /v1/codes`). If the operator allows it,
/// an unknown user gets an account.
enum CodeSignIn: SignIn {
  static let grant = "code"

  /// Without a way to send codes nobody has one.
  static func isOffered(_ call: RequestContext) -> Bool {
    Identity.reachable.contains(where: call.accounts.reaches.contains)
  }

  static func perform(_ input: LogInInput, _ call: RequestContext) async throws(Problem) -> Accounts.Login {
    // Clients take this grant if they have no password, also by mistake: a username belongs to the grant `password`.
    if input.username != nil, input.email == nil, input.phone == nil { _ = try required(input.password, "password") }
    let identity = try Checks.reachable(email: input.email, phone: input.phone)
    let code = try required(input.code, "code")
    let client = try client(input)
    if let name = input.name {
      try Checks.text(name, field: "name")
      guard name.utf8.count <= Limits.displayNameBytesMax else {
        throw Problem(
          .tooLarge, "name-too-long", "name has at most \(Limits.displayNameBytesMax) bytes.", field: "name")
      }
    }
    return try await call.accounts.logIn(
      by: identity, code: code, in: call.realm.id, displayName: input.name, from: call.address,
      device: input.deviceId, client: client)
  }
}
