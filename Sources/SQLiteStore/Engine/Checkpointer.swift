import CSQLite
import Dispatch
import Synchronization

/// Keeps the write-ahead log short. Theory:
///
/// The log grows with each commit; a checkpoint copies its pages into the database. The engine would do that in the
/// commit that crosses a bound, and make the committer wait for it. Here it happens on a queue of its own, in two
/// steps: first everything committed so far is copied beside the running writer; then, between two transactions, the
/// few pages that came meanwhile, after which the writer restarts the log from its beginning. A log that is never
/// restarted would grow for ever under load; and rewriting the same blocks costs half of what new blocks cost.
///
/// States: idle; pending (one run is queued); each commit that leaves the log longer than
/// `SQLiteStore.Options.checkpointBytes` asks for a run.
final class Checkpointer: Sendable {
  private let queue = DispatchQueue(label: "parley.checkpoint", qos: .utility)
  private let isPending = Atomic<Bool>(false)
  private let path: String
  private let pool: ConnectionPool
  private let framesMax: Int32
  private let busyTimeout: Duration
  /// The connection that copies beside the running writer; opened with the first run, used on `queue` alone.
  private let connection = Mutex<Connection?>(nil)

  /// Creates a checkpointer that copies the log when it has `framesMax` pages.
  init(path: String, pool: ConnectionPool, framesMax: Int64, busyTimeout: Duration) {
    self.path = path
    self.pool = pool
    self.framesMax = Int32(clamping: framesMax)
    self.busyTimeout = busyTimeout
  }

  /// Has the writer's connection report its commits, until `stop`.
  func watch(_ writer: Connection) {
    sqlite3_wal_hook(
      writer.handle,
      { itself, _, _, frames in
        guard let itself else { return SQLITE_OK }
        let checkpointer = Unmanaged<Checkpointer>.fromOpaque(itself).takeUnretainedValue()
        if frames >= checkpointer.framesMax { checkpointer.ask() }
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func ask() {
    guard !isPending.exchange(true, ordering: .relaxed) else { return }
    queue.async { [self] in
      isPending.store(false, ordering: .relaxed)
      run()
    }
  }

  /// Runs once. A failure is not reported: the log grows, the next commit asks again, and when the disk is full or
  /// broken that commit itself fails.
  private func run() {
    do {
      try connection.withLock { connection in
        if connection == nil {
          // The default cache would cost memory for nothing; a checkpoint needs none.
          connection = try Connection(path: path)
          try connection?.execute("PRAGMA synchronous = FULL")
        }
        try connection?.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
      }
      try pool.write { writer in
        writer.connection.wait(upTo: StoreLimits.walRestartPatience)
        defer { writer.connection.wait(upTo: busyTimeout) }
        try writer.connection.checkpoint(SQLITE_CHECKPOINT_RESTART)
      }
    } catch {}
  }

  /// Waits for the requested runs.
  func settle() { queue.sync {} }

  /// Waits for the requested runs, after which no checkpoint runs.
  func stop() {
    try? pool.write { writer in _ = sqlite3_wal_hook(writer.connection.handle, nil, nil) }
    settle()
    connection.withLock { $0 = nil }
  }
}

extension Connection {
  /// Copies pages of the write-ahead log into the database.
  ///
  /// - Parameter mode: `SQLITE_CHECKPOINT_PASSIVE`, `_RESTART` or `_TRUNCATE`.
  func checkpoint(_ mode: Int32) throws(StoreFailure) {
    guard sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil) == SQLITE_OK else { throw StoreFailure(handle) }
  }
}
