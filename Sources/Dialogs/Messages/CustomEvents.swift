import Addresses

/// The rules about senders and receivers of custom events.
extension Judge {
  /// Checks a custom event between two users as if it were a message: one of them may block the other. For other
  /// signals the hub does so.
  mutating func checkCustom(
    _ signal: Signal, to target: SignalTarget, from author: Party
  ) throws {
    guard case .stanza(let stanza) = signal, stanza.custom != nil, case .user(let address, _) = target else { return }
    let peer = try reachable(address, for: author)
    try checkBlocks(author, resource: stanza.fromResource, peer)
  }
}

extension Problem {
  static let dialogTooLarge = Problem(
    .tooLarge, "dialog-too-large",
    "Events of your own are passed on in dialogs of at most \(Limits.overheardMembersMax) members.",
    field: "dialogId")
}
