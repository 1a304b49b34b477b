import Addresses

/// Checks the intents of guests. Those that a right allows are checked where they are processed (`require`).
extension Judge {
  mutating func checkGuest(_ post: Post) throws {
    guard guests.contains(post.author.id) else { return }
    switch post.intent {
    case .goOnline, .handOver, .confirm, .leave, .unblock, .blob, .signal(_, .subscribers), .endTyping, .work,
      .erase, .refused, .report:
      return
    case .outbox(.owe): break
    // The reports of links.
    case .outbox: return
    // Guests cannot report messages.
    case .perUser(_, .flag): break
    case .perUser: return
    case .block(_, let reports): if reports.isEmpty { return }
    case .room(.invite): return try require(.messages, of: post.author)
    case .room: return
    case .call(.start(let draft)): return try checkGuest(post.author, writesTo: draft.to)
    case .call(.said(let stanza)): return try checkGuest(post.author, writesTo: stanza.message.to)
    case .call: return
    case .message(let draft): return try checkGuest(post.author, writesTo: draft.to)
    // A stanza with a marker may contain anything.
    case .marker(let draft): return try checkGuest(post.author, writesTo: draft.with)
    case .openDialog(let address), .signal(_, .user(let address, _)):
      return try checkGuest(post.author, writesTo: address)
    // Posted by the backend; guests have no devices.
    case .push(.notify): return
    // Intents with a lasting effect, or that concern others who did not ask for it.
    case .contact, .contactGroup, .removeContact, .subscription, .befriend, .link, .redeem, .profile, .remoteProfile,
      .node, .visit,
      .archivePreferences, .setPrivateXML, .push, .settings, .draft, .scheduledMessage, .imported:
      break
    }
    throw Problem.guestLimited
  }

  /// Checks that a guest begins no dialog: an existing one was begun by the other user.
  private mutating func checkGuest(
    _ author: Party, writesTo address: BareJID
  ) throws {
    if address == author.address || guests.may(.messages, author.id) { return }
    guard let peer = try user(address, seenFrom: author.realm)?.party.id,
      try writer.dialog(between: min(peer, author.id), and: max(peer, author.id)) != nil
    else { throw Problem.guestLimited }
  }

  func require(_ right: GuestPolicy.Right, of author: Party) throws {
    if !guests.may(right, author.id) { throw Problem.guestLimited }
  }
}
