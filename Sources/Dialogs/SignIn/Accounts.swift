public import Addresses
public import Basics
import Crypto
import Synchronization

/// Accounts and logins: the one place where passwords and tokens are verified,
/// for both doors and the command line.
///
/// A password is never stored, only SCRAM keys of it; a token is never stored,
/// only its SHA-256, or for an XMPP client's a nonce (`TokenSecret`). All comparisons of secrets take constant time. An unknown
/// user costs as much as a known one, so that names cannot be probed.
extension Parley {
  // MARK: Accounts

  /// Makes an account.
  ///
  /// - Parameter invite: what lets it in: used up by it, and its inviter made a contact, in the same transaction.
  /// - Throws: `.conflict` where the name is or was somebody's, or is reserved; `.missing` where the invitation is used up.
  public func register(
    _ address: BareJID, password: String, displayName: String?, invite: Invite? = nil
  ) async throws(Problem) -> User {
    let row = NewUser(address: address, password: password, displayName: displayName, invite: invite)
    return try await importUsers([row])[0].get()
  }

  public struct NewUser: Sendable {
    public let address: BareJID
    public let password: String
    public let displayName: String?
    let invite: Invite?
    public init(address: BareJID, password: String, displayName: String?, invite: Invite? = nil) {
      self.invite = invite
      self.address = address
      self.password = password
      self.displayName = displayName
    }
  }

  /// Makes many accounts: keys derived on all cores, one transaction. Results
  /// in the order of `rows`; a row that fails does not touch the others.
  public func importUsers(_ rows: [NewUser]) async -> [Result<User, Problem>] {
    let iterations = Limits.scramIterations
    let derived: [Result<[SCRAMKeys], Problem>] = await withTaskGroup(
      of: (Int, [Result<[SCRAMKeys], Problem>]).self
    ) { group in
      // As many rows in a job as are derived at a time, and no more: the jobs go round the cores.
      for start in stride(from: 0, to: rows.count, by: SCRAMKeys.laneCount) {
        let passwords = rows[start..<min(start + SCRAMKeys.laneCount, rows.count)].map(\.password)
        group.addTask { [self] in
          (start, await derive { Self.keys(for: passwords, iterations: iterations) })
        }
      }
      var results = [Result<[SCRAMKeys], Problem>](repeating: .failure(.storage), count: rows.count)
      for await (start, keys) in group { results.replaceSubrange(start..<start + keys.count, with: keys) }
      return results
    }
    do throws(Problem) {
      let realms = realmTable
      let now = clock.now
      let work = WriteTransaction(following: { [self] writer in
        var results: [Result<User, Problem>] = []
        var posts: [Post] = []
        for (row, keys) in zip(rows, derived) {
          let result = try Self.insert(row, keys, realms: realms, now: now, writer)
          if let invite = row.invite, case .success(let user) = result {
            posts += try meeting(invite, user, writer).map { [$0] } ?? []
          }
          if case .success(let user) = result { try note(.userCreated, of: user.id, in: user.realm, writer) }
          results.append(result)
        }
        return (results, posts)
      })
      guard let results = try await post(.work(work), by: Self.nobody).value as? [Result<User, Problem>] else {
        throw Problem.storage
      }
      return results
    } catch {
      return rows.map { _ in .failure(error) }
    }
  }

  private static func insert(
    _ row: NewUser, _ keys: Result<[SCRAMKeys], Problem>, realms: RealmTable, now: Timestamp, _ writer: any StoreWriter
  ) throws -> Result<User, Problem> {
    guard case .success(let keys) = keys else { return keys.map { _ in preconditionFailure("a failure has no keys") } }
    guard let realm = realms.realm(domain: row.address.domain), !realm.id.isRemote else {
      return .failure(Problem(.foreign, "domain-not-served", "\(row.address.domain) is not served here.", field: "jid"))
    }
    guard row.address.local != nil else {
      return .failure(Problem(.malformed, "name-missing", "An account needs a name before the @.", field: "jid"))
    }
    if let name = row.displayName, name.utf8.count > Limits.displayNameBytesMax {
      return .failure(
        Problem(.tooLarge, "name-too-long", "name has at most \(Limits.displayNameBytesMax) bytes.", field: "name"))
    }
    if let obstacle = try obstacle(to: row.address, row.invite, in: realm.id, now: now, writer) {
      return .failure(obstacle)
    }
    do {
      let user = try writer.insertUser(
        row.address, in: realm.id, profile: Profile(displayName: row.displayName), createdAt: now)
      try writer.setCredentials(keys, for: user.id)
      if let invite = row.invite { try writer.setUsed(invite.id) }
      return .success(user)
    } catch is StoreConflict {
      return .failure(
        Problem(.conflict, "name-taken", "The name \(row.address) is or was taken.", field: "username"))
    }
  }

