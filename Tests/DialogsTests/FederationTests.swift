import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Synchronization
import Testing

@testable import Dialogs

/// Users of domains elsewhere, as a federation service reaches them.
@Suite struct FederationTests {
  /// A service that has a link to every domain but the refused ones.
  final class Service: FederationService {
    private let links = Mutex<[DomainPair: RecordingSession]>([:])
    private let refused: Set<String>
    let strangers: StrangerPolicy
    let rooms: RemoteRoomPolicy
    private let listed = Mutex<Set<BareJID>>([])
    private let anonymous = Mutex<Set<BareJID>>([])

    init(refusing refused: Set<String>, strangers: StrangerPolicy = .allow, rooms: RemoteRoomPolicy = .open) {
      self.refused = refused
      self.strangers = strangers
      self.rooms = rooms
    }

    func list(_ address: BareJID) { _ = listed.withLock { $0.insert(address) } }
    func anonymize(_ address: BareJID) { _ = anonymous.withLock { $0.insert(address) } }
    func isAnonymous(_ address: BareJID) -> Bool { anonymous.withLock { $0.contains(address) } }
    func isListed(_ address: BareJID) -> Bool { listed.withLock { $0.contains(address) } }

    func refusal(of domain: String, from local: String) -> Problem? {
      refused.contains(domain) ? Problem(.foreign, "domain-not-allowed", "\(domain) is not allowed.") : nil
    }

    func link(_ pair: DomainPair) -> (any LiveSession)? {
      if refused.contains(pair.remote) { return nil }
      return links.withLock { links in
        if let known = links[pair] { return known }
        guard let address = BareJID(parsing: pair.remote) else { return nil }
        let link = RecordingSession(Party(remote: address, realm: RealmID(-1)))
        links[pair] = link
        return link
      }
    }

    func hasLink(_ pair: DomainPair) -> Bool { links.withLock { $0[pair] != nil } }
    var pairs: Set<DomainPair> { Set(links.withLock { $0.keys }) }
    func heard(by local: String, _ remote: String) -> [Heard] {
      links.withLock { $0[DomainPair(local: local, remote: remote)] }?.taken() ?? []
    }
  }

  private func stage(
    domains: [String] = ["localhost"], refusing: Set<String> = [], strangers: StrangerPolicy = .allow
  ) throws -> (stage: Stage, service: Service) {
    let stage = try Stage(domains: domains)
    let service = Service(refusing: refusing, strangers: strangers)
    stage.parley.hub.setFederation(service)
    return (stage, service)
  }

  private func party(_ address: String, _ stage: Stage, realm: Int = 0) throws -> Party {
    let federated = stage.parley.federatedRealm(of: stage.parley.realms[realm].id)
    return Party(remote: try BareJID(address), realm: federated.id)
  }

  private func stored(_ party: Party, _ stage: Stage) async throws -> User? {
    try await stage.parley.read { try $0.user(party.address, seenFrom: party.realm) }
  }

