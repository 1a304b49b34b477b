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
