import Glibc

/// Detects whether another process reads the database permanently, as a replicator does: it holds a reader's lock in the
/// index of the write-ahead log (sqlite.org/walformat.html 2.3.1). Locks of this process do not count.
public struct LogFollower: Sendable {
  /// Stays open: closing it would release every lock that this process has on the file (fcntl(2)).
  private let index: Int32
  private let log: String

  /// Opens the index, which exists while the store is open.
  init(database path: String) throws(StoreFailure) {
    index = open(path + "-shm", O_RDONLY | O_CLOEXEC)
    log = path + "-wal"
    guard index >= 0 else { throw .cannotOpen(path: path + "-shm", reason: String(cString: strerror(errno))) }
  }

  /// Whether another process reads at this moment. A replicator holds no lock while it copies the log into the database.
  public var isThere: Bool {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    // The bytes of WAL_READ_LOCK(0) to (4).
    (lock.l_start, lock.l_len) = (123, 5)
    return fcntl(index, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
  }

  /// The bytes of the log file.
  public var logBytes: Int64 {
    var information = stat()
    return stat(log, &information) == 0 ? Int64(information.st_size) : 0
  }
}
