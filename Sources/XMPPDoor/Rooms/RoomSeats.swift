import Addresses
import Dialogs

/// The rooms a session is in, as its client has been told. Theory:
///
/// The core says when a session has entered, at which position of the log. From
/// there on the room's entries come live; but the client is first shown who is
/// there, then the history up to that position, then the topic, and only then
/// what came since (XEP-0045 7.2). So each seat has a `LogCursor` of its own, which
/// begins at that position and holds what comes live while the history is read.
/// It stands behind the session's own cursor: an entry comes to it when that one has
/// come to the entry, live or by a page, so it never tells more than the session has
/// come to. Where it has dropped what it held it reads the log up to the session's place.
///
/// A seat is forgotten when the client is told that it is gone. What an earlier visit has asked of
/// the store is told in that visit or not at all.
struct RoomSeats {
  struct Seat {
    /// nil: the client is setting the room up.
    var room: RoomName?
    var nick: String
    var affiliation: Affiliation
    /// What stands in the log up to here was history.
    var since: Position
    var log: LogCursor
    /// Numbers the visits of a session: two may begin at the same position.
    let visit: Int
  }

  private(set) var seats: [BareJID: Seat] = [:]
  private var visits = 0

  var isEmpty: Bool { seats.isEmpty }
  subscript(address: BareJID) -> Seat? { seats[address] }

  /// - Parameters:
  ///   - room: nil where the client is setting it up, and has no history to read.
  ///   - place: where the session's cursor stands. It may have come further by a page, which held nothing of this room.
  /// - Returns: the number of the visit.
  mutating func entered(
    _ address: BareJID, _ room: RoomName?, nick: String, affiliation: Affiliation, since: Position, place: Position
  ) -> Int {
    visits += 1
    seats[address] = Seat(
      room: room, nick: nick, affiliation: affiliation, since: since,
      log: Self.log(since, room == nil ? .following : .reading, place), visit: visits)
    return visits
  }

  /// A room that was being set up is there.
  mutating func founded(_ room: RoomName, at position: Position, place: Position) {
    seats[room.address]?.room = room
    seats[room.address]?.since = position
    seats[room.address]?.log = Self.log(position, .following, place)
  }

  private static func log(_ since: Position, _ state: LogCursor.State, _ place: Position) -> LogCursor {
    var log = LogCursor(at: since, state)
    if place > since { log.miss() }
    return log
  }

  mutating func left(_ address: BareJID) { seats[address] = nil }
  mutating func leaveAll() { seats = [:] }

  /// The client has been told of its own occupant.
  mutating func told(_ presence: OccupantPresence) {
    if presence.isAvailable {
      seats[presence.room.address]?.nick = presence.nick
      // A room that was being set up is there.
      if presence.room.dialog != DialogID(0) { seats[presence.room.address]?.room = presence.room }
      seats[presence.room.address]?.affiliation = presence.affiliation
    } else if presence.newNick == nil {
      seats[presence.room.address] = nil
    }
  }

  /// Whether the client may know how the member list has changed.
  func reads(_ step: MemberListStep, in room: RoomName) -> Bool {
    seats[room.address].map { $0.affiliation >= step.readers } ?? false
  }

  /// The same where a presence tells it. Of a change that lets the client itself see more of the list, or less, no version is
  /// told: what it has is not the list any more, and it asks anew.
  func reads(_ step: MemberListStep, _ presence: OccupantPresence, isOwn: Bool) -> Bool {
    guard isOwn else { return reads(step, in: presence.room) }
    guard presence.isAvailable, let seat = seats[presence.room.address] else { return false }
    return presence.affiliation >= step.readers && presence.affiliation.seesOutcasts == seat.affiliation.seesOutcasts
  }

  /// The session's cursor has come to an entry of the room. True: it may be told now.
  mutating func arrived(_ entry: Entry, _ form: Form, in room: RoomName) -> Bool {
    seats[room.address]?.log.arrived(entry, form) ?? false
  }

  /// History, or a page of what came since, has been told in this visit.
  ///
  /// - Parameter end: all of the room up to here has been told, or stands in the history.
  /// - Returns: what came meanwhile and is to be told now. Where more is missed the seat is among those `behind`.
  mutating func told(_ address: BareJID, _ visit: Int, through end: Position, isLast: Bool) -> [LogCursor.Held] {
    guard isIn(address, visit) else { return [] }
    return seats[address]?.log.told(through: end, isLast: isLast) ?? []
  }

  /// Whether the session is still in the room, or there again, by this visit.
  func isIn(_ address: BareJID, _ visit: Int) -> Bool { seats[address]?.visit == visit }

  /// Returns the page to read behind what the client has been told of the room; nil: none is wanted.
  mutating func read(_ address: BareJID) -> (room: DialogID, visit: Int, after: Position)? {
    guard let seat = seats[address], let room = seat.room, seats[address]?.log.read() == true else { return nil }
    return (room.dialog, seat.visit, seat.log.position)
  }

  /// The session has told a page that held nothing of rooms but these: of one that was entered meanwhile it has passed over what
  /// was said up to the page's end.
  mutating func passed(but asked: [(room: DialogID, since: Position)]) {
    for (address, seat) in seats {
      guard let room = seat.room, !asked.contains(where: { $0.room == room.dialog }) else { continue }
      seats[address]?.log.miss()
    }
  }

  /// Gives up the pages that are on their way for any room.
  mutating func interrupt() {
    for address in seats.keys { seats[address]?.log.interrupt() }
  }

  /// The rooms of which something is missed.
  var behind: [BareJID] { seats.filter { $0.value.log.state == .behind }.map(\.key) }

  /// Where to look when the session reads on from the log.
  var followed: [(room: DialogID, since: Position)] {
    seats.values.compactMap { seat in seat.room.map { ($0.dialog, seat.since) } }
  }
}
