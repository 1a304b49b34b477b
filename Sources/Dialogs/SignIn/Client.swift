public import Basics
import Crypto

/// How a session came in: what has to go for it to go.
public struct Access: Hashable, Sendable {
  /// What was proved at the login, or at the login that its token was got by.
  public enum Source: Hashable, Sendable {
    case password
    /// A login of the app.
    case grant(Int64)
    case appPassword(Int64)
  }

  public var source: Source
  /// The installation, where it said which it is.
  public var agent: ClientAgent?
  /// It came by a token of this client, and ends with it.
  public var client: Int64?
  public var since: Timestamp
  /// A salt of the account's keys at the login, new with each password; nil: not known any more.
  public var salt: [UInt8]?

  public init(
    _ source: Source, agent: ClientAgent? = nil, client: Int64? = nil, since: Timestamp, salt: [UInt8]? = nil
  ) {
    self.source = source
    self.agent = agent
    self.client = client
    self.since = since
    self.salt = salt
  }

  /// Whether nothing of it was revoked since.
  public func stands(for user: UserID, _ reader: any StoreReader) throws -> Bool {
    if let client, try !reader.clients(of: user).contains(where: { $0.id == client }) { return false }
    if let salt, try !reader.credentials(of: user).contains(where: { $0.salt == salt }) { return false }
    switch source {
    // The password alone does not let anybody in where there is a second factor.
    case .password: return try reader.secondFactor(of: user)?.isOn != true
    case .grant(let id): return try reader.grants(of: user).contains { $0.id == id }
    case .appPassword(let id): return try reader.appPasswords(of: user).contains { $0.id == id }
    }
  }
}

/// What an XMPP client says of itself (XEP-0388 2.4).
public struct ClientAgent: Hashable, Sendable {
  /// The installation's own UUID, lower case.
  public var id: String?
  public var software: String?
  public var device: String?

  public init(id: String?, software: String?, device: String?) {
    self.id = id
    self.software = software
    self.device = device
  }
}

/// An XMPP client that may come back by a token (XEP-0484): one per user and installation.
///
/// Two tokens may be good at a time: the current one, and one that was given out in its place and has not been used
/// yet, because the answer that carried it may never have arrived (3.5). Of a token only a nonce is kept; what it is
/// made of besides is no part of the store (`TokenSecret`).
public struct Client: Hashable, Sendable {
  public struct Token: Hashable, Sendable {
    /// The only mechanism that it is good for (3.4).
    public var mechanism: String
    /// 16 random bytes.
    public var nonce: [UInt8]
    public var expires: Timestamp
    /// The highest `count` it was used with (3.4); nil: none yet.
    public var count: Int64?

    public init(mechanism: String, nonce: [UInt8], expires: Timestamp, count: Int64? = nil) {
      self.mechanism = mechanism
      self.nonce = nonce
      self.expires = expires
      self.count = count
    }
  }

  /// 0 asks the store for a new one.
  public var id: Int64
  public let user: UserID
  /// The installation's UUID.
  public let agent: String
  public var software: String?
  public var device: String?
  public var source: Access.Source
  public var current: Token?
  public var new: Token?
  public let createdAt: Timestamp
  public var usedAt: Timestamp

  public init(
    id: Int64, user: UserID, agent: String, software: String?, device: String?, source: Access.Source,
    current: Token? = nil, new: Token? = nil, createdAt: Timestamp, usedAt: Timestamp
  ) {
    self.id = id
    self.user = user
    self.agent = agent
    self.software = software
    self.device = device
    self.source = source
    self.current = current
    self.new = new
    self.createdAt = createdAt
    self.usedAt = usedAt
  }

  var hasTokens: Bool { current != nil || new != nil }

  /// How a token is used.
  public struct Use: Sendable {
    public let mechanism: String
    /// What protects against replays (XEP-0484 3.4); nil: not given.
    public let count: Int64?
    /// The token is to be worth nothing from now on (3.6).
    public let invalidates: Bool
    /// Another is asked for, for this mechanism (3.2).
    public let wanted: String?
    /// Whether the client has proved that it knows this token. Takes constant time.
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

  /// What a use comes to.
  enum Verdict: Hashable, Sendable {
    case refused
    /// The right token, too late.
    case expired
    /// The token, as text, and what is given out besides.
    case accepted(String, offered: Token?)
  }

  /// Judges a use, and does to the tokens what it means: the slots of XEP-0484 5.1.
  mutating func redeem(_ use: Use, secret: TokenSecret, now: Timestamp) -> Verdict {
    // Both are always tried, so that the time taken does not tell which there are.
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
    // The earlier one is worth nothing any more (3.5).
    if isNew { new = nil }
    current = token
    usedAt = max(usedAt, now)
    if use.invalidates {
      // A log out: what was given out and not used must not outlive it either.
      current = nil
      new = nil
    }
    var offered: Token?
    if let wanted = use.wanted {
      offered = offer(wanted, now: now)
    } else if !use.invalidates, token.expires < now + (Limits.clientTokenLifetime - Limits.clientTokenRotation) {
      offered = offer(token.mechanism, now: now)
    }
    return .accepted(text, offered: offered)
  }

  /// Whether what has become of it must be stored: everything but that it was used, a little later.
  func isWorthStoring(after former: Client) -> Bool {
    var same = self
    same.usedAt = former.usedAt
    return same != former || usedAt >= former.usedAt + Limits.clientUseGrain
  }

  /// Makes another token. One that was given out before and not used is worth nothing any more (3.5).
  mutating func offer(_ mechanism: String, now: Timestamp) -> Token {
    let token = Token(
      mechanism: mechanism, nonce: .random(count: 16), expires: now + Limits.clientTokenLifetime)
    new = token
    return token
  }
}

/// What tokens of clients are made with. It is kept beside the database and never in it: who has got hold of the
/// database, or of a backup, can make no token. Does not print itself.
public struct TokenSecret: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
  public static let byteCount = 32
  let key: SymmetricKey

  /// - Parameter bytes: at least `byteCount` random ones, the same over restarts; with others all tokens are void.
  public init(_ bytes: [UInt8]) { key = SymmetricKey(data: bytes) }

  public static func random() -> TokenSecret { TokenSecret(.random(count: byteCount)) }

  /// 256 bits in letters, digits, `-` and `_`.
  func token(_ token: Client.Token, of user: UserID) -> String {
    var message = Array("parley client token\0".utf8)
    for shift in stride(from: 56, through: 0, by: -8) {
      message.append(UInt8(truncatingIfNeeded: user.number >> Int64(shift)))
    }
    message += Array(token.mechanism.utf8) + [0] + token.nonce
    return Base64URL.string(Array(HMAC<SHA256>.authenticationCode(for: message, using: key)))
  }

  public var description: String { "TokenSecret" }
  public var debugDescription: String { "TokenSecret" }
}

/// A password of its own for one client (`Parley.makeAppPassword`). Its keys have the salts and iterations of the
/// account's password: docs/decisions/0010-app-passwords.md says why.
public struct AppPassword: Hashable, Sendable {
  public var id: Int64
  public let user: UserID
  /// What the user calls it.
  public let name: String
  public let createdAt: Timestamp
  /// nil: never used.
  public var usedAt: Timestamp?

  public init(id: Int64, user: UserID, name: String, createdAt: Timestamp, usedAt: Timestamp?) {
    self.id = id
    self.user = user
    self.name = name
    self.createdAt = createdAt
    self.usedAt = usedAt
  }
}
