import Basics
import Crypto
import Dialogs
import FileStorage
import Logging
import ServerConfiguration

/// The place from which a restore reads a backup.
package enum BackupOrigin: Sendable {
  /// A database, or a folder of backups, of which the newest is taken.
  case path(String)
  /// The bucket of the configuration; without a name the newest backup in it.
  case bucket(name: String?)

  func source(_ settings: Settings) throws -> any BackupSource {
    switch self {
    case .path(let path): return try FolderSource(path)
    case .bucket(let name): return try BucketSource(settings, name: name)
    }
  }
}

/// A backup that is only read.
protocol BackupSource {
  /// Its name, for the operator.
  var name: String { get }
  /// A line for each file in its place that was not considered, with the reason; empty if the backup was named.
  var leftOut: [String] { get }
  /// The folder of users' files; nil if there is none on this machine.
  var blobs: String? { get }
  /// Copies the database into a folder, as `parley.db` with what belongs to it.
  func copyDatabase(to folder: String) throws
  /// Copies a user's file into a new file and adds its bytes to a hash. Returns their number; nil if there is no such file.
  func copy(_ file: BlobName, to target: String, _ hash: inout SHA256) throws -> Int64?
}

private struct FolderSource: BackupSource {
  let name: String
  let leftOut: [String]
  let blobs: String?

  init(_ path: String) throws(StartupError) {
    if Files.exists(path + "/") {
      do throws(Files.Failure) { try Folder.check(path) } catch {
        throw StartupError("the folder \(path) cannot be read: \(error.reason)")
      }
      let folder = BackupFolder(path: path)
      leftOut = folder.leftOut
      guard let newest = folder.databases.last else {
        throw StartupError(
          lines: ["\(path) is a folder without a backup: there is no parley-<time>.db in it"]
            + leftOut.map { "left out: \($0)" }, .failure)
      }
      name = newest
    } else if Files.exists(path) {
      (name, leftOut) = (path, [])
    } else {
      throw StartupError("there is no backup \(path)")
    }
    let database = name
    let beside = (database.lastIndex(of: "/").map { String(database[..<$0]) } ?? "") + "/blobs"
    blobs = Files.exists(beside + "/") ? beside : nil
  }

  func copyDatabase(to folder: String) throws {
    for ending in ["", "-wal"] where ending.isEmpty || Files.exists(name + ending) {
      try Folder.read(name + ending) { next in
        try Folder.write(folder + "/parley.db" + ending, next: next)
      }
    }
  }

  func copy(_ file: BlobName, to target: String, _ hash: inout SHA256) throws -> Int64? {
    guard let path = blobs.map({ BackupFolder.file(file, in: $0) }), Files.exists(path) else { return nil }
    var size: Int64 = 0
    try Folder.read(path) { next in
      try Folder.write(target) {
        let bytes = try next()
        hash.update(data: bytes)
        size += Int64(bytes.count)
        return bytes
      }
    }
    return size
  }
}

private struct BucketSource: BackupSource {
  let name: String
  let leftOut: [String]
  let blobs: String? = nil
  private let place: BackupBucket
  private let key: BackupName
  private let manifest: BackupBucket.Manifest

  init(_ settings: Settings, name wanted: String?) throws {
    guard let options = settings.backups.bucket else { throw BackupBucket.notConfigured }
    place = BackupBucket(
      options, authorities: settings.outgoing.authorities, logger: ServerLog(level: .warning).logger("parley"))
    let found: BackupName?
    if let wanted {
      found = BackupName(file: wanted, ending: "")
      leftOut = []
    } else {
      let names = try place.names()
      found = names.complete.last
      leftOut = BackupBucket.leftOut(names)
    }
    let told = place.bucket.name(of: wanted ?? "")
    guard let found, let manifest = try place.manifest(found) else {
      throw StartupError(wanted == nil ? "there is no backup in \(told)" : "there is no backup \(told)")
    }
    (key, self.manifest) = (found, manifest)
    name = place.bucket.name(of: found.description + ".db")
  }

  func copyDatabase(to folder: String) throws {
    var hash = SHA256()
    guard try copy(key.description + ".db", to: folder + "/parley.db", &hash) != nil else {
      throw StartupError("\(name) is missing")
    }
    guard Hex.string(hash.finalize()) == manifest.sha256 else {
      throw StartupError("\(name) is damaged: its bytes are not those that its manifest names")
    }
  }

  func copy(_ file: BlobName, to target: String, _ hash: inout SHA256) throws -> Int64? {
    try copy(BackupBucket.key(file), to: target, &hash)
  }

  private func copy(_ object: String, to target: String, _ hash: inout SHA256) throws -> Int64? {
    guard var reader = try ObjectReader(place.bucket, object) else { return nil }
    var size: Int64 = 0
    try Folder.write(target) {
      let bytes = try reader.next()
      hash.update(data: bytes)
      size += Int64(bytes.count)
      return bytes
    }
    return size
  }
}
