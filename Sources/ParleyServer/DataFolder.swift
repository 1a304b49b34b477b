import Accounts
import Basics
import Dialogs
import Glibc
import PushServices
public import ServerConfiguration

/// The data folder, held by one process at a time: the holder of the lock may open the database.
public final class DataFolder: Sendable {
  public let path: String
  /// Whether the folder was empty: the server starts for the first time.
  public let isNew: Bool
  private let lock: Int32

  /// The purpose for which a process holds the folder.
  public enum Use: String, Sendable {
    case serving
    /// An admin command, which is short.
    case command
  }

  /// The process that holds a folder, as written in its lock file.
  public struct Holder: Hashable, Sendable {
    public let process: Int32
    public let use: Use
  }

  /// The result of opening a folder.
  public enum Opening: Sendable {
    case opened(DataFolder)
    /// Another process holds the folder; nil if it has not written its lock file yet.
    case held(by: Holder?)
  }

  /// The path of the database file.
  public var database: String { Self.database(of: path) }
  /// The path of the key for tokens of XMPP clients, which no backup of the database contains.
  public var tokenKey: String { path + "/tokens.key" }
  /// The path of the key for codes and second factors. A backup of the database does not contain it, and is to be kept
  /// together with it.
  public var accountKey: String { path + "/accounts.key" }
  /// The path of the key for browsers' push services.
  var webPushKeyFile: String { path + "/webpush.key" }
  /// The folder of the self-signed certificate, and of that of ACME.
  public var certificates: String { Self.certificates(of: path) }
  static func database(of path: String) -> String { path + "/parley.db" }
  static func certificates(of path: String) -> String { path + "/tls" }

  /// The folder of users' files.
  var blobs: String { path + "/blobs" }

  /// The name of the copy of the database that is being sent to a bucket of backups.
  static let backupCopy = "backup.db.part"

  private init(path: String, isNew: Bool, lock: Int32) {
    self.path = path
    self.isNew = isNew
    self.lock = lock
  }

  /// Releases the lock explicitly: a child process that is being started has a copy of the descriptor, and with it the
  /// lock, until it executes its program.
  deinit {
    _ = flock(lock, LOCK_UN)
    close(lock)
  }

  /// Whether the folder has been opened before, or has a database that was put there; true as well where that cannot be
  /// known, as in a folder of another user.
  static func isUsed(_ path: String) -> Bool {
    [path + "/lock", database(of: path)].contains { (try? Files.isMissing($0)) != true }
  }

  /// Creates the folder (mode 0700) if needed and takes its lock without waiting. The kernel releases the lock when the
  /// process ends, so that a crash leaves none behind (flock(2)).
  public static func open(_ path: String, for use: Use) throws(StartupError) -> Opening {
    do {
      try Files.makeFolder(path, mode: 0o700)
    } catch {
      // One that is there may be closed to this user.
      guard (try? Files.isMissing(path)) == true else {
        throw StartupError(
          "the data folder \(path) cannot be opened: \(error.reason)" + remedy(error.code, path, in: path))
      }
      let creating = "; create it as root: \(Self.creating(path, for: SystemUser.current))"
      throw StartupError(
        "the data folder \(path) cannot be created: \(error.reason)" + (error.code == EACCES ? creating : ""))
    }
    let lock = path + "/lock"
    let file = Files.openOrCreate(lock)
    guard file >= 0 else {
      let code = errno
      throw StartupError(
        "the data folder \(path) cannot be written to: \(Files.reason(code))"
          + remedy(code, Files.exists(lock) ? lock : path, in: path))
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      let holder = holder(in: file)
      close(file)
      if code == EWOULDBLOCK { return .held(by: holder) }
      throw StartupError("the data folder \(path) cannot be locked: \(Files.reason(code))")
    }
    do throws(Files.Failure) { try InterruptedRestore(data: path).settle() } catch {
      close(file)
      throw StartupError(
        "a restore into \(path) was interrupted and cannot be finished: \(error.path): \(error.reason)"
          + remedy(error.code, error.path, in: path))
    }
    let folder = DataFolder(path: path, isNew: !Files.exists(database(of: path)), lock: file)
    // The content is for people; only the lock is decisive.
    guard ftruncate(file, 0) == 0, Files.writeAll(Array("\(getpid()) \(use.rawValue)\n".utf8), to: file) else {
      throw StartupError("the data folder \(path) cannot be written to: \(Files.reason(errno))")
    }
    return .opened(folder)
  }

