import Addresses
import Basics
import Dialogs
import XMPP

/// The residents of a link: one session for each user elsewhere, by their full address, while it is an occupant of rooms
/// here; and another for each client that is in a call with an app here (`RemoteCalls`). Theory:
///
/// Rooms know sessions, and a resident is one: its handle is its seat, its place in the log is its own, and its stanzas
/// leave by the link. It is in no hub, so nothing but rooms reaches it. It is made with the stored identity of its user
/// (`RoomIntent.introduce`), since seats, affiliations and occupant ids are those of that identity.
///
/// What is said in a room is read from the log when the link takes nothing for a while; presence is not in the log, and
/// is the link's to keep or drop. A resident ends when it has left its last room, or with `end`.
final class Residents {
  private unowned let work: LinkWork
  private var outlets: [FullJID: RemoteOutlet] = [:]
  /// The numbers of residents in each room and of each user, as everybody may ask to enter again and again.
  private var counts: [BareJID: Int] = [:]
  private var countsOfUsers: [BareJID: Int] = [:]
  /// The sessions of clients in calls with apps here.
  private var callers: [FullJID: RemoteOutlet] = [:]
  /// The sessions of those who are in no room, until what they have asked is answered.
  private var visitors: [ObjectIdentifier: RemoteOutlet] = [:]

  /// The domain whose residents count in `memory`; `nil` for a component, which is the operator's own.
  private let place: (domain: String, zone: String)?
  private let memory: WaitingBytes
  private var heldBytes = 0
  /// The owner that these bytes count with, which stays the same while there are any.
  private var owner = ""

  init(_ work: LinkWork, of place: (domain: String, zone: String)?, _ memory: WaitingBytes) {
    self.work = work
    self.place = place
    self.memory = memory
  }

  deinit { if heldBytes > 0 { memory.release(heldBytes, of: owner) } }

  subscript(address: FullJID) -> XMPPSession? { outlets[address]?.session }
  var count: Int { outlets.count }
  /// Whether there is none, so that the link may become idle.
  var isEmpty: Bool { outlets.isEmpty && callers.isEmpty && visitors.isEmpty }
  private var all: [RemoteOutlet] { Array(outlets.values) + Array(callers.values) + Array(visitors.values) }

  /// Returns the reason why nobody else may enter a room by this link; `nil` if there is none.
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
    // A client that is in the room may say so again.
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

  /// Returns whether there is memory for so many bytes. What has been admitted counts when it is there, so as much more may come as
  /// posts of the zone are under way.
  private func fits(_ bytes: Int) -> Bool {
    if heldBytes == 0 { chooseOwner() }
    return place == nil || memory.takes(bytes, of: owner)
  }

  /// Counts bytes of the sessions, or releases them.
  private func hold(_ change: Int) {
    guard place != nil else { return }
    if heldBytes == 0 { chooseOwner() }
    // What is left after `end` has been released by it.
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

  /// Makes somebody a resident, who is to enter a room next.
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

  /// Makes a session for a client that is in a call, unless it has one.
  func callBegins(_ party: Party, at address: FullJID, by link: any RemoteLink) -> XMPPSession {
    if let known = caller(at: address) { return known }
    let session = XMPPSession(door: link.door, loopContext: link.loopContext, party: party, jid: address)
    callers[address] = RemoteOutlet(session, work)
    hold(Self.bytes(address))
    return session
  }

  /// Returns the session for a stanza to a room by somebody who is in none.
  func visitor(_ party: Party, at address: FullJID, by link: any RemoteLink) -> XMPPSession {
    let session = XMPPSession(door: link.door, loopContext: link.loopContext, party: party, jid: address)
    visitors[ObjectIdentifier(session)] = RemoteOutlet(session, work)
    return session
  }

  /// Lets a session go that has been told everything and is in no room any more.
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
  /// their calls have failed.
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
