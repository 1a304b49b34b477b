import Addresses
import DialogsFixtures
import Testing

@testable import Dialogs

/// Requests that change so many people of a room that they are done in pieces.
@Suite struct RoomPiecesTests {
  private func drafts(_ people: [Party], _ affiliation: Affiliation = .member) -> [MemberDraft] {
    people.map { MemberDraft(address: $0.address, affiliation: affiliation) }
  }

  private func isCreation(_ receipt: Receipt) -> Bool {
    if case .room(let change)? = receipt.entry?.fact { change.change == .created } else { false }
  }

  @Test func aCreationIsAnsweredAfterItsLastPiece() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let crowd = try await stage.crowd(100)
    let phone = try await stage.session(romeo, "phone", door: .app)
    let before = stage.store.commits
    let token = stage.submit(
      .create(RoomDraft(settings: .group, topic: "Feuds", members: drafts(crowd))), by: phone)
    await phone.waitForOutcome(of: token)
    #expect(stage.store.commits - before == 4)
    let heard = phone.taken()
    #expect(heard.last == .done(token))
    var noted: [String] = []
    for case .noted(let change) in heard {
      switch change {
      case .created: noted.append("created")
      case .member(let member): noted.append(member.party.name)
      case .topic(let topic): noted.append(topic.text)
      case .settings, .destroyed: noted.append("something else")
      }
    }
    #expect(noted == ["created"] + crowd.map(\.name) + ["Feuds"])
    let receipt = try #require(phone.outcome(of: token)).get()
    #expect(receipt.room?.memberCount == 101 && !receipt.isRepeat && isCreation(receipt))
  }

  @Test func othersComeBetweenThePiecesAndTheAuthorBehindThem() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let crowd = try await stage.crowd(40)
    let (orchard, balcony) = (RecordingSession(romeo), RecordingSession(juliet))
    let create = RoomIntent.create(RoomDraft(settings: .group, members: drafts(crowd)))
    let (creating, own, others) = (orchard.nextToken(), orchard.nextToken(), balcony.nextToken())
    func submit(_ intent: Intent, _ token: UInt64, by session: RecordingSession) {
      #expect(
        stage.parley.submit(
          Post(author: session.party, intent: intent, completion: .session(session, token: token))))
    }
    try await stage.together(romeo) {
      submit(.room(create), creating, by: orchard)
      submit(.confirm(.zero), own, by: orchard)
      submit(.confirm(.zero), others, by: balcony)
    }
    let created = try #require(orchard.outcome(of: creating)).get()
    #expect(created.room?.memberCount == 41)
    let between = try #require(balcony.outcome(of: others)).get()
    #expect(between.position < created.position)
    let behind = try #require(orchard.outcome(of: own)).get()
    #expect(behind.position >= created.position)
  }

  @Test func aRefusalComesBeforeTheFirstPiece() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo)
    let nobody = MemberDraft(address: try BareJID("nobody@localhost"), affiliation: .member)
    let crowd = try await stage.crowd(40)
    let all = drafts(crowd) + [nobody]
    let form = SettingsDraft(members: all) { $0.name = "Verona" }
    for intent in [
      RoomIntent.members(.dialog(room.dialog), all), .configure(.dialog(room.dialog), form),
      .create(RoomDraft(localpart: "mantua", settings: .group, members: all)),
    ] {
      #expect(try await problem { try await stage.act(intent, by: romeo) }?.code == "user-unknown")
    }
    #expect(try await stage.stored(room).memberCount == 1)
    let address = try BareJID("mantua@conference.localhost")
    #expect(try await stage.parley.read { try $0.room(at: address) } == nil)
  }

  @Test func aRoomThatEndsBetweenThePiecesRefusesTheOthers() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, with: [(juliet, .owner)])
    let crowd = try await stage.crowd(40)
    let (orchard, balcony) = (RecordingSession(romeo), RecordingSession(juliet))
    var token: UInt64 = 0
    try await stage.together(romeo) {
      token = stage.submit(.members(.dialog(room.dialog), drafts(crowd)), by: orchard)
      stage.submit(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: balcony)
    }
    guard case .failure(let problem)? = orchard.outcome(of: token) else { throw StageError.full }
    #expect(problem == .roomDestroyed)
    #expect(try await stage.stored(room).memberCount == 2 + Limits.memberChangesAtOnce)
  }

  /// The second piece is lost, as in a crash.
  @Test func aRepeatAddsThoseWhoAreMissing() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let crowd = try await stage.crowd(70)
    let id = ExternalID.user(romeo.id, "42")
    let create = RoomIntent.create(
      RoomDraft(externalID: id, settings: .group, topic: "Feuds", members: drafts(crowd)))
    stage.store.failNext(1, after: 1)
    await #expect(throws: Problem.storage) { try await stage.act(create, by: romeo) }
    let begun = try #require(try await stage.parley.read { try $0.room(externalID: id, in: romeo.realm) })
    #expect(begun.memberCount == 1 + Limits.memberChangesAtOnce && begun.topic == nil)
    let receipt = try await stage.act(create, by: romeo)
    #expect(receipt.isRepeat && receipt.room?.id == begun.id)
    #expect(receipt.room?.memberCount == 71 && receipt.room?.topic?.text == "Feuds")
    // From now on it adds nobody who has left.
    try await stage.affiliate(crowd[0], .none, in: begun.name, by: romeo)
    #expect(try await stage.act(create, by: romeo).room?.memberCount == 70)

    let room = try await stage.room(by: romeo)
    let add = RoomIntent.members(.dialog(room.dialog), drafts(crowd))
    stage.store.failNext(1, after: 1)
    await #expect(throws: Problem.storage) { try await stage.act(add, by: romeo) }
    #expect(try await stage.stored(room).memberCount == 1 + Limits.memberChangesAtOnce)
    #expect(try await !stage.act(add, by: romeo).isRepeat)
    #expect(try await stage.stored(room).memberCount == 71)
    #expect(try await stage.act(add, by: romeo).isRepeat)
  }

  /// What was done in part is sent again by a client that resumes its stream after a crash (XEP-0198).
  @Test func aStanzaCountsAsHandledWithItsLastPiece() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo)
    let crowd = try await stage.crowd(40)
    let intent = Intent.room(.members(.dialog(room.dialog), drafts(crowd)))
    let orchard = RecordingSession(romeo)
    let stream = StreamNonce(high: 1, low: 2)
    func send(_ number: UInt32) async throws -> Receipt {
      let token = orchard.nextToken()
      let post = Post(
        author: romeo, intent: intent, inbound: Post.Inbound(stream: stream, number: number),
        completion: .session(orchard, token: token))
      #expect(stage.parley.submit(post))
      await orchard.waitForOutcome(of: token)
      return try #require(orchard.outcome(of: token)).get()
    }
    stage.store.failNext(1, after: 1)
    #expect(try await problem { _ = try await send(7) } == .storage)
    #expect(try await stage.parley.read { try $0.handled(stream) } == nil)
    _ = try await send(8)
    #expect(try await stage.parley.read { try $0.handled(stream) } == 8)
  }

  /// The order of the request would leave the room without an owner, and the author without the right to go on.
  @Test func newOwnersComeFirstAndTheAuthorLast() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo)
    let crowd = try await stage.crowd(39)
    let all = drafts([romeo], .none) + drafts(crowd) + drafts([juliet], .owner)
    try await stage.act(.members(.dialog(room.dialog), all), by: romeo)
    #expect(try await stage.member(romeo, of: room)?.affiliation.isMember != true)
    #expect(try await stage.member(juliet, of: room)?.affiliation == .owner)
    #expect(try await stage.stored(room).memberCount == 40)
  }

  @Test func aFormMakesARoomWithItsPeopleInPieces() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let orchard = RecordingSession(romeo)
    let address = try BareJID("verona@conference.localhost")
    try await stage.act(.enter(.address(address), stage.entering(orchard, "Romeo")), by: orchard)
    let crowd = try await stage.crowd(70)
    let form = SettingsDraft(members: drafts(crowd, .admin)) { $0.name = "Verona" }
    let before = stage.store.commits
    let receipt = try await stage.act(.configure(.address(address), form), by: orchard)
    #expect(stage.store.commits - before == 4, "three pieces, and the fixture's own post")
    #expect(receipt.room?.memberCount == 71 && receipt.room?.settings.name == "Verona" && isCreation(receipt))
  }

  @Test func rolesChangeInPieces() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo, .open)
    let crowd = try await stage.crowd(40)
    let orchard = try await stage.seats(room, romeo)[0]
    var last = orchard
    for party in crowd { last = try await stage.seats(room, party)[0] }
    func roles(_ nicks: [String], _ role: Role) -> RoomIntent {
      .roles(.address(room.address), nicks.map { RoleDraft(nick: $0, role: role, reason: nil) })
    }
    let nicks = crowd.map(\.name)
    let wrong = roles(nicks + ["nobody"], .none)
    #expect(try await problem { try await stage.act(wrong, by: orchard) } == .occupantUnknown)
    #expect(try await stage.nicks(room, for: romeo).count == 41)
    let before = stage.store.commits
    try await stage.act(roles(nicks, .visitor), by: orchard)
    #expect(stage.store.commits - before == 3, "two pieces, and the fixture's own post")
    #expect(try await stage.occupancy(room, for: romeo).occupants.count { $0.role == .visitor } == 40)
    // Whoever leaves between two pieces does not spare the others.
    var token: UInt64 = 0
    try await stage.together(romeo) {
      token = stage.submit(roles(nicks, .none), by: orchard)
      stage.submit(.exit(.address(room.address), nil), by: last)
    }
    _ = try #require(orchard.outcome(of: token)).get()
    #expect(try await stage.nicks(room, for: romeo) == ["romeo"])
  }

  /// The room is closed to those who must leave, and what its owner says next is heard by none of them.
  @Test func aRoomThatBecomesMembersOnlyIsLeftInPieces() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    let seats = try await stage.seats(room, romeo, juliet)
    var others: [RecordingSession] = []
    for party in try await stage.crowd(2 * Limits.expelledAtOnce + 10) {
      others.append(try await stage.seats(room, party)[0])
    }
    for session in others + seats { _ = session.taken() }
    let before = stage.store.commits
    var token: UInt64 = 0
    let all = others
    try await stage.together(romeo) {
      token = stage.submit(.configure(.address(room.address), .change { $0.isMembersOnly = true }), by: seats[0])
      stage.submit(.say(.address(room.address), stage.draft("among us")), by: seats[0])
    }
    #expect(stage.store.commits - before >= 4)
    let receipt = try #require(seats[0].outcome(of: token)).get()
    #expect(receipt.room?.settings.isMembersOnly == true && receipt.entry != nil && !receipt.isRepeat)
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "juliet"])
    for session in all {
      let heard = session.effects()
      #expect(heard.contains(.occupant(session.party.name, .none, codes: [322], .roomOwn)))
      #expect(!heard.contains(.said("among us", .room)))
    }
    #expect(seats[1].effects().contains(.said("among us", .room)))
  }

  @Test func thePeopleOfABannedDomainLeaveInPieces() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo, .open)
    for party in try await stage.crowd(Limits.expelledAtOnce + 10) { _ = try await stage.seats(room, party) }
    let ban = MemberDraft(address: try BareJID("localhost"), affiliation: .outcast, bansAddress: true)
    let before = stage.store.commits
    let receipt = try await stage.act(.members(.dialog(room.dialog), [ban]), by: romeo)
    #expect(stage.store.commits - before == 2)
    #expect(!receipt.isRepeat)
    #expect(try await stage.occupancy(room, for: romeo).occupants.count == 0)
  }

  @Test func bansOfAddressesHaveTheSameBound() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo)
    func bans(_ count: Int) throws -> RoomIntent {
      let drafts = try (0..<count).map {
        MemberDraft(address: try BareJID("ghost\($0)@localhost"), affiliation: .outcast, bansAddress: true)
      }
      return .members(.dialog(room.dialog), drafts)
    }
    let tooMany = try bans(Limits.memberChangesMax + 1)
    #expect(try await problem { try await stage.act(tooMany, by: romeo) }?.code == "too-many-changes")
    let before = stage.store.commits
    #expect(try await !stage.act(bans(40), by: romeo).isRepeat)
    #expect(stage.store.commits - before == 2)
    #expect(try await stage.parley.read { try $0.addressBans(of: .server(room.dialog, .rules)).count } == 40)
  }
}
