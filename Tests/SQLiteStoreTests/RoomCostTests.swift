import Addresses
import Basics
import CSQLite
import Dialogs
import Testing

@testable import SQLiteStore

/// The writes of a message to a room: pages determine the cost of a commit.
@Suite struct RoomCostTests {
  private func rows(_ store: SQLiteStore) throws -> [String: Int] {
    // The index of words has no rows of its own to count.
    let tables = try store.rows(
      """
      SELECT name FROM sqlite_schema
      WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'search%'
      """
    ).map { $0[0] }
    return try Dictionary(
      uniqueKeysWithValues: tables.map { ($0, Int(try store.int("SELECT count(*) FROM \($0)") ?? 0)) })
  }

  /// A marker that moves nothing asks for it, as often as somebody likes.
  @Test func theNumberOfAMessageCostsTheSameInALongRoom() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    let time = Timestamp(milliseconds: 1)
    let count: Int64 = 2_000
    try store.write { writer in
      let room = try writer.insertRoom(
        localpart: "orchard", in: verona.romeo.realm, externalID: nil, settings: .group, createdAt: time)
      for number in 1...count {
        try writer.insert(
          Entry(
            position: Position(number), time: time, dialog: room.id, author: verona.romeo, place: .room(room.name),
            fact: .message(
              Message(
                sequence: number, content: Content(kind: .text, text: "rose"), envelope: Envelope(type: .groupchat),
                traits: [.counts, .archived])),
            id: PublicID(high: 0, low: 0)),
          feeds: [], key: nil)
      }
      try writer.put(
        Member(
          room: room.id, party: verona.juliet, affiliation: .member, nick: "juliet", since: Position(count),
          joinedAt: time, version: Position(count)),
        ordinal: count)
      // For what the reader has written, each entry since then or before it is looked at, up to a bound.
      func looked(_ looksMax: Int) throws -> Int {
        try steps(writer) {
          _ = try writer.counting(in: room.id, upTo: Position(1), by: verona.juliet.id, looksMax: looksMax)
        }
      }
      let (all, few) = (try looked(Int(count)), try looked(50))
      #expect(all > 20)
      #expect(few < all / 4)
      for position in [1, 1_000, count] {
        var ordinal: Int64 = 0
        let one = try steps(writer) { ordinal = try writer.ordinal(in: room.id, upTo: Position(position)) }
        #expect(ordinal == position && one <= 2)
      }
    }
    try store.close()
  }

  /// The last invitation of each member stays. Another one does not look at all of them.
  @Test func anInvitationCostsTheSameWhateverTheNumberOfMembers() throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    let time = Timestamp(milliseconds: 1)
    try store.write { writer in
      let room = try writer.insertRoom(
        localpart: "orchard", in: verona.romeo.realm, externalID: nil, settings: .group, createdAt: time)
      var costs: [Int] = []
      for number in 1...Int64(2_500) {
        let user = try writer.insertUser(
          BareJID("guest\(number)@verona.example"), in: verona.romeo.realm, profile: Profile(), createdAt: time)
        let party = Party(id: user.id, realm: user.realm, address: user.address)
        try writer.put(
          Member(
            room: room.id, party: party, affiliation: .member, nick: "\(number)", since: .zero, joinedAt: time,
            version: .zero),
          ordinal: 0)
        let cost = try steps(writer) {
          try writer.putInvitation(of: user.id, by: verona.romeo.id, to: room.id, at: Position(number))
        }
        if number == 1_200 || number == 2_500 { costs.append(cost) }
      }
      #expect(costs[0] > 0 && costs[1] <= costs[0] + 2, "\(costs)")
    }
    try store.close()
  }

  @Test(arguments: [2, 100]) func aMessageCostsTheSameWhateverTheNumberOfMembers(_ members: Int) throws {
    let folder = try Folder()
    let store = try folder.open()
    let verona = try Verona(store)
    let time = Timestamp(milliseconds: 1)
    let room = try store.write { writer in
      let room = try writer.insertRoom(
        localpart: "orchard", in: verona.romeo.realm, externalID: nil, settings: .group, createdAt: time)
      for index in 0..<members {
        let user = try writer.insertUser(
          BareJID("guest\(index)@verona.example"), in: verona.romeo.realm, profile: Profile(), createdAt: time)
        let party = Party(id: user.id, realm: user.realm, address: user.address)
        try writer.put(
          Member(
            room: room.id, party: index == 0 ? verona.romeo : party, affiliation: .member, nick: "\(index)",
            since: .zero, joinedAt: time, version: .zero),
          ordinal: 0)
      }
      return room
    }
    let before = try rows(store)
    try store.write { writer in
      let handle = (writer as? Writer)?.connection.handle
      let start = sqlite3_total_changes(handle)
      try writer.insert(
        Entry(
          position: Position(1), time: time, dialog: room.id, author: verona.romeo, place: .room(room.name),
          fact: .message(
            Message(
              sequence: 1, content: Content(kind: .text, text: "rose"), envelope: Envelope(type: .groupchat, id: "m"),
              traits: [.counts, .archived])),
          id: PublicID(high: 0, low: 0)),
        feeds: [], key: RepeatKey(rule: .xmpp, id: "m", bodyHash: 1))
      var room = room
      room.sequence = 1
      room.ordinal = 1
      room.end(at: Position(1))
      try writer.updateCounters(of: room)
      try writer.put(Mark(dialog: room.id, user: verona.romeo.id, own: 1), superseded: .zero)
      // Payload, entry, counters, the author's count. Its id is in memory.
      #expect(sqlite3_total_changes(handle) - start == 4)
    }
    let added = try rows(store).filter { before[$0.key] != $0.value }
    #expect(Set(added.keys) == ["payloads", "entries"])
    #expect(try store.read { try $0.unread(of: UserID(verona.romeo.id.number + 3)) } == 1)
    try store.close()
  }
}
