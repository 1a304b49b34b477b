import Accounts
import Addresses
import Basics
import Dialogs
import DialogsFixtures
import Testing

/// Messages in rooms, and their deliveries to others.
@Suite struct RoomTalkTests {
  @Test func aMessageReachesEverybodyAndItsAuthor() async throws {
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
    for session in all { #expect(session.effects() == [.said("hi", .room)]) }
    #expect(phone.effects() == [.said("hi", .feed)])
    // Sequences are dense, notices included.
    let next = try await stage.say("ho", in: room, by: paris)
    guard case .message(let second)? = next.entry?.fact else { throw StageError.full }
    #expect(second.sequence == message.sequence + 1)
  }

  @Test func aMemberWhoIsNotThereSpeaksFromTheAppAWatcherDoesNot() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(
      by: romeo, .open.with { $0.isModerated = true }, with: [(juliet, .member), (paris, .watcher)])
    let orchard = try await stage.seats(room, romeo)[0]
    try await stage.say("from afar", in: room, by: juliet)
    // The message makes no presence: a user does not enter the room by speaking.
    #expect(orchard.effects() == [.said("from afar", .room)])
    #expect(try await problem { try await stage.say("x", in: room, by: paris) } == .noVoice)
    #expect(
      try await problem { try await stage.act(.topic(.dialog(room.dialog), text: "x", stanza: nil), by: paris) }
        == .notModerator)
    // XMPP speaks as an occupant only.
    #expect(try await problem { try await stage.say("x", in: room, by: RecordingSession(juliet)) } == .notOccupant)
    // A user who is no member does not speak from the app.
    #expect(
      try await problem { try await stage.say("x", in: room, by: try await stage.user("tybalt")) } == .roomUnknown)
  }

  /// The change counts at once, also for who is there; voice that a moderator gives does not count.
  @Test func inAReadOnlyRoomOnlyAdminsAndOwnersSpeak() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let tybalt = try await stage.user("tybalt")
    let room = try await stage.room(by: romeo, with: [(juliet, .member), (paris, .admin), (tybalt, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    func setReadOnly(_ isReadOnly: Bool, by author: Party) async throws {
      let draft = SettingsDraft.change {
        $0.isReadOnly = isReadOnly
        $0.participantsSetTopic = true
        $0.whispers = .participants
      }
      try await stage.act(.configure(.dialog(room.dialog), draft), by: author)
    }
    try await stage.say("before", in: room, by: all[1])
    #expect(try await problem { try await setReadOnly(true, by: paris) } == .notOwner)
    try await setReadOnly(true, by: romeo)
    #expect(try await problem { try await stage.say("x", in: room, by: all[1]) } == .noVoice)
    #expect(try await problem { try await stage.say("x", in: room, by: juliet) } == .noVoice)
    #expect(try await problem { try await stage.say("x", in: room, by: tybalt) } == .noVoice)
    #expect(
      try await problem { try await stage.act(.signal(.dialog(room.dialog), typing(juliet, room)), by: juliet) }
        == .noVoice)
    try await stage.role("juliet", .visitor, in: room, by: all[0])
    try await stage.role("juliet", .participant, in: room, by: all[0])
    #expect(try await problem { try await stage.say("x", in: room, by: all[1]) } == .noVoice)
    let topic = RoomIntent.topic(.dialog(room.dialog), text: "x", stanza: nil)
    #expect(try await problem { try await stage.act(topic, by: juliet) } == .notModerator)
    // Those with voice may write to each other, and to moderators everybody.
    let seat = RecordingSession(tybalt)
    try await stage.enter(room, seat)
    let toTybalt = RoomIntent.pass(.address(room.address), nick: "tybalt", whisper(juliet))
    #expect(try await problem { try await stage.act(toTybalt, by: all[1]) } == .noWhispers)
    try await stage.act(.pass(.address(room.address), nick: "romeo", whisper(juliet)), by: all[1])
    try await stage.say("from the owner", in: room, by: all[0])
    try await stage.say("from an admin who is not there", in: room, by: paris)
    try await setReadOnly(false, by: romeo)
    try await stage.say("after", in: room, by: all[1])
    try await stage.act(topic, by: juliet)
    try await stage.act(toTybalt, by: all[1])
    try await stage.act(.exit(.address(room.address), nil), by: seat)
    try await stage.say("from afar", in: room, by: tybalt)
  }

  @Test func aSilencedOccupantIsSilentInTheAppToo() async throws {
    let stage = try Stage()
    let (romeo, juliet, _) = try await cast(stage)
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let all = try await stage.seats(room, romeo, juliet)
    try await stage.role("juliet", .visitor, in: room, by: all[0])
    #expect(try await problem { try await stage.say("x", in: room, by: juliet) } == .noVoice)
    #expect(
      try await problem { try await stage.act(.signal(.dialog(room.dialog), typing(juliet, room)), by: juliet) }
        == .noVoice)
    // Another nick gives no voice back.
    try await stage.act(.register(.dialog(room.dialog), nick: "Capulet"), by: juliet)
    #expect(try await problem { try await stage.say("x", in: room, by: all[1]) } == .noVoice)
    // A silenced occupant changes the nick once a minute.
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    try await stage.act(
      .members(.dialog(room.dialog), [MemberDraft(address: juliet.address, affiliation: nil, nick: "Jule")]), by: juliet
    )
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
    let stanza = RoomMessageDraft(
      content: Content(kind: .none, extras: Array("<x/>".utf8)), envelope: Envelope(), traits: [], key: nil)
    try await stage.act(
      .marker(.address(room.address), RoomMarkerDraft(kind: .displayed, target: id, stanza: stanza)), by: all[1])
    #expect(!all[0].effects().contains(.relayed(.room)))
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
    #expect(all[0].effects() == [.relayed(.room)])
    #expect(yours.effects() == [.relayed(.feed)])
    #expect(mine.effects() == [])
    #expect(try await stage.stored(room) == before)
  }

  private func typing(_ author: Party, _ room: RoomName) -> RelayedStanza {
    RelayedStanza(
      name: .message(.groupchat), from: author, fromResource: nil, to: room.address, toResource: nil, id: nil,
      extras: [], typing: true)
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
    #expect(all[1].effects() == [.relayed(.room)])
    #expect(chamber.effects() == [.relayed(.room)])
    #expect(all[2].effects() == [])
    #expect(all[0].effects() == [])
    try await stage.act(.pass(.address(room.address), nick: "juliet", whisper(romeo, .iq("get"))), by: all[0])
    #expect(all[1].effects() + chamber.effects() == [.relayed(.room)])
    #expect(
      try await problem {
        try await stage.act(.pass(.address(room.address), nick: "tybalt", whisper(romeo)), by: all[0])
      } == .occupantUnknown)
    // A sender who is not in the room is no occupant.
    #expect(
      try await problem {
        try await stage.act(.pass(.address(room.address), nick: "juliet", whisper(romeo)), by: RecordingSession(romeo))
      } == .notOccupant)
  }

  @Test(arguments: [RoomSettings.Whispers.anyone, .participants, .moderators, .none])
  func theRoomDecidesWhoMayWhisperAndModeratorsCanAlwaysBeAsked(_ whispers: RoomSettings.Whispers) async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(
      by: romeo,
      .open.with {
        $0.isModerated = true
        $0.whispers = whispers
      }, with: [(juliet, .member)])
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
        // A request that somebody is shown passes as they do, one that a client answers by itself passes everywhere.
        let request = try await problem {
          try await stage.act(
            .pass(.address(room.address), nick: target, whisper(author.party, .iq("set"))), by: author)
        }
        #expect(request == (isAllowed || target == author.party.name ? nil : .noWhispers))
        let question = try await problem {
          try await stage.act(
            .pass(.address(room.address), nick: target, whisper(author.party, .iq("get")), isQuestion: true),
            by: author)
        }
        #expect(question == nil)
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
    #expect(all[1].effects() == [.said("hi", .room)])
    // The request succeeds as if it had arrived: a blocked user does not learn of the block.
    try await stage.act(.pass(.address(room.address), nick: "juliet", whisper(romeo)), by: all[0])
    #expect(all[1].effects() == [])
    for (type, isQuestion) in [("set", false), ("get", false), ("get", true)] {
      let refused = try await problem {
        try await stage.act(
          .pass(.address(room.address), nick: "juliet", whisper(romeo, .iq(type)), isQuestion: isQuestion), by: all[0])
      }
      #expect(refused?.code == "occupant-unreachable", "\(type)")
    }
    #expect(all[1].effects() == [])
    // Neither an invitation nor its refusal is a way around the block.
    let chapel = try await stage.room("chapel", by: romeo, .open)
    try await stage.act(.invite(.dialog(chapel.dialog), to: juliet.address, reason: nil), by: romeo)
    try await stage.act(.decline(.address(room.address), to: juliet.address, reason: "It is the east"), by: romeo)
    #expect(all[1].effects() == [])
    try await stage.act(.invite(.dialog(room.dialog), to: paris.address, reason: nil), by: juliet)
    try await stage.act(.decline(.address(room.address), to: juliet.address, reason: "no"), by: paris)
    #expect(all[1].effects() == [.notice(.declined(by: paris.address, reason: "no"))])
  }

  /// A user who blocks another one looks absent to them (XEP-0191 3.3).
  @Test func aBlockerCannotBeToldFromAnAbsentUser() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    try await stage.accounts.setState(of: paris.id, .disabled)
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
    #expect(
      try await problem { try await stage.act(.topic(.dialog(room.dialog), text: "Love", stanza: nil), by: juliet) }
        == .notModerator)
    try await stage.act(.configure(.dialog(room.dialog), .change { $0.participantsSetTopic = true }), by: romeo)
    for session in all { _ = session.taken() }
    try await stage.act(.topic(.address(room.address), text: "Love", stanza: stage.draft("")), by: all[1])
    guard case .noted(.topic(let topic))? = all[0].effects().first else { throw StageError.full }
    #expect(topic.text == "Love")
    #expect(topic.nick == "juliet")
    #expect(try await stage.stored(room).topic == topic)
    // Taken away.
    try await stage.act(.topic(.dialog(room.dialog), text: "", stanza: nil), by: romeo)
    #expect(try await stage.stored(room).topic?.text == "")
    let long = String(repeating: "x", count: Limits.topicBytesMax)
    try await stage.act(.topic(.dialog(room.dialog), text: long, stanza: nil), by: romeo)
    #expect(
      try await problem { try await stage.act(.topic(.dialog(room.dialog), text: long + "x", stanza: nil), by: romeo) }?
        .code == "topic-too-long")
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
    // A message that could not be stored does not count.
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
    #expect(all[0].effects() == [.said("hi", .room)])
    let other = try await problem {
      try await stage.say("ho", in: room, by: juliet, key: RepeatKey(rule: .app, id: "m1", bodyHash: 2))
    }
    #expect(other?.code == "client-id-reused")
    // XMPP: the same origin-id with the same content; with other content it is a new message.
    let xmpp = RepeatKey(rule: .xmpp, id: "1", bodyHash: 1)
    #expect(!(try await stage.say("a", in: room, by: all[0], key: xmpp)).isRepeat)
    #expect(try await stage.say("a", in: room, by: all[0], key: xmpp).isRepeat)
    #expect(
      !(try await stage.say("b", in: room, by: all[0], key: RepeatKey(rule: .xmpp, id: "1", bodyHash: 2))).isRepeat)
    #expect(all[0].effects() == [.said("a", .room), .said("b", .room)])
    // A repeat is detected in the same batch, too.
    let key = RepeatKey(rule: .xmpp, id: "2", bodyHash: 1)
    try await stage.together(romeo) {
      for _ in 0..<2 { stage.submit(.say(.address(room.address), stage.draft("c", key: key)), by: all[0]) }
    }
    #expect(all[0].effects() == [.said("c", .room)])
  }
}
