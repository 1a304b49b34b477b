import Addresses
public import Basics
import Crypto
public import Dialogs

/// Everything that has access to an account (XEP-0494).
extension Accounts {
  /// One line of the list (XEP-0494 4.1).
  public struct Accessor: Sendable {
    public enum Kind: Hashable, Sendable {
      /// An installation with tokens.
      case client(Client)
      /// A login of the app.
      case grant(Grant)
      case appPassword(AppPassword)
      /// Nothing but a session, by the account's password.
      case session(resource: String)
    }
    /// Names it for as long as it is there.
    public let id: String
    public let kind: Kind
    public let isConnected: Bool
    public let firstSeen: Timestamp
    public let lastSeen: Timestamp
    public let software: String?
    public let device: String?
    /// It was let in by the account's password, and may know that.
    public let knowsPassword: Bool
    fileprivate let owns: @Sendable (OnlineSession) -> Bool
  }

  /// Everything that has access to an account now: what is stored, and who is here by the account's password alone. Nothing
  /// is kept for this list that is not needed to let somebody in.
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

  /// The installation's own id is nobody else's business, not even another client's of the same user.
  private static func name(of agent: String, _ user: UserID) -> String {
    Hex.string(SHA256.hash(data: Array("\(user.number) \(agent)".utf8)).prefix(8))
  }

  /// What taking an access away came to.
  public enum Revocation: Hashable, Sendable {
    case revoked
    /// What could go is gone, and its sessions; but it was let in by the account's password, and only another
    /// one keeps it out (XEP-0494 4.2).
    case passwordKnown
    case unknown
  }

  /// Whether a session came in by an app password: it is lent to a program, and does not manage the account
  /// (docs/decisions/0010-app-passwords.md).
  public func isLimited(_ session: any LiveSession) -> Bool {
    guard
      case .appPassword? = parley.hub.onlineSessions(of: session.party.id).first(where: { $0.session === session })?
        .access?.source
    else { return false }
    return true
  }

  /// Throws `access-limited` where a session does not manage its account.
  public func checkManages(_ session: any LiveSession) throws(Problem) {
    if isLimited(session) {
      throw Problem(.forbidden, "access-limited", "An app password does not manage the account.")
    }
  }

  /// Takes away what a line of the list stands for, with all that was got by it, and ends its sessions.
  ///
  /// - Parameter session: whose wish it is. One that came in by an app password can take away its own access only.
  public func revoke(
    _ id: String, by session: any LiveSession, on lane: Lane,
    then: @escaping @Sendable (Result<Revocation, Problem>) -> Void
  ) {
    let user = session.party.id
    parley.work(on: lane, keepingCaches: true) { [self] writer -> Accessor? in
      guard let accessor = try accessors(of: user, writer).first(where: { $0.id == id }) else { return nil }
      // Of a session that is gone nobody knows any more what it may do.
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
}
