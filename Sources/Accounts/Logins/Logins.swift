import Addresses
public import Basics
public import Dialogs

/// The logins of apps: an access token, and a refresh token that renews it.
extension Accounts {
  public struct Login: Sendable {
    public let grant: Grant
    public let accessToken: String
    public let refreshToken: String
    public let user: User
  }

  /// The user and login of an access token.
  public struct Caller: Hashable, Sendable {
    public let user: Party
    public let grant: Int64
    public let device: String

    /// Returns the access of a session opened with this token.
    public func access(since now: Timestamp) -> Access { Access(.grant(grant), since: now) }
  }

  /// Logs in with the account's password. If `device` is `nil`, a new device id is created.
  public func logIn(
    _ attempt: LoginAttempt, password: String, device: String?, client: String?
  ) async throws(Problem) -> Login {
    try Self.check(device: device)
    let (user, keys) = try await prove(attempt, password: password, device: device)
    return try await logIn(user, proved: keys, device: device, client: client)
  }

  /// Completes a login, for every way to sign in.
  ///
  /// - Parameters:
  ///   - proved: the keys that the password fitted; `nil` if the proof cannot have become invalid since.
  ///   - second: the second factor, with the challenge of the first step.
  func logIn(
    _ user: User, proved: SCRAMKeys? = nil, second: SecondStep? = nil, device: String?,
    client: String?
  ) async throws(Problem) -> Login {
    try Self.check(device: device)
    try Self.checkActive(user)
    let device = device ?? Token.make().text.prefix(12).lowercased()
    let access = Token.make()
    let refresh = Token.make()
    let now = parley.clock.now
    let grant = Grant(
      id: 0, user: user.id, device: device, access: access.hash, accessExpires: now + AccountLimits.accessLifetime,
      refresh: refresh.hash, previousRefresh: nil, createdAt: now, usedAt: now, client: client)
    let secret = options.accountSecret
    let (stored, gone): (Grant, Set<Int64>) = try await parley.work(keepingCaches: true) { writer in
      // Checked in the order of the log: no login slips in after a change of password or a lockout.
      guard let user = try writer.user(user.id) else { throw Problem.unreachable }
      try Self.checkActive(user)
      if let proved, try !writer.credentials(of: user.id).contains(proved) { throw Self.wrongCredentials }
      try Self.checkSecondFactor(of: user.id, second, secret, now, writer)
      try writer.setLastLogin(now, of: user.id)
      let before = try writer.grants(of: user.id)
      // There is one login per device; at the bound the one unused for longest is removed.
      var gone = Set(before.filter { $0.device == device }.map(\.id))
      let others = before.filter { $0.device != device }
      if others.count >= AccountLimits.grantsPerUserMax, let oldest = others.min(by: { $0.usedAt < $1.usedAt }) {
        gone.insert(oldest.id)
      }
      for id in gone { try Self.remove(grant: id, of: user.id, writer) }
      try writer.put(grant)
      return (try writer.grant(access: grant.access) ?? grant, gone)
    }
    tokens.forget(user: user.id)
    parley.hub.close(user.id, .revoked) { onlineSession in gone.contains { onlineSession.access?.source == .grant($0) }
    }
    return Login(grant: stored, accessToken: access.text, refreshToken: refresh.text, user: user)
  }

  private static func check(device: String?) throws(Problem) {
    guard device.map(PushDevice.isDeviceID) ?? true else {
      throw Problem(
        .malformed, "device-id-malformed", "A deviceId has 1 to 64 letters, digits, '-' or '_'.", field: "deviceId")
    }
  }

  /// Returns new tokens for a refresh token. Each works once; a second use means that it was stolen, and revokes the
  /// login (RFC 9700 4.14.2). Only a client that never got the answer asks again: as long as none of its tokens has been
  /// used, for `AccountLimits.refreshRepeat`, it is the same answer. The tokens follow from the one that they replace.
  public func refresh(_ token: String) async throws(Problem) -> Login {
    let hash = Token.hash(token)
    let access = Token(options.accountSecret.hash([token], .accessToken))
    let refresh = Token(options.accountSecret.hash([token], .refreshToken))
    let now = parley.clock.now
    let outcome: (login: Login?, stolen: Grant?) = try await parley.work(keepingCaches: true) { writer in
      guard var grant = try writer.grant(refresh: hash), let user = try writer.user(grant.user) else {
        return (nil, nil)
      }
      guard grant.refresh == hash else {
        if grant.refresh == refresh.hash, Self.mayRepeat(grant, now), user.state == .active {
          return (Login(grant: grant, accessToken: access.text, refreshToken: refresh.text, user: user), nil)
        }
        try Self.remove(grant: grant.id, of: grant.user, writer)
        return (nil, grant)
      }
      guard user.state == .active else { return (nil, nil) }
      grant.previousRefresh = grant.refresh
      grant.refresh = refresh.hash
      grant.access = access.hash
      grant.accessExpires = now + AccountLimits.accessLifetime
      grant.usedAt = now
      try writer.put(grant)
      return (Login(grant: grant, accessToken: access.text, refreshToken: refresh.text, user: user), nil)
    }
    if let stolen = outcome.stolen {
      tokens.forget(user: stolen.user)
      parley.hub.close(stolen.user, .revoked) { $0.access?.source == .grant(stolen.id) }
    }
    guard let login = outcome.login else {
      throw Problem(.unauthenticated, "refresh-token-invalid", "The refresh token is not valid; log in again.")
    }
    tokens.forget(user: login.user.id)
    return login
  }

