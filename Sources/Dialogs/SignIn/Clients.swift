public import Addresses
public import Basics
import Crypto

/// XMPP clients and their tokens (XEP-0484), and the list of everything that has access to an account (XEP-0494).
extension Parley {
  // MARK: Tokens

  /// A token that is on its way to its client, for the first and last time.
  public struct IssuedToken: Sendable {
    public let text: String
    public let expires: Timestamp
  }

  /// What a use of a token came to. It is told after the commit.
  public enum Redemption: Sendable {
    case accepted(User, Access, token: String, issued: IssuedToken?)
    case expired
    case refused
  }

  /// Uses a token: at once, or, where two do it with one `count`, one of them.
  public func redeem(
    of address: BareJID, agent: ClientAgent, _ use: Client.Use, on lane: Lane,
    then: @escaping @Sendable (Result<Redemption, Problem>) -> Void
  ) {
    let (secret, clock) = (options.tokenSecret, clock)
    // A token that is refused costs the log nothing.
    fetch(on: lane) { reader in
      let (redemption, client) = try Self.judge(address, agent, use, secret, clock.now, reader)
      return (redemption: redemption, changes: client != nil)
    } then: { [self] result in
      // Nor does one whose use leaves everything as it is. Whether its access stands is asked once more when it attends.
      guard case .success((.accepted(let user, _, _, _), true)) = result, user.state == .active else {
        return then(result.map(\.redemption))
      }
      work(on: lane, keepingCaches: true) { writer in
        let (redemption, client) = try Self.judge(address, agent, use, secret, clock.now, writer)
        guard case .accepted(let user, _, _, _) = redemption, user.state == .active, let client else {
          return redemption
        }
        if client.hasTokens { try writer.put(client) } else { try writer.removeClient(client.id, of: user.id) }
        return redemption
      } then: {
        then($0)
      }
    }
  }

  /// - Returns: the client only where it has changed.
  private static func judge(
    _ address: BareJID, _ agent: ClientAgent, _ use: Client.Use, _ secret: TokenSecret, _ now: Timestamp,
    _ reader: any StoreReader
  ) throws -> (redemption: Redemption, client: Client?) {
    guard let id = agent.id, let user = try reader.user(address), user.state != .deleted,
      let former = try reader.client(id, of: user.id)
    else { return (.refused, nil) }
    var client = former
    switch client.redeem(use, secret: secret, now: now) {
    case .refused: return (.refused, nil)
    case .expired: return (.expired, nil)
    case .accepted(let token, let offered):
      client.software = agent.software ?? client.software
      client.device = agent.device ?? client.device
      let access = Access(client.source, agent: agent, client: client.hasTokens ? client.id : nil, since: now)
      let issued = offered.map { IssuedToken(text: secret.token($0, of: user.id), expires: $0.expires) }
      return (
        .accepted(user, access, token: token, issued: issued), client.isWorthStoring(after: former) ? client : nil
      )
    }
  }

  /// Gives a token to a client that has proved itself in another way (XEP-0484 3.3). Its access is then by this client.
  ///
  /// - Parameter access: with the agent's id.
  public func issueToken(
    to user: UserID, _ access: Access, for mechanism: String, on lane: Lane,
    then: @escaping @Sendable (Result<(IssuedToken, Access), Problem>) -> Void
  ) {
    let (secret, clock) = (options.tokenSecret, clock)
    work(on: lane, keepingCaches: true) { writer in
      guard let agent = access.agent, let id = agent.id, try access.stands(for: user, writer) else {
        throw Problem(.unauthenticated, "access-revoked", "The login was revoked meanwhile.")
      }
      let now = clock.now
      let former = try writer.client(id, of: user)
      var client: Client
      // What was got in another way ends with that other way, and must not live on by this one.
      if let former, former.source == access.source {
        client = former
      } else {
        if let former { try writer.removeClient(former.id, of: user) }
        let all = try writer.clients(of: user)
        if all.count >= Limits.clientsPerUserMax, let oldest = all.min(by: { $0.usedAt < $1.usedAt }) {
          try writer.removeClient(oldest.id, of: user)
        }
        client = Client(
          id: 0, user: user, agent: id, software: nil, device: nil, source: access.source, createdAt: now, usedAt: now)
      }
      client.software = agent.software ?? client.software
      client.device = agent.device ?? client.device
      client.usedAt = now
      let token = client.offer(mechanism, now: now)
      try writer.put(client)
      guard let stored = try writer.client(id, of: user) else { throw Problem.storage }
      var access = access
      access.client = stored.id
      return (IssuedToken(text: secret.token(token, of: user), expires: token.expires), access)
    } then: {
      then($0)
    }
  }

  // MARK: Everything that has access

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
    let here = hub.onlineSessions(of: user)
    let now = clock.now
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
      case .appPassword? = hub.onlineSessions(of: session.party.id).first(where: { $0.session === session })?
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
    work(on: lane, keepingCaches: true) { [self] writer -> Accessor? in
      guard let accessor = try accessors(of: user, writer).first(where: { $0.id == id }) else { return nil }
      // Of a session that is gone nobody knows any more what it may do.
      guard let own = hub.onlineSessions(of: user).first(where: { $0.session === session }) else {
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
        accounts.forget(user: user)
        hub.close(user, .revoked, where: accessor.owns)
      }
      then(result.map { $0.map { $0.knowsPassword ? .passwordKnown : .revoked } ?? .unknown })
    }
  }

  static func remove(appPassword id: Int64, of user: UserID, _ writer: any StoreWriter) throws {
    try writer.removeAppPassword(id, of: user)
    try writer.removeClients(of: user, from: .appPassword(id))
  }
}
