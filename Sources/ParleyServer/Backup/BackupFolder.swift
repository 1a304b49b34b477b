import Basics
import Dialogs
import Glibc

/// A folder of backups: databases `parley-<time>.db`, and the users' files that they name, `blobs/<two digits>/<name>`.
/// A file never changes under its name, so that all databases share them.
struct BackupFolder {
  let path: String

  var blobs: String { path + "/blobs" }

  /// The path of a new database.
  func database(at time: Timestamp) -> String {
    "\(path)/\(BackupName(at: time) { Files.exists("\(path)/\($0).db") }).db"
  }

  /// Removes a database. It is none from the beginning on, so that one whose removal was cut off is never taken for a backup.
  func remove(_ database: String) throws(Files.Failure) {
    try Folder.rename(database, database + Self.removedEnding)
    Folder.removeInSlices(database + Self.removedEnding)
  }

  /// Removes what is left of a database whose removal was cut off.
  func removeRemains() {
    for name in Folder.names(path) where name.hasSuffix(".db" + Self.removedEnding) {
      Folder.removeInSlices("\(path)/\(name)")
    }
  }

  private static let removedEnding = ".removed"

  /// The paths of the databases, the oldest first.
  var databases: [String] {
    Folder.names(path).compactMap { BackupName(file: $0, ending: ".db") }.sorted().map { "\(path)/\($0).db" }
  }

  /// The files of the folder that are none of its backups.
  private enum Other: String, CaseIterable {
    case database = "a database without a name like parley-<time>.db; parley restore takes it by its path"
    case incomplete = "not complete"
    case removed = "being removed"
    case foreign = "no backup"
  }

  /// Returns a line for each kind of what is in the folder and none of its backups: the names and the reason.
  var leftOut: [String] {
    let names = Set(Folder.names(path)).subtracting(["blobs", "lock"])
    var found: [Other: [String]] = [:]
    for name in names.sorted() where BackupName(file: name, ending: ".db") == nil {
      // The log of a database, and its index, are parts of it.
      if ["-wal", "-shm"].contains(where: { name.hasSuffix($0) && names.contains(String(name.dropLast($0.count))) }) {
        continue
      }
      let kind: Other =
        if name.hasSuffix(".part") {
          .incomplete
        } else if name.hasSuffix(".db" + Self.removedEnding) {
          .removed
        } else {
          Self.isDatabase("\(path)/\(name)") ? .database : .foreign
        }
      found[kind, default: []].append(name)
    }
    return Other.allCases.compactMap { kind in found[kind].map { "\(DataFolder.listed($0)): \(kind.rawValue)" } }
  }

  /// Whether a file begins as the engine's databases do (the file format of SQLite, 1.3.1).
  private static func isDatabase(_ path: String) -> Bool {
    guard let status = Files.status(path), status.mode & S_IFMT == S_IFREG else { return false }
    let head = Array("SQLite format 3\0".utf8)
    return (try? Folder.read(path) { next in try next().starts(with: head) }) == true
  }

  static func file(_ name: BlobName, in blobs: String) -> String { "\(blobs)/\(name.description.prefix(2))/\(name)" }

  /// Calls `body` with the paths of all files of users.
  func forEachFile(_ body: (_ path: String, _ id: BlobID?) -> Void) {
    for shard in Folder.names(blobs) {
      for name in Folder.names("\(blobs)/\(shard)") {
        body("\(blobs)/\(shard)/\(name)", BlobID(name.prefix(32)))
      }
    }
  }
}

/// Functions that `Files` lacks: for folders, and for large files.
enum Folder {
  /// Makes sure that the names in a folder can be read.
  static func check(_ path: String) throws(Files.Failure) {
    guard let folder = opendir(path) else { throw Files.Failure(path: path, code: errno) }
    closedir(folder)
  }

  /// Returns the names in a folder; none if it cannot be read.
  static func names(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Removes a file, or a folder with everything in it; nothing if there is none.
  static func remove(_ path: String) {
    if unlink(path) == 0 || errno == ENOENT { return }
    for name in names(path) { remove(path + "/" + name) }
    rmdir(path)
  }

  /// Removes a large file in slices, which leaves the disk to others between them. A file system that tells its disk of
  /// freed blocks (`discard`) does so while its journal is written, and the syncs of every other file wait for that.
  static func removeInSlices(_ path: String) {
    defer { unlink(path) }
    let file = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return }
    defer { close(file) }
    guard let status = Files.status(of: file), status.links == 1 else { return }
    var size = status.size
    while size > ServerLimits.removedSliceBytes {
      size -= ServerLimits.removedSliceBytes
      let start = ContinuousClock.now
      guard ftruncate(file, Int(size)) == 0, fsync(file) == 0 else { return }
      let pause = min((ContinuousClock.now - start) * 3, ServerLimits.removalPauseMax)
      usleep(UInt32(pause.components.attoseconds / 1_000_000_000_000))
    }
  }

  /// Makes names in a folder durable.
  static func sync(_ path: String) throws(Files.Failure) {
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw Files.Failure(path: path, code: errno) }
    defer { close(folder) }
    if fsync(folder) != 0 { throw Files.Failure(path: path, code: errno) }
  }

  static func rename(_ from: String, _ to: String) throws(Files.Failure) {
    if Glibc.rename(from, to) != 0 { throw Files.Failure(path: to, code: errno) }
  }

  /// Writes a new file of mode 0600 and syncs it. On failure none is left.
  ///
  /// - Parameter next: Returns the next bytes; none at the end.
  static func write(_ path: String, next: () throws -> [UInt8]) throws {
    unlink(path)
    let file = Files.create(path)
    guard file >= 0 else { throw Files.Failure(path: path, code: errno) }
    defer { close(file) }
    do {
      while true {
        let bytes = try next()
        if bytes.isEmpty { break }
        if !Files.writeAll(bytes, to: file) { throw Files.Failure(path: path, code: errno) }
      }
      if fsync(file) != 0 { throw Files.Failure(path: path, code: errno) }
    } catch {
      unlink(path)
      throw error
    }
  }

  /// Reads a file piece by piece: `body` gets a function that returns the next bytes, none at the end.
  static func read<Value>(_ path: String, _ body: (() throws(Files.Failure) -> [UInt8]) throws -> Value) throws -> Value
  {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Files.Failure(path: path, code: errno) }
    defer { close(file) }
    return try body { () throws(Files.Failure) in
      var bytes = [UInt8](repeating: 0, count: ServerLimits.copiedAtOnce)
      var count = -1
      repeat { count = Glibc.read(file, &bytes, bytes.count) } while count < 0 && errno == EINTR
      if count < 0 { throw Files.Failure(path: path, code: errno) }
      return Array(bytes[..<count])
    }
  }
}
