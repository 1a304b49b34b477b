import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Accounts
@testable import Dialogs

/// Contact groups: who sees whom by them, and what users have of their own beneath.
@Suite struct ContactGroupTests {
  private let sales = "sales"

  @discardableResult
  private func change(_ stage: Stage, _ intent: ContactGroupIntent) async throws -> Receipt {
    try await stage.parley.post(.contactGroup(intent), by: Parley.nobody)
  }

  @discardableResult
  private func put(_ stage: Stage, _ name: String, everyone: Bool? = nil) async throws -> Receipt {
    try await change(stage, .put(stage.parley.realms[0].id, name: name, displayName: nil, hasEveryone: everyone))
  }

  @discardableResult
  private func add(_ stage: Stage, _ users: [Party], to name: String) async throws -> Receipt {
    let realm = stage.parley.realms[0].id
    return try await change(stage, .change(realm, name: name, adding: users.map(\.address), removing: []))
  }

  @discardableResult
  private func remove(_ stage: Stage, _ users: [Party], from name: String) async throws -> Receipt {
    let realm = stage.parley.realms[0].id
    return try await change(stage, .change(realm, name: name, adding: [], removing: users.map(\.address)))
  }

  private func users(_ stage: Stage, _ names: String...) async throws -> [Party] {
    var users: [Party] = []
    for name in names { users.append(try await stage.user(name)) }
    return users
  }

  private func contact(_ stage: Stage, of user: Party, _ other: Party) async throws -> Contact? {
    try await stage.parley.read { try $0.contact(of: user.id, other.address) }
  }

