import Accounts
import Addresses
import Administration
import Basics
import Crypto
import Dialogs
import FileStorage
import Foundation
import SQLiteStore
import ServerConfiguration
import ServerFixtures
import Testing

@testable import ParleyServer

/// Backups in a folder, and what a restore takes, refuses, and leaves as it was.
@Suite struct RestoreTests {
  /// A data folder with a user and files, and a folder of backups beside it.
  private struct Place {
    let folder: String
    let settings: Settings
    var data: String { settings.data }
    var backups: String { folder + "/backups" }

    init(_ folder: String, domain: String = "localhost") throws {
      self.folder = folder
      settings = try testSettings(folder, ["domain": domain])
    }

    func open<Value>(_ body: (Core) async throws -> Value) async throws -> Value {
      let core = try Core.open(settings, openFolder(settings.data), logger: quiet)
      do {
        let value = try await body(core)
        await core.close(quiet)
        return value
      } catch {
        await core.close(quiet)
        throw error
      }
    }

    func add(_ name: String) async throws {
      try await open {
        _ = try await $0.accounts.register(BareJID("\(name)@localhost"), password: "x", displayName: nil)
      }
    }

    var users: [String] {
      get async throws {
        try await open { core in
          let realm = core.parley.realms[0].id
          return try await core.parley.read { try $0.users(in: realm, matching: nil, after: nil, limit: 9).map(\.name) }
        }
      }
    }

    /// Stores a file as an upload does.
    func upload(_ bytes: [UInt8], at time: Int64 = 1) async throws -> BlobID {
      let id = BlobID.random()
      try await open { core in
        let files = try BlobFolder(core.folder.blobs)
        let writer = try files.begin(BlobName(id), size: Int64(bytes.count))
        try writer.append(bytes)
        let hash = Array(SHA256.hash(data: bytes))
        try writer.finish(sha256: hash)
        let (realm, owner) = (core.parley.realms[0].id, UserID(1))
        try await core.parley.work {
          try $0.put(
            Blob(
              id: id, realm: realm, owner: owner, name: "letter", mediaType: nil, size: Int64(bytes.count),
              purpose: .message, state: .stored, createdAt: Timestamp(milliseconds: time), expiresAt: nil, sha256: hash)
          )
        }
      }
      return id
    }

    func file(_ id: BlobID, in folder: String? = nil) -> String {
      BackupFolder.file(BlobName(id), in: (folder ?? data) + "/blobs")
    }

    func backUp(keeping keep: Int = 1) async throws -> Backup.Output {
      try await open { try await $0.backup.add(to: backups, keeping: keep) }
    }

    func restore(_ path: String? = nil, replacing: Bool = false) async throws -> RestoreReport {
      try await DataRestore(settings).restore(.path(path ?? backups), replacing: replacing)
    }

    func refusal(_ path: String? = nil, replacing: Bool = false) async throws -> String {
      let before = Self.names(data)
      do {
        _ = try await restore(path, replacing: replacing)
      } catch let refusal as StartupError {
        #expect(Self.names(data) == before, "the folder is not as it was")
        return refusal.lines[0]
      }
      return "it was not refused"
    }

    static func names(_ folder: String) -> [String] {
      ((try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []).filter { !$0.hasPrefix("blobs/") }.sorted()
    }

    /// Changes a database as nobody of Parley does.
    func edit(_ path: String, _ statement: String) async throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["sqlite3", path, statement]
      try process.run()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
    }
  }

  private func withPlace(_ body: (Place) async throws -> Void) async throws {
    try await withScratchFolder { folder in
      let place = try Place(folder)
      try await place.add("romeo")
      try await body(place)
    }
  }

