import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// The bounds of a roster, and what a change of a large one costs.
@Suite struct RosterSizeTests {
  private func code(_ body: () async throws -> Void) async -> String? {
    do {
      try await body()
      return nil
    } catch { return (error as? Problem)?.code ?? "\(error)" }
  }

  /// The most and the longest groups that a contact can have.
  private let groups = (0..<Limits.groupsPerContactMax).map { number in
    let prefix = "\(number) "
    return prefix + String(repeating: "x", count: Limits.groupBytesMax - prefix.utf8.count)
  }
  private var groupsBytes: Int { Limits.groupsPerContactMax * (Limits.groupBytesMax + 15) }

  private func address(_ number: Int) throws -> BareJID { try BareJID("c\(1_000_000 + number)@elsewhere.example") }
  private func addressBytes() throws -> Int { try address(0).description.utf8.count }

  /// Stores contacts without a rule being asked, as an older release has.
  private func store(_ count: Int, of owner: Party, groups: [String] = [], in stage: Stage) async throws {
    let addresses = try (0..<count).map { try address($0) }
    try await stage.parley.work { writer in
      for address in addresses {
        try writer.put(
          Contact(
            owner: owner.id, address: address, peer: nil, groups: groups, subscription: Subscription.none.listed,
            version: .zero))
      }
    }
  }

  private func set(_ number: Int, _ groups: [String], of owner: Party, in stage: Stage) async throws {
    try await stage.parley.post(.contact(address: address(number), name: nil, groups: groups), by: owner)
  }

