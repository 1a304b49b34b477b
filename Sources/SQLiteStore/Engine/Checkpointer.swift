import CSQLite
import Dispatch
import Glibc
import ServerMetrics
import Synchronization

/// Keeps the write-ahead log short. Theory:
///
/// The log grows with each commit; a checkpoint copies its pages into the database. The engine would do that in the
/// commit that crosses a bound, and make the committer wait. Here it happens on a separate queue, in two steps: first
/// everything committed so far is copied while the writer runs, in passes, each of which has less to copy than the former
/// one; then, between two transactions, the few remaining pages, after which the writer restarts the log from its
/// beginning. A log that is never restarted would grow for ever under load, and rewriting the same blocks costs half as
/// much as new blocks. For that reason the log's blocks are also written once in advance, as zeros: a commit into new
/// blocks waits for the file system's journal as well. This is done when the log has reached a thirty-second of its usual
/// length, since a server that is hardly used does not need it, and again before a log that a reader holds has used them
/// up.
///
/// A reader of an earlier state, such as a backup or a program that replicates the log, prevents the restart as long as it
/// reads. The writer must not wait for it, so a pass that can copy nothing although pages are left ends the run.
///
/// States: idle; pending (one run is queued). Each commit that leaves the log longer than
/// `SQLiteStore.Options.checkpointBytes` requests a run; after a run that a reader has blocked, only when the log is some
/// pages longer. A run is slowed in favour of commits (`CheckpointPacing`) until the log is a quarter longer than at its
/// beginning.
final class Checkpointer: Sendable {
  private let queue = DispatchQueue(label: "parley.checkpoint", qos: .utility)
  private let isPending = Atomic<Bool>(false)
  private let path: String
  private let pool: ConnectionPool
  private let framesMax: Int32
  /// The pages of the log at which the next run is requested.
  let asking: Atomic<Int32>
  /// The bytes of the log whose blocks are written in advance at first, and the pages at which blocks are written next.
  private let preparedBytes: Int64
  private let (aheadBytes, restBytes): (Int64, Int64)
  private let preparing: Atomic<Int32>
  private let pageSize: Int64
  private let keepsLog: Bool
  private let busyTimeout: Duration
  private let seconds: Histogram<Single>
  private let pressure: CheckpointPacing.Pressure
  /// The connection that copies while the writer runs; opened with the first run, used only on `queue`.
  private let connection = Mutex<Connection?>(nil)

  /// Creates a checkpointer that copies the log when it has `bytesMax` bytes.
  ///
  /// - Parameter keepsLog: Whether closing the connection leaves the log as it is.
  init(
    path: String, pool: ConnectionPool, bytesMax: Int64, pageSize: Int64, keepsLog: Bool, busyTimeout: Duration,
    seconds: Histogram<Single>
  ) {
    self.keepsLog = keepsLog
    self.seconds = seconds
    self.path = path
    self.pool = pool
    framesMax = Int32(clamping: bytesMax / pageSize)
    asking = Atomic(framesMax)
    // Most of the longer log for a replicator should never be needed, and is not written in advance.
    let usual = keepsLog ? min(bytesMax, StoreLimits.walBytesCheckpoint) : bytesMax
    preparedBytes = usual + usual / 4
    (aheadBytes, restBytes) = (usual / StoreLimits.preparedAheadShare, usual / StoreLimits.preparedRestShare)
    preparing = Atomic(Int32(clamping: usual / pageSize / 32))
    self.pageSize = pageSize
    self.busyTimeout = busyTimeout
    pressure = CheckpointPacing.Pressure(usualFrames: framesMax)
  }

  /// Closes the connection before `pressure` is released, which the order of the properties would not ensure: if the store is dropped
  /// without being closed, this is the last connection, and the engine copies the log when it closes.
  deinit { connection.withLock { $0 = nil } }

