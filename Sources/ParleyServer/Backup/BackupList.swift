package import Basics
import Glibc
import Logging
package import ServerConfiguration

/// The backups that are in a place, as `parley backup --list` shows them.
package struct BackupList: Sendable {
  package let rows: [Row]
  /// A line for each file that is no backup: its name and the reason.
  package let leftOut: [String]

  package struct Row: Encodable, Sendable {
    package let name: String
    /// nil if the name has none.
    package let createdAt: Timestamp?
    package let databaseBytes: Int64
    /// The number of users' files; nil if that is known only to the database.
    package let files: Int?
  }

  /// Returns the backups in a folder, the oldest first.
  package static func ofFolder(_ folder: String) throws(StartupError) -> BackupList {
    do throws(Files.Failure) { try Folder.check(folder) } catch {
      throw StartupError("the folder \(folder) cannot be read: \(error.reason)")
    }
    let place = BackupFolder(path: folder)
    let rows = place.databases.map { path in
      let file = String(path.dropFirst(folder.count + 1))
      return Row(
        name: file, createdAt: BackupName(file: file, ending: ".db")?.time, databaseBytes: Files.size(path) ?? 0,
        files: nil)
    }
    return BackupList(rows: rows, leftOut: place.leftOut)
  }

  /// Returns the complete backups in the bucket of the configuration, the oldest first.
  package static func ofBucket(_ settings: Settings) throws -> BackupList {
    guard let options = settings.backups.bucket else { throw BackupBucket.notConfigured }
    let place = BackupBucket(
      options, authorities: settings.outgoing.authorities, logger: ServerLog(level: .warning).logger("parley"))
    let names = try place.names()
    let rows = try names.complete.compactMap { name in
      try place.manifest(name).map {
        Row(name: name.description, createdAt: $0.createdAt, databaseBytes: $0.databaseBytes, files: $0.files)
      }
    }
    return BackupList(rows: rows, leftOut: BackupBucket.leftOut(names))
  }
}

extension BackupBucket {
  /// Returns a line about the backups that are not complete; none if all are.
  static func leftOut(_ names: (complete: [BackupName], all: Set<BackupName>)) -> [String] {
    let incomplete = names.all.subtracting(names.complete).sorted().map(\.description)
    return incomplete.isEmpty ? [] : ["\(DataFolder.listed(incomplete)): not complete, without a .json"]
  }

  static let notConfigured = StartupError("no bucket for backups is configured: set backup.s3 or uploads.s3", .usage)
}
