import Basics
import CSQLite
import Dialogs
import StoreConformance
import Testing

@testable import SQLiteStore

/// What lists and histories look at where there are many entries that they do not contain, in hundreds of steps of the engine.
@Suite struct UnshownCostTests {
  private func withDialog(_ body: (Verona, any StoreWriter) throws -> Void) throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    try store.write { try body(verona, $0) }
    try store.close()
  }

  /// Adds entries to the dialog that are not shown.
  private func add(
    _ positions: ClosedRange<Int64>, isArchived: Bool = true, _ verona: Verona, _ writer: any StoreWriter
  ) throws {
    var dialog = try #require(try writer.dialog(verona.dialog.id))
    for position in positions {
      let entry = Entry(
        position: Position(position), time: Timestamp(milliseconds: position), dialog: dialog.id, author: verona.romeo,
        place: .peer(verona.juliet),
        fact: .message(
          Message(
            sequence: 0, content: Content(kind: .none), envelope: Envelope(), traits: isArchived ? [.archived] : [])),
        id: PublicID(high: 0, low: 0))
      let traits: FeedRow.Traits = isArchived ? .archived : .inbound
      try writer.insert(
        entry, feeds: [verona.romeo, verona.juliet].map { FeedRow(user: $0.id, traits: traits) }, key: nil)
      dialog.end(at: entry.position)
    }
    try writer.update(dialog)
  }

  @Test func listsFindTheLastMessageByThePositionInTheDialogsRow() throws {
    try withDialog { verona, writer in
      let juliet = verona.juliet.id
      try verona.say(1, writer)
      func read() throws {
        #expect(try writer.dialogs(of: juliet, before: .end, limit: 9).map(\.lastMessage?.position) == [Position(1)])
        #expect(try writer.dialogSummaries(of: juliet).map(\.shown) == [Position(1)])
        let inbox = try writer.conversations(of: juliet, ConversationQuery(limit: 9))
        #expect(inbox.conversations.map(\.said) == [Position(1)])
      }
      let few = try steps(writer, read)
      try add(2...5_000, verona, writer)
      let many = try steps(writer, read)
      #expect(many <= few + 3, "\(many) and \(few)")

      try writer.clear(verona.dialog.id, upTo: Position(1), leaves: true, for: juliet)
      func readLists() throws {
        #expect(try writer.dialogs(of: juliet, before: .end, limit: 9).isEmpty)
        #expect(try writer.dialogSummaries(of: juliet).isEmpty)
      }
      let left = try steps(writer, readLists)
      #expect(left <= few + 3, "\(left) and \(few)")
    }
  }

  @Test func theInboxLooksAtSoManyRowsOfADialog() throws {
    try withDialog { verona, writer in
      let juliet = verona.juliet.id
      var found: [Position?] = []
      func read() throws {
        found = try writer.conversations(of: juliet, ConversationQuery(limit: 9)).conversations.map(\.said)
      }
      try verona.say(1, writer)
      let looks = Int64(Limits.inboxLooksMax)
      try add(2...looks, isArchived: false, verona, writer)
      let all = try steps(writer, read)
      #expect(found == [Position(1)])
      try add(looks + 1...3 * looks, isArchived: false, verona, writer)
      let some = try steps(writer, read)
      // The last message is found by its position.
      #expect(found == [Position(1)])
      #expect(all > 20 && some <= all + 3, "\(some) and \(all)")
      try writer.hide(Position(1), in: verona.dialog.id, for: juliet, counts: true)
      try read()
      #expect(found == [])
    }
  }

  @Test func theMessageBeforeAHiddenOneIsLookedForInSoManyRows() throws {
    try withDialog { verona, writer in
      let juliet = verona.juliet.id
      func last() throws -> Position? {
        try writer.dialogs(of: juliet, before: .end, limit: 9).first?.lastMessage?.position
      }
      let looks = Int64(Limits.lastLooksMax)
      try verona.say(1, writer)
      try add(2...looks, verona, writer)
      try verona.say(looks + 1, writer)
      try writer.hide(Position(looks + 1), in: verona.dialog.id, for: juliet, counts: true)
      #expect(try last() == Position(1))
      try add(looks + 2...10 * looks, verona, writer)
      #expect(try last() == Position(1))
      try verona.say(10 * looks + 1, writer)
      try writer.hide(Position(10 * looks + 1), in: verona.dialog.id, for: juliet, counts: true)
      #expect(try last() == nil)
    }
  }

  /// A hundred dialogs have a share each, however many of their messages were retracted.
  @Test func theSumOfUnreadMessagesLooksAtSoManyRetractedOnes() throws {
    try withDialog { verona, writer in
      let juliet = verona.juliet.id
      func run(_ text: String) throws {
        let handle = try #require((writer as? Writer)?.connection.handle)
        #expect(sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK, "\(text)")
      }
      let numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100)"
      try run(
        """
        INSERT INTO dialogs
          (id, kind, first, second, sequence, ordinal, first_own, second_own, last, created, retracted_ordinal)
        \(numbers) SELECT 1000 + x, 0, \(juliet.number), 1000 + x, 1000, 1000, 0, 0, 0, 0, 1000 FROM n
        """)
      try run(
        """
        INSERT INTO members (user, dialog, delivered, displayed, displayed_ordinal, own_at_displayed, position)
        \(numbers) SELECT \(juliet.number), 1000 + x, 0, 0, 0, 0, 0 FROM n
        """)
      func retract(_ ordinals: ClosedRange<Int>) throws {
        try run(
          """
          INSERT INTO retracted (dialog, ordinal, position, author)
          \(numbers) SELECT 1000 + a.x, \(ordinals.lowerBound - 1) + b.x, 1, 1000 FROM n a CROSS JOIN n b
          """)
      }
      var unread: Int64 = 0
      func read() throws { unread = try writer.unread(of: juliet) }
      let share = Int64(Limits.retractedLooksMax / 100)
      try retract(1...100)
      let few = try steps(writer, read)
      #expect(share == 100 && unread == 100 * (1_000 - share))
      try retract(101...200)
      let many = try steps(writer, read)
      #expect(unread == 100 * (1_000 - share))
      #expect(few > 100 && many <= few + few / 20, "\(many) and \(few)")
      // One dialog alone has the bound of one.
      try run("UPDATE dialogs SET retracted_ordinal = 0 WHERE id > 1001")
      try read()
      #expect(unread == 100 * 1_000 - Int64(Limits.retractedCountedMax))
    }
  }

  /// A push for what a stream did not confirm reads none of the rows behind, which are one's own messages or others.
  @Test func aReplayLooksAtSoManyRowsOfTheLog() throws {
    try withDialog { verona, writer in
      let juliet = verona.juliet.id
      let (replayed, looks): (FeedRow.Traits, Int64) = ([.archived, .inbound, .replayed], 1_000)
      var found: [Position] = []
      func read() throws {
        let log = LogAccess.server(juliet, .rules)
        found = try writer.replay(of: log, after: .zero, limit: 100, looksMax: Int(looks)).map(\.position)
      }
      func setReplayed(_ position: Int64) throws {
        let handle = try #require((writer as? Writer)?.connection.handle)
        let text = "UPDATE feed SET traits = \(replayed.rawValue) WHERE position = \(position)"
        #expect(sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK)
      }
      try add(1...looks, verona, writer)
      try setReplayed(looks)
      let all = try steps(writer, read)
      #expect(found == [Position(looks)])
      try add(looks + 1...4 * looks, verona, writer)
      try setReplayed(looks + 1)
      let some = try steps(writer, read)
      #expect(found == [Position(looks)])
      #expect(all > 20 && some <= all + 3, "\(some) and \(all)")
      #expect(try writer.replay(of: .server(juliet, .rules), after: .zero, limit: 100).count == 2)
    }
  }

  /// Rooms in which nothing was said cost a look each, once for so many pages of a session that catches up.
  @Test func aPageAtKnownPlacesLooksAtNoOtherRooms() throws {
    try withDialog { verona, writer in
      let juliet = verona.juliet.id.number
      func run(_ text: String) throws {
        let handle = try #require((writer as? Writer)?.connection.handle)
        #expect(sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK, "\(text)")
      }
      for position in Int64(1)...8 { try verona.say(position, writer) }
      let log = LogAccess.withMemberships(of: verona.juliet)
      var page = try writer.page(of: log, after: .zero, limit: 2, ahead: 6)
      func next(at places: FeedPlaces?) throws {
        page = try writer.page(of: log, after: page.end, limit: 2, at: places, ahead: 6)
      }
      let places = page.places
      let few = try steps(writer) { try next(at: places) }
      #expect(page.entries.map(\.position.number) == [3, 4] && !page.isSearched)

      let numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4000)"
      try run(
        """
        INSERT INTO dialogs (id, kind, first, second, sequence, ordinal, first_own, second_own, last, created)
        \(numbers) SELECT 1000 + x, \(Reader.roomKind), 0, 0, 0, 0, 0, 0, 0, 0 FROM n
        """)
      try run(
        """
        INSERT INTO members (user, dialog, delivered, displayed, displayed_ordinal, own_at_displayed, position)
        \(numbers) SELECT \(juliet), 1000 + x, 0, 0, 0, 0, 0 FROM n
        """)
      let many = try steps(writer) { try next(at: page.places) }
      #expect(page.entries.map(\.position.number) == [5, 6] && !page.isSearched)
      #expect(many <= few + 3, "\(many) and \(few)")
      let all = try steps(writer) { try next(at: page.places) }
      #expect(page.entries.map(\.position.number) == [7, 8] && page.isSearched)
      #expect(all > many + 100, "\(all) and \(many)")
    }
  }

  /// Twenty dialogs have a share each, however many messages mention the user.
  @Test func unreadMentionsAreCountedUpToTheirBounds() throws {
    try withDialog { verona, writer in
      let juliet = verona.juliet.id
      func run(_ text: String) throws {
        let handle = try #require((writer as? Writer)?.connection.handle)
        #expect(sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK, "\(text)")
      }
      let numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4000)"
      try run(
        """
        INSERT INTO dialogs
          (id, kind, first, second, sequence, ordinal, first_own, second_own, last, created, shown)
        \(numbers) SELECT 1000 + x, 0, \(juliet.number), 1000 + x, 4000, 4000, 0, 0, 0, 0, x FROM n WHERE x <= 20
        """)
      try run(
        """
        INSERT INTO members (user, dialog, delivered, displayed, displayed_ordinal, own_at_displayed, position)
        \(numbers) SELECT \(juliet.number), 1000 + x, 0, 0, 0, 0, 0 FROM n WHERE x <= 20
        """)
      func mention(_ ordinals: ClosedRange<Int>) throws {
        try run(
          """
          INSERT INTO mentions (dialog, ordinal, user)
          \(numbers) SELECT 1000 + a.x, b.x, \(juliet.number) FROM n a CROSS JOIN n b
          WHERE a.x <= 20 AND b.x BETWEEN \(ordinals.lowerBound) AND \(ordinals.upperBound)
          """)
      }
      var (one, sum, listed): (Int64, Int64, [Int64]) = (0, 0, [])
      func read() throws {
        one = try writer.mentions(of: juliet, in: DialogID(1_001))
        sum = try writer.mentions(of: juliet, in: nil)
        listed = try writer.dialogSummaries(of: juliet).map(\.mentions).filter { $0 > 0 }
      }
      let (ofOne, ofAll) = (Limits.mentionsCountedMax, Int64(Limits.mentionLooksMax))
      try mention(1...ofOne)
      let few = try steps(writer, read)
      #expect(one == Int64(ofOne) && sum == ofAll && listed == Array(repeating: ofAll / 20, count: 20))
      try mention(ofOne + 1...4_000)
      let many = try steps(writer, read)
      #expect(one == Int64(ofOne) && sum == ofAll && listed == Array(repeating: ofAll / 20, count: 20))
      #expect(few > 100 && many <= few + few / 20, "\(many) and \(few)")
      // One dialog alone has the bound of one.
      try run("DELETE FROM mentions WHERE dialog > 1001")
      try read()
      #expect(one == Int64(ofOne) && sum == Int64(ofOne) && listed.reduce(0, +) == Int64(ofOne))
    }
  }
}