  @Test func withoutTheServiceEveryDomainElsewhereIsRefusedAsBefore() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let juliet = try party("juliet@capulet.example", stage)
    let refusal = await #expect(throws: Problem.self) { try await stage.say("hi", from: romeo, to: juliet) }
    #expect(
      refusal
        == Problem(
          .foreign, "domain-not-served", "capulet.example is not served here, and this server does not federate."))
    #expect(stage.parley.remote(domain: "capulet.example", reachedFrom: romeo.realm) == nil)
    #expect(try await stored(juliet, stage) == nil)
  }

  @Test func aUserElsewhereIsARowUnderTheWholeAddress() async throws {
    let (stage, service) = try stage()
    let romeo = try await stage.user("romeo")
    let juliet = try party("juliet@capulet.example", stage)
    let first = try await stage.say("hi", from: romeo, to: juliet, resource: "balcony")
    #expect(service.heard(by: "localhost", "capulet.example") == [.owed("hi")])
    let made = try #require(try await stored(juliet, stage))
    #expect(made.name == "juliet@capulet.example")
    #expect(made.address == juliet.address)
    #expect(made.id.number > 0)
    let session = try await stage.session(romeo, "orchard")
    let second = try await stage.say("hello", from: juliet, to: romeo)
    #expect(session.taken() == [.said("hello", .direct)])
    #expect(second.entry?.dialog == first.entry?.dialog)
    #expect(second.entry?.author.id == made.id)
    // Neither a list of users nor the address's own domain has them.
    let (listed, atDomain, count) = try await stage.parley.read { reader in
      (
        try reader.users(in: romeo.realm, matching: nil, after: nil, limit: 10).map(\.name),
        try reader.user(juliet.address), try reader.userCount(in: romeo.realm)
      )
    }
    #expect(listed == ["romeo"])
    #expect(atDomain == nil)
    #expect(count == 1)
  }

  @Test func anAddressIsAnotherUserForEachHome() async throws {
    let (stage, service) = try stage(domains: ["localhost", "mantua.localhost"])
    let romeo = try await stage.user("romeo")
    let (realm, now) = (stage.parley.realms[1], stage.clock.now)
    let balthasar = try await stage.parley.work { writer in
      try writer.insertUser(
        try BareJID("balthasar@mantua.localhost"), in: realm.id, profile: Profile(), createdAt: now
      ).party
    }
    let (here, there) = (
      try party("juliet@capulet.example", stage), try party("juliet@capulet.example", stage, realm: 1)
    )
    let one = try await stage.say("to you", from: romeo, to: here)
    let other = try await stage.say("to you too", from: balthasar, to: there)
    #expect(one.entry?.dialog != other.entry?.dialog)
    let (first, second) = (try await stored(here, stage), try await stored(there, stage))
    #expect(first?.id != second?.id)
    #expect(first?.name == second?.name)
    #expect(
      service.pairs == [
        DomainPair(local: "localhost", remote: "capulet.example"),
        DomainPair(local: "mantua.localhost", remote: "capulet.example"),
      ])
  }

  /// What one realm of a process says to another goes over a link, even while both users are connected.
  @Test func anotherRealmOfTheServerIsElsewhere() async throws {
    let (stage, service) = try stage(domains: ["localhost", "mantua.localhost"])
    let romeo = try await stage.user("romeo")
    let (realm, now) = (stage.parley.realms[1], stage.clock.now)
    let balthasar = try await stage.parley.work { writer in
      try writer.insertUser(
        try BareJID("balthasar@mantua.localhost"), in: realm.id, profile: Profile(), createdAt: now
      ).party
    }
    let session = try await stage.session(balthasar, "stable")
    let sender = try await stage.session(romeo, "orchard")
    _ = try await stage.say("come", from: romeo, to: balthasar)
    let state = RelayedStanza(
      name: .message(.chat), from: romeo, fromResource: nil, to: balthasar.address, toResource: nil, id: nil,
      extras: [])
    stage.parley.hub.signal(.stanza(state), from: sender, party: romeo, to: .user(balthasar.address, resource: nil))
    stage.parley.hub.direct(stage.presence(sender), of: sender, to: balthasar.address, resource: nil)
    #expect(session.taken() == [])
    #expect(
      service.heard(by: "localhost", "mantua.localhost") == [
        .owed("come"), .relayed(.direct), .presence("romeo/r to balthasar@mantua.localhost", .online),
      ])
    // The other side is a post of a user elsewhere.
    _ = try await stage.say("come", from: try party("romeo@localhost", stage, realm: 1), to: balthasar)
    #expect(session.taken() == [.said("come", .direct)])
  }

  @Test func aRefusedDomainSaysWhyBothWays() async throws {
    let (stage, _) = try stage(refusing: ["spam.example"])
    let romeo = try await stage.user("romeo")
    let spammer = try party("spammer@spam.example", stage)
    let refusal = await #expect(throws: Problem.self) { try await stage.say("hi", from: romeo, to: spammer) }
    #expect(refusal?.code == "domain-not-allowed")
    await #expect(throws: Problem.self) {
      try await stage.parley.post(.subscription(.subscribe, to: spammer.address, stanza: nil), by: romeo)
    }
    await #expect(throws: Problem.self) { try await stage.say("buy", from: spammer, to: romeo) }
    #expect(try await stored(spammer, stage) == nil)
    // What was before can be ended.
    _ = try await stage.parley.post(.subscription(.unsubscribed, to: spammer.address, stanza: nil), by: romeo)
  }

  @Test func ownServicesAreNotElsewhere() async throws {
    let (stage, service) = try stage()
    let romeo = try await stage.user("romeo")
    for domain in ["conference.localhost", "pubsub.localhost", "localhost"] {
      #expect(stage.parley.remote(domain: domain, reachedFrom: romeo.realm) == nil)
      #expect(stage.parley.hub.link(from: "localhost", to: try BareJID("x@\(domain)")) == nil)
    }
    #expect(stage.parley.hub.link(from: "conference.localhost", to: try BareJID("capulet.example")) != nil)
    #expect(stage.parley.hub.link(from: "stranger.example", to: try BareJID("capulet.example")) == nil)
    #expect(service.pairs == [DomainPair(local: "conference.localhost", remote: "capulet.example")])
  }

  @Test func contactsOfAPairAreToldThatTheyAreOffline() async throws {
    let (stage, service) = try stage()
    let romeo = try await stage.user("romeo")
    let session = try await stage.session(romeo, "orchard")
    for address in ["juliet@capulet.example", "paris@verona.example"] {
      let contact = try party(address, stage)
      try await stage.parley.post(.subscription(.subscribe, to: contact.address, stanza: nil), by: romeo)
      try await stage.parley.post(.subscription(.subscribed, to: romeo.address, stanza: nil), by: contact)
    }
    _ = session.taken()
    let now = stage.clock.now
    func end(_ pair: DomainPair, isFirst: Bool) {
      guard var departure = stage.parley.hub.departure(of: pair, isFirst: isFirst, time: now) else { return }
      while !departure.isOver { stage.parley.goOn(&departure) }
    }
    end(DomainPair(local: "conference.localhost", remote: "capulet.example"), isFirst: true)
    #expect(session.taken() == [])
    end(DomainPair(local: "localhost", remote: "sub.capulet.example"), isFirst: true)
    #expect(session.taken() == [])
    let pair = DomainPair(local: "localhost", remote: "capulet.example")
    // At first it is not known who was shown before a restart.
    end(pair, isFirst: true)
    #expect(session.taken() == [.presence("juliet@capulet.example/", .offline)])
    end(pair, isFirst: false)
    #expect(session.taken() == [])
    // Once it can be reached again, the presence of its people is requested, and that of nobody else.
    for domain in ["capulet.example", "verona.example"] { _ = service.heard(by: "localhost", domain) }
    func back(_ pair: DomainPair) {
      var back = stage.parley.hub.beginReturn(of: pair)
      while !back.isOver { stage.parley.hub.goOn(&back) }
    }
    back(DomainPair(local: "conference.localhost", remote: "capulet.example"))
    #expect(service.heard(by: "localhost", "capulet.example") == [])
    back(pair)
    #expect(service.heard(by: "localhost", "capulet.example") == [.relayed(.direct)])
    #expect(service.heard(by: "localhost", "verona.example") == [])
    // The end of the subscription is the end of both.
    let juliet = try party("juliet@capulet.example", stage)
    try await stage.parley.post(.subscription(.unsubscribed, to: romeo.address, stanza: nil), by: juliet)
    #expect(stage.parley.hub.viewers(at: "capulet.example") == [])
    #expect(stage.parley.hub.viewers(at: "verona.example") == [romeo.id])
  }

  @Test func theContactsOfADomainThatReturnsAreAskedForInPieces() async throws {
    let (stage, service) = try stage()
    let contacts = try (0..<18).map { try party("c\($0)@capulet.example", stage) }
    var sessions: [RecordingSession] = []
    for number in 0..<15 {
      let user = try await stage.user("user\(number)")
      sessions.append(try await stage.session(user, "orchard"))
      for contact in contacts {
        try await stage.parley.post(.subscription(.subscribe, to: contact.address, stanza: nil), by: user)
        try await stage.parley.post(.subscription(.subscribed, to: user.address, stanza: nil), by: contact)
      }
    }
    let pair = DomainPair(local: "localhost", remote: "capulet.example")
    _ = service.heard(by: "localhost", "capulet.example")
    var back = stage.parley.hub.beginReturn(of: pair)
    stage.parley.hub.goOn(&back)
    // The users count as well: the contacts of 13 users, and a part of those of one more.
    #expect(!back.isOver && back.viewers.count == 1 && back.unasked.count == 10)
    #expect(service.heard(by: "localhost", "capulet.example").count == 14)
    stage.parley.hub.goOn(&back)
    #expect(back.isOver)
    #expect(service.heard(by: "localhost", "capulet.example").count == 2)
    withExtendedLifetime(sessions) {}
  }

  /// A domain that goes again and again costs what its people have shown, in pieces.
  @Test func whoHasShownThemselvesIsShownAsOfflineInPiecesAtTheDomainsCost() async throws {
    let (stage, _) = try stage()
    let romeo = try await stage.user("romeo")
    var sessions: [RecordingSession] = []
    for number in 0..<16 { sessions.append(try await stage.session(romeo, "r\(number)")) }
    let contacts = try (0..<18).map { try party("c\($0)@capulet.example", stage) }
    let pair = DomainPair(local: "localhost", remote: "capulet.example")
    let hub = stage.parley.hub
    func present(_ contact: Party) {
      let shown = Presence(from: contact, resource: "x", availability: .online, time: stage.clock.now)
      #expect(hub.present(shown, to: romeo.address))
    }
    for contact in contacts {
      try await stage.parley.post(.subscription(.subscribe, to: contact.address, stanza: nil), by: romeo)
      try await stage.parley.post(.subscription(.subscribed, to: romeo.address, stanza: nil), by: contact)
      present(contact)
    }
    stage.clock.set(stage.clock.now.milliseconds + 3_600_000)
    let now = stage.clock.now
    let budget = stage.parley.sending.budget(of: .domain("capulet.example"), now: now)
    #expect(budget.isFull(now: now))
    var departure = try #require(hub.departure(of: pair, isFirst: false, time: now))
    #expect(departure.contacts.count == 18 && departure.viewers.isEmpty)
    stage.parley.goOn(&departure)
    // A contact is one look and one for the user, and has sixteen deliveries.
    #expect(departure.contacts.count == 18 - (Limits.departureStep + 17) / 18)
    #expect(!budget.isFull(now: now))
    // Somebody who comes back between two pieces stays.
    let back = try #require(departure.contacts.first)
    present(try #require(contacts.first { $0.address == back }))
    while !departure.isOver { stage.parley.goOn(&departure) }
    #expect(contacts.filter { hub.presence(of: $0.address, toldTo: romeo.address) != nil }.map(\.address) == [back])
    // Of those who are shown as offline nothing is sent again.
    departure = try #require(hub.departure(of: pair, isFirst: false, time: now))
    #expect(departure.contacts == [back])
    withExtendedLifetime(sessions) {}
  }

  // MARK: Rooms

  @Test func aUserElsewhereIsIntroducedAndThenEnters() async throws {
    let (stage, _) = try stage()
    let (romeo, _, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, RoomSettings.group.with { $0.isMembersOnly = false })
    let seats = try await stage.seats(room, romeo)
    let mercutio = try party("mercutio@verona.example", stage)
    // Without a stored id nobody enters: it would be another one after a restart.
    await #expect(throws: Problem.notIntroduced) { try await stage.enter(room, RecordingSession(mercutio), "Mercutio") }
    let introduced = try await stage.parley.post(
      .room(.introduce(.address(room.address), password: nil)), by: mercutio)
    let known = try #require(introduced.value as? Party)
    #expect(known.address == mercutio.address)
    #expect(!known.isProvisional)
    let session = RecordingSession(known)
    let entered = try #require(try await stage.enter(room, session, "Mercutio"))
    #expect(entered.others.map(\.nick) == ["romeo"])
    try await stage.say("a plague", in: room, by: session)
    #expect(seats[0].taken().contains(.said("a plague", .room)))
    #expect(session.taken().contains(.said("a plague", .room)))
    // An admin makes them a member, and nothing of that is in a feed that nobody reads.
    try await stage.affiliate(known, .member, in: room, by: romeo)
    #expect(try await stage.member(known, of: room)?.affiliation == .member)
    let feed = try await stage.parley.read { try $0.feed(of: known.id, after: .zero, limit: 10).count }
    #expect(feed == 0)
    // A second introduction is the same user.
    let again = try await stage.parley.post(
      .room(.introduce(.address(room.address), password: nil)), by: mercutio)
    #expect((again.value as? Party)?.id == known.id)
  }

  @Test func whoMayNotEnterIsNotStored() async throws {
    let (stage, _) = try stage()
    let (romeo, _, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, RoomSettings.group.with { $0.isMembersOnly = true })
    let mercutio = try party("mercutio@verona.example", stage)
    await #expect(throws: Problem.roomMembersOnly) {
      try await stage.parley.post(.room(.introduce(.address(room.address), password: nil)), by: mercutio)
    }
    #expect(try await stored(mercutio, stage) == nil)
    // An admin may name whom nobody has met.
    try await stage.affiliate(mercutio, .member, in: room, by: romeo)
    let known = try #require(try await stored(mercutio, stage)).party
    #expect(try await stage.member(known, of: room)?.affiliation == .member)
    let introduced = try await stage.parley.post(
      .room(.introduce(.address(room.address), password: nil)), by: mercutio)
    #expect((introduced.value as? Party)?.id == known.id)
  }

  @Test func nobodyElsewhereMakesRooms() async throws {
    let (stage, _) = try stage()
    let romeo = try await stage.user("romeo")
    let mercutio = try party("mercutio@verona.example", stage)
    _ = try await stage.say("hi", from: romeo, to: mercutio)
    let known = try #require(try await stored(mercutio, stage)).party
    let session = RecordingSession(known)
    await #expect(throws: Problem.roomUnknown) {
      try await stage.act(
        .enter(.address(try BareJID("new@conference.localhost")), stage.entering(session, "Mercutio")), by: session)
    }
    await #expect(throws: Problem.self) {
      try await stage.parley.post(.room(.create(RoomDraft(settings: .group))), by: known)
    }
  }

  // MARK: Bounds

  @Test func aDomainMakesNoMoreUsersThanItsBound() async throws {
    let (stage, _) = try stage()
    let romeo = try await stage.user("romeo")
    for number in 0..<Limits.strangersPerDomainPerHour {
      _ = try await stage.say("buy", from: try party("bot\(number)@spam.example", stage), to: romeo)
    }
    let late = try party("late@spam.example", stage)
    let refusal = await #expect(throws: Problem.self) { try await stage.say("buy", from: late, to: romeo) }
    #expect(refusal?.code == "too-many-strangers")
    #expect((1...3600).contains(refusal?.retryAfter ?? 0))
    #expect(try await stored(late, stage) == nil)
    // Who is known is heard, and so are other domains; in the next hour the domain is, too.
    _ = try await stage.say("buy more", from: try party("bot0@spam.example", stage), to: romeo)
    _ = try await stage.say("good day", from: try party("juliet@capulet.example", stage), to: romeo)
    stage.clock.set(stage.clock.now.milliseconds + 3_600_000)
    _ = try await stage.say("buy", from: late, to: romeo)
  }

  /// Each costs a link and a stream, and no post counts them.
  @Test func aUserReachesSoManyNewDomainsByWhatIsNotStored() async throws {
    let (stage, service) = try stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let hub = stage.parley.hub
    for number in 0..<Limits.newDomainsPerUser.burst {
      let address = try BareJID("s\(number).evil.example")
      #expect(hub.problem(reaching: address, by: romeo) == nil)
      _ = service.link(DomainPair(local: "localhost", remote: address.domain))
    }
    let (first, next) = (try BareJID("s0.evil.example"), try BareJID("next.example"))
    let refusal = hub.problem(reaching: next, by: romeo)
    #expect(refusal?.code == "too-many-new-domains" && refusal?.retryAfter == 10)
    let question = RelayedStanza(
      name: .iq("get"), from: romeo, fromResource: "r", to: next, toResource: nil, id: "1", extras: [])
    let posted = await #expect(throws: Problem.self) {
      try await stage.parley.post(.signal(.stanza(question), to: .user(next, resource: nil)), by: romeo)
    }
    #expect(posted?.code == "too-many-new-domains")
    // Domains with a link cost nothing, and each user has a pace of their own.
    #expect(hub.problem(reaching: first, by: romeo) == nil)
    #expect(hub.problem(reaching: next, by: juliet) == nil)
    stage.clock.set(stage.clock.now.milliseconds + 10_000)
    #expect(hub.problem(reaching: next, by: romeo) == nil)
    #expect(hub.problem(reaching: next, by: romeo) != nil)
  }

  @Test func aNewAccountWritesToFewNewAddresses() async throws {
    let (stage, _) = try stage()
    let romeo = try await stage.user("romeo")
    for number in 0..<Limits.addressesPerYoungAccount {
      _ = try await stage.say("hi", from: romeo, to: try party("x\(number)@capulet.example", stage))
    }
    let next = try party("next@capulet.example", stage)
    let refusal = await #expect(throws: Problem.self) { try await stage.say("hi", from: romeo, to: next) }
    #expect(refusal?.code == "too-many-new-addresses")
    _ = try await stage.say("hi again", from: romeo, to: try party("x0@capulet.example", stage))
    stage.clock.set(stage.clock.now.milliseconds + 86_400_000)
    for number in 0..<(Limits.addressesPerYoungAccount + 1) {
      _ = try await stage.say("hi", from: romeo, to: try party("y\(number)@capulet.example", stage))
    }
  }
}
