import Addresses
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
}
