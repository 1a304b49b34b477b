import Addresses

/// Who is told what somebody has published (XEP-0163 4).
extension Hub {
  /// The owner's available sessions, and those of contacts who may read the
  /// node, where the client says that it is interested.
  ///
  /// - Parameter card: the owner's, where they are not online: publishing is not
  ///   tied to being there.
  func route(_ event: NodeEvent, card: Card?, into batch: inout LaneBatch) {
    add(event, to: attendances(of: event.owner.id), into: &batch)
    if event.configuration.access == .whitelist { return }
    guard let card = self.card(of: event.owner.id) ?? card else { return }
    let owner = JID(event.owner.address)
    for contact in card.contacts.values where contact.subscription.from {
      guard let peer = contact.peer, let other = online(peer), event.configuration.denial(to: contact) == nil,
        !card.blocks(JID(other.card.user.address)), !other.card.blocks(owner)
      else { continue }
      add(event, to: other.attendances, into: &batch)
    }
  }

  private func add(_ event: NodeEvent, to attendances: [Attendance], into batch: inout LaneBatch) {
    for attendance in attendances
    where attendance.door == .xmpp && attendance.isAvailable && attendance.interests.contains(event.node) {
      batch.add(.signal(.node(event), .direct), to: attendance.session)
    }
  }

  /// Whether any of the user's own sessions wants to be told of a node.
  func isAnyInterested(in node: String, of user: UserID) -> Bool {
    attendances(of: user).contains { $0.isAvailable && $0.interests.contains(node) }
  }
}
