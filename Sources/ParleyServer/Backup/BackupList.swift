package import Basics
import Glibc
import Logging
package import ServerConfiguration

/// The backups that are in a place, as `parley backup --list` shows them.
package enum BackupList {
  package struct Row: Encodable, Sendable {
    package let name: String
    /// nil if the name has none.
    package let createdAt: Timestamp?
    package let databaseBytes: Int64
    /// The number of users' files; nil if that is known only to the database.
    package let files: Int?
  }

  /// The backups in a folder, the oldest first.
  package static func rows(in folder: String) -> [Row] {
    BackupFolder(path: folder).databases.map { path in
      let file = String(path.dropFirst(folder.count + 1))
      return Row(
        name: file, createdAt: BackupName(file: file, ending: ".db")?.time, databaseBytes: Files.size(path) ?? 0,
        files: nil)
    }
  }

  /// The complete backups in the bucket of the configuration, the oldest first.
  package static func rowsInBucket(_ settings: Settings) throws -> [Row] {
    guard let options = settings.backups.bucket else { throw BackupBucket.notConfigured }
    let place = BackupBucket(
      options, authorities: settings.outgoing.authorities, logger: ServerLog(level: .warning).logger("parley"))
    return try place.names().complete.compactMap { name in
      try place.manifest(name).map {
        Row(name: name.description, createdAt: $0.createdAt, databaseBytes: $0.databaseBytes, files: $0.files)
      }
    }
  }
}

extension BackupBucket {
  static let notConfigured = StartupError("no bucket for backups is configured: set backup.s3 or uploads.s3", .usage)
}
