import Administration
import Basics
import Crypto
import Dialogs
import FileStorage
import JSON
import Logging
import SQLiteStore
import ServerConfiguration

/// Backups in a bucket. Of each there are `<name>.db`, the database; `<name>.files`, the names of the users' files that
/// it names, one a line, in order; and `<name>.json`, the manifest. The files are `blobs/<two digits>/<name>`, shared by
/// all, since a file never changes under its name.
///
/// The manifest is put last and removed first, so that what has one is complete: a crash leaves objects without a
/// manifest, and parts of uploads, which the next backup removes, or continues if it is of the same copy.
/// Names of files come in one order from the database, from the lists and from the bucket, so that they are compared as
/// they pass, and none of them is in memory as a whole.
///
/// One server at a time may use a prefix.
struct BackupBucket: Sendable {
  let bucket: Bucket

  init(_ options: BucketOptions, authorities: String?, logger: Logger) {
    bucket = Bucket(backups: options, authorities: authorities, logger: logger)
  }

  /// The facts about a backup that are known without its database.
  struct Manifest: Codable {
    /// The version of this form; a newer one is refused.
    let form: Int
    let createdAt: Timestamp
    let databaseBytes: Int64
    /// The hash of the database, in hex.
    let sha256: String
    let files: Int

    static let newestForm = 1
  }

  private static let endings = [".json", ".files", ".db"]

  static func key(_ name: BlobName) -> String { "blobs/\(name.description.prefix(2))/\(name)" }

  // MARK: What is there

  /// The names of the complete backups, the oldest first, and those of all, which a crash has left incomplete or not.
  func names() throws(BlobFailure) -> (complete: [BackupName], all: Set<BackupName>) {
    var list = ObjectList(bucket, "parley-")
    var (complete, all): ([BackupName], Set<BackupName>) = ([], [])
    while let object = try list.next() {
      for ending in Self.endings {
        guard let name = BackupName(file: object.key, ending: ending) else { continue }
        all.insert(name)
        if ending == ".json" { complete.append(name) }
      }
    }
    return (complete, all)
  }

  /// Returns the manifest of a backup; nil if there is no such backup.
  func manifest(_ name: BackupName) throws -> Manifest? {
    guard var reader = try ObjectReader(bucket, name.description + ".json", pieceBytes: ServerLimits.manifestBytesMax)
    else { return nil }
    let value = try JSONValue(parsing: try reader.next())
    let manifest = try InputDecoder.decode(Manifest.self, from: value)
    guard manifest.form <= Manifest.newestForm else {
      throw StartupError("\(bucket.name(of: name.description)) was made by a newer release")
    }
    return manifest
  }

  // MARK: Adding

  /// Removes what interrupted backups have left of their uploads.
  ///
  /// - Parameter name: A backup that continues.
  func begin(continuing name: BackupName? = nil) throws(BlobFailure) {
    try bucket.abortUploads("", but: name.map { $0.description + ".db" })
  }

  /// Puts a database, and the files that it names and the bucket lacks. A failure leaves the parts of the database that are
  /// there, for a further attempt with the same one.
  func add(
    _ database: String, as name: BackupName, files: (any BlobStore)?, _ cancellation: Cancellation
  ) throws -> Backup.Output {
    let told = try write(name.description + ".files", bytesMax: 0) { list in
      try files.map { try put($0, namedBy: database, to: list, cancellation) } ?? Backup.Output.Files()
    }
    var hash = SHA256()
    let key = name.description + ".db"
    let size = Files.size(database) ?? 0
    // It was sent, and not what comes after it.
    let isThere = try bucket.size(of: key) == size
    let writer = try ObjectWriter(bucket, key, bytesMax: size, continues: true)
    let bytes = try Folder.read(database) { next in
      var count: Int64 = 0
      while true {
        try cancellation.check()
        let bytes = try next()
        if bytes.isEmpty { return count }
        hash.update(data: bytes)
        count += Int64(bytes.count)
        if !isThere { try writer.append(bytes) }
      }
    }
    if !isThere { try writer.finish() }
    let manifest = Manifest(
      form: Manifest.newestForm, createdAt: name.time ?? Timestamp(milliseconds: 0), databaseBytes: bytes,
      sha256: Hex.string(hash.finalize()), files: told.named - told.missing)
    try bucket.put(AdminJSON.encode(manifest, pretty: true), as: name.description + ".json")
    var output = Backup.Output(path: bucket.name(of: name.description + ".db"), bytes: bytes)
    output.files = told
    return output
  }

