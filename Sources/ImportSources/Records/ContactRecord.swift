/// A roster item (RFC 6121 2.1.2).
public struct ContactRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var jid: String
  public var name: String?
  public var groups: [String]
  /// `none`, `to`, `from` or `both`.
  public var subscription: String
  public var asks: Bool
  public var isApproved: Bool

  public init(
    owner: String, jid: String, name: String? = nil, groups: [String] = [], subscription: String, asks: Bool = false,
    isApproved: Bool = false
  ) {
    self.owner = owner
    self.jid = jid
    self.name = name
    self.groups = groups
    self.subscription = subscription
    self.asks = asks
    self.isApproved = isApproved
  }
}

/// A subscription request that waits for its answer (RFC 6121 3.1.3).
public struct RequestRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var from: String
  /// The stanza's children.
  public var children: String?

  public init(owner: String, from: String, children: String? = nil) {
    self.owner = owner
    self.from = from
    self.children = children
  }
}

public struct BlockRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var jids: [String]

  public init(owner: String, jids: [String]) {
    self.owner = owner
    self.jids = jids
  }
}
