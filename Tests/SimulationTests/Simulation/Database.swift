import Addresses
import Basics
import Dialogs
import Foundation
import SQLiteStore
import Synchronization

/// A database that carries several scripts one behind the other: opening one, reading its schema and preparing the
/// statements takes as long as a hundred posts. Each script has users of its own, so that it meets nothing of the others but
/// their places in the log.
final class Database {
  /// The number of scripts that one database carries.
  static let scriptsMax = 32
  /// The number of users, which is not more than hear of every marker in a room (`Limits.markersToldMax`).
  static let usersMax = 20
  static let domain = "localhost"
  static let rooms = "conference.localhost"

  let clock = SetClock()
  private(set) var store: FailingStore
  private let folder: Folder
  private var scripts = 0

  init() throws {
    folder = try Folder()
    try Self.template.get().data.write(to: URL(fileURLWithPath: folder.database))
    store = try Self.open(folder)
  }

  private static func open(_ folder: Folder) throws -> FailingStore {
    var options = SQLiteStore.Options()
    // So few that the ids of a script go through all states: in memory, moving, and in the table.
    options.freshSpan = 64
    return FailingStore(try SQLiteStore(path: folder.database, options: options))
  }

  /// Returns the number of the next script, and its users.
  func nextScript() throws -> (number: Int, users: [Party]) {
    defer { scripts += 1 }
    return (scripts, try Self.template.get().users[scripts])
  }

  func reopen() throws {
    try store.close()
    store = try Self.open(folder)
  }

  func close() throws { try store.close() }

  /// A folder in memory, where the system has such, that goes with its owner.
  private final class Folder: Sendable {
    let path: String
    var database: String { "\(path)/parley.db" }

    init() throws {
      let root = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
      path = "\(root)/parley-simulation-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  /// The content that each database begins with: the users of `scriptsMax` scripts. The realm's key is always the same, so
  /// that ids are.
  private static let template = Result { () throws -> (data: Data, users: [[Party]]) in
    let folder = try Folder()
    let store = try SQLiteStore(path: folder.database)
    let users = try store.write { writer in
      let realm = try writer.insertRealm(
        domain: domain, rooms: rooms, key: Array(repeating: 7, count: 32), epoch: 1)
      return try (0..<scriptsMax).map { script in
        try (0..<usersMax).map { number in
          // The name is their nick, also in rooms that hide who people are.
          let user = try writer.insertUser(
            try BareJID("user\(number).\(script)@\(domain)"), in: realm.id,
            profile: Profile(displayName: "user\(number)"), createdAt: SetClock.start)
          return Party(id: user.id, realm: user.realm, address: user.address)
        }
      }
    }
    try store.close()
    return (try Data(contentsOf: URL(fileURLWithPath: folder.database)), users)
  }
}

/// A clock that is set by hand.
final class SetClock: Clock {
  static let start = Timestamp(milliseconds: 1_700_000_000_000)
  private let time = Mutex(start)
  var now: Timestamp { time.withLock { $0 } }
  func move(by milliseconds: Int) {
    time.withLock { $0 = Timestamp(milliseconds: $0.milliseconds + Int64(milliseconds)) }
  }
}

/// A store whose commits fail as they are told to.
final class FailingStore: Store {
  struct Failed: Error {}
  private struct Plan {
    var passing = 0
    var failing = 0
    var isDead = false
    var isPaused = false
    var count = 0
  }

  private let inner: SQLiteStore
  private let plan = Mutex(Plan())

  init(_ inner: SQLiteStore) { self.inner = inner }

  /// Of the next commits so many succeed, and then so many fail after all has been written.
  func fail(_ count: Int, after passing: Int) { plan.withLock { ($0.failing, $0.passing) = (count, passing) } }
  /// Every commit from now on fails.
  func die() { plan.withLock { $0.isDead = true } }
  /// No commit fails any more.
  func recover() { plan.withLock { $0 = Plan() } }
  func pause(_ isPaused: Bool) { plan.withLock { $0.isPaused = isPaused } }
  /// How many have failed so far.
  var failures: Int { plan.withLock { $0.count } }

  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result { try inner.read(body) }

  func write<Result>(synced: Bool, _ body: (any StoreWriter) throws -> Result) throws -> Result {
    try inner.write(synced: synced) { writer in
      let result = try body(writer)
      let fails = plan.withLock { plan in
        if plan.isDead { return true }
        if plan.isPaused || plan.failing == 0 { return false }
        if plan.passing > 0 {
          plan.passing -= 1
          return false
        }
        plan.failing -= 1
        plan.count += 1
        return true
      }
      if fails { throw Failed() }
      return result
    }
  }

  func copy(to path: String, until cancellation: Cancellation) throws {
    try inner.copy(to: path, until: cancellation)
  }
  func close() throws { try inner.close() }
}