  private func put(
    _ files: any BlobStore, namedBy database: String, to list: ObjectWriter, _ cancellation: Cancellation
  ) throws -> Backup.Output.Files {
    var told = Backup.Output.Files()
    var there = ObjectList(bucket, "blobs/")
    var object = try there.next()
    try BackupFile(path: database).forEachFile { file in
      try cancellation.check()
      told.named += 1
      for part in BlobName.Part.allCases where part == .file || file.hasThumbnail {
        let name = BlobName(file.id, part)
        let key = Self.key(name)
        while let passed = object, passed.key < key { object = try there.next() }
        if object?.key != key || part == .file && object?.size != file.size {
          guard let reader = try files.open(name) else {
            if part == .file { told.missing += 1 }
            break
          }
          told.copiedBytes += try write(key, bytesMax: file.size) { writer in
            while true {
              try cancellation.check()
              let bytes = try reader.read(at: writer.count, count: ServerLimits.copiedAtOnce)
              if bytes.isEmpty { return writer.count }
              try writer.append(bytes)
            }
          }
          if part == .file { told.copied += 1 }
        }
        try list.append(Array("\(name)\n".utf8))
      }
    }
    return told
  }

  /// Writes an object. A failure leaves none.
  private func write<Value>(_ key: String, bytesMax: Int64, _ body: (ObjectWriter) throws -> Value) throws -> Value {
    let writer = try ObjectWriter(bucket, key, bytesMax: bytesMax)
    do {
      let value = try body(writer)
      try writer.finish()
      return value
    } catch {
      writer.abort()
      throw error
    }
  }

  // MARK: Removing

  /// Removes the oldest backups beyond `keep` and incomplete ones, and then the files that none of the others names.
  func prune(keeping keep: Int, _ told: Backup.Output.Files) throws -> Backup.Output.Files {
    var told = told
    let (complete, all) = try names()
    let kept = complete.suffix(keep)
    for name in all.subtracting(kept) {
      for ending in Self.endings { try bucket.remove(name.description + ending) }
    }
    told.removedDatabases = complete.count - kept.count
    var lists = try kept.map { try NameList(bucket, $0.description + ".files") }
    var there = ObjectList(bucket, "blobs/")
    while let object = try there.next() {
      let name = object.key.split(separator: "/").last.map(String.init) ?? ""
      var isNamed = false
      for index in lists.indices where try lists[index].has(name) { isNamed = true }
      if isNamed { continue }
      try bucket.remove(object.key)
      if !name.hasSuffix("-" + BlobName.Part.thumbnail.rawValue) { told.removed += 1 }
    }
    return told
  }

  /// A list of names in order, of which a piece is in memory.
  private struct NameList {
    private var reader: ObjectReader?
    private var bytes: [UInt8] = []
    private var next = 0
    private var name: String?

    init(_ bucket: Bucket, _ key: String) throws {
      reader = try ObjectReader(bucket, key, pieceBytes: ServerLimits.nameListPieceBytes)
      guard reader != nil else { throw BlobFailure(isFull: false, "\(bucket.name(of: key)) is missing") }
      name = try line()
    }

    /// Whether a name is in the list; names are asked for in their order.
    mutating func has(_ wanted: String) throws -> Bool {
      while let passed = name, passed < wanted { name = try line() }
      return name == wanted
    }

    private mutating func line() throws -> String? {
      while true {
        if let end = bytes[next...].firstIndex(of: 0x0a) {
          defer { next = end + 1 }
          return String(decoding: bytes[next..<end], as: UTF8.self)
        }
        let more = try reader?.next() ?? []
        if more.isEmpty { return nil }
        bytes = bytes[next...] + more
        next = 0
      }
    }
  }
}
