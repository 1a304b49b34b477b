import CSQLite

/// The reason why the store failed. The description is one line for an operator.
public enum StoreFailure: Error, Hashable, Sendable {
  /// The folder is missing, or may not be written.
  case cannotOpen(path: String, reason: String)
  /// The file is another program's database, or not a database.
  case foreign(path: String)
  /// The file was written by a newer release.
  case schemaTooNew(found: Int, known: Int)
  /// The file was written by a development version before 0.1.0 that was not the last of them.
  case unreleased(schema: Int)
  /// The engine does not sync its commits although it was told to.
  case notDurable(synchronous: Int64)
  /// Another process or connection holds the database for longer than `SQLiteStore.Options.busyTimeout`.
  case locked
  /// No space is left on the device, or the file has reached its bound.
  case full
  /// A user without a row cannot be stored as an author or member.
  case provisional(Int64)
  /// The stored data is invalid: a damaged file.
  case corrupt(String)
  /// The device failed or refuses writing.
  case device(code: Int32, String)
  /// The store was closed.
  case closed
  /// It is any other error of the engine.
  case engine(code: Int32, String)
}

extension StoreFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .cannotOpen(let path, let reason): "cannot open the database \(path): \(reason)"
    case .foreign(let path): "\(path) is not a Parley database"
    case .schemaTooNew(let found, let known):
      "the database has schema \(found), made by a newer release; this one knows schemas up to \(known)"
    case .unreleased(let schema):
      "the database has schema \(schema), made by a development version before 0.1.0: start the last of those versions "
        + "on it once, or export its users with the version that made it and import them"
    case .notDurable(let synchronous):
      "the database engine does not sync its commits (synchronous is \(synchronous), not 2)"
    case .locked: "the database is in use by another process"
    case .full: "no space is left for the database"
    case .provisional(let user): "the provisional id \(user) of a user elsewhere cannot be stored"
    case .corrupt(let what): "the database is damaged: \(what)"
    case .device(let code, let message): "the database's device failed: \(message) (SQLite \(code))"
    case .closed: "the database is closed"
    case .engine(let code, let message): "the database refused: \(message) (SQLite \(code))"
    }
  }
}

extension StoreFailure {
  /// Creates a failure from the engine's extended result code and message.
  init(code: Int32, message: String) {
    switch code & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED: self = .locked
    case SQLITE_FULL: self = .full
    case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt(message)
    case SQLITE_IOERR, SQLITE_READONLY, SQLITE_CANTOPEN: self = .device(code: code, message)
    default: self = .engine(code: code, message)
    }
  }

  /// Whether a statement was interrupted, as `Connection.metered` does.
  var isInterruption: Bool {
    if case .engine(let code, _) = self { code == SQLITE_INTERRUPT } else { false }
  }

  /// Creates a failure from the last error of a connection.
  init(_ connection: OpaquePointer?) {
    self.init(
      code: sqlite3_extended_errcode(connection),
      message: sqlite3_errmsg(connection).map { String(cString: $0) } ?? "no message")
  }
}
