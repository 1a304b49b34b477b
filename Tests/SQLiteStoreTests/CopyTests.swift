import Basics
import Dialogs
import Foundation
import Testing

@testable import SQLiteStore

/// A copy of a store that is in use.
@Suite struct CopyTests {
  @Test func aCopyIsAStoreOfItsMoment() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    func say(_ positions: ClosedRange<Int64>) throws {
      try store.write { writer in
        for position in positions { try verona.say(position, writer) }
      }
    }
    try say(1...50)
    let path = folder.path + "/copy.db"
    try store.copy(to: path, until: Cancellation())
    try say(51...100)
    #expect(try store.read { try verona.check($0) } == 100)
    try store.close()

    let copy = try SQLiteStore(path: path)
    #expect(try copy.read { try verona.check($0) } == 50)
    try copy.write { writer in
      for position in Int64(51)...60 { try verona.say(position, writer) }
    }
    #expect(try copy.read { try verona.check($0) } == 60)
    try copy.close()
  }

  /// The store stands for the other process: the copy has a connection of its own.
  @Test(arguments: [false, true]) func aFileIsCopiedWhileAnotherUsesIt(isShared: Bool) throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    try store.write { writer in
      for position in Int64(1)...500 { try verona.say(position, writer) }
    }
    let path = folder.path + "/copy.db"
    try SQLiteStore.copy(
      folder.database, to: path, isShared: isShared, isReplicated: false, until: Cancellation())
    try store.write { writer in
      for position in Int64(501)...510 { try verona.say(position, writer) }
    }
    #expect(try store.read { try verona.check($0) } == 510)
    try store.close()
    let copy = try SQLiteStore(path: path)
    #expect(try copy.read { try verona.check($0) } == 500)
    try copy.close()
  }

  @Test func aCopyEndsWhenItIsCancelled() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    try store.write { writer in
      for position in Int64(1)...500 { try verona.say(position, writer) }
    }
    let cancellation = Cancellation()
    cancellation.set()
    #expect(throws: StoreFailure.self) { try store.copy(to: folder.path + "/copy.db", until: cancellation) }
    for isShared in [false, true] {
      #expect(throws: StoreFailure.self) {
        try SQLiteStore.copy(
          folder.database, to: folder.path + "/\(isShared).db", isShared: isShared, isReplicated: false,
          until: cancellation)
      }
    }
    try store.copy(to: folder.path + "/next.db", until: Cancellation())
    #expect(try store.read { try verona.check($0) } == 500)
    try store.close()
  }

  @Test func aFileThatHoldsSomethingIsLeftAlone() throws {
    let folder = try Folder()
    let store = try folder.open()
    _ = try Verona(store)
    let path = folder.path + "/letter"
    try Data("Dear Juliet".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: StoreFailure.self) { try store.copy(to: path, until: Cancellation()) }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "Dear Juliet")
    #expect(throws: StoreFailure.self) { try store.copy(to: folder.path + "/no/such/folder", until: Cancellation()) }
    try store.close()
  }
}
