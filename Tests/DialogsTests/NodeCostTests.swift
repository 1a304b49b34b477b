import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Testing

@testable import Dialogs

/// What nodes with many people and many items cost: whom it is charged to, and what is written when.
@Suite struct NodeCostTests {
  /// 250 deliveries a second and 1,000 at once, and five stanzas at once.
  private var slow: SendingPolicy {
    var policy = SendingPolicy()
    policy.stanzasPerSecond = 1
    return policy
  }

  private func publication(_ id: String, _ bytes: Int = 1, _ conditions: [NodeOption] = []) -> NodePublication {
    NodePublication(
      node: "n", item: NodePublication.Item(id: id, content: .opaque([UInt8](repeating: 32, count: bytes))),
      conditions: conditions)
  }

  private func budget(_ party: Party, on stage: Stage) -> SendingBudget {
    stage.parley.sending.budget(of: party, from: nil, now: stage.clock.now)
  }

  // MARK: People

  /// What the committer changes in memory is what it would read.
  @Test func changedPeopleAreThoseThatAreStored() throws {
    let names = ["a@x.example", "a@x.example/r", "a@x.example.b", "a@x.example/\u{e9}", "b@x.example/r", "x.example"]
    let jids = try names.map { try JID($0) }
    var people = NodePeople()
    var affiliations: [BareJID: NodeAffiliation] = [:]
    var subscriptions: [JID: NodeSubscription] = [:]
    for step in 0..<120 {
      let jid = jids[step * 7 % jids.count]
      switch step % 5 {
      case 0, 1:
        let subscription = NodeSubscription(
          address: jid, state: step % 3 == 0 ? .pending : .subscribed, isPaused: step % 2 == 0)
        people.set(subscription)
        subscriptions[jid] = subscription
      case 2:
        people.removeSubscription(of: jid)
        subscriptions[jid] = nil
      default:
        let affiliation: NodeAffiliation? = step % 4 == 0 ? nil : .member
        people.set(affiliation, of: jid.bare)
        affiliations[jid.bare] = affiliation
      }
      let ordered = subscriptions.values.sorted {
        $0.address.description.utf8.lexicographicallyPrecedes($1.address.description.utf8)
      }
      #expect(people == NodePeople(affiliations: affiliations, subscriptions: ordered), "step \(step)")
      for jid in jids { #expect(people.subscription(of: jid) == subscriptions[jid]) }
    }
  }

  @Test func thePeopleOfANodeAreReadOnceAndCharged() async throws {
    let stage = try Stage(sending: slow)
    let romeo = try await stage.user("romeo")
    _ = try await stage.session(romeo, "orchard")
    try await stage.parley.post(.node(.create(node: "n", [.persistsItems(false)])), by: romeo)
    let people = try (0..<100).map { try BareJID("user\($0)@elsewhere.example") }
    let changes = Dictionary(uniqueKeysWithValues: people.map { ($0, NodeAffiliation.member as NodeAffiliation?) })
    try await stage.parley.post(.node(.affiliate(node: "n", changes)), by: romeo)
    #expect(!budget(romeo, on: stage).isFull(now: stage.clock.now), "so many rows were written")
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    try await stage.parley.post(.node(.publish(publication("a"))), by: romeo)
    #expect(budget(romeo, on: stage).isFull(now: stage.clock.now), "the committer knows them")
    // It may have changed anything.
    _ = try await stage.parley.work { $0.changedRows }
    try await stage.parley.post(.node(.publish(publication("b"))), by: romeo)
    #expect(!budget(romeo, on: stage).isFull(now: stage.clock.now))
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    for number in 0..<20 { try await stage.parley.post(.node(.publish(publication("\(number)"))), by: romeo) }
    #expect(budget(romeo, on: stage).isFull(now: stage.clock.now))
    #expect(try await stage.parley.read { try $0.people(of: "n", of: romeo.id) }.affiliations.count == 100)
  }

  /// The contacts of a user without a session are read once for what is for them, and again when they have changed.
  @Test func theContactsOfWhoHasNoSessionAreReadOnce() async throws {
    let stage = try Stage(sending: slow)
    let romeo = try await stage.user("romeo")
    let crowd = try await stage.crowd(40)
    for friend in crowd {
      try await stage.parley.post(.link(friend.address, name: nil, groups: nil, mutual: true), by: romeo)
    }
    /// Changes the status. Returns whether 40 contacts were read for it, which count as two stanzas.
    func reads(for status: String) async throws -> Bool {
      stage.clock.set(stage.clock.now.milliseconds + 60_000)
      try await stage.parley.post(.profile(ProfileDraft(status: status)), by: romeo)
      return !budget(romeo, on: stage).isFull(now: stage.clock.now)
    }
    #expect(try await reads(for: "a"))
    #expect(try await !reads(for: "b"))
    try await stage.parley.post(.contact(address: crowd[0].address, name: "Mercutio", groups: []), by: romeo)
    #expect(try await reads(for: "c"))
    try await stage.parley.post(.block([BlockPattern(JID(crowd[1].address))], reports: []), by: romeo)
    #expect(try await reads(for: "d"))
    // It may have changed anything.
    _ = try await stage.parley.work { $0.changedRows }
    #expect(try await reads(for: "e"))
    #expect(try await !reads(for: "f"))
    // A session begins with what was kept.
    _ = try await stage.session(romeo, "orchard")
    let snapshot = try #require(stage.parley.hub.contactSnapshot(of: romeo.id))
    #expect(snapshot.user.profile.status == "f" && snapshot.contacts.count == 40)
    #expect(snapshot.contact(crowd[0].address)?.name == "Mercutio" && snapshot.blocks.count == 1)
  }

  /// New affiliations count for the day; whoever has set as many as one may still bans and removes.
  @Test func newAffiliationsCountForTheDay() async throws {
    var policy = SendingPolicy()
    policy.dayBytes = 30_000
    let stage = try Stage(sending: policy)
    let romeo = try await stage.user("romeo")
    try await stage.parley.post(.node(.create(node: "n", [])), by: romeo)
    func set(_ affiliation: NodeAffiliation?, _ numbers: Range<Int>) async throws {
      let people = try numbers.map { (try BareJID("user\($0)@elsewhere.example"), affiliation) }
      try await stage.parley.post(
        .node(.affiliate(node: "n", Dictionary(uniqueKeysWithValues: people))), by: romeo)
    }
    // Each has some 150 bytes.
    try await set(.member, 100..<200)
    for _ in 0..<9 { try await set(.publisher, 100..<200) }
    try await set(.member, 200..<320)
    let problem = await #expect(throws: Problem.self) { try await set(.member, 320..<321) }
    #expect(problem?.code == Problem.dayBytesCode)
    try await set(.outcast, 320..<321)
    try await set(nil, 100..<200)
    #expect(try await stage.parley.read { try $0.people(of: "n", of: romeo.id) }.affiliations.count == 121)
  }

  /// The people of a deleted node are nobody in another one of its name.
  @Test func aDeletedNodeBeginsWithNobody() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let visit = NodeVisit(owner: romeo.address, node: "n", resource: nil, .publish(publication("a")))
    for _ in 0..<2 {
      try await stage.parley.post(.node(.create(node: "n", [.access(.open)])), by: romeo)
      await #expect(throws: Problem.notYours) { try await stage.parley.post(.visit(visit), by: juliet) }
      try await stage.parley.post(.node(.affiliate(node: "n", [juliet.address: .publisher])), by: romeo)
      try await stage.parley.post(.visit(visit), by: juliet)
      try await stage.parley.post(.node(.delete(node: "n")), by: romeo)
    }
  }

