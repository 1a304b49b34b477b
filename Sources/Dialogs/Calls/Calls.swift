extension Parley {
  /// Ends the calls of a user who is being deleted.
  func endCalls(of user: User) async throws(Problem) {
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    for call in try await openCalls(of: party) {
      try await post(.call(.move(call.id, .end(nil), resource: nil)), by: party)
    }
  }

  /// Returns a call of the user's; `nil` if there is none of this id, or it is not theirs.
  public func call(_ id: PublicID, of user: Party) async throws(Problem) -> Call? {
    guard let position = position(of: id, in: user.realm) else { return nil }
    return try await read { try $0.call(position).flatMap { $0.has(user.id) ? $0 : nil } }
  }

  /// Returns the user's calls that have not ended, the newest first.
  public func openCalls(of user: Party) async throws(Problem) -> [Call] {
    try await read { try $0.openCalls(of: user.id, limit: Limits.callsOpenMax) }
  }
}
