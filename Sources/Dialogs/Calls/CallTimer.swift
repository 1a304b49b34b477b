/// Ends calls whose time is over. Theory:
///
/// It sleeps until the next one's time, or until the bell says that there is another, and posts that each that is due be looked
/// at. What stands in the store is looked at after a restart; a call that has gone on meanwhile is left alone.
public actor CallTimer {
  private let parley: Parley
  private let pause: @Sendable (Duration) async -> Void
  private var timer: Task<Void, Never>?

  /// `pause` sleeps, and returns early when its task is cancelled.
  public init(
    parley: Parley, pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.parley = parley
    self.pause = pause
  }

  /// Runs until its task is cancelled. Once.
  public func run() async {
    parley.callBell.ring()
    for await _ in parley.callBell.bell {
      timer?.cancel()
      guard let wait = await parley.endDueCalls() else { continue }
      timer = Task { [pause, parley] in
        await pause(wait)
        if !Task.isCancelled { parley.callBell.ring() }
      }
    }
    timer?.cancel()
  }
}

extension Parley {
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
