import Addresses
import DialogsFixtures
import Testing

@testable import Dialogs

/// Block lists (XEP-0191), by whose length nothing is to take longer.
@Suite struct BlockListTests {
  private let addresses = [
    "romeo@a.example", "romeo@a.example/x", "romeo@a.example/y", "juliet@a.example", "juliet@b.example/x", "a.example",
    "b.example", "a.example/x", "a.example/y", "romeo@b.example", "romeo@sub.a.example",
  ]

  @Test func anAddressIsBlockedAsThePatternsMatchIt() throws {
    let jids = try addresses.map { try JID($0) }
    // Every list of up to two patterns.
    for one in jids {
      for two in jids {
        let patterns = one == two ? [BlockPattern(one)] : [BlockPattern(one), BlockPattern(two)]
        var list = BlockList([])
        let rows = list.add(patterns)
        #expect(rows.map(\.pattern) == patterns)
        #expect(!list.isEmpty && list.patterns == patterns)
        for jid in jids {
          #expect(list.blocks(jid) == patterns.contains { $0.matches(jid) }, "\(one), \(two): \(jid)")
        }
      }
    }
    let none = BlockList([])
    #expect(none.isEmpty && !jids.contains { none.blocks($0) })
  }

  /// A list counts by the bytes of its addresses, however it has become what it is.
  @Test func aListCountsByItsBytes() throws {
    let long = try JID(String(repeating: "a", count: 1_000) + "@a.example")
    let patterns = [BlockPattern(long)] + (try addresses.map { BlockPattern(try JID($0)) })
    var list = BlockList([])
    let rows = list.add(patterns)
    #expect(list.heldBytes > 1_000 && list.heldBytes == BlockList(rows).heldBytes)
    _ = list.remove([BlockPattern(long)])
    #expect(list.heldBytes == BlockList(Array(rows.dropFirst())).heldBytes)
    _ = list.remove([])
    #expect(list.heldBytes == 0)
  }

  /// A list that was changed is the one that is read anew, and its ranks increase.
  @Test func aChangedListIsTheSameAsAStoredOne() throws {
    let patterns = try addresses.map { BlockPattern(try JID($0)) }
    var list = BlockList([])
    var rows = list.add(patterns)
    for gone in [[0, 3, 7], [10], [1, 9], [2, 4, 5, 6, 8]] {
      let named = Set(gone.map { patterns[$0] })
      let (removed, again) = (list.remove(named), list.remove(named))
      #expect(removed == rows.filter { named.contains($0.pattern) } && again.isEmpty)
      rows.removeAll { named.contains($0.pattern) }
      rows += list.add([patterns[gone[0]]])
      let stored = BlockList(rows)
      #expect(list.patterns == rows.map(\.pattern) && rows.map(\.rank) == rows.map(\.rank).sorted())
      for pattern in patterns {
        #expect(list.contains(pattern) == stored.contains(pattern))
        #expect(list.blocks(pattern.jid) == stored.blocks(pattern.jid))
      }
    }
    let all = list.remove([])
    #expect(all == rows)
    #expect(list.isEmpty && !list.blocks(patterns[0].jid))
  }

  /// A list is not written whole for one address, by how many there are.
  @Test func aChangeWritesTheRowsThatDiffer() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let many = try (0..<300).map { BlockPattern(try JID("user\($0)@elsewhere.example")) }
    try await stage.parley.post(.block(many), by: romeo)
    let before = try await stage.parley.work { $0.changedRows }
    try await stage.parley.post(.unblock([many[7]]), by: romeo)
    try await stage.parley.post(.block([many[7], many[8]]), by: romeo)
    let changed = try await stage.parley.work { $0.changedRows } - before
    #expect(changed < 100, "\(changed) rows")
    #expect(try await stage.parley.read { try $0.blocks(of: romeo.id) } == many.filter { $0 != many[7] } + [many[7]])
  }

  private func presences(_ session: RecordingSession) -> [Heard] {
    session.taken().filter { heard in
      if case .presence = heard { return true }
      return false
    }
  }

  /// A contact's presence changes once, by however many patterns; the contacts are read once for all of them.
  @Test(arguments: [0, Limits.contactsLookedUpMax]) func eachContactIsShownThePresenceOnce(others: Int) async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(.link(juliet.address, name: nil, groups: [], mutual: true), by: romeo)
    let phone = try await stage.session(juliet, "phone")
    let laptop = try await stage.session(romeo, "laptop")
    _ = phone.taken()
    var names = ["juliet@localhost", "juliet@localhost/phone"]
    if others > 0 { names += ["localhost", "elsewhere.example", "localhost/phone"] }
    names += (0..<others).map { "user\($0)@elsewhere.example" }
    let patterns = try names.map { BlockPattern(try JID($0)) }
    try await stage.parley.post(.block(patterns), by: romeo)
    #expect(phone.taken() == [.presence("romeo/laptop", .offline)])
    #expect(presences(laptop) == [])
    try await stage.parley.post(.unblock([]), by: romeo)
    #expect(phone.taken() == [.presence("romeo/laptop", .online)])
    #expect(presences(laptop) == [.presence("juliet/phone", .online)])
    #expect(try await stage.parley.read { try $0.blocks(of: romeo.id) } == [])
    // Some of them.
    try await stage.parley.post(.block(patterns), by: romeo)
    _ = phone.taken()
    try await stage.parley.post(.unblock(Array(patterns.prefix(2))), by: romeo)
    #expect(try await stage.parley.read { try $0.blocks(of: romeo.id) } == Array(patterns.dropFirst(2)))
  }
}
