import Administration
import Basics
import Dialogs
import Logging
import SQLiteStore
import Synchronization

/// Watches that the program beside the server follows the database's log (`backup.replicated`). Theory:
///
/// It reads the database all the time, and so keeps the log from being restarted without it. While it copies the log into
/// the database it does not read for a moment: it counts as absent only after `ServerLimits.replicatorPatience`. The
/// server cannot see whether what it has copied has arrived elsewhere; its own metrics tell that.
///
/// An absent one is logged once, and shown by `parley health` and a metric until it is back. The server goes on: the log
/// grows to its bound, and is then restarted, after which the replicator begins with a copy of the whole database.
final class ReplicationWatch: Sendable {
  private let follower: LogFollower
  private let clock: any Clock
  private let logger: Logger
  private struct State {
    var lastSeen: Timestamp
    var failure: String?
    var failingSince: Timestamp?
  }
  private let state: Mutex<State>

  init(_ follower: LogFollower, clock: any Clock, _ logger: Logger) {
    self.follower = follower
    self.clock = clock
    self.logger = logger
    state = Mutex(State(lastSeen: clock.now))
  }

  var failure: String? { state.withLock { $0.failure } }

  /// Seconds for which the log was not followed; 0 if it is.
  var failingSeconds: Double {
    let since = state.withLock { $0.failingSince }
    return since.map { Double(max(0, clock.now.milliseconds - $0.milliseconds)) / 1_000 } ?? 0
  }

  func look() {
    let (now, isThere, bytes) = (clock.now, follower.isThere, follower.logBytes)
    let change: (before: String?, after: String?) = state.withLock { state in
      let before = state.failure
      if isThere { state.lastSeen = now }
      let absent = Duration.milliseconds(now.milliseconds - state.lastSeen.milliseconds)
      if absent >= ServerLimits.replicatorPatience {
        state.failure = "no program has followed the database's log since \(state.lastSeen): does Litestream run?"
      } else if bytes > ServerLimits.heldLogBytes {
        state.failure = "the database's log has grown to \(bytes) bytes, and a program that reads it holds it"
      } else if isThere {
        state.failure = nil
      }
      state.failingSince = state.failure == nil ? nil : state.failingSince ?? state.lastSeen
      return (before, state.failure)
    }
    if let failure = change.after {
      if change.before == nil { logger.error("the database is not replicated", metadata: ["reason": "\(failure)"]) }
    } else if change.before != nil {
      logger.notice("the database is replicated again")
    }
  }
}
