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
  /// Whether it also has each room that the user is a member of, from where they joined. The store finds these rooms.
  public let hasMemberships: Bool

  private init(_ user: UserID, rooms: [FollowedRoom] = [], hasMemberships: Bool = false) {
    self.user = user
    self.rooms = rooms
    self.hasMemberships = hasMemberships
  }

  /// Returns the access of a user to their own log. The door has authenticated them.
  public static func own(_ user: Party, rooms: [FollowedRoom] = []) -> LogAccess { LogAccess(user.id, rooms: rooms) }

  /// Returns the access to what a user's app sessions follow, with all rooms that they are a member of.
  public static func withMemberships(of user: Party) -> LogAccess { LogAccess(user.id, hasMemberships: true) }

  /// Returns the access of the server itself to a user's log.
  public static func server(
    _ user: UserID, rooms: [(room: DialogID, since: Position)] = [], _: ServerReason
  ) -> LogAccess {
    LogAccess(user, rooms: rooms.map { FollowedRoom($0.room, since: $0.since) })
  }
}

/// The places of the entries that a session follows behind a position, found in one snapshot of the log. It is valid later, too:
/// the store leaves out what has been removed since, and what the user may not read any more.
public struct FeedPlaces: Sendable {
  public struct Place: Hashable, Sendable {
    public let position: Position
    /// The room whose entry it is; `nil` if the user has a row of it.
    public let room: DialogID?

    public init(_ position: Position, in room: DialogID?) {
      self.position = position
      self.room = room
    }
  }

  public let log: LogAccess
  /// The position behind which they were looked for.
  public let after: Position
  /// The places up to `end`, ascending.
  public let places: [Place]
  public let end: Position
  /// Whether `end` is the end of the log in the snapshot.
  public let isLast: Bool

  public init(of log: LogAccess, after: Position, _ places: [Place], end: Position, isLast: Bool) {
    self.log = log
    self.after = after
    self.places = places
    self.end = end
    self.isLast = isLast
  }
}

extension StoreReader {
  /// Returns the page of what a session follows behind a position, which has `Limits.pageBytesMax` bytes and one entry at most. It has
  /// fewer entries than `limit`, or none, without being the last where `Limits.archiveLooksMax` rows contain no others.
  ///
  /// To find the places of entries costs a look at each room of the log, so that a session which reads several pages gives the places
  /// that one page has found to the next (`LogPage.places`).
  ///
  /// - Parameters:
  ///   - all: whether to include entries that app clients do not get (`FeedRow.Traits.unfollowed`).
  ///   - known: the places that an earlier page has found with the same `all`; `nil` if there are none.
  ///   - ahead: the number of places that are looked for, if it is greater than `limit`.
  public func page(
    of log: LogAccess, after: Position, limit: Int, all: Bool = false, at known: FeedPlaces? = nil, ahead: Int = 0
  ) throws -> LogPage {
    let bytesMax = Limits.pageBytesMax
    var (entries, end): ([Entry], Position) = ([], after)
    if let known, known.log == log, known.after <= after, after < known.end {
      let places = known.places.drop { $0.position <= after }
      entries = try self.entries(of: log, at: places, limit: limit, bytesMax: bytesMax)
      if entries.isFull(limit), let last = entries.last?.position {
        let passed = places.prefix { $0.position <= last }.count
        return LogPage(
          entries: entries, end: last, isLast: false, places: known, isSearched: passed > entries.count)
      }
      end = known.end
    }
    let found = try feed(
      of: log, after: end, limit: max(limit, ahead), looksMax: Limits.archiveLooksMax, all: all)
    entries += try self.entries(
      of: log, at: found.places[...], limit: limit - entries.count, bytesMax: bytesMax - entries.byteCount)
    if entries.isFull(limit), let last = entries.last?.position {
      return LogPage(entries: entries, end: last, isLast: false, places: found)
    }
    // All places have been read.
    return LogPage(entries: entries, end: found.end, isLast: found.isLast)
  }
}
