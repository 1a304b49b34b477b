import Basics
import Dialogs
import StoreConformance
import Testing

@testable import SQLiteStore

/// What pages of messages and marks look at, in hundreds of steps of the engine.
@Suite struct ArchiveCostTests {
  /// Calls `body` with a dialog of 3,000 messages of Romeo's to Juliet.
  private func withLongDialog(_ body: (Verona, any StoreWriter) throws -> Void) throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    try store.write { writer in
      for position in 1...Int64(3_000) { try verona.say(position, text: "rose", writer) }
      try body(verona, writer)
    }
    try store.close()
  }

  @Test func whatAUserHasClearedIsNotLookedAt() throws {
    try withLongDialog { verona, writer in
      let access = try #require(verona.dialog.messages(for: verona.juliet.id))
      var query = ArchiveQuery(limit: 10)
      query.with = verona.dialog.id
      var found: [Position] = []
      func archived() throws { found = try writer.archive(of: verona.juliet.id, query).entries.map(\.position) }
      func history() throws {
        found = try writer.history(of: access, after: .zero, before: .end, limit: 10, ascending: true).map(\.position)
      }
      let before = (archive: try steps(writer, archived), history: try steps(writer, history))
      #expect(found == (1...10).map { Position($0) })
      try writer.clear(verona.dialog.id, upTo: Position(2_990), leaves: false, for: verona.juliet.id)
      let after = (archive: try steps(writer, archived), history: try steps(writer, history))
      #expect(found == (2_991...3_000).map { Position($0) })
      #expect(after.archive <= before.archive + 2 && after.history <= before.history + 2, "\(before), \(after)")
      try archived()
      #expect(found == (2_991...3_000).map { Position($0) })
    }
  }

  @Test func aPageWithoutAMatchLooksAtSoManyRows() throws {
    try withLongDialog { verona, writer in
      var query = ArchiveQuery(limit: 10)
      query.with = verona.dialog.id
      query.withResource = "nosuch"
      var page = ArchivePage(entries: [], complete: false)
      func cost(_ looks: Int) throws -> Int {
        query.looksMax = looks
        return try steps(writer) { page = try writer.archive(of: verona.juliet.id, query) }
      }
      let all = try cost(10_000)
      #expect(page.complete && page.entries.isEmpty && page.next == nil)
      let some = try cost(300)
      #expect(!page.complete && page.entries.isEmpty && page.next == Position(300))
      #expect(all > 20 && some < all / 5, "\(some) of \(all)")
      query.backwards = true
      #expect(try cost(300) < all / 5)
      #expect(page.next == Position(2_701))
    }
  }

  @Test func retractedMessagesBehindAMarkAreCountedUpToABound() throws {
    try withLongDialog { verona, writer in
      var mark: Mark?
      func read() throws { mark = try writer.mark(verona.juliet.id, in: verona.dialog.id) }
      func retract(_ positions: ClosedRange<Int64>) throws {
        for position in positions {
          let retraction = MessageState.Retraction(
            by: verona.romeo, at: Timestamp(milliseconds: position), id: nil, reason: nil, isModeration: false)
          try writer.put(
            MessageState(version: Position(position), revision: 1, retraction: retraction), of: Position(position),
            in: verona.dialog.id)
        }
      }
      try retract(1...Int64(Limits.retractedCountedMax))
      let few = try steps(writer, read)
      #expect(mark?.retracted == Int64(Limits.retractedCountedMax))
      try retract(Int64(Limits.retractedCountedMax) + 1...3_000)
      let many = try steps(writer, read)
      #expect(mark?.retracted == Int64(Limits.retractedCountedMax))
      #expect(few > 10 && many <= few + 5, "\(many) and \(few)")
      #expect(try writer.unread(of: verona.juliet.id) == 3_000 - Int64(Limits.retractedCountedMax))
    }
  }

  /// A piece of an archive ends behind so many keys; nothing is sorted for it.
  @Test func rowsArePassedOverByTheirKeys() throws {
    let folder = try Folder()
    let store = try folder.open()
    defer { try? store.close() }
    func plan(_ query: Query, _ count: Int) throws -> [String] {
      try store.rows("EXPLAIN QUERY PLAN " + query.text, Array(repeating: 1, count: count)).map { $0[3] }
    }
    for query in [Query.passFeed, .passFeedBackwards, .passDialog, .passDialogBackwards] {
      let found = try plan(query, 4)
      #expect(found.count == 1 && found[0].hasPrefix("SEARCH "), "\(found)")
      #expect(found[0].hasSuffix("=? AND position>? AND position<?)"), "\(found)")
    }
    let whispers = try plan(.whispersOf, 2)
    #expect(whispers.contains { $0.contains("dialogs_whispers (via=? AND first=?)") }, "\(whispers)")
    #expect(whispers.contains { $0.contains("dialogs_whispers_second (via=? AND second=?)") }, "\(whispers)")
    #expect(!whispers.contains { $0.contains("TEMP B-TREE") || $0.hasPrefix("SCAN d") }, "\(whispers)")
  }
}
