import CSQLite
public import Dialogs
public import ServerMetrics

/// The store for one node: one SQLite file with a write-ahead log.
///
/// A commit is synced before `write` returns, so it survives a crash of the process or the machine. Reads run on separate
/// connections and see one committed state each; they neither wait for the writer nor block it. Every failure of the
/// engine is a `StoreFailure`; an error that a body throws is passed on unchanged.
///
///     let store = try SQLiteStore(path: "/var/lib/parley/parley.db")
///     let user = try store.read { try $0.user(BareJID("juliet@example.org")) }
///     try store.close()
public final class SQLiteStore: Store {
  public struct Options: Hashable, Sendable {
    /// The number of reads that may run at once; further ones wait.
    public var readersMax = 4
    /// The bytes of pages that the writer keeps in memory: the ends of the indexes to which messages are added, and the ids of
    /// long dialogs, in which each new id is looked up.
    public var writerCacheBytes = 8 << 20
    /// The bytes of pages that each reader keeps in memory.
    public var readerCacheBytes = 1 << 20
    /// The time to wait for another process that holds the file.
    public var busyTimeout: Duration = .seconds(5)
    /// The bytes in the write-ahead log at which it is copied into the database file and restarted.
    public var checkpointBytes = StoreLimits.walBytesCheckpoint
    /// Whether another process copies the write-ahead log as it grows (Litestream), and restarts it. The store then restarts
    /// it only when it is far longer, and keeps it on closing.
    public var isReplicated = false
    /// The maximum number of pages (of 4,096 bytes) of the file; `nil` for no limit but the disk.
    public var pagesMax: Int64?
    /// The number of positions of the log whose message ids are gathered in memory before they are written to the table. With a
    /// small number even a short log has most of its ids in the table.
    public var freshSpan = StoreLimits.freshSpan

    public init() {}
  }

  let path: String
  let isReplicated: Bool
  let pool: ConnectionPool
  let checkpointer: Checkpointer
  private let directory = Directory()

  /// Opens the file; creates it and migrates its schema if needed. Throws `StoreFailure`.
  public init(path: String, options: Options = Options(), metrics: Metrics = Metrics()) throws {
    try WriteGathering.install()
    self.path = path
    let isReplicated = options.isReplicated
    self.isReplicated = isReplicated
    let connection = try Connection(
      path: path, cacheBytes: options.writerCacheBytes, busyTimeout: options.busyTimeout, keepsLog: isReplicated)
    try Self.prepare(connection, path, options)
    let writer = Writer(connection, directory, freshSpan: options.freshSpan)
    pool = ConnectionPool(writer: writer, readersMax: options.readersMax) { [directory] in
      let connection = try Connection(
        path: path, cacheBytes: options.readerCacheBytes, busyTimeout: options.busyTimeout, keepsLog: isReplicated)
      try connection.execute("PRAGMA query_only = ON")
      return Reader(connection, directory)
    }
    let pageSize = try connection.int("PRAGMA page_size") ?? 4096
    checkpointer = Checkpointer(
      path: path, pool: pool,
      bytesMax: isReplicated ? max(options.checkpointBytes, StoreLimits.walBytesReplicated) : options.checkpointBytes,
      pageSize: max(512, pageSize), keepsLog: isReplicated, busyTimeout: options.busyTimeout,
      seconds: metrics.checkpointSeconds)
    checkpointer.watch(connection)
    WriteGathering.measure(connection, metrics.syncSeconds)
  }

  /// Reads a file that no store has open, without changing the file, its log or its folder.
  ///
  /// - Returns: `nil` for a file of an earlier release, which cannot be read without migrating it.
  /// - Throws: what `body` throws; `StoreFailure`.
  public static func look<Result>(at path: String, _ body: (any StoreReader) throws -> Result) throws -> Result? {
    let connection = try Connection(path: path, isReadOnly: true)
    try Migration.check(connection, path)
    guard try Migration.missing(connection) == 0 else { return nil }
    let reader = Reader(connection, Directory())
    try reader.begin()
    defer { reader.rollBack() }
    return try body(reader)
  }

  private static func prepare(_ connection: Connection, _ path: String, _ options: Options) throws {
    // Checked before anything is written, since the file may be another program's.
    try Migration.check(connection, path)
    let mode = try connection.once("PRAGMA journal_mode = WAL") { try $0.first { $0.text(0) } }
    guard mode == "wal" else { throw StoreFailure.cannotOpen(path: path, reason: "it cannot have a write-ahead log") }
    // Deleted data is overwritten; the log file shrinks back when it was long.
    try connection.execute(
      """
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA journal_size_limit = \(StoreLimits.walBytesKept);
      PRAGMA secure_delete = ON;
      """)
    if let pages = options.pagesMax { try connection.execute("PRAGMA max_page_count = \(pages)") }
    // With NORMAL a power cut would lose confirmed commits.
    let synchronous = try connection.int("PRAGMA synchronous") ?? -1
    guard synchronous == 2 else { throw StoreFailure.notDurable(synchronous: synchronous) }
    try Migration.migrate(connection)
  }

  public func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    try pool.read { reader in
      try reader.begin()
      // Nothing was written, so it makes no difference how the transaction ends.
      defer { reader.rollBack() }
      return try body(reader)
    }
  }

  public func write<Result>(synced: Bool, _ body: (any StoreWriter) throws -> Result) throws -> Result {
    try pool.write { writer in
      try writer.beginWriting(synced: synced)
      do {
        try writer.prepare()
        let result = try body(writer)
        try writer.commit()
        return result
      } catch {
        // A full disk has made the engine roll back by itself.
        if writer.connection.isInTransaction { writer.rollBack() }
        writer.origins.undo()
        directory.forget()
        throw error
      }
    }
  }

  /// Copies the write-ahead log into the database and closes it. Waits for reads and writes under way; later ones throw
  /// `StoreFailure.closed`. The log is kept if another process reads it, or `isReplicated` is set.
  public func close() throws {
    checkpointer.stop()
    try pool.close { writer in
      if isReplicated { return }
      writer.connection.wait(upTo: StoreLimits.walRestartPatience)
      do { try writer.connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE) } catch StoreFailure.locked {}
    }
  }

  /// Returns the detector of a process that follows the log.
  public func follower() throws -> LogFollower { try LogFollower(database: path) }
}

extension Reader: StoreReader {}
extension Writer: StoreWriter {}