  /// A batch that fails leaves nobody in memory who was not stored.
  @Test func aFailedChangeOfPeopleLeavesNothing() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let visit = NodeVisit(owner: romeo.address, node: "n", resource: nil, .publish(publication("a")))
    try await stage.parley.post(.node(.create(node: "n", [.access(.open)])), by: romeo)
    await #expect(throws: Problem.notYours) { try await stage.parley.post(.visit(visit), by: juliet) }
    stage.store.failNext(1)
    await #expect(throws: Problem.self) {
      try await stage.parley.post(.node(.affiliate(node: "n", [juliet.address: .publisher])), by: romeo)
    }
    await #expect(throws: Problem.notYours) { try await stage.parley.post(.visit(visit), by: juliet) }
  }

  // MARK: Deliveries

  @Test func aPublicationIsChargedByItsSubscribers() async throws {
    let stage = try Stage(sending: slow)
    let romeo = try await stage.user("romeo")
    let service = try BareJID("pubsub.localhost")
    try await stage.parley.post(.node(.create(node: "n", []), at: service), by: romeo)
    for reader in try await stage.crowd(Limits.fanOutMin) {
      let act = NodeVisit.Act.subscribe(JID(reader.address), isPaused: nil)
      try await stage.parley.post(.visit(NodeVisit(owner: service, node: "n", resource: nil, act)), by: reader)
    }
    for number in 0..<15 {
      try await stage.parley.post(.node(.publish(publication("\(number)")), at: service), by: romeo)
    }
    #expect(!budget(romeo, on: stage).owesDeliveries(now: stage.clock.now))
    for number in 15..<17 {
      try await stage.parley.post(.node(.publish(publication("\(number)")), at: service), by: romeo)
    }
    #expect(budget(romeo, on: stage).owesDeliveries(now: stage.clock.now))
  }

  /// So it is by the contacts whom it may be for, whether the account is named, as by XMPP clients, and whether it has a session.
  @Test(arguments: [false, true], [false, true])
  func aPublicationIsChargedByTheContactsWhoMaySeeIt(isNamed: Bool, isOnline: Bool) async throws {
    let stage = try Stage(sending: slow)
    let romeo = try await stage.user("romeo")
    for friend in try await stage.crowd(Limits.fanOutMin) {
      try await stage.parley.post(.link(friend.address, name: nil, groups: nil, mutual: true), by: romeo)
    }
    if isOnline { _ = try await stage.session(romeo, "orchard") }
    for number in 0..<16 {
      #expect(!budget(romeo, on: stage).owesDeliveries(now: stage.clock.now))
      let intent = NodeIntent.publish(publication("\(number)"))
      try await stage.parley.post(.node(intent, at: isNamed ? romeo.address : nil), by: romeo)
    }
    #expect(budget(romeo, on: stage).owesDeliveries(now: stage.clock.now))
  }

  /// One who publishes at another's node is charged for that user's contacts.
  @Test func aVisitorIsChargedByTheOwnersContacts() async throws {
    let stage = try Stage(sending: slow)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    for friend in try await stage.crowd(Limits.fanOutMin) {
      try await stage.parley.post(.link(friend.address, name: nil, groups: nil, mutual: true), by: romeo)
    }
    _ = try await stage.session(romeo, "orchard")
    try await stage.parley.post(.node(.create(node: "n", [.access(.open), .publishers(.open)])), by: romeo)
    for number in 0..<17 {
      #expect(!budget(juliet, on: stage).owesDeliveries(now: stage.clock.now) || number == 16)
      let act = NodeVisit.Act.publish(publication("\(number)"))
      try await stage.parley.post(.visit(NodeVisit(owner: romeo.address, node: "n", resource: nil, act)), by: juliet)
    }
    #expect(budget(juliet, on: stage).owesDeliveries(now: stage.clock.now))
  }

  // MARK: Sizes

  @Test func theNodesOfAUserAreCountedOnceAndCharged() async throws {
    let stage = try Stage(sending: slow)
    let romeo = try await stage.user("romeo")
    _ = try await stage.session(romeo, "orchard")
    let now = stage.clock.now
    try await stage.parley.work { writer in
      for number in 0..<100 {
        try writer.put(Node(owner: romeo.id, name: "\(number)", configuration: NodeConfiguration(), createdAt: now))
      }
    }
    try await stage.parley.post(.node(.create(node: "n", [])), by: romeo)
    #expect(!budget(romeo, on: stage).isFull(now: stage.clock.now), "so many rows were read")
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    for number in 0..<20 {
      try await stage.parley.post(.node(.publish(publication("a", number + 1))), by: romeo)
      try await stage.parley.post(.node(.create(node: "m\(number)", [])), by: romeo)
    }
    #expect(budget(romeo, on: stage).isFull(now: stage.clock.now), "the committer knows the sums")
  }

  /// What the committer keeps is what it would count.
  @Test func theKeptSizeFollowsEachChange() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let now = stage.clock.now
    try await stage.parley.work { writer in
      try writer.put(
        Node(
          owner: romeo.id, name: "rest", configuration: NodeConfiguration(), createdAt: now,
          byteCount: Limits.publishedBytesMax - 100))
    }
    func fits(_ id: String, _ bytes: Int) async throws -> Bool {
      do throws(Problem) {
        try await stage.parley.post(.node(.publish(publication(id, bytes))), by: romeo)
        return true
      } catch {
        if error == .publishedTooMuch { return false }
        throw error
      }
    }
    try await stage.parley.post(.node(.create(node: "n", [.itemsMax(2)])), by: romeo)
    #expect(try await fits("a", 60))
    #expect(try await !fits("b", 41))
    #expect(try await fits("b", 40))
    #expect(try await !fits("a", 61))
    #expect(try await fits("a", 50), "it shrinks")
    #expect(try await !fits("b", 51))
    #expect(try await fits("b", 50))
    #expect(try await fits("c", 50), "the oldest makes way")
    try await stage.parley.post(.node(.retract(node: "n", item: "c", notifies: false)), by: romeo)
    #expect(try await !fits("d", 51))
    #expect(try await fits("d", 50))
    try await stage.parley.post(.node(.configure(node: "n", [.itemsMax(1)])), by: romeo)
    #expect(try await !fits("d", 101))
    #expect(try await fits("d", 100))
    try await stage.parley.post(.node(.purge(node: "n")), by: romeo)
    #expect(try await !fits("e", 101))
    #expect(try await fits("e", 100))
    try await stage.parley.post(.node(.delete(node: "n")), by: romeo)
    try await stage.parley.post(.node(.create(node: "n", [])), by: romeo)
    #expect(try await !fits("f", 101))
    #expect(try await fits("f", 90))
    // A batch that fails changes nothing.
    stage.store.failNext(1)
    await #expect(throws: Problem.storage) { _ = try await fits("f", 100) }
    #expect(try await !fits("f", 101))
    #expect(try await fits("f", 100))
  }

  // MARK: Items

  /// The items are gone at once; the entries that published them go with later posts.
  @Test func aLongNodeIsEmptiedAtOnceAndItsEntriesByAndBy() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let count = Limits.erasedEntriesAtOnce + 20
    func fill() async throws {
      for number in 0..<count {
        try await stage.parley.post(
          .node(.publish(publication("\(number)", number % 5 + 1, [.itemsMax(nil)]))), by: romeo)
      }
    }
    func node() async throws -> (items: Int, bytes: Int, stored: [NodeItem]) {
      let (node, items) = try await stage.parley.read {
        (
          try $0.node("n", of: romeo.id),
          try $0.items(in: "n", of: romeo.id, newest: true, limit: Limits.itemsPerNodeMax)
        )
      }
      return (node?.itemCount ?? 0, node?.byteCount ?? 0, items)
    }
    func published() async throws -> Int {
      // It is committed behind what the post before has left for later.
      try await stage.parley.post(.confirm(.zero), by: romeo)
      return try await stage.parley.read { try $0.feed(of: romeo.id, after: .zero, limit: 2 * count) }.count {
        if case .node(let change) = $0.fact { change.act == .published } else { false }
      }
    }
    try await fill()
    #expect(try await published() == count)
    for kept in [count - 5, 3] {
      try await stage.parley.post(.node(.configure(node: "n", [.itemsMax(kept)])), by: romeo)
      let found = try await node()
      #expect(found.items == kept && found.stored.map(\.id) == (count - kept..<count).map { "\($0)" })
      #expect(found.bytes == found.stored.reduce(0) { $0 + $1.content.byteCount })
      #expect(try await published() == kept)
    }
    try await stage.parley.post(.node(.configure(node: "n", [.itemsMax(nil)])), by: romeo)
    try await fill()
    try await stage.parley.post(.node(.purge(node: "n")), by: romeo)
    let purged = try await node()
    #expect(purged.items == 0 && purged.bytes == 0 && purged.stored == [])
    #expect(try await published() == 0)
    try await fill()
    try await stage.parley.post(.node(.delete(node: "n")), by: romeo)
    #expect(try await node().stored == [])
    #expect(try await published() == 0)
  }
}
