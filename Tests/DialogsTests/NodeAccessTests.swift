import Addresses
import Dialogs
import DialogsFixtures
import Testing

/// Reading, writing and notification of other users' nodes: every access model, tried by users without access.
@Suite struct NodeAccessTests {
  private let stage: Stage
  private let romeo: Party
  private let juliet: Party
  private let paris: Party

  init() async throws {
    stage = try Stage()
    romeo = try await stage.user("romeo")
    juliet = try await stage.user("juliet")
    paris = try await stage.user("paris")
  }

  private func post(_ intent: NodeIntent, by author: Party? = nil) async throws {
    try await stage.parley.post(.node(intent), by: author ?? romeo)
  }

  @discardableResult
  private func visit(_ act: NodeVisit.Act, by author: Party, node: String = "n") async throws -> Receipt {
    try await stage.parley.post(
      .visit(NodeVisit(owner: romeo.address, node: node, resource: nil, act)), by: author)
  }

  private func publish(_ id: String, by author: Party? = nil, node: String = "n") async throws {
    let draft = NodePublication(node: node, item: NodePublication.Item(id: id, content: .opaque([1])))
    if let author { return _ = try await visit(.publish(draft), by: author, node: node) }
    try await post(.publish(draft))
  }

  private func subscribe(_ party: Party, node: String = "n") async throws -> NodeSubscription.State? {
    let receipt = try await visit(.subscribe(JID(party.address), isPaused: nil), by: party, node: node)
    return (receipt.value as? NodeSubscription)?.state
  }

  private func befriend(_ peer: Party, groups: [String] = []) async throws {
    try await stage.parley.post(.link(peer.address, name: nil, groups: groups, mutual: true), by: romeo)
  }

  private func people(_ node: String = "n") async throws -> NodePeople {
    try await stage.parley.read { try $0.people(of: node, of: romeo.id) }
  }

  /// The notifications of nodes, with their addresses.
  private func told(_ session: RecordingSession) -> [String] {
    session.deliveries().compactMap { delivery in
      guard case .signal(.node(let event), let form) = delivery else { return nil }
      let what =
        switch event.kind {
        case .published(let item): "+\(item?.id ?? "")"
        case .retracted(let id): "-\(id)"
        case .purged: "purged"
        case .deleted: "deleted"
        case .configured: "configured"
        case .subscription(let state): state.map { "\($0)" } ?? "none"
        case .requested(let address): "\(address)?"
        }
      return form == .account ? "\(what) to the account" : what
    }
  }

  private func code(_ body: () async throws -> Void) async -> String? {
    do {
      try await body()
      return nil
    } catch { return (error as? Problem)?.code }
  }

  // MARK: Reading

  @Test func everyAccessModelLetsInWhoItIsFor() {
    let friend = Contact(
      owner: romeo.id, address: juliet.address, peer: juliet.id, groups: ["Friends"], subscription: .both,
      version: .zero)
    var seenOnly = friend
    seenOnly.subscription = Subscription.to
    var elsewhere = friend
    elsewhere.groups = ["Servants"]
    // The relations are of others to romeo's node.
    let relations: [(String, NodeRelation)] = [
      ("stranger", NodeRelation()), ("seen", NodeRelation(contact: seenOnly)),
      ("friend", NodeRelation(contact: friend)), ("other group", NodeRelation(contact: elsewhere)),
      ("subscriber", NodeRelation(isSubscribed: true)), ("member", NodeRelation(affiliation: .member)),
      ("publisher", NodeRelation(affiliation: .publisher)), ("owner", NodeRelation(affiliation: .owner)),
      ("publish-only", NodeRelation(affiliation: .publishOnly, isSubscribed: true)),
      ("outcast friend", NodeRelation(contact: friend, affiliation: .outcast, isSubscribed: true)),
    ]
    typealias Denial = NodeConfiguration.Denial
    let expected: [NodeConfiguration.Access: [Denial?]] = [
      .open: [nil, nil, nil, nil, nil, nil, nil, nil, .publishOnly, .outcast],
      .presence: [.noSubscription, .noSubscription, nil, nil, .noSubscription, nil, nil, nil, .publishOnly, .outcast],
      .roster: [
        .noSubscription, .noSubscription, nil, .notInGroup, .noSubscription, nil, nil, nil, .publishOnly, .outcast,
      ],
      .authorize: [
        .notSubscribed, .notSubscribed, .notSubscribed, .notSubscribed, nil, nil, nil, nil, .publishOnly, .outcast,
      ],
      .whitelist: [
        .notListed, .notListed, .notListed, .notListed, .notListed, nil, nil, nil, .publishOnly, .outcast,
      ],
    ]
    for access in NodeConfiguration.Access.allCases {
      var configuration = NodeConfiguration()
      configuration.access = access
      configuration.groups = ["Friends"]
      #expect(relations.map { configuration.denial(to: $0.1) } == expected[access], "\(access)")
    }
  }

