import Accounts
import AppDoor
import Dialogs
import DialogsFixtures
import Foundation
import Synchronization
import Testing

/// The bounds of the bytes of exports, of one user and of all.
@Suite struct ExportTests {
  private struct Cast {
    let disk: Disk
    let stage: Stage
    let accounts: Accounts

    init(room: Int64) throws {
      disk = Disk(room: room)
      let policy = BlobPolicy(links: BlobLinks(base: "https://files.example"), lifetime: nil)
      stage = try Stage(blobs: (policy: policy, store: disk))
      var options = Accounts.Options()
      options.exportForms = [AppExport()]
      accounts = Accounts(stage.parley, options)
    }

    func export(_ user: Party) async throws -> AccountTask {
      try await accounts.finish(try await accounts.beginExport(of: user, isPaced: false))
      return try #require(try await accounts.exports(of: user.id).first)
    }

    func text(_ export: AccountTask) throws -> String {
      let blob = try #require(export.blob)
      return String(decoding: try #require(disk.bytes(BlobName(blob))), as: UTF8.self)
    }
  }

  private static func count(_ word: String, in text: String) -> Int { text.components(separatedBy: word).count - 1 }

  /// An export takes an eighth of the disk for messages of others, and contains all that is the user's own.
  @Test(arguments: [80_000, .max] as [Int64]) func messagesOfOthersHaveABound(room bytes: Int64) async throws {
    let cast = try Cast(room: bytes)
    let (romeo, juliet) = (try await cast.stage.user("romeo"), try await cast.stage.user("juliet"))
    let room = try await cast.stage.room(by: juliet, with: [(romeo, .member)])
    for _ in 0..<20 {
      try await cast.stage.say("thine" + String(repeating: "x", count: 1_000), in: room, by: juliet)
      try await cast.stage.say("mine", in: room, by: romeo)
    }
    // The dialog has the last message once more.
    try await cast.stage.say("adieu", in: room, by: romeo)
    let export = try await cast.export(romeo)
    let text = try cast.text(export)
    #expect(Self.count("mine", in: text) == 20)
    let others = Self.count("thine", in: text)
    if bytes == .max {
      #expect(export.state == .done && others == 20 && !text.contains("incomplete.txt"))
    } else {
      #expect(export.state == .incomplete && (1...9).contains(others))
      #expect(text.contains("incomplete.txt") && text.contains("\(20 - others) further ones are left out"))
    }
  }

  @Test func twoExportsOfAUserAreKept() async throws {
    let cast = try Cast(room: .max)
    let romeo = try await cast.stage.user("romeo")
    var made: [Int64] = []
    for _ in 0..<3 { made.append(try await cast.export(romeo).id) }
    #expect(try await cast.accounts.exports(of: romeo.id).map(\.id) == [made[2], made[1]])
  }

  /// The oldest ones are removed, and a removed one has no address.
  @Test func theExportsOfAllHaveAShareOfTheDisk() async throws {
    let cast = try Cast(room: .max)
    var users: [Party] = []
    for name in ["romeo", "paris", "nurse"] { users.append(try await cast.stage.user(name)) }
    let size = try #require(try await cast.export(users[0]).size)
    _ = try await cast.export(users[1])
    // With the three there are ten times as many bytes: a quarter is two and a half.
    cast.disk.set(room: 7 * size)
    _ = try await cast.export(users[2])
    var addresses: [Bool] = []
    for user in users {
      let export = try #require(try await cast.accounts.exports(of: user.id).first)
      #expect(export.state == .done)
      addresses.append(try await cast.accounts.exportURL(export) != nil)
    }
    #expect(addresses == [false, true, true])
    // The newest one stays even if it is greater than the share, which is seven eighths of it here.
    cast.disk.set(room: size / 2)
    let newest = try await cast.export(users[2])
    let isKept = try await cast.accounts.exportURL(newest) != nil
    #expect(isKept)
  }
}

/// A store of files in memory, with the room that a test says.
private final class Disk: BlobStore {
  private let kept = Mutex<[BlobName: [UInt8]]>([:])
  private let left: Mutex<Int64>
  let isRemote = false
  let unsettled: [BlobID] = []
  var room: Int64 { left.withLock { $0 } }

  init(room: Int64) { left = Mutex(room) }

  func set(room: Int64) { left.withLock { $0 = room } }
  func bytes(_ name: BlobName) -> [UInt8]? { kept.withLock { $0[name] } }
  func begin(_ name: BlobName, size: Int64) -> any BlobWriter { Writer(self, name) }
  func resume(_ name: BlobName) -> any BlobWriter { Writer(self, name) }
  func open(_ name: BlobName) -> (any BlobReader)? { nil }
  func remove(_ name: BlobName) { kept.withLock { $0[name] = nil } }
  func settle(_ name: BlobName) {}

  private final class Writer: BlobWriter {
    let path = "/dev/null"
    let start: Int64 = 0
    private let disk: Disk
    private let name: BlobName
    private let bytes = Mutex<[UInt8]>([])

    init(_ disk: Disk, _ name: BlobName) {
      self.disk = disk
      self.name = name
    }
    func read(at offset: Int64, count: Int) -> [UInt8] { [] }
    func append(_ more: [UInt8]) { bytes.withLock { $0 += more } }
    func finish(sha256: [UInt8]) {
      let all = bytes.withLock { $0 }
      disk.kept.withLock { $0[name] = all }
    }
    func suspend() -> Int64 { 0 }
    func cancel() {}
  }
}
