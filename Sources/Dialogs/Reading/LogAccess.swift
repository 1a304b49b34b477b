/// A room that a session follows behind a position. Only the core makes one, for a member and for a session that has
/// entered.
public struct FollowedRoom: Hashable, Sendable {
  /// The room; 0 while the session is setting it up.
  public let room: DialogID
  public let since: Position

  init(_ room: DialogID, since: Position) {
    self.room = room
    self.since = since
  }

  /// Returns the same for the room that the session was setting up, which exists from `position` on. Another room is
  /// returned unchanged.
  public func founded(_ room: RoomName, at position: Position = .zero) -> FollowedRoom {
    guard self.room == DialogID(0) || self.room == room.dialog else { return self }
    return FollowedRoom(room.dialog, since: max(since, position))
  }
}

/// The decision that a user's log may be read: their private dialogs, their own record, and some of their rooms.
public struct LogAccess: Hashable, Sendable {
  public let user: UserID
  public let rooms: [FollowedRoom]

  /// Returns the access of a user to their own log. The door has authenticated them.
  public static func own(_ user: Party, rooms: [FollowedRoom] = []) -> LogAccess {
    LogAccess(user: user.id, rooms: rooms)
  }

  /// Returns the access of the server itself to a user's log.
  public static func server(
    _ user: UserID, rooms: [(room: DialogID, since: Position)] = [], _: ServerReason
  ) -> LogAccess {
    LogAccess(user: user, rooms: rooms.map { FollowedRoom($0.room, since: $0.since) })
  }
}

extension StoreReader {
  /// Returns what a user's app sessions follow, with all rooms that they are a member of.
  public func log(of user: Party) throws -> LogAccess {
    .own(user, rooms: try memberships(of: user.id).map { FollowedRoom($0.room.dialog, since: $0.since) })
  }

  /// Returns the page of what a session follows behind a position, which has `Limits.pageBytesMax` bytes and one entry at most.
  ///
  /// - Parameter all: whether to include entries that app clients do not get (`FeedRow.Traits.unfollowed`).
  public func page(of log: LogAccess, after: Position, limit: Int, all: Bool = false) throws -> LogPage {
    let entries = try feed(of: log, after: after, limit: limit, bytesMax: Limits.pageBytesMax, all: all)
    if entries.isFull(limit), let last = entries.last {
      return LogPage(entries: entries, end: last.position, isLast: false)
    }
    return LogPage(entries: entries, end: max(after, try head().position), isLast: true)
  }
}
