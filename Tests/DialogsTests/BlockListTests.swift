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
        let list = BlockList(patterns)
        #expect(!list.isEmpty && list.patterns == patterns)
        for jid in jids {
          #expect(list.blocks(jid) == patterns.contains { $0.matches(jid) }, "\(one), \(two): \(jid)")
        }
      }
    }
    let none = BlockList([])
    #expect(none.isEmpty && !jids.contains { none.blocks($0) })
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
