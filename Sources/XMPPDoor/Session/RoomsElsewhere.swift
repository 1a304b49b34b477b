import Addresses
import Dialogs

/// The rooms of other servers that a client is in (XEP-0045). Theory:
///
/// Such a room is another server's: this one relays its stanzas and knows nothing of it but the nick with which the
/// client has entered. A client that waits for its resumption (XEP-0198 5) has no log of it to read on from, so what is
/// said there is kept as bytes, and a busy room would end the session at the bound. What a room elsewhere says can be
/// read in that room's archive instead. So once half of the bound is used, the client is told that it is out of the room
/// that speaks, by an unavailable presence with status 333 (11.1), and gets nothing of it any more. When it resumes it
/// finds this behind what it missed, enters again, and reads the archive. The same holds for a connected client that does not
/// acknowledge what it is sent.
struct RoomsElsewhere: Sendable {
  private(set) var nicks: [BareJID: String] = [:]
  /// The bytes of the rooms and nicks in memory, about.
  private(set) var byteCount = 0
  /// The rooms that the client has missed something of, until it resumes or enters them again.
  private var missed: Set<BareJID> = []

  /// The client's occupants, as `room@service/nick`.
  var occupants: [String] { nicks.map { Outbound.address($0.key, $0.value) } }

  /// Notes a presence that the client sends to an occupant's address elsewhere. At `DoorLimits.roomsElsewhereBytesMax` no more rooms
  /// are known.
  mutating func sent(isAvailable: Bool, to room: BareJID, nick: String) {
    missed.remove(room)
    if let former = nicks.removeValue(forKey: room) { byteCount -= Self.bytes(room, former) }
    let added = Self.bytes(room, nick)
    guard isAvailable, byteCount + added <= DoorLimits.roomsElsewhereBytesMax else { return }
    nicks[room] = nick
    byteCount += added
  }

  private static func bytes(_ room: BareJID, _ nick: String) -> Int {
    room.description.heldBytes + nick.heldBytes + 2 * MemoryLayout<(BareJID, String)>.stride
  }

  /// The same rooms after the client has resumed.
  var resumed: RoomsElsewhere {
    var rooms = self
    rooms.missed = []
    return rooms
  }

  enum Verdict: Equatable {
    case kept
    case dropped
    /// It is dropped, and the client is told once that this occupant of it is out of the room.
    case ended(String)
  }

  /// Decides about a stanza for the client.
  ///
  /// - Parameter isTooMuch: whether so much waits for the client that the room is not heard any more.
  mutating func waits(from sender: BareJID, isGroupchat: Bool, isTooMuch: Bool) -> Verdict {
    guard let nick = nicks[sender] else { return .kept }
    if missed.contains(sender) { return .dropped }
    guard isGroupchat, isTooMuch else { return .kept }
    missed.insert(sender)
    return .ended(Outbound.address(sender, nick))
  }
}
