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

  /// The number of senders with a waiting signal.
  var count: Int { places.count }
  /// The number of places in memory, including those of superseded signals.
  var slots: Int { held.count }

  /// Holds a signal back. Returns `false` if it must not wait, or if too many wait.
  mutating func hold(_ signal: Signal, _ form: Form) -> Bool {
    guard let key = Self.key(of: signal, form) else { return false }
    if let place = places[key] { held[place] = nil } else if count >= DoorLimits.heldSendersMax { return false }
    // The places of superseded signals are freed now and then.
    if held.count > 2 * DoorLimits.heldSendersMax { compact() }
    places[key] = held.count
    held.append((signal, form))
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
