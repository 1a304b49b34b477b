public import Addresses
public import Basics

/// What a link of a password reset stands for.
public struct PasswordReset: Hashable, Sendable {
  /// SHA-256 of the token in the link.
  public let hash: [UInt8]
  /// nil: nobody's. It was asked for an address that nobody has.
  public let user: UserID?
  public let expires: Timestamp

  public init(hash: [UInt8], user: UserID?, expires: Timestamp) {
    self.hash = hash
    self.user = user
    self.expires = expires
  }
}

public protocol PasswordResetReader {
  func passwordReset(token hash: [UInt8]) throws -> PasswordReset?
}

public protocol PasswordResetWriter {
  func insert(_ reset: PasswordReset) throws
  func removePasswordResets(of user: UserID) throws
  func removePasswordResets(endedBy time: Timestamp) throws
}

extension Parley {
  /// Sends a link to set another password by. Answers and does the same whether or not somebody has the address: the row is
  /// written for nobody too.
  public func sendPasswordReset(
    to identity: Identity, in realm: RealmID, from network: String
  ) async throws(Problem) {
    try paceLetter(to: identity, in: realm, from: network)
    guard let domain = realmTable.realm(realm)?.domain else { throw Problem.unreachable }
    let token = Token.make()
    let now = clock.now
    let expires = now + Limits.passwordResetLifetime
    let user: User? = try await work(keepingCaches: true) { writer in
      try writer.removePasswordResets(endedBy: now)
      let user = try writer.user(try writer.user(of: identity, in: realm) ?? UserID(0))
      try writer.insert(PasswordReset(hash: token.hash, user: user?.id, expires: expires))
      return user
    }
    guard let user, user.state == .active else { return }
    send(
      OutgoingCode(to: identity, .passwordReset(token: token.text), domain: domain, user: user.name, expires: expires))
  }

  /// Sets a password by such a link, which is used up. All sessions and logins end, in both protocols. A second factor stays.
  ///
  /// - Throws: `.missing` `reset-unknown`: made up, used or over.
  public func resetPassword(token: String, to password: String, from network: String) async throws(Problem) {
    let hash = Token.hash(token)
    let unknown = Problem(
      .missing, "reset-unknown", "The link is not valid any more; ask for another.", field: "token")
    try Self.checkNew(password)
    let start = clock.now
    guard let found = try await read({ try $0.passwordReset(token: hash) }), found.expires > start else {
      throw wrongToken(unknown, from: network)
    }
    let keys = try await keys(for: password)
    let user: UserID = try await work(keepingCaches: true) { writer in
      guard let reset = try writer.passwordReset(token: hash), reset.expires > start, let id = reset.user,
        try writer.user(id)?.state == .active
      else { throw unknown }
      try Self.replacePassword(by: keys, of: id, writer)
      return id
    }
    accounts.forget(user: user)
    hub.close(user, .passwordChanged)
  }

  // MARK: A user's own

  /// What an app's new passwords must be.
  public static func checkNew(_ password: String) throws(Problem) {
    guard password.unicodeScalars.count >= Limits.passwordCharactersMin else {
      throw Problem(
        .malformed, "password-too-short", "A password has at least \(Limits.passwordCharactersMin) characters.",
        field: "password")
    }
  }

  /// Gives the caller another password, or a first one. Their login goes on; all other sessions and logins end.
  ///
  /// - Parameter current: needed where there is one.
  public func changePassword(
    of caller: Caller, current: String?, to password: String, from network: String
  ) async throws(Problem) {
    let user = caller.user
    if isGuest(user.id) { throw Problem.guestLimited }
    try Self.checkNew(password)
    try pace(.passwordChange(user.id))
    let proved = try await proveOwn(current, of: user, from: network, field: "current")
    let keys = try await keys(for: password)
    try await work(keepingCaches: true) { writer in
      let present = try writer.credentials(of: user.id)
      guard proved.map({ present.contains($0) }) ?? present.allSatisfy(\.isLocked) else {
        throw Problem(.conflict, "password-changed", "The password was changed meanwhile.")
      }
      guard try writer.grants(of: user.id).contains(where: { $0.id == caller.grant }) else {
        throw Problem(.unauthenticated, "token-invalid", "The access token is not valid; log in again.")
      }
      try Self.replacePassword(by: keys, of: user.id, keeping: caller.grant, writer)
    }
    accounts.forget(user: user.id)
    hub.close(user.id, .passwordChanged) { $0.access?.source != .grant(caller.grant) }
  }

  /// Proves the account's own password again, where it has one.
  ///
  /// - Returns: the keys that it fits; nil: it has none.
  func proveOwn(
    _ password: String?, of user: Party, from network: String, field: String
  ) async throws(Problem) -> SCRAMKeys? {
    guard try await read({ try Self.hasPassword(user.id, $0) }) else { return nil }
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
    try await derive { Self.keys(for: [password], iterations: Limits.scramIterations)[0] }.get()
  }

  static func replacePassword(
    by keys: [SCRAMKeys], of user: UserID, keeping grant: Int64? = nil, _ writer: any StoreWriter
  ) throws {
    try writer.setCredentials(keys, for: user)
    // Their keys have the salts of the password that goes.
    try writer.removeAppPasswords(of: user)
    try writer.removePasswordResets(of: user)
    try removeLogins(of: user, except: grant, writer)
  }

  /// Ends everything but the caller's login: other logins, XMPP clients' tokens, sessions. App passwords stay.
  public func logOutOthers(_ caller: Caller) async throws(Problem) {
    let user = caller.user.id
    try await work(keepingCaches: true) { writer in
      try Self.removeLogins(of: user, except: caller.grant, writer)
    }
    accounts.forget(user: user)
    hub.close(user, .revoked) { $0.access?.source != .grant(caller.grant) }
  }

  // MARK: Accounts with an address

  /// Makes an account with a password, and an address that its code proves.
  ///
  /// - Parameter name: the localpart; nil: one is made up.
  /// - Throws: `.conflict` `identity-taken`, `name-taken`; what `redeem` throws.
  public func register(
    _ name: BareJID?, password: String, displayName: String?, by identity: Identity, code: String, in realm: RealmID,
    from network: String
  ) async throws(Problem) -> User {
    guard let domain = realmTable.realm(realm)?.domain else { throw Problem.unreachable }
    let keys = try await keys(for: password)
    let now = clock.now
    // A name that cannot be had uses no code up.
    if let name, try await read({ try $0.user(name) }) != nil { throw Problem.nameTaken(name) }
    try await redeem(code: code, for: identity, of: nil, in: realm, from: network)
    return try await work { writer in
      if try writer.user(of: identity, in: realm) != nil {
        throw Problem(.conflict, "identity-taken", "Another user has this identity.")
      }
      let user: User
      if let name {
        if let obstacle = try Self.obstacle(to: name, nil, in: realm, now: now, writer) { throw obstacle }
        do {
          user = try writer.insertUser(name, in: realm, profile: Profile(displayName: displayName), createdAt: now)
        } catch is StoreConflict { throw Problem.nameTaken(name) }
      } else {
        user = try Self.insert(
          Newcomer(displayName: displayName), domain: domain, in: realm, now: now, writer)
      }
      try writer.setCredentials(keys, for: user.id)
      try writer.put(UserIdentity(identity, of: user.id, since: now), in: realm)
      return user
    }
  }
}

extension Problem {
  static func nameTaken(_ name: BareJID) -> Problem {
    Problem(.conflict, "name-taken", "The name \(name) is or was taken.", field: "username")
  }
}
