import Dialogs

/// What a client that nobody looks at is not told yet (XEP-0352 1.0.0). Theory:
///
/// A phone pays for each time its radio wakes. While its client is *inactive*,
/// presence and chat states wait here, of each sender the newest only. Whatever
/// else is told wakes the radio anyway: what waits goes before it, in the order
/// in which the newest of each came. So nothing is told out of order, and nothing
/// but what a newer word has made worthless is left out.
struct DeferredSignals {
  private enum Key: Hashable {
    case presence(UserID, String)
    case occupant(DialogID, String)
    case chatState(UserID, String?, DialogID?)
  }
  private var held: [(signal: Signal, form: Form)?] = []
  private var places: [Key: Int] = [:]

  /// Senders waiting.
  var count: Int { places.count }
  /// Places in memory, those that are empty again included.
  var slots: Int { held.count }

  /// False: this cannot wait, or too much does.
  mutating func hold(_ signal: Signal, _ form: Form) -> Bool {
    guard let key = Self.key(of: signal, form) else { return false }
    if let place = places[key] { held[place] = nil } else if count >= DoorLimits.heldSendersMax { return false }
    // The places of what a newer word has replaced are taken back by and by.
    if held.count > 2 * DoorLimits.heldSendersMax { compact() }
    places[key] = held.count
    held.append((signal, form))
    return true
  }

  /// Everything, oldest first; nothing waits any more.
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
    // What the client must know of its own place, and why somebody went, does not wait.
    case .occupant(let presence):
      form == .roomOwn || !presence.codes.isEmpty || presence.newNick != nil || presence.destroyed != nil
        || presence.listStep != nil ? nil : .occupant(presence.room.dialog, presence.nick)
    case .stanza(let stanza):
      stanza.typing == nil ? nil : .chatState(stanza.from.id, stanza.fromResource, stanza.room?.dialog)
    case .profile, .shown, .notice, .node, .announcement, .call, .closed: nil
    }
  }
}
