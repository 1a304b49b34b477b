import Basics
package import Dialogs

/// Writes a consistent copy of the database, and of users' files if they are asked for, while the server runs.
package enum Backup: AdminOperation {
  package static let name = "backup"

  package struct Input: Codable, Sendable {
    /// An absolute path, since server and command may have different working directories: the file to make; with `files`
    /// the folder. nil for the bucket of the configuration, which always gets users' files, too.
    let path: String?
    /// Whether the folder gets users' files, too.
    let files: Bool
    /// The number of databases that stay in the place, the newest; older ones are removed.
    let keep: Int
    package init(path: String?, files: Bool = false, keep: Int = 1) {
      self.path = path
      self.files = files
      self.keep = keep
    }
  }

  package struct Output: Codable, Hashable, Sendable {
    /// The file of the database; in a bucket its URL.
    package let path: String
    package let bytes: Int64
    /// The outcome for users' files; nil if they were not asked for.
    package var files: Files?

    package struct Files: Codable, Hashable, Sendable {
      /// The files that the database names, and those of them that were copied now.
      package var named = 0
      package var copied = 0
      package var copiedBytes: Int64 = 0
      /// The files that were deleted while the backup was made.
      package var missing = 0
      /// The files that no database in the place names any more, and the databases beyond `keep`; both are removed.
      package var removed = 0
      package var removedDatabases = 0

      package init() {}
    }

    package init(path: String, bytes: Int64) {
      self.path = path
      self.bytes = bytes
    }
  }

  /// The time for a large database, minutes and more.
  package static let answerWait = AdminLimits.backupWait

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    if let path = input.path, !path.hasPrefix("/") || path.contains("\0") {
      throw Problem(.malformed, "path-relative", "The path of a backup must begin with a slash.", field: "path")
    }
    guard (1...AdminLimits.backupsKeptMax).contains(input.keep) else {
      throw Problem(
        .malformed, "keep-out-of-range", "keep must be from 1 to \(AdminLimits.backupsKeptMax).", field: "keep")
    }
    guard let backups = context.backups else {
      throw Problem(.unsupported, "backup-absent", "This store has no backup of its own.")
    }
    guard let path = input.path else { return try await backups.addToBucket(keeping: input.keep) }
    return input.files ? try await backups.add(to: path, keeping: input.keep) : try await backups.write(to: path)
  }

  package static func object(of input: Input) -> String { input.path ?? "s3" }
}

/// The writing of backups.
package protocol BackupWriter: Sendable {
  /// Writes the database into a new file.
  func write(to path: String) async throws(Problem) -> Backup.Output
  /// Adds the database and users' files to a folder of backups, which is made if it is missing. Files that are there
  /// already are not copied again.
  ///
  /// - Parameter keep: The number of databases that stay; files that none of them names are removed at the end.
  func add(to folder: String, keeping keep: Int) async throws(Problem) -> Backup.Output
  /// Does the same in the bucket of the configuration.
  func addToBucket(keeping keep: Int) async throws(Problem) -> Backup.Output
}
