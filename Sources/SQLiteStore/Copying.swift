import Dialogs
import GRDB
import GRDBSQLite

extension SQLiteStore {
  /// By `VACUUM INTO`, on a connection of its own: one snapshot, without free
  /// space, in a file that needs no other beside it. While it runs the
  /// write-ahead log cannot be started anew, so that it grows with what is
  /// written meanwhile.
  public func copy(to path: String) throws {
    var raw: OpaquePointer?
    defer { sqlite3_close(raw) }
    guard sqlite3_open_v2(pool.path, &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK else {
      throw StoreFailure(raw)
    }
    // The copy is synced as the database is. A small cache: pages pass once.
    guard sqlite3_exec(raw, "PRAGMA synchronous = FULL; PRAGMA cache_size = -2000", nil, nil, nil) == SQLITE_OK else {
      throw StoreFailure(raw)
    }
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(raw, "VACUUM INTO ?1", -1, &statement, nil) == SQLITE_OK, let statement else {
      throw StoreFailure(raw)
    }
    try Prepared(raw: statement).bind(1, path).run()
  }
}