  /// Has the writer's connection report its commits, until `stop`.
  func watch(_ writer: Connection) {
    sqlite3_wal_hook(
      writer.handle,
      { itself, _, _, frames in
        guard let itself else { return SQLITE_OK }
        let checkpointer = Unmanaged<Checkpointer>.fromOpaque(itself).takeUnretainedValue()
        checkpointer.pressure.pages = frames
        if frames >= checkpointer.preparing.load(ordering: .relaxed) { checkpointer.prepareLog(after: frames) }
        let asking = checkpointer.asking.load(ordering: .relaxed)
        if frames >= asking {
          checkpointer.ask()
        } else if frames < checkpointer.framesMax, asking > checkpointer.framesMax {
          // Another process has restarted the log.
          checkpointer.asking.store(checkpointer.framesMax, ordering: .relaxed)
        }
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

  /// Runs once. A failure is not reported: the log grows and a later commit requests another run; if the disk is full or
  /// broken, that commit fails itself.
  private func run() {
    let start = ContinuousClock.now
    pressure.begin()
    let isRestarted = (try? restartLog()) ?? false
    if isRestarted {
      seconds.observe(since: start)
      // The engine now shortens a log that was longer.
      let kept = StoreLimits.walBytesKept - restBytes
      preparing.min(Int32(clamping: kept / pageSize), ordering: .relaxed)
    }
    asking.store(
      isRestarted ? framesMax : pressure.pages + max(1, framesMax / StoreLimits.checkpointsAsked), ordering: .relaxed)
  }

  /// Copies the log and restarts it. Returns false if a reader holds it.
  private func restartLog() throws -> Bool {
    var before: Int32 = -1
    for _ in 0..<StoreLimits.checkpointPassesMax {
      let copied = try connected { try $0.checkpoint(SQLITE_CHECKPOINT_PASSIVE) }
      if pressure.pages - copied <= StoreLimits.checkpointPagesLeft { break }
      if copied == before { return false }
      before = copied
    }
    try pool.write { writer in
      writer.connection.wait(upTo: StoreLimits.walRestartPatience)
      defer { writer.connection.wait(upTo: busyTimeout) }
      try writer.connection.checkpoint(SQLITE_CHECKPOINT_RESTART)
    }
    return true
  }

  /// Runs `body` with the checkpointer's connection, which is opened if needed; called on `queue`.
  private func connected<Value>(_ body: (Connection) throws -> Value) throws -> Value {
    try connection.withLock { connection in
      if let connection { return try body(connection) }
      try CheckpointPacing.install()
      // A checkpoint needs no cache.
      let opened = try Connection(path: path, layer: CheckpointPacing.name, keepsLog: keepsLog)
      try opened.execute("PRAGMA synchronous = FULL")
      CheckpointPacing.pace(opened, by: pressure)
      connection = opened
      return try body(opened)
    }
  }

  // MARK: Preparation

  /// Writes in advance the blocks that the log needs until a checkpoint is urgent, or, if it is longer already, the next
  /// ones, in slices between transactions. Zeros after the log are not frames (sqlite.org/fileformat2.html 4.1), so they
  /// change nothing for readers or after a crash. On a nearly full disk nothing is written.
  private func prepareLog(after frames: Int32) {
    guard preparing.exchange(.max, ordering: .relaxed) != .max else { return }
    let used = Int64(frames) * pageSize
    let bytes = max(preparedBytes, used + aheadBytes)
    guard Self.freeBytes(path) / StoreLimits.preparedShareOfDisk >= bytes else {
      return prepare(next: used + aheadBytes)
    }
    queue.async { [self] in
      var prepared = used
      defer { prepare(next: max(prepared - restBytes, used + restBytes)) }
      let zeros = [UInt8](repeating: 0, count: StoreLimits.gatheredBytesMax)
      while !pressure.isUrgent {
        let start = ContinuousClock.now
        let size = try? pool.write { writer -> Int64? in
          guard let log = writer.connection.log, let methods = log.pointee.pMethods?.pointee else { return nil }
          var size: Int64 = 0
          guard methods.xFileSize?(log, &size) == SQLITE_OK else { return nil }
          let end = min(size + StoreLimits.preparedSliceBytes, bytes)
          while size < end {
            guard methods.xWrite?(log, zeros, Int32(zeros.count), size) == SQLITE_OK else { return nil }
            size += Int64(zeros.count)
          }
          return size
        }
        // Synced between transactions, so that none of them waits for more than a slice.
        try? connected { connection in
          _ = try connection.int("PRAGMA schema_version")
          if let log = connection.log { _ = log.pointee.pMethods?.pointee.xSync?(log, SQLITE_SYNC_NORMAL) }
        }
        guard let size = size ?? nil else { return }
        prepared = size
        if size >= bytes { return }
        CheckpointPacing.pause(since: start, share: StoreLimits.checkpointPauseShare)
      }
    }
  }

  /// Sets the bytes of the log at which blocks are written next.
  private func prepare(next bytes: Int64) { preparing.store(Int32(clamping: bytes / pageSize), ordering: .relaxed) }

  private static func freeBytes(_ path: String) -> Int64 {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return 0 }
    return Int64(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
  }

  /// Waits for the requested runs.
  func settle() { queue.sync {} }

  /// Waits for the requested runs, after which no checkpoint runs.
  func stop() {
    pressure.stop()
    try? pool.write { writer in _ = sqlite3_wal_hook(writer.connection.handle, nil, nil) }
    settle()
    connection.withLock { $0 = nil }
  }
}

extension Connection {
  /// Copies pages of the write-ahead log into the database. Returns the number of pages of the log that are copied.
  ///
  /// - Parameter mode: `SQLITE_CHECKPOINT_PASSIVE`, `_RESTART` or `_TRUNCATE`.
  @discardableResult
  func checkpoint(_ mode: Int32) throws(StoreFailure) -> Int32 {
    var copied: Int32 = 0
    guard sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, &copied) == SQLITE_OK else { throw StoreFailure(handle) }
    return copied
  }

  /// The file of the write-ahead log; `nil` if it is not open.
  var log: UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, nil, SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK,
      file?.pointee.pMethods != nil
    else { return nil }
    return file
  }
}
