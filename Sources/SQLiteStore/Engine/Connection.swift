import Basics
import CSQLite
import Glibc
import Synchronization

/// The text of a statement, numbered so that each connection finds its prepared form by index. It must be a `static
/// let`, since every value takes a new number.
struct Query: Sendable {
  let text: String
  let number: Int
  private static let count = Atomic<Int>(0)

  init(_ text: String) {
    self.text = text
    number = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue
  }
}

/// One connection to the database file and its prepared statements.
final class Connection: @unchecked Sendable {  // lent to one thread at a time by `ConnectionPool`
  let handle: OpaquePointer
  private var statements: [OpaquePointer?] = []
  private var named: [String: OpaquePointer] = [:]

  /// Opens the file, creating it if it is missing.
  ///
  /// - Parameters:
  ///   - cacheBytes: the memory for pages of the file; at least 64 KiB.
  ///   - busyTimeout: the time for which a statement waits for another process that holds the file.
  ///   - layer: the name of the file layer; `nil` for the default one.
  ///   - keepsLog: whether closing the file's last connection leaves the write-ahead log as it is. Otherwise the engine
  ///     copies it into the database and removes it.
  ///   - isReadOnly: whether the file, its log and its folder must not be changed. A file without a log must not be
  ///     opened by others meanwhile.
  /// - Throws: `StoreFailure.cannotOpen`, or `.foreign` for a file that is not a database.
  init(
    path: String, cacheBytes: Int = 0, busyTimeout: Duration = .zero, layer: String? = nil,
    keepsLog: Bool = false, isReadOnly: Bool = false
  ) throws(StoreFailure) {
    var opened: OpaquePointer?
    let code: Int32
    if isReadOnly {
      // Without `immutable` the engine would create the log's index beside the file.
      let mode = access(path + "-wal", F_OK) == 0 ? "mode=ro" : "immutable=1"
      code = sqlite3_open_v2(
        "file:\(PercentEncoding.encode(path, keeping: "/"))?\(mode)", &opened,
        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, layer)
    } else {
      code = sqlite3_open_v2(
        path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, layer)
    }
    guard code == SQLITE_OK, let opened else {
      defer { sqlite3_close(opened) }
      throw Self.openingFailed(opened, path)
    }
    handle = opened
    wait(upTo: busyTimeout)
    if keepsLog { sqlite3_keep_log_on_close(handle) }
    do {
      // A negative size is in KiB. No mapping: mapped pages would count as the process's memory once per connection.
      try execute(
        """
        PRAGMA cache_size = \(-max(64, cacheBytes / 1024));
        PRAGMA mmap_size = 0;
        PRAGMA temp_store = MEMORY;
        """)
      _ = try int("PRAGMA schema_version")
    } catch {
      throw Self.openingFailed(handle, path)
    }
  }

  private static func openingFailed(_ handle: OpaquePointer?, _ path: String) -> StoreFailure {
    switch sqlite3_errcode(handle) & 0xff {
    case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM:
      .cannotOpen(path: path, reason: sqlite3_errmsg(handle).map { String(cString: $0) } ?? "no reason is given")
    case SQLITE_NOTADB: .foreign(path: path)
    default: StoreFailure(handle)
    }
  }

  deinit {
    for statement in statements { sqlite3_finalize(statement) }
    for statement in named.values { sqlite3_finalize(statement) }
    sqlite3_close(handle)
  }

  /// Sets the time for which a statement waits for another process that holds the file.
  func wait(upTo timeout: Duration) {
    let (seconds, attoseconds) = timeout.components
    sqlite3_busy_timeout(handle, Int32(clamping: seconds * 1_000 + attoseconds / 1_000_000_000_000_000))
  }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Returns the statement. All its parameters must be bound again. It is inlined, so that the numbers of parameters are
  /// constants where they are bound.
  @inline(__always)
  func callAsFunction(_ query: Query) throws(StoreFailure) -> Prepared { Prepared(raw: try statement(query)) }

  private func statement(_ query: Query) throws(StoreFailure) -> OpaquePointer {
    if query.number < statements.count, let statement = statements[query.number] { return statement }
    let statement = try prepare(query.text).raw
    while statements.count <= query.number { statements.append(nil) }
    statements[query.number] = statement
    return statement
  }