  @Test func namesAndGroupsAreBoundedTogether() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let fitting = try Limits.rosterBytesMax / (groupsBytes + addressBytes())
    for number in 0..<fitting { try await set(number, groups, of: romeo, in: stage) }
    #expect(await code { try await set(fitting, groups, of: romeo, in: stage) } == "roster-too-large")
    #expect(try await stage.parley.read { try $0.contacts(of: romeo.id).count } == fitting)
    // A changed item counts by the difference.
    try await set(0, groups, of: romeo, in: stage)
    try await set(0, [], of: romeo, in: stage)
    try await set(fitting, groups, of: romeo, in: stage)
    #expect(await code { try await set(0, groups, of: romeo, in: stage) } == "roster-too-large")
    try await stage.parley.post(.removeContact(address(1)), by: romeo)
    try await set(0, groups, of: romeo, in: stage)
    // The rosters of others are their own.
    let juliet = try await stage.user("juliet")
    try await set(0, groups, of: juliet, in: stage)
  }

  @Test func aLargerRosterFromBeforeShrinks() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let count = try Limits.rosterBytesMax / (groupsBytes + addressBytes()) + 3
    try await store(count, of: romeo, groups: groups, in: stage)
    #expect(await code { try await set(count, [], of: romeo, in: stage) } == "roster-too-large")
    let longer = try address(0)
    #expect(
      await code { try await stage.parley.post(.contact(address: longer, name: "x", groups: groups), by: romeo) }
        == "roster-too-large")
    // What changes no name and no group is as before, and so is what others do.
    try await stage.parley.post(.subscription(.subscribe, to: romeo.address, stanza: nil), by: juliet)
    try await set(0, groups, of: romeo, in: stage)
    try await set(0, Array(groups.dropLast()), of: romeo, in: stage)
    try await stage.parley.post(.removeContact(address(1)), by: romeo)
  }

  /// Those of operators and imports, too.
  @Test func everyWayIntoARosterIsBounded() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    // The request is there first: to accept it makes an item.
    try await stage.parley.post(.subscription(.subscribe, to: romeo.address, stanza: nil), by: juliet)
    try await store(Limits.contactsMax, of: romeo, in: stage)
    let other = try address(Limits.contactsMax)
    let imported = ImportedContact(address: other, name: nil, groups: [], subscription: .none)
    let intents: [Intent] = [
      .contact(address: other, name: nil, groups: []), .contact(address: juliet.address, name: nil, groups: []),
      .subscription(.subscribe, to: juliet.address, stanza: nil),
      .subscription(.subscribed, to: juliet.address, stanza: nil), .befriend(juliet.address, name: "Juliet"),
      .befriend(juliet.address, name: nil), .link(other, name: nil, groups: nil, mutual: false),
      .link(juliet.address, name: nil, groups: nil, mutual: true), .imported(.contact(imported)),
    ]
    for intent in intents {
      #expect(await code { try await stage.parley.post(intent, by: romeo) } == "roster-full", "\(intent)")
    }
    // Neither of the two rosters has changed.
    #expect(
      await code {
        try await stage.parley.post(.link(romeo.address, name: nil, groups: nil, mutual: true), by: juliet)
      } == "roster-full")
    #expect(
      try await stage.parley.read { try $0.contacts(of: juliet.id).map(\.subscription) } == [.nonePendingOut])
    try await stage.parley.post(.removeContact(address(0)), by: romeo)
    try await stage.parley.post(.subscription(.subscribed, to: juliet.address, stanza: nil), by: romeo)
  }

  @Test func anInvitationForAFullRosterIsNotUsedUp() async throws {
    let stage = try Stage(invitations: true)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let invites = Invites(stage.parley)
    let new = try await invites.make(InviteDraft(realm: romeo.realm, kind: .contact, inviter: romeo), by: romeo)
    let redeem = Intent.redeem(token: Invites.hash(ofToken: new.token), from: romeo.address, stanza: nil)
    try await store(Limits.contactsMax, of: romeo, in: stage)
    #expect(await code { try await stage.parley.post(redeem, by: juliet) } == "roster-full")
    #expect(try await invites.find(token: new.token)?.state == .open)
    #expect(try await stage.parley.read { try $0.contacts(of: juliet.id) } == [])
    try await stage.parley.post(.removeContact(address(0)), by: romeo)
    try await stage.parley.post(redeem, by: juliet)
    #expect(try await invites.find(token: new.token)?.state == .used)
  }

  /// The longest stanza of a request that is stored.
  private let longest = [UInt8](repeating: 120, count: Limits.requestBytesMax)

  private func waiting(for user: Party, in stage: Stage) async throws -> [Contact] {
    try await stage.parley.read { try $0.ownContacts(of: user.id) }.filter(\.subscription.pendingIn)
  }

  /// Stores requests with the longest stanzas, the oldest first, as many as may wait.
  private func storeRequests(
    to user: Party, _ contacts: [(String, Subscription)], then address: (Int) -> String, in stage: Stage
  ) async throws -> [BareJID] {
    var stored: [Contact] = []
    func add(_ address: String, _ subscription: Subscription) throws {
      stored.append(
        Contact(
          owner: user.id, address: try BareJID(address), peer: nil, subscription: subscription, request: longest,
          version: Position(Int64(stored.count + 1))))
    }
    for (address, subscription) in contacts { try add(address, subscription) }
    while stored.reduce(0, { $0 + $1.requestBytes }) <= Limits.requestsBytesMax {
      try add(address(stored.count), .nonePendingIn)
    }
    stored.removeLast()
    try await stage.parley.work { [stored] writer in
      for contact in stored { try writer.put(contact) }
    }
    return stored.map(\.address)
  }

  /// Whoever floods a user with requests loses their own, and neither those of others nor those of contacts.
  @Test func theDomainWithMostRequestsGivesWay() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let honest: [(String, Subscription)] = [
      ("a@home.example", .nonePendingIn), ("friend@flood.example", .toPendingIn),
    ]
    let stored = try await storeRequests(to: romeo, honest, then: { "f\($0)@flood.example" }, in: stage)
    #expect(try await waiting(for: romeo, in: stage).count == stored.count)
    let session = try await stage.session(romeo, "orchard")
    _ = session.taken()
    try await stage.parley.post(.subscription(.subscribe, to: romeo.address, stanza: longest), by: juliet)
    let left = try await waiting(for: romeo, in: stage)
    let addresses = Set(left.map(\.address))
    #expect(addresses.contains(juliet.address) && addresses.isSuperset(of: stored[..<2]))
    // A sixteenth is free: so the next ones find a place.
    let bytes = left.reduce(0) { $0 + $1.requestBytes }
    #expect(bytes <= Limits.requestsBytesMax - Limits.requestsBytesMax / 16)
    let gone = stored.filter { !addresses.contains($0) }
    #expect(gone.count == stored.count + 1 - left.count && gone.count < 20)
    #expect(gone == Array(stored[2..<(2 + gone.count)]))
    // The user's clients learn that they are withdrawn, and of the new one.
    #expect(session.taken().count == gone.count + 1)
    let nurse = try await stage.user("nurse")
    try await stage.parley.post(.subscription(.subscribe, to: romeo.address, stanza: nil), by: nurse)
    #expect(try await waiting(for: romeo, in: stage).count == left.count + 1)
    // An answer makes room.
    try await stage.parley.post(.subscription(.subscribed, to: juliet.address, stanza: nil), by: romeo)
    #expect(try await waiting(for: romeo, in: stage).count == left.count)
  }

  /// Among many domains with as many requests each, the oldest gives way.
  @Test func theOldestOfManyDomainsGivesWay() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let stored = try await storeRequests(to: romeo, [], then: { "f@flood-\(100 + $0).example" }, in: stage)
    try await stage.parley.post(.subscription(.subscribe, to: romeo.address, stanza: longest), by: juliet)
    let left = Set(try await waiting(for: romeo, in: stage).map(\.address))
    let gone = stored.filter { !left.contains($0) }
    #expect(left.contains(juliet.address) && !gone.isEmpty && gone == Array(stored[..<gone.count]))
  }

  /// Who asks from many subdomains of a zone, once from each, loses these requests and none of a domain that has two.
  @Test func theSubdomainsOfAZoneGiveWayTogether() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let honest: [(String, Subscription)] = [("a@home.example", .nonePendingIn), ("b@home.example", .nonePendingIn)]
    let stored = try await storeRequests(to: romeo, honest, then: { "f@s\(100 + $0).flood.example" }, in: stage)
    try await stage.parley.post(.subscription(.subscribe, to: romeo.address, stanza: longest), by: juliet)
    let left = Set(try await waiting(for: romeo, in: stage).map(\.address))
    let gone = stored.filter { !left.contains($0) }
    #expect(!gone.isEmpty && gone == Array(stored[2..<(2 + gone.count)]))
  }

  /// Below a public suffix many owners have one zone: there the domain with the most gives way.
  @Test func theDomainsOfAZoneAreCompared() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let honest: [(String, Subscription)] = [("a@home.co.example", .nonePendingIn)]
    let stored = try await storeRequests(to: romeo, honest, then: { "f\($0)@flood.co.example" }, in: stage)
    try await stage.parley.post(.subscription(.subscribe, to: romeo.address, stanza: longest), by: juliet)
    let left = Set(try await waiting(for: romeo, in: stage).map(\.address))
    let gone = stored.filter { !left.contains($0) }
    #expect(!gone.isEmpty && gone == Array(stored[1..<(1 + gone.count)]))
  }

  /// What gives way leaves no more behind than removed contacts do, whether or not the user changes the roster.
  @Test func requestsThatGaveWayAreDeleted() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    _ = try await storeRequests(to: romeo, [], then: { "f\($0)@flood.example" }, in: stage)
    let removed = try (0..<(2 * Limits.removedContactsMax)).map { try address($0) }
    try await stage.parley.work { writer in
      for address in removed {
        let contact = Contact(owner: romeo.id, address: address, peer: nil, subscription: .none, version: .zero)
        try writer.remove(contact, version: Position(1))
      }
    }
    try await stage.parley.post(.subscription(.subscribe, to: romeo.address, stanza: longest), by: juliet)
    let left = try await stage.parley.read { try $0.removedContactCount(of: romeo.id) }
    #expect(left > 0 && left <= Limits.removedContactsMax + Limits.requestsDroppedAtOnce)
  }

  /// Requests are made by others: they leave the room for contacts as it is.
  @Test func requestsDoNotCount() {
    let contact = Contact(
      owner: UserID(1), address: BareJID(parsing: "a@b.example")!, peer: nil, name: "Name", groups: ["g"],
      subscription: .nonePendingIn, version: .zero)
    let none = RosterSize()
    #expect(none.replacing(nil, by: contact) == none)
    var accepted = contact
    accepted.subscription = .from
    let size = none.replacing(contact, by: accepted)
    #expect(size.contacts == 1 && size.bytes == 11 + 4 + 1 + 15)
    #expect(size.replacing(accepted, by: nil) == none)
  }

  /// A character counts as many bytes as it has where it is written.
  @Test func charactersCountAsTheyAreWritten() {
    let contact = Contact(
      owner: UserID(1), address: BareJID(parsing: "a@b.example")!, peer: nil, name: "&<'", groups: ["&&", "é"],
      subscription: .from, version: .zero)
    #expect(contact.rosterBytes == 11 + (5 + 4 + 6) + (10 + 15) + (2 + 15))
  }

  /// The roster is read for its size once: nothing that is written past the rules is noticed afterwards.
  @Test func aChangeDoesNotReadTheRoster() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    try await set(Limits.contactsMax, [], of: romeo, in: stage)
    try await store(Limits.contactsMax, of: romeo, in: stage)
    try await set(Limits.contactsMax + 1, [], of: romeo, in: stage)
    // A failed batch may have changed it.
    stage.store.failNext(1)
    #expect(await code { try await set(Limits.contactsMax + 2, [], of: romeo, in: stage) } != nil)
    #expect(await code { try await set(Limits.contactsMax + 2, [], of: romeo, in: stage) } == "roster-full")
  }

  // MARK: Removed contacts

  @Test func theLastRemovedContactsAreStored() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let most = 2 * Limits.removedContactsMax
    try await store(most + 1, of: romeo, in: stage)
    try await set(most + 1, [], of: romeo, in: stage)
    let addresses = try (0...most).map { try address($0) }
    for address in addresses.dropLast() {
      while !stage.parley.submit(Post(author: romeo, intent: .removeContact(address), completion: .none)) {
        // The queue is full: a post that waits is behind those in it.
        _ = try? await stage.parley.post(.confirm(.zero), by: romeo)
      }
    }
    try await stage.parley.post(.confirm(.zero), by: romeo)
    #expect(try await stage.parley.read { try $0.removedContactCount(of: romeo.id) } == most)
    #expect(try await changes(since: .zero, of: romeo, in: stage) == most + 1)
    let before = try await stage.parley.read { try $0.rosterVersion(of: romeo.id) }
    try await stage.parley.post(.removeContact(addresses[most]), by: romeo)
    #expect(try await stage.parley.read { try $0.removedContactCount(of: romeo.id) } == Limits.removedContactsMax)
    #expect(try await stage.parley.read { try $0.rosterVersion(of: romeo.id) } > before)
    // A client that knows an old version gets the whole roster, one with a newer version the removals since.
    #expect(try await changes(since: .zero, of: romeo, in: stage) == nil)
    #expect(try await changes(since: before, of: romeo, in: stage) == 1)
    #expect(try await changes(since: before, of: romeo, in: stage, limit: 0) == nil)
  }

  private func changes(
    since version: Position, of owner: Party, in stage: Stage, limit: Int = Limits.contactsMax
  ) async throws -> Int? {
    try await stage.parley.read { try $0.contactChanges(of: owner.id, after: version, limit: limit)?.count }
  }
}