  /// Keys of all hashes for each password, in their order; a password that is
  /// refused does not touch the others.
  static func keys(for passwords: [String], iterations: Int) -> [Result<[SCRAMKeys], Problem>] {
    zip(passwords, SCRAMKeys.deriveKeys(of: passwords, iterations: iterations)).map { password, keys in
      keys.mapError { _ in
        if password.isEmpty {
          return Problem(.malformed, "password-empty", "A password must not be empty.", field: "password")
        }
        return Problem(
          .malformed, "password-refused",
          "This password has characters that a password must not have (RFC 8265 4), or is too long.",
          field: "password")
      }
    }
  }

  /// Ends all sessions and all logins of the user: those of apps, the tokens of XMPP clients, app passwords. Whoever changes
  /// a password mostly fears that somebody else has got in.
  ///
  /// A guest to whom an operator gives one is a user like others by it; guests themselves do not make accounts of themselves.
  ///
  /// - Parameter session: of the user who asks, which goes on; nil: an operator.
  public func setPassword(
    of user: UserID, _ password: String, except session: SessionID? = nil
  ) async throws(Problem) {
    if session != nil, isGuest(user) { throw Problem.guestLimited }
    let keys = try await keys(for: password)
    try await work(keepingCaches: true) { writer in
      guard let row = try writer.user(user) else { throw Problem.unreachable }
      try Self.upgrade(row, writer)
      try Self.replacePassword(by: keys, of: user, writer)
    }
    noteUpgrade(of: user)
    accounts.forget(user: user)
    hub.close(user, .passwordChanged) { $0.session.id != session }
  }

  /// Disabling and deleting end all sessions and logins. A deleted user's name is
  /// never given out again; what they wrote stays in others' dialogs.
  ///
  /// Deleting takes many posts: the user is disabled by the first, and deleted, with all that is theirs, by the last
  /// (`AccountTask`). One that broke off goes on with the next start, unless the account is opened again before.
  ///
  /// - Parameter session: of who asks, which the door ends when it has told them.
  /// - Parameter onlyGuest: whoever is no guest counts as unknown.
  public func setState(
    of id: UserID, _ state: User.State, except session: SessionID? = nil, onlyGuest: Bool = false
  ) async throws(Problem) {
    if state == .deleted {
      return try await finish(
        try await beginDeletion(of: id, erasing: false, except: session, onlyGuest: onlyGuest))
    }
    try await work { writer in
      guard var user = try writer.user(id), user.state != .deleted else {
        throw Problem(.missing, "user-unknown", "There is no such user.", field: "jid")
      }
      user.state = state
      try writer.update(user)
      if state == .active {
        for task in try writer.accountTasks(of: id) where task.kind != .export {
          try writer.removeAccountTask(task.id)
        }
      } else {
        // App passwords stay with the password: neither lets anybody in.
        try Self.removeLogins(of: id, writer)
      }
    }
    if state == .active { return }
    accounts.forget(user: id)
    hub.close(id, .revoked) { $0.session.id != session }
  }

  /// All, or all but one login of the app.
  static func removeLogins(of user: UserID, except kept: Int64? = nil, _ writer: any StoreWriter) throws {
    if let kept {
      for grant in try writer.grants(of: user) where grant.id != kept { try writer.removeGrant(grant.id, of: user) }
    } else {
      try writer.removeGrants(of: user)
    }
    try writer.removeClients(of: user)
  }

  /// A grant, and what was got by it.
  static func remove(grant id: Int64, of user: UserID, _ writer: any StoreWriter) throws {
    try writer.removeGrant(id, of: user)
    try writer.removeClients(of: user, from: .grant(id))
  }

  /// A deleted user leaves the rosters of others, who are told.
  func leaveRosters(_ user: User) async throws(Problem) {
    let contacts = try await read { try $0.contacts(of: user.id) }
    for contact in contacts {
      guard let peer = contact.peer, let other = try await read({ try $0.party(peer) }) else { continue }
      do throws(Problem) {
        try await post(.removeContact(user.address), by: other)
      } catch  where error.kind == .missing {
        // The other side had no item.
      }
    }
  }

