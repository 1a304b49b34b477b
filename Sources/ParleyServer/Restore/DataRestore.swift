import Accounts
import Administration
import Basics
import Crypto
import Dialogs
import Glibc
import SQLiteStore
package import ServerConfiguration

/// Puts a backup into a data folder. Until it is decided, nothing of what is there changes; whatever fails before,
/// leaves the folder as it was.
package struct DataRestore {
  private let settings: Settings
  /// Called with what is being done, which may take long.
  private let show: (String) -> Void

  package init(_ settings: Settings, show: @escaping (String) -> Void = { _ in }) {
    self.settings = settings
    self.show = show
  }

  /// Restores a backup.
  ///
  /// - Parameters:
  ///   - origin: Where the backup is.
  ///   - replacing: Whether data that is in the folder is replaced, and kept aside; otherwise it is refused.
  package func restore(_ origin: BackupOrigin, replacing: Bool) async throws(StartupError) -> RestoreReport {
    let source: any BackupSource
    do { source = try origin.source(settings) } catch { throw Self.told(error) }
    let isNew = !Files.exists(settings.data)
    let folder = try await DataFolder.hold(settings.data, for: .command)
    let place = InterruptedRestore(data: folder.path)
    do {
      try check(place, source, replacing: replacing)
      try prepare(source, in: place)
      var report = try await complete(source, in: place)
      report.replaced = try decide(place, at: SystemClock.now)
      report.note(folder, leftOut: source.leftOut)
      return report
    } catch {
      if place.isDecided {
        throw StartupError("the restore was decided and is not complete; the next command finishes it: \(error)")
      }
      Folder.remove(place.staging)
      if isNew { Folder.remove(folder.path) }
      throw Self.told(error)
    }
  }

  /// The names that may be in a folder that counts as empty: what an operator puts there before a restore, and what a
  /// command leaves.
  static let harmless: Set = [
    "lock", "admin.sock", "accounts.key", "webpush.key", "tokens.key", "first-start", "tls", "backups", "restoring",
    DataFolder.backupCopy, ".parley.db-litestream",
    "lost+found",
  ]

  private func check(_ place: InterruptedRestore, _ source: any BackupSource, replacing: Bool) throws(StartupError) {
    if let blobs = source.blobs, blobs == place.data + "/blobs" {
      throw StartupError("\(source.name) lies among the data itself; move it to another folder first")
    }
    guard !replacing else { return }
    let inside = Folder.names(place.data).filter { name in
      !Self.harmless.contains(name) && !name.hasPrefix("replaced-") && !name.hasPrefix(UnsentCopy.prefix)
        && place.data + "/" + name != source.name
    }
    if let first = inside.sorted().first {
      throw StartupError(
        "the data folder \(place.data) is not empty (\(first)); --replace keeps what is there aside, --data names another"
      )
    }
  }

  /// Copies the database and verifies the copy, so that the backup is only read.
  private func prepare(_ source: any BackupSource, in place: InterruptedRestore) throws {
    Folder.remove(place.staging)
    try Files.makeFolder(place.staging, mode: 0o700)
    show("copying \(source.name)")
    try source.copyDatabase(to: place.staging)
    let backup: BackupFile
    do {
      backup = try BackupFile(path: place.staging + "/parley.db")
    } catch StoreFailure.foreign {
      throw StartupError("\(source.name) is no backup of Parley")
    }
    show("verifying the database")
    let damage = try backup.damage()
    if let first = damage.first {
      throw StartupError("\(source.name) is damaged: \(Line.safe(first))" + (damage.count > 1 ? ", and more" : ""))
    }
    let domains = try backup.domains()
    guard settings.domains.contains(where: { domains.contains($0.name) }) else {
      let served = settings.domains.map(\.name).joined(separator: ", ")
      throw StartupError(
        "\(source.name) is of \(domains.joined(separator: ", ")), and the configuration serves \(served); a backup keeps its "
          + "domains: set domain to \(domains.first ?? "one of them"), or name another backup")
    }
  }

  /// Brings the copy to this release's schema, begins its epoch, and gathers the files that it names.
  private func complete(_ source: any BackupSource, in place: InterruptedRestore) async throws -> RestoreReport {
    show("preparing the database")
    let database = place.staging + "/parley.db"
    let missing = try BackupFile(path: database).missingMigrations()
    let store = try SQLiteStore(path: database)
    var report: RestoreReport
    do {
      let now = SystemClock.now
      let actor = AuditActor(.folder, name: "uid \(getuid())", origin: "process \(getpid())")
      let (head, epoch, domains, users) = try store.write { writer in
        let head = try writer.head()
        let realms = try writer.realms().filter { !$0.id.isRemote }
        let users = try realms.reduce(0) { $0 + (try writer.userCount(in: $1.id)) }
        let epoch = try writer.beginEpoch(at: now)
        try writer.insert(
          AuditRecord(
            actor: actor, time: now, operation: "restore", object: source.name, status: 200, code: ""),
          keeping: AccountLimits.auditRecordsMax, since: .earliest)
        return (head, epoch, realms.map(\.domain), users)
      }
      try store.close()
      report = RestoreReport(
        backup: source.name, data: place.data, domains: domains, users: users, position: head.position.number,
        lastEntryAt: head.position == .zero ? nil : head.time.description, migrations: missing,
        epoch: Int64(epoch.number))
    } catch {
      try? store.close()
      throw error
    }
    report.unserved = report.domains.filter { name in !settings.domains.contains { $0.name == name } }
    report.added = settings.domains.map(\.name).filter { !report.domains.contains($0) }
    if settings.uploads?.bucket == nil {
      show("gathering files of users")
      report.files = try gather(source, in: place)
    }
    return report
  }

  /// Puts the files that the database names into the staging folder: copies from the backup, whose hash is verified, and
  /// links to those that are in the data folder already.
  private func gather(_ source: any BackupSource, in place: InterruptedRestore) throws -> RestoreReport.Files {
    var told = RestoreReport.Files()
    let (prepared, present) = (place.staging + "/blobs", place.data + "/blobs")
    try Files.makeFolder(prepared, mode: 0o700)
    var shards: Set<String> = []
    try BackupFile(path: place.staging + "/parley.db").forEachFile { file in
      for part in BlobName.Part.allCases where part == .file || file.hasThumbnail {
        let name = BlobName(file.id, part)
        let target = BackupFolder.file(name, in: prepared)
        let shard = String(target.dropLast(name.description.utf8.count + 1))
        if shards.insert(shard).inserted { try Files.makeFolder(shard, mode: 0o700) }
        let expected = part == .file ? file : nil
        var hash = SHA256()
        if let size = try source.copy(name, to: target, &hash) {
          if expected?.isMade(of: size, hash) ?? true {
            if part == .file { told.copied += 1 }
            continue
          }
          unlink(target)
          told.damaged.append(file.id.description)
        }
        let own = BackupFolder.file(name, in: present)
        if let size = Files.size(own), expected.map({ $0.size == size }) ?? true {
          if link(own, target) != 0 { throw Files.Failure(path: target, code: errno) }
          if part == .file { told.kept += 1 }
        } else if part == .file {
          told.missing += 1
          if told.missingNames.count < ServerLimits.missingFilesShown { told.missingNames.append(file.id.description) }
          break
        }
      }
    }
    for shard in shards { try Folder.sync(shard) }
    try Folder.sync(prepared)
    return told
  }

  /// Puts everything into its place. Returns the folder of the former data; nil if there was none.
  private func decide(_ place: InterruptedRestore, at now: Timestamp) throws -> String? {
    guard place.hasData else {
      try place.decide(aside: "")
      try place.settle()
      return nil
    }
    let name = "replaced-" + now.description.filter { $0 != ":" }
    let aside = place.data + "/" + name
    do {
      try Files.makeFolder(aside, mode: 0o700)
      try Folder.sync(place.data)
      try place.decide(aside: name)
    } catch {
      rmdir(aside)
      throw error
    }
    try place.settle()
    return aside
  }

  private static func told(_ error: any Error) -> StartupError {
    switch error {
    case let refusal as StartupError: refusal
    case let failure as Files.Failure:
      StartupError("nothing was restored: \(failure.path): \(failure.reason)")
    case let failure as BlobFailure: StartupError("nothing was restored: \(failure.description)")
    case let failure as StoreFailure: StartupError("nothing was restored: \(failure.description)")
    default: StartupError("nothing was restored: \(error)")
    }
  }
}

extension BackupFile.File {
  /// Whether bytes of this number and hash are the file that the database names.
  fileprivate func isMade(of size: Int64, _ hash: SHA256) -> Bool {
    size == self.size && (sha256.map { Array(hash.finalize()) == $0 } ?? true)
  }
}
