extension Parley {
  /// Returns whether a user finds all users: everybody but guests, who find those with whom they share a dialog, unless
  /// they may write to all.
  public func findsEverybody(_ user: UserID) -> Bool { registries.guests.may(.messages, user) }
}

extension StoreReader {
  /// Returns whether a viewer shares a dialog with a user: a private one, or a group or public one whose members they may
  /// know.
  public func sharesDialog(_ viewer: Party, with user: UserID) throws -> Bool {
    try !users([user], sharingDialogWith: viewer).isEmpty
  }

  /// Returns those of these users with whom a viewer shares a dialog. Only rooms that list both are looked at, each once.
  public func users(_ users: [UserID], sharingDialogWith viewer: Party) throws -> Set<UserID> {
    var rooms: [DialogID: ReadableRoom?] = [:]
    var found: Set<UserID> = []
    for user in users {
      let shares =
        try user == viewer.id || dialog(between: viewer.id, and: user) != nil
        || memberships(of: viewer.id, listing: user).contains { id in
          let room: ReadableRoom? = try rooms[id] ?? access(to: id, for: viewer).readable
          rooms.updateValue(room, forKey: id)
          guard let room, room.showsPeople else { return false }
          return try member(user, of: room.members)?.affiliation.isMember == true
        }
      if shares { found.insert(user) }
    }
    return found
  }
}