  /// Returns whether the answer to the last refresh may be given again: it is recent, and `usedAt` is still its time.
  private static func mayRepeat(_ grant: Grant, _ now: Timestamp) -> Bool {
    grant.previousRefresh != nil && now < grant.usedAt + AccountLimits.refreshRepeat
      && grant.usedAt + AccountLimits.accessLifetime == grant.accessExpires
  }

  /// Records the first use of an access token, after which the answer that it came with is not repeated.
  private func noteUse(ofAccess hash: [UInt8], _ now: Timestamp) async throws(Problem) {
    try await parley.work(keepingCaches: true) { writer in
      guard var grant = try writer.grant(access: hash), Self.mayRepeat(grant, now) else { return }
      grant.usedAt = max(now, grant.usedAt + .milliseconds(1))
      try writer.put(grant)
    }
  }

  /// Returns the user of an access token.
  public func caller(accessToken: String) async throws(Problem) -> Caller {
    let hash = Token.hash(accessToken)
    let now = parley.clock.now
    if let caller = tokens.caller(hash, now: now) {
      parley.registries.guests.touch(caller.user.id, now: now)
      return caller
    }
    let endings = tokens.endings
    guard let (grant, user) = try await parley.read({ try Self.bearer(hash, $0) }), user.state == .active else {
      throw Problem(.unauthenticated, "token-invalid", "The access token is not valid; log in again.")
    }
    guard grant.accessExpires > now else {
      throw Problem(.unauthenticated, "token-expired", "The access token has expired; use the refresh token.")
    }
    if Self.mayRepeat(grant, now) { try await noteUse(ofAccess: hash, now) }
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let caller = Caller(user: party, grant: grant.id, device: grant.device)
    tokens.remember(hash, caller, until: grant.accessExpires, since: endings)
    parley.registries.guests.touch(user.id, now: now)
    return caller
  }

  private static func bearer(_ hash: [UInt8], _ reader: any StoreReader) throws -> (Grant, User)? {
    guard let grant = try reader.grant(access: hash), let user = try reader.user(grant.user) else { return nil }
    return (grant, user)
  }

  /// Returns the user and login of an access token; `nil` if it is unknown or expired.
  public static func bearer(
    _ accessToken: String, now: Timestamp, _ reader: any StoreReader
  ) throws -> (grant: Int64, user: User)? {
    guard let (grant, user) = try bearer(Token.hash(accessToken), reader), grant.accessExpires > now,
      user.state != .deleted
    else { return nil }
    return (grant.id, user)
  }

  public func logOut(grant: Int64, of user: UserID) async throws(Problem) {
    let isKnown = try await parley.work(keepingCaches: true) { writer in
      let isKnown = try writer.grants(of: user).contains { $0.id == grant }
      try Self.remove(grant: grant, of: user, writer)
      return isKnown
    }
    guard isKnown else {
      throw Problem(.missing, "session-unknown", "There is no such session.")
    }
    tokens.forget(user: user)
    parley.hub.close(user, .revoked) { $0.access?.source == .grant(grant) }
  }

  public func grants(of user: UserID) async throws(Problem) -> [Grant] {
    try await parley.read { try $0.grants(of: user) }
  }

  /// Removes all logins of the app, or all but one, and the tokens of XMPP clients.
  static func removeLogins(of user: UserID, except kept: Int64? = nil, _ writer: any StoreWriter) throws {
    if let kept {
      for grant in try writer.grants(of: user) where grant.id != kept { try writer.removeGrant(grant.id, of: user) }
    } else {
      try writer.removeGrants(of: user)
    }
    try writer.removeClients(of: user)
  }

  /// Removes a grant, and everything derived from it.
  static func remove(grant id: Int64, of user: UserID, _ writer: any StoreWriter) throws {
    try writer.removeGrant(id, of: user)
    try writer.removeClients(of: user, from: .grant(id))
  }

  /// Ends everything but the caller's login: other logins, XMPP clients' tokens, sessions. App passwords remain.
  public func logOutOthers(_ caller: Caller) async throws(Problem) {
    let user = caller.user.id
    try await parley.work(keepingCaches: true) { writer in
      try Self.removeLogins(of: user, except: caller.grant, writer)
    }
    tokens.forget(user: user)
    parley.hub.close(user, .revoked) { $0.access?.source != .grant(caller.grant) }
  }
}
