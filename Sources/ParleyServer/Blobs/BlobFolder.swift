import Dialogs
import Glibc
import Synchronization

/// Blobs as files of a folder: `<two hex digits>/<id>`, one of 256 folders by the id's first digits, so that none gets
/// too many. What is being written is under `new/` and is removed by the next start; from there a file is synced and
/// then renamed, and its folder synced, before anybody is told.
///
/// Each upload is a file of its own, also of the same bytes: files are named by what nobody can guess, so that nobody
/// can ask whether somebody else has one, and removing one never looks at another.
final class BlobFolder: BlobStore {
  private let path: String

  init(_ path: String) throws(Refusal) {
    self.path = path
    do throws(Files.Failure) {
      try Files.makeFolder(path, mode: 0o700)
      try Files.makeFolder(path + "/new", mode: 0o700)
      for shard in 0..<256 { try Files.makeFolder(path + "/" + Self.hex(shard), mode: 0o700) }
    } catch {
      throw Refusal("the folder of files \(path) cannot be made: \(error.reason)")
    }
    guard Self.sync(folder: path) else {
      throw Refusal("the folder of files \(path) cannot be written to: \(Files.reason(errno))")
    }
    sweep()
  }

  /// What an earlier process was writing.
  private func sweep() {
    guard let folder = opendir(path + "/new") else { return }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { unlink(path + "/new/" + name) }
    }
  }

  private static func hex(_ shard: Int) -> String { (shard < 16 ? "0" : "") + String(shard, radix: 16) }

  private func shard(_ id: BlobID) -> String { path + "/" + id.description.prefix(2) }
  private func file(_ id: BlobID) -> String { shard(id) + "/" + id.description }

  func begin(_ id: BlobID, size: Int64) throws(BlobFailure) -> any BlobWriter {
    let temporary = path + "/new/" + id.description
    let file = Glibc.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw Self.failure(errno) }
    // A full disk is told before the bytes have come. Not every file system can say so.
    let code = posix_fallocate(file, 0, off_t(size))
    if [ENOSPC, EDQUOT, EFBIG].contains(code) {
      close(file)
      unlink(temporary)
      throw Self.failure(code)
    }
    return Writing(file: file, temporary: temporary, place: self.file(id), folder: shard(id))
  }

  func open(_ id: BlobID) throws(BlobFailure) -> (any BlobReader)? {
    let file = Glibc.open(file(id), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    if file < 0 {
      if errno == ENOENT { return nil }
      throw Self.failure(errno)
    }
    return Reading(file: file)
  }

  func remove(_ id: BlobID) throws(BlobFailure) {
    guard unlink(file(id)) == 0 || errno == ENOENT else { throw Self.failure(errno) }
  }

  var room: Int64 {
    var status = statvfs()
    // Unknown is not full: writing will tell.
    guard statvfs(path, &status) == 0 else { return .max }
    let free = Int64(clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).0)
    return free - ServerLimits.diskReserveBytes
  }

  fileprivate static func failure(_ code: Int32) -> BlobFailure {
    BlobFailure(isFull: [ENOSPC, EDQUOT].contains(code), Files.reason(code))
  }

  fileprivate static func sync(folder path: String) -> Bool {
    let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return false }
    defer { close(folder) }
    return fsync(folder) == 0
  }

  private final class Writing: BlobWriter {
    private let file: Mutex<Int32?>
    private let temporary: String
    private let place: String
    private let folder: String

    init(file: Int32, temporary: String, place: String, folder: String) {
      self.file = Mutex(file)
      self.temporary = temporary
      self.place = place
      self.folder = folder
    }

    func append(_ bytes: [UInt8]) throws(BlobFailure) {
      let code: Int32 = file.withLock { file in
        guard let file else { return EBADF }
        return Files.writeAll(bytes, to: file) ? 0 : errno
      }
      if code != 0 { throw BlobFolder.failure(code) }
    }

    func finish() throws(BlobFailure) {
      let code: Int32 = file.withLock { file in
        guard let open = file else { return EBADF }
        file = nil
        defer { close(open) }
        guard fsync(open) == 0, rename(temporary, place) == 0, BlobFolder.sync(folder: folder) else {
          let code = errno
          unlink(temporary)
          return code
        }
        return 0
      }
      if code != 0 { throw BlobFolder.failure(code) }
    }

    func cancel() {
      file.withLock { file in
        guard let open = file else { return }
        file = nil
        close(open)
        unlink(temporary)
      }
    }

    deinit { cancel() }
  }

  private final class Reading: BlobReader {
    private let file: Int32
    init(file: Int32) { self.file = file }
    deinit { close(file) }

    func read(at offset: Int64, count: Int) throws(BlobFailure) -> [UInt8] {
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
      if code != 0 { throw BlobFolder.failure(code) }
      return bytes
    }
  }
}
