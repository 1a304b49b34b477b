import Addresses

/// Decides whose archive an entry is in, by `ArchivePreferences`.
extension Judge {
  mutating func setArchivePreferences(
    _ post: Post, _ preferences: ArchivePreferences
  ) throws {
    guard preferences.always.count + preferences.never.count <= Limits.archivePreferencesMax else {
      throw Problem(
        .tooLarge, "too-many-preferences", "At most \(Limits.archivePreferencesMax) addresses have preferences.")
    }
    let isDefault = preferences == ArchivePreferences()
    try writer.setValue(
      of: post.author.id, node: ValueKey.archive, item: ValueKey.bytes, isDefault ? nil : preferences.bytes)
    remember(isDefault ? nil : preferences, of: post.author.id)
    settle(post)
  }

  /// Returns whether an entry goes into the archive of its author, and of the other user.
  mutating func archived(
    _ envelope: Envelope, by author: Party, at place: Entry.Place
  ) throws -> (author: Bool, peer: Bool) {
    switch place {
    case .room: return (true, true)
    case .peer(let peer):
      return (
        try archives(author, peer.address, envelope.toResource),
        try archives(peer, author.address, envelope.fromResource)
      )
    // The other occupant is known by their nick (XEP-0045 7.5).
    case .whisper(let peer, let room, let nick):
      return (
        try archives(author, room.address, envelope.toResource),
        try archives(peer, room.address, nick)
      )
    }
  }

  private mutating func archives(
    _ user: Party, _ address: BareJID, _ resource: String?
  ) throws -> Bool {
    guard let preferences = try archivePreferences(of: user.id) else { return true }
    return try preferences.keeps(address.jid(normal: resource)) {
      // Users are not their own contacts, but count as such here.
      try address == user.address || writer.contact(of: user.id, address)?.subscription.isInRoster == true
    }
  }
}
