import CSQLite

/// A SQLite database: another server's, which is only read, or a temporary one.
final class Database {
  private var handle: OpaquePointer?
  private let name: String

  /// Opens a file for reading. It is read as it is: a server that runs may write meanwhile, which a pass does not see.
  init(reading path: String) throws(SourceFailure) {
    name = path
    try open(path, SQLITE_OPEN_READONLY)
  }

  /// Opens a temporary database, which nobody else can open. What exceeds its cache is in a nameless file of the folder
  /// for temporary files (`SQLITE_TMPDIR`, `TMPDIR`, `/var/tmp`), which ends with the process.
  init() throws(SourceFailure) {
    name = "the temporary database"
    try open("", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
  }

  deinit { sqlite3_close_v2(handle) }

  private func open(_ path: String, _ flags: Int32) throws(SourceFailure) {
    guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK else { throw failure }
    sqlite3_busy_timeout(handle, 10_000)
  }

  func run(_ sql: String) throws(SourceFailure) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
  }

  func prepare(_ sql: String) throws(SourceFailure) -> Statement {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else { throw failure }
    return Statement(statement, self)
  }

  func hasTable(_ table: String) throws(SourceFailure) -> Bool {
    let statement = try prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1")
    statement.bind(1, table)
    return try statement.step()
  }

  func columns(of table: String) throws(SourceFailure) -> Set<String> {
    let statement = try prepare("SELECT name FROM pragma_table_info(?1)")
    statement.bind(1, table)
    var columns: Set<String> = []
    while try statement.step() { columns.insert(statement.text(0)) }
    return columns
  }

  fileprivate var failure: SourceFailure {
    SourceFailure(Place(file: name), handle.map { String(cString: sqlite3_errmsg($0)) } ?? "it cannot be opened")
  }

  final class Statement {
    private let statement: OpaquePointer
    private let database: Database

    fileprivate init(_ statement: OpaquePointer, _ database: Database) {
      self.statement = statement
      self.database = database
    }

    deinit { sqlite3_finalize(statement) }

    func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(statement, index, value) }
    func bind(_ index: Int32, _ text: String) {
      // SQLITE_TRANSIENT: the text is copied.
      sqlite3_bind_text(statement, index, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }

    /// Goes to the next row; returns `false` behind the last one.
    func step() throws(SourceFailure) -> Bool {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: return true
      case SQLITE_DONE: return false
      default: throw database.failure
      }
    }

    /// Runs a statement without rows, which can then be bound anew.
    func run() throws(SourceFailure) {
      defer { sqlite3_reset(statement) }
      _ = try step()
    }

    func reset() { sqlite3_reset(statement) }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
    func int(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
    func double(_ column: Int32) -> Double { sqlite3_column_double(statement, column) }
    func text(_ column: Int32) -> String {
      guard let bytes = sqlite3_column_text(statement, column) else { return "" }
      let count = Int(sqlite3_column_bytes(statement, column))
      return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
    func textOrNil(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
  }
}
