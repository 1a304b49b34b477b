import Accounts
import Basics
import Dialogs
import Glibc
import PushServices
public import ServerConfiguration

/// The data folder, held by one process at a time: whoever holds the lock may open the database.
public final class DataFolder: Sendable {
  public let path: String
  /// Nothing was here before: the server starts for the first time.
  public let isNew: Bool
  private let lock: Int32

  /// What a process wants the folder for.
  public enum Use: String, Sendable {
    case serving
    /// An admin command: over in moments.
    case command
  }

  /// The process that holds a folder, as it wrote it into the lock's file.
  public struct Holder: Hashable, Sendable {
    public let process: Int32
    public let use: Use
  }

  /// What opening found.
  public enum Opening: Sendable {
    case opened(DataFolder)
    /// Another process holds it; nil: one that has not yet said who it is.
    case held(by: Holder?)
  }

  /// The database's file.
  public var database: String { path + "/parley.db" }
  /// What tokens of XMPP clients are made with: in no backup of the database.
  public var tokenKey: String { path + "/tokens.key" }
  /// What codes and second factors of users are kept with: in no backup of the database either, but with it.
  public var accountKey: String { path + "/accounts.key" }
  /// Where the self-signed certificate is kept.
  public var certificates: String { path + "/tls" }

  /// Where the files of users are kept.
  var blobs: String { path + "/blobs" }

  private init(path: String, isNew: Bool, lock: Int32) {
    self.path = path
    self.isNew = isNew
    self.lock = lock
  }

  /// Let go by name: a child that is being started has a copy of the descriptor until it becomes another program, and with it
  /// the lock.
  deinit {
    _ = flock(lock, LOCK_UN)
    close(lock)
  }

  /// Creates the folder (mode 0700) if need be, and takes its lock without waiting. The lock goes with the
  /// process, however that ends: a crash leaves none behind (flock(2)).
  public static func open(_ path: String, for use: Use) throws(StartupError) -> Opening {
    do {
      try Files.makeFolder(path, mode: 0o700)
    } catch {
      throw StartupError("the data folder \(path) cannot be created: \(error.reason)")
    }
    let file = Glibc.open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw StartupError("the data folder \(path) cannot be written to: \(Files.reason(errno))")
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      let holder = holder(in: file)
      close(file)
      if code == EWOULDBLOCK { return .held(by: holder) }
      throw StartupError("the data folder \(path) cannot be locked: \(Files.reason(code))")
    }
    let folder = DataFolder(path: path, isNew: !Files.exists(path + "/parley.db"), lock: file)
    // For people only; the lock is what counts.
    guard ftruncate(file, 0) == 0, Files.writeAll(Array("\(getpid()) \(use.rawValue)\n".utf8), to: file) else {
      throw StartupError("the data folder \(path) cannot be written to: \(Files.reason(errno))")
    }
    return .opened(folder)
  }

  /// As `open`, waiting a while for a command that is under way; a server that is there is an error at once.
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

  /// What tokens of XMPP clients are made with.
  func tokenSecret() throws(StartupError) -> TokenSecret {
    try secret(tokenKey, without: "XMPP clients log in by their passwords once more")
  }

  /// What codes and second factors are kept with.
  func accountSecret() throws(StartupError) -> TokenSecret {
    try secret(accountKey, without: "second factors must be turned off (parley user second-factor off)")
  }

  /// The key in a file; at first it is made, for the server's own user alone.
  ///
  /// - Parameter without: what follows where another is made.
  private func secret(_ file: String, without loss: String) throws(StartupError) -> TokenSecret {
    let bytes: [UInt8]
    do throws(Files.Failure) {
      if Files.exists(file) {
        bytes = try Files.read(file, bytesMax: ServerLimits.keyBytesMax)
      } else {
        bytes = .random(count: TokenSecret.byteCount)
        try Files.write(bytes, to: file, mode: 0o600)
      }
    } catch {
      throw StartupError("\(file) cannot be used: \(error.reason)")
    }
    guard bytes.count >= TokenSecret.byteCount else {
      throw StartupError("\(file) is damaged; remove it, and \(loss)")
    }
    return TokenSecret(bytes)
  }

  /// What browsers' push services know this server by; at first it is made. Subscriptions are bound to it, so it is part of
  /// a backup.
  func webPushKey() throws(StartupError) -> WebPush.Key {
    let path = path + "/webpush.key"
    do throws(Files.Failure) {
      guard Files.exists(path) else {
        let key = WebPush.Key()
        try Files.write(key.raw, to: path, mode: 0o600)
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

  private static func holder(in file: Int32) -> Holder? {
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = pread(file, &bytes, bytes.count, 0)
    guard count > 0 else { return nil }
    let words = String(decoding: bytes[..<count], as: UTF8.self).split { $0.isWhitespace }
    guard words.count == 2, let process = Int32(words[0]), let use = Use(rawValue: String(words[1])) else { return nil }
    return Holder(process: process, use: use)
  }
}
