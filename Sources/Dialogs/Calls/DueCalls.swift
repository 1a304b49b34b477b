import Basics

extension Parley {
  /// The timer that ends due calls; a call that has moved meanwhile is left alone.
  public var callAlarm: DueTimer { DueTimer(registries.calls) { [self] in await endDueCalls() } }

  /// Ends calls that are due. Returns how long nothing more is to do; `nil` if there are no calls.
  public func endDueCalls() async -> Duration? {
    do throws(Problem) {
      while true {
        let now = clock.now
        let due = try await read { try $0.dueCalls(at: now, limit: Limits.dueAtOnce) }
        if due.isEmpty { break }
        for call in due { try await post(.call(.expire(call)), by: Self.nobody) }
      }
      guard let next = try await read({ try $0.nextCallDue() }) else { return nil }
      let wait = Duration.milliseconds(next.milliseconds - clock.now.milliseconds)
      return min(max(wait, .milliseconds(1)), Limits.scheduleLook)
    } catch {
      // The rows are unchanged, and are read again.
      return Limits.scheduleRetry
    }
  }
}