  /// A deleted user is nowhere a member. A room whose only owner goes belongs to
  /// the admin, else the member, who has been there longest; an empty one ends.
  func leaveRooms(_ user: User) async throws(Problem) {
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    for (room, _) in try await read({ try $0.memberships(of: user.id) }) {
      let leave = [MemberDraft(address: user.address, affiliation: Affiliation.none)]
      do throws(Problem) {
        try await post(.room(.members(.dialog(room.dialog), leave)), by: party)
      } catch  where error == .lastOwner {
        let heir = try await read { reader -> Member? in
          for among: Set<Affiliation> in [[.admin], [.member], [.watcher]] {
            let members = try reader.members(of: room.dialog, among: among, after: nil, limit: Limits.membersMax)
            if let first = members.min(by: { $0.joinedAt < $1.joinedAt }) { return first }
          }
          return nil
        }
        if let heir {
          let hand = [MemberDraft(address: heir.party.address, affiliation: .owner)] + leave
          try await post(.room(.members(.dialog(room.dialog), hand)), by: party)
        } else {
          try await post(.room(.destroy(.dialog(room.dialog), reason: nil, alternate: nil)), by: party)
        }
      }
    }
  }

  // MARK: Passwords

  /// Verifies a password. `.unauthenticated` says nothing about whether the user
  /// exists.
  public func verify(_ attempt: LoginAttempt, password: String) async throws(Problem) -> User {
    try await prove(attempt, password: password).user
  }

  /// - Returns: the user, and the keys that the password fits.
  func prove(_ attempt: LoginAttempt, password: String) async throws(Problem) -> (user: User, keys: SCRAMKeys) {
    try checkLook(attempt)
    let found = try await credentials(of: attempt.user)
    let (keys, user) = (verifier(found.keys, of: attempt.user), found.user)
    let outcome = try await derivedLook(attempt) {
      guard keys.verifies(password: password), let user else { return .wrong }
      return user.state == .active ? .right : .void
    }
    guard outcome != .wrong, let user else { throw Self.wrongCredentials }
    try Self.checkActive(user)
    return (user, keys)
  }

  static let wrongCredentials = Problem(
    .unauthenticated, "wrong-credentials", "The user name or the password is wrong.")

  /// The keys to verify a plain password with: of an account that has others only, these.
  public func verifier(_ keys: [SCRAMKeys], of address: BareJID) -> SCRAMKeys {
    keys.first { $0.hash == .sha256 } ?? keys.first ?? decoy(address, .sha256)
  }

  /// Adds keys of another hash, made of the same password (XEP-0480), durably. Where there are keys of that hash already,
  /// these stay.
  ///
  /// - Parameter proved: the keys by which the password was proved.
  /// - Returns: false when the user's password is no longer that.
  public func add(_ keys: SCRAMKeys, to user: UserID, proved: SCRAMKeys) async throws(Problem) -> Bool {
    try await work(keepingCaches: true) { writer in
      let present = try writer.credentials(of: user)
      guard present.contains(proved), keys.isComplete else { return false }
      if !present.contains(where: { $0.hash == keys.hash }) { try writer.setCredentials(present + [keys], for: user) }
      return true
    }
  }

  /// The SCRAM keys of a user; for an unknown one none and no user.
  public func credentials(of address: BareJID) async throws(Problem) -> (user: User?, keys: [SCRAMKeys]) {
    try await read { try Self.credentials(of: address, $0) }
  }

  public static func credentials(
    of address: BareJID, _ reader: any StoreReader
  ) throws -> (user: User?, keys: [SCRAMKeys]) {
    guard let user = try reader.user(address), user.state != .deleted else { return (nil, []) }
    return (user, try reader.credentials(of: user.id))
  }

  /// Keys that no password fits, always the same for one address, so that an
  /// unknown user answers like a known one.
  public func decoy(_ address: BareJID, _ hash: SCRAMHash) -> SCRAMKeys {
    SCRAMKeys.decoy(
      username: address.description, secret: realmTable.all.first?.key ?? [], iterations: Limits.scramIterations,
      hash: hash)
  }

  public static func checkActive(_ user: User) throws(Problem) {
    guard user.state == .active else {
      throw Problem(.forbidden, "account-disabled", "This account is disabled.")
    }
  }

  // MARK: Logins of the app

  public struct Login: Sendable {
    public let grant: Grant
    public let accessToken: String
    public let refreshToken: String
    public let user: User
  }

  /// Who speaks behind a token.
  public struct Caller: Hashable, Sendable {
    public let user: Party
    public let grant: Int64
    public let device: String

