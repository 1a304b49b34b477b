import Basics
public import Dialogs

/// The users who are in a telephone's address book (`ContactMatch`).
extension Accounts {
  /// Returns the salt for clients' hashes.
  public func matchSalt(for user: Party) async throws(Problem) -> String {
    if parley.isGuest(user.id) { throw Problem.guestLimited }
    if let salt = try await parley.read({ try $0.matchSalt(of: user.realm) }) { return salt }
    return try await parley.work(keepingCaches: true) { try ContactMatch.salt(of: user.realm, $0) }
  }

  /// Counts a search by one whole mail address or number, which finds as much as matching one hash.
  ///
  /// - Throws: `.tooFast` above `AccountLimits.matchRate`; `.forbidden` for guests.
  public func paceMatch(for user: Party) throws(Problem) {
    if parley.isGuest(user.id) { throw Problem.guestLimited }
    try pace(.contactMatch(user.id))
  }

  /// Returns the matchable users of these hashes; not the asking user, nor those who block them or are blocked.
  ///
  /// - Throws: `.tooLarge` above `AccountLimits.matchKeysMax`; `.tooFast` above `AccountLimits.matchRate`; `.forbidden`
  ///   for guests.
  public func matches(_ keys: [[UInt8]], for user: Party) async throws(Problem) -> [(key: [UInt8], view: UserView)] {
    if parley.isGuest(user.id) { throw Problem.guestLimited }
    guard keys.count <= AccountLimits.matchKeysMax else {
      throw Problem(
        .tooLarge, "too-many-hashes", "One request takes at most \(AccountLimits.matchKeysMax) hashes.", field: "hashes"
      )
    }
    // Counted independently of the result: otherwise looking for unknown users would be free.
    try pace(.contactMatch(user.id), count: keys.count)
    return try await parley.read { reader in
      var found: [(key: [UInt8], view: UserView)] = []
      for key in keys {
        for id in try reader.users(matching: key, in: user.realm) where id != user.id {
          guard let match = try reader.user(id), match.state == .active, try !reader.isBlocked(match, user) else {
            continue
          }
          found.append((key, try reader.view(of: match, for: user)))
        }
      }
      return found
    }
  }
}
