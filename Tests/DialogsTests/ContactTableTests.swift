import Addresses
import Basics
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

  /// The names of groups that a form offers are those of some contacts of a long roster.
  @Test func groupsAreThoseOfSomeContacts() throws {
    var contacts: [BareJID: Contact] = [:]
    for number in 0..<100 {
      var item = try contact(number, .both, peer: nil)
      item.groups = ["a\(number)", "b\(number)", "friends"]
      contacts[item.address] = item
    }
    let user = User(
      id: UserID(1), realm: RealmID(1), address: try BareJID("romeo@localhost"), state: .active,
      createdAt: Timestamp(milliseconds: 0), profile: Profile(), lastSeenAt: nil, delivered: .zero)
    let snapshot = ContactSnapshot(
      user: user, contacts: contacts, blocks: [], rosterVersion: .zero, messagesFrom: .everybody)
    #expect(snapshot.groupNames(limit: 1_000, contacts: 1_000).count == 201)
    #expect(snapshot.groupNames(limit: 1_000, contacts: 10).count == 21)
    #expect(snapshot.groupNames(limit: 7, contacts: 1_000).count == 7)
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
      #expect(table.requests == Set(expected.values.filter(\.subscription.pendingIn).map(\.address)))
      let fresh = ContactTable(expected)
      #expect(fresh.requests == table.requests)
      #expect(fresh.heldBytes == table.heldBytes)
      #expect(table.subscribers.sorted() == fresh.subscribers.sorted())
      #expect(table.subscriptions.sorted() == fresh.subscriptions.sorted())
      #expect(table.remoteSubscribers.mapValues { Set($0) } == fresh.remoteSubscribers.mapValues { Set($0) })
      #expect(table.remoteSubscriptions.mapValues { Set($0) } == fresh.remoteSubscriptions.mapValues { Set($0) })
    }
  }
}
