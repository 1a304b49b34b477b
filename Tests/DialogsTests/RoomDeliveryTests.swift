import Addresses
import Basics
import DialogsFixtures
import Synchronization
import Testing

@testable import Dialogs

/// What everybody in a large room is told of is charged to its author, and what changes who is there has a pace.
@Suite struct RoomDeliveryTests {
  /// 250 deliveries a second and 1,000 at once.
  private var slow: SendingPolicy {
    var policy = SendingPolicy()
    policy.stanzasPerSecond = 1
    return policy
  }

  /// A room with so many sessions of as many users, of whom the first is its owner.
  private func largeRoom(
    of count: Int, on stage: Stage, _ name: String = "verona"
  ) async throws -> (room: RoomName, sessions: [RecordingSession]) {
    let people = try await [stage.user("owner-of-\(name)")] + stage.crowd(count - 1, "\(name)-")
    let room = try await stage.room(name, by: people[0], .open)
    let sessions = people.map { RecordingSession($0) }
    for session in sessions { try await stage.enter(room, session) }
    for session in sessions { _ = session.taken() }
    return (room, sessions)
  }

  private func budget(_ session: RecordingSession, on stage: Stage) -> SendingBudget {
    stage.parley.sending.budget(of: session.party, from: nil, now: stage.clock.now)
  }

