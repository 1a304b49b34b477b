public import Dialogs
import GRDB
import GRDBSQLite
import Synchronization

/// The store for one node: one SQLite file with a write-ahead log.
///
/// A commit is synced before `write` returns, whatever else happens to the
/// process or the machine. Reads run on connections of their own and see one
/// committed state each; they neither wait for the writer nor hold it up.
///
/// Every failure of the engine is a `StoreFailure`; what a body throws comes
/// through as it is.
public final class SQLiteStore: Store {
  public struct Options: Hashable, Sendable {
    /// Reads that may run at once; further ones wait.
    public var readersMax = 4
    /// Bytes of pages that the writer keeps in memory: the ends of the indexes
    /// that messages are added to, and ids of long dialogs, among which each new one is looked for.
    public var writerCacheBytes = 8 << 20
    /// The same for each reader.
    public var readerCacheBytes = 1 << 20
    /// How long to wait for another process that holds the file.
    public var busyTimeout: Duration = .seconds(5)
    /// Bytes in the write-ahead log at which it is copied into the database file
    /// and started anew.
    public var checkpointBytes = StoreLimits.walBytesCheckpoint
    /// Pages (of 4,096 bytes) that the file may have; nil: as many as the disk holds.
    public var pagesMax: Int64?

    public init() {}
  }

  let pool: DatabasePool
  let checkpointer: Checkpointer
  private let directory = Directory()
  /// By connection. GRDB closes none before `close`, so no connection is ever
  /// taken for one that was at its address before.
  private let readers = Mutex<[ObjectIdentifier: Reader]>([:])
  private let writer = Mutex<Writer?>(nil)

  /// Opens the file, creating it and bringing its schema up to date if need be.
  /// Throws `StoreFailure`.
  public init(path: String, options: Options = Options()) throws {
    try WriteGathering.install()
    pool = try Self.open(path, options)
    do {
      try StoreFailure.translating { [pool] in try Self.prepare(pool, options) }
      let pageSize = try pool.writeWithoutTransaction { try Int64.fetchOne($0, sql: "PRAGMA page_size") ?? 4096 }
      checkpointer = Checkpointer(path: path, pool: pool, framesMax: options.checkpointBytes / max(512, pageSize))
    } catch {
      try? pool.close()
      throw error
    }
    pool.writeWithoutTransaction { database in
      checkpointer.watch(database)
      writer.withLock { $0 = Writer(database, directory) }
    }
  }

  private static func open(_ path: String, _ options: Options) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.label = "parley.store"
    configuration.maximumReaderCount = max(1, options.readersMax)
    configuration.foreignKeysEnabled = false
    let patience =
      Double(options.busyTimeout.components.seconds) + Double(options.busyTimeout.components.attoseconds) / 1e18
    configuration.busyMode = .timeout(patience)
    configuration.prepareDatabase { database in
      let cache = database.configuration.readonly ? options.readerCacheBytes : options.writerCacheBytes
      // A negative size is in KiB. No mapping: mapped pages would count as the
      // process's memory once per connection.
      try database.execute(
        sql: """
          PRAGMA cache_size = \(-max(64, cache / 1024));
          PRAGMA mmap_size = 0;
          PRAGMA temp_store = MEMORY;
          """)
    }
    do {
      return try DatabasePool(path: path, configuration: configuration)
    } catch let error as DatabaseError {
      switch error.resultCode {
      case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM:
        throw StoreFailure.cannotOpen(path: path, reason: error.message ?? "\(error)")
      case .SQLITE_NOTADB: throw StoreFailure.foreign(path: path)
      default: throw StoreFailure(error)
      }
    }
  }

  private static func prepare(_ pool: DatabasePool, _ options: Options) throws {
    try pool.writeWithoutTransaction { database in
      // After opening: GRDB sets NORMAL when it turns the write-ahead log on,
      // and with NORMAL a power cut takes commits that were confirmed.
      // What is deleted is overwritten; the log file shrinks back when it was long.
      try database.execute(
        sql: """
          PRAGMA synchronous = FULL;
          PRAGMA wal_autocheckpoint = 0;
          PRAGMA journal_size_limit = \(StoreLimits.walBytesKept);
          PRAGMA secure_delete = ON;
          """)
      if let pages = options.pagesMax { try database.execute(sql: "PRAGMA max_page_count = \(pages)") }
      let synchronous = try Int64.fetchOne(database, sql: "PRAGMA synchronous") ?? -1
      guard synchronous == 2 else { throw StoreFailure.notDurable(synchronous: synchronous) }
    }
    try Migration.migrate(pool)
  }

  public func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    try StoreFailure.translating {
      try pool.unsafeRead { database in
        let reader = reader(of: database)
        try reader.begin()
        // Nothing was written: how the transaction ends is all one.
        defer { reader.rollBack() }
        return try body(reader)
      }
    }
  }

  public func write<Result>(_ body: (any StoreWriter) throws -> Result) throws -> Result {
    try StoreFailure.translating {
      try pool.writeWithoutTransaction { database in
        guard let writer = writer.withLock({ $0 }) else { throw StoreFailure.closed }
        try writer.beginWriting()
        do {
          try writer.prepare()
          let result = try body(writer)
          try writer.commit()
          return result
        } catch {
          // A full disk has made the engine roll back by itself.
          if sqlite3_get_autocommit(database.sqliteConnection) == 0 { writer.rollBack() }
          writer.origins.undo()
          directory.forget()
          throw error
        }
      }
    }
  }

  private func reader(of database: Database) -> Reader {
    let id = ObjectIdentifier(database)
    return readers.withLock { readers in
      if let reader = readers[id] { return reader }
      let reader = Reader(database, directory)
      readers[id] = reader
      return reader
    }
  }

  /// Copies the write-ahead log into the database and closes it. Waits for reads
  /// and writes under way; later ones throw `StoreFailure.closed`.
  public func close() throws {
    try StoreFailure.translating {
      try pool.barrierWriteWithoutTransaction { database in
        checkpointer.stop(database)
        // Their statements must be gone before their connections are closed.
        writer.withLock { $0 = nil }
        readers.withLock { $0 = [:] }
      }
      checkpointer.close()
      try pool.writeWithoutTransaction { database in _ = try database.checkpoint(.truncate) }
      try pool.close()
    }
  }
}

extension Reader: StoreReader {}
extension Writer: StoreWriter {}
