extension Parley {
  /// Ends calls whose time is over; one that has gone on meanwhile is left alone.
  public var callAlarm: DueTimer { DueTimer(registries.calls) { [self] in await endDueCalls() } }

  /// Ends calls that rang too long. Returns how long nothing more is to be done; nil: there are no calls.
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
      // The rows stand: they are looked at again.
      return Limits.scheduleRetry
    }
  }
}