  @Test func membersSeeEachOtherAsLongAsTheyAre() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet", "nurse")
    let (romeo, juliet) = (users[0], users[1])
    let desk = try await stage.session(romeo, "desk")
    let phone = try await stage.session(juliet, "phone")
    _ = desk.taken()
    #expect(try await !put(stage, sales).isRepeat)
    #expect(try await put(stage, sales).isRepeat)
    #expect(try await !add(stage, [romeo, juliet, romeo], to: sales).isRepeat)
    #expect(desk.taken() == [.contactGroup(.joined, moved: ["romeo", "juliet"]), .presence("juliet/phone", .online)])
    #expect(phone.taken() == [.contactGroup(.joined, moved: ["romeo", "juliet"]), .presence("romeo/desk", .online)])
    #expect(try await add(stage, [juliet], to: sales).isRepeat)
    // Who comes online later is seen by the members' snapshots.
    let tablet = try await stage.session(juliet, "tablet")
    #expect(desk.taken() == [.presence("juliet/tablet", .online)])
    stage.parley.hub.unregister(tablet, time: stage.clock.now)
    _ = (desk.taken(), phone.taken())
    try await add(stage, [users[2]], to: sales)
    #expect(desk.taken() == [.contactGroup(.joined, moved: ["nurse"])])
    _ = phone.taken()
    try await remove(stage, [juliet], from: sales)
    #expect(desk.taken() == [.contactGroup(.left, moved: ["juliet"]), .presence("juliet/phone", .offline)])
    #expect(phone.taken() == [.contactGroup(.left, moved: ["juliet"]), .presence("romeo/desk", .offline)])
    #expect(try await contact(stage, of: romeo, juliet) == nil)
    #expect(try await remove(stage, [juliet], from: sales).isRepeat)
  }

  @Test func whatUsersHadBeforeStaysBeneath() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet")
    let (romeo, juliet) = (users[0], users[1])
    let parley = stage.parley
    try await parley.post(.contact(address: juliet.address, name: "Sun", groups: ["Hearts"]), by: romeo)
    try await parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: romeo)
    let before = try await parley.read { try ($0.ownContacts(of: romeo.id), $0.ownContacts(of: juliet.id)) }
    try await put(stage, sales)
    try await add(stage, users, to: sales)
    let shared = try #require(try await contact(stage, of: romeo, juliet))
    #expect((shared.name, shared.groups, shared.subscription) == ("Sun", ["Hearts", "sales"], .both))
    // The request waits beneath, and is no longer shown.
    #expect(try await contact(stage, of: juliet, romeo)?.subscription == .both)
    for act in [SubscriptionAct.unsubscribe, .unsubscribed] {
      let refusal = await #expect(throws: Problem.self) {
        try await parley.post(.subscription(act, to: juliet.address, stanza: nil), by: romeo)
      }
      #expect(refusal?.code == "contact-shared")
    }
    let refusal = await #expect(throws: Problem.self) {
      try await parley.post(.removeContact(juliet.address), by: romeo)
    }
    #expect(refusal?.code == "contact-shared")
    for act in [SubscriptionAct.subscribe, .subscribed] {
      try await parley.post(.subscription(act, to: romeo.address, stanza: nil), by: juliet)
    }
    try await parley.post(.befriend(romeo.address, name: nil), by: juliet)
    let after = try await parley.read { try ($0.ownContacts(of: romeo.id), $0.ownContacts(of: juliet.id)) }
    #expect(after == before)
    try await change(stage, .delete(stage.parley.realms[0].id, name: sales))
    #expect(try await parley.read { try ($0.contacts(of: romeo.id), $0.contacts(of: juliet.id)) } == before)
    // A name for a shared contact, and its removal by the client that shows no groups of its own.
    try await put(stage, sales)
    try await add(stage, users, to: sales)
    let roster = try await stage.session(romeo, "desk")
    try await parley.post(.contact(address: juliet.address, name: nil, groups: ["sales"]), by: romeo)
    #expect(roster.taken() == [.contact("juliet@localhost", .both, act: nil, push: true)])
    #expect(try await parley.read { try $0.ownContact(of: romeo.id, juliet.address)?.groups } == [])
  }

  @Test func presenceEndsOnlyWhereNothingElseShowsIt() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet", "nurse")
    let (romeo, juliet, nurse) = (users[0], users[1], users[2])
    for name in [sales, "staff"] {
      try await put(stage, name)
      try await add(stage, users, to: name)
    }
    try await stage.parley.post(.link(nurse.address, name: nil, groups: [], mutual: true), by: romeo)
    let desk = try await stage.session(romeo, "desk")
    let kitchen = try await stage.session(nurse, "kitchen")
    let phone = try await stage.session(juliet, "phone")
    for session in [desk, kitchen, phone] { _ = session.taken() }
    try await remove(stage, [romeo], from: sales)
    #expect(desk.taken() == [.contactGroup(.left, moved: ["romeo"])])
    #expect(try await contact(stage, of: romeo, juliet)?.groups == ["staff"])
    for session in [desk, kitchen, phone] { _ = session.taken() }
    try await remove(stage, [romeo], from: "staff")
    #expect(desk.taken() == [.contactGroup(.left, moved: ["romeo"]), .presence("juliet/phone", .offline)])
    #expect(kitchen.taken() == [.contactGroup(.left, moved: ["romeo"])])
    #expect(phone.taken() == [.contactGroup(.left, moved: ["romeo"]), .presence("romeo/desk", .offline)])
  }

  @Test func groupsThatSeeEachOther() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet", "nurse")
    let realm = stage.parley.realms[0].id
    for (name, members) in [(sales, [users[0], users[2]]), ("staff", [users[1], users[2]])] {
      try await put(stage, name)
      try await add(stage, members, to: name)
    }
    let desk = try await stage.session(users[0], "desk")
    let phone = try await stage.session(users[1], "phone")
    let kitchen = try await stage.session(users[2], "kitchen")
    func clear() { for session in [desk, phone, kitchen] { _ = session.taken() } }
    func relate(seeing: [String] = [], unseeing: [String] = []) async throws -> Receipt {
      try await change(
        stage, .change(realm, name: sales, adding: [], removing: [], seeing: seeing, unseeing: unseeing))
    }
    clear()
    #expect(try await !relate(seeing: ["staff"]).isRepeat)
    #expect(desk.taken() == [.contactGroup(.linked, moved: ["romeo", "nurse"]), .presence("juliet/phone", .online)])
    #expect(phone.taken() == [.contactGroup(.linked, moved: ["romeo", "nurse"]), .presence("romeo/desk", .online)])
    // Who is in both has seen everybody before.
    #expect(kitchen.taken() == [.contactGroup(.linked, moved: ["romeo", "nurse"])])
    #expect(try await contact(stage, of: users[0], users[1])?.groups == ["staff"])
    #expect(try await contact(stage, of: users[1], users[0])?.groups == [sales])
    #expect(try await relate(seeing: ["staff"]).isRepeat)
    // A third group in common shows the same, so that nothing else ends.
    try await put(stage, "third")
    try await add(stage, [users[0], users[1]], to: "third")
    clear()
    #expect(try await !relate(unseeing: ["staff"]).isRepeat)
    #expect(desk.taken() == [.contactGroup(.unlinked, moved: ["romeo", "nurse"])])
    _ = try await relate(seeing: ["staff"])
    clear()
    try await remove(stage, [users[0]], from: "third")
    #expect(desk.taken() == [.contactGroup(.left, moved: ["romeo"])])
    clear()
    // With the group go those who saw it.
    try await change(stage, .delete(realm, name: "staff"))
    #expect(desk.taken().contains(.presence("juliet/phone", .offline)))
    #expect(try await contact(stage, of: users[0], users[1]) == nil)
    // A user sees eight groups at most, by whichever way.
    for number in 1...Limits.contactGroupsPerUserMax {
      try await put(stage, "g\(number)")
      if number < Limits.contactGroupsPerUserMax { _ = try await relate(seeing: ["g\(number)"]) }
    }
    let refusal = await #expect(throws: Problem.self) {
      _ = try await relate(seeing: ["g\(Limits.contactGroupsPerUserMax)"])
    }
    #expect((refusal?.code, refusal?.field) == ("too-many-contact-groups", "see"))
    let unknown = await #expect(throws: Problem.self) { _ = try await relate(seeing: [sales]) }
    #expect(unknown?.code == "contact-group-unknown")
  }

  @Test func aBlockHidesAMember() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet")
    try await put(stage, sales)
    try await add(stage, users, to: sales)
    let desk = try await stage.session(users[0], "desk")
    _ = try await stage.session(users[1], "phone")
    _ = desk.taken()
    let pattern = BlockPattern(JID(users[0].address))
    try await stage.parley.post(.block([pattern]), by: users[1])
    #expect(desk.taken() == [.presence("juliet/phone", .offline)])
    try await remove(stage, [users[1]], from: sales)
    #expect(try await !add(stage, [users[1]], to: sales).isRepeat)
    #expect(!desk.taken().contains(.presence("juliet/phone", .online)))
    try await stage.parley.post(.unblock([pattern]), by: users[1])
    #expect(desk.taken() == [.presence("juliet/phone", .online)])
  }

  @Test func everyoneComesIntoTheGroupOfEveryone() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    try await put(stage, "all", everyone: true)
    let made = try await stage.accounts.provision(
      Accounts.Provision(name: "juliet"), in: stage.parley.realms[0])
    #expect(try await contact(stage, of: romeo, made.party)?.sharedBy == ["all"])
    let refusal = await #expect(throws: Problem.self) { try await remove(stage, [romeo], from: "all") }
    #expect(refusal?.code == "contact-group-of-everyone")
    let again = await #expect(throws: Problem.self) { try await put(stage, "all", everyone: false) }
    #expect(again?.code == "contact-group-taken")
    let task = try await stage.accounts.beginDeletion(of: made.id, erasing: false)
    try await stage.accounts.finish(task)
    #expect(try await contact(stage, of: romeo, made.party) == nil)
    #expect(try await stage.parley.read { try $0.contactGroups(of: made.id) } == [])
  }

  @Test func groupsHaveBounds() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet")
    for number in 1...Limits.contactGroupsPerUserMax {
      try await put(stage, "g\(number)")
      try await add(stage, [users[0]], to: "g\(number)")
    }
    try await put(stage, sales)
    let refusal = await #expect(throws: Problem.self) { try await add(stage, [users[1], users[0]], to: sales) }
    #expect((refusal?.code, refusal?.field) == ("too-many-contact-groups", "add"))
    // Of a refused call nothing is left, in the store and in memory.
    #expect(try await !add(stage, [users[1]], to: sales).isRepeat)
    let realm = stage.parley.realms[0].id
    let now = stage.clock.now
    let crowd = try await stage.parley.work { writer in
      try (2...Limits.contactGroupMembersMax).map {
        try writer.insertUser(BareJID("u\($0)@localhost"), in: realm, profile: Profile(), createdAt: now).party
      }
    }
    try await add(stage, crowd, to: sales)
    let tybalt = try await stage.user("tybalt")
    let full = await #expect(throws: Problem.self) { try await add(stage, [tybalt], to: sales) }
    #expect(full?.code == "contact-group-full")
    let everyone = await #expect(throws: Problem.self) { try await put(stage, "all", everyone: true) }
    #expect(everyone?.code == "contact-group-full")
    #expect(try await stage.parley.read { try $0.contacts(of: users[1].id).count } == crowd.count)
    // Nobody's roster item is written, and one entry tells all.
    let head = try await stage.parley.read { try $0.head().position }
    try await remove(stage, [users[1]], from: sales)
    #expect(try await stage.parley.read { try $0.head().position } == head.next)
  }

  @Test func aFailedCommitChangesNothing() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet")
    try await put(stage, sales)
    stage.store.failNext(1)
    await #expect(throws: Problem.self) { try await add(stage, users, to: sales) }
    #expect(try await contact(stage, of: users[0], users[1]) == nil)
    let desk = try await stage.session(users[0], "desk")
    #expect(stage.parley.hub.contactSnapshot(of: users[0].id)?.contacts.isEmpty == true)
    #expect(try await !add(stage, users, to: sales).isRepeat)
    #expect(desk.taken() == [.contactGroup(.joined, moved: ["romeo", "juliet"])])
  }

  @Test func usersChangeNoGroups() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let realm = stage.parley.realms[0].id
    let refusal = await #expect(throws: Problem.self) {
      try await stage.parley.post(
        .contactGroup(.put(realm, name: "mine", displayName: nil, hasEveryone: nil)), by: romeo)
    }
    #expect(refusal?.code == "contact-group-forbidden")
  }

  @Test func aChangeIsInEachMembersFeed() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet", "nurse")
    try await put(stage, sales)
    try await add(stage, [users[0], users[1]], to: sales)
    let start = try await stage.parley.read { try $0.head().position }
    try await add(stage, [users[2]], to: sales)
    let page = try await stage.parley.read { try FeedPage.read(users[0], after: start, limit: 10, $0) }
    #expect(page.log.entries.count == 1)
    #expect(page.subjects.contacts[users[2].id]?.sharedBy == [sales])
    let joined = try await stage.parley.read { try FeedPage.read(users[2], after: start, limit: 10, $0) }
    #expect(joined.log.entries.count == 1 && joined.subjects.contacts.isEmpty)
    // The version of a roster outlasts the membership.
    let version = try await stage.parley.read { try $0.rosterVersion(of: users[2].id) }
    try await remove(stage, [users[2]], from: sales)
    #expect(try await stage.parley.read { try $0.rosterVersion(of: users[2].id) } == version.next)
    #expect(try await stage.parley.read { try $0.contactChanges(of: users[2].id, after: version) } == nil)
    #expect(try await stage.parley.read { try $0.contactChanges(of: users[2].id, after: version.next) } == [])
  }

  @Test func aMembersNewNameReachesThoseWhoSeeIt() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet", "nurse", "paris")
    let (romeo, juliet) = (users[0], users[1])
    let parley = stage.parley
    try await put(stage, sales)
    try await add(stage, [romeo, juliet], to: sales)
    try await put(stage, "staff")
    try await add(stage, [users[2]], to: "staff")
    try await change(stage, .change(parley.realms[0].id, name: sales, adding: [], removing: [], seeing: ["staff"]))
    let desk = try await stage.session(romeo, "desk")
    let tablet = try await stage.session(romeo, "tablet")
    let kitchen = try await stage.session(users[2], "kitchen")
    let street = try await stage.session(users[3], "street")
    for session in [desk, kitchen, street] { parley.hub.update(session) { $0.wantsRoster = true } }
    func shownName() -> String? { parley.hub.contactSnapshot(of: romeo.id)?.sharedName(of: juliet.address) }
    func version() async throws -> Position { try await parley.read { try $0.rosterVersion(of: romeo.id) } }
    func rename(_ name: String?) async throws {
      try await parley.post(.profile(ProfileDraft(displayName: .some(name))), by: juliet)
    }
    #expect(shownName() == "juliet")
    let start = try await version()
    try await rename("Juliet")
    let named = try await version()
    #expect(named > start)
    #expect(shownName() == "Juliet")
    #expect(parley.hub.contactSnapshot(of: romeo.id)?.rosterVersion == named)
    #expect(try await parley.read { try $0.contactChanges(of: romeo.id, after: start) } == nil)
    #expect(try await parley.read { try $0.contactChanges(of: romeo.id, after: named) } == [])
    let signal = Heard.named("juliet", named)
    #expect(desk.taken().contains(signal))
    #expect(kitchen.taken().contains(signal))
    // Neither who has no roster there, nor who does not see her.
    #expect(!tablet.taken().contains(signal))
    #expect(!street.taken().contains(signal))
    // No feed has a row of it: a name costs the same however many see it.
    let page = try await parley.read { try FeedPage.read(romeo, after: start, limit: 10, $0) }
    #expect(page.log.entries.isEmpty)
    // Of a profile only the name is in rosters.
    try await parley.post(.profile(ProfileDraft(status: .some("Waiting"))), by: juliet)
    #expect(try await version() == named)
    // Groups that are loaded again have it, and who comes back.
    let realm = parley.realms[0]
    func loaded() async throws -> String? {
      try await parley.read { try ContactGroupRegistry($0, [realm]).name(of: juliet.address, seenBy: romeo.id) }
    }
    #expect(try await loaded() == "Juliet")
    try await remove(stage, [juliet], from: sales)
    #expect(shownName() == nil)
    try await rename("Jule")
    #expect(shownName() == nil)
    try await add(stage, [juliet], to: sales)
    #expect(shownName() == "Jule")
    try await rename(nil)
    #expect(shownName() == nil)
    #expect(try await loaded() == nil)
    #expect(try await version() == parley.hub.contactSnapshot(of: romeo.id)?.rosterVersion)
  }

  /// A client that changes a contact's groups sends back the name that it was shown.
  @Test func aNameThatWasOnlyShownDoesNotBecomeTheUsersOwn() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet")
    let (romeo, juliet) = (users[0], users[1])
    try await put(stage, sales)
    try await add(stage, users, to: sales)
    func own(_ name: String) async throws -> Contact? {
      let groups = ["Hearts", sales]
      try await stage.parley.post(.contact(address: juliet.address, name: name, groups: groups), by: romeo)
      return try await stage.parley.read { try $0.ownContact(of: romeo.id, juliet.address) }
    }
    let shown = try #require(try await own("juliet"))
    #expect(shown.name == nil)
    #expect(shown.groups == ["Hearts"])
    #expect(try await own("Sun")?.name == "Sun")
    // The name of the profile given as one's own stays one's own.
    try await stage.parley.post(.profile(ProfileDraft(displayName: .some("Sun"))), by: juliet)
    #expect(try await own("Sun")?.name == "Sun")
  }

  @Test func aNameIsWrittenWithTheProfileOrNotAtAll() async throws {
    let stage = try Stage()
    let users = try await users(stage, "romeo", "juliet")
    try await put(stage, sales)
    try await add(stage, users, to: sales)
    _ = try await stage.session(users[0], "desk")
    stage.store.failNext(1)
    await #expect(throws: Problem.self) {
      try await stage.parley.post(.profile(ProfileDraft(displayName: .some("Sun"))), by: users[1])
    }
    let snapshot = try #require(stage.parley.hub.contactSnapshot(of: users[0].id))
    #expect(snapshot.sharedName(of: users[1].address) == "juliet")
  }
}
