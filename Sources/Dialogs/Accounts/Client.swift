public import Basics

/// An XMPP client that may log in by a token (XEP-0484): one per user and installation.
///
/// Two tokens may be valid at a time: the current one, and its replacement that has not been used yet, because the
/// answer with it may never have arrived (3.5). Only a nonce of a token is stored; the secret it is derived from is not
/// in the store (`TokenSecret`).
public struct Client: Hashable, Sendable {
  public struct Token: Hashable, Sendable {
    /// The only mechanism that it is valid for (3.4).
    public var mechanism: String
    /// 16 random bytes.
    public var nonce: [UInt8]
    public var expires: Timestamp
    /// The highest `count` it was used with (3.4); `nil` if there is none yet.
    public var count: Int64?

    public init(mechanism: String, nonce: [UInt8], expires: Timestamp, count: Int64? = nil) {
      self.mechanism = mechanism
      self.nonce = nonce
      self.expires = expires
      self.count = count
    }
  }

  /// The id; 0 asks the store for a new one.
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
}

extension Client: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, user, agent, software, device, source, sourceID = "source_id", mechanism, nonce, expires, count,
      newMechanism = "new_mechanism", newNonce = "new_nonce", newExpires = "new_expires", createdAt = "created",
      usedAt = "used"
  }
  public static let kind = "clients"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [
      id.field, user.field, agent.field, software.field, device.field, source.columns.kind.field,
      source.columns.id.field, (current?.mechanism).field, (current?.nonce).field, (current?.expires).field,
      (current?.count).field, (new?.mechanism).field, (new?.nonce).field, (new?.expires).field, createdAt.field,
      usedAt.field,
    ]
  }
  public init(_ fields: inout FieldReader) throws {
    id = try fields.next()
    user = try fields.next()
    agent = try fields.next()
    software = try fields.next()
    device = try fields.next()
    guard let source = try Access.Source(kind: fields.next(), id: fields.next()) else { throw fields.unreadable }
    self.source = source
    current = try Token(fields.next(), fields.next(), fields.next(), fields.next())
    new = try Token(fields.next(), fields.next(), fields.next(), nil)
    createdAt = try fields.next()
    usedAt = try fields.next()
  }
}

extension Client.Token {
  fileprivate init?(_ mechanism: String?, _ nonce: [UInt8]?, _ expires: Timestamp?, _ count: Int64?) {
    guard let mechanism, let nonce, let expires else { return nil }
    self.init(mechanism: mechanism, nonce: nonce, expires: expires, count: count)
  }
}

extension Access.Source {
  /// The stored form: never renumber.
  fileprivate var columns: (kind: Int64, id: Int64) {
    switch self {
    case .password: (0, 0)
    case .grant(let id): (1, id)
    case .appPassword(let id): (2, id)
    }
  }

  fileprivate init?(kind: Int64, id: Int64) {
    switch kind {
    case 0: self = .password
    case 1: self = .grant(id)
    case 2: self = .appPassword(id)
    default: return nil
    }
  }
}

extension RecordReader {
  /// Returns the client with this UUID.
  public func client(_ agent: String, of user: UserID) throws -> Client? {
    try record(Client.self, .equal(.user, user), .equal(.agent, agent))
  }

  /// Returns the user's clients, by id.
  public func clients(of user: UserID) throws -> [Client] { try records(Client.self, .equal(.user, user)) }
}

extension RecordWriter {
  public func removeClient(_ id: Int64, of user: UserID) throws {
    try remove(Client.self, .equal(.id, id), .equal(.user, user))
  }

  public func removeClients(of user: UserID) throws { try remove(Client.self, .equal(.user, user)) }

  /// Removes the clients that got their tokens from this source.
  public func removeClients(of user: UserID, from source: Access.Source) throws {
    let (kind, id) = source.columns
    try remove(Client.self, .equal(.user, user), .equal(.source, kind), .equal(.sourceID, id))
  }
}
