import Basics
import Dialogs
import StoreConformance
import Testing

@testable import SQLiteStore

/// What a search looks at whose words are common and do not meet.
@Suite struct SearchCostTests {
  private static let count = Int64(6_000)

  /// Calls `body` with a dialog in which two words take turns.
  private func withWords(_ body: (Verona, any StoreReader) throws -> Void) throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    try store.write { writer in
      for position in 1...Self.count {
        try verona.say(position, text: position.isMultiple(of: 2) ? "left" : "right", writer)
      }
    }
    // What is not committed yet is in memory, and costs no steps.
    while try store.write({ try $0.indexMessages(limit: 1_000, bytes: .max) }) {}
    try store.read { try body(verona, $0) }
    try store.close()
  }

  @Test func aSearchEndsAfterSoManyLooks() throws {
    try withWords { verona, reader in
      let log = try reader.log(of: verona.juliet)
      func search(_ looksMax: Int, _ text: String = "left right") throws -> MessageCandidates {
        try reader.messages(with: text, of: log, in: nil, before: .end, limit: 9, looksMax: looksMax)
      }
      let whole = try search(100_000)
      #expect(whole.candidates.isEmpty && whole.next == nil)
      #expect(whole.looks > 20, "\(whole.looks)")
      let part = try search(5)
      #expect(part.candidates.isEmpty && (6..<12).contains(part.looks), "\(part.looks)")
      #expect(part.next == Position(Self.count - Int64(StoreLimits.searchReadMax) + 1))
      // The statement can be used again.
      #expect(try search(100_000).next == nil)
      let found = try search(100_000, "left")
      #expect(found.candidates.map(\.position) == (0..<9).map { Position(Self.count - 2 * $0) })
      // Rows that are found are counted as such.
      let many = try reader.messages(with: "left", of: log, in: nil, before: .end, limit: 2_000, looksMax: 100_000)
      #expect(many.candidates.count == 2_000 && many.looks < found.looks + 1_000, "\(many.looks), \(found.looks)")
    }
  }

  @Test func aPageOfAnArchiveEndsThereToo() throws {
    try withWords { verona, reader in
      var query = ArchiveQuery(limit: 10)
      query.looksMax = 1
      for (backwards, next) in [(false, Int64(1)), (true, Self.count)] {
        query.backwards = backwards
        query.text = "left-right"
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
