public import Addresses
import Basics
public import Dialogs

/// Verifies and sets passwords.
extension Accounts {
  /// Verifies a password. `.unauthenticated` does not reveal whether the user exists.
  public func verify(_ attempt: LoginAttempt, password: String) async throws(Problem) -> User {
    try await prove(attempt, password: password).user
  }

  /// Verifies a password. Returns the user, and the keys that the password fits.
  ///
  /// - Parameter device: the device of an app that logs in.
  func prove(
    _ attempt: LoginAttempt, password: String, device: String? = nil
  ) async throws(Problem) -> (user: User, keys: SCRAMKeys) {
    try checkLook(attempt)
    let devices: [String?] = device.map { [$0, nil] } ?? [nil]
    let paced = devices.map { PacedAct.login(LoginPlace(attempt, device: $0)) }
    try checkPaces(paced)
    let found = try await credentials(of: attempt.user)
    let (keys, user) = (verifier(found.keys, of: attempt.user), found.user)
    let outcome = try await derivedLook(attempt, paced: paced) {
      guard keys.verifies(password: password), let user else { return .wrong }
      return user.state == .active ? .right : .void
    }
    guard outcome != .wrong, let user else { throw Self.wrongCredentials }
    try Self.checkActive(user)
    return (user, keys)
  }

  static let wrongCredentials = Problem(
    .unauthenticated, "wrong-credentials", "The user name or the password is wrong.")

  /// Returns the keys to verify a plain password with: SHA-256 if present, otherwise any.
  public func verifier(_ keys: [SCRAMKeys], of address: BareJID) -> SCRAMKeys {
    keys.first { $0.hash == .sha256 } ?? keys.first ?? decoy(address, .sha256)
  }

  /// Adds keys of another hash of the same password (XEP-0480), durably. Existing keys of that hash remain.
  ///
  /// - Parameter proved: the keys by which the password was proved.
  /// - Returns: `false` if the user's password has changed.
  public func add(_ keys: SCRAMKeys, to user: UserID, proved: SCRAMKeys) async throws(Problem) -> Bool {
    try await parley.work(keepingCaches: true) { writer in
      let present = try writer.credentials(of: user)
      guard present.contains(proved), keys.isComplete else { return false }
      if !present.contains(where: { $0.hash == keys.hash }) { try writer.setCredentials(present + [keys], for: user) }
      return true
    }
  }

  /// Returns the SCRAM keys of a user; for an unknown one none and no user.
  public func credentials(of address: BareJID) async throws(Problem) -> (user: User?, keys: [SCRAMKeys]) {
    try await parley.read { try Self.credentials(of: address, $0) }
  }

  public static func credentials(
    of address: BareJID, _ reader: any StoreReader
  ) throws -> (user: User?, keys: [SCRAMKeys]) {
    guard let user = try reader.user(address), user.state != .deleted else { return (nil, []) }
    return (user, try reader.credentials(of: user.id))
  }

  /// Returns keys that no password fits, always the same for one address, so that an unknown user answers like a known
  /// one.
  public func decoy(_ address: BareJID, _ hash: SCRAMHash) -> SCRAMKeys {
    SCRAMKeys.decoy(
      username: address.description, secret: parley.realmTable.all.first?.key ?? [],
      iterations: AccountLimits.scramIterations,
      hash: hash)
  }

  public static func checkActive(_ user: User) throws(Problem) {
    guard user.state == .active else {
      throw Problem(.forbidden, "account-disabled", "This account is disabled.")
    }
  }

  /// Sets a password, and ends all sessions and all logins of the user: those of apps, the tokens of XMPP clients, app
  /// passwords. Users mostly change a password because they fear that someone else knows it.
  ///
  /// A guest who gets one from an operator becomes an ordinary user; guests cannot do so themselves.
  ///
  /// - Parameter session: the requesting user's session, which continues; `nil` for an operator.
  public func setPassword(
    of user: UserID, _ password: String, except session: SessionID? = nil
  ) async throws(Problem) {
    if session != nil, parley.isGuest(user) { throw Problem.guestLimited }
    let keys = try await keys(for: password)
    try await parley.work(keepingCaches: true) { writer in
      guard let row = try writer.user(user) else { throw Problem.unreachable }
      try Self.upgrade(row, writer)
      try Self.replacePassword(by: keys, of: user, writer)
    }
    noteUpgrade(of: user)
    tokens.forget(user: user)
    parley.hub.close(user, .passwordChanged) { $0.session.id != session }
  }

