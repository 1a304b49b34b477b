import Addresses
import Dialogs

/// The rooms a session is in, as its client has been told. Theory:
///
/// The core says when a session has entered, at which position of the log. From
/// there on the room's entries come live; but the client is first shown who is
/// there, then the history up to that position, then the topic, and only then
/// what came since (XEP-0045 7.2). So each seat has a `Pace` of its own: while the
/// history is read, live entries are only noted, and read from the log behind it.
///
/// A seat is forgotten when the client is told that it is gone.
struct RoomSeats {
  struct Seat {
    /// nil: the client is setting the room up.
    var room: RoomName?
    var nick: String
    var affiliation: Affiliation
    /// What stands in the log up to here was history.
    var since: Position
    var pace: Pace
  }

  private(set) var seats: [BareJID: Seat] = [:]

  var isEmpty: Bool { seats.isEmpty }
  subscript(address: BareJID) -> Seat? { seats[address] }

  mutating func entered(_ entrance: Entrance, isLease: Bool) {
    seats[entrance.room.address] = Seat(
      room: isLease ? nil : entrance.room.name, nick: entrance.own.nick, affiliation: entrance.own.affiliation,
      since: entrance.position,
      pace: isLease ? Pace() : Pace(reading: entrance.position))
  }

  /// A room that was being set up is there.
  mutating func founded(_ room: RoomName, at position: Position) {
    seats[room.address]?.room = room
    seats[room.address]?.since = position
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

  /// An entry was committed. True: it may be told now.
  mutating func arrived(_ position: Position, in room: RoomName) -> Bool {
    guard var seat = seats[room.address], position > seat.since else { return false }
    let isNow = seat.pace.arrived(position, lags: false)
    seats[room.address] = seat
    return isNow
  }

  /// Whether an entry read from the log is this session's to tell: what came
  /// before it entered was history.
  func follows(_ position: Position, in room: RoomName) -> Bool {
    guard let seat = seats[room.address] else { return false }
    return seat.pace.missed == nil && position > seat.since
  }

  /// History, or what came since, has been told up to `position`. Behind which
  /// to read on; nil: the room is followed live.
  mutating func caughtUp(_ address: BareJID, through position: Position, isFull: Bool) -> Position? {
    seats[address]?.pace.told(through: position, isFull: isFull, lags: false)
  }

  /// Where to look when the session reads on from the log.
  var followed: [(room: DialogID, since: Position)] {
    seats.values.compactMap { seat in seat.room.map { ($0.dialog, seat.since) } }
  }
}
