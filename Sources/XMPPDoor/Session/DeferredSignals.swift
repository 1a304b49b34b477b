import Addresses
import Dialogs
import NIOCore
import XMLStream

/// The signals that an inactive client is not sent yet (XEP-0352 1.0.0), or one that has not acknowledged enough. Theory:
///
/// A phone pays for each time its radio wakes. While its client is *inactive*, presence and chat states wait here, the
/// newest only of each sender. Any other stanza wakes the radio anyway, so the waiting signals are sent before it, in
/// the order in which the newest of each came. Nothing is therefore sent out of order, and only superseded signals are
/// left out.
///
/// For a client that has not acknowledged enough of what others send (`XMPPSession.isFull`) they wait in the same way, active or not, until
/// it has. Other stanzas are then sent before them.
struct DeferredSignals {
  private enum Key: Hashable {
    case presence(BareJID, String)
    case occupant(DialogID, String)
    case chatState(BareJID, String?, DialogID?)

    var room: DialogID? {
      switch self {
      case .presence: nil
      case .occupant(let room, _): room
      case .chatState(_, _, let room): room
      }
    }
  }
  private var held: [(signal: Signal, form: Form)?] = []
  private var places: [Key: Int] = [:]
  /// The place before which all are free.
  private var first = 0
  /// The bytes of the waiting signals.
  private(set) var byteCount = 0

  /// The number of senders with a waiting signal.
  var count: Int { places.count }
  /// The number of places in memory, including those of superseded signals.
  var slots: Int { held.count }

  /// Holds a signal back. Returns `false` if it must not wait, or if too many or too large ones wait; then nothing is changed.
  ///
  /// - Parameter all: whether presence in a room waits as well that says why an occupant has left, or that is of two nicks, and a short
  ///   presence whatever else waits.
  mutating func hold(_ signal: Signal, _ form: Form, all: Bool = false) -> Bool {
    guard let key = Self.key(of: signal, form, all: all) else { return false }
    let place = places[key]
    let added = Self.byteCount(of: signal)
    var bytes = byteCount + added
    if let place, let superseded = held[place] { bytes -= Self.byteCount(of: superseded.signal) }
    guard place != nil || count < DoorLimits.heldSendersMax,
      bytes <= DoorLimits.heldBytesMax || all && added <= DoorLimits.heldShortBytes
    else { return false }
    if let place { held[place] = nil }
    // The places of superseded signals are freed now and then.
    if held.count > 2 * DoorLimits.heldSendersMax { compact() }
    places[key] = held.count
    held.append((signal, form))
    byteCount = bytes
    return true
  }

  /// Removes and returns the signal that has waited longest; `nil` if none waits.
  mutating func releaseFirst() -> (signal: Signal, form: Form)? {
    while first < held.count {
      let place = first
      first += 1
      guard let released = held[place] else { continue }
      held[place] = nil
      byteCount -= Self.byteCount(of: released.signal)
      if let key = Self.key(of: released.signal, released.form, all: true) { places[key] = nil }
      if places.isEmpty { self = DeferredSignals() }
      return released
    }
    return nil
  }

  /// Removes the signals of a room that the client has left.
  mutating func forget(_ room: DialogID) {
    for (key, place) in places where key.room == room {
      if let left = held[place] { byteCount -= Self.byteCount(of: left.signal) }
      held[place] = nil
      places[key] = nil
    }
    if places.isEmpty { self = DeferredSignals() }
  }

  private mutating func compact() {
    let waiting = places.sorted { $0.value < $1.value }
    held = waiting.map { held[$0.value] }
    places = Dictionary(uniqueKeysWithValues: waiting.enumerated().map { ($1.key, $0) })
    first = 0
  }

  /// Returns the bytes that others have chosen in a signal that may wait.
  private static func byteCount(of signal: Signal) -> Int {
    switch signal {
    case .presence(let presence): presence.byteCount
    case .occupant(let occupant): occupant.presence.byteCount + (occupant.reason?.utf8.count ?? 0)
    case .stanza(let stanza): stanza.byteCount
    case .profile, .contactNamed, .shown, .probes, .notice, .node, .announcement, .call, .undelivered, .closed: 0
    }
  }

  private static func key(of signal: Signal, _ form: Form, all: Bool) -> Key? {
    switch signal {
    case .presence(let presence): .presence(presence.from.address, presence.resource)
    // The client's own presence in a room never waits.
    case .occupant(let presence):
      form == .roomOwn || !all && presence.saysMore ? nil : .occupant(presence.room.dialog, presence.nick)
    case .stanza(let stanza):
      stanza.typing == nil ? nil : .chatState(stanza.from.address, stanza.fromResource, stanza.room?.dialog)
    case .profile, .contactNamed, .shown, .probes, .notice, .node, .announcement, .call, .undelivered, .closed: nil
    }
  }
}

extension OccupantPresence {
  /// Whether it says more than that an occupant is there or has left: why, by which other nick, or how the member list has changed.
  fileprivate var saysMore: Bool { !codes.isEmpty || newNick != nil || destroyed != nil || listStep != nil }

  /// The same without what people have written, except the nick.
  var shortened: OccupantPresence {
    OccupantPresence(
      room: room, nick: nick, party: party, resource: resource, affiliation: affiliation, role: role,
      presence: presence.shortened, codes: codes, ownCodes: ownCodes, newNick: newNick, actor: actor,
      destroyed: destroyed, occupantID: occupantID, showsAddress: showsAddress, listStep: listStep)
  }
}

extension Presence {
  /// The same without what a client has written. That of an app's session has bounds of its own.
  var shortened: Presence {
    if extras == nil { return self }
    var writer = ElementWriter()
    Outbound.writeShow(of: self, into: &writer)
    return Presence(
      from: from, resource: resource, availability: availability, priority: priority, toResource: toResource,
      extras: Array(writer.buffer.readableBytesView), quietBytes: writer.buffer.readableBytes, time: time)
  }
}