  @Test func theModelDecidesAlsoWhoMaySubscribe() async throws {
    for (access, refusal) in [
      (NodeConfiguration.Access.presence, "presence-subscription-required"),
      (.roster, "presence-subscription-required"),
      (.whitelist, "closed-node"),
    ] {
      try await post(.create(node: "\(access)", [.access(access)]))
      #expect(await code { _ = try await subscribe(paris, node: "\(access)") } == refusal)
      #expect(try await people("\(access)") == NodePeople())
    }
    try await befriend(paris, groups: ["Servants"])
    #expect(await code { _ = try await subscribe(paris, node: "roster") } == "not-in-roster-group")
    #expect(try await subscribe(paris, node: "presence") == .subscribed)
    #expect(await code { _ = try await subscribe(paris, node: "nowhere") } == "node-unknown")
    // A subscription in another user's name is refused, and so is one of a blocked user.
    try await post(.create(node: "n", [.access(.open)]))
    #expect(
      await code { try await visit(.subscribe(JID(juliet.address), isPaused: nil), by: paris) } == "not-yours")
    #expect(await code { try await visit(.unsubscribe(JID(juliet.address)), by: paris) } == "not-yours")
    try await stage.parley.post(.block([BlockPattern(JID(juliet.address))]), by: romeo)
    #expect(await code { _ = try await subscribe(juliet) } == Problem.unreachable.code)
    #expect(try await people() == NodePeople())
  }

  // MARK: Notifications

  @Test func aSubscriberIsToldOnceInterestedOrNot() async throws {
    try await befriend(juliet)
    try await post(.create(node: "n", [.access(.open), .itemsMax(nil)]))
    try await publish("a")
    let friend = try await stage.session(juliet, "balcony")
    let bored = try await stage.session(juliet, "chamber")
    let away = try await stage.session(juliet, "road", priority: -1)
    let stranger = try await stage.session(paris, "street")
    #expect(try await subscribe(juliet) == .subscribed)
    #expect(try await subscribe(paris) == .subscribed)
    #expect(told(stranger) == ["+a to the account"], "the last item")
    #expect(told(friend) == ["+a to the account"])
    #expect(told(bored) == ["+a to the account"])
    #expect(told(away) == [])
    // One session says what it is interested in: it alone is told (XEP-0163 4.3.2).
    stage.parley.hub.update(friend) { $0.interests = ["n"] }
    try await publish("b")
    #expect(told(friend) == ["+b"])
    #expect(told(bored) == [])
    #expect(told(stranger) == ["+b to the account"])
    // A session subscribes for itself, and again changes nothing.
    let chamber = try JID("juliet@localhost/chamber")
    for isRepeat in [false, true] {
      let receipt = try await visit(.subscribe(chamber, isPaused: nil), by: juliet)
      #expect(receipt.isRepeat == isRepeat)
    }
    try await visit(.pause(JID(paris.address), true), by: paris)
    try await publish("c")
    #expect(told(friend) == ["+c"])
    #expect(told(bored) == ["+b", "+c"], "the last item, then the next")
    #expect(told(stranger) == [], "paused")
    try await visit(.unsubscribe(chamber), by: juliet)
    #expect(await code { try await visit(.unsubscribe(chamber), by: juliet) } == "no-subscription")
    try await visit(.pause(JID(paris.address), false), by: paris)
    // Blocks, either way, are stronger than subscriptions.
    try await stage.parley.post(.block([BlockPattern(JID(paris.address))]), by: romeo)
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    for session in [friend, bored, stranger] { _ = session.deliveries() }
    try await publish("d")
    for session in [friend, bored, stranger] { #expect(told(session) == []) }
  }

  @Test func fiveHundredContactsHearOneEvent() async throws {
    let count = 500
    var sessions: [RecordingSession] = []
    for number in 0..<count {
      let contact = try await stage.user("contact\(number)")
      try await befriend(contact)
      let session = try await stage.session(contact, "here")
      stage.parley.hub.update(session) { $0.interests = ["n"] }
      sessions.append(session)
    }
    for session in sessions { _ = session.deliveries() }
    try await publish("a")
    let events = sessions.flatMap { session in
      session.deliveries().compactMap { delivery -> ObjectIdentifier? in
        guard case .signal(.node(let event), .direct) = delivery else { return nil }
        return ObjectIdentifier(event)
      }
    }
    #expect(events.count == count)
    #expect(Set(events).count == 1, "one value, with one place for its encoded form")
  }

  // MARK: The end of subscriptions

  @Test func aSubscriberWhoLosesAccessLosesTheSubscription() async throws {
    let session = try await stage.session(paris, "street")
    func begin() async throws {
      try await befriend(paris, groups: ["Friends"])
      #expect(try await subscribe(paris) == .subscribed)
      _ = session.deliveries()
    }
    func expectEnd(_ what: Comment) async throws {
      #expect(told(session) == ["none to the account"], what)
      try await publish("x")
      #expect(told(session) == [], what)
      #expect(try await people().subscriptions == [], what)
    }
    try await post(.create(node: "n", [.access(.roster), .groups(["Friends"])]))
    try await begin()
    try await stage.parley.post(.contact(address: paris.address, name: nil, groups: ["Servants"]), by: romeo)
    try await expectEnd("another group")
    try await begin()
    try await stage.parley.post(.removeContact(paris.address), by: romeo)
    try await expectEnd("an ex-contact")
    try await begin()
    try await stage.parley.post(.subscription(.unsubscribed, to: paris.address, stanza: nil), by: romeo)
    try await expectEnd("who does not see the presence any more")
    try await begin()
    try await stage.parley.post(.subscription(.unsubscribe, to: romeo.address, stanza: nil), by: paris)
    try await expectEnd("who does not want to")
    try await begin()
    try await post(.configure(node: "n", [.groups(["Servants"])]))
    try await expectEnd("other groups")
    try await post(.configure(node: "n", [.groups(["Friends"])]))
    try await begin()
    try await post(.configure(node: "n", [.access(.whitelist)]))
    try await expectEnd("another model")
    try await post(.configure(node: "n", [.access(.roster)]))
    try await begin()
    try await post(.affiliate(node: "n", [paris.address: .outcast]))
    try await expectEnd("an outcast")
    #expect(await code { _ = try await subscribe(paris) } == "outcast")
  }

  /// An outcast gets no events, even as an interested contact.
  @Test func anOutcastHearsNothingAMemberEverything() async throws {
    try await befriend(juliet)
    try await befriend(paris)
    let sessions = [try await stage.session(juliet, "balcony"), try await stage.session(paris, "street")]
    for session in sessions { stage.parley.hub.update(session) { $0.interests = ["n"] } }
    try await post(.create(node: "n", [.access(.whitelist)]))
    try await publish("a")
    #expect(sessions.map(told) == [[], []])
    try await post(.affiliate(node: "n", [juliet.address: .member]))
    try await publish("b")
    #expect(sessions.map(told) == [["+b"], []])
    try await post(.configure(node: "n", [.access(.open)]))
    try await post(.affiliate(node: "n", [juliet.address: nil, paris.address: .outcast]))
    try await publish("c")
    #expect(sessions.map(told) == [["+c"], []])
    let receipt = try await stage.parley.post(
      .node(.affiliate(node: "n", [romeo.address: nil, juliet.address: .owner])), by: romeo)
    #expect(receipt.value as? [BareJID: NodeAffiliation?] == [romeo.address: .owner, juliet.address: nil])
    #expect(try await people().affiliations == [paris.address: .outcast])
  }

  @Test func aNodeThatGoesSaysSoAlsoToWhoWaits() async throws {
    let sessions = [try await stage.session(juliet, "balcony"), try await stage.session(paris, "street")]
    try await post(.create(node: "n", [.access(.authorize)]))
    #expect(try await subscribe(juliet) == .pending)
    #expect(try await subscribe(paris) == .pending)
    try await post(.subscribers(node: "n", [JID(juliet.address): .subscribed]))
    try await publish("a")
    #expect(sessions.map(told) == [["subscribed to the account", "+a to the account"], []])
    try await post(.delete(node: "n"))
    #expect(sessions.map(told) == [["deleted to the account"], ["deleted to the account"]])
    // A node of the same name begins with nobody.
    try await post(.create(node: "n", [.access(.authorize)]))
    #expect(try await people() == NodePeople())
  }

  // MARK: Asking first

  @Test func theOwnerDecidesWhoSubscribes() async throws {
    let owner = try await stage.session(romeo, "orchard")
    let session = try await stage.session(paris, "street")
    try await post(.create(node: "n", [.access(.authorize)]))
    try await publish("a")
    _ = owner.deliveries()
    #expect(try await subscribe(paris) == .pending)
    #expect(told(owner) == ["paris@localhost? to the account"])
    #expect(await code { _ = try await subscribe(paris) } == "pending-subscription")
    #expect(told(owner) == [], "asked once")
    try await publish("b")
    #expect(told(session) == [])
    // Nobody answers for the owner.
    #expect(
      await code { try await post(.subscribers(node: "n", [JID(paris.address): .subscribed]), by: paris) }
        == "node-unknown")
    try await post(.subscribers(node: "n", [JID(paris.address): nil]))
    #expect(told(session) == ["none to the account"])
    #expect(try await subscribe(paris) == .pending)
    try await post(.subscribers(node: "n", [JID(paris.address): .subscribed]))
    #expect(told(session) == ["subscribed to the account", "+b to the account"])
    try await publish("c")
    #expect(told(session) == ["+c to the account"])
    // The subscription, once allowed, holds for all sessions.
    let receipt = try await visit(.subscribe(try JID("paris@localhost/street"), isPaused: nil), by: paris)
    #expect((receipt.value as? NodeSubscription)?.state == .subscribed)
    // A pending subscriber who becomes a member needs no answer any more, nor does one of a node that opens to all.
    #expect(try await subscribe(juliet) == .pending)
    try await post(.affiliate(node: "n", [juliet.address: .member]))
    #expect(try await people().subscriptions.allSatisfy { $0.state == .subscribed })
  }

  @Test func nobodyIsSubscribedWhoHasNotAsked() async throws {
    try await post(.create(node: "n", [.access(.open)]))
    #expect(try await subscribe(paris) == .subscribed)
    let receipt = try await stage.parley.post(
      .node(
        .subscribers(
          node: "n",
          [JID(juliet.address): .subscribed, JID(paris.address): .pending, try JID("nobody@localhost"): nil])),
      by: romeo)
    let refused = try #require(receipt.value as? [JID: NodeSubscription.State?])
    #expect(refused == [JID(juliet.address): nil, JID(paris.address): .subscribed])
    #expect(try await people().subscriptions.map(\.address) == [JID(paris.address)])
  }

  // MARK: Publishing

  @Test func theModelDecidesWhoPublishes() async throws {
    try await befriend(juliet)
    try await post(.create(node: "n", [.access(.open), .itemsMax(nil)]))
    #expect(await code { try await publish("a", by: juliet) } == "not-yours")
    #expect(await code { try await publish("a", by: juliet, node: "nowhere") } == "not-yours", "looks the same")
    try await post(.affiliate(node: "n", [juliet.address: .publisher]))
    try await publish("mine")
    try await publish("hers", by: juliet)
    #expect(await code { try await publish("mine", by: juliet) } == "not-yours")
    #expect(await code { try await visit(.retract(item: "mine", notifies: true), by: juliet) } == "not-yours")
    try await visit(.retract(item: "hers", notifies: true), by: juliet)

    try await post(.configure(node: "n", [.publishers(.subscribers)]))
    #expect(await code { try await publish("b", by: paris) } == "not-yours")
    _ = try await subscribe(paris)
    try await publish("b", by: paris)
    try await post(.configure(node: "n", [.publishers(.open)]))
    try await visit(.unsubscribe(JID(paris.address)), by: paris)
    try await publish("b", by: paris)
    let item = try await stage.parley.read { try $0.item("b", in: "n", of: romeo.id) }
    #expect(item?.publisher == paris.address)
    try await publish("b")
    #expect(try await stage.parley.read { try $0.item("b", in: "n", of: romeo.id) }?.publisher == nil)
    try await post(.affiliate(node: "n", [paris.address: .outcast]))
    #expect(await code { try await publish("c", by: paris) } == "not-yours")
    try await stage.parley.post(.block([BlockPattern(JID(juliet.address))]), by: romeo)
    #expect(await code { try await publish("c", by: juliet) } == Problem.unreachable.code)
    // It is the owner's room that is filled, and the owner's bound that holds.
    #expect(try await stage.parley.read { try $0.nodes(of: paris.id) } == [])
  }

  @Test func bookmarksLetNobodyIn() async throws {
    try await post(.create(node: Bookmark.node, []))
    for option in [NodeOption.publishers(.open), .access(.authorize)] {
      #expect(await code { try await post(.configure(node: Bookmark.node, [option])) } == "option-invalid")
    }
    for affiliation in [NodeAffiliation.member, .publisher] {
      #expect(
        await code { try await post(.affiliate(node: Bookmark.node, [juliet.address: affiliation])) }
          == "option-invalid")
    }
    #expect(await code { _ = try await subscribe(juliet, node: Bookmark.node) } == "closed-node")
    #expect(await code { try await publish("a@b", by: juliet, node: Bookmark.node) } == "not-yours")
  }

  // MARK: Bounds

  @Test func subscriptionsAreBounded() async throws {
    try await post(.create(node: "n", [.access(.open)]))
    for number in 0..<Limits.subscriptionsPerNodeMax {
      try await visit(.subscribe(try JID("paris@localhost/\(number)"), isPaused: nil), by: paris)
    }
    #expect(await code { _ = try await subscribe(paris) } == "too-many-subscriptions")
    #expect(try await subscribe(juliet) == .subscribed, "others can")
    let many = try (0...Limits.nodePeopleMax).map {
      (try BareJID("u\($0)@elsewhere.example"), NodeAffiliation?.some(.member))
    }
    #expect(
      await code { try await post(.affiliate(node: "n", Dictionary(uniqueKeysWithValues: many))) }
        == "too-many-affiliations")
    #expect(try await people().affiliations.isEmpty)
  }

  /// Whoever registers the address would find a power there that was meant for somebody else (8.9.2.4).
  @Test func anAddressWithoutAnAccountGetsNothingButABan() async throws {
    try await post(.create(node: "n", [.access(.authorize)]))
    let nobody = try BareJID("nobody@localhost")
    for affiliation in [NodeAffiliation.owner, .publisher, .publishOnly, .member] {
      let receipt = try await stage.parley.post(.node(.affiliate(node: "n", [nobody: affiliation])), by: romeo)
      #expect(receipt.value as? [BareJID: NodeAffiliation?] == [nobody: nil])
    }
    #expect(try await people().affiliations.isEmpty)
    try await post(.affiliate(node: "n", [nobody: .outcast, juliet.address: .member]))
    #expect(try await people().affiliations == [nobody: .outcast, juliet.address: .member])
    let newcomer = try await stage.user("nobody")
    #expect(await code { _ = try await subscribe(newcomer) } != nil)
  }

  /// A user whose node is open to all publishers still has room for their own keys.
  @Test func othersLeaveTheOwnerRoom() async throws {
    try await post(.create(node: "n", [.access(.open), .publishers(.open), .itemsMax(nil)]))
    func draft(_ id: String) -> NodePublication {
      let bytes = [UInt8](repeating: 32, count: Limits.itemBytesMax)
      return NodePublication(node: "n", item: NodePublication.Item(id: id, content: .opaque(bytes)))
    }
    let most = Limits.publishedWithOthersBytesMax / Limits.itemBytesMax
    for number in 0..<most { try await visit(.publish(draft("\(number)")), by: paris) }
    #expect(await code { try await visit(.publish(draft("more")), by: paris) } == Problem.publishedTooMuch.code)
    try await post(.publish(draft("mine")))
    try await visit(.publish(draft("0")), by: paris)
    let published = try await stage.parley.read { try $0.published(by: romeo.id, creator: nil) }
    #expect(published.bytes == (most + 1) * Limits.itemBytesMax)
  }

  /// Pairs of simultaneous requests: the order of the log decides.
  @Test func asksAndAnswersAtOnceEndAlike() async throws {
    try await post(.create(node: "n", [.access(.authorize)]))
    for _ in 0..<20 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { _ = try? await subscribe(paris) }
        group.addTask { _ = try? await subscribe(paris) }
        group.addTask { try await post(.subscribers(node: "n", [JID(paris.address): nil])) }
        group.addTask { try await post(.affiliate(node: "n", [paris.address: .outcast])) }
        group.addTask { try await publish("a") }
        try await group.waitForAll()
      }
      #expect(try await people().subscriptions == [])
      try await post(.affiliate(node: "n", [paris.address: nil]))
    }
  }
}
