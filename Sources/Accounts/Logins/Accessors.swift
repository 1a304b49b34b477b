import Addresses
public import Basics
import Crypto
public import Dialogs

/// The list of everything that has access to an account (XEP-0494).
extension Accounts {
  /// An item of the list (XEP-0494 4.1).
  public struct Accessor: Sendable {
    public enum Kind: Hashable, Sendable {
      /// A client with tokens.
      case client(Client)
      /// A login of the app.
      case grant(Grant)
      case appPassword(AppPassword)
      /// A session opened with the account's password, without any stored credential.
      case session(resource: String)
    }
    /// The id, stable as long as the item exists.
    public let id: String
    public let kind: Kind
    public let isConnected: Bool
    public let firstSeen: Timestamp
    public let lastSeen: Timestamp
    public let software: String?
    public let device: String?
    /// Whether it was opened with the account's password, and so may know it.
    public let knowsPassword: Bool
    fileprivate let owns: @Sendable (OnlineSession) -> Bool
  }

  /// Returns everything that has access to an account now: the stored credentials, and the sessions opened with the
  /// account's password alone. Nothing is stored for this list alone.
  public func accessors(of user: UserID, _ reader: any StoreReader) throws -> [Accessor] {
    let here = parley.hub.onlineSessions(of: user)
    let now = parley.clock.now
    var list: [Accessor] = []
    func add(
      _ id: String, _ kind: Accessor.Kind, since: Timestamp, used: Timestamp, software: String?, device: String?,
      knowsPassword: Bool, _ owns: @escaping @Sendable (OnlineSession) -> Bool
    ) {
      let isConnected = here.contains(where: owns)
      list.append(
        Accessor(
          id: id, kind: kind, isConnected: isConnected, firstSeen: since, lastSeen: isConnected ? now : used,
          software: software, device: device, knowsPassword: knowsPassword, owns: owns))
    }
    let clients = try reader.clients(of: user)
    for client in clients {
      add(
        "client-\(Self.name(of: client.agent, user))", .client(client), since: client.createdAt, used: client.usedAt,
        software: client.software, device: client.device, knowsPassword: client.source == .password
      ) { $0.access?.client == client.id || $0.access?.agent?.id == client.agent }
    }
    for grant in try reader.grants(of: user) {
      add(
        "login-\(grant.device)", .grant(grant), since: grant.createdAt, used: grant.usedAt, software: grant.client,
        device: nil, knowsPassword: false
      ) { $0.access?.source == .grant(grant.id) }
    }
    for password in try reader.appPasswords(of: user) {
      add(
        "password-\(password.id)", .appPassword(password), since: password.createdAt,
        used: password.usedAt ?? password.createdAt, software: nil, device: password.name, knowsPassword: false
      ) { $0.access?.source == .appPassword(password.id) }
    }
    let known = list.map(\.owns)
    for onlineSession in here where onlineSession.door == .xmpp && !known.contains(where: { $0(onlineSession) }) {
      let (session, since) = (onlineSession.session, onlineSession.access?.since ?? now)
      add(
        "session-\(onlineSession.resource)", .session(resource: onlineSession.resource), since: since, used: since,
        software: onlineSession.access?.agent?.software, device: onlineSession.access?.agent?.device,
        knowsPassword: true
      ) { $0.session === session }
    }
    return list
  }

  /// Returns everything that has access to an account beside one of its sessions.
  public func otherAccessors(of session: any LiveSession, _ reader: any StoreReader) throws -> [Accessor] {
    let own = parley.hub.onlineSessions(of: session.party.id).first { $0.session === session }
    return try accessors(of: session.party.id, reader).filter { accessor in own.map { !accessor.owns($0) } ?? true }
  }

  /// Returns a public name for an installation's id, which is kept private, even from other clients of the same user.
  private static func name(of agent: String, _ user: UserID) -> String {
    Hex.string(SHA256.hash(data: Array("\(user.number) \(agent)".utf8)).prefix(8))
  }

  /// The result of revoking an access.
  public enum Revocation: Hashable, Sendable {
    case revoked
    /// The credentials and sessions are revoked; but it was opened with the account's password, and only a new one
    /// excludes it (XEP-0494 4.2).
    case passwordKnown
    case unknown
  }

  /// Returns whether a session was opened with an app password: that is meant for one program, which does not manage
  /// the account (docs/decisions/0010-app-passwords.md).
  public func isLimited(_ session: any LiveSession) -> Bool {
    guard
      case .appPassword? = parley.hub.onlineSessions(of: session.party.id).first(where: { $0.session === session })?
        .access?.source
    else { return false }
    return true
  }

  /// Throws `access-limited` if a session may not manage its account.
  public func checkManages(_ session: any LiveSession) throws(Problem) {
    if isLimited(session) {
      throw Problem(.forbidden, "access-limited", "An app password does not manage the account.")
    }
  }

  /// Revokes an access, with everything derived from it, and ends its sessions.
  ///
  /// - Parameter session: the requesting session. One opened with an app password can revoke its own access only.
  public func revoke(
    _ id: String, by session: any LiveSession, on lane: Lane,
    then: @escaping @Sendable (Result<Revocation, Problem>) -> Void
  ) {
    let user = session.party.id
    parley.work(on: lane, keepingCaches: true) { [self] writer -> Accessor? in
      guard let accessor = try accessors(of: user, writer).first(where: { $0.id == id }) else { return nil }
      // The rights of a session that has ended are unknown.
      guard let own = parley.hub.onlineSessions(of: user).first(where: { $0.session === session }) else {
        throw Problem(.unauthenticated, "access-revoked", "The login was revoked meanwhile.")
      }
      if case .appPassword? = own.access?.source, !accessor.owns(own) {
        throw Problem(.forbidden, "access-limited", "An app password does not manage the access of others.")
      }
      switch accessor.kind {
      case .client(let client): try writer.removeClient(client.id, of: user)
      case .grant(let grant): try Self.remove(grant: grant.id, of: user, writer)
      case .appPassword(let password): try Self.remove(appPassword: password.id, of: user, writer)
      case .session: break
      }
      return accessor
    } then: { [self] result in
      if case .success(let accessor?) = result {
        tokens.forget(user: user)
        parley.hub.close(user, .revoked, where: accessor.owns)
      }
      then(result.map { $0.map { $0.knowsPassword ? .passwordKnown : .revoked } ?? .unknown })
    }
  }

  public func revoke(_ id: String, by session: any LiveSession) async throws(Problem) -> Revocation {
    let result: Result<Revocation, Problem> = await withCheckedContinuation { continuation in
      revoke(id, by: session, on: session.lane) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }
}
