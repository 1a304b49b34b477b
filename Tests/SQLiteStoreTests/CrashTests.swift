import CSQLite
import Dialogs
import Foundation
import Synchronization
import Testing

@testable import SQLiteStore

/// The state after the process or the machine stops at any moment, and what other connections see meanwhile.
@Suite struct CrashTests {
  /// Opens the files as they are at this moment, which is what a killed process
  /// leaves, and returns the head found there, after writing on. `cut` keeps only
  /// so many bytes of the write-ahead log.
  private func headLeft(in folder: Folder, _ verona: Verona, cut: Int? = nil) throws -> Int64 {
    let copy = try Folder()
    try FileManager.default.copyItem(atPath: folder.database, toPath: copy.database)
    var log = try Data(contentsOf: URL(fileURLWithPath: folder.database + "-wal"))
    if let cut { log = log.prefix(cut) }
    try log.write(to: URL(fileURLWithPath: copy.database + "-wal"))
    let store = try copy.open()
    let head = try store.read { try verona.check($0) }
    try store.write { try verona.say(head + 1, $0) }
    let next = try store.read { try verona.check($0) }
    try store.close()
    #expect(next == head + 1)
    return head
  }

  @Test func aKilledProcessLosesNothingItHadCommittedAndNothingElseIsThere() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    for position in 1...20 {
      try store.write { try verona.say(Int64(position), $0) }
      #expect(try headLeft(in: folder, verona) == position)
    }
    try store.write { writer in
      for position in 21...600 { try verona.say(Int64(position), writer) }
      let head = try headLeft(in: folder, verona)
      #expect(head == 20)
    }
    #expect(try store.read { try verona.check($0) } == 600)
    try store.close()
  }

  @Test func aTornLogEndsWithAWholeCommit() throws {
    let folder = try Folder()
    // So that no blocks are written beforehand: the file ends with the log.
    let store = try folder.open { $0.checkpointBytes = 1 << 30 }
    let verona = try Verona(store)
    _ = try store.pool.write { try $0.connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE) }
    var lengths: [Int] = []
    for batch in 0..<6 {
      try store.write { writer in
        for position in batch * 7 + 1...batch * 7 + 7 { try verona.say(Int64(position), writer) }
      }
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.database + "-wal")
      lengths.append(try #require(attributes[.size] as? Int))
    }
    // At, just before and just behind the end of each commit, and between.
    for (index, length) in lengths.enumerated() {
      for (cut, whole) in [(length - 1, index), (length, index + 1), (length + 1, index + 1), (length - 5_000, index)] {
        #expect(try headLeft(in: folder, verona, cut: cut) == Int64(whole * 7), "cut at \(cut)")
      }
    }
    try store.close()
  }

  /// The checkpointer's connection is the last one then, and copies the log when the engine closes it.
  @Test func aStoreThatIsNotClosedIsWholeWhenItIsDropped() throws {
    for _ in 0..<20 {
      let folder = try Folder()
      do {
        let store = try folder.open { $0.checkpointBytes = 4 << 20 }
        let verona = try Verona(store)
        for position in 1...7 { try store.write { try verona.say(Int64(position), $0) } }
        store.checkpointer.settle()
      }
      #expect(!FileManager.default.fileExists(atPath: folder.database + "-wal"))
      let store = try folder.open()
      #expect(try store.read { try $0.head().position.number } == 7)
      try store.close()
    }
  }

  @Test func theBlocksOfTheLogAreWrittenBeforehand() throws {
    let folder = try Folder()
    let store = try folder.open { $0.checkpointBytes = 4 << 20 }
    let verona = try Verona(store)
    for position in 1...7 { try store.write { try verona.say(Int64(position), $0) } }
    store.checkpointer.settle()
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.database + "-wal")
    #expect(try #require(attributes[.size] as? Int) >= 5 << 20)
    try store.write { try verona.say(8, $0) }
    #expect(try headLeft(in: folder, verona) == 8)
    try store.close()
  }

  @Test func readersSeeWholeCommitsWhileTheWriterWrites() throws {
    let folder = try Folder()
    let store = try folder.open { $0.checkpointBytes = 200_000 }
    let verona = try Verona(store)
    let isDone = Atomic<Bool>(false)
    let problems = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { worker in
      do {
        if worker == 0 {
          defer { isDone.store(true, ordering: .releasing) }
          for batch in 0..<40 {
            try store.write { writer in
              for position in batch * 5 + 1...batch * 5 + 5 { try verona.say(Int64(position), writer) }
            }
          }
        } else {
          var last: Int64 = 0
          repeat {
            let head = try store.read { try verona.check($0) }
            if head % 5 != 0 || head < last { problems.withLock { $0.append("head \(head) after \(last)") } }
            last = head
          } while !isDone.load(ordering: .acquiring)
        }
      } catch {
        problems.withLock { $0.append("\(error)") }
      }
    }
    #expect(problems.withLock { $0 } == [])
    #expect(try store.read { try verona.check($0) } == 200)
    try store.close()
  }

  /// The cache size, so small that the engine writes pages of a running transaction to the log and reads them from it.
  @Test func aTransactionLargerThanTheCacheIsWholeOrGone() throws {
    let folder = try Folder()
    let store = try folder.open { $0.writerCacheBytes = 0 }
    let verona = try Verona(store)
    struct Refusal: Error {}
    try store.write { writer in
      for position in 1...400 { try verona.say(Int64(position), writer) }
      #expect(try verona.check(writer) == 400)
      #expect(try store.read { try $0.head().position } == .zero)
    }
    #expect(throws: Refusal.self) {
      try store.write { writer in
        for position in 401...900 { try verona.say(Int64(position), writer) }
        throw Refusal()
      }
    }
    #expect(try store.read { try verona.check($0) } == 400)
    try store.write { try verona.say(401, $0) }
    #expect(try headLeft(in: folder, verona) == 401)
    try store.close()
  }

  /// A backup, or a program that replicates the log, holds it for long: it is not waited for again and again.
  @Test func aReaderThatHoldsTheLogIsAskedAgainWithItsGrowth() throws {
    let folder = try Folder()
    let store = try folder.open { $0.checkpointBytes = 1 << 20 }
    let (verona, checkpointer, usual) = (try Verona(store), store.checkpointer, Int32((1 << 20) / 4096))
    var position: Int64 = 0
    func say(_ count: Int64) throws {
      try store.write { writer in
        for next in position + 1...position + count { try verona.say(next, writer) }
      }
      position += count
      checkpointer.settle()
    }
    func asking() -> Int32 { checkpointer.asking.load(ordering: .relaxed) }
    try say(1)
    #expect(asking() == usual)
    try folder.edit { reader in
      try reader.execute("BEGIN")
      _ = try reader.int("SELECT count(*) FROM entries")
      var held: Int32 = 0
      for _ in 0..<200 where held == 0 {
        try say(20)
        if asking() > usual { held = asking() }
      }
      #expect(held > usual)
      try say(1)
      #expect(asking() == held, "the next commit asked again")
      for _ in 0..<20 { try say(20) }
      #expect(asking() > held)
      try reader.execute("COMMIT")
    }
    for _ in 0..<20 { try say(20) }
    #expect(asking() == usual, "the log was not restarted")
    #expect(try store.read { try verona.check($0) } == position)
    try store.close()
  }

  /// A log that is to be replicated stays, and another process that reads keeps it, too.
  @Test func theLogOfAReplicatedStoreIsKept() throws {
    let folder = try Folder()
    let store = try folder.open { $0.isReplicated = true }
    let verona = try Verona(store)
    let follower = try store.follower()
    #expect(!follower.isThere)
    for position in 1...7 { try store.write { try verona.say(Int64(position), $0) } }
    let process = Process()
    let (input, output) = (Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["sqlite3", folder.database]
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data("BEGIN; SELECT max(position) FROM entries;\n".utf8))
    #expect(output.fileHandleForReading.availableData == Data("7\n".utf8))
    #expect(follower.isThere)
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(!follower.isThere)
    try store.close()
    #expect(follower.logBytes > 0)
    let again = try folder.open()
    #expect(try again.read { try verona.check($0) } == 7)
    try again.close()
    #expect(follower.logBytes == 0)
  }

  @Test func theWriteAheadLogStaysShort() throws {
    let folder = try Folder()
    let bound = 250_000
    // The making of the tables is in a log of its own.
    try folder.open().close()
    let store = try folder.open { $0.checkpointBytes = Int64(bound) }
    let verona = try Verona(store)
    var longest = 0
    for batch in 0..<60 {
      try store.write { writer in
        for position in batch * 20 + 1...batch * 20 + 20 { try verona.say(Int64(position), writer) }
      }
      store.checkpointer.settle()
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.database + "-wal")
      longest = max(longest, try #require(attributes[.size] as? Int))
    }
    // Each commit has about 50,000 bytes; all together have twelve times the bound.
    #expect(longest < 2 * bound)
    #expect(try store.read { try verona.check($0) } == 1_200)
    try store.close()
  }
}
