import Basics
import Dialogs
import Glibc
import Synchronization

/// The folder of incomplete files: `new/` has those of plain uploads, which are removed at the next start, and `parts/`
/// those of resumable ones, which stay until they are settled.
final class Spool: Sendable {
  let path: String
  private var new: String { path + "/new" }
  private var parts: String { path + "/parts" }

  init(_ path: String) throws(BlobFailure) {
    self.path = path
    do throws(Files.Failure) {
      try Files.makeFolder(path, mode: 0o700)
      try Files.makeFolder(path + "/new", mode: 0o700)
      try Files.makeFolder(path + "/parts", mode: 0o700)
    } catch {
      throw Self.unusable(path, "made", error.code)
    }
    guard Self.sync(folder: path) else {
      throw Self.unusable(path, "written to", errno)
    }
    for name in Self.names(new) { unlink(new + "/" + name) }
  }

  private static func names(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Makes a complete file durable under its name.
  typealias Finish = @Sendable (SpoolFile, _ sha256: [UInt8]) throws(BlobFailure) -> Void

  func begin(_ name: BlobName, size: Int64, finish: @escaping Finish) throws(BlobFailure) -> SpoolFile {
    discard(name)
    let path = new + "/\(name)"
    unlink(path)
    let file = Files.create(path)
    guard file >= 0 else { throw Self.failure(errno) }
    // Detects a full disk before the upload. Not every file system supports it.
    let code = posix_fallocate(file, 0, off_t(size))
    if [ENOSPC, EDQUOT, EFBIG].contains(code) {
      close(file)
      unlink(path)
      throw Self.failure(code)
    }
    return SpoolFile(file: file, path: path, start: 0, isResumed: false, finish: finish)
  }

  func resume(_ name: BlobName, finish: @escaping Finish) throws(BlobFailure) -> SpoolFile {
    let path = parts + "/\(name)"
    let file = Files.openOrCreate(path)
    guard file >= 0 else { throw Self.failure(errno) }
    let start = lseek(file, 0, SEEK_END)
    guard start >= 0, Self.sync(folder: parts) else {
      let code = errno
      close(file)
      throw Self.failure(code)
    }
    return SpoolFile(file: file, path: path, start: Int64(start), isResumed: true, finish: finish)
  }

  /// Removes the file of a resumable upload.
  func discard(_ name: BlobName) { unlink(parts + "/\(name)") }

  var unsettled: [BlobID] { Self.names(parts).compactMap { BlobID($0) } }

  var room: Int64 {
    var status = statvfs()
    // An unknown amount counts as free space; a write to a full disk fails anyway.
    guard statvfs(path, &status) == 0 else { return .max }
    let free = Int64(clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).0)
    return free - StorageLimits.diskReserveBytes
  }

  static func failure(_ code: Int32) -> BlobFailure {
    BlobFailure(isFull: [ENOSPC, EDQUOT].contains(code), Files.reason(code))
  }

  /// Returns the failure of a folder, for the operator.
  static func unusable(_ path: String, _ what: String, _ code: Int32) -> BlobFailure {
    BlobFailure(isFull: false, "the folder of files \(path) cannot be \(what): \(Files.reason(code))")
  }

  static func sync(folder path: String) -> Bool {
    let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return false }
    defer { close(folder) }
    return fsync(folder) == 0
  }

  /// Reads like `pread`, and until the count or the end of the file is reached.
  static func read(_ file: Int32, at offset: Int64, count: Int) throws(BlobFailure) -> [UInt8] {
    var done = 0
    var code: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      while done < count {
        let got = pread(file, buffer.baseAddress?.advanced(by: done), count - done, off_t(offset) + off_t(done))
        if got < 0 {
          if errno == EINTR { continue }
          code = errno
          break
        }
        if got == 0 { break }
        done += got
      }
      initialized = done
    }
    if code != 0 { throw failure(code) }
    return bytes
  }
}

/// A file of the spool that is being written.
final class SpoolFile: BlobWriter {
  let path: String
  let start: Int64
  /// Whether the file stays in the spool until it is settled.
  let isResumed: Bool
  private let finishing: Spool.Finish
  private let file: Mutex<Int32?>

  init(file: Int32, path: String, start: Int64, isResumed: Bool, finish: @escaping Spool.Finish) {
    self.file = Mutex(file)
    self.path = path
    self.start = start
    self.isResumed = isResumed
    finishing = finish
  }

  deinit { cancel() }

  func append(_ bytes: [UInt8]) throws(BlobFailure) {
    try with { Files.writeAll(bytes, to: $0) ? 0 : errno }
  }

  func read(at offset: Int64, count: Int) throws(BlobFailure) -> [UInt8] {
    let result: Result<[UInt8], BlobFailure> = file.withLock { file in
      guard let file else { return .failure(Spool.failure(EBADF)) }
      do throws(BlobFailure) { return .success(try Spool.read(file, at: offset, count: count)) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  func finish(sha256: [UInt8]) throws(BlobFailure) {
    try with { fsync($0) == 0 ? 0 : errno }
    try finishing(self, sha256)
    cancel()
  }

  func suspend() throws(BlobFailure) -> Int64 {
    defer { shut() }
    var size: Int64 = 0
    try with { file in
      guard fsync(file) == 0 else { return errno }
      size = Int64(lseek(file, 0, SEEK_END))
      return size < 0 ? errno : 0
    }
    return size
  }

  func cancel() { if shut(), !isResumed { unlink(path) } }

  /// Closes the file; false if it was closed already.
  @discardableResult
  private func shut() -> Bool {
    file.withLock { file in
      guard let open = file else { return false }
      file = nil
      close(open)
      return true
    }
  }

  private func with(_ body: (Int32) -> Int32) throws(BlobFailure) {
    let code: Int32 = file.withLock { file in
      guard let file else { return EBADF }
      return body(file)
    }
    if code != 0 { throw Spool.failure(code) }
  }
}
