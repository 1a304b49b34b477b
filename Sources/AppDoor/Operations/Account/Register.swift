import Accounts
import Addresses
import Dialogs
import HTTPPort

/// Creates an account, if registration is on or the guest is invited.
enum Register: ServedOperation {
  typealias Input = RegisterInput
  typealias Output = UserBody
  static let name = "user.register"
  static let method = Method.post
  static let path = "/v1/users"
  static let successes = [201]
  static let needsCaller = false

  static func perform(_ input: RegisterInput, _ call: RequestContext) async throws(Problem) -> Outcome<UserBody> {
    if let token = input.invitation { return try await invited(token, input, call) }
    guard call.door.settings.registration else {
      throw Problem(.forbidden, "registration-off", "This server's operator makes the accounts.")
    }
    let address = try address(input, call)
    if let name = input.name { try Checks.text(name, field: "name") }
    try Accounts.checkNew(input.password)
    guard let identity = try Checks.reachableIfAny(email: input.email, phone: input.phone) else {
      guard let address else {
        throw Problem(.malformed, "input-malformed", "username is missing.", field: "username")
      }
      let user = try await call.accounts.registerStranger(
        address, password: input.password, displayName: input.name, proof: input.proof, from: call.address)
      return .created(call.rendering.user(user))
    }
    guard let code = input.code else {
      throw Problem(
        .malformed, "input-malformed", "code is missing: ask for one with POST /v1/codes.", field: "code")
    }
    if let name = input.name, name.utf8.count > Limits.displayNameBytesMax {
      throw Problem(.tooLarge, "name-too-long", "name has at most \(Limits.displayNameBytesMax) bytes.", field: "name")
    }
    try call.accounts.pace(.registration(network: call.address))
    let user = try await call.accounts.register(
      address, password: input.password, displayName: input.name, by: identity, code: code, in: call.realm.id,
      from: call.address)
    return .created(call.rendering.user(user))
  }

  /// Creates the account of an invitation, which is used up in the same transaction; its inviter becomes a contact.
  private static func invited(
    _ token: String, _ input: RegisterInput, _ call: RequestContext
  ) async throws(Problem) -> Outcome<UserBody> {
    if input.email != nil || input.phone != nil {
      throw Problem(
        .malformed, "invitation-misplaced", "An invitation is instead of an email or a phone.", field: "invitation")
    }
    if let name = input.name { try Checks.text(name, field: "name") }
    try Accounts.checkNew(input.password)
    let open = try await GetInvitation.find(token, call, field: "invitation")
    var input = input
    input.username = input.username ?? open.invite.name
    guard let address = try address(input, call) else {
      throw Problem(.malformed, "input-malformed", "username is missing.", field: "username")
    }
    try call.accounts.pace(.registration(network: call.address))
    let user = try await call.accounts.register(
      address, password: input.password, displayName: input.name, invite: open.invite)
    return .created(call.rendering.user(user))
  }

  private static func address(_ input: RegisterInput, _ call: RequestContext) throws(Problem) -> BareJID? {
    guard let name = input.username else { return nil }
    do { return try BareJID(local: name, domain: call.realm.domain) } catch {
      throw Problem(.malformed, "username-malformed", "username cannot be used: \(error).", field: "username")
    }
  }
}