  /// Sets the password of a session's user, at their own wish. The session continues; all others end.
  public func changePassword(by session: any LiveSession, to password: String) async throws(Problem) {
    try checkManages(session)
    try pace(.passwordChange(session.party.id))
    try await setPassword(of: session.party.id, password, except: session.id)
  }

  /// Checks a new password from an app.
  public static func checkNew(_ password: String) throws(Problem) {
    guard password.unicodeScalars.count >= AccountLimits.passwordCharactersMin else {
      throw Problem(
        .malformed, "password-too-short", "A password has at least \(AccountLimits.passwordCharactersMin) characters.",
        field: "password")
    }
  }

  /// Changes the caller's password, or sets a first one. Their login continues; all other sessions and logins end.
  ///
  /// - Parameter current: the current password, required if there is one.
  public func changePassword(
    of caller: Caller, current: String?, to password: String, from network: String
  ) async throws(Problem) {
    let user = caller.user
    if parley.isGuest(user.id) { throw Problem.guestLimited }
    try Self.checkNew(password)
    try pace(.passwordChange(user.id))
    let proved = try await proveOwn(current, of: user, from: network, field: "current")
    let keys = try await keys(for: password)
    try await parley.work(keepingCaches: true) { writer in
      let present = try writer.credentials(of: user.id)
      guard proved.map({ present.contains($0) }) ?? present.allSatisfy(\.isLocked) else {
        throw Problem(.conflict, "password-changed", "The password was changed meanwhile.")
      }
      guard try writer.grants(of: user.id).contains(where: { $0.id == caller.grant }) else {
        throw Problem(.unauthenticated, "token-invalid", "The access token is not valid; log in again.")
      }
      try Self.replacePassword(by: keys, of: user.id, keeping: caller.grant, writer)
    }
    tokens.forget(user: user.id)
    parley.hub.close(user.id, .passwordChanged) { $0.access?.source != .grant(caller.grant) }
  }

  /// Verifies the account's own password again, if it has one.
  ///
  /// - Returns: the keys that it fits; `nil` if there is no password.
  func proveOwn(
    _ password: String?, of user: Party, from network: String, field: String
  ) async throws(Problem) -> SCRAMKeys? {
    guard try await parley.read({ try Self.hasPassword(user.id, $0) }) else { return nil }
    guard let password else {
      throw Problem(.malformed, "input-malformed", "\(field) is missing.", field: field)
    }
    do throws(Problem) {
      return try await prove(LoginAttempt(of: user.address, from: network, device: nil), password: password).keys
    } catch  where error.code == "wrong-credentials" {
      throw Problem(.forbidden, "wrong-password", "The account's password is another.", field: field)
    }
  }

  func keys(for password: String) async throws(Problem) -> [SCRAMKeys] {
    try await derive { Self.keys(for: [password], iterations: AccountLimits.scramIterations)[0] }.get()
  }

  static func replacePassword(
    by keys: [SCRAMKeys], of user: UserID, keeping grant: Int64? = nil, _ writer: any StoreWriter
  ) throws {
    try writer.setCredentials(keys, for: user)
    // Their keys have the salts of the replaced password.
    try writer.removeAppPasswords(of: user)
    try writer.removePasswordResets(of: user)
    try removeLogins(of: user, except: grant, writer)
  }

  /// Returns the keys of all hashes for each password, in their order; an invalid password does not affect the others.
  static func keys(for passwords: [String], iterations: Int) -> [Result<[SCRAMKeys], Problem>] {
    let refusals = passwords.map { refusal(of: $0) }
    // An empty password costs no derivation.
    let allowed = zip(passwords, refusals).map { $1 == nil ? $0 : "" }
    return zip(refusals, SCRAMKeys.deriveKeys(of: allowed, iterations: iterations)).map { refusal, keys in
      keys.mapError { _ in refusal ?? .passwordRefused }
    }
  }

  /// Returns the reason why this cannot be a password; `nil` if it can. A client could not log in with a password that
  /// OpaqueString does not allow.
  static func refusal(of password: String) -> Problem? {
    if password.isEmpty {
      return Problem(.malformed, "password-empty", "A password must not be empty.", field: "password")
    }
    let isAllowed = password.utf8.count <= SCRAMKeys.passwordBytesMax && (try? Precis.opaqueString(password)) != nil
    return isAllowed ? nil : .passwordRefused
  }
}
