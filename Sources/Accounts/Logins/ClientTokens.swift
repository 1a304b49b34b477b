public import Addresses
public import Basics
import Crypto
public import Dialogs

/// The tokens of XMPP clients (XEP-0484).
extension Accounts {
  /// A new token for its client, which is sent this once.
  public struct IssuedToken: Sendable {
    public let text: String
    public let expires: Timestamp
  }

  /// The outcome of using a token, which is sent after the commit.
  public enum Redemption: Sendable {
    case accepted(User, Access, token: String, issued: IssuedToken?)
    case expired
    case refused
  }

  /// Uses a token: at once, or, if two uses have the same `count`, only one of them.
  ///
  /// - Parameter owner: whose turn the read is.
  public func redeem(
    of address: BareJID, agent: ClientAgent, _ use: Client.Use, for owner: ReadOwner? = nil, on lane: Lane,
    then: @escaping @Sendable (Result<Redemption, Problem>) -> Void
  ) {
    let (secret, clock) = (options.tokenSecret, parley.clock)
    // A refused token causes no write.
    parley.fetch(for: owner, on: lane) { reader in
      let (redemption, client) = try Self.judge(address, agent, use, secret, clock.now, reader)
      return (redemption: redemption, changes: client != nil)
    } then: { [self] result in
      // Neither does a use that changes nothing. `goOnline` checks the access once more.
      guard case .success((.accepted(let user, _, _, _), true)) = result, user.state == .active else {
        return then(result.map(\.redemption))
      }
      parley.work(on: lane, keepingCaches: true) { writer in
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

  /// Judges a use. Returns the client only if it has changed.
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

  /// Issues a token to a client that has authenticated in another way (XEP-0484 3.3). Its access then depends on this
  /// client.
  ///
  /// - Parameter access: the access, with the agent's id.
  public func issueToken(
    to user: UserID, _ access: Access, for mechanism: String, on lane: Lane,
    then: @escaping @Sendable (Result<(IssuedToken, Access), Problem>) -> Void
  ) {
    let (secret, clock) = (options.tokenSecret, parley.clock)
    parley.work(on: lane, keepingCaches: true) { writer in
      guard let agent = access.agent, let id = agent.id, try access.stands(for: user, writer) else {
        throw Problem(.unauthenticated, "access-revoked", "The login was revoked meanwhile.")
      }
      let now = clock.now
      let former = try writer.client(id, of: user)
      var client: Client
      // A token ends with the credential that it was derived from, and must not survive it through another.
      if let former, former.source == access.source {
        client = former
      } else {
        if let former { try writer.removeClient(former.id, of: user) }
        let all = try writer.clients(of: user)
        if all.count >= AccountLimits.clientsPerUserMax, let oldest = all.min(by: { $0.usedAt < $1.usedAt }) {
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
}

extension Client {
  var hasTokens: Bool { current != nil || new != nil }

  /// A use of a token.
  public struct Use: Sendable {
    public let mechanism: String
    /// The counter against replays (XEP-0484 3.4); `nil` if it is missing.
    public let count: Int64?
    /// Whether the token is to be invalidated (3.6).
    public let invalidates: Bool
    /// The mechanism for which another token is requested (3.2).
    public let wanted: String?
    /// Returns whether the client has proved that it knows this token, in constant time.
    public let fits: @Sendable (String) -> Bool

    public init(
      mechanism: String, count: Int64?, invalidates: Bool, wanted: String?, fits: @escaping @Sendable (String) -> Bool
    ) {
      self.mechanism = mechanism
      self.count = count
      self.invalidates = invalidates
      self.wanted = wanted
      self.fits = fits
    }
  }

  /// The outcome of a use.
  enum Verdict: Hashable, Sendable {
    case refused
    /// The right token, after its expiry.
    case expired
    /// The token as text, and the new token that is offered.
    case accepted(String, offered: Token?)
  }

  /// Judges a use, and updates the tokens: the slots of XEP-0484 5.1.
  mutating func redeem(_ use: Use, secret: TokenSecret, now: Timestamp) -> Verdict {
    // Both are always tried, so that the time does not reveal which exist.
    let fits = [new, current].map { token -> String? in
      guard let token, token.mechanism == use.mechanism else { return nil }
      let text = secret.token(token, of: user)
      return use.fits(text) ? text : nil
    }
    let isNew = fits[0] != nil
    guard let text = fits[0] ?? fits[1], var token = isNew ? new : current else { return .refused }
    guard token.expires > now else { return .expired }
    if let count = use.count {
      if let last = token.count, count <= last { return .refused }
      token.count = count
    }
    // The earlier token becomes invalid (3.5).
    if isNew { new = nil }
    current = token
    usedAt = max(usedAt, now)
    if use.invalidates {
      // On logging out, an offered and unused token must not survive either.
      current = nil
      new = nil
    }
    var offered: Token?
    if let wanted = use.wanted {
      offered = offer(wanted, now: now)
    } else if !use.invalidates,
      token.expires < now + (AccountLimits.clientTokenLifetime - AccountLimits.clientTokenRotation)
    {
      offered = offer(token.mechanism, now: now)
    }
    return .accepted(text, offered: offered)
  }

  /// Returns whether the changes must be stored: everything but a slightly later time of use.
  func isWorthStoring(after former: Client) -> Bool {
    var same = self
    same.usedAt = former.usedAt
    return same != former || usedAt >= former.usedAt + AccountLimits.clientUseGrain
  }

  /// Creates another token. One that was offered before and not used becomes invalid (3.5).
  mutating func offer(_ mechanism: String, now: Timestamp) -> Token {
    let token = Token(
      mechanism: mechanism, nonce: .random(count: 16), expires: now + AccountLimits.clientTokenLifetime)
    new = token
    return token
  }
}