  @Test func aMessageIsChargedByTheSessionsInTheRoom() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let (owner, other) = (sessions[0], sessions[1])
    for number in 0..<10 { try await stage.say("\(number)", in: room, by: owner) }
    #expect(budget(owner, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == nil)
    // By its id as well as by its address.
    try await stage.say("ten", in: room, by: owner.party)
    #expect(budget(owner, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(400))
    // Nothing of it was held back, and nobody else pays for it.
    #expect(sessions[99].effects().count == 11)
    #expect(budget(other, on: stage).isFull(now: stage.clock.now))
    // A change of two people's affiliations is told twice, with an entry and a notice.
    let drafts = sessions[2...3].map { MemberDraft(address: $0.party.address, affiliation: Affiliation.member) }
    try await stage.act(.members(.address(room.address), drafts), by: owner)
    #expect(budget(owner, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(2_000))
  }

  /// Who is in a large room is as much work for the committer as a message to all of them.
  @Test func aListOfALargeRoomIsCharged() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let (one, other) = (sessions[1], sessions[2])
    for _ in 0..<10 { #expect(try await stage.nicks(room, for: one.party).count == 100) }
    #expect(budget(one, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == nil)
    try await stage.act(.probe(.address(room.address), nick: nil), by: one)
    #expect(budget(one, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(400))
    // Few of them, one of them, and their number are not.
    let few = try await stage.act(.occupants(.address(room.address), atMost: 10), by: other).value as? Occupancy
    #expect(few?.occupants.count == 10 && few?.count == 100)
    let place = try await stage.act(.place(.address(room.address)), by: other).value as? Occupancy
    #expect(place?.occupants.isEmpty == true && place?.count == 100)
    try await stage.act(.probe(.address(room.address), nick: one.party.name), by: other)
    #expect(budget(other, on: stage).isFull(now: stage.clock.now))
    // The room is not charged for what it does not deliver.
    let share = stage.parley.sending.budget(of: SendingAccount.room(room.address), now: stage.clock.now)
    #expect(share.isFull(now: stage.clock.now))
  }

  /// Each person whom a stanza changes costs others as much as a stanza of its own.
  @Test func aChangeOfManyPeopleIsChargedAsManyStanzas() async throws {
    let stage = try Stage(sending: slow)
    let owner = try await stage.user("owner")
    let room = try await stage.room(by: owner)
    let session = try await stage.seats(room, owner)[0]
    let people = try await stage.crowd(8)
    func change(_ affiliation: Affiliation) async throws {
      try await stage.act(
        .members(.address(room.address), people.map { MemberDraft(address: $0.address, affiliation: affiliation) }),
        by: session)
    }
    // Five stanzas at once and one a second; the connection has charged one.
    #expect(budget(session, on: stage).charge(stanzas: 1, bytes: 0, now: stage.clock.now) == nil)
    try await change(.member)
    #expect(budget(session, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(3_000))
    stage.clock.set(stage.clock.now.milliseconds + 10_000)
    // An app that names more than there can ever be owes the others.
    let (own, now) = (budget(session, on: stage), stage.clock.now)
    try own.take(messages: 8, now: now)
    #expect(throws: Problem.self) { try own.take(messages: 1, now: now + .milliseconds(3_900)) }
    try own.take(messages: 1, now: now + .milliseconds(4_100))
    // What a backend does is not charged to a user.
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    let drafts = people.map { MemberDraft(address: $0.address, affiliation: Affiliation.none) }
    let post = Post(
      author: owner, intent: .room(.members(.address(room.address), drafts)),
      completion: .session(session, token: session.nextToken()))
    #expect(stage.parley.submit(post, isFromBackend: true))
    try await stage.settle(owner)
    #expect(budget(session, on: stage).charge(stanzas: 5, bytes: 0, now: stage.clock.now) == nil)
  }

  /// Many who flood one room take no more than its share: it refuses what is beyond. Exits and entrances it takes, and other
  /// rooms hear everything.
  @Test func manyInOneRoomTakeNoMoreThanItsShare() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    // 1,000 deliveries at once and 500 a second: 250 may be owed.
    for session in sessions.prefix(13) { try await stage.say("flood", in: room, by: session) }
    let refused = try await problem { try await stage.say("flood", in: room, by: sessions[13]) }
    #expect(refused?.code == "deliveries-too-fast" && refused?.retryAfter == 1)
    // A refused post costs nothing; its author waits for what the room may owe.
    #expect(budget(sessions[13], on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(500))
    #expect(budget(sessions[20], on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == nil)
    #expect(sessions[99].effects().filter { $0 == .said("flood", .room) }.count == 13)
    try await stage.act(.exit(.address(room.address), nil), by: sessions[98])
    try await stage.enter(room, sessions[98])
    let (hall, others) = try await largeRoom(of: Limits.fanOutMin, on: stage, "hall")
    try await stage.say("calm", in: hall, by: others[1])
    #expect(others[2].effects().contains(.said("calm", .room)))
    stage.clock.set(stage.clock.now.milliseconds + 200)
    try await stage.say("goes on", in: room, by: sessions[14])
  }

  /// Many who flood many rooms, each within all bounds, hold up these rooms alone.
  @Test func manyInManyRoomsHoldUpOnlyThese() async throws {
    let stage = try Stage()
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let (hall, others) = try await largeRoom(of: Limits.fanOutMin, on: stage, "hall")
    let load = stage.parley.registries.fanOutLoad
    #expect(load.total == 0)
    // As if the event loops had not come to so many deliveries yet.
    load.add(Limits.fanOutLoadMax, of: room.dialog, by: sessions[3].party.address)
    try await stage.say("one", in: room, by: sessions[1])
    #expect(load.total == Limits.fanOutLoadMax)
    load.add(1, of: room.dialog, by: sessions[3].party.address)
    let refused = try await problem { try await stage.say("two", in: room, by: sessions[1]) }
    #expect(refused?.code == "deliveries-too-fast" && refused?.retryAfter == 1)
    #expect(budget(sessions[1], on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(500))
    try await stage.say("calm", in: hall, by: others[1])
    #expect(others[2].effects().contains(.said("calm", .room)))
    // Those who look after the room are not held up, and it is listed.
    try await stage.role(sessions[1].party.name, .none, in: room, by: sessions[0])
    let bound = stage.parley.sending.bound(now: stage.clock.now).map(\.account)
    #expect(bound.contains(.room(room.address)))
    load.add(-Limits.fanOutLoadMax - 1, of: room.dialog, by: sessions[3].party.address)
    #expect(load.total == 0)
    try await stage.say("three", in: room, by: sessions[2])
    #expect(load.total == 0)
  }

  /// One who posts in many rooms waits alone, whoever else is in these rooms.
  @Test func oneInManyRoomsIsHeldUpAlone() async throws {
    let stage = try Stage()
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let (hall, others) = try await largeRoom(of: Limits.fanOutMin, on: stage, "hall")
    let load = stage.parley.registries.fanOutLoad
    let (flooder, other) = (sessions[1], sessions[2])
    try await stage.enter(hall, flooder)
    let each = Limits.fanOutLoadMax / 50
    for number in 0..<50 { load.add(each, of: DialogID(Int64(1_000 + number)), by: flooder.party.address) }
    load.add(each + 100, of: room.dialog, by: other.party.address)
    for place in [room, hall] {
      let refused = try await problem { try await stage.say("more", in: place, by: flooder) }
      #expect(refused?.code == "deliveries-too-fast" && refused?.retryAfter == 1)
    }
    #expect(
      budget(flooder, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(500))
    try await stage.say("calm", in: room, by: other)
    try await stage.say("calm", in: hall, by: others[1])
    #expect(others[2].effects().contains(.said("calm", .room)))
    // It is the author who is listed, and neither of the rooms.
    let bound = stage.parley.sending.bound(now: stage.clock.now).map(\.account)
    #expect(bound == [.user(flooder.party)])
    for number in 0..<50 { load.add(-each, of: DialogID(Int64(1_000 + number)), by: flooder.party.address) }
    load.add(-each - 100, of: room.dialog, by: other.party.address)
    #expect(load.total == 0)
    try await stage.say("again", in: room, by: flooder)
    #expect(load.total == 0)
  }

  /// Those who look after a room can end a flood, and whoever leaves is not kept.
  @Test func aFloodedRoomTakesKicksBansAndSettings() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let (owner, member) = (sessions[0], sessions[5])
    try await stage.affiliate(member.party, .member, in: room, by: owner.party)
    for session in sessions[1...11] { try await stage.say("flood", in: room, by: session) }
    let newcomer = sessions[20].party
    let refused = try await problem { try await stage.affiliate(newcomer, .member, in: room, by: owner.party) }
    #expect(refused?.code == "deliveries-too-fast")
    try await stage.role(sessions[1].party.name, .none, in: room, by: owner)
    try await stage.affiliate(sessions[2].party, .outcast, in: room, by: owner.party)
    try await stage.act(.configure(.address(room.address), SettingsDraft { $0.about = "calm" }), by: owner)
    try await stage.affiliate(member.party, .none, in: room, by: member.party)
    let nicks = try await stage.nicks(room, for: owner.party)
    #expect(!nicks.contains(sessions[1].party.name) && !nicks.contains(sessions[2].party.name))
    // They are charged, too, and nobody else is let in by them.
    #expect(!budget(owner, on: stage).isFull(now: stage.clock.now))
    let another = try await problem { try await stage.role(sessions[4].party.name, .none, in: room, by: sessions[3]) }
    #expect(another != nil && another?.code != "deliveries-too-fast")
  }

  /// So can those who retract what others have said, or take somebody's voice by the app, also right after they have spoken.
  @Test func aFloodedRoomTakesRetractionsByModerators() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let (owner, admin, member) = (sessions[0], sessions[20], sessions[21])
    let drafts = [(admin, Affiliation.admin), (member, Affiliation.member)].map {
      MemberDraft(address: $0.0.party.address, affiliation: $0.1)
    }
    try await stage.act(.members(.address(room.address), drafts), by: owner)
    var said: [Entry] = []
    for session in sessions[1...9] {
      said.append(try #require(try await stage.say("flood", in: room, by: session).entry))
    }
    /// As XMPP clients (XEP-0425) and the app ask for it.
    func retraction(of entry: Entry, _ kind: Reference.Kind = .moderation(reason: nil)) -> RoomIntent {
      .say(
        .address(room.address),
        RoomMessageDraft(
          content: Content(kind: .none), envelope: Envelope(type: .groupchat), traits: [.archived, .fromApp], key: nil,
          reference: ReferenceDraft(kind: kind, target: .entry(entry.id))))
    }
    try await stage.act(retraction(of: said[0]), by: admin)
    try await stage.affiliate(member.party, .watcher, in: room, by: admin.party)
    // The admin does not wait for the room.
    #expect(budget(admin, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == nil)
    let refused = try await problem { try await stage.say("stop", in: room, by: owner) }
    #expect(refused?.code == "deliveries-too-fast")
    let now = stage.clock.now
    #expect(throws: Problem.self) { try budget(owner, on: stage).take(messages: 1, now: now) }
    #expect(throws: Problem.self) { try budget(owner, on: stage).take(now: now) }
    try budget(owner, on: stage).take(now: now, waitsForRooms: false)
    try await stage.act(retraction(of: said[1]), by: owner.party)
    for entry in said[0...1] {
      let retracted = try await stage.parley.read { try $0.entry(entry.position, in: .server(room.dialog, .rules)) }
      #expect(retracted?.state?.retraction?.isModeration == true)
    }
    #expect(try await stage.member(member.party, of: room)?.affiliation == .watcher)
    // What everybody may do waits: the retraction of one's own message, another nick, and what only looks like a retraction.
    let own = try await problem {
      try await stage.act(retraction(of: said[2], .retraction(reason: nil)), by: sessions[3])
    }
    #expect(own?.code == "deliveries-too-fast")
    let nick = MemberDraft(address: member.party.address, affiliation: Affiliation.watcher, nick: "another")
    let renamed = try await problem { try await stage.act(.members(.address(room.address), [nick]), by: member) }
    #expect(renamed?.code == "deliveries-too-fast")
    let foreign = try await problem { try await stage.act(retraction(of: said[2]), by: sessions[4]) }
    #expect(foreign?.code == "message-foreign")
  }

  /// Their own share is all that a moderator elsewhere waits for.
  @Test func aModeratorElsewhereDoesNotWaitForAFloodedRoom() async throws {
    let stage = try Stage(sending: slow)
    stage.parley.hub.setFederation(FederationTests.Service(refusing: [], rooms: .open))
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let realm = stage.parley.federatedRealm(of: stage.parley.realms[0].id).id
    let mercutio = Party(remote: try BareJID("mercutio@mantua.example"), realm: realm)
    let known = try #require(
      try await stage.act(.introduce(.address(room.address), password: nil), by: mercutio).value as? Party)
    let session = RecordingSession(known)
    try await stage.enter(room, session, "mercutio")
    try await stage.role("mercutio", .moderator, in: room, by: sessions[0])
    for flooder in sessions[1...12] { try await stage.say("flood", in: room, by: flooder) }
    for _ in 0..<2 {
      let refused = try await problem { try await stage.say("stop", in: room, by: session) }
      #expect(refused?.code == "deliveries-too-fast")
    }
    try await stage.role(sessions[5].party.name, .none, in: room, by: session)
    #expect(try await !stage.nicks(room, for: sessions[0].party).contains(sessions[5].party.name))
  }

  /// Who may not speak there cannot use up what its people may cause.
  @Test func whatARoomRefusesIsNotOfItsShare() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let stranger = RecordingSession(try await stage.user("stranger"))
    for _ in 0..<20 { #expect(try await problem { try await stage.say("flood", in: room, by: stranger) } != nil) }
    let share = stage.parley.sending.budget(of: SendingAccount.room(room.address), now: stage.clock.now)
    #expect(share.isFull(now: stage.clock.now))
    try await stage.say("one", in: room, by: sessions[1])
    #expect(!share.isFull(now: stage.clock.now))
  }

  /// So is what a user's contacts are told.
  @Test func aProfileIsChargedByThoseWhoSeeIt() async throws {
    let stage = try Stage(sending: slow)
    let juliet = try await stage.user("juliet")
    for friend in try await stage.crowd(Limits.fanOutMin) {
      try await stage.parley.post(.link(friend.address, name: nil, groups: nil, mutual: true), by: juliet)
    }
    let session = try await stage.session(juliet, "balcony")
    for number in 0..<15 {
      try await stage.parley.post(.profile(ProfileDraft(displayName: "Juliet \(number)")), by: juliet)
    }
    #expect(budget(session, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == nil)
    for number in 15..<17 {
      try await stage.parley.post(.profile(ProfileDraft(displayName: "Juliet \(number)")), by: juliet)
    }
    #expect(budget(session, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(352))
  }

  /// An app is in the rooms of its user whenever it is connected: what they are told of that is charged, and not told
  /// while more is owed.
  @Test func anAppThatComesIsCharged() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let member = try await stage.user("member")
    try await stage.affiliate(member, .member, in: room, by: sessions[0].party)
    let budget = stage.parley.sending.budget(of: member, from: nil, now: stage.clock.now)
    func connect(_ number: Int) async throws -> RecordingSession {
      try await stage.session(member, "phone\(number)", door: .app, priority: nil)
    }
    #expect(budget.isFull(now: stage.clock.now))
    // With their ends.
    for number in 0..<6 {
      #expect(!budget.owesDeliveries(now: stage.clock.now) || number == 5)
      let session = try await connect(number)
      stage.parley.vacate(member, session: session.id)
    }
    #expect(budget.owesDeliveries(now: stage.clock.now))
    let hidden = try await connect(6)
    #expect(try await !stage.nicks(room, for: sessions[0].party).contains("member"))
    try await stage.say("one", in: room, by: sessions[0])
    #expect(hidden.effects().contains(.said("one", .feedAnonymized)))
    stage.clock.set(stage.clock.now.milliseconds + 4_000)
    _ = try await connect(7)
    #expect(try await stage.nicks(room, for: sessions[0].party).contains("member"))
  }

  /// What all users of a domain elsewhere may cause is not used up by one of them.
  @Test func aPersonElsewhereIsRefusedBeforeTheirDomainWaits() async throws {
    let stage = try Stage(sending: slow)
    stage.parley.hub.setFederation(FederationTests.Service(refusing: [], rooms: .open))
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let realm = stage.parley.federatedRealm(of: stage.parley.realms[0].id).id
    let mercutio = Party(remote: try BareJID("mercutio@mantua.example"), realm: realm)
    let known = try #require(
      try await stage.act(.introduce(.address(room.address), password: nil), by: mercutio).value as? Party)
    let session = RecordingSession(known)
    try await stage.enter(room, session, "mercutio")
    // The entrance was charged twice.
    for number in 0..<8 { try await stage.say("\(number)", in: room, by: session) }
    let refused = try await problem { try await stage.say("eight", in: room, by: session) }
    #expect(refused?.code == "deliveries-too-fast" && refused?.retryAfter == 1)
    let domain = stage.parley.sending.budget(of: .domain("mantua.example"), now: stage.clock.now)
    #expect(domain.charge(stanzas: 0, bytes: 0, now: stage.clock.now) == nil)
    #expect(!domain.isFull(now: stage.clock.now))
    // Leaving is not refused.
    try await stage.act(.exit(.address(room.address), nil), by: session)
    #expect(try await !stage.nicks(room, for: sessions[0].party).contains("mercutio"))
  }

  /// What a component does in users' names waits for the share of the user alone, and that of others is as it was.
  @Test func aUserOfAGatewayIsHeldUpAlone() async throws {
    let stage = try Stage(remotes: ["irc.localhost"])
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let realm = try #require(stage.parley.remote(domain: "irc.localhost"))
    let component = Party(remote: try BareJID("irc.localhost"), realm: realm.id)
    stage.parley.grant(["irc.localhost": Privileges(requests: ["room": .set])])
    func say(_ text: String, for session: RecordingSession) async throws {
      let result: Result<Receipt, Problem> = await withCheckedContinuation { continuation in
        let post = Post(
          author: component, intent: .room(.say(.address(room.address), stage.draft(text, app: true))),
          completion: .callback { continuation.resume(returning: $0) },
          behalf: Behalf(session.party.address, by: .request("room", isSet: true)))
        #expect(stage.parley.submit(post))
      }
      _ = try result.get()
    }
    let load = stage.parley.registries.fanOutLoad
    // As if the event loops had not come to so many deliveries in other rooms yet.
    let each = Limits.fanOutLoadMax / 50
    for number in 0..<50 { load.add(each, of: DialogID(Int64(1_000 + number)), by: sessions[1].party.address) }
    load.add(Limits.fanOutLoadMax, of: DialogID(1_050), by: component.address)
    let refused = try await problem { try await say("more", for: sessions[1]) }
    #expect(refused?.code == "deliveries-too-fast")
    try await say("calm", for: sessions[0])
    #expect(sessions[4].effects().contains(.said("calm", .room)))
  }

  /// The end of a connection is charged to nobody when it comes, so the entrance is charged for it, and an exit is not.
  @Test func anEntranceIsChargedForTheExit() async throws {
    let stage = try Stage(sending: slow)
    let (room, _) = try await largeRoom(of: 100, on: stage)
    let guest = try await stage.user("guest")
    let budget = stage.parley.sending.budget(of: guest, from: nil, now: stage.clock.now)
    // Three entrances into a room of 100 and, behind an exit, one of 101, as those who leave are counted when the others are told: 802.
    for _ in 0..<2 {
      let session = RecordingSession(guest)
      try await stage.enter(room, session)
      stage.parley.vacate(guest, session: session.id)
      try await stage.settle(guest)
    }
    for _ in 0..<2 {
      let session = RecordingSession(guest)
      try await stage.enter(room, session)
      try await stage.act(.exit(.address(room.address), nil), by: session)
      try await stage.settle(guest)
    }
    stage.clock.set(stage.clock.now.milliseconds + 3_207)
    #expect(!budget.isFull(now: stage.clock.now))
    stage.clock.set(stage.clock.now.milliseconds + 1)
    #expect(budget.isFull(now: stage.clock.now))
  }

  /// Messages that are due at once are charged as others are, and those beyond what their author may cause are sent later.
  @Test func scheduledMessagesAreChargedAndSentLater() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let owner = sessions[0].party
    let scheduled = ScheduledMessages(stage.parley)
    for number in 0..<20 {
      let draft = ScheduleDraft(
        dialog: room.dialog, due: Timestamp(milliseconds: stage.clock.now.milliseconds + 1_000),
        content: Content(kind: .text, text: "later"), replyTo: nil, mentions: [],
        key: RepeatKey(rule: .app, id: "\(number)", bodyHash: 1))
      try await scheduled.post(.schedule(draft), by: owner)
    }
    func heard() -> Int { sessions[99].effects().count { $0 == .said("later", .room) } }
    stage.clock.set(stage.clock.now.milliseconds + 1_000)
    _ = await scheduled.sendDue()
    // 1,000 deliveries at once, and the message that makes the debt.
    #expect(heard() == 11)
    #expect(budget(sessions[0], on: stage).owesDeliveries(now: stage.clock.now))
    let share = stage.parley.sending.budget(of: SendingAccount.room(room.address), now: stage.clock.now)
    #expect(share.owesDeliveries(now: stage.clock.now))
    stage.clock.set(stage.clock.now.milliseconds + 10_000)
    _ = await scheduled.sendDue()
    #expect(heard() == 9)
  }

  /// As for what is sent at once, it is the author beyond a share who waits and is listed, and not the room.
  @Test func aScheduledMessageWaitsForTheShareOfItsAuthor() async throws {
    let stage = try Stage()
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let owner = sessions[0].party
    let scheduled = ScheduledMessages(stage.parley)
    let draft = ScheduleDraft(
      dialog: room.dialog, due: Timestamp(milliseconds: stage.clock.now.milliseconds + 1_000),
      content: Content(kind: .text, text: "later"), replyTo: nil, mentions: [],
      key: RepeatKey(rule: .app, id: "1", bodyHash: 1))
    try await scheduled.post(.schedule(draft), by: owner)
    func heard() -> Int { sessions[99].effects().count { $0 == .said("later", .room) } }
    let load = stage.parley.registries.fanOutLoad
    load.add(Limits.fanOutLoadMax + 1, of: DialogID(1_000), by: owner.address)
    stage.clock.set(stage.clock.now.milliseconds + 1_000)
    _ = await scheduled.sendDue()
    #expect(heard() == 0)
    #expect(stage.parley.sending.bound(now: stage.clock.now).map(\.account) == [.user(owner)])
    load.add(-Limits.fanOutLoadMax - 1, of: DialogID(1_000), by: owner.address)
    stage.clock.set(stage.clock.now.milliseconds + 1_000)
    _ = await scheduled.sendDue()
    #expect(heard() == 1 && load.total == 0)
  }

  @Test func aSmallRoomIsNotCharged() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: Limits.fanOutMin - 1, on: stage)
    for number in 0..<20 { try await stage.say("\(number)", in: room, by: sessions[0]) }
    #expect(budget(sessions[0], on: stage).isFull(now: stage.clock.now))
  }

  @Test func aRoomThatHasBecomeSmallIsNotCharged() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: Limits.fanOutMin, on: stage)
    try await stage.say("one", in: room, by: sessions[0])
    #expect(!budget(sessions[0], on: stage).isFull(now: stage.clock.now))
    try await stage.act(.exit(.address(room.address), nil), by: sessions[1])
    stage.clock.set(stage.clock.now.milliseconds + 4_000)
    try await stage.say("two", in: room, by: sessions[0])
    #expect(budget(sessions[0], on: stage).isFull(now: stage.clock.now))
  }

  /// The sessions of apps that have ended are told nothing, although nobody was told of their end either.
  @Test func aRoomThatEverybodyHasLeftIsNotCharged() async throws {
    let stage = try Stage(sending: slow)
    let owner = try await stage.user("owner")
    let crowd = try await stage.crowd(Limits.shownOccupantsMax + Limits.fanOutMin)
    let room = try await stage.room(by: owner, with: crowd.prefix(Limits.shownOccupantsMax).map { ($0, .member) })
    let others = crowd.dropFirst(Limits.shownOccupantsMax).map {
      MemberDraft(address: $0.address, affiliation: Affiliation.member)
    }
    try await stage.act(.members(.dialog(room.dialog), others), by: owner)
    var sessions: [RecordingSession] = []
    for member in crowd { sessions.append(try await stage.session(member, "phone", door: .app, priority: nil)) }
    let budget = stage.parley.sending.budget(of: owner, from: nil, now: stage.clock.now)
    try await stage.say("one", in: room, by: owner)
    #expect(!budget.isFull(now: stage.clock.now))
    // Those who are shown leave first.
    for session in sessions { stage.parley.vacate(session.party, session: session.id) }
    try await stage.say("two", in: room, by: owner)
    stage.clock.set(stage.clock.now.milliseconds + 4_000)
    try await stage.say("three", in: room, by: owner)
    #expect(budget.isFull(now: stage.clock.now))
  }

  /// All clients show one file in a stanza: a message with several is as many.
  @Test func eachFileOfAMessageIsCharged() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let owner = sessions[0]
    let files = (1...3).map { Attachment(blob: nil, url: "https://elsewhere.example/\($0).png") }
    let album = RoomMessageDraft(
      content: Content(kind: .image, text: "Look", attachments: files), envelope: Envelope(type: .groupchat),
      traits: [.counts, .archived, .fromApp], key: nil)
    let say = Intent.room(.say(.dialog(room.dialog), album))
    // What a backend posts is not charged.
    try await stage.parley.post(say, by: owner.party, isFromBackend: true)
    #expect(budget(owner, on: stage).isFull(now: stage.clock.now))
    for _ in 0..<3 { try await stage.parley.post(say, by: owner.party) }
    #expect(budget(owner, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(800))
  }

  /// Everybody is shown that the old nick has left, and that the new one is there.
  @Test func aChangeOfNickIsChargedAsTwoPresences() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: 100, on: stage)
    let one = sessions[1]
    for number in 0..<5 { try await stage.enter(room, one, "nick\(number)", isJoin: false) }
    #expect(budget(one, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == nil)
    try await stage.enter(room, one, "nick5", isJoin: false)
    #expect(budget(one, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(800))
    // An entrance is charged twice from the start.
    try await stage.enter(room, one, "nick6")
    #expect(budget(one, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == .milliseconds(1_600))
  }

  @Test func whatHappensToAHiddenOccupantIsChargedIfEverybodyIsTold() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: Limits.shownOccupantsMax + 2, on: stage)
    let (owner, shown) = (sessions[0], sessions[1])
    let (member, guest) = (sessions[Limits.shownOccupantsMax], sessions[Limits.shownOccupantsMax + 1])
    try await stage.role(guest.party.name, .none, in: room, by: owner)
    #expect(budget(owner, on: stage).isFull(now: stage.clock.now))
    try await stage.enter(room, member, "changed", isJoin: false)
    #expect(budget(member, on: stage).isFull(now: stage.clock.now))
    // A member's nick is reserved, which apps show.
    try await stage.affiliate(member.party, .member, in: room, by: owner.party)
    try await stage.enter(room, member, "another", isJoin: false)
    #expect(!budget(member, on: stage).isFull(now: stage.clock.now))
    stage.clock.set(stage.clock.now.milliseconds + 4_000)
    try await stage.role(shown.party.name, .none, in: room, by: owner)
    #expect(!budget(owner, on: stage).isFull(now: stage.clock.now))
  }

  @Test func whatNobodyIsToldOfIsGivenBack() async throws {
    let stage = try Stage(sending: slow)
    // One more than are shown.
    let (room, sessions) = try await largeRoom(of: Limits.shownOccupantsMax + 1, on: stage)
    let (owner, hidden) = (sessions[0], sessions[Limits.shownOccupantsMax])
    let away = stage.presence(hidden)
    try await stage.act(.show(.address(room.address), away), by: hidden)
    #expect(budget(hidden, on: stage).isFull(now: stage.clock.now))
    // A repeat, a refusal, and what a commit fails with.
    let key = RepeatKey(rule: .xmpp, id: "one", bodyHash: 1)
    try await stage.say("one", in: room, by: owner, key: key)
    for _ in 0..<20 { try await stage.say("one", in: room, by: owner, key: key) }
    let stranger = RecordingSession(try await stage.user("stranger"))
    #expect(try await problem { try await stage.say("one", in: room, by: stranger) } != nil)
    #expect(budget(stranger, on: stage).isFull(now: stage.clock.now))
    try await stage.failing(.say(.address(room.address), stage.draft("two")), by: owner)
    #expect(budget(owner, on: stage).charge(stanzas: 0, bytes: 0, now: stage.clock.now) == nil)
    stage.clock.set(stage.clock.now.milliseconds + 799)
    #expect(!budget(owner, on: stage).isFull(now: stage.clock.now))
    stage.clock.set(stage.clock.now.milliseconds + 1)
    #expect(budget(owner, on: stage).isFull(now: stage.clock.now))
    // Who speaks is shown.
    try await stage.say("three", in: room, by: hidden)
    try await stage.act(.show(.address(room.address), away), by: hidden)
    stage.clock.set(stage.clock.now.milliseconds + 1_607)
    #expect(!budget(hidden, on: stage).isFull(now: stage.clock.now))
    stage.clock.set(stage.clock.now.milliseconds + 1)
    #expect(budget(hidden, on: stage).isFull(now: stage.clock.now))
  }

  /// Nor is anything charged that changes nothing for others, also where nobody waits for the outcome.
  @Test func whatChangesNothingIsGivenBack() async throws {
    let stage = try Stage(sending: slow)
    let (room, sessions) = try await largeRoom(of: Limits.fanOutMin + 1, on: stage)
    let owner = sessions[0]
    func submit(_ intent: RoomIntent) async throws {
      #expect(stage.parley.submit(Post(author: owner.party, intent: .room(intent), completion: .none)))
      try await stage.settle(owner.party)
    }
    func typing(_ isTyping: Bool) -> RoomIntent {
      .signal(
        .address(room.address),
        RelayedStanza(
          name: .message(.groupchat), from: owner.party, fromResource: nil, to: room.address, toResource: nil, id: nil,
          extras: [], typing: isTyping))
    }
    // It ends what has not begun.
    try await submit(typing(false))
    #expect(budget(owner, on: stage).isFull(now: stage.clock.now))
    try await submit(typing(true))
    #expect(!budget(owner, on: stage).isFull(now: stage.clock.now))
    stage.clock.set(stage.clock.now.milliseconds + 260)
    #expect(budget(owner, on: stage).isFull(now: stage.clock.now))
    let key = RepeatKey(rule: .app, id: "one", bodyHash: 1)
    let message = RoomIntent.say(.address(room.address), stage.draft("one", app: true, key: key))
    try await submit(message)
    #expect(!budget(owner, on: stage).isFull(now: stage.clock.now))
    stage.clock.set(stage.clock.now.milliseconds + 260)
    #expect(budget(owner, on: stage).isFull(now: stage.clock.now))
    for _ in 0..<3 { try await submit(message) }
    #expect(budget(owner, on: stage).isFull(now: stage.clock.now))
    // What an earlier post of the same batch has said elsewhere is not taken for an effect of this one.
    let hall = try await stage.room("hall", by: owner.party, .open)
    try await stage.together(owner.party) {
      for intent in [RoomIntent.say(.address(hall.address), stage.draft("two", app: true)), message] {
        #expect(stage.parley.submit(Post(author: owner.party, intent: .room(intent), completion: .none)))
      }
    }
    #expect(budget(owner, on: stage).isFull(now: stage.clock.now))
  }

  /// The same of profiles, and of what a user's contacts are not told.
  @Test func whatContactsAreNotToldIsGivenBack() async throws {
    let stage = try Stage(sending: slow)
    let juliet = try await stage.user("juliet")
    for friend in try await stage.crowd(Limits.fanOutMin) {
      try await stage.parley.post(.link(friend.address, name: nil, groups: nil, mutual: true), by: juliet)
    }
    let session = try await stage.session(juliet, "balcony")
    try await stage.parley.post(.profile(ProfileDraft(displayName: "Juliet")), by: juliet)
    #expect(!budget(session, on: stage).isFull(now: stage.clock.now))
    stage.clock.set(stage.clock.now.milliseconds + 10_000)
    #expect(budget(session, on: stage).isFull(now: stage.clock.now))
    try await stage.parley.post(.profile(ProfileDraft(displayName: "Juliet")), by: juliet)
    try await stage.parley.post(.node(.create(node: "urn:example:diary", [])), by: juliet)
    #expect(budget(session, on: stage).isFull(now: stage.clock.now))
  }

  /// All devices of a user enter twice; a nick changes as often, and then once a second.
  @Test func changesOfNickInALargeRoomHaveAPace() async throws {
    let stage = try Stage()
    let (room, sessions) = try await largeRoom(of: Limits.fanOutMin, on: stage)
    let (owner, other) = (sessions[0], sessions[1])
    for number in 0..<64 { try await stage.enter(room, owner, "nick\(number)", isJoin: false) }
    let refused = try await problem { try await stage.enter(room, owner, "nick64", isJoin: false) }
    #expect(refused?.code == "entrances-too-fast" && refused?.retryAfter == 1)
    #expect(try await stage.nicks(room, for: other.party).contains("nick63"))
    // Presence is no entrance.
    try await stage.act(.show(.address(room.address), stage.presence(owner)), by: owner)
    // Nobody else waits for it, and neither does the owner in another room.
    try await stage.enter(room, other, "another", isJoin: false)
    let (hall, _) = try await largeRoom(of: Limits.fanOutMin, on: stage, "hall")
    try await stage.enter(hall, owner)
    let entering = try await problem { try await stage.enter(room, RecordingSession(owner.party), "nick63") }
    #expect(entering?.code == "entrances-too-fast")
    stage.clock.set(stage.clock.now.milliseconds + 1_000)
    try await stage.enter(room, RecordingSession(owner.party), "nick63")
  }

  @Test func whoIsNotBoundHasNoPace() async throws {
    var policy = slow
    policy.unlimited.users = [try BareJID("owner-of-verona@localhost")]
    let stage = try Stage(sending: policy)
    let (room, sessions) = try await largeRoom(of: Limits.fanOutMin, on: stage)
    for number in 0..<70 { try await stage.enter(room, sessions[0], "nick\(number)", isJoin: false) }
    #expect(try await stage.nicks(room, for: sessions[1].party).contains("nick69"))
  }

  @Test func aSmallRoomHasNoPace() async throws {
    let stage = try Stage()
    let (room, sessions) = try await largeRoom(of: 3, on: stage)
    for number in 0..<200 { try await stage.enter(room, sessions[0], "nick\(number)", isJoin: false) }
    #expect(try await stage.nicks(room, for: sessions[1].party).contains("nick199"))
  }

  /// The end of a room shows each occupant their own presence alone; together these are many. Those of one piece are no more than a slice.
  @Test func theEndOfALargeRoomIsDeliveredInPieces() async throws {
    final class Pauses: Sendable {
      private let bodies = Mutex<[@Sendable () -> Void]>([])
      var count: Int { bodies.withLock { $0.count } }
      func add(_ body: @escaping @Sendable () -> Void) { bodies.withLock { $0.append(body) } }
      func end() {
        let taken = bodies.withLock { bodies in
          defer { bodies = [] }
          return bodies
        }
        for body in taken { body() }
      }
    }
    final class Ends: Sendable {
      private let number = Mutex(0)
      var count: Int { number.withLock { $0 } }
      func add() { number.withLock { $0 += 1 } }
    }
    final class Member: LiveSession {
      let id = SessionID(.random(in: .min ... .max))
      let party: Party
      let lane: Lane
      private let ends: Ends
      init(_ party: Party, _ lane: Lane, _ ends: Ends) {
        self.party = party
        self.lane = lane
        self.ends = ends
      }
      func receive(_ delivery: Delivery) {
        if case .signal(.occupant(let presence), _) = delivery, presence.destroyed != nil { ends.add() }
      }
      func batchEnded() {}
    }
    let stage = try Stage()
    let owner = try await stage.user("owner")
    let room = try await stage.room(by: owner, .open)
    let (pauses, ends) = (Pauses(), Ends())
    let lane = Lane(
      schedule: { $0() }, pause: { pauses.add($0) }, waitingMax: Limits.laneWaitingMax,
      takenApartMax: Limits.laneTakenApartMax
    ) { [now = ContinuousClock.now] in now }
    for party in try await stage.crowd(400) {
      let presence = Presence(from: party, resource: "r", availability: .online, time: stage.clock.now)
      let entering = Entering(
        session: Member(party, lane, ends), nick: party.name, password: nil, presence: presence, isJoin: true)
      try await stage.act(.enter(.address(room.address), entering), by: party)
    }
    while pauses.count > 0 { pauses.end() }
    try await stage.act(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: owner)
    // The occupants leave in pieces.
    for _ in 0..<4 { try await stage.settle(owner) }
    #expect(Limits.expelledAtOnce <= Limits.laneSlice)
    #expect(pauses.count == 0)
    #expect(ends.count == 400)
  }

  /// A batch that fails is judged again; each entrance counts once.
  @Test func anEntranceIsCountedOnceHoweverOftenItIsJudged() async throws {
    let stage = try Stage()
    let (room, sessions) = try await largeRoom(of: Limits.fanOutMin, on: stage)
    let owner = sessions[0]
    for number in 0..<62 { try await stage.enter(room, owner, "nick\(number)", isJoin: false) }
    try await stage.together(owner.party) {
      stage.submit(.enter(.address(room.address), stage.entering(owner, "nick62", isJoin: false)), by: owner)
      stage.submitPoison(owner)
    }
    try await stage.enter(room, owner, "nick63", isJoin: false)
    #expect(
      try await problem { try await stage.enter(room, owner, "nick64", isJoin: false) }?.code == "entrances-too-fast")
  }
}
