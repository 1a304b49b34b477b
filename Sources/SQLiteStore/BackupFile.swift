import CSQLite
public import Dialogs

/// The file of a backup: a database that no store has open. It is only read.
public struct BackupFile {
  /// A file of a user that the backup names.
  public struct File: Sendable {
    public let id: BlobID
    public let size: Int64
    public let sha256: [UInt8]?
    public let hasThumbnail: Bool
  }

  private let connection: Connection

  /// Opens a file.
  ///
  /// - Throws: A `StoreFailure` if it is no database of Parley, of a newer release, or of a version that is too old to be upgraded.
  public init(path: String) throws {
    connection = try Connection(path: path, cacheBytes: StoreLimits.copyCacheBytes)
    guard try connection.int("SELECT count(*) FROM sqlite_schema") ?? 0 > 0 else {
      throw StoreFailure.foreign(path: path)
    }
    try Migration.check(connection, path)
  }

  /// Checks the whole file, and returns the engine's report of damage, at most ten lines.
  public func damage() throws -> [String] {
    let lines = try connection.once("PRAGMA integrity_check(10)") { try $0.all { $0.text(0) } }
    return lines == ["ok"] ? [] : lines
  }

  /// The number of this release's steps that the schema lacks.
  public func missingMigrations() throws -> Int { try Migration.missing(connection) }

  /// The domains whose users are in it.
  public func domains() throws -> [String] {
    try connection.once("SELECT domain FROM realms WHERE id > 0 ORDER BY id") { try $0.all { $0.text(0) } }
  }

  /// Calls `body` with each file that is stored, in the order of the ids.
  public func forEachFile(_ body: (File) throws -> Void) throws {
    try connection.once(
      "SELECT id, size, sha256, thumbnail_width IS NOT NULL FROM blobs WHERE state = 1 ORDER BY id"
    ) {
      try $0.forEach { row in
        try body(
          File(
            id: try Reader.id(row.bytes(0)), size: row.int(1), sha256: row.bytesOrNil(2), hasThumbnail: row.int(3) != 0)
        )
      }
    }
  }
}
