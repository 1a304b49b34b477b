import Addresses
import Dialogs
import Testing

/// What people do in rooms, and what the others hear of it.
@Suite struct RoomTests {
  private func cast(_ stage: Stage) async throws -> (romeo: Party, juliet: Party, paris: Party) {
    (try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris"))
  }

  // MARK: Coming to be

  @Test func anAppMakesARoomAndItsMembersAreThereFromTheBeginning() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let phone = try await stage.session(juliet, "phone", door: .app)
    let desk = try await stage.session(paris, "desk")
    var draft = RoomDraft(
      settings: .group.with { $0.name = "Verona" }, topic: "Feuds",
      members: [juliet, paris, romeo].map { MemberDraft(address: $0.address, affiliation: nil) })
    draft.externalID = "42"
    let receipt = try await stage.parley.post(.room(.create(draft)), by: romeo)
    let room = try #require(receipt.room)
    #expect(room.memberCount == 3)
    #expect(try await stage.stored(room.name) == room)
    #expect(try await stage.member(romeo, of: room.name)?.affiliation == .owner)
    #expect(try await stage.member(juliet, of: room.name)?.affiliation == .member)
    // The creation, each member, the topic: dense.
    #expect(room.sequence == 4)
    #expect(room.topic?.text == "Feuds")
    let heard = phone.news()
    #expect(heard.contains(.invited(room.address.description)))
    guard case .noted(.topic)? = heard.last else { throw StageError.full }
    // Who has only XMPP is invited.
    #expect(desk.news() == [.invited(room.address.description)])

    // The same externalID is the same room: for its members.
    let again = try await stage.parley.post(.room(.create(draft)), by: romeo)
    #expect(again.isRepeat)
    #expect(again.room?.name == room.name)
    let tybalt = try await stage.user("tybalt")
    let refused = try await problem { try await stage.parley.post(.room(.create(draft)), by: tybalt) }
    #expect(refused?.code == "external-id-taken")
  }

