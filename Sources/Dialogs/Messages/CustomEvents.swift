import Addresses

/// Events of an app's own: who may send them, and to whom.
extension Judge {
  /// As a message between the two would be: one of them may block the other. Of other signals the hub sees to that.
  mutating func checkCustom(
    _ signal: Signal, to target: SignalTarget, from author: Party, _ writer: any StoreWriter
  ) throws {
    guard case .stanza(let stanza) = signal, stanza.custom != nil, case .user(let address, _) = target else { return }
    let peer = try reachable(address, for: author, writer)
    try checkBlocks(author, resource: stanza.fromResource, peer, writer)
  }
}

extension Problem {
  static let dialogTooLarge = Problem(
    .tooLarge, "dialog-too-large",
    "Events of your own are passed on in dialogs of at most \(Limits.overheardMembersMax) members.",
    field: "dialogId")
}
