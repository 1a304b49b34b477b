import Dialogs
import Foundation
import ServerMetrics
import Testing

@testable import SQLiteStore

/// Which transactions sync the log: a commit that is told is durable, with everything before it.
@Suite struct SyncTests {
  private let metrics = Metrics()

  private var syncs: Int {
    guard case .distribution(let buckets, _)? = metrics.syncSeconds.samples(Readings())?.first?.value else { return -1 }
    return buckets.last?.count ?? -1
  }

  /// Returns the number of syncs of `body`.
  private func counting(_ body: () throws -> Void) rethrows -> Int {
    let before = syncs
    try body()
    return syncs - before
  }

  @Test func aCommitMakesThoseBeforeItDurable() throws {
    let folder = try Folder()
    let store = try SQLiteStore(path: folder.database, metrics: metrics)
    let verona = try Verona(store)
    func say(_ position: Int64, synced: Bool) throws {
      try store.write(synced: synced) { try verona.say(position, $0) }
    }
    #expect(try counting { try say(1, synced: true) } == 1)
    #expect(try counting { try say(2, synced: false) } == 0)
    #expect(try store.read { try verona.check($0) } == 2)
    #expect(try counting { try say(3, synced: true) } == 1)
    #expect(try counting { try store.write { _ in } } == 0)
    // One that changes nothing syncs what is not.
    #expect(try counting { for position in Int64(4)...9 { try say(position, synced: false) } } == 0)
    #expect(try counting { try store.write { _ in } } == 1)
    #expect(try counting { try store.write { _ in } } == 0)
    // One that fails does not, and the next does.
    try say(10, synced: false)
    #expect(throws: CancellationError.self) { try store.write { _ in throw CancellationError() } }
    #expect(try counting { try store.write { _ in } } == 1)
    try store.close()
    #expect(try folder.open().read { try verona.check($0) } == 10)
  }

  @Test func aLogThatAReaderHoldsHasItsBlocksBeforeItNeedsThem() throws {
    let folder = try Folder()
    let store = try folder.open { $0.checkpointBytes = 1 << 20 }
    let verona = try Verona(store)
    var position: Int64 = 0
    func write(bytes: Int64) throws {
      let end = try logUsed(folder) + bytes
      while try logUsed(folder) < end {
        try store.write { writer in
          for _ in 0..<50 {
            position += 1
            try verona.say(position, writer)
          }
        }
        store.checkpointer.settle()
      }
    }
    try store.read { reader in
      _ = try verona.check(reader)
      try write(bytes: 2 << 20)
      #expect(try folder.logLength >= logUsed(folder) + (1 << 20) / StoreLimits.preparedRestShare)
    }
    #expect(try store.read { try verona.check($0) } == position)
    try store.close()
  }

  /// Returns the bytes of the frames in the log, for which another program's checkpoint copies what it can.
  private func logUsed(_ folder: Folder) throws -> Int64 {
    try folder.edit { Int64(try $0.rows("PRAGMA wal_checkpoint(PASSIVE)")[0][1])! * 4_096 }
  }
}

extension Folder {
  fileprivate var logLength: Int64 {
    get throws {
      let length = try FileManager.default.attributesOfItem(atPath: database + "-wal")[.size]
      return try #require(length as? Int64 ?? (length as? NSNumber)?.int64Value)
    }
  }
}
