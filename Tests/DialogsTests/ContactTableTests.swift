import Addresses
import Testing

@testable import Dialogs

/// The roster items of a snapshot, which is replaced on each change.
@Suite struct ContactTableTests {
  private func address(_ number: Int) throws -> BareJID { try BareJID("c\(number)@d\(number % 4).example") }

  private func contact(_ number: Int, _ subscription: Subscription, peer: Int64?) throws -> Contact {
    Contact(
      owner: UserID(1), address: try address(number), peer: peer.map { UserID($0) }, subscription: subscription,
      version: .zero)
  }

  @Test func aChangeCopiesAPartOfTheTable() throws {
    let contacts = try (0..<Limits.contactsMax).map { try contact($0, .both, peer: Int64($0)) }
    var table = ContactTable(Dictionary(uniqueKeysWithValues: contacts.map { ($0.address, $0) }))
    var merges = 0
    for contact in contacts.prefix(1_000) {
      var contact = contact
      contact.name = "x"
      table.set(contact, at: contact.address)
      if table.changed.isEmpty { merges += 1 }
      #expect(table.changed.count < 100)
    }
    #expect(merges == 10)
  }

  @Test func theTableIsThatOfTheChanges() throws {
    var expected: [BareJID: Contact] = [:]
    for number in 0..<50 {
      let contact = try contact(number, .both, peer: number % 2 == 0 ? Int64(number) : nil)
      expected[contact.address] = contact
    }
    var table = ContactTable(expected)
    let states: [Subscription?] = [.to, nil, .from, .both, Subscription.none.listed, nil, .nonePendingIn]
    for step in 0..<700 {
      let number = step * 31 % 60
      let changed = try states[step % 7].map { try contact(number, $0, peer: step % 3 == 0 ? nil : Int64(number)) }
      let address = try address(number)
      expected[address] = changed
      table.set(changed, at: address)
      #expect(table[address] == changed)
      #expect(Array(table).count == expected.count && table.count == expected.count)
      #expect(Set(table) == Set(expected.values))
      let fresh = ContactTable(expected)
      #expect(table.subscribers.sorted() == fresh.subscribers.sorted())
      #expect(table.subscriptions.sorted() == fresh.subscriptions.sorted())
      #expect(table.remoteSubscribers.mapValues { Set($0) } == fresh.remoteSubscribers.mapValues { Set($0) })
      #expect(table.remoteSubscriptions.mapValues { Set($0) } == fresh.remoteSubscriptions.mapValues { Set($0) })
    }
  }
}
