import Basics
import Dialogs
import StoreConformance
import Testing

@testable import SQLiteStore

/// What a search looks at whose words are common and do not meet.
@Suite struct SearchCostTests {
  /// The positions of the messages.
  private static let positions = Int64(200_001)...206_000

  /// Calls `body` with a dialog in which two words take turns. Many more such messages are in the index alone.
  private func withWords(_ body: (Verona, any StoreReader) throws -> Void) throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    try store.write { writer in
      for position in Self.positions {
        try verona.say(position, text: position.isMultiple(of: 2) ? "left" : "right", writer)
      }
      let own = try #require(writer as? Writer)
      let words = try own.searchText()
      let (right, left, owner) = (words.tokens(of: "right"), words.tokens(of: "left"), verona.juliet.id.number)
      try own.connection.execute(
        """
        INSERT INTO search (rowid, scope, text)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.positions.lowerBound - 1))
        SELECT i, 'u\(owner)', iif(i % 2, '\(right)', '\(left)') FROM n
        """)
    }
    // What is not committed yet is in memory, and costs no steps.
    while try store.write({ try $0.indexMessages(limit: 1_000, bytes: .max) }) {}
    try store.read { try body(verona, $0) }
    try store.close()
  }

  @Test func aSearchEndsAfterSoManyLooks() throws {
    try withWords { verona, reader in
      let log = LogAccess.own(verona.juliet)
      func search(_ looksMax: Int, _ text: String = "left right") throws -> MessageCandidates {
        try reader.messages(with: text, of: log, in: nil, before: .end, limit: 9, looksMax: looksMax)
      }
      let last = Self.positions.upperBound
      let whole = try search(100_000)
      #expect(whole.candidates.isEmpty && whole.next == nil)
      #expect(whole.looks > 500, "\(whole.looks)")
      for looksMax in [0, 10, 100] {
        let part = try search(looksMax)
        #expect(part.candidates.isEmpty && part.looks < looksMax + 10, "\(part.looks)")
        #expect(part.next == Position(last - Int64(StoreLimits.searchReadMax) + 1))
      }
      // The statement can be used again.
      #expect(try search(100_000).next == nil)
      let found = try search(1_000, "left")
      #expect(found.candidates.map(\.position) == (Int64(0)..<9).map { Position(last - 2 * $0) })
      // Rows that are found are counted as such.
      let many = try reader.messages(with: "left", of: log, in: nil, before: .end, limit: 2_000, looksMax: 100_000)
      #expect(many.candidates.count == 2_000 && many.looks < found.looks + 1_000, "\(many.looks), \(found.looks)")
    }
  }

  @Test func aPageOfAnArchiveEndsThereToo() throws {
    try withWords { verona, reader in
      var query = ArchiveQuery(limit: 10)
      query.looksMax = 1
      for (backwards, next) in [(false, Self.positions.lowerBound), (true, Self.positions.upperBound)] {
        query.backwards = backwards
        query.text = "middle"
        let whole = try reader.archive(of: verona.juliet.id, query)
        #expect(whole.entries.isEmpty && whole.complete && whole.next == nil)
        // One candidate is looked up, which another resource has sent.
        query.text = backwards ? "left" : "right"
        query.with = verona.dialog.id
        query.withResource = "nosuch"
        let part = try reader.archive(of: verona.juliet.id, query)
        #expect(part.entries.isEmpty && !part.complete && part.next == Position(next))
        (query.with, query.withResource) = (nil, nil)
      }
    }
  }

  @Test func aTextIsComparedAsTheIndexDoes() {
    let words = SearchText(salt: SearchText.salted(17))
    func isFound(_ query: String, in text: String) -> Bool { words.contains(words.phrases(of: query), in: text) }
    for (query, text) in [
      ("light", "What LIGHT through yonder"), ("yonder light", "what light through yonder"), ("be-or", "to be or not"),
      ("東京", "明日は東京タワー"), ("cafe", "Un CAFÉ"),
    ] { #expect(isFound(query, in: text), "\(query)") }
    for (query, text) in [
      ("ligh", "light"), ("light door", "a light"), ("or-be", "to be or not"), ("京東", "東京"), ("light", ""),
    ] { #expect(!isFound(query, in: text), "\(query)") }
    #expect(words.phrases(of: "... *").isEmpty)
    #expect(words.phrases(of: "a-b c").map(\.count) == [2, 1])
  }
}