  @Test func filesAreCopiedOnceAndGoWithTheLastDatabaseThatNamesThem() async throws {
    try await withPlace { place in
      let first = try await place.upload([1, 2, 3])
      let made = try await place.backUp(keeping: 2)
      #expect(made.files?.named == 1 && made.files?.copied == 1 && made.files?.copiedBytes == 3)
      let second = try await place.upload([4])
      try await place.open { core in try await core.parley.work { try $0.removeBlob(first) } }
      // The name has seconds.
      try FileManager.default.moveItem(atPath: made.path, toPath: place.backups + "/parley-20260101T000000Z.db")
      let next = try await place.backUp(keeping: 2)
      #expect(next.files?.copied == 1 && next.files?.removed == 0 && next.files?.removedDatabases == 0)
      #expect(Files.exists(place.file(first, in: place.backups)))
      try FileManager.default.moveItem(atPath: next.path, toPath: place.backups + "/parley-20260102T000000Z.db")
      let last = try await place.backUp(keeping: 1)
      #expect(last.files?.copied == 0 && last.files?.removed == 1 && last.files?.removedDatabases == 2)
      #expect(
        !Files.exists(place.file(first, in: place.backups)) && Files.exists(place.file(second, in: place.backups)))
      #expect(BackupFolder(path: place.backups).databases == [last.path])
    }
  }

  @Test func whatIsLeftOfARemovedBackupIsNone() async throws {
    try await withPlace { place in
      let first = try await place.backUp()
      let remains = place.backups + "/parley-20260101T000000Z.db.removed"
      try FileManager.default.moveItem(atPath: first.path, toPath: remains)
      #expect(BackupFolder(path: place.backups).databases.isEmpty)
      let next = try await place.backUp(keeping: 1)
      #expect(BackupFolder(path: place.backups).databases == [next.path] && !Files.exists(remains))
      // A database that has another name elsewhere keeps what is in it.
      let (kept, old) = (place.folder + "/kept.db", place.backups + "/parley-20260102T000000Z.db")
      try FileManager.default.moveItem(atPath: next.path, toPath: old)
      try FileManager.default.linkItem(atPath: old, toPath: kept)
      let size = try FileManager.default.attributesOfItem(atPath: kept)[.size] as? Int
      let last = try await place.backUp(keeping: 1)
      #expect(BackupFolder(path: place.backups).databases == [last.path])
      #expect(try FileManager.default.attributesOfItem(atPath: kept)[.size] as? Int == size)
    }
  }

  /// What a folder has besides backups is not passed over in silence.
  @Test func whatIsInAFolderAndNoBackupIsTold() async throws {
    try await withPlace { place in
      let made = try await place.open { try await $0.backup.write(to: place.folder + "/first.db") }
      try Files.makeFolder(place.backups, mode: 0o700)
      try FileManager.default.moveItem(atPath: made.path, toPath: place.backups + "/first.db")
      let others = [
        "parley-20260101T000000Z.db.removed", "parley-20260102T000000Z.db.part", "first.db-wal", "notes.txt",
      ]
      for name in others {
        try Files.write(Array("text".utf8), to: "\(place.backups)/\(name)", mode: 0o600)
      }
      let leftOut = [
        "first.db: a database without a name like parley-<time>.db; parley restore takes it by its path",
        "parley-20260102T000000Z.db.part: not complete",
        "parley-20260101T000000Z.db.removed: being removed",
        "notes.txt: no backup",
      ]
      let none = try BackupList.ofFolder(place.backups)
      #expect(none.rows.isEmpty && none.leftOut == leftOut)
      let refusal = try await #require(throws: StartupError.self) { _ = try await place.restore(replacing: true) }
      #expect(refusal.lines[0].hasSuffix("there is no parley-<time>.db in it"))
      #expect(refusal.lines.dropFirst().elementsEqual(leftOut.map { "left out: \($0)" }))

      // A newer one that is left out is told beside what was taken.
      let backup = try await place.backUp()
      let list = try BackupList.ofFolder(place.backups)
      #expect(list.rows.map(\.name) == [String(backup.path.dropFirst(place.backups.count + 1))])
      #expect(list.leftOut.contains(leftOut[0]))
      let report = try await place.restore(replacing: true)
      #expect(report.backup == backup.path && report.lines.contains("Left out: \(leftOut[0])."))
      // One that was named has no others.
      try FileManager.default.removeItem(atPath: place.backups + "/first.db-wal")
      let named = try await place.restore(place.backups + "/first.db", replacing: true)
      #expect(!named.lines.contains { $0.hasPrefix("Left out") })

      let missing = try #require(throws: StartupError.self) { _ = try BackupList.ofFolder(place.folder + "/none") }
      #expect(missing.lines == ["the folder \(place.folder)/none cannot be read: there is no such file or folder"])
    }
  }

  @Test func aBackupComesBackWithItsFilesAndIsAsked() async throws {
    try await withPlace { place in
      let kept = try await place.upload([1, 2, 3])
      let damaged = try await place.upload([4, 5, 6])
      let missing = try await place.upload([7])
      _ = try await place.backUp()
      try FileManager.default.removeItem(atPath: place.data)
      try Files.write([4, 5, 0], to: place.file(damaged, in: place.backups), mode: 0o600)
      try FileManager.default.removeItem(atPath: place.file(missing, in: place.backups))

      let report = try await place.restore()
      #expect(report.users == 1 && report.domains == ["localhost"] && report.replaced == nil)
      #expect(report.files?.copied == 1 && report.files?.missing == 2)
      #expect(report.files?.damaged == [damaged.description])
      #expect(try await place.users == ["romeo"])
      #expect(try Files.read(place.file(kept), bytesMax: 9) == [1, 2, 3])
      #expect(!Files.exists(place.file(damaged)) && !Files.exists(place.data + "/restoring"))
      let epochs = try await place.open {
        try await $0.parley.read { try ($0.epochs(), $0.audit(in: nil, before: .max, limit: 1)) }
      }
      #expect(epochs.0.map(\.position.number) == [report.position] && epochs.1.first?.operation == "restore")
    }
  }

  @Test func whatIsInTheFolderIsLeftAloneOrKeptAside() async throws {
    try await withPlace { place in
      let old = try await place.upload([1, 2, 3])
      let made = try await place.open { try await $0.backup.write(to: place.folder + "/copy.db") }
      try await place.add("juliet")
      let new = try await place.upload([9])
      #expect(try await place.refusal(made.path).contains("is not empty"))
      let report = try await place.restore(made.path, replacing: true)
      // A file alone has no files beside it: those of the folder are taken over, and a later one is not.
      #expect(report.files?.kept == 1 && report.files?.missing == 0)
      #expect(Files.exists(place.file(old)) && !Files.exists(place.file(new)))
      #expect(try await place.users == ["romeo"])
      let aside = try #require(report.replaced)
      #expect(Files.exists(place.file(new, in: aside)) && Files.exists(aside + "/tokens.key"))
      let former = try SQLiteStore(path: aside + "/parley.db")
      #expect(try former.read { try $0.userCount(in: RealmID(1)) } == 2)
      try former.close()
    }
  }

  @Test func whatIsNoBackupOfThisServerIsRefused() async throws {
    try await withPlace { place in
      let made = try await place.open { try await $0.backup.write(to: place.folder + "/copy.db") }
      func copy(_ name: String) throws -> String {
        let path = place.folder + "/" + name
        try FileManager.default.copyItem(atPath: made.path, toPath: path)
        return path
      }
      try FileManager.default.removeItem(atPath: place.data)
      #expect(try await place.refusal(place.folder + "/none.db").contains("there is no backup"))
      try Files.write(Array("no database".utf8), to: place.folder + "/text.db", mode: 0o600)
      #expect(try await place.refusal(place.folder + "/text.db").contains("is no backup of Parley"))
      try Files.write([], to: place.folder + "/empty.db", mode: 0o600)
      #expect(try await place.refusal(place.folder + "/empty.db").contains("is no backup of Parley"))
      let newer = try copy("newer.db")
      try await place.edit(newer, "INSERT INTO migrations VALUES ('9999-future')")
      #expect(try await place.refusal(newer).contains("made by a newer release"))
      let damaged = try copy("damaged.db")
      let file = try #require(FileHandle(forUpdatingAtPath: damaged))
      try file.seek(toOffset: 40_000)
      try file.write(contentsOf: Data(repeating: 0x5a, count: 30_000))
      try file.close()
      #expect(try await place.refusal(damaged).contains("damaged"))
      let elsewhere = try Place(place.folder, domain: "elsewhere.example")
      #expect(
        try await elsewhere.refusal(made.path).contains(
          "is of localhost, and the configuration serves elsewhere.example; a backup keeps its domains: set domain to localhost,"
        ))
      #expect(!Files.exists(place.data))
      #expect(try await place.restore(made.path).users == 1)
    }
  }

  @Test func aBackupOfTheLastDevelopmentVersionIsUpgradedAndAnOlderOneIsRefused() async throws {
    try await withScratchFolder { folder in
      let place = try Place(folder)
      let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path
      let (last, older) = (folder + "/last.db", folder + "/older.db")
      for path in [last, older] { try await place.edit(path, ".read '\(tests)/DataFolders/development.sql'") }
      try await place.edit(older, "DELETE FROM grdb_migrations WHERE identifier = '0062-hook-lanes'")
      #expect(try await place.refusal(older).contains("schema 61, made by a development version before 0.1.0"))
      let report = try await place.restore(last)
      #expect(report.users == 7 && report.migrations == 1)
      #expect(report.lines.contains("It is of an older release; its schema was brought up to date."))
    }
  }

  /// Two backups of the same moment have two names, in the order in which they were made.
  @Test func backupsOfTheSameTimeHaveOtherNames() throws {
    let time = Timestamp(milliseconds: 1_769_860_800_123)
    let first = BackupName(at: time) { _ in false }
    #expect(first.description == "parley-20260131T120000123Z")
    let second = BackupName(at: time) { $0 == first }
    #expect(second.description == "parley-20260131T120000124Z" && first < second)
    #expect(first.time == time)
    #expect(BackupName(file: "parley-20260131T120000Z.db", ending: ".db")?.time == time + .milliseconds(-123))
    #expect(BackupName(file: "parley-20260131T120000Z.db.part", ending: ".db") == nil)
  }

  /// A crash between any two of the renames: whoever opens the folder next finishes them.
  @Test func anInterruptedRestoreIsFinishedOrForgotten() async throws {
    try await withPlace { place in
      _ = try await place.open { try await $0.backup.write(to: place.folder + "/copy.db") }
      try await place.add("juliet")
      let restore = InterruptedRestore(data: place.data)
      func prepare() throws {
        try Files.makeFolder(restore.staging + "/blobs", mode: 0o700)
        try FileManager.default.copyItem(atPath: place.folder + "/copy.db", toPath: restore.staging + "/parley.db")
      }
      // It was not decided.
      try prepare()
      #expect(try await place.users == ["juliet", "romeo"])
      #expect(!Files.exists(restore.staging))
      // It was, and the first of the renames were done.
      try prepare()
      let aside = place.data + "/replaced-1"
      try Files.makeFolder(aside, mode: 0o700)
      try restore.decide(aside: "replaced-1")
      try FileManager.default.moveItem(atPath: place.data + "/blobs", toPath: aside + "/blobs")
      try FileManager.default.moveItem(atPath: restore.staging + "/blobs", toPath: place.data + "/blobs")
      try FileManager.default.moveItem(atPath: place.data + "/parley.db", toPath: aside + "/parley.db")
      #expect(try await place.users == ["romeo"])
      #expect(!Files.exists(restore.staging) && Files.exists(aside + "/parley.db"))
    }
  }
}
