/// The request of a client that keeps a room's member list (XEP-0463 5.1).
public enum MemberListRequest: Hashable, Sendable {
  /// The client wants the whole list.
  case whole
  /// The client has the list of this version.
  case since(Position)
}

/// The member list that an entering client receives (XEP-0463 5.2.1).
public enum MemberListAnswer: Hashable, Sendable {
  /// The client keeps no list, or has the current one.
  case nothing
  /// The user may not read the list.
  case refused
  /// The members in the order of their versions: those whose affiliation changed after `since`, with `none` for removed
  /// ones; or the whole list if `since` is `nil`.
  case members([Member], since: Position?)
}

/// A change of the member list: its version before and after (XEP-0463 5.2.2).
public struct MemberListStep: Hashable, Sendable {
  public let since: Position
  public let until: Position
  /// The lowest affiliation of the occupants who may see the change.
  public let readers: Affiliation

  public init(since: Position, until: Position, readers: Affiliation) {
    self.since = since
    self.until = until
    self.readers = readers
  }
}
