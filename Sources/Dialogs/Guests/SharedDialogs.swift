extension Parley {
  /// Returns whether a user finds all users: everybody but guests, who find those with whom they share a dialog, unless
  /// they may write to all.
  public func findsEverybody(_ user: UserID) -> Bool { registries.guests.may(.messages, user) }
}

extension StoreReader {
  /// Returns whether a viewer shares a dialog with a user: a private one, or a group or public one whose members they may
  /// know.
  public func sharesDialog(_ viewer: Party, with user: UserID) throws -> Bool {
    if viewer.id == user { return true }
    if try dialog(between: viewer.id, and: user) != nil { return true }
    return try memberships(of: viewer.id).contains { membership in
      guard let room = try access(to: membership.room.dialog, for: viewer).readable, room.showsPeople else {
        return false
      }
      return try member(user, of: room.members)?.affiliation.isMember == true
    }
  }
}
