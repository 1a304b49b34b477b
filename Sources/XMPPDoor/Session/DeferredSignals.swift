import Dialogs

/// The signals that an inactive client is not sent yet (XEP-0352 1.0.0). Theory:
///
/// A phone pays for each time its radio wakes. While its client is *inactive*, presence and chat states wait here, the
/// newest only of each sender. Any other stanza wakes the radio anyway, so the waiting signals are sent before it, in
/// the order in which the newest of each came. Nothing is therefore sent out of order, and only superseded signals are
/// left out.
struct DeferredSignals {
  private enum Key: Hashable {
    case presence(UserID, String)
    case occupant(DialogID, String)
    case chatState(UserID, String?, DialogID?)
  }
  private var held: [(signal: Signal, form: Form)?] = []
  private var places: [Key: Int] = [:]
  /// The bytes of the waiting signals.
  private var byteCount = 0

  /// The number of senders with a waiting signal.
  var count: Int { places.count }
  /// The number of places in memory, including those of superseded signals.
  var slots: Int { held.count }

  /// Holds a signal back. Returns `false` if it must not wait, or if too many or too large ones wait; then nothing is changed.
  mutating func hold(_ signal: Signal, _ form: Form) -> Bool {
    guard let key = Self.key(of: signal, form) else { return false }
    let place = places[key]
    var bytes = byteCount + Self.byteCount(of: signal)
    if let place, let superseded = held[place] { bytes -= Self.byteCount(of: superseded.signal) }
    guard place != nil || count < DoorLimits.heldSendersMax, bytes <= DoorLimits.heldBytesMax else { return false }
    if let place { held[place] = nil }
    // The places of superseded signals are freed now and then.
    if held.count > 2 * DoorLimits.heldSendersMax { compact() }
    places[key] = held.count
    held.append((signal, form))
    byteCount = bytes
    return true
  }

  /// Removes and returns all waiting signals, oldest first.
  mutating func release() -> [(signal: Signal, form: Form)] {
    defer { self = DeferredSignals() }
    return held.compactMap { $0 }
  }

  private mutating func compact() {
    let waiting = release()
    for (signal, form) in waiting { _ = hold(signal, form) }
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

  private static func key(of signal: Signal, _ form: Form) -> Key? {
    switch signal {
    case .presence(let presence): .presence(presence.from.id, presence.resource)
    // The client's own presence in a room, and the reason why an occupant left, do not wait.
    case .occupant(let presence):
      form == .roomOwn || !presence.codes.isEmpty || presence.newNick != nil || presence.destroyed != nil
        || presence.listStep != nil ? nil : .occupant(presence.room.dialog, presence.nick)
    case .stanza(let stanza):
      stanza.typing == nil ? nil : .chatState(stanza.from.id, stanza.fromResource, stanza.room?.dialog)
    case .profile, .contactNamed, .shown, .probes, .notice, .node, .announcement, .call, .undelivered, .closed: nil
    }
  }
}
