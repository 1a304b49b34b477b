import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// The snapshot of a user's contacts, as it is read from the store at each connection.
@Suite struct ContactSnapshotTests {
  /// A contact may be older than its account, so that the account is looked up; but not that of a contact without a
  /// subscription, which nothing needs. A roster may have thousands of those that are no users, such as imported ones.
  @Test func onlyContactsWithASubscriptionAreLookedUp() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (nurse, paris) = (try await stage.user("nurse"), try await stage.user("paris"))
    try await stage.parley.work { writer in
      for (contact, subscription) in [
        (juliet, Subscription.none.listed), (nurse, Subscription.to), (paris, Subscription.from),
      ] {
        try writer.put(
          Contact(
            owner: romeo.id, address: contact.address, peer: nil, subscription: subscription, version: Position(1)))
      }
    }
    let groups = stage.parley.hub.contactGroups
    let user = try #require(try await stage.parley.read { try $0.user(romeo.id) })
    let snapshot = try await stage.parley.read { try ContactSnapshot(of: user, in: groups, $0) }
    #expect(snapshot.contacts.count == 3)
    #expect(snapshot.contact(juliet.address)?.peer == nil)
    #expect(snapshot.subscriptions == [nurse.id])
    #expect(snapshot.subscribers == [paris.id])
  }
}
