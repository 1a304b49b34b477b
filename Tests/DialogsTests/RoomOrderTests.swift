import Addresses
import Dialogs
import DialogsFixtures
import StoreConformance
import Testing

/// Tests of the order of a room: earlier entries are delivered first, and what is not stored is never delivered.
@Suite struct RoomOrderTests {
  @Test func aNewMemberGetsLaterMessagesAndReadsEarlierOnes() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let orchard = try await stage.seats(room, romeo)[0]
    let balcony = RecordingSession(juliet)
    var tokens: [UInt64] = []
    try await stage.together(romeo) {
      stage.submit(.say(.address(room.address), stage.draft("before")), by: orchard)
      tokens.append(stage.submit(.enter(.address(room.address), stage.entering(balcony, "Juliet")), by: balcony))
      stage.submit(.say(.address(room.address), stage.draft("after")), by: orchard)
    }
    // First that she is there, then what is said.
    #expect(balcony.taken() == [.done(tokens[0]), .said("after", .room)])
    let enteredRoom = try #require(try balcony.outcome(of: tokens[0])?.get().value as? EnteredRoom)
    let position = enteredRoom.position
    let history = try await stage.parley.read { reader in
      var query = ArchiveQuery(limit: 10)
      query.before = position.next
      return try reader.archive(of: room.dialog, query).entries.compactMap { entry -> String? in
        if case .message(let message) = entry.fact { message.content.text } else { nil }
      }
    }
    #expect(history == ["before"])
    #expect(
      orchard.effects() == [
        .said("before", .room), .occupant("Juliet", .participant, codes: [], .roomOpen), .said("after", .room),
      ])
  }

  @Test func aMemberWhoJoinsAndLeavesInOneBatchGetsTheMessagesBetween() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let orchard = try await stage.seats(room, romeo)[0]
    let balcony = RecordingSession(juliet)
    try await stage.together(romeo) {
      stage.submit(.enter(.address(room.address), stage.entering(balcony, "Juliet")), by: balcony)
      stage.submit(.say(.address(room.address), stage.draft("between")), by: orchard)
      stage.submit(.exit(.address(room.address), nil), by: balcony)
      stage.submit(.say(.address(room.address), stage.draft("after")), by: orchard)
    }
    #expect(balcony.effects() == [.said("between", .room), .occupant("Juliet", .none, codes: [], .roomOwn)])
  }

  @Test(arguments: [true, false])
  func aKickAndAMessageInOneBatch(_ kickFirst: Bool) async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    let kick = RoomIntent.roles(.address(room.address), [RoleDraft(nick: "juliet", role: .none, reason: nil)])
    for session in all { _ = session.taken() }
    try await stage.together(romeo) {
      if kickFirst { stage.submit(kick, by: all[0]) }
      stage.submit(.say(.address(room.address), stage.draft("hi")), by: all[1])
      if !kickFirst { stage.submit(kick, by: all[0]) }
    }
    let heard = all[1].taken()
    let refusals = heard.filter { if case .refused(_, .forbidden) = $0 { true } else { false } }
    #expect(refusals.count == (kickFirst ? 1 : 0))
    #expect(heard.contains(.said("hi", .room)) != kickFirst)
    #expect(heard.contains(.occupant("juliet", .none, codes: [307], .roomOwn)))
    let seen = Heard.occupant("juliet", .none, codes: [307], .roomOpen)
    #expect(all[0].effects() == (kickFirst ? [seen] : [.said("hi", .room), seen]))
    #expect(try await stage.nicks(room, for: romeo) == ["romeo"])
  }

  @Test(arguments: [true, false])
  func anAppThatArrivesInTheBatchInWhichItsUserIsAddedFollowsTheRoom(_ arrivesFirst: Bool) async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo)
    let orchard = RecordingSession(romeo)
    let phone = RecordingSession(juliet)
    let attend = Post(
      author: juliet, intent: .goOnline(OnlineSession(session: phone, door: .app, resource: "phone")), completion: .none
    )
    let add = RoomIntent.members(.dialog(room.dialog), [MemberDraft(address: juliet.address, affiliation: .member)])
    try await stage.together(romeo) {
      if arrivesFirst { #expect(stage.parley.submit(attend)) }
      stage.submit(add, by: orchard)
      if !arrivesFirst { #expect(stage.parley.submit(attend)) }
    }
    try await stage.say("hi", in: room, by: romeo)
    #expect(phone.effects().filter { $0 == .said("hi", .feed) }.count == 1)
    // The same where the room is new.
    let tablet = RecordingSession(juliet)
    let draft = RoomDraft(
      localpart: "chapel", settings: .group, members: [MemberDraft(address: juliet.address, affiliation: .member)])
    try await stage.together(romeo) {
      let attend = Post(
        author: juliet, intent: .goOnline(OnlineSession(session: tablet, door: .app, resource: "tablet")),
        completion: .none)
      if arrivesFirst { #expect(stage.parley.submit(attend)) }
      stage.submit(.create(draft), by: orchard)
      if !arrivesFirst { #expect(stage.parley.submit(attend)) }
    }
    let chapel = try #require(try await stage.parley.read { try $0.room(at: BareJID("chapel@conference.localhost")) })
    _ = tablet.taken()
    try await stage.say("ho", in: chapel.name, by: romeo)
    #expect(tablet.effects() == [.said("ho", .feed)])
  }

  /// The posts of a failing batch are retried without the one that fails it: a user who entered meanwhile has entered
  /// once, and one who left is not present.
  @Test func aBatchThatIsTriedAgainLeavesWhatOneThatWasNotWouldHaveLeft() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(paris, .member)])
    let all = try await stage.seats(room, romeo, paris)
    let balcony = RecordingSession(juliet)
    for session in all { _ = session.taken() }
    try await stage.together(romeo) {
      stage.submit(.enter(.address(room.address), stage.entering(balcony, "Juliet")), by: balcony)
      stage.submit(.say(.address(room.address), stage.draft("one")), by: balcony)
      stage.submit(.enter(.address(room.address), stage.entering(balcony, "Capulet", isJoin: false)), by: balcony)
      stage.submit(.exit(.address(room.address), nil), by: all[1])
      stage.submit(
        .members(.dialog(room.dialog), [MemberDraft(address: juliet.address, affiliation: .member)]), by: all[0])
      stage.submit(
        .roles(.address(room.address), [RoleDraft(nick: "Capulet", role: .moderator, reason: nil)]), by: all[0])
      stage.submit(.say(.address(room.address), stage.draft("two")), by: balcony)
      stage.submitPoison(all[0])
    }
    #expect(
      all[1].effects() == [
        .occupant("Juliet", .participant, codes: [], .room), .said("one", .room),
        .occupant("Juliet", .participant, codes: [303], .room), .occupant("Capulet", .participant, codes: [], .room),
        .occupant("paris", .none, codes: [], .roomOwn),
      ])
    let heard = all[0].effects()
    #expect(heard.filter { $0 == .said("one", .room) }.count == 1)
    #expect(heard.last == .said("two", .room))
    let stored = try await stage.stored(room)
    #expect(stored.memberCount == 3)
    #expect(stored.ordinal == 2)
    let there = try await stage.occupancy(room, for: romeo).occupants
    #expect(Set(there.map(\.nick)) == ["romeo", "Capulet"])
    #expect(there.first { $0.nick == "Capulet" }?.role == .moderator)
    #expect(there.allSatisfy { $0.resources.count == 1 })
    #expect(try await stage.unread(paris) == 2)
  }

  @Test func anUnstorableMessageChangesNothingAndIsToldToNobody() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    let phone = try await stage.session(juliet, "phone", door: .app)
    let street = RecordingSession(paris)
    for session in all { _ = session.taken() }
    let reference = RoomReference.address(room.address)
    let before = try await stage.stored(room)
    let there = Set(try await stage.occupancy(room, for: romeo).occupants)
    let intents: [RoomIntent] = [
      .enter(reference, stage.entering(all[0], "Montague", isJoin: false)),
      .show(reference, stage.presence(all[0], .away)),
      .exit(reference, nil), .say(reference, stage.draft("x")), .topic(reference, text: "x", stanza: stage.draft("")),
      .members(reference, [MemberDraft(address: juliet.address, affiliation: .admin)]),
      .members(reference, [MemberDraft(address: juliet.address, affiliation: .outcast)]),
      .members(reference, [MemberDraft(address: paris.address, affiliation: .member, nick: "Count")]),
      .roles(reference, [RoleDraft(nick: "juliet", role: .none, reason: nil)]),
      .roles(reference, [RoleDraft(nick: "juliet", role: .moderator, reason: nil)]),
      .configure(reference, .change { $0 = .group }), .invite(reference, to: paris.address, reason: nil),
      .register(reference, nick: "Montague"), .destroy(reference, reason: nil, alternate: nil), .vacate(all[0].id),
    ]
    for intent in intents {
      try await stage.failing(intent, by: all[0])
      for session in all + [phone, street] { #expect(session.effects() == [], "\(intent)") }
      #expect(try await stage.stored(room) == before)
      #expect(Set(try await stage.occupancy(room, for: romeo).occupants) == there)
    }
    try await stage.failing(.enter(reference, stage.entering(street, "Count")), by: street)
    #expect(try await problem { try await stage.say("x", in: room, by: street) } == .notOccupant)
    // Everything still works.
    try await stage.say("hi", in: room, by: all[0])
    #expect(all[1].effects() == [.said("hi", .room)])
    #expect(phone.effects() == [.said("hi", .feedAnonymized)])
  }

  @Test func anAddressThatCouldNotBeTakenOrFoundedIsAsItWas() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let (orchard, balcony) = (RecordingSession(romeo), RecordingSession(juliet))
    let address = try BareJID("verona@conference.localhost")
    try await stage.failing(.enter(.address(address), stage.entering(orchard, "Romeo")), by: orchard)
    // Nobody has it.
    try await stage.act(.enter(.address(address), stage.entering(balcony, "Juliet")), by: balcony)
    try await stage.failing(.configure(.address(address), .change { _ in }), by: balcony)
    try await stage.failing(.abandon(.address(address)), by: balcony)
    try await stage.act(.prepare(.address(address)), by: balcony)
    #expect(
      try await problem {
        try await stage.act(.enter(.address(address), stage.entering(orchard, "Romeo")), by: orchard)
      } == .roomLocked)
    let room = try #require(try await stage.act(.configure(.address(address), .change { _ in }), by: balcony).room)
    try await stage.say("hi", in: room.name, by: balcony)
  }

  /// The first post of the creator creates the room (10.1.2); others enter in the same batch.
  @Test(arguments: [true, false])
  func anOccupantWhoEntersBehindTheFirstMessageIsInTheRoomThatItMade(fails: Bool) async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let (orchard, balcony, street) = (RecordingSession(romeo), RecordingSession(juliet), RecordingSession(paris))
    let address = try BareJID("verona@conference.localhost")
    let room = RoomReference.address(address)
    try await stage.act(.enter(room, stage.entering(orchard, "Romeo")), by: orchard)
    try await stage.act(.prepare(room), by: orchard)
    var tokens: [UInt64] = []
    try await stage.together(romeo) {
      tokens.append(stage.submit(.enter(room, stage.entering(street, "Paris")), by: street))
      stage.submit(.say(room, stage.draft("one")), by: orchard)
      if fails { stage.submitPoison(orchard) }
      stage.submit(.register(room, nick: "Juliet"), by: balcony)
      stage.submit(.enter(room, stage.entering(balcony, "Juliet")), by: balcony)
      stage.submit(.roles(room, [RoleDraft(nick: "Juliet", role: .none, reason: nil)]), by: orchard)
      if fails { stage.submitPoison(orchard) }
      tokens.append(stage.submit(.say(room, stage.draft("two")), by: balcony))
      stage.submit(.enter(room, stage.entering(balcony, "Juliet")), by: balcony)
      if fails { stage.submitPoison(orchard) }
      stage.submit(.say(room, stage.draft("three")), by: balcony)
    }
    #expect(throws: Problem.roomLocked) { try street.outcome(of: tokens[0])?.get() }
    #expect(throws: Problem.notOccupant) { try balcony.outcome(of: tokens[1])?.get() }
    func said(_ session: RecordingSession) -> [Heard] {
      session.taken().filter { if case .said = $0 { true } else { false } }
    }
    #expect(said(orchard) == [.said("one", .room), .said("three", .room)])
    #expect(said(balcony) == [.said("three", .room)])
    let name = try #require(try await stage.parley.read { try $0.room(at: address)?.name })
    #expect(try await stage.nicks(name, for: romeo) == ["Romeo", "Juliet"])
    #expect(try await stage.member(juliet, of: name)?.isKicked == false)
    let stored = try await stage.stored(name)
    #expect(stored.memberCount == 2)
    #expect(stored.ordinal == 2)
    // The list is as it became when she joined; a kick is no change of it.
    #expect(try await stage.member(juliet, of: name)?.version == stored.version)
  }

  @Test func workSeesWhatThePostsBeforeItInItsBatchDid() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    let before = try await stage.stored(room).ordinal
    let token: UInt64 = 1_000_000
    try await stage.together(romeo) {
      stage.submit(.say(.address(room.address), stage.draft("hi")), by: all[0])
      let work = WriteTransaction { writer in
        (try writer.room(room.dialog)?.ordinal ?? -1, try writer.unread(of: juliet.id))
      }
      #expect(stage.parley.submit(Post(author: romeo, intent: .work(work), completion: .session(all[0], token: token))))
    }
    let seen = try all[0].outcome(of: token)?.get().value as? (Int64, Int64)
    #expect(seen?.0 == before + 1)
    #expect(seen?.1 == 1)
  }
}
