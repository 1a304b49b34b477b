import Basics
import Dialogs
import Foundation
import Testing

@testable import SQLiteStore

/// Ids of messages move from memory to the table, and are found wherever they are.
@Suite struct OriginsTests {
  private struct Refused: Error {}

  private struct Dice {
    var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
  }

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

  private func key(_ position: Int64, id: String) -> RepeatKey {
    RepeatKey(rule: .xmpp, id: id, bodyHash: UInt64(position))
  }

  /// Returns the writer with generations of so few positions that they change all the time.
  private func small(_ writer: any StoreWriter) throws -> Writer {
    let writer = try #require(writer as? Writer)
    if writer.origins.span > 16 { writer.origins = OriginGenerations(start: 0, span: 16, slice: 4) }
    return writer
  }

  private func end(_ store: SQLiteStore) throws -> Int64 {
    try store.int("SELECT origins FROM log") ?? -1
  }

  private func rows(_ store: SQLiteStore, behind position: Int64 = 0) throws -> Int {
    Int(try store.int("SELECT count(*) FROM origins WHERE position > \(position)") ?? -1)
  }

  @Test func idsMoveInSlicesAndStayKnown() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    let feeds = [FeedRow(user: verona.romeo.id, traits: .archived)]
    for position in Int64(1)...100 {
      try store.write { writer in
        let writer = try small(writer)
        let id = "m\(position)"
        try writer.insert(entry(verona, position, id: id), feeds: feeds, key: key(position, id: id))
      }
      // The table has everything up to the end that it says, and that is never two generations back.
      let end = try end(store)
      #expect(try rows(store) - rows(store, behind: end) == Int(end))
      #expect(position - end <= 2 * 16)
    }
    #expect(try end(store) == 80)
    func look(_ store: SQLiteStore) throws {
      try store.write { writer in
        for position in Int64(1)...100 {
          let found = try writer.find("m\(position)", by: verona.romeo.id, in: verona.dialog.id)
          #expect(found?.position == Position(position))
          #expect(found?.bodyHash == UInt64(position))
        }
        #expect(try writer.find("m101", by: verona.romeo.id, in: verona.dialog.id) == nil)
        #expect(try writer.find("m9", by: verona.juliet.id, in: verona.dialog.id) == nil)
        #expect(try writer.find("m9", by: verona.romeo.id, in: DialogID(verona.dialog.id.number + 1)) == nil)
      }
    }
    try look(store)
    try store.close()
    let again = try folder.open()
    try look(again)
    // The origins of erased entries are removed, in memory and in the table.
    try again.write { writer in
      for position in Int64(1)...100 { try writer.erase(Position(position), in: verona.dialog.id) }
      for position in Int64(1)...100 {
        #expect(try writer.find("m\(position)", by: verona.romeo.id, in: verona.dialog.id) == nil)
      }
    }
    #expect(try rows(again) == 0)
    try again.close()
  }

  /// The same id twice: the later message is the one that is meant, whether or not the earlier has moved.
  @Test func theLaterOfTwoIsFound() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    for position in Int64(1)...60 {
      // Every third message has the same id.
      let id = position % 3 == 0 ? "again" : "m\(position)"
      let last = position / 3 * 3
      try store.write { writer in
        let writer = try small(writer)
        try writer.insert(entry(verona, position, id: id), feeds: [], key: key(position, id: id))
        let found = try writer.find("again", by: verona.romeo.id, in: verona.dialog.id)
        #expect(found?.position == (last > 0 ? Position(last) : nil))
      }
    }
    try store.close()
  }

  /// Messages that come, go, and were never there since their transaction failed: what is in memory is what a store
  /// that is opened now reads from the log, and nobody is found who is not there. The opened one is a copy: a server
  /// that was killed.
  @Test func memorySaysWhatTheLogSays() throws {
    var random = Dice(seed: 5)
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    var known: [Int64: String] = [:]
    var head: Int64 = 0
    for round in 0..<120 {
      var meanwhile = known
      var next = head
      let fails = random.below(4) == 0
      do {
        try store.write { writer in
          let writer = try small(writer)
          for _ in 0...random.below(9) {
            if random.below(3) == 0, let gone = meanwhile.keys.sorted().last(where: { _ in random.below(4) == 0 }) {
              try writer.erase(Position(gone), in: verona.dialog.id)
              meanwhile[gone] = nil
            } else {
              next += 1
              // Some are without an id, and some ids come again.
              let id: String? = random.below(5) == 0 ? nil : "m\(random.below(60))"
              try writer.insert(entry(verona, next, id: id ?? ""), feeds: [], key: id.map { key(next, id: $0) })
              meanwhile[next] = id
            }
          }
          if fails { throw Refused() }
        }
        known = meanwhile
        head = next
      } catch is Refused {}
      func look(_ writer: any StoreWriter) throws {
        for number in 0..<60 {
          let id = "m\(number)"
          let found = try writer.find(id, by: verona.romeo.id, in: verona.dialog.id)
          #expect(found?.position.number == known.filter { $0.value == id }.keys.max(), "\(id) in round \(round)")
        }
      }
      try store.write(look)
      // The origins of removed entries are not written to the table with their slice.
      let orphans = try store.int(
        "SELECT count(*) FROM origins WHERE position NOT IN (SELECT position FROM payloads)")
      #expect(orphans == 0)
      guard round % 12 == 0 else { continue }
      let copy = try Folder()
      try store.copy(to: copy.database, until: Cancellation())
      let killed = try copy.open()
      try killed.write(look)
      try killed.close()
    }
    // Seven generations have come and gone.
    #expect(try end(store) > 100)
    try store.close()
  }

  /// A log whose messages have no ids is not long to read either.
  @Test func theRowsReadAtTheStartAreBounded() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    for position in Int64(1)...100 {
      try store.write { try small($0).insert(entry(verona, position, id: ""), feeds: [], key: nil) }
      #expect(try position - end(store) <= 2 * 16)
    }
    try store.close()
  }

  /// Rows that a failed transaction has moved are moved again.
  @Test func aGenerationIsAValue() {
    var origins = OriginGenerations(start: 0, span: 4, slice: 2)
    for position in Int64(1)...4 {
      origins.passed(position)
      origins.add(7, Int32(position), position)
    }
    let before = origins
    origins.settle()
    #expect(before != origins)
    #expect(origins.next() == nil)
    origins.passed(6)
    let settled = origins
    let first = origins.next()
    #expect(first?.rows.map(\.position) == [1, 2])
    #expect(first?.end == nil)
    #expect(origins.next() == nil)
    // The transaction fails, and its slice comes again.
    origins.undo()
    origins.passed(6)
    #expect(origins == settled)
    #expect(origins.next() == first)
    origins.settle()
    origins.remove(7, 3, 3)
    origins.passed(9)
    let last = origins.next()
    #expect(last?.rows.map(\.position) == [4])
    #expect(last?.end == 4)
    #expect(origins.first(7, 4) { $0 } == 4)
    origins.settle()
    #expect(origins.first(7, 4) { $0 } == nil)
  }

  private func keys(_ range: Range<Int64>) -> [OriginFilter.Key] {
    range.map { OriginFilter.Key(dialog: $0 % 300, hash: Int32(truncatingIfNeeded: $0 &* 0x5851_F42D)) }
  }

  /// The filter answers "perhaps" for every id in the table, while it is made, when it is complete, and while it grows;
  /// and for few others.
  @Test func theFilterForgetsNothingAndGuessesSeldom() {
    var filter = OriginFilter(ids: 0, bytesMin: 1 << 10, bytesMax: 1 << 16)
    let old = keys(0..<500)
    #expect(filter.mayHave(OriginFilter.Key(dialog: 5_000, hash: 1)))
    filter.read(Array(old[..<300]), isLast: false)
    #expect(filter.wanted == old[299])
    filter.add(keys(500..<501)[0])
    filter.read(Array(old[300...]), isLast: true)
    #expect(filter.wanted == nil)
    #expect(keys(0..<501).allSatisfy(filter.mayHave))
    for number in Int64(501)..<40_000 {
      filter.add(keys(number..<number + 1)[0])
      // It grows by reading all that is there.
      if filter.wanted != nil, number % 50 == 0 {
        #expect(keys(0..<number + 1).allSatisfy(filter.mayHave))
        filter.read(keys(0..<number + 1), isLast: true)
      }
    }
    #expect(filter.size == 1 << 16)
    #expect(keys(0..<40_000).allSatisfy(filter.mayHave))
    #expect(keys(40_000..<140_000).count(where: filter.mayHave) < 3_000)
    // At its largest it stays.
    for key in keys(40_000..<200_000) { filter.add(key) }
    #expect(filter.wanted == nil)
    #expect(filter.size == 1 << 16)
  }

  @Test func theFilterIsMadeOfTheTableWhileTheServerWorks() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    for position in Int64(1)...500 {
      try store.write { writer in
        let id = "m\(position)"
        try small(writer).insert(entry(verona, position, id: id), feeds: [], key: key(position, id: id))
      }
    }
    try store.close()
    let again = try folder.open()
    try again.write { writer in
      let writer = try #require(writer as? Writer)
      #expect(writer.filter.wanted != nil)
      for look in 0...500 / StoreLimits.filterRows {
        let found = try writer.find("m\(look + 1)", by: verona.romeo.id, in: verona.dialog.id)
        #expect(found?.position.number == Int64(look + 1))
      }
      #expect(writer.filter.wanted == nil)
      for position in Int64(1)...500 {
        #expect(try writer.find("m\(position)", by: verona.romeo.id, in: verona.dialog.id)?.position.number == position)
      }
      #expect(try writer.find("m501", by: verona.romeo.id, in: verona.dialog.id) == nil)
    }
    try again.close()
  }

  /// The query reads one range for older rows and sorts nothing.
  @Test func olderOriginsAreOneRange() throws {
    let folder = try Folder()
    let store = try folder.open()
    defer { try? store.close() }
    for (query, arguments) in [(Query.originsOf, [1, 1]), (.originsBehind, [1, 1, 1])] as [(Query, [Int64])] {
      let plan = try store.rows("EXPLAIN QUERY PLAN " + query.text, arguments).map { $0[3] }
      #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH origins USING PRIMARY KEY ("), "\(plan)")
    }
  }
}
