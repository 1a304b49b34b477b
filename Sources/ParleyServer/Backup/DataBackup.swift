package import Administration
import Basics
package import Dialogs
import Dispatch
import Glibc
import SQLiteStore
import Synchronization

/// Writes backups of the database and of users' files, while posts go on.
package struct DataBackup: BackupWriter {
  private let parley: Parley
  /// The bytes of users' files; nil if there are none.
  private let files: (any BlobStore)?
  /// Opens the bucket of backups, for the time of one backup; nil if there is none.
  private let bucket: (@Sendable () -> BackupBucket)?
  /// The folder where a database is copied before it is sent to the bucket.
  private let folder: String
  private let bucketLock = BucketLock()
  let running = RunningBackups()

  /// - Parameter folder: The data folder.
  init(_ parley: Parley, files: (any BlobStore)?, bucket: (@Sendable () -> BackupBucket)?, folder: String) {
    self.parley = parley
    self.files = files
    self.bucket = bucket
    self.folder = folder
  }

  package func write(to path: String) async throws(Problem) -> Backup.Output {
    try await running.run { () throws(Problem) in try await write(to: path) { _ in }.output }
  }

  /// Copies the database.
  ///
  /// - Parameter body: Called with the path of the copy before it has its name.
  private func write<Value: Sendable>(
    to path: String, _ body: @escaping @Sendable (_ part: String) throws -> Value
  ) async throws(Problem) -> (output: Backup.Output, value: Value) {
    if Files.exists(path) { throw Self.refused(Files.Failure(path: path, code: EEXIST)) }
    // The copy has another name until it is complete, so that a file of the given name is always a backup. The file is
    // created here, readable for its owner only; the engine fills an empty file.
    let part = path + ".part"
    unlink(part)
    let file = Files.create(part)
    guard file >= 0 else { throw Self.refused(Files.Failure(path: path, code: errno)) }
    defer {
      close(file)
      unlink(part)
    }
    try await parley.copy(to: part, until: running.cancellation)
    let value = try await Self.blocking { try body(part) }
    let bytes = lseek(file, 0, SEEK_END)
    guard fsync(file) == 0, bytes >= 0, link(part, path) == 0 else {
      throw Self.refused(Files.Failure(path: path, code: errno))
    }
    // The name must be as durable as the content.
    try await Self.blocking { try Folder.sync(Self.folder(of: path)) }
    return (Backup.Output(path: path, bytes: Int64(bytes)), value)
  }

  package func add(to path: String, keeping keep: Int) async throws(Problem) -> Backup.Output {
    try await running.run { () throws(Problem) in try await addNow(to: path, keeping: keep) }
  }

  private func addNow(to path: String, keeping keep: Int) async throws(Problem) -> Backup.Output {
    let folder = BackupFolder(path: path)
    let lock = try await Self.blocking {
      do throws(Files.Failure) { try Files.makeFolder(path, mode: 0o700) } catch { throw Self.refused(error, in: path) }
      return try Lock(path + "/lock")
    }
    defer { lock.release() }
    let (files, cancellation) = (files, running.cancellation)
    let made = try await write(to: folder.database(at: parley.clock.now)) { part in
      try Self.copy(files, namedBy: part, to: folder, cancellation)
    }
    var output = made.output
    output.files = try await Self.blocking { try Self.prune(folder, keeping: keep, made.value) }
    return output
  }

  /// A backup that somebody asks for is of the present; what an earlier attempt has left is removed.
  package func addToBucket(keeping keep: Int) async throws(Problem) -> Backup.Output {
    try await running.run { () throws(Problem) in try await addToBucketNow(keeping: keep, continues: false) }
  }

  /// Adds a backup to the bucket, or what is missing there of one that an earlier attempt has begun. A failure leaves what is
  /// there to the next attempt.
  func continueInBucket(keeping keep: Int) async throws(Problem) -> Backup.Output {
    try await running.run { () throws(Problem) in try await addToBucketNow(keeping: keep, continues: true) }
  }

  private func addToBucketNow(keeping keep: Int, continues: Bool) async throws(Problem) -> Backup.Output {
    guard let bucket = bucket?() else {
      throw Problem(
        .unsupported, "bucket-absent", "No bucket for backups is configured: set backup.s3 or uploads.s3.")
    }
    try bucketLock.take()
    defer { bucketLock.release() }
    running.use(bucket)
    let (files, now, folder, cancellation) = (files, parley.clock.now, folder, running.cancellation)
    if !continues { UnsentCopy.removeAll(in: folder) }
    let unsent = UnsentCopy.find(in: folder, at: now)
    let name = try await Self.blocking {
      try bucket.begin(continuing: unsent?.name)
      let taken = try bucket.names().all
      return unsent?.name ?? BackupName(at: now) { taken.contains($0) }
    }
    // The database is copied here first: it is sent as it was at one moment, for as long as that takes.
    let copy = UnsentCopy(of: name, in: folder)
    if unsent == nil {
      let part = folder + "/" + DataFolder.backupCopy
      unlink(part)
      defer { unlink(part) }
      try Self.make(part)
      try await parley.copy(to: part, until: running.cancellation)
      try await Self.blocking { try Folder.rename(part, copy.path) }
    }
    do throws(Problem) {
      let output = try await Self.blocking {
        var output = try bucket.add(copy.path, as: name, files: files, cancellation)
        output.files = try bucket.prune(keeping: keep, output.files ?? Backup.Output.Files())
        Folder.removeInSlices(copy.path)
        return output
      }
      return output
    } catch {
      if !continues {
        unlink(copy.path)
        // What cannot be aborted now is when the next backup begins.
        _ = try? await Self.blocking { try bucket.begin() }
      }
      throw error
    }
  }

  /// Returns the time of the newest backup in the bucket; nil if there is none.
  func newestInBucket() async throws(Problem) -> Timestamp? {
    guard let bucket = bucket?() else { return nil }
    return try await running.run { () throws(Problem) in
      running.use(bucket)
      return try await Self.blocking { try bucket.names().complete.last?.time }
    }
  }

  /// Copies the files that a database names and the folder lacks.
  private static func copy(
    _ files: (any BlobStore)?, namedBy database: String, to folder: BackupFolder, _ cancellation: Cancellation
  ) throws -> Backup.Output.Files {
    var told = Backup.Output.Files()
    guard let files else { return told }
    var shards: Set<String> = []
    try BackupFile(path: database).forEachFile { file in
      try cancellation.check()
      told.named += 1
      for part in BlobName.Part.allCases where part == .file || file.hasThumbnail {
        let name = BlobName(file.id, part)
        let target = BackupFolder.file(name, in: folder.blobs)
        // Only complete ones have their names; the size shows a file that something else has cut off.
        if let size = Files.size(target), part == .thumbnail || size == file.size { continue }
        let shard = Self.folder(of: target)
        if shards.insert(shard).inserted { try Files.makeFolder(shard, mode: 0o700) }
        guard let reader = try files.open(name) else {
          if part == .file { told.missing += 1 }
          break
        }
        var offset: Int64 = 0
        try Folder.write(target + ".part") {
          try cancellation.check()
          let bytes = try reader.read(at: offset, count: ServerLimits.copiedAtOnce)
          offset += Int64(bytes.count)
          return bytes
        }
        try Folder.rename(target + ".part", target)
        if part == .file { told.copied += 1 }
        told.copiedBytes += offset
      }
    }
    for shard in shards { try Folder.sync(shard) }
    if !shards.isEmpty { try Folder.sync(folder.blobs) }
    return told
  }

  /// Removes the oldest databases beyond `keep`, and then the files that none of the others names.
  private static func prune(
    _ folder: BackupFolder, keeping keep: Int, _ told: Backup.Output.Files
  ) throws -> Backup.Output.Files {
    var told = told
    let databases = folder.databases
    folder.removeRemains()
    for old in databases.dropLast(keep) {
      try folder.remove(old)
      told.removedDatabases += 1
    }
    var named: Set<BlobID> = []
    for database in databases.suffix(keep) {
      try BackupFile(path: database).forEachFile { named.insert($0.id) }
    }
    folder.forEachFile { path, id in
      if let id, named.contains(id) { return }
      if unlink(path) == 0, !path.hasSuffix("-" + BlobName.Part.thumbnail.rawValue) { told.removed += 1 }
    }
    return told
  }

  /// Makes an empty file that its owner alone may read; the engine fills it.
  private static func make(_ path: String) throws(Problem) {
    let file = Files.create(path)
    guard file >= 0 else { throw refused(Files.Failure(path: path, code: errno)) }
    close(file)
  }

  private static func folder(of path: String) -> String {
    let end = path.lastIndex(of: "/") ?? path.startIndex
    return end == path.startIndex ? "/" : String(path[..<end])
  }

  /// Runs what waits for the disk on a thread of its own.
  private static func blocking<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws(Problem) -> Value {
    let result: Result<Value, Problem> = await withCheckedContinuation { continuation in
      DispatchQueue(label: "parley.backup", qos: .utility).async {
        do {
          continuation.resume(returning: .success(try body()))
        } catch {
          continuation.resume(returning: .failure(refused(error)))
        }
      }
    }
    return try result.get()
  }

  private static func refused(_ error: any Error) -> Problem {
    switch error {
    case let problem as Problem: problem
    case let failure as Files.Failure where failure.code == EEXIST:
      Problem(
        .conflict, "file-exists", "\(failure.path) is there already; name another one, or remove it.", field: "path")
    case let failure as Files.Failure: refused(failure, in: Self.folder(of: failure.path))
    case let failure as BlobFailure:
      Problem(.internal, "backup-failed", "The backup could not be written.", reason: failure.description)
    default: Problem(.internal, "backup-failed", "The backup could not be written.", reason: "\(error)")
    }
  }

  /// Returns the error of a file that could not be written. The user who asks for a backup, often root, may be able to write what
  /// the server's user may not.
  ///
  /// - Parameter folder: The folder that the user must be able to write to.
  private static func refused(_ failure: Files.Failure, in folder: String) -> Problem {
    var text = "\(failure.path) cannot be made: \(failure.reason)."
    if [EACCES, EPERM, EROFS, ENOENT].contains(failure.code) {
      let user = SystemUser.current
      text += " It is written as \(user.name)"
      if failure.code == EROFS {
        text += ", under systemd only to the folders of ReadWritePaths= (sudo systemctl edit parley)"
      }
      text +=
        (try? Files.isMissing(folder)) == true
        ? "; create the folder: \(DataFolder.creating(folder, for: user))"
        : "; name a folder that this user may write to."
    }
    return Problem(.conflict, "file-refused", text, field: "path")
  }

  /// One backup at a time is added to the bucket.
  private final class BucketLock: Sendable {
    private let isTaken = Mutex(false)

    func take() throws(Problem) {
      let isFree = isTaken.withLock { isTaken in
        defer { isTaken = true }
        return !isTaken
      }
      if !isFree { throw Problem(.conflict, "backup-running", "Another backup is being added to the bucket.") }
    }

    func release() { isTaken.withLock { $0 = false } }
  }

  /// The lock of a folder of backups: one is added at a time.
  private final class Lock: Sendable {
    private let file: Int32

    init(_ path: String) throws {
      file = Files.openOrCreate(path)
      guard file >= 0 else { throw Files.Failure(path: path, code: errno) }
      guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
        close(file)
        throw Problem(.conflict, "backup-running", "Another backup is being added to this folder.", field: "path")
      }
    }

    func release() {
      _ = flock(file, LOCK_UN)
      close(file)
    }
  }
}
