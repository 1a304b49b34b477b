import Addresses
import AppProtocol
import Dialogs

/// Makes an account, where that is switched on.
enum Register: ServedOperation {
  typealias Input = RegisterInput
  typealias Output = UserBody
  static let name = "user.register"
  static let method = Method.post
  static let path = "/v1/users"
  static let successes = [201]
  static let needsCaller = false

  static func perform(_ input: RegisterInput, _ call: Call) async throws(Problem) -> Outcome<UserBody> {
    guard call.door.settings.registration else {
      throw Problem(.forbidden, "registration-off", "This server's operator makes the accounts.")
    }
    let address: BareJID
    do { address = try BareJID(local: input.username, domain: call.realm.domain) } catch {
      throw Problem(.malformed, "username-malformed", "username cannot be used: \(error).", field: "username")
    }
    if let name = input.name { try Checks.text(name, field: "name") }
    try call.parley.pace(.registration(network: call.address))
    let user = try await call.parley.register(address, password: input.password, displayName: input.name)
    return .created(call.rendering.user(user))
  }
}
