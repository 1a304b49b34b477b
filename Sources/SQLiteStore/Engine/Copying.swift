import Dialogs

extension SQLiteStore {
  /// Copies by `VACUUM INTO`, on a connection of its own: one snapshot, without free space, in a file that needs no
  /// other beside it. While it runs the write-ahead log cannot be restarted, so that it grows with everything written
  /// meanwhile.
  public func copy(to target: String) throws {
    let connection = try Connection(path: path, cacheBytes: StoreLimits.copyCacheBytes)
    // The copy is synced as the database is.
    try connection.execute("PRAGMA synchronous = FULL")
    try connection.once("VACUUM INTO ?1") { try $0.bind(target).run() }
  }
}
