/// A domain of this server and one elsewhere. Streams between servers are authenticated for such a pair (RFC 6120
/// 13.8), so it is what links, their order and what is owed to another server are kept by.
///
/// A domain that this process serves for another realm is elsewhere too: two realms share nothing.
public struct DomainPair: Hashable, Sendable, CustomStringConvertible {
  /// The domain here: of users, rooms, uploads, or of a component.
  public let local: String
  public let remote: String

  public init(local: String, remote: String) {
    self.local = local
    self.remote = remote
  }

  public var description: String { "\(local) - \(remote)" }
}
