import CSQLite
import Dispatch
import Synchronization

/// Keeps the write-ahead log short. Theory:
///
/// The log grows with each commit; a checkpoint copies its pages into the
/// database. The engine would do that in whichever commit crosses a bound, and
/// make the committer wait for it. Here it happens on a queue of its own, in two
/// steps: first all that was committed so far is copied beside the running
/// writer; then, between two transactions, the few pages that came meanwhile,
/// after which the writer starts the log anew from its beginning. A log that is
/// never started anew would grow for ever under load; and writing the same
/// blocks again costs half of what new blocks cost.
///
/// States: idle; pending (one run is queued); each commit that leaves the log
/// longer than `SQLiteStore.Options.checkpointBytes` asks for a run.
final class Checkpointer: Sendable {
  private let queue = DispatchQueue(label: "parley.checkpoint", qos: .utility)
  private let isPending = Atomic<Bool>(false)
  private let path: String
  private let pool: ConnectionPool
  private let framesMax: Int32
  private let busyTimeout: Duration
  /// The connection that copies beside the running writer; opened with the first run, used on `queue` alone.
  private let connection = Mutex<Connection?>(nil)

  /// `framesMax`: pages in the log at which it is copied.
  init(path: String, pool: ConnectionPool, framesMax: Int64, busyTimeout: Duration) {
    self.path = path
    self.pool = pool
    self.framesMax = Int32(clamping: framesMax)
    self.busyTimeout = busyTimeout
  }

  /// Has the writer's connection tell of its commits. `stop` ends that.
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

  /// A failure is not told to anybody: the log grows, the next commit asks again,
  /// and when the disk is full or broken that commit itself fails.
  private func run() {
    do {
      try connection.withLock { connection in
        if connection == nil {
          // The default cache would do harm only in memory; a checkpoint needs none.
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

  /// Waits for the runs that were asked for.
  func settle() { queue.sync {} }

  /// Waits for the runs that were asked for, after which no checkpoint runs.
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
