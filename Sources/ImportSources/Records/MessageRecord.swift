/// A message in one user's archive or offline storage.
public struct MessageCopy: Sendable, Equatable, Codable {
  public var owner: String
  /// Milliseconds since 1970-01-01T00:00:00Z.
  public var time: Int64
  /// The bare address of the other user.
  public var peer: String
  /// Whether the other user has written it.
  public var isInbound: Bool
  /// Whether it waits for the owner, who has not received it.
  public var isOffline: Bool
  /// The stanza's id; empty if there is none.
  public var id: String
  /// The children by which two copies are recognised as one message.
  public var digest: UInt64
  public var xml: String

  public init(
    owner: String, time: Int64, peer: String, isInbound: Bool, isOffline: Bool, id: String, digest: UInt64, xml: String
  ) {
    self.owner = owner
    self.time = time
    self.peer = peer
    self.isInbound = isInbound
    self.isOffline = isOffline
    self.id = id
    self.digest = digest
    self.xml = xml
  }
}

/// A message of the past between two users.
public struct MessageRecord: Sendable, Equatable, Codable {
  /// The local user.
  public var owner: String
  public var time: Int64
  public var peer: String
  public var isInbound: Bool
  public var isInAuthorsArchive: Bool
  public var isInAddresseesArchive: Bool
  public var isOffline: Bool
  public var xml: String

  public init(
    owner: String, time: Int64, peer: String, isInbound: Bool, isInAuthorsArchive: Bool, isInAddresseesArchive: Bool,
    isOffline: Bool, xml: String
  ) {
    self.owner = owner
    self.time = time
    self.peer = peer
    self.isInbound = isInbound
    self.isInAuthorsArchive = isInAuthorsArchive
    self.isInAddresseesArchive = isInAddresseesArchive
    self.isOffline = isOffline
    self.xml = xml
  }
}
