package import Basics
import Synchronization

/// The realms with hooks, in memory, so that for others nothing is written and nothing woken; and the signal that wakes
/// the follower of the log.
public final class HookRegistry: Sendable {
  private struct State {
    var realms: Set<RealmID> = []
    var changes: UInt64 = 1
  }
  private let state: Mutex<State>
  private let wakes: AsyncStream<Void>.Continuation
  /// The signal that there may be events; for one listener.
  package let wakeSignal: AsyncStream<Void>

  /// Loads the registry; blocks.
  init(_ reader: any StoreReader) throws {
    let realms = Set(try reader.hooks().map(\.realm))
    state = Mutex(State(realms: realms))
    (wakeSignal, wakes) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    wakes.yield()
  }

  /// The number of changes of any hook by others than its follower.
  package var changes: UInt64 { state.withLock { $0.changes } }

  func has(_ realm: RealmID) -> Bool { state.withLock { $0.realms.contains(realm) } }

  package func set(_ hooks: [Hook]) {
    state.withLock {
      $0.realms = Set(hooks.map(\.realm))
      $0.changes += 1
    }
    wakes.yield()
  }

  /// Wakes the follower after a commit.
  func wake() {
    if state.withLock({ !$0.realms.isEmpty }) { wakes.yield() }
  }
}

extension HookRegistry {
  /// Stores an outbox event for the realm's hooks, in the transaction in which it happens.
  package func note(
    _ kind: OutboxEvent.Kind, of user: UserID, detail: Int64, in realm: RealmID, at time: Timestamp,
    _ writer: any StoreWriter
  ) throws {
    guard has(realm) else { return }
    try writer.insert(
      OutboxEvent(
        realm: realm, kind: kind, user: user, detail: detail, time: time, position: try writer.head().position))
  }
}
