import Dispatch
import GRDB
import GRDBSQLite
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
  private let pool: DatabasePool
  private let framesMax: Int32
  private let connection = Mutex<Handle?>(nil)

  /// Only its Mutex's holder uses it.
  private struct Handle: @unchecked Sendable {  // the connection is in multi-thread mode and guarded by the Mutex
    let raw: OpaquePointer
  }

  /// `framesMax`: pages in the log at which it is copied.
  init(path: String, pool: DatabasePool, framesMax: Int64) {
    self.path = path
    self.pool = pool
    self.framesMax = Int32(clamping: framesMax)
  }

  /// Has the writer's connection tell of its commits. `stop` ends that.
  func watch(_ database: Database) {
    let itself = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_wal_hook(
      database.sqliteConnection,
      { itself, _, _, frames in
        guard let itself else { return SQLITE_OK }
        let checkpointer = Unmanaged<Checkpointer>.fromOpaque(itself).takeUnretainedValue()
        if frames >= checkpointer.framesMax { checkpointer.ask() }
        return SQLITE_OK
      }, itself)
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
    let isCopied = connection.withLock { handle in
      if handle == nil { handle = open() }
      guard let handle else { return false }
      return sqlite3_wal_checkpoint_v2(handle.raw, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil) == SQLITE_OK
    }
    guard isCopied else { return }
    pool.writeWithoutTransaction { database in
      let raw = database.sqliteConnection
      let patience = database.configuration.busyMode
      sqlite3_busy_timeout(raw, StoreLimits.walRestartPatience)
      _ = sqlite3_wal_checkpoint_v2(raw, nil, SQLITE_CHECKPOINT_RESTART, nil, nil)
      if case .timeout(let seconds) = patience { sqlite3_busy_timeout(raw, Int32(seconds * 1000)) }
    }
  }

  private func open() -> Handle? {
    var raw: OpaquePointer?
    let code = sqlite3_open_v2(path, &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let raw else {
      sqlite3_close(raw)
      return nil
    }
    // The default cache would do harm only in memory; a checkpoint needs none.
    sqlite3_exec(raw, "PRAGMA synchronous = FULL; PRAGMA cache_size = 8", nil, nil, nil)
    return Handle(raw: raw)
  }

  /// No checkpoint runs after this. The writer's connection must not commit any
  /// more.
  func stop(_ database: Database) {
    sqlite3_wal_hook(database.sqliteConnection, nil, nil)
  }

  /// Waits for the runs that were asked for.
  func settle() { queue.sync {} }

  func close() {
    settle()
    connection.withLock { handle in
      if let handle { sqlite3_close(handle.raw) }
      handle = nil
    }
  }
}