  /// Returns the statement with this text. The number of different texts must be bounded, since each is kept prepared.
  func named(_ text: String) throws(StoreFailure) -> Prepared {
    if let statement = named[text] { return Prepared(raw: statement) }
    let statement = try prepare(text)
    named[text] = statement.raw
    return statement
  }

  /// Prepares one statement, which the caller finalizes.
  private func prepare(_ text: String) throws(StoreFailure) -> Prepared {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw StoreFailure(handle) }
    return Prepared(raw: statement)
  }

  /// Runs statements that have no parameters.
  func execute(_ statements: String) throws(StoreFailure) {
    guard sqlite3_exec(handle, statements, nil, nil, nil) == SQLITE_OK else { throw StoreFailure(handle) }
  }

  /// Prepares a statement, hands it to `body` and finalizes it.
  func once<Value>(_ text: String, _ body: (Prepared) throws -> Value) throws -> Value {
    let statement = try prepare(text)
    defer { sqlite3_finalize(statement.raw) }
    return try body(statement)
  }

  /// The number of rows that were changed since the connection was opened.
  var changedRows: Int64 { sqlite3_total_changes64(handle) }

  /// Syncs the write-ahead log.
  func syncLog() throws(StoreFailure) {
    guard let log, let sync = log.pointee.pMethods?.pointee.xSync else { return }
    let code = sync(log, SQLITE_SYNC_NORMAL)
    if code != SQLITE_OK { throw .engine(code: code, "the log could not be synced") }
  }

  /// Returns the first column of the first row; `nil` if there is no row.
  func int(_ text: String) throws -> Int64? {
    try once(text) { try $0.first { $0.int(0) } }
  }
}

/// A prepared statement: bind, then `run`, `first` or `all`. Every use binds all of its parameters, so that none keeps a
/// value or a pointer of an earlier use.
struct Prepared {
  let raw: OpaquePointer
  /// The number of the parameter that is bound next.
  var next: Int32 = 1

  // MARK: Running

  /// Runs a statement without rows.
  @inline(__always)
  func run() throws(StoreFailure) {
    let code = sqlite3_step(raw)
    // Resetting repeats the code of a failed step.
    let again = sqlite3_reset(raw)
    guard code == SQLITE_DONE || code == SQLITE_ROW, again == SQLITE_OK else {
      throw StoreFailure(sqlite3_db_handle(raw))
    }
  }

  /// The number of rows changed by the last `run` on this connection.
  var changes: Int32 { sqlite3_changes(sqlite3_db_handle(raw)) }

  func first<Value>(_ map: (Prepared) throws -> Value?) throws -> Value? {
    defer { sqlite3_reset(raw) }
    guard try step() else { return nil }
    return try map(self)
  }

  func all<Value>(_ map: (Prepared) throws -> Value) throws -> [Value] {
    var values: [Value] = []
    try forEach { values.append(try map($0)) }
    return values
  }

  func forEach(_ body: (Prepared) throws -> Void) throws {
    defer { sqlite3_reset(raw) }
    while try step() { try body(self) }
  }

  /// Calls `body` with each row until it returns `false`; further rows are not read.
  func forEachWhile(_ body: (Prepared) throws -> Bool) throws {
    defer { sqlite3_reset(raw) }
    while try step(), try body(self) {}
  }

  private func step() throws(StoreFailure) -> Bool {
    switch sqlite3_step(raw) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw StoreFailure(sqlite3_db_handle(raw))
    }
  }

  // MARK: Columns of the current row, counted from 0

  @inline(__always)
  func int(_ column: Int32) -> Int64 { sqlite3_column_int64(raw, column) }

  @inline(__always)
  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(raw, column) == SQLITE_NULL }

  func intOrNil(_ column: Int32) -> Int64? { isNull(column) ? nil : int(column) }

  func text(_ column: Int32) -> String { textOrNil(column) ?? "" }

  func textOrNil(_ column: Int32) -> String? {
    guard let start = sqlite3_column_text(raw, column) else { return nil }
    let utf8 = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(raw, column)))
    return String(decoding: utf8, as: UTF8.self)
  }

  func bytes(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(raw, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(raw, column))))
  }

  func bytesOrNil(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
}
