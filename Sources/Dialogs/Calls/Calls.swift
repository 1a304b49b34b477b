import Basics

/// The users' calls, and their end when they are due.
public struct Calls: Sendable {
  private let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// The credentials that `user` needs for a service; nil where it wants none, or they get none.
  public func credentials(for user: Party, at service: ExternalService) -> ExternalService.Credentials? {
    parley.registries.guests.may(.calls, user.id)
      ? parley.options.services.credentials(for: user, at: service, now: parley.clock.now) : nil
  }

  /// Returns a call of the user's; `nil` if there is none of this id, or it is not theirs.
  public func find(_ id: PublicID, of user: Party) async throws(Problem) -> Call? {
    guard let position = parley.position(of: id, in: user.realm) else { return nil }
    return try await parley.read { try $0.call(position).flatMap { $0.has(user.id) ? $0 : nil } }
  }

  /// Returns the user's calls that have not ended, the newest first.
  public func open(of user: Party) async throws(Problem) -> [Call] {
    try await parley.read { try $0.openCalls(of: user.id, limit: Limits.callsOpenMax) }
  }

  /// The timer that ends due calls; a call that has moved meanwhile is left alone.
  public var timer: DueTimer { DueTimer(parley.registries.calls) { await endDue() } }

  /// Ends calls that are due. Returns how long nothing more is to do; `nil` if there are no calls.
  public func endDue() async -> Duration? {
    do throws(Problem) {
      while true {
        let now = parley.clock.now
        let due = try await parley.read { try $0.dueCalls(at: now, limit: Limits.dueAtOnce) }
        if due.isEmpty { break }
        for call in due { try await parley.post(.call(.expire(call)), by: Parley.nobody) }
      }
      guard let next = try await parley.read({ try $0.nextCallDue() }) else { return nil }
      let wait = Duration.milliseconds(next.milliseconds - parley.clock.now.milliseconds)
      return min(max(wait, .milliseconds(1)), Limits.scheduleLook)
    } catch {
      // The rows are unchanged, and are read again.
      return Limits.scheduleRetry
    }
  }
}
