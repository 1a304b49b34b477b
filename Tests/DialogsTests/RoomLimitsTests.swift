import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Testing

/// Each bound of a room: at it, and above.
@Suite struct RoomLimitsTests {
  @Test func textsAboutARoomAreBounded() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let room = try await stage.room(by: romeo)
    @Sendable func text(_ count: Int) -> String { String(repeating: "x", count: count) }
    let fields: [(any WritableKeyPath<RoomSettings, String?> & Sendable, Int, String)] = [
      (\.name, Limits.displayNameBytesMax, "name"), (\.about, Limits.statusBytesMax, "about"),
      (\.metadata, Limits.metadataBytesMax, "metadata"), (\.password, Limits.passwordBytesMax, "password"),
    ]
    for (field, bound, name) in fields {
      try await stage.act(.configure(.dialog(room.dialog), .change { $0[keyPath: field] = text(bound) }), by: romeo)
      let above = RoomIntent.configure(.dialog(room.dialog), .change { $0[keyPath: field] = text(bound + 1) })
      #expect(try await problem { try await stage.act(above, by: romeo) }?.code == "\(name)-too-long")
    }
    for (seconds, isAllowed) in [
      (0, true), (Limits.slowModeSecondsMax, true), (-1, false), (Limits.slowModeSecondsMax + 1, false),
    ] {
      let refused = try await problem {
        try await stage.act(.configure(.dialog(room.dialog), .change { $0.slowModeSeconds = seconds }), by: romeo)
      }
      #expect((refused == nil) == isAllowed)
    }
    let own: [(Int?, Bool)] = [
      (1, true), (0, false), (Limits.retentionDaysMax, true), (Limits.retentionDaysMax + 1, false), (nil, true),
    ]
    for (days, isAllowed) in own {
      let refused = try await problem {
        try await stage.act(.configure(.dialog(room.dialog), .change { $0.retentionDays = days }), by: romeo)
      }
      #expect((refused == nil) == isAllowed)
    }
    for (count, isAllowed) in [(1, true), (Limits.occupantsMax, true), (0, false), (Limits.occupantsMax + 1, false)] {
      let refused = try await problem {
        try await stage.act(.configure(.dialog(room.dialog), .change { $0.occupantsMax = count }), by: romeo)
      }
      #expect((refused == nil) == isAllowed)
    }
    for (count, isAllowed) in [(Limits.avatarBytesMax, true), (Limits.avatarBytesMax + 1, false)] {
      let avatar = Avatar(hash: "\(count)", mediaType: "image/png", bytes: Array(repeating: 1, count: count))
      let refused = try await problem {
        try await stage.act(.configure(.dialog(room.dialog), SettingsDraft(avatar: avatar) { _ in }), by: romeo)
      }
      #expect((refused == nil) == isAllowed)
    }
    for (count, isAllowed) in [
      (1, true), (Limits.externalIDBytesMax, true), (0, false), (Limits.externalIDBytesMax + 1, false),
    ] {
      var draft = RoomDraft(settings: .group)
      draft.externalID = .user(romeo.id, text(count))
      let made = draft
      let refused = try await problem { try await stage.act(.create(made), by: romeo) }
      #expect((refused == nil) == isAllowed)
    }
    for (count, isAllowed) in [(Limits.roomNameBytesMax, true), (Limits.roomNameBytesMax + 1, false)] {
      let refused = try await problem { _ = try await stage.room(text(count), by: romeo) }
      #expect((refused == nil) == isAllowed)
    }
  }

  @Test func aReasonIsCutWhereItIsTooLong() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo)
    let reason = String(repeating: "é", count: Limits.reasonBytesMax)
    let draft = MemberDraft(address: juliet.address, affiliation: .member, reason: reason)
    let entry = try #require(try await stage.act(.members(.dialog(room.dialog), [draft]), by: romeo).entry)
    guard case .room(let change) = entry.fact, case .member(let member) = change.change else { throw StageError.full }
    #expect(member.reason?.utf8.count == Limits.reasonBytesMax)
  }

  @Test func oneChangeIsOfSoManyPeople() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let crowd = try await stage.crowd(Limits.memberChangesMax + 1)
    let room = try await stage.room(by: romeo)
    let drafts = crowd.map { MemberDraft(address: $0.address, affiliation: Affiliation.member) }
    let form = SettingsDraft(members: drafts) { _ in }
    for intent in [RoomIntent.members(.dialog(room.dialog), drafts), .configure(.dialog(room.dialog), form)] {
      #expect(try await problem { try await stage.act(intent, by: romeo) }?.code == "too-many-changes")
    }
    #expect(
      try await problem { try await stage.act(.create(RoomDraft(settings: .group, members: drafts)), by: romeo) }?.code
        == "too-many-members")
    let roles = crowd.map { RoleDraft(nick: $0.name, role: .none, reason: nil) }
    #expect(
      try await problem { try await stage.act(.roles(.dialog(room.dialog), roles), by: romeo) }?.code
        == "too-many-changes")
    #expect(
      try await problem { try await stage.act(.members(.dialog(room.dialog), []), by: romeo) }?.code
        == "nothing-to-change")
    try await stage.act(.members(.dialog(room.dialog), Array(drafts.dropLast())), by: romeo)
    #expect(try await stage.stored(room).memberCount == Limits.memberChangesMax + 1)
  }

  /// Neither one change nor the next user can exceed the limit.
  @Test func aRoomHasSoManyMembersAndBansAsMany() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let crowd = try await stage.crowd(Limits.membersMax + 2)
    let room = try await stage.room(by: romeo, .open)
    func fill(_ affiliation: Affiliation, _ people: ArraySlice<Party>) async throws {
      try await stage.parley.work { writer in
        guard var stored = try writer.room(room.dialog) else { throw StageError.full }
        for party in people {
          try writer.put(
            Member(
              room: room.dialog, party: party, affiliation: affiliation, nick: nil, since: stored.version,
              joinedAt: stored.createdAt, version: stored.version), ordinal: stored.ordinal)
        }
        stored.memberCount += affiliation.isMember ? people.count : 0
        try writer.update(stored)
      }
    }
    func full(_ intent: RoomIntent, by party: Party) async throws {
      #expect(try await problem { try await stage.act(intent, by: party) }?.code == "member-list-full")
    }
    func drafts(_ affiliation: Affiliation, _ parties: Party...) -> [MemberDraft] {
      parties.map { MemberDraft(address: $0.address, affiliation: affiliation) }
    }
    let (last, next) = (crowd[Limits.membersMax], crowd[Limits.membersMax + 1])
    try await fill(.member, crowd[0..<Limits.membersMax - 2])
    // One place is left: not for two at once.
    try await full(.members(.dialog(room.dialog), drafts(.member, last, next)), by: romeo)
    try await full(
      .configure(.dialog(room.dialog), SettingsDraft(members: drafts(.admin, last, next)) { _ in }), by: romeo)
    try await stage.act(.members(.dialog(room.dialog), drafts(.member, last)), by: romeo)
    #expect(try await stage.stored(room).memberCount == Limits.membersMax)
    try await full(.members(.dialog(room.dialog), drafts(.member, next)), by: romeo)
    try await full(.register(.dialog(room.dialog), nick: nil), by: next)
    // The affiliation of a member can be changed in a full room.
    try await stage.act(.members(.dialog(room.dialog), drafts(.admin, last)), by: romeo)
    // One goes, one comes.
    try await stage.affiliate(last, .none, in: room, by: last)
    try await stage.act(.register(.dialog(room.dialog), nick: nil), by: next)
    try await stage.affiliate(next, .none, in: room, by: romeo)

    try await fill(.outcast, crowd[0..<Limits.membersMax - 1])
    try await full(.members(.dialog(room.dialog), drafts(.outcast, last, next)), by: romeo)
    try await stage.affiliate(last, .outcast, in: room, by: romeo)
    try await full(.members(.dialog(room.dialog), drafts(.outcast, next)), by: romeo)
    try await stage.affiliate(last, .none, in: room, by: romeo)
    try await stage.affiliate(next, .outcast, in: room, by: romeo)
  }

  @Test func aUserIsAMemberOfSoManyRooms() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (room, realm, now) = (try await stage.room(by: romeo, .open), stage.parley.realms[0].id, stage.clock.now)
    let closed = try await stage.room("closed", by: romeo)
    try await stage.parley.work { writer in
      for number in 1..<Limits.roomsPerUserMax {
        let room = try writer.insertRoom(
          localpart: "r\(number)", in: realm, externalID: nil, settings: .group, createdAt: now)
        try writer.put(
          Member(
            room: room.id, party: juliet, affiliation: .owner, nick: nil, since: .zero, joinedAt: now, version: .zero),
          ordinal: 0)
      }
    }
    let draft = [MemberDraft(address: juliet.address, affiliation: .member)]
    try await stage.act(.register(.dialog(room.dialog), nick: nil), by: juliet)
    // Juliet stays a member of the room that she is in already.
    try await stage.affiliate(juliet, .admin, in: room, by: romeo)
    for intent in [
      RoomIntent.members(.dialog(closed.dialog), draft),
      .invite(.dialog(closed.dialog), to: juliet.address, reason: nil),
      .create(RoomDraft(settings: .group, members: draft)),
    ] {
      #expect(try await problem { try await stage.act(intent, by: romeo) }?.code == "too-many-rooms")
    }
    #expect(
      try await problem { try await stage.act(.create(RoomDraft(settings: .group)), by: juliet) }?.code
        == "too-many-rooms")
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    try await stage.act(.members(.dialog(closed.dialog), draft), by: romeo)
    // The room into which others have put her does not count against those that she enters.
    try await stage.act(.register(.dialog(room.dialog), nick: nil), by: juliet)
    let other = try await stage.room("mantua", by: romeo, .open)
    #expect(
      try await problem { try await stage.act(.register(.dialog(other.dialog), nick: nil), by: juliet) }
        == .noRoomsLeft)
  }

  /// One user puts another into so many rooms. This keeps neither others from adding that user, nor the user from rooms of
  /// their own.
  @Test func oneUserAddsAnotherToSoManyRooms() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let paris = try await stage.user("paris")
    let (realm, now) = (stage.parley.realms[0].id, stage.clock.now)
    try await stage.parley.work { writer in
      for number in 0..<Limits.roomsOfUserByOneMax {
        let room = try writer.insertRoom(
          localpart: "r\(number)", in: realm, externalID: nil, settings: .group, createdAt: now)
        try writer.put(
          Member(
            room: room.id, party: juliet, affiliation: .member, nick: nil, since: .zero, joinedAt: now, version: .zero),
          ordinal: 0)
        try writer.putInvitation(of: juliet.id, by: romeo.id, to: room.id, at: .zero)
      }
    }
    let draft = [MemberDraft(address: juliet.address, affiliation: .member)]
    let room = try await stage.room(by: romeo)
    for intent in [
      RoomIntent.create(RoomDraft(settings: .group, members: draft)), .members(.dialog(room.dialog), draft),
      .invite(.dialog(room.dialog), to: juliet.address, reason: nil),
    ] {
      #expect(try await problem { try await stage.act(intent, by: romeo) }?.code == "too-many-rooms")
    }
    _ = try await stage.room("mantua", by: paris, with: [(juliet, .member)])
    _ = try await stage.room("padua", by: juliet)
    try await stage.parley.post(.room(.members(.dialog(room.dialog), draft)), by: romeo, isFromBackend: true)
  }

  /// Who adds a user to a room and then invites thousands of others makes it no room of the user's own choice.
  @Test func laterInvitationsDoNotMakeARoomTheUsersOwn() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let paris = try await stage.user("paris")
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)]).dialog
    let found = try await stage.parley.work { writer -> (added: Int, isFirstThere: Bool, isLastThere: Bool) in
      for inviter in [romeo.id, paris.id] {
        try writer.putInvitation(of: juliet.id, by: inviter, to: room, at: Position(1))
      }
      let others = (0..<Int64(2 * Limits.invitationsMax)).map { UserID(1_000_000 + $0) }
      for (index, other) in others.enumerated() {
        try writer.putInvitation(of: other, by: romeo.id, to: room, at: Position(Int64(100 + index)))
      }
      return (
        try writer.membershipCount(of: juliet.id, invitedBy: nil),
        try writer.isInvited(others[0], by: romeo.id, to: room),
        try writer.isInvited(others[others.count - 1], by: romeo.id, to: room)
      )
    }
    #expect(found.added == 1 && !found.isFirstThere && found.isLastThere)
  }

  @Test func lastingRoomsAreMadeAtARate() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    for _ in 0..<Limits.lastingRoomRate.burst {
      stage.submit(.create(RoomDraft(settings: .group)), by: RecordingSession(romeo))
    }
    try await stage.settle(romeo)
    #expect(try await problem { _ = try await stage.room(by: romeo) }?.code == "rooms-too-fast")
    try await stage.parley.post(.room(.create(RoomDraft(settings: .group))), by: romeo, isFromBackend: true)
    stage.clock.set(stage.clock.now.milliseconds + 10_000)
    _ = try await stage.room(by: romeo)
  }

  @Test func aSessionIsInSoManyRooms() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let balcony = RecordingSession(juliet)
    // More than one user makes at once.
    let paris = try await stage.user("paris")
    for number in 0...Limits.roomsPerSessionMax {
      let maker = RecordingSession(number == 0 ? paris : romeo)
      stage.submit(.create(RoomDraft(localpart: "r\(number)", settings: .open)), by: maker)
    }
    try await stage.settle(romeo)
    var tokens: [UInt64] = []
    for number in 0...Limits.roomsPerSessionMax {
      let address = try BareJID("r\(number)@conference.localhost")
      tokens.append(stage.submit(.enter(.address(address), stage.entering(balcony, "Juliet")), by: balcony))
    }
    try await stage.settle(juliet)
    let last = tokens.removeLast()
    for token in tokens { #expect(throws: Never.self) { try balcony.outcome(of: token)?.get() } }
    #expect(throws: Problem.noRoomsLeft) { try balcony.outcome(of: last)?.get() }
    // Another session has rooms of its own, and what is vacated is free.
    let address = try BareJID("r\(Limits.roomsPerSessionMax)@conference.localhost")
    try await stage.act(.exit(.address(BareJID("r0@conference.localhost")), nil), by: balcony)
    try await stage.act(.enter(.address(address), stage.entering(balcony, "Juliet")), by: balcony)
    try await stage.act(.vacate(balcony.id), by: juliet)
    for _ in 0..<Limits.roomsPerSessionMax / Limits.roomsAtOnce { try await stage.settle(juliet) }
    #expect((try await stage.act(.occupants(.address(address)), by: romeo).value as? Occupancy)?.count == 0)
  }

  /// The table of rooms in setup is shared: no user can fill it.
  @Test func nobodyTakesAllTheAddressesThereAre() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let orchards = [RecordingSession(romeo), RecordingSession(romeo)]
    var tokens: [(RecordingSession, UInt64)] = []
    for number in 0..<Limits.leasesMax {
      let (address, session) = (try BareJID("r\(number)@conference.localhost"), orchards[number % 2])
      tokens.append((session, stage.submit(.enter(.address(address), stage.entering(session, "Romeo")), by: session)))
      if number % 5_000 == 0 { try await stage.settle(romeo) }
    }
    try await stage.settle(romeo)
    #expect(tokens.contains { session, token in (try? session.outcome(of: token)?.get()) == nil })
    let verona = try BareJID("verona@conference.localhost")
    let balcony = RecordingSession(juliet)
    try await stage.act(.enter(.address(verona), stage.entering(balcony, "Juliet")), by: balcony)
    // Another session of the user may take the place that one has given up.
    try await stage.act(.vacate(orchards[0].id), by: romeo)
    try await stage.act(.prepare(.address(BareJID("r1@conference.localhost"))), by: orchards[1])
    let capulet = try BareJID("capulet@conference.localhost")
    try await stage.act(.enter(.address(capulet), stage.entering(orchards[1], "Romeo")), by: orchards[1])
    // The other one's are still its own.
    #expect(
      try await problem {
        try await stage.act(
          .enter(.address(BareJID("r1@conference.localhost")), stage.entering(balcony, "x")), by: balcony)
      } == .roomLocked)
  }

  @Test func aboveTwoHundredOccupantsOnlyModeratorsOneselfAndSpeakersAreShown() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    let crowd = try await stage.crowd(Limits.shownOccupantsMax - 1)
    let room = try await stage.room(by: romeo, .open, with: [(paris, .admin)])
    let orchard = RecordingSession(romeo)
    try await stage.enter(room, orchard)
    for party in crowd {
      let session = RecordingSession(party)
      stage.submit(.enter(.address(room.address), stage.entering(session, party.name)), by: session)
    }
    try await stage.settle(romeo)
    #expect(orchard.effects().count == Limits.shownOccupantsMax - 1)

    let (balcony, chamber) = (RecordingSession(juliet), RecordingSession(juliet))
    let enteredRoom = try #require(try await stage.enter(room, balcony))
    #expect(enteredRoom.others.count == Limits.shownOccupantsMax)
    #expect(enteredRoom.own.nick == "juliet")
    #expect(orchard.effects() == [])
    // The others are told neither of her second session, nor of her being away, nor of her nick.
    try await stage.enter(room, chamber)
    try await stage.act(.show(.address(room.address), stage.presence(balcony, .away)), by: balcony)
    #expect(balcony.effects().last == .occupant("juliet", .participant, codes: [], .roomOwn))
    try await stage.enter(room, balcony, "Capulet", isJoin: false)
    try await stage.act(.exit(.address(room.address), nil), by: chamber)
    try await stage.role("Capulet", .visitor, in: room, by: orchard)
    try await stage.role("Capulet", .participant, in: room, by: orchard)
    #expect(orchard.effects() == [])
    _ = balcony.taken()
    // A moderator is shown.
    let street = RecordingSession(paris)
    #expect(try await stage.enter(room, street)?.others.count == Limits.shownOccupantsMax)
    #expect(orchard.effects().last == .occupant("paris", .moderator, codes: [], .roomOpen))
    // An occupant who speaks is shown as well: before the message, and once.
    for text in ["one", "two"] { try await stage.say(text, in: room, by: balcony) }
    let appeared = Heard.occupant("Capulet", .participant, codes: [], .roomOpen)
    #expect(orchard.effects() == [appeared, .said("one", .room), .said("two", .room)])
    // An occupant whose coming was not shown is not shown to leave.
    let tybalt = RecordingSession(try await stage.user("tybalt"))
    try await stage.enter(room, tybalt)
    _ = tybalt.taken()
    try await stage.act(.exit(.address(room.address), nil), by: tybalt)
    #expect(tybalt.effects() == [.occupant("tybalt", .none, codes: [], .roomOwn)])
    try await stage.enter(room, tybalt)
    _ = tybalt.taken()
    try await stage.role("tybalt", .none, in: room, by: orchard)
    #expect(tybalt.effects() == [.occupant("tybalt", .none, codes: [307], .roomOwn)])
    #expect(orchard.effects() == [])
    // Another reserved nick of somebody unseen is nobody's news either.
    try await stage.affiliate(tybalt.party, .member, in: room, by: romeo)
    try await stage.enter(room, tybalt)
    _ = orchard.taken()
    try await stage.act(.register(.dialog(room.dialog), nick: "Prince"), by: tybalt.party)
    #expect(orchard.effects().filter { if case .occupant = $0 { true } else { false } } == [])
    #expect(tybalt.effects().contains(.occupant("Prince", .participant, codes: [210], .roomOwn)))
  }

  /// An idle room is not read again, and a cached one does not grow for ever: after more people than
  /// are kept, everything is as it was.
  @Test func aCacheThatStartsAnewForgetsNothing() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, .open.with { $0.slowModeSeconds = 60 }, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    try await stage.say("one", in: room, by: all[1])
    try await stage.parley.work { _ in }
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "juliet"])
    #expect(try await problem { try await stage.say("two", in: room, by: all[1]) }?.kind == .tooFast)
    #expect(try await stage.unread(romeo) == 1)
  }
}
