import Addresses
import Basics
import DialogsFixtures
import Dispatch
import Testing

@testable import Dialogs

/// The index of the online users who see the presence of contacts at a domain elsewhere.
@Suite struct PresenceViewersTests {
  private static let domains = ["verona.example", "padua.example", "mantua.example"]
  private let time = Timestamp(milliseconds: 0)

  private func user(_ number: Int64) throws -> User {
    User(
      id: UserID(number), realm: RealmID(1), address: try BareJID("u\(number)@localhost"), state: .active,
      createdAt: time, profile: Profile(), lastSeenAt: nil, delivered: .zero)
  }

  private func contact(of owner: User, at address: String, _ subscription: Subscription) throws -> Contact {
    Contact(
      owner: owner.id, address: try BareJID(address), peer: nil, subscription: subscription, version: .zero)
  }

  private func register(_ user: User, _ contacts: [Contact], resource: String, at hub: Hub) -> RecordingSession {
    let session = RecordingSession(user.party)
    let snapshot = ContactSnapshot(
      user: user, contacts: Dictionary(uniqueKeysWithValues: contacts.map { ($0.address, $0) }), blocks: [],
      rosterVersion: .zero, messagesFrom: .everybody)
    _ = hub.register(OnlineSession(session: session, door: .xmpp, resource: resource), contactSnapshot: snapshot)
    return session
  }

  /// A server that asks in its own name sees those who show themselves to one of its people.
  @Test func aServerSeesWhoShowsThemselvesToItsPeople() throws {
    let stage = try Stage()
    let (hub, one) = (stage.parley.hub, try user(1))
    let shown = try contact(of: one, at: "a@verona.example", .from)
    _ = register(one, [shown, try contact(of: one, at: "b@padua.example", .to)], resource: "1", at: hub)
    func sees(_ domain: String) throws -> Bool { try hub.sessions(of: one.address, seenBy: JID(domain)) != nil }
    #expect(try sees("verona.example"))
    #expect(try !sees("padua.example"))
    hub.setContactSnapshot(one.id, item: shown.address) {
      $0.applying(ContactChange(contact: shown, removed: true, push: false))
    }
    #expect(try !sees("verona.example"))
  }

  @Test func aUserIsThereFromTheFirstSessionToTheLast() throws {
    let stage = try Stage()
    let (hub, one) = (stage.parley.hub, try user(1))
    let contacts = [
      try contact(of: one, at: "a@verona.example", .to), try contact(of: one, at: "b@verona.example", .both),
      try contact(of: one, at: "c@padua.example", .from),
    ]
    func index() -> [[UserID]] { Self.domains.map { hub.viewers(at: $0) } }
    let first = register(one, contacts, resource: "1", at: hub)
    #expect(index() == [[one.id], [], []])
    let second = register(one, contacts, resource: "2", at: hub)
    hub.unregister(first, time: time)
    #expect(index() == [[one.id], [], []])
    // The first of two contacts that ends leaves the other.
    for contact in contacts.prefix(2) {
      #expect(index() == [[one.id], [], []])
      let change = ContactChange(contact: contact, removed: true, push: false)
      hub.setContactSnapshot(one.id, item: contact.address) { $0.applying(change) }
    }
    #expect(index() == [[], [], []])
    let change = ContactChange(contact: try contact(of: one, at: "c@padua.example", .both), push: false)
    hub.setContactSnapshot(one.id, item: change.contact.address) { $0.applying(change) }
    #expect(index() == [[], [one.id], []])
    hub.unregister(second, time: time)
    #expect(index() == [[], [], []])
    // Whoever is offline is not put back.
    hub.setContactSnapshot(one.id, item: change.contact.address) { $0.applying(change) }
    #expect(index() == [[], [], []])
  }

  /// The last session ends on one thread while the committer changes the contacts.
  @Test func aChangeAtTheEndOfTheLastSessionLeavesNobody() throws {
    let stage = try Stage()
    let (hub, one, end) = (stage.parley.hub, try user(1), time)
    let change = ContactChange(contact: try contact(of: one, at: "a@verona.example", .to), push: false)
    for _ in 1...10_000 {
      let session = register(one, [], resource: "r", at: hub)
      DispatchQueue.concurrentPerform(iterations: 2) { thread in
        if thread == 0 {
          hub.unregister(session, time: end)
        } else {
          hub.setContactSnapshot(one.id, item: change.contact.address) { $0.applying(change) }
        }
      }
      #expect(hub.viewers(at: "verona.example") == [])
    }
  }

  @Test func theIndexIsWhatAScanFinds() throws {
    let stage = try Stage()
    let hub = stage.parley.hub
    let users = try (1...20).map { try user(Int64($0)) }
    let states: [Subscription] = [.to, .both, .from, Subscription.none.listed]
    var sessions: [UserID: RecordingSession] = [:]
    var generator = Seeded(37)
    for _ in 0..<2_000 {
      let user = users[Int.random(in: 0..<users.count, using: &generator)]
      let domain = Self.domains[Int.random(in: 0..<Self.domains.count, using: &generator)]
      let number = Int.random(in: 0..<3, using: &generator)
      let state = states[Int.random(in: 0..<states.count, using: &generator)]
      let contact = try contact(of: user, at: "c\(number)@\(domain)", state)
      if Int.random(in: 0..<5, using: &generator) > 0 {
        let change = ContactChange(
          contact: contact, removed: Int.random(in: 0..<4, using: &generator) == 0, push: false)
        hub.setContactSnapshot(user.id, item: contact.address) { $0.applying(change) }
      } else if let session = sessions.removeValue(forKey: user.id) {
        hub.unregister(session, time: time)
      } else {
        sessions[user.id] = register(user, [contact], resource: "r", at: hub)
      }
      for domain in Self.domains {
        let scanned = hub.allOnline().map(\.contactSnapshot).filter { snapshot in
          snapshot.contacts.contains { $0.subscription.to && $0.address.domain == domain }
        }
        #expect(Set(hub.viewers(at: domain)) == Set(scanned.map(\.user.id)))
      }
    }
  }
}
