import Addresses
import Basics
import Dialogs
import XMPP

/// The residents of a link: one session for each remote client, by its full address, while it is an occupant of local
/// rooms; and another for each client that is in a call with a local app (`RemoteCalls`). Theory:
///
/// Rooms know sessions, and a resident is one: it has a seat by its handle and its own position in the log, and its
/// stanzas are sent by the link. It is not registered in the hub, so only rooms reach it. It has the stored identity of
/// its user (`RoomIntent.introduce`), to which seats, affiliations and occupant ids belong.
///
/// While the link is not writable, entries of a room wait in the log; presence is not in the log, and the link queues or
/// drops it. A resident ends when it has left its last room, or with `end`.
final class Residents {
  private unowned let work: LinkWork
  private var outlets: [FullJID: RemoteOutlet] = [:]
  /// The numbers of residents in each room and of each user, which are bounded.
  private var counts: [BareJID: Int] = [:]
  private var countsOfUsers: [BareJID: Int] = [:]
  /// The sessions of clients in calls with local apps.
  private var callers: [FullJID: RemoteOutlet] = [:]
  /// The sessions of users in no room, until their requests are answered.
  private var visitors: [ObjectIdentifier: RemoteOutlet] = [:]

  /// The domain whose residents are charged to `memory`; `nil` for a component, which the operator has set up.
  private let place: (domain: String, zone: String)?
  private let memory: WaitingBytes
  private var heldBytes = 0
  /// The account that these bytes are charged to; it stays the same while there are any.
  private var owner = ""

  init(_ work: LinkWork, of place: (domain: String, zone: String)?, _ memory: WaitingBytes) {
    self.work = work
    self.place = place
    self.memory = memory
  }

  deinit { if heldBytes > 0 { memory.release(heldBytes, of: owner) } }

  subscript(address: FullJID) -> XMPPSession? { outlets[address]?.session }
  var count: Int { outlets.count }
  /// Whether there are no sessions, so that the link may become idle.
  var isEmpty: Bool { outlets.isEmpty && callers.isEmpty && visitors.isEmpty }
  private var all: [RemoteOutlet] { Array(outlets.values) + Array(callers.values) + Array(visitors.values) }

  /// Returns the reason why the address may not enter a room by this link; `nil` if it may.
  func refusal(of room: BareJID, to address: FullJID) -> StanzaError? {
    let isOfServer = work.link is FederationLink
    guard
      ResidentLimits().admit(
        residents: outlets.count, inRoom: counts[room, default: 0],
        ofUser: isOfServer ? countsOfUsers[address.bare, default: 0] : nil, isResident: outlets[address] != nil)
    else {
      let text = "too many users of your server, or too many of your clients, are in rooms here"
      return StanzaError(.resourceConstraint, text, type: .wait)
    }
    let session = outlets[address]?.session
    // A client that is in the room already may enter again.
    if session?.rooms[room] != nil { return nil }
    guard fits((outlets[address] == nil ? Self.bytes(address) : 0) + DoorLimits.residentSeatBytes) else {
      let text = "too many users of your server and those of its zone, or of all servers, are in rooms here"
      return StanzaError(.resourceConstraint, text, type: .wait)
    }
    return nil
  }

  /// Counts a resident who has entered a room, or left it.
  func count(_ change: Int, in room: BareJID) {
    Self.add(change, to: room, &counts)
    hold(change * DoorLimits.residentSeatBytes)
  }

  /// Returns the bytes of a session, with two copies of its address, which has up to 3 KiB.
  private static func bytes(_ address: FullJID) -> Int {
    DoorLimits.residentBytes + 2 * address.description.utf8.count
  }

  /// Returns whether there is memory for so many bytes. A session is charged only when it exists, so the bound may be exceeded by as
  /// many as there are posts of the zone under way.
  private func fits(_ bytes: Int) -> Bool {
    if heldBytes == 0 { chooseOwner() }
    return place == nil || memory.takes(bytes, of: owner)
  }

  /// Charges bytes of the sessions, or releases them.
  private func hold(_ change: Int) {
    guard place != nil else { return }
    if heldBytes == 0 { chooseOwner() }
    // `end` may have released the bytes already.
    let change = max(change, -heldBytes)
    heldBytes += change
    if change > 0 { memory.add(change, of: owner) } else { memory.release(-change, of: owner) }
  }

  private func chooseOwner() {
    guard let place, let parley = work.link?.door.parley else { return }
    owner = parley.isKnown(domain: place.domain) ? "known domains of \(place.zone)" : place.zone
  }

  private static func add(_ change: Int, to address: BareJID, _ counts: inout [BareJID: Int]) {
    let count = counts[address, default: 0] + change
    counts[address] = count > 0 ? count : nil
  }

  /// Creates the resident for a user who enters a room next.
  func settle(_ party: Party, at address: FullJID, by link: any RemoteLink) -> XMPPSession {
    if let known = self[address] { return known }
    let session = XMPPSession(door: link.door, loopContext: link.loopContext, party: party, jid: address)
    outlets[address] = RemoteOutlet(session, work)
    Self.add(1, to: address.bare, &countsOfUsers)
    hold(Self.bytes(address))
    return session
  }

  /// Returns the session of a client in a call; `nil` if it has none.
  func caller(at address: FullJID) -> XMPPSession? { callers[address]?.session }
  /// Whether there is room for another client in a call.
  var takesCallers: Bool { callers.count < DoorLimits.remoteCallersMax && fits(DoorLimits.residentBytes) }

  /// Creates a session for a client that is in a call, unless it has one.
  func callBegins(_ party: Party, at address: FullJID, by link: any RemoteLink) -> XMPPSession {
    if let known = caller(at: address) { return known }
    let session = XMPPSession(door: link.door, loopContext: link.loopContext, party: party, jid: address)
    callers[address] = RemoteOutlet(session, work)
    hold(Self.bytes(address))
    return session
  }

  /// Returns the session for a stanza to a room by a user who is in no room.
  func visitor(_ party: Party, at address: FullJID, by link: any RemoteLink) -> XMPPSession {
    let session = XMPPSession(door: link.door, loopContext: link.loopContext, party: party, jid: address)
    visitors[ObjectIdentifier(session)] = RemoteOutlet(session, work)
    return session
  }

  /// Removes a session that has been sent everything and is no longer in a room.
  func flushed(_ session: XMPPSession) {
    guard session.isEnded || session.isIdle else { return }
    if !session.isEnded { session.end() }
    visitors.removeValue(forKey: ObjectIdentifier(session))?.close()
    if self[session.jid] === session, let outlet = outlets.removeValue(forKey: session.jid) {
      Self.add(-1, to: session.jid.bare, &countsOfUsers)
      outlet.close()
      hold(-Self.bytes(session.jid))
    }
    if caller(at: session.jid) === session, let outlet = callers.removeValue(forKey: session.jid) {
      outlet.close()
      hold(-Self.bytes(session.jid))
    }
  }

  func resumeReading() {
    for outlet in all { outlet.session?.resumeReading() }
  }

  /// Ends all residents, since their server is gone: the other occupants are notified (XEP-0045 11.1, status 333), and
  /// their calls fail.
  func end() {
    let all = all
    outlets = [:]
    countsOfUsers = [:]
    callers = [:]
    visitors = [:]
    for outlet in all {
      outlet.session?.end(isLost: true)
      outlet.close()
    }
    hold(-heldBytes)
  }
}
