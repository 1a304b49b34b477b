/// What a client that keeps a room's member list has of it (XEP-0463 5.1).
public enum MemberListRequest: Hashable, Sendable {
  /// It wants all of it.
  case whole
  /// It has the list of this version.
  case since(Position)
}

/// What who enters is told of the member list (XEP-0463 5.2.1).
public enum MemberListAnswer: Hashable, Sendable {
  /// The client keeps no list, or has it as it is.
  case nothing
  /// The list is not theirs to read.
  case refused
  /// By version. Behind `since` those whose affiliation has changed, `none` for who
  /// is on the list no more; nil: the whole list.
  case members([Member], since: Position?)
}

/// A change of the member list: its version before and after (XEP-0463 5.2.2).
public struct MemberListStep: Hashable, Sendable {
  public let since: Position
  public let until: Position
  /// Of those who are there, who may know: from this affiliation on.
  public let readers: Affiliation

  public init(since: Position, until: Position, readers: Affiliation) {
    self.since = since
    self.until = until
    self.readers = readers
  }
}
