import Addresses
import Dialogs

/// The rooms that a session is in, as its client has been told. Theory:
///
/// The core reports at which position of the log a session has entered. From there on the room's entries come live; but
/// the client is first sent the occupants, then the history up to that position, then the topic, and only then what
/// came since (XEP-0045 7.2). So each room has a `LogCursor` of its own, which begins at that position and holds live
/// entries while the history is read. It stands behind the session's own cursor: an entry comes to it when the
/// session's cursor has come to that entry, live or by a page, so it never sends more than the session has come to.
/// Where it has dropped held entries it reads the log up to the session's place.
///
/// A room is removed when the client is told that it has left. The result of a store read that an earlier visit has
/// requested is dropped.
struct JoinedRooms {
  struct JoinedRoom {
    /// The room; `nil` while the client is setting it up.
    var room: RoomName?
    var nick: String
    var affiliation: Affiliation
    /// The room, and the position up to which its entries were sent as history.
    var follows: FollowedRoom
    var log: LogCursor
    /// The number of the visit: two visits may begin at the same position.
    let visit: Int
  }

  private(set) var joinedRooms: [BareJID: JoinedRoom] = [:]
  private var visits = 0

  var isEmpty: Bool { joinedRooms.isEmpty }
  subscript(address: BareJID) -> JoinedRoom? { joinedRooms[address] }

  /// Adds a room.
  ///
  /// - Parameters:
  ///   - room: the room; `nil` while the client is setting it up, without history.
  ///   - place: the session's cursor. It may have moved on by a page, which held nothing of this room.
  /// - Returns: the number of the visit.
  mutating func entered(
    _ address: BareJID, _ room: RoomName?, nick: String, affiliation: Affiliation, follows: FollowedRoom,
    place: Position
  ) -> Int {
    visits += 1
    joinedRooms[address] = JoinedRoom(
      room: room, nick: nick, affiliation: affiliation, follows: follows,
      log: Self.log(follows.since, room == nil ? .following : .reading, place), visit: visits)
    return visits
  }

  /// Notes that a room that was being set up exists.
  mutating func founded(_ room: RoomName, at position: Position, place: Position) {
    guard let joinedRoom = joinedRooms[room.address] else { return }
    joinedRooms[room.address]?.room = room
    joinedRooms[room.address]?.follows = joinedRoom.follows.founded(room, at: position)
    joinedRooms[room.address]?.log = Self.log(position, .following, place)
  }

  private static func log(_ since: Position, _ state: LogCursor.State, _ place: Position) -> LogCursor {
    var log = LogCursor(at: since, state)
    if place > since { log.miss() }
    return log
  }

  mutating func left(_ address: BareJID) { joinedRooms[address] = nil }
  mutating func leaveAll() { joinedRooms = [:] }

  /// Notes the presence of the client's own occupant.
  mutating func told(_ presence: OccupantPresence) {
    if presence.isAvailable {
      joinedRooms[presence.room.address]?.nick = presence.nick
      // A room that was being set up now exists.
      if !presence.room.isBeingSetUp, let joinedRoom = joinedRooms[presence.room.address] {
        joinedRooms[presence.room.address]?.room = presence.room
        joinedRooms[presence.room.address]?.follows = joinedRoom.follows.founded(presence.room)
      }
      joinedRooms[presence.room.address]?.affiliation = presence.affiliation
    } else if presence.newNick == nil {
      joinedRooms[presence.room.address] = nil
    }
  }

  /// Returns whether the client may know how the member list has changed.
  func reads(_ step: MemberListStep, in room: RoomName) -> Bool {
    joinedRooms[room.address].map { $0.affiliation >= step.readers } ?? false
  }

  /// The same for a presence. A change that lets the client itself see more of the list, or less, comes without a
  /// version: the client's copy is no longer the list, and it requests it anew.
  func reads(_ step: MemberListStep, _ presence: OccupantPresence, isOwn: Bool) -> Bool {
    guard isOwn else { return reads(step, in: presence.room) }
    guard presence.isAvailable, let joinedRoom = joinedRooms[presence.room.address] else { return false }
    return presence.affiliation >= step.readers
      && presence.affiliation.seesOutcasts == joinedRoom.affiliation.seesOutcasts
  }

  /// Notes that the session's cursor has come to an entry of the room. Returns whether it may be sent now.
  mutating func arrived(_ entry: Entry, _ form: Form, in room: RoomName) -> Bool {
    joinedRooms[room.address]?.log.arrived(entry, form) ?? false
  }

  /// Notes that history, or a page of later entries, has been sent in this visit.
  ///
  /// - Parameter end: the position up to which everything of the room has been sent, or stands in the history.
  /// - Returns: the entries that came meanwhile and are to be sent now. If more is missed the room is among those
  ///   `behind`.
  mutating func told(_ address: BareJID, _ visit: Int, through end: Position, isLast: Bool) -> [LogCursor.Held] {
    guard isIn(address, visit) else { return [] }
    return joinedRooms[address]?.log.told(through: end, isLast: isLast) ?? []
  }

  /// Returns whether the session is still in the room by this visit.
  func isIn(_ address: BareJID, _ visit: Int) -> Bool { joinedRooms[address]?.visit == visit }

  /// Returns the page to read behind what the client has been sent of the room; `nil` if none is wanted.
  mutating func read(_ address: BareJID) -> (room: FollowedRoom, visit: Int, after: Position)? {
    guard let joinedRoom = joinedRooms[address], joinedRoom.room != nil, joinedRooms[address]?.log.read() == true else {
      return nil
    }
    return (joinedRoom.follows, joinedRoom.visit, joinedRoom.log.position)
  }

  /// Notes that the session has sent a page that held nothing of other rooms than these: for a room entered meanwhile
  /// it has skipped the entries up to the page's end.
  mutating func passed(but asked: [FollowedRoom]) {
    for (address, joinedRoom) in joinedRooms {
      guard let room = joinedRoom.room, !asked.contains(where: { $0.room == room.dialog }) else { continue }
      joinedRooms[address]?.log.miss()
    }
  }

  /// Gives up the pages that are on their way for any room.
  mutating func interrupt() {
    for address in joinedRooms.keys { joinedRooms[address]?.log.interrupt() }
  }

  /// The rooms of which entries are missed.
  var behind: [BareJID] { joinedRooms.filter { $0.value.log.state == .behind }.map(\.key) }

  /// The rooms to include when the session reads on from the log.
  var followed: [FollowedRoom] { joinedRooms.values.compactMap { $0.room == nil ? nil : $0.follows } }
}