  @Test func nobodyIsAMemberTwice() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let twice = [juliet, juliet].map { MemberDraft(address: $0.address, affiliation: .member) }
    let refused = try await problem {
      try await stage.act(.create(RoomDraft(localpart: "verona", settings: .group, members: twice)), by: romeo)
    }
    #expect(refused?.kind == .malformed)
    // Nothing of it was written.
    let room = try await stage.room(by: romeo)
    for drafts in [twice, twice.map { MemberDraft(address: $0.address, affiliation: .admin) }] {
      #expect(try await problem { try await stage.act(.members(.dialog(room.dialog), drafts), by: romeo) }?.kind == .malformed)
      let form = SettingsDraft(members: drafts) { $0.name = "Verona" }
      #expect(try await problem { try await stage.act(.configure(.dialog(room.dialog), form), by: romeo) }?.kind == .malformed)
    }
    #expect(try await stage.stored(room).memberCount == 1)
    #expect(try await stage.member(juliet, of: room) == nil)
  }

  @Test func anXMPPClientSetsARoomUpOnAnAddressThatIsNobodys() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let (orchard, balcony) = (RecordingSession(romeo), RecordingSession(juliet))
    let address = try BareJID("verona@conference.localhost")
    let entering = stage.entering(orchard, "Romeo")
    let entrance = try #require(
      try await stage.act(.enter(.address(address), entering), by: orchard).value as? Entrance)
    #expect(entrance.own.ownCodes == [201])
    // 10.1: locked for everybody else, and not there.
    #expect(try await problem { try await stage.act(.enter(.address(address), stage.entering(balcony, "Juliet")), by: balcony) } == .roomLocked)
    #expect(try await problem { try await stage.act(.say(.address(address), stage.draft("x")), by: orchard) } == .roomUnknown)
    #expect(try await stage.parley.read { try $0.room(at: address) } == nil)

    let form = SettingsDraft(members: [MemberDraft(address: paris.address, affiliation: .admin)]) { $0.name = "Verona" }
    let receipt = try await stage.act(.configure(.address(address), form), by: orchard)
    let room = try #require(receipt.room).name
    #expect(try await stage.stored(room).memberCount == 2)
    #expect(try await stage.member(paris, of: room)?.affiliation == .admin)
    // The creator is there already.
    try await stage.say("hi", in: room, by: orchard)
    #expect(orchard.news().last == .said("hi", .room))
  }

  @Test(arguments: ["nobody", "romeo"])
  func aFormThatIsRefusedMakesNoRoom(_ named: String) async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let orchard = RecordingSession(romeo)
    let address = try BareJID("verona@conference.localhost")
    try await stage.act(.enter(.address(address), stage.entering(orchard, "Romeo")), by: orchard)
    _ = orchard.taken()
    // An admin who is nobody; the creator, who would leave the room without an owner.
    let form = SettingsDraft(members: [MemberDraft(address: try BareJID("\(named)@localhost"), affiliation: .admin)]) { _ in }
    #expect(try await problem { try await stage.act(.configure(.address(address), form), by: orchard) } != nil)
    #expect(try await stage.parley.read { try $0.room(at: address) } == nil)
    #expect(orchard.news() == [])
    // It is still being set up.
    try await stage.act(.configure(.address(address), .change { _ in }), by: orchard)
    #expect(try await stage.parley.read { try $0.room(at: address) }?.memberCount == 1)
  }

  @Test func anAddressThatIsGivenUpIsFree() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let sessions = [romeo, juliet, paris].map { RecordingSession($0) }
    let address = try BareJID("verona@conference.localhost")
    // Cancelled, left, ended: three ways to give up (10.1.3).
    for (index, session) in sessions.enumerated() {
      try await stage.act(.enter(.address(address), stage.entering(session, "x")), by: session)
      switch index {
      case 0: try await stage.act(.abandon(.address(address)), by: session)
      case 1: try await stage.act(.exit(.address(address), nil), by: session)
      default: try await stage.act(.vacate(session.id), by: session.party)
      }
    }
    try await stage.act(.enter(.address(address), stage.entering(sessions[0], "x")), by: sessions[0])
    #expect(try await stage.parley.read { try $0.room(at: address) } == nil)
  }

  @Test func aResumedSessionGoesOnSettingUp() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let (old, heir) = (RecordingSession(romeo), RecordingSession(romeo))
    let address = try BareJID("verona@conference.localhost")
    try await stage.act(.enter(.address(address), stage.entering(old, "Romeo")), by: old)
    try await stage.act(.reseat(from: old.id, to: heir), by: romeo)
    _ = old.taken()
    let room = try #require(try await stage.act(.configure(.address(address), .change { _ in }), by: heir).room).name
    try await stage.say("hi", in: room, by: heir)
    #expect(heir.news().last == .said("hi", .room))
    #expect(old.taken() == [])
    try await stage.act(.vacate(heir.id), by: romeo)
    #expect(try await stage.occupancy(room, for: romeo).count == 0)
  }

  // MARK: Being there

  @Test func whoEntersIsShownTheOthersAndTheOthersAreShownWhoEnters() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let orchard = RecordingSession(romeo)
    let first = try #require(try await stage.enter(room, orchard))
    #expect(first.others.isEmpty)
    #expect(first.own.role == .moderator)
    #expect(first.own.ownCodes == [100])
    #expect(orchard.news() == [])

    let balcony = RecordingSession(juliet)
    let second = try #require(try await stage.enter(room, balcony))
    #expect(second.others.map(\.nick) == ["romeo"])
    #expect(second.own.role == .participant)
    #expect(orchard.news() == [.occupant("juliet", .participant, codes: [], .roomOpen)])
    // What the receipt says is not told twice.
    #expect(balcony.news() == [])
  }

  @Test func addressesOfAPublicRoomAreForModerators() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    #expect(try await stage.enter(room, RecordingSession(paris))?.own.ownCodes == [])
    #expect(all[0].news() == [.occupant("paris", .participant, codes: [], .roomOpen)])
    #expect(all[1].news() == [.occupant("paris", .participant, codes: [], .room)])
    // Who becomes a moderator sees them from then on.
    try await stage.role("juliet", .moderator, in: room, by: all[0])
    _ = all[1].taken()
    let tybalt = try await stage.user("tybalt")
    try await stage.enter(room, RecordingSession(tybalt))
    #expect(all[1].news() == [.occupant("tybalt", .participant, codes: [], .roomOpen)])
    try await stage.role("juliet", .participant, in: room, by: all[0])
    _ = all[1].taken()
    try await stage.act(.show(.address(room.address), stage.presence(all[0], .away)), by: all[0])
    #expect(all[1].news() == [.occupant("romeo", .moderator, codes: [], .room)])
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
    #expect(phone.news() == [.said("hi", .feed)])
    #expect(tablet.news() == [.said("hi", .feed)])
    #expect(balcony.news() == [.said("hi", .room)])
    // Leaving by presence is going offline, not leaving the dialog.
    try await stage.act(.exit(.address(room.address), nil), by: balcony)
    #expect(balcony.news() == [.occupant("juliet", .none, codes: [], .roomOwn)])
    try await stage.say("ho", in: room, by: romeo)
    #expect(phone.news() == [.said("ho", .feed)])
    #expect(balcony.news() == [])
    // One app session ends, the other does not.
    stage.parley.hub.depart(phone, time: stage.clock.now)
    stage.parley.leave(juliet, session: phone.id)
    try await stage.say("he", in: room, by: romeo)
    #expect(phone.news() == [])
    #expect(tablet.news().last == .said("he", .feed))
  }

  @Test func aSecondSessionSitsUnderTheNickOfTheFirst() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    let chamber = RecordingSession(juliet)
    let entrance = try #require(try await stage.enter(room, chamber, "Capulet"))
    #expect(entrance.own.nick == "juliet")
    #expect(entrance.own.ownCodes == [210])
    #expect(try await stage.occupancy(room, for: romeo).count == 2)
    #expect(all[0].news() == [.occupant("juliet", .participant, codes: [], .roomOpen)])
    _ = all[1].taken()
    // The others see her go with her last session only.
    try await stage.act(.exit(.address(room.address), nil), by: chamber)
    #expect(chamber.news() == [.occupant("juliet", .none, codes: [], .roomOwn)])
    #expect(!all[0].news().contains(.occupant("juliet", .none, codes: [], .roomOpen)))
    try await stage.act(.vacate(all[1].id), by: juliet)
    #expect(all[0].news() == [.occupant("juliet", .none, codes: [], .roomOpen)])
    #expect(try await stage.nicks(room, for: romeo) == ["romeo"])
  }

  @Test func whoEntersAgainIsShownEverythingAgain() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    let entrance = try #require(try await stage.enter(room, all[1]))
    #expect(entrance.others.map(\.nick) == ["romeo"])
    #expect(try await stage.occupancy(room, for: romeo).occupants.map(\.resources.count).sorted() == [1, 1])
    // Presence without <x/> is availability.
    #expect(try await stage.enter(room, all[1], isJoin: false) == nil)
    // And from somebody who is not there it is nothing (7.2.1).
    let stranger = RecordingSession(try await stage.user("tybalt"))
    #expect(try await problem { try await stage.enter(room, stranger, isJoin: false) } == .notOccupant)
  }

  @Test func aResumedSessionKeepsItsSeatAndNobodyIsTold() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet)
    let heir = RecordingSession(juliet)
    try await stage.act(.reseat(from: all[1].id, to: heir), by: juliet)
    #expect(all[0].news() == [])
    try await stage.say("still here", in: room, by: heir)
    #expect(heir.news() == [.said("still here", .room)])
    #expect(all[1].news() == [])
    #expect(try await problem { try await stage.say("ghost", in: room, by: all[1]) } == .notOccupant)
    // The former self ends: that is not news.
    try await stage.act(.vacate(all[1].id), by: juliet)
    _ = all[0].taken()
    #expect(try await stage.nicks(room, for: romeo) == ["romeo", "juliet"])
    try await stage.act(.vacate(heir.id), by: juliet)
    #expect(all[0].news() == [.occupant("juliet", .none, codes: [], .roomOpen)])
  }

  /// A member's app is there while it is connected, without entering.
  @Test func anAppComesAndGoesWithItsConnection() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.isModerated = true }, with: [(juliet, .member), (paris, .watcher)])
    let orchard = try await stage.seats(room, romeo)[0]
    let phone = try await stage.session(juliet, "phone", door: .app)
    let tablet = try await stage.session(juliet, "tablet", door: .app)
    let street = try await stage.session(paris, "street", door: .app)
    #expect(
      orchard.news() == [
        .occupant("juliet", .participant, codes: [], .roomOpen), .occupant("paris", .visitor, codes: [], .roomOpen),
      ])
    // Presences are not its news, nor private messages.
    for session in [phone, tablet, street] { _ = session.taken() }
    let nurse = RecordingSession(try await stage.user("nurse"))
    try await stage.enter(room, nurse)
    try await stage.role("juliet", .visitor, in: room, by: orchard)
    #expect(try await problem { try await stage.act(.pass(.address(room.address), nick: "juliet", whisper(romeo)), by: orchard) } == .noWhispers)
    for session in [phone, tablet, street] { #expect(session.news() == []) }
    _ = orchard.taken()
    try await stage.act(.vacate(phone.id), by: juliet)
    #expect(!orchard.news().contains(.occupant("juliet", .none, codes: [], .roomOpen)))
    try await stage.act(.vacate(tablet.id), by: juliet)
    #expect(orchard.news() == [.occupant("juliet", .none, codes: [], .roomOpen)])
  }

  // MARK: Who gets in

  @Test func aClosedRoomIsForMembersAPasswordForThoseWhoKnowItABanForNobody() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .group.with { $0.password = "cauldron" }, with: [(juliet, .member), (paris, .outcast)])
    let balcony = RecordingSession(juliet)
    for password in [nil, "", "cauldro", "cauldronn", "kettle"] {
      #expect(try await problem { try await stage.enter(room, balcony, password: password) } == .roomPassword)
    }
    try await stage.enter(room, balcony, password: "cauldron")
    #expect(try await problem { try await stage.enter(room, RecordingSession(paris), password: "cauldron") } == .roomBanned)
    let tybalt = try await stage.user("tybalt")
    #expect(try await problem { try await stage.enter(room, RecordingSession(tybalt), password: "cauldron") } == .roomMembersOnly)
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
    #expect(try await problem { try await stage.act(.topic(.address(room.address), text: "x", stanza: stage.draft("x")), by: all[1]) } == .notModerator)
    try await stage.act(.askForVoice(.address(room.address)), by: all[1])
    #expect(all[0].news() == [.notice(.voiceRequest(nick: "juliet", juliet))])
    #expect(all[2].news() == [])
    // Who has voice bothers nobody.
    try await stage.act(.askForVoice(.address(room.address)), by: all[2])
    #expect(all[0].news() == [])
    try await stage.role("juliet", .participant, in: room, by: all[0])
    try await stage.say("thanks", in: room, by: all[1])
  }

  // MARK: Talking

  @Test func whatIsSaidReachesEverybodyAndItsAuthor() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member), (paris, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    let phone = try await stage.session(paris, "phone", door: .app)
    for session in all { _ = session.taken() }
    let receipt = try await stage.say("hi", in: room, by: all[0])
    guard case .message(let message)? = receipt.entry?.fact else { throw StageError.full }
    #expect(message.envelope.fromResource == "romeo")
    #expect(message.envelope.toResource == nil)
    #expect(message.envelope.type == .groupchat)
    for session in all { #expect(session.news() == [.said("hi", .room)]) }
    #expect(phone.news() == [.said("hi", .feed)])
    // Sequences are dense, notices included.
    let next = try await stage.say("ho", in: room, by: paris)
    guard case .message(let second)? = next.entry?.fact else { throw StageError.full }
    #expect(second.sequence == message.sequence + 1)
  }

  @Test func aMemberWhoIsNotThereSpeaksFromTheAppAWatcherDoesNot() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.isModerated = true }, with: [(juliet, .member), (paris, .watcher)])
    let orchard = try await stage.seats(room, romeo)[0]
    try await stage.say("from afar", in: room, by: juliet)
    // No presence: who is not there does not come by speaking.
    #expect(orchard.news() == [.said("from afar", .room)])
    #expect(try await problem { try await stage.say("x", in: room, by: paris) } == .noVoice)
    #expect(try await problem { try await stage.act(.topic(.dialog(room.dialog), text: "x", stanza: nil), by: paris) } == .notModerator)
    // XMPP speaks as an occupant only.
    #expect(try await problem { try await stage.say("x", in: room, by: RecordingSession(juliet)) } == .notOccupant)
    // And who is no member does not speak from the app.
    #expect(try await problem { try await stage.say("x", in: room, by: try await stage.user("tybalt")) } == .roomUnknown)
  }

  @Test func whoWasSilencedAsAnOccupantIsSilentInTheAppToo() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    try await stage.role("juliet", .visitor, in: room, by: all[0])
    #expect(try await problem { try await stage.say("x", in: room, by: juliet) } == .noVoice)
    #expect(try await problem { try await stage.act(.signal(.dialog(room.dialog), typing(juliet, room)), by: juliet) } == .noVoice)
    // Another nick gives no voice back.
    try await stage.act(.register(.dialog(room.dialog), nick: "Capulet"), by: juliet)
    #expect(try await problem { try await stage.say("x", in: room, by: all[1]) } == .noVoice)
    try await stage.act(
      .members(.dialog(room.dialog), [MemberDraft(address: juliet.address, affiliation: nil, nick: "Jule")]), by: juliet)
    #expect(try await problem { try await stage.say("x", in: room, by: all[1]) } == .noVoice)
    #expect(try await stage.occupancy(room, for: juliet).role == .visitor)
  }

  @Test func aModeratorByGrantWithAnotherNickIsStillOne() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member), (paris, .member)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    try await stage.role("juliet", .moderator, in: room, by: all[0])
    try await stage.act(.register(.dialog(room.dialog), nick: "Capulet"), by: juliet)
    #expect(try await stage.occupancy(room, for: juliet).role == .moderator)
    try await stage.role("paris", .none, in: room, by: all[1])
  }

  /// A displayed marker may carry anything: it takes voice to be heard.
  @Test func aMarkerDoesNotCarryWordsOfWhoHasNoVoice() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .watcher)])
    let all = try await stage.seats(room, romeo, juliet)
    let id = try #require(try await stage.say("hi", in: room, by: all[0]).entry).id
    for session in all { _ = session.taken() }
    let stanza = RoomMessageDraft(content: Content(kind: .none, extras: Array("<x/>".utf8)), envelope: Envelope(), traits: [], key: nil)
    try await stage.act(.marker(.address(room.address), RoomMarkerDraft(kind: .displayed, target: id, stanza: stanza)), by: all[1])
    #expect(!all[0].news().contains(.relayed(.room)))
    // It counts all the same.
    #expect(try await stage.unread(juliet) == 0)
  }

  @Test func typingReachesTheOthersAndIsForgotten() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member), (paris, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    let mine = try await stage.session(paris, "mine", door: .app)
    let yours = try await stage.session(juliet, "yours", door: .app)
    for session in all { _ = session.taken() }
    let before = try await stage.stored(room)
    try await stage.act(.signal(.dialog(room.dialog), typing(paris, room)), by: paris)
    #expect(all[0].news() == [.relayed(.room)])
    #expect(yours.news() == [.relayed(.feed)])
    #expect(mine.news() == [])
    #expect(try await stage.stored(room) == before)
  }

  private func typing(_ author: Party, _ room: RoomName) -> RelayedStanza {
    RelayedStanza(
      name: .message(.groupchat), from: author, fromResource: nil, to: room.address, toResource: nil, id: nil,
      extras: [], typing: true)
  }

  private func whisper(_ author: Party, _ name: RelayedStanza.Name = .message(.chat)) -> RelayedStanza {
    RelayedStanza(name: name, from: author, fromResource: "r", to: author.address, toResource: nil, id: nil, extras: [])
  }

  @Test func aWhisperReachesOneOccupantOnAllSeatsAndAQuestionOnOne() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open)
    let all = try await stage.seats(room, romeo, juliet, paris)
    let chamber = RecordingSession(juliet)
    try await stage.enter(room, chamber)
    for session in all + [chamber] { _ = session.taken() }
    try await stage.act(.pass(.address(room.address), nick: "JULIET", whisper(romeo)), by: all[0])
    #expect(all[1].news() == [.relayed(.room)])
    #expect(chamber.news() == [.relayed(.room)])
    #expect(all[2].news() == [])
    #expect(all[0].news() == [])
    try await stage.act(.pass(.address(room.address), nick: "juliet", whisper(romeo, .iq("get"))), by: all[0])
    #expect(all[1].news() + chamber.news() == [.relayed(.room)])
    #expect(try await problem { try await stage.act(.pass(.address(room.address), nick: "tybalt", whisper(romeo)), by: all[0]) } == .occupantUnknown)
    // By somebody who is not there: by nobody.
    #expect(try await problem { try await stage.act(.pass(.address(room.address), nick: "juliet", whisper(romeo)), by: RecordingSession(romeo)) } == .notOccupant)
  }

  @Test(arguments: [RoomSettings.Whispers.anyone, .participants, .moderators, .none])
  func whoMayWhisperIsARoomsChoiceAndModeratorsCanAlwaysBeAsked(_ whispers: RoomSettings.Whispers) async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(
      by: romeo, .open.with { $0.isModerated = true; $0.whispers = whispers }, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet, paris)  // moderator, participant, visitor
    for (author, roleRank) in [(all[0], 2), (all[1], 1), (all[2], 0)] {
      for target in ["romeo", "juliet", "paris"] {
        let refused = try await problem {
          try await stage.act(.pass(.address(room.address), nick: target, whisper(author.party)), by: author)
        }
        let isAllowed: Bool =
          switch whispers {
          case .anyone: true
          case .participants: roleRank >= 1 || target == "romeo"
          case .moderators: roleRank == 2 || target == "romeo"
          case .none: false
          }
        #expect(refused == (isAllowed ? nil : .noWhispers))
      }
    }
  }

  @Test func aBlockedUserIsHeardInTheRoomAndNotInTheEar() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member), (paris, .member)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    for session in all { _ = session.taken() }
    try await stage.say("hi", in: room, by: all[0])
    #expect(all[1].news() == [.said("hi", .room)])
    // As if it had arrived: who is blocked does not learn it.
    try await stage.act(.pass(.address(room.address), nick: "juliet", whisper(romeo)), by: all[0])
    #expect(all[1].news() == [])
    // Neither an invitation nor its refusal is a way around the block.
    let chapel = try await stage.room("chapel", by: romeo, .open)
    try await stage.act(.invite(.dialog(chapel.dialog), to: juliet.address, reason: nil), by: romeo)
    try await stage.act(.decline(.address(room.address), to: juliet.address, reason: "It is the east"), by: romeo)
    #expect(all[1].news() == [])
    try await stage.act(.invite(.dialog(room.dialog), to: paris.address, reason: nil), by: juliet)
    try await stage.act(.decline(.address(room.address), to: juliet.address, reason: "no"), by: paris)
    #expect(all[1].news() == [.notice(.declined(by: paris.address, reason: "no"))])
  }

  /// Who blocks is, for whom they block, as if they were not (XEP-0191 3.3).
  @Test func whoBlocksCannotBeToldFromWhoIsNot() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    try await stage.parley.setState(of: paris.id, .disabled)
    let room = try await stage.room(by: romeo)
    var faces: Set<String> = []
    for name in ["juliet", "paris", "nobody"] {
      let drafts = [MemberDraft(address: try BareJID("\(name)@localhost"), affiliation: .member)]
      for intent in [
        RoomIntent.members(.dialog(room.dialog), drafts), .create(RoomDraft(settings: .group, members: drafts)),
        .configure(.dialog(room.dialog), SettingsDraft(members: drafts) { $0.about = "x" }),
      ] {
        let refused = try #require(try await problem { try await stage.act(intent, by: romeo) })
        faces.insert("\(refused.kind) \(refused.code)")
      }
    }
    #expect(faces == ["missing user-unknown"])
    #expect(try await stage.stored(room).settings.about == nil)
  }

  @Test func theTopicIsModeratorsToSetAndParticipantsWhereTheRoomSaysSo() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    #expect(try await problem { try await stage.act(.topic(.dialog(room.dialog), text: "Love", stanza: nil), by: juliet) } == .notModerator)
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.participantsSetTopic = true }), by: romeo)
    for session in all { _ = session.taken() }
    try await stage.act(.topic(.address(room.address), text: "Love", stanza: stage.draft("")), by: all[1])
    guard case .noted(.topic(let topic))? = all[0].news().first else { throw StageError.full }
    #expect(topic.text == "Love")
    #expect(topic.nick == "juliet")
    #expect(try await stage.stored(room).topic == topic)
    // Taken away.
    try await stage.act(.topic(.dialog(room.dialog), text: "", stanza: nil), by: romeo)
    #expect(try await stage.stored(room).topic?.text == "")
    let long = String(repeating: "x", count: Limits.topicBytesMax)
    try await stage.act(.topic(.dialog(room.dialog), text: long, stanza: nil), by: romeo)
    #expect(try await problem { try await stage.act(.topic(.dialog(room.dialog), text: long + "x", stanza: nil), by: romeo) }?.code == "topic-too-long")
  }

  @Test func aSlowRoomIsSlowWhateverElseIsGoingOn() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.slowModeSeconds = 30 }, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    let start = stage.clock.now.milliseconds
    try await stage.say("one", in: room, by: all[1])
    // Moderators do not wait.
    for text in ["a", "b"] { try await stage.say(text, in: room, by: all[0]) }
    stage.clock.set(start + 10_500)
    let refused = try await problem { try await stage.say("two", in: room, by: all[1]) }
    #expect(refused?.kind == .tooFast)
    #expect(refused?.retryAfter == 20)
    // The app is no way around, nor is somebody's login, nor a batch that fails.
    #expect(try await problem { try await stage.say("two", in: room, by: juliet) }?.kind == .tooFast)
    try await stage.parley.work { _ in }
    #expect(try await problem { try await stage.say("two", in: room, by: all[1]) }?.kind == .tooFast)
    try await stage.failing(.say(.address(room.address), stage.draft("x")), by: all[0])
    #expect(try await problem { try await stage.say("two", in: room, by: all[1]) }?.kind == .tooFast)
    stage.clock.set(start + 30_000)
    // What could not be stored does not count.
    try await stage.failing(.say(.address(room.address), stage.draft("lost")), by: all[1])
    try await stage.say("two", in: room, by: all[1])
    #expect(try await problem { try await stage.say("three", in: room, by: all[1]) }?.kind == .tooFast)
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.slowModeSeconds = 0 }), by: romeo)
    try await stage.say("three", in: room, by: all[1])
  }

  @Test func aRepeatIsAnsweredWithTheFirst() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.slowModeSeconds = 60 }, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    let app = RepeatKey(rule: .app, id: "m1", bodyHash: 1)
    let first = try await stage.say("hi", in: room, by: juliet, key: app)
    // Also where the author would have to wait, or to be silent.
    let again = try await stage.say("hi", in: room, by: juliet, key: app)
    #expect(again.isRepeat)
    #expect(again.entry?.position == first.entry?.position)
    #expect(all[0].news() == [.said("hi", .room)])
    let other = try await problem { try await stage.say("ho", in: room, by: juliet, key: RepeatKey(rule: .app, id: "m1", bodyHash: 2)) }
    #expect(other?.code == "client-id-reused")
    // XMPP: the same origin-id with the same content; with other content it is a new message.
    let xmpp = RepeatKey(rule: .xmpp, id: "1", bodyHash: 1)
    #expect(!(try await stage.say("a", in: room, by: all[0], key: xmpp)).isRepeat)
    #expect(try await stage.say("a", in: room, by: all[0], key: xmpp).isRepeat)
    #expect(!(try await stage.say("b", in: room, by: all[0], key: RepeatKey(rule: .xmpp, id: "1", bodyHash: 2))).isRepeat)
    #expect(all[0].news() == [.said("a", .room), .said("b", .room)])
    // In the same batch too.
    let key = RepeatKey(rule: .xmpp, id: "2", bodyHash: 1)
    try await stage.together(romeo) {
      for _ in 0..<2 { stage.submit(.say(.address(room.address), stage.draft("c", key: key)), by: all[0]) }
    }
    #expect(all[0].news() == [.said("c", .room)])
  }

  // MARK: Unread

  @Test func unreadInARoomIsWhatARecountSays() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    var generator = Seeded(11)
    var said: [(position: Position, author: UserID)] = []
    var read: [UserID: Position] = [:]
    var since: [UserID: Position] = [romeo.id: .zero, juliet.id: .zero]
    for step in 0..<160 {
      let (author, session) = Bool.random(using: &generator) ? (romeo, all[0]) : (juliet, all[1])
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<3:
        guard let target = said.randomElement(using: &generator) else { continue }
        let id = stage.parley.entryID(target.position, in: author.realm)
        try await stage.act(.marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: id)), by: author)
        read[author.id] = max(read[author.id] ?? .zero, target.position)
      case 3:
        // Notices count for nobody; neither does who comes and goes.
        try await stage.act(.topic(.dialog(room.dialog), text: "\(step)", stanza: nil), by: romeo)
      case 4 where step > 40:
        let isThere = since[paris.id] != nil
        try await stage.affiliate(paris, isThere ? .none : .member, in: room, by: romeo)
        since[paris.id] = isThere ? nil : said.last?.position ?? .zero
        read[paris.id] = nil
      case 5:
        let receipt = try await stage.say("app", in: room, by: author)
        said.append((try #require(receipt.entry).position, author.id))
      default:
        let receipt = try await stage.say("x", in: room, by: session)
        said.append((try #require(receipt.entry).position, author.id))
      }
      for user in [romeo, juliet, paris] {
        let expected = since[user.id].map { since in
          said.count { $0.author != user.id && $0.position > max(since, read[user.id] ?? .zero) }
        }
        #expect(try await stage.unread(user) == Int64(expected ?? 0), "\(user.name) after \(step)")
      }
    }
    #expect(said.count > 60)
  }

  @Test func readingTheRestInOneBatchWithMessagesCountsThem() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    let id = try #require(try await stage.say("one", in: room, by: all[0]).entry).id
    try await stage.together(romeo) {
      stage.submit(.say(.address(room.address), stage.draft("mine")), by: all[1])
      stage.submit(.say(.address(room.address), stage.draft("two")), by: all[0])
      stage.submit(.marker(.address(room.address), RoomMarkerDraft(kind: .displayed, target: id)), by: all[1])
      stage.submit(.say(.address(room.address), stage.draft("three")), by: all[0])
    }
    #expect(try await stage.unread(juliet) == 2)
    #expect(try await stage.unread(romeo) == 1)
  }

  @Test func smallRoomsHearHowFarEverybodyHasReadAndLargeOnesDoNot() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let crowd = try await stage.crowd(Limits.markersToldMax - 2)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)] + crowd.map { ($0, .watcher) })
    #expect(try await stage.stored(room).memberCount == Limits.markersToldMax)
    let all = try await stage.seats(room, romeo)
    let (phone, tablet) = (try await stage.session(juliet, "phone", door: .app), try await stage.session(romeo, "tablet", door: .app))
    func read(_ text: String, isPrivate: Bool = false) async throws {
      let id = try #require(try await stage.say(text, in: room, by: all[0]).entry).id
      for session in [all[0], phone, tablet] { _ = session.taken() }
      try await stage.act(.marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: id, isPrivate: isPrivate)), by: juliet)
    }
    try await read("one")
    #expect(tablet.news() == [.marked(.displayed, by: "juliet", told: true, asked: false)])
    #expect(all[0].news() == [.marked(.displayed, by: "juliet", told: true, asked: false)])
    #expect(phone.news() == [.marked(.displayed, by: "juliet", told: true, asked: false)])
    try await read("two", isPrivate: true)
    #expect(tablet.news() == [])
    #expect(phone.news() == [.marked(.displayed, by: "juliet", told: false, asked: false)])
    try await stage.affiliate(try await stage.user("tybalt"), .watcher, in: room, by: romeo)
    try await read("three")
    #expect(all[0].news() == [])
    #expect(phone.news() == [.marked(.displayed, by: "juliet", told: false, asked: false)])
    #expect(try await stage.unread(juliet) == 0)
  }

  @Test func aMarkerOnlyMovesForwardAndOnlyToWhatIsThere() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    let other = try await stage.room("chapel", by: romeo)
    let first = try #require(try await stage.say("one", in: room, by: romeo).entry)
    let second = try #require(try await stage.say("two", in: room, by: romeo).entry)
    let elsewhere = try #require(try await stage.say("x", in: other, by: romeo).entry)
    func mark(_ id: PublicID) -> RoomIntent { .marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: id)) }
    #expect(try await !stage.act(mark(second.id), by: juliet).isRepeat)
    #expect(try await stage.act(mark(first.id), by: juliet).isRepeat)
    #expect(try await stage.unread(juliet) == 0)
    for id in [elsewhere.id, PublicID(high: 1, low: 2)] {
      #expect(try await problem { try await stage.act(mark(id), by: juliet) }?.code == "message-unknown")
    }
    // Who is no member has nothing to mark.
    #expect(try await problem { try await stage.act(mark(second.id), by: paris) } == .roomUnknown)
  }

  // MARK: The end

  @Test func aDestroyedRoomIsGoneForEverybodyAndItsAddressStaysTaken() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .admin)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    let phone = try await stage.session(juliet, "phone", door: .app)
    #expect(try await problem { try await stage.act(.destroy(.dialog(room.dialog), reason: nil, alternate: nil), by: juliet) } == .notOwner)
    for session in all { _ = session.taken() }
    // What was said in the same batch is said first.
    try await stage.together(romeo) {
      stage.submit(.say(.address(room.address), stage.draft("last words")), by: all[2])
      stage.submit(.destroy(.address(room.address), reason: "Dawn", alternate: nil), by: all[0])
      stage.submit(.say(.address(room.address), stage.draft("too late")), by: all[2])
    }
    // 10.9: each hears of the end from themselves only.
    for (session, nick) in zip(all, ["romeo", "juliet", "paris"]) {
      #expect(session.news() == [.said("last words", .room), .occupant(nick, .none, codes: [], .roomOwn)])
    }
    #expect(phone.news() == [.said("last words", .feed), .noted(.destroyed(reason: "Dawn", alternate: nil))])
    for party in [romeo, juliet, paris] {
      #expect(try await problem { try await stage.say("x", in: room, by: party) } == .roomDestroyed)
      #expect(try await problem { try await stage.enter(room, RecordingSession(party)) } == .roomDestroyed)
      #expect(try await stage.parley.read { try $0.memberships(of: party.id).count } == 0)
      #expect(try await stage.unread(party) == 0)
    }
    #expect(try await problem { _ = try await stage.room(by: juliet) } == .roomTaken)
    // Sessions that had a seat end, and nothing is left of it.
    for session in all { try await stage.act(.vacate(session.id), by: session.party) }
  }

  @Test func whoJoinsLaterMaySeeWhatCameBeforeOnlyWhereTheRoomSaysSo() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open.with { $0.history = .sinceJoin })
    try await stage.say("before", in: room, by: romeo)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    let since = try #require(try await stage.member(juliet, of: room)).since
    try await stage.say("after", in: room, by: romeo)
    let head = try await stage.parley.read { try $0.head().position }
    #expect(try await stage.enter(room, RecordingSession(juliet))?.visibleAfter == since)
    // Another affiliation is no other beginning.
    try await stage.affiliate(juliet, .admin, in: room, by: romeo)
    #expect(try await stage.member(juliet, of: room)?.since == since)
    // Who is no member has joined nothing: from now on.
    let guest = try #require(try await stage.enter(room, RecordingSession(paris)))
    #expect(guest.visibleAfter >= head)
    #expect(guest.visibleAfter == guest.position)
    #expect(try await stage.enter(room, RecordingSession(romeo))?.visibleAfter ?? .end < since)
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.history = .all }), by: romeo)
    #expect(try await stage.enter(room, RecordingSession(juliet))?.visibleAfter == .zero)
    // Who leaves and comes back begins anew.
    try await stage.affiliate(juliet, .none, in: room, by: romeo)
    try await stage.affiliate(juliet, .member, in: room, by: romeo)
    #expect(try #require(try await stage.member(juliet, of: room)).since > since)
  }
}