    /// Of a session that comes in by it.
    public func access(since now: Timestamp) -> Access { Access(.grant(grant), since: now) }
  }

  /// A new login by the account's password. `device` nil: a new device id is made.
  public func logIn(
    _ attempt: LoginAttempt, password: String, device: String?, client: String?
  ) async throws(Problem) -> Login {
    let (user, keys) = try await prove(attempt, password: password)
    return try await logIn(user, proved: keys, device: device, client: client)
  }

  /// What every way to sign in ends at.
  ///
  /// - Parameters:
  ///   - proved: what the login rests on; nil: on nothing that could have ended since.
  ///   - second: a second factor, with what was given out for the first.
  func logIn(
    _ user: User, proved: SCRAMKeys? = nil, second: SecondStep? = nil, device: String?,
    client: String?
  ) async throws(Problem) -> Login {
    if let device {
      guard Self.isDeviceID(device) else {
        throw Problem(
          .malformed, "device-id-malformed", "A deviceId has 1 to 64 outgoingCodes, digits, '-' or '_'.",
          field: "deviceId")
      }
    }
    try Self.checkActive(user)
    let device = device ?? Token.make().text.prefix(12).lowercased()
    let access = Token.make()
    let refresh = Token.make()
    let now = clock.now
    let grant = Grant(
      id: 0, user: user.id, device: device, access: access.hash, accessExpires: now + Limits.accessLifetime,
      refresh: refresh.hash, previousRefresh: nil, createdAt: now, usedAt: now, client: client)
    let secret = options.accountSecret
    let (stored, gone): (Grant, Set<Int64>) = try await work(keepingCaches: true) { writer in
      // In order with the log: whoever changes a password or locks a user out has nobody slip in behind.
      guard let user = try writer.user(user.id) else { throw Problem.unreachable }
      try Self.checkActive(user)
      if let proved, try !writer.credentials(of: user.id).contains(proved) { throw Self.wrongCredentials }
      try Self.checkSecondFactor(of: user.id, second, secret, now, writer)
      try writer.setLastLogin(now, of: user.id)
      let before = try writer.grants(of: user.id)
      // One login per device; at the bound the one longest unused goes.
      var gone = Set(before.filter { $0.device == device }.map(\.id))
      let others = before.filter { $0.device != device }
      if others.count >= Limits.grantsPerUserMax, let oldest = others.min(by: { $0.usedAt < $1.usedAt }) {
        gone.insert(oldest.id)
      }
      for id in gone { try Self.remove(grant: id, of: user.id, writer) }
      try writer.put(grant)
      return (try writer.grant(access: grant.access) ?? grant, gone)
    }
    accounts.forget(user: user.id)
    hub.close(user.id, .revoked) { onlineSession in gone.contains { onlineSession.access?.source == .grant($0) } }
    return Login(grant: stored, accessToken: access.text, refreshToken: refresh.text, user: user)
  }

