import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Testing

/// The occupants of a room, who is shown to whom, and who may enter.
@Suite struct RoomPresenceTests {
  // MARK: Being there

  @Test func anEnteringOccupantAndTheOthersAreShownToEachOther() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let orchard = RecordingSession(romeo)
    let first = try #require(try await stage.enter(room, orchard))
    #expect(first.others.isEmpty)
    #expect(first.own.role == .moderator)
    #expect(first.own.ownCodes == [100])
    #expect(orchard.effects() == [])

    let balcony = RecordingSession(juliet)
    let second = try #require(try await stage.enter(room, balcony))
    #expect(second.others.map(\.nick) == ["romeo"])
    #expect(second.own.role == .participant)
    // She enters for the first time, so her nick is reserved, of which members' apps are told.
    let reserved = MemberChange(
      party: juliet, was: .member, now: .member, nick: "juliet", reason: nil, wasKicked: false, isKicked: false)
    #expect(
      orchard.effects() == [.noted(.member(reserved)), .occupant("juliet", .participant, codes: [], .roomOpen)])
    // A presence that the receipt contains is not told twice.
    #expect(balcony.effects() == [])
  }

  @Test func addressesOfAPublicRoomAreForModerators() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    #expect(try await stage.enter(room, RecordingSession(paris))?.own.ownCodes == [])
    #expect(all[0].effects() == [.occupant("paris", .participant, codes: [], .roomOpen)])
    #expect(all[1].effects() == [.occupant("paris", .participant, codes: [], .room)])
    // A new moderator sees the addresses from then on.
    try await stage.role("juliet", .moderator, in: room, by: all[0])
    _ = all[1].taken()
    let tybalt = try await stage.user("tybalt")
    try await stage.enter(room, RecordingSession(tybalt))
    #expect(all[1].effects() == [.occupant("tybalt", .participant, codes: [], .roomOpen)])
    try await stage.role("juliet", .participant, in: room, by: all[0])
    _ = all[1].taken()
    try await stage.act(.show(.address(room.address), stage.presence(all[0], .away)), by: all[0])
    #expect(all[1].effects() == [.occupant("romeo", .moderator, codes: [], .room)])
  }

  @Test func twoAppSessionsAndOneXMPPSessionOfAMemberHearTheSameOnceEach() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let phone = try await stage.session(juliet, "phone", door: .app)
    let tablet = try await stage.session(juliet, "tablet", door: .app)
    let balcony = try await stage.session(juliet, "balcony")
    try await stage.enter(room, balcony)
    for session in [phone, tablet, balcony] { _ = session.taken() }
    try await stage.say("hi", in: room, by: romeo)
    #expect(phone.effects() == [.said("hi", .feed)])
    #expect(tablet.effects() == [.said("hi", .feed)])
    #expect(balcony.effects() == [.said("hi", .room)])
    // Leaving by presence is going offline, not leaving the dialog.
    try await stage.act(.exit(.address(room.address), nil), by: balcony)
    #expect(balcony.effects() == [.occupant("juliet", .none, codes: [], .roomOwn)])
    try await stage.say("ho", in: room, by: romeo)
    #expect(phone.effects() == [.said("ho", .feed)])
    #expect(balcony.effects() == [])
    // One app session ends, the other does not.
    stage.parley.hub.unregister(phone, time: stage.clock.now)
    stage.parley.leave(juliet, session: phone.id, at: stage.clock.now)
    try await stage.say("he", in: room, by: romeo)
    #expect(phone.effects() == [])
    #expect(tablet.effects().last == .said("he", .feed))
  }

  @Test func aSecondSessionSitsUnderTheNickOfTheFirst() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    let chamber = RecordingSession(juliet)
    let enteredRoom = try #require(try await stage.enter(room, chamber, "Capulet"))
    #expect(enteredRoom.own.nick == "juliet")
    #expect(enteredRoom.own.ownCodes == [210])
    #expect(try await stage.occupancy(room, for: romeo).count == 2)
    #expect(all[0].effects() == [.occupant("juliet", .participant, codes: [], .roomOpen)])
    _ = all[1].taken()
    // The others see her go with her last session only.
    try await stage.act(.exit(.address(room.address), nil), by: chamber)
    #expect(chamber.effects() == [.occupant("juliet", .none, codes: [], .roomOwn)])
    #expect(!all[0].effects().contains(.occupant("juliet", .none, codes: [], .roomOpen)))
    try await stage.act(.vacate(all[1].id), by: juliet)
    #expect(all[0].effects() == [.occupant("juliet", .none, codes: [], .roomOpen)])
    #expect(try await stage.nicks(room, for: romeo) == ["romeo"])
  }

  @Test func anOccupantWhoEntersAgainIsShownEverythingAgain() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    let enteredRoom = try #require(try await stage.enter(room, all[1]))
    #expect(enteredRoom.others.map(\.nick) == ["romeo"])
    #expect(try await stage.occupancy(room, for: romeo).occupants.map(\.resources.count).sorted() == [1, 1])
    // Presence without <x/> is availability.
    #expect(try await stage.enter(room, all[1], isJoin: false) == nil)
    // A presence of a user who is not in the room has no effect (7.2.1).
    let stranger = RecordingSession(try await stage.user("tybalt"))
    #expect(try await problem { try await stage.enter(room, stranger, isJoin: false) } == .notOccupant)
  }

  @Test func aResumedSessionKeepsItsSeatAndNobodyIsTold() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    let heir = RecordingSession(juliet)
    try await stage.parley.post(.handOver(from: all[1], to: heir), by: juliet)
    #expect(all[0].effects() == [])
    try await stage.say("still here", in: room, by: heir)
    #expect(heir.effects() == [.said("still here", .room)])
    #expect(all[1].effects() == [.handedOver])
    #expect(try await problem { try await stage.say("ghost", in: room, by: all[1]) } == .notOccupant)
    // The former self ends: that is not news.
    try await stage.act(.vacate(all[1].id), by: juliet)
    _ = all[0].taken()
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "juliet"])
    try await stage.act(.vacate(heir.id), by: juliet)
    #expect(all[0].effects() == [.occupant("juliet", .none, codes: [], .roomOpen)])
  }

  /// A member's app is there while it is connected, without entering.
  @Test func anAppComesAndGoesWithItsConnection() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(
      by: romeo, .open.with { $0.isModerated = true }, with: [(juliet, .member), (paris, .watcher)])
    let orchard = try await stage.seats(room, romeo)[0]
    let phone = try await stage.session(juliet, "phone", door: .app)
    let tablet = try await stage.session(juliet, "tablet", door: .app)
    let street = try await stage.session(paris, "street", door: .app)
    #expect(
      orchard.effects() == [
        .occupant("juliet", .participant, codes: [], .roomOpen), .occupant("paris", .visitor, codes: [], .roomOpen),
      ])
    // Presences are not its news, nor private messages.
    for session in [phone, tablet, street] { _ = session.taken() }
    let nurse = RecordingSession(try await stage.user("nurse"))
    try await stage.enter(room, nurse)
    try await stage.role("juliet", .visitor, in: room, by: orchard)
    #expect(
      try await problem {
        try await stage.act(.pass(.address(room.address), nick: "juliet", whisper(romeo)), by: orchard)
      } == .noWhispers)
    for session in [phone, tablet, street] { #expect(session.effects() == []) }
    _ = orchard.taken()
    try await stage.act(.vacate(phone.id), by: juliet)
    #expect(!orchard.effects().contains(.occupant("juliet", .none, codes: [], .roomOpen)))
    try await stage.act(.vacate(tablet.id), by: juliet)
    #expect(orchard.effects() == [.occupant("juliet", .none, codes: [], .roomOpen)])
  }

  // MARK: Entering

  @Test func aClosedRoomIsForMembersAPasswordForThoseWhoKnowItABanForNobody() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(
      by: romeo, .group.with { $0.password = "cauldron" }, with: [(juliet, .member), (paris, .outcast)])
    let balcony = RecordingSession(juliet)
    for password in [nil, "", "cauldro", "cauldronn", "kettle"] {
      #expect(try await problem { try await stage.enter(room, balcony, password: password) } == .roomPassword)
    }
    try await stage.enter(room, balcony, password: "cauldron")
    #expect(
      try await problem { try await stage.enter(room, RecordingSession(paris), password: "cauldron") } == .roomBanned)
    let tybalt = try await stage.user("tybalt")
    #expect(
      try await problem { try await stage.enter(room, RecordingSession(tybalt), password: "cauldron") }
        == .roomMembersOnly)
  }

  @Test func aFullRoomStillHasAPlaceForAdmins() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.occupantsMax = 1 }, with: [(paris, .admin)])
    let balcony = RecordingSession(juliet)
    try await stage.enter(room, balcony)
    let tybalt = RecordingSession(try await stage.user("tybalt"))
    #expect(try await problem { try await stage.enter(room, tybalt) } == .roomFull)
    // A further session takes no further place.
    try await stage.enter(room, RecordingSession(juliet))
    try await stage.enter(room, RecordingSession(paris))
    try await stage.enter(room, RecordingSession(romeo))
    #expect(try await stage.occupancy(room, for: romeo).count == 3)
  }

  @Test func oneEntersAModeratedRoomWithoutVoiceAndMayAskForIt() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.isModerated = true }, with: [(paris, .member)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    for session in all { _ = session.taken() }
    #expect(try await problem { try await stage.say("x", in: room, by: all[1]) } == .noVoice)
    #expect(
      try await problem {
        try await stage.act(.topic(.address(room.address), text: "x", stanza: stage.draft("x")), by: all[1])
      } == .notModerator)
    try await stage.act(.askForVoice(.address(room.address)), by: all[1])
    #expect(all[0].effects() == [.notice(.voiceRequest(nick: "juliet", juliet))])
    #expect(all[2].effects() == [])
    // A request for voice of an occupant who has it is sent to nobody.
    try await stage.act(.askForVoice(.address(room.address)), by: all[2])
    #expect(all[0].effects() == [])
    try await stage.role("juliet", .participant, in: room, by: all[0])
    try await stage.say("thanks", in: room, by: all[1])
  }

  // MARK: Without voice

  private func shown(to session: RecordingSession) -> [Presence] {
    session.deliveries().compactMap { delivery -> Presence? in
      guard case .signal(.occupant(let presence), _) = delivery else { return nil }
      return presence.presence
    }
  }

  /// A status is a message to all in the room: who has no voice shows none, until they have voice.
  @Test func whoHasNoVoiceShowsNoText() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.isModerated = true })
    let all = try await stage.seats(room, romeo, juliet, paris)
    for session in all { _ = session.taken() }
    func presence(_ availability: Presence.Availability, _ status: String) -> Presence {
      Presence(
        from: juliet, resource: "r", availability: availability, status: status,
        extras: Array("<show/><status/>".utf8), quietBytes: 7, time: stage.clock.now)
    }
    try await stage.act(.show(.address(room.address), presence(.away, "Hear me")), by: all[1])
    for session in all {
      let seen = try #require(shown(to: session).first)
      #expect(seen.availability == .away && seen.status == nil)
      #expect(seen.extras == Array("<show/>".utf8))
    }
    // Who enters later sees no more.
    let late = try await stage.enter(room, RecordingSession(try await stage.user("nurse")))
    #expect(late?.others.count == 3)
    #expect(late?.others.allSatisfy { $0.presence.status == nil } == true)
    for session in all { _ = session.taken() }
    try await stage.role("juliet", .participant, in: room, by: all[0])
    let loud = try #require(shown(to: all[2]).first)
    #expect(loud.status == "Hear me")
    #expect(loud.extras == Array("<show/><status/>".utf8))
    try await stage.role("juliet", .visitor, in: room, by: all[0])
    let hushed = try #require(shown(to: all[2]).first)
    #expect(hushed.status == nil)
    // Nor do they leave with a word.
    try await stage.act(.exit(.address(room.address), presence(.offline, "Farewell")), by: all[1])
    let gone = try #require(shown(to: all[2]).first)
    #expect(gone.availability == .offline && gone.status == nil)
    #expect(gone.extras == Array("<show/>".utf8))
  }

  /// Participants of a read-only room have no voice, whatever their role is shown as; moderators have.
  @Test func inAReadOnlyRoomStatusesAndNicksAreThoseOfVisitors() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member), (paris, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    func presence(_ party: Party, _ status: String) -> Presence {
      Presence(from: party, resource: "r", availability: .away, status: status, time: stage.clock.now)
    }
    func seenOnEntering() async throws -> Set<String?> {
      let session = RecordingSession(paris)
      let entered = try #require(try await stage.enter(room, session))
      try await stage.act(.exit(.address(room.address), nil), by: session)
      return Set(entered.others.map { $0.presence.status })
    }
    try await stage.act(.show(.address(room.address), presence(juliet, "Hear me")), by: all[1])
    try await stage.act(.show(.address(room.address), presence(romeo, "I may")), by: all[0])
    #expect(try await seenOnEntering() == ["Hear me", "I may"])
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.isReadOnly = true }), by: romeo)
    #expect(try await seenOnEntering() == [nil, "I may"])
    for session in all { _ = session.taken() }
    try await stage.act(.show(.address(room.address), presence(juliet, "Hear me now")), by: all[1])
    let hushed = try #require(shown(to: all[0]).first)
    #expect(hushed.availability == .away && hushed.status == nil)
    try await stage.enter(room, all[1], "sun", isJoin: false)
    let refusal = try await problem { try await stage.enter(room, all[1], "moon", isJoin: false) }
    #expect(refusal?.code == "visitor-too-fast")
    try await stage.act(.show(.address(room.address), presence(juliet, "Hear me again")), by: all[1])
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.isReadOnly = false }), by: romeo)
    #expect(try await seenOnEntering() == ["Hear me again", "I may"])
    try await stage.enter(room, all[1], "moon", isJoin: false)
  }

  @Test func whoHasNoVoiceChangesTheNickOnceAMinute() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.isModerated = true }, with: [(paris, .watcher)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    // What fails counts for nobody.
    try await stage.failing(
      .enter(.address(room.address), stage.entering(all[1], "moon", isJoin: false)), by: all[1])
    #expect(try await problem { try await stage.enter(room, all[1], "romeo", isJoin: false) } == .nickTaken)
    try await stage.enter(room, all[1], "sun", isJoin: false)
    // Neither in the room, nor by leaving it and entering again.
    let refusal = try await problem { try await stage.enter(room, all[1], "moon", isJoin: false) }
    #expect(refusal?.code == "visitor-too-fast")
    #expect(refusal?.retryAfter == 60)
    // Each spelling of the same nick is shown, too.
    #expect(
      try await problem { try await stage.enter(room, all[1], "SUN", isJoin: false) }?.code == "visitor-too-fast")
    try await stage.act(.exit(.address(room.address), nil), by: all[1])
    #expect(try await problem { try await stage.enter(room, all[1], "moon") }?.code == "visitor-too-fast")
    try await stage.enter(room, all[1], "sun")
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "sun", "paris"])
    // A watcher's nick by the app, and by registration.
    for nick in ["count", "county"] {
      let change = MemberDraft(address: paris.address, affiliation: nil, nick: nick)
      let refused = try await problem { try await stage.act(.members(.dialog(room.dialog), [change]), by: paris) }
      #expect(refused?.code == (nick == "count" ? nil : "visitor-too-fast"))
    }
    #expect(
      try await problem { try await stage.act(.register(.dialog(room.dialog), nick: "county"), by: paris) }?.code
        == "visitor-too-fast")
    // Who has voice may, and a minute later whoever has none.
    try await stage.role("sun", .participant, in: room, by: all[0])
    for nick in ["moon", "star"] { try await stage.enter(room, all[1], nick, isJoin: false) }
    try await stage.role("star", .visitor, in: room, by: all[0])
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    try await stage.enter(room, all[1], "comet", isJoin: false)
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "comet", "count"])
  }

  @Test func whoHasNoVoiceAsksForItOnceAMinute() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.isModerated = true })
    let all = try await stage.seats(room, romeo, juliet)
    let asking = RoomIntent.askForVoice(.address(room.address))
    try await stage.failing(asking, by: all[1])
    try await stage.act(asking, by: all[1])
    #expect(all[0].effects().count == 1)
    #expect(try await problem { try await stage.act(asking, by: all[1]) }?.code == "visitor-too-fast")
    #expect(all[0].effects() == [])
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    try await stage.act(asking, by: all[1])
    #expect(all[0].effects().count == 1)
  }

  /// Presences in rooms stay in memory: somebody who shows long ones in many rooms reaches a bound.
  @Test func longPresencesInRoomsHaveABound() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let verona = try await stage.room("verona", by: romeo, .open)
    let mantua = try await stage.room("mantua", by: romeo, .open)
    let session = RecordingSession(juliet)
    func presence(_ bytes: Int) -> Presence {
      Presence(
        from: juliet, resource: "r", availability: .online, extras: [UInt8](repeating: 32, count: bytes),
        time: stage.clock.now)
    }
    func entering(_ room: RoomName, _ bytes: Int) -> RoomIntent {
      .enter(
        .address(room.address),
        Entering(session: session, nick: "juliet", password: nil, presence: presence(bytes), isJoin: true))
    }
    let (half, most) = (Limits.roomPresencesBytesMax / 2, Limits.roomPresencesBytesMax)
    try await stage.act(entering(verona, most), by: session)
    await #expect(throws: Problem.presencesTooLong) { try await stage.act(entering(mantua, half), by: session) }
    // An ordinary one is never too long.
    try await stage.act(entering(mantua, Limits.roomPresenceBytes), by: session)
    await #expect(throws: Problem.presencesTooLong) {
      try await stage.act(.show(.address(mantua.address), presence(half)), by: session)
    }
    // A batch that fails leaves what there was.
    try await stage.failing(.show(.address(verona.address), presence(1)), by: session)
    await #expect(throws: Problem.presencesTooLong) {
      try await stage.act(.show(.address(mantua.address), presence(half)), by: session)
    }
    try await stage.act(.exit(.address(verona.address), nil), by: session)
    try await stage.act(.show(.address(mantua.address), presence(half)), by: session)
  }

  /// All users' presences in rooms have a bound: at it, what the user with the most says is forgotten, and what others say stays.
  @Test func theUserWithTheLongestPresencesIsShownWithoutThem() async throws {
    let bound = 64 << 10
    let stage = try Stage(presencesInRoomsBytesMax: bound)
    let (romeo, juliet, paris) = try await cast(stage)
    var rooms: [RoomName] = []
    for number in 0..<3 { rooms.append(try await stage.room("room\(number)", by: romeo, .open)) }
    func enter(_ room: RoomName, _ session: RecordingSession, _ bytes: Int) async throws -> EnteredRoom? {
      let presence = Presence(
        from: session.party, resource: "r", availability: .away,
        extras: [UInt8](repeating: 32, count: bytes), time: stage.clock.now)
      let entering = Entering(
        session: session, nick: session.party.name, password: nil, presence: presence, isJoin: true)
      return try await stage.act(.enter(.address(room.address), entering), by: session).value as? EnteredRoom
    }
    func shown(_ nick: String, in room: RoomName, to session: RecordingSession) async throws -> Presence? {
      let probed = try await stage.act(.probe(.address(room.address), nick: nick), by: session).value
      return (probed as? ProbedOccupants)?.presences.first?.presence
    }
    let (most, few, last) = (RecordingSession(romeo), RecordingSession(juliet), RecordingSession(paris))
    for room in rooms.dropLast() { _ = try await enter(room, most, bound / 3) }
    _ = try await enter(rooms[0], few, bound / 8)
    #expect(try await shown("romeo", in: rooms[0], to: few)?.extras?.count == bound / 3)
    // A batch that fails has forgotten nothing.
    let third = Presence(
      from: paris, resource: "r", availability: .online, extras: [UInt8](repeating: 32, count: bound / 3),
      time: stage.clock.now)
    let entering = Entering(session: last, nick: "paris", password: nil, presence: third, isJoin: true)
    try await stage.failing(.enter(.address(rooms[0].address), entering), by: last)
    for room in rooms.dropLast() {
      #expect(try await shown("romeo", in: room, to: most)?.extras?.count == bound / 3)
    }
    // It is within the bound with one presence of romeo's fewer; the others keep what they say.
    _ = try await enter(rooms[0], last, bound / 3)
    var left: [Int] = []
    for room in rooms.dropLast() {
      let presence = try #require(try await shown("romeo", in: room, to: most))
      #expect(presence.availability == .away)
      left.append(presence.extras?.count ?? 0)
    }
    #expect(left.sorted() == [0, bound / 3])
    #expect(try await shown("juliet", in: rooms[0], to: few)?.extras?.count == bound / 8)
    #expect(try await shown("paris", in: rooms[0], to: few)?.extras?.count == bound / 3)
    // What is shown again counts again.
    try await stage.act(.exit(.address(rooms[0].address), nil), by: last)
    _ = try await enter(rooms[2], most, bound / 8)
    #expect(try await shown("romeo", in: rooms[2], to: most)?.extras?.count == bound / 8)
  }
}
