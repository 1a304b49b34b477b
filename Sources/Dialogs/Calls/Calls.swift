import Basics

extension Parley {
  /// The credentials that `user` needs for a service; nil where it wants none, or they get none.
  public func credentials(for user: Party, at service: ExternalService) -> ExternalService.Credentials? {
    registries.guests.may(.calls, user.id) ? options.services.credentials(for: user, at: service, now: clock.now) : nil
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
