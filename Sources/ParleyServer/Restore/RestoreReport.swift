import Administration
import Basics

/// The report of a restore, for the operator.
package struct RestoreReport: Encodable, Sendable {
  package struct Files: Encodable, Sendable {
    /// The files that were copied from the backup, and those that were in the data folder already.
    package var copied = 0
    package var kept = 0
    /// The files that the database names and nobody has: they are answered with 404.
    package var missing = 0
    /// The first of these, and the files of the backup that are not what they were.
    package var missingNames: [String] = []
    package var damaged: [String] = []
  }

  package let backup: String
  package let data: String
  package let domains: [String]
  package let users: Int
  /// The last position of the log, behind which the new epoch begins.
  package let position: Int64
  package let lastEntryAt: String?
  /// The steps by which the database was brought to this release's schema.
  package let migrations: Int
  package let epoch: Int64
  /// Domains of the backup that the configuration does not serve, and the other way round.
  package var unserved: [String] = []
  package var added: [String] = []
  /// nil if files are in a bucket, which is left as it is.
  package var files: Files?
  /// The folder with the former data; nil if there was none.
  package var replaced: String?
  /// The steps that remain to be done.
  package private(set) var notes: [String] = []

  init(
    backup: String, data: String, domains: [String], users: Int, position: Int64, lastEntryAt: String?,
    migrations: Int, epoch: Int64
  ) {
    self.backup = backup
    self.data = data
    self.domains = domains
    self.users = users
    self.position = position
    self.lastEntryAt = lastEntryAt
    self.migrations = migrations
    self.epoch = epoch
  }

  /// Adds what the operator should know.
  mutating func note(_ folder: DataFolder, leftOut: [String]) {
    notes += leftOut.map { "Left out: \($0)." }
    for domain in unserved { notes.append("\(domain) is in the backup and not served by the configuration.") }
    for domain in added { notes.append("\(domain) is not in the backup: it begins empty.") }
    if let files, files.missing > 0 {
      notes.append(
        "Files of users that are missing: \(files.missing), such as \(files.missingNames[0]). Put them into "
          + "\(data)/blobs.")
    }
    if let damaged = files?.damaged, let first = damaged.first {
      notes.append("Files of the backup that are damaged: \(damaged.count), such as \(first).")
    }
    if files == nil { notes.append("Files of users are in a bucket, which was left as it is and not looked at.") }
    for (key, loss) in [
      (folder.accountKey, "second factors must be turned off"), (folder.webPushKeyFile, "browsers subscribe anew"),
    ] where !Basics.Files.exists(key) {
      notes.append("\(key) is missing: put your copy there before the start, or \(loss).")
    }
    if let replaced {
      notes.append("The former data is in \(replaced). Remove it when all is well.")
    }
    notes.append(
      "Passwords, logins and app keys are those of the backup: what was revoked since is valid again.")
  }

  package var lines: [String] {
    var lines = [
      "Restored \(backup) to \(data): \(ProgressBar.counted(users, "users")) of \(domains.joined(separator: ", ")), "
        + "log up to \(position)"
        + (lastEntryAt.map { ", \($0)." } ?? ".")
    ]
    if migrations > 0 { lines.append("It is of an older release; its schema was brought up to date.") }
    if let files {
      lines.append("Files of users: \(files.copied) copied, \(files.kept) kept, \(files.missing) missing.")
    }
    return lines + notes
  }
}
