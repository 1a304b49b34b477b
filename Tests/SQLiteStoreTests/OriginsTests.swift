import Dialogs
import GRDB
import Testing

@testable import SQLiteStore

/// Ids of messages move from the small table to the large one, and are found wherever they are.
@Suite struct OriginsTests {
  private func entry(_ verona: Verona, _ position: Int64, id: String) -> Entry {
    Entry(
      position: Position(position), time: Timestamp(milliseconds: position), dialog: verona.dialog.id,
      author: verona.romeo, place: .peer(verona.juliet),
      fact: .message(
        Message(
          sequence: position, content: Content(kind: .text, text: "rose"), envelope: Envelope(id: id),
          traits: [.counts, .archived])),
      id: PublicID(high: 0, low: UInt64(position)))
  }

  private func rows(_ store: SQLiteStore, _ table: String) throws -> Int {
    try store.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") } ?? 0
  }

  @Test func idsMoveInSlicesAndStayKnown() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    let feeds = [FeedRow(user: verona.romeo.id, traits: .archived)]
    for position in Int64(1)...100 {
      try store.write { writer in
        let own = try #require(writer as? Writer)
        own.slices.freshMax = 16
        own.slices.length = 4
        try writer.insert(
          entry(verona, position, id: "m\(position)"), feeds: feeds,
          key: RepeatKey(rule: .xmpp, id: "m\(position)", bodyHash: UInt64(position)))
      }
      // The bound holds whatever came, and a row is in one place.
      let fresh = try rows(store, "fresh_origins")
      #expect(fresh <= 16 + 1)
      #expect(try rows(store, "origins") + fresh == Int(position))
    }
    #expect(try rows(store, "origins") > 0)
    try store.read { reader in
      for position in Int64(1)...100 {
        let found = try reader.find("m\(position)", by: verona.romeo.id, in: verona.dialog.id)
        #expect(found?.position == Position(position))
        #expect(found?.bodyHash == UInt64(position))
      }
      #expect(try reader.find("m101", by: verona.romeo.id, in: verona.dialog.id) == nil)
    }
    // What is erased is forgotten in either.
    try store.write { writer in
      for position in Int64(1)...100 { try writer.erase(Position(position), in: verona.dialog.id) }
    }
    #expect(try rows(store, "origins") == 0)
    #expect(try rows(store, "fresh_origins") == 0)
    try store.close()
  }

  /// The same id twice: the later message is the one that is meant, whether or not the earlier has moved.
  @Test func theLaterOfTwoIsFound() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    for position in Int64(1)...60 {
      try store.write { writer in
        let own = try #require(writer as? Writer)
        own.slices.freshMax = 8
        own.slices.length = 4
        // Every third message has the same id.
        let id = position % 3 == 0 ? "again" : "m\(position)"
        try writer.insert(
          entry(verona, position, id: id), feeds: [],
          key: RepeatKey(rule: .xmpp, id: id, bodyHash: UInt64(position)))
      }
      let last = position / 3 * 3
      let found = try store.read { try $0.find("again", by: verona.romeo.id, in: verona.dialog.id) }
      #expect(found?.position == (last > 0 ? Position(last) : nil))
    }
    try store.close()
  }

  /// A slice is a range of the small table's own order: nothing is sorted, nothing gone through.
  @Test func aSliceIsARange() throws {
    let folder = try Folder()
    let store = try folder.open()
    defer { try? store.close() }
    for query in [Query.moveOrigins, .clearOrigins] {
      let plan = try store.pool.read { database in
        try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + query.text, arguments: [1, 1, 2, 2])
          .map { $0["detail"] as String }
      }
      #expect(
        plan.contains { $0.hasPrefix("SEARCH fresh_origins USING PRIMARY KEY (") }, "\(plan)")
      #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }
  }
}
