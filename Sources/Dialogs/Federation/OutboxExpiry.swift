import Basics

/// Gives up what waits too long for servers elsewhere (`Outbox.swift`).
public struct OutboxExpiry: Sendable {
  private let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// The timer that does it. No new row expires before the timer looks again, so nothing need wake it.
  public var timer: DueTimer { DueTimer(WakeSignal()) { await expire() } }

  /// Gives up the rows whose time is over, a bounded number in each transaction. Returns how long to wait.
  func expire() async -> Duration {
    do throws(Problem) {
      while true {
        // The committer, for which everybody waits, does not look for them.
        let next = try await parley.read { try $0.nextOutboxExpiries(limit: Limits.outboxExpiriesAtOnce) }
        if next.isEmpty { return parley.options.giveUp }
        for (pair, time) in next {
          let wait = Duration.milliseconds(time.milliseconds - parley.clock.now.milliseconds)
          if wait > .zero { return min(wait, parley.options.giveUp) }
          try await parley.post(.outbox(.expire(pair)), by: Parley.nobody)
        }
      }
    } catch {
      return Limits.scheduleRetry
    }
  }
}