  /// What an app may call an installation of itself.
  static func isDeviceID(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x5f: true
        default: false
        }
      }
  }

  /// New tokens for a refresh token. Each works once; a second use means that it
  /// was stolen, and revokes the login (RFC 6749 10.4).
  public func refresh(_ token: String) async throws(Problem) -> Login {
    let hash = Token.hash(token)
    let access = Token.make()
    let refresh = Token.make()
    let now = clock.now
    let outcome: (login: Login?, stolen: Grant?) = try await work(keepingCaches: true) { writer in
      guard var grant = try writer.grant(refresh: hash), let user = try writer.user(grant.user) else {
        return (nil, nil)
      }
      guard grant.refresh == hash else {
        try Self.remove(grant: grant.id, of: grant.user, writer)
        return (nil, grant)
      }
      guard user.state == .active else { return (nil, nil) }
      grant.previousRefresh = grant.refresh
      grant.refresh = refresh.hash
      grant.access = access.hash
      grant.accessExpires = now + Limits.accessLifetime
      grant.usedAt = now
      try writer.put(grant)
      return (Login(grant: grant, accessToken: access.text, refreshToken: refresh.text, user: user), nil)
    }
    if let stolen = outcome.stolen {
      accounts.forget(user: stolen.user)
      hub.close(stolen.user, .revoked) { $0.access?.source == .grant(stolen.id) }
    }
    guard let login = outcome.login else {
      throw Problem(.unauthenticated, "refresh-token-invalid", "The refresh token is not valid; log in again.")
    }
    accounts.forget(user: login.user.id)
    return login
  }

  /// Who speaks behind an access token.
  public func caller(accessToken: String) async throws(Problem) -> Caller {
    let hash = Token.hash(accessToken)
    let now = clock.now
    if let caller = accounts.caller(hash, now: now) {
      registries.guests.touch(caller.user.id, now: now)
      return caller
    }
    let endings = accounts.endings
    guard let (grant, user) = try await read({ try Self.bearer(hash, $0) }), user.state == .active else {
      throw Problem(.unauthenticated, "token-invalid", "The access token is not valid; log in again.")
    }
    guard grant.accessExpires > now else {
      throw Problem(.unauthenticated, "token-expired", "The access token has expired; use the refresh token.")
    }
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let caller = Caller(user: party, grant: grant.id, device: grant.device)
    accounts.remember(hash, caller, until: grant.accessExpires, since: endings)
    registries.guests.touch(user.id, now: now)
    return caller
  }

  private static func bearer(_ hash: [UInt8], _ reader: any StoreReader) throws -> (Grant, User)? {
    guard let grant = try reader.grant(access: hash), let user = try reader.user(grant.user) else { return nil }
    return (grant, user)
  }

  /// Whose access token it is, and which login's; nil: nobody's, or it has expired.
  public static func bearer(
    _ accessToken: String, now: Timestamp, _ reader: any StoreReader
  ) throws -> (grant: Int64, user: User)? {
    guard let (grant, user) = try bearer(Token.hash(accessToken), reader), grant.accessExpires > now,
      user.state != .deleted
    else { return nil }
    return (grant.id, user)
  }

  public func logOut(grant: Int64, of user: UserID) async throws(Problem) {
    let isKnown = try await work(keepingCaches: true) { writer in
      let isKnown = try writer.grants(of: user).contains { $0.id == grant }
      try Self.remove(grant: grant, of: user, writer)
      return isKnown
    }
    guard isKnown else {
      throw Problem(.missing, "session-unknown", "There is no such session.")
    }
    accounts.forget(user: user)
    hub.close(user, .revoked) { $0.access?.source == .grant(grant) }
  }

  public func grants(of user: UserID) async throws(Problem) -> [Grant] {
    try await read { try $0.grants(of: user) }
  }
}

/// 256 random bits as text, and what is kept of them.
struct Token: Sendable {
  let text: String
  let hash: [UInt8]

  static func make() -> Token {
    let text = Base64URL.string([UInt8].random(count: 32))
    return Token(text: text, hash: hash(text))
  }

  static func hash(_ text: String) -> [UInt8] { hash(Array(text.utf8)) }
  static func hash(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}

/// Which access tokens have been seen to be good. Forgotten with the login;
/// at most `Limits.cachedUsersMax`, then begun anew.
final class AccountCache: Sendable {
  private struct Known {
    let caller: Parley.Caller
    let until: Timestamp
  }
  private struct State {
    var callers: [[UInt8]: Known] = [:]
    var tokens: [UserID: [[UInt8]]] = [:]
    var endings: UInt64 = 0
  }
  private let state = Mutex(State())

  /// How often logins have ended, of whomever.
  var endings: UInt64 { state.withLock { $0.endings } }

  func caller(_ hash: [UInt8], now: Timestamp) -> Parley.Caller? {
    state.withLock { state in
      guard let found = state.callers[hash], found.until > now else { return nil }
      return found.caller
    }
  }

  /// - Parameter endings: before the store was asked. Where a login has ended since, it may be this one: its token must not
  ///   live on here.
  func remember(_ hash: [UInt8], _ caller: Parley.Caller, until: Timestamp, since endings: UInt64) {
    state.withLock { state in
      guard state.endings == endings else { return }
      if state.callers.count >= Limits.cachedUsersMax { (state.callers, state.tokens) = ([:], [:]) }
      if state.callers.updateValue(Known(caller: caller, until: until), forKey: hash) == nil {
        state.tokens[caller.user.id, default: []].append(hash)
      }
    }
  }

  func forget(user: UserID) {
    state.withLock { state in
      state.endings += 1
      for hash in state.tokens.removeValue(forKey: user) ?? [] { state.callers[hash] = nil }
    }
  }
}

extension BareJID {
  /// Nobody's address (RFC 2606 2: `.invalid` never exists).
  static let nowhere: BareJID = {
    guard let jid = BareJID(parsing: "nobody.invalid") else { preconditionFailure("a constant JID") }
    return jid
  }()
}
