import Addresses
import Dialogs
import Foundation
import Testing

@testable import SQLiteStore

/// Tests of failures: each has its name, and committed data remains.
@Suite struct FailureTests {
  @Test func commitsAreSynced() throws {
    let folder = try Folder()
    let store = try folder.open()
    let pragmas = try store.pool.write { writer in
      try ["synchronous", "wal_autocheckpoint", "secure_delete", "mmap_size", "cache_size"].map {
        try writer.connection.int("PRAGMA \($0)")
      }
    }
    #expect(pragmas == [2, 0, 1, 0, -8192])
    #expect(try store.rows("PRAGMA journal_mode") == [["wal"]])
  }

  @Test func aFullDiskLeavesNothingOfItsBatch() throws {
    let folder = try Folder()
    let store = try folder.open { $0.pagesMax = 200 }
    let verona = try Verona(store)
    var head: Int64 = 0
    #expect(throws: StoreFailure.full) {
      while true {
        try store.write { writer in
          for position in head + 1...head + 50 { try verona.say(position, writer) }
        }
        head += 50
      }
    }
    #expect(head >= 50)
    #expect(try store.read { try verona.check($0) } == head)
    // Again, and again nothing; then a bit of room, and it goes on.
    #expect(throws: StoreFailure.full) {
      try store.write { writer in
        for position in head + 1...head + 500 { try verona.say(position, writer) }
      }
    }
    try store.close()
    let larger = try folder.open()
    #expect(try larger.read { try verona.check($0) } == head)
    try larger.write { try verona.say(head + 1, $0) }
    #expect(try larger.read { try verona.check($0) } == head + 1)
    try larger.close()
  }

  @Test func anotherProcessHoldsTheDatabase() throws {
    let folder = try Folder()
    let store = try folder.open { $0.busyTimeout = .milliseconds(1) }
    let verona = try Verona(store)
    try folder.edit { other in
      try other.execute("BEGIN IMMEDIATE")
      #expect(throws: StoreFailure.locked) { try store.write { try verona.say(1, $0) } }
      // Reading goes on.
      #expect(try store.read { try verona.check($0) } == 0)
      try other.execute("ROLLBACK")
    }
    try store.write { try verona.say(1, $0) }
    #expect(try store.read { try verona.check($0) } == 1)
    try store.close()
  }

  @Test func aNewerSchemaIsRefused() throws {
    let folder = try Folder()
    try folder.open().close()
    try folder.edit { try $0.execute("INSERT INTO migrations VALUES ('0099-later')") }
    #expect(throws: StoreFailure.schemaTooNew(found: 99, known: Migration.all.last?.number ?? 0)) { try folder.open() }
    #expect(
      "\(StoreFailure.schemaTooNew(found: 99, known: 1))"
        == "the database has schema 99, made by a newer release; this one knows schemas up to 1")
  }

  @Test func anotherProgramsDatabaseIsLeftAlone() throws {
    let folder = try Folder()
    try folder.edit { try $0.execute("CREATE TABLE theirs (id INTEGER)") }
    #expect(throws: StoreFailure.foreign(path: folder.database)) { try folder.open() }
    #expect(try folder.edit { try $0.rows("SELECT name FROM sqlite_schema") } == [["theirs"]])
  }

  @Test func aFileThatIsNoDatabaseIsLeftAlone() throws {
    let folder = try Folder()
    let text = Data(String(repeating: "This is a letter. ", count: 500).utf8)
    try text.write(to: URL(fileURLWithPath: folder.database))
    #expect(throws: StoreFailure.foreign(path: folder.database)) { try folder.open() }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == text)
  }

  @Test func aMissingFolderIsNamed() throws {
    let path = try Folder().path + "/nowhere/parley.db"
    let failure = #expect(throws: StoreFailure.self) { try SQLiteStore(path: path) }
    guard case .cannotOpen(let named, _) = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(named == path)
  }

  @Test func aDamagedFileIsSaidToBeDamaged() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    try store.write { writer in for position in 1...500 { try verona.say(Int64(position), writer) } }
    try store.close()
    let url = URL(fileURLWithPath: folder.database)
    var bytes = try Data(contentsOf: url)
    bytes.replaceSubrange(4096..., with: Data(repeating: 0xa5, count: bytes.count - 4096))
    try bytes.write(to: url)
    let failure = #expect(throws: StoreFailure.self) {
      let store = try folder.open()
      _ = try store.read { try verona.check($0) }
    }
    guard case .corrupt = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }

  @Test func afterClosingNothingIsReadOrWritten() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    try store.close()
    #expect(throws: StoreFailure.closed) { try store.read { try verona.check($0) } }
    #expect(throws: StoreFailure.closed) { try store.write { try verona.say(1, $0) } }
  }

  @Test func erasedContentIsOverwritten() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    let secret = "sweet sorrow " + String(repeating: "parting ", count: 2_000)
    try store.write { writer in
      try verona.say(1, writer)
      try verona.say(2, text: secret, writer)
      try verona.say(3, writer)
    }
    try store.write { try $0.erase(Position(2), in: verona.dialog.id) }
    try store.close()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.database))
    #expect(bytes.range(of: Data("sorrow".utf8)) == nil)
    #expect(bytes.range(of: Data("parting".utf8)) == nil)
    #expect(bytes.range(of: Data("rose".utf8)) != nil)
    #expect(!FileManager.default.fileExists(atPath: folder.database + "-wal"))
  }
}