  /// Opens the folder, and waits a while if a command holds it; a running server is an error at once.
  public static func hold(_ path: String, for use: Use) async throws(StartupError) -> DataFolder {
    let end = ContinuousClock.now + ServerLimits.lockWait
    while true {
      switch try open(path, for: use) {
      case .opened(let folder): return folder
      case .held(let holder):
        if holder?.use == .serving || ContinuousClock.now >= end { throw locked(path, holder) }
        try? await Task.sleep(for: ServerLimits.lockPollInterval)
      }
    }
  }

  /// Creates an empty database file if there is none. The engine, which fills it, would not give it an owner.
  func createDatabase() {
    let file = Files.create(database)
    if file >= 0 { close(file) }
  }

  /// Returns the key for tokens of XMPP clients.
  ///
  /// - Parameter creating: Whether a missing file is created. Without it a new key is that of this process alone, which must
  ///   store nothing that is made with it.
  func tokenSecret(creating: Bool) throws(StartupError) -> TokenSecret {
    try secret(tokenKey, creating, without: "XMPP clients log in by their passwords once more")
  }

  /// Returns the key for codes and second factors.
  ///
  /// - Parameter creating: As for `tokenSecret`.
  func accountSecret(creating: Bool) throws(StartupError) -> TokenSecret {
    try secret(accountKey, creating, without: "second factors must be turned off (parley user second-factor off)")
  }

  /// Returns the key in a file, which has mode 0600.
  ///
  /// - Parameters:
  ///   - creating: Whether a missing file is created.
  ///   - loss: The consequence of a new key.
  private func secret(_ file: String, _ creating: Bool, without loss: String) throws(StartupError) -> TokenSecret {
    let bytes: [UInt8]
    do throws(Files.Failure) {
      if Files.exists(file) {
        bytes = try Files.read(file, bytesMax: ServerLimits.keyBytesMax)
      } else {
        bytes = .random(count: TokenSecret.byteCount)
        if creating { try Files.write(bytes, to: file, mode: 0o600) }
      }
    } catch {
      throw StartupError("\(file) cannot be used: \(error.reason)")
    }
    guard bytes.count >= TokenSecret.byteCount else {
      throw StartupError("\(file) is damaged; remove it, and \(loss)")
    }
    return TokenSecret(bytes)
  }

  /// Returns the server's key for browsers' push services. Subscriptions are bound to it, so it is part of a backup.
  ///
  /// - Parameter creating: As for `tokenSecret`.
  func webPushKey(creating: Bool) throws(StartupError) -> WebPush.Key {
    let path = webPushKeyFile
    do throws(Files.Failure) {
      guard Files.exists(path) else {
        let key = WebPush.Key()
        if creating { try Files.write(key.raw, to: path, mode: 0o600) }
        return key
      }
      if let key = WebPush.Key(raw: try Files.read(path, bytesMax: ServerLimits.keyBytesMax)) { return key }
    } catch {
      throw StartupError("\(path) cannot be used: \(error.reason)")
    }
    throw StartupError("\(path) is damaged; remove it, and browsers subscribe to pushes anew")
  }

  private static func locked(_ path: String, _ holder: Holder?) -> StartupError {
    StartupError(
      "the data folder \(path) is in use by another process" + (holder.map { " (\($0.process))" } ?? "")
        + "; stop it, or set data to another folder")
  }

  /// Returns the process that serves a folder, as its lock file names it; nil if there is none. The lock is not touched: a
  /// server that is starting would find it taken.
  static func server(of path: String) -> Int32? {
    guard let bytes = try? Files.read(path + "/lock", bytesMax: 64), let holder = holder(named: bytes[...]),
      holder.use == .serving,
      // A server that was killed leaves its number, which another program may have now.
      let name = try? Files.read("/proc/\(holder.process)/comm", bytesMax: 64),
      String(decoding: name, as: UTF8.self).trimmed == "parley"
    else { return nil }
    return holder.process
  }

  private static func holder(in file: Int32) -> Holder? {
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = pread(file, &bytes, bytes.count, 0)
    return count > 0 ? holder(named: bytes[..<count]) : nil
  }

  private static func holder(named bytes: ArraySlice<UInt8>) -> Holder? {
    let words = String(decoding: bytes, as: UTF8.self).split { $0.isWhitespace }
    guard words.count == 2, let process = Int32(words[0]), let use = Use(rawValue: String(words[1])) else { return nil }
    return Holder(process: process, use: use)
  }
}
