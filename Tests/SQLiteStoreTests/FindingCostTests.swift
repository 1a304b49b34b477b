import Dialogs
import Testing

@testable import SQLiteStore

/// The costs of lists and searches, by the query plan of the engine.
@Suite struct FindingCostTests {
  private func plan(_ query: Query) throws -> [String] {
    let folder = try Folder()
    let store = try folder.open()
    defer { try? store.close() }
    let count = query.text.split(separator: "?").dropFirst().compactMap { Int($0.prefix { $0.isNumber }) }.max() ?? 0
    return try store.rows("EXPLAIN QUERY PLAN " + query.text, Array(repeating: 1, count: count)).map { $0[3] }
  }

  /// The user's rows and one look at each dialog; nothing is sorted, and no table is gone through.
  @Test func aListOfDialogsIsOnePassOverTheUsersRows() throws {
    let plan = try plan(.dialogSummaries)
    #expect(plan.contains { $0.hasPrefix("SEARCH m USING PRIMARY KEY (user=?)") }, "\(plan)")
    #expect(plan.contains { $0.hasPrefix("SEARCH d USING INTEGER PRIMARY KEY") }, "\(plan)")
    #expect(plan.contains { $0.contains("mentions_user (user=? AND dialog=? AND ordinal>?)") }, "\(plan)")
    #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
  }

  /// The requests to a user are counted among the newest items, of which no more are read.
  @Test func requestsAreCountedInTheOrderOfTheirVersions() throws {
    let plan = try plan(.requestCount)
    #expect(plan.contains { $0.hasSuffix("contacts_version (owner=?)") }, "\(plan)")
    #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
  }

  /// The rooms that two users are in are found by one look at the list of each of the first one's rooms.
  @Test func sharedRoomsAreOnePassOverTheUsersRows() throws {
    let plan = try plan(.membershipsListing)
    #expect(plan.contains { $0.hasPrefix("SEARCH m USING PRIMARY KEY (user=?)") }, "\(plan)")
    #expect(plan.contains { $0.hasPrefix("SEARCH a USING") && $0.hasSuffix("(room=? AND user=?)") }, "\(plan)")
    #expect(!plan.contains { $0.contains("TEMP B-TREE") || $0.hasPrefix("SCAN") }, "\(plan)")
  }

  /// A page of a search by name is a range of the index with both ends, so it reads no more than it may look at.
  @Test func searchesByNameAreRangesOfTheirIndexes() throws {
    for (query, range) in [
      (Query.directory, "users_name (realm=? AND name>? AND name<?)"),
      (Query.directoryEnd, "users_name (realm=? AND name>?)"),
      (Query.directoryEnd, "users_name (realm=? AND name>? AND name<?)"),
      (Query.listedRooms, "rooms_listed (realm=? AND localpart>? AND localpart<?)"),
      (Query.listedRoomsEnd, "rooms_listed (realm=? AND localpart>?)"),
    ] {
      let plan = try plan(query)
      #expect(plan.contains { $0.contains(range) }, "\(plan)")
      #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }
  }

  /// The pairs for which nothing waits, of which there may be many, cost nothing.
  @Test func expiriesLookAtPairsWithRows() throws {
    let plan = try plan(.nextOutboxExpiries)
    #expect(plan.contains { $0.hasPrefix("SEARCH outbox USING PRIMARY KEY (pair>?)") }, "\(plan)")
    #expect(plan.contains { $0.hasPrefix("SEARCH o USING PRIMARY KEY (pair=? AND position=?)") }, "\(plan)")
    #expect(!plan.contains { $0.hasPrefix("SCAN o") || $0.hasPrefix("SCAN d") }, "\(plan)")
  }

  /// The ids of a node's items are read without the items, which may be large.
  @Test func idsOfItemsAreARangeOfTheirIndex() throws {
    let plan = try plan(.itemIDs)
    #expect(plan == ["SEARCH items USING COVERING INDEX items_item (user=? AND node=?)"])
    let newest = try self.plan(.newestItemIDs)
    #expect(newest.contains { $0.contains("INDEX items_position (user=? AND node=?)") }, "\(newest)")
    #expect(!newest.contains { $0.contains("TEMP B-TREE") }, "\(newest)")
    #expect(!Query.newestItemIDs.text.contains("payload"))
  }

  /// The query reads in the order of the index, from the end of the previous page.
  @Test func mediaOfADialogAreARangeOfTheirIndex() throws {
    for query in [Query.media, .mediaHeads] {
      let plan = try plan(query)
      #expect(plan.contains { $0.contains("payloads_media (dialog=? AND content_kind=? AND position") }, "\(plan)")
      #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }
  }
}
