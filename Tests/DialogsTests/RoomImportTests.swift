import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Testing

@testable import Dialogs

/// Rooms that come from another server (docs/decisions/0036): at the time of their first message, with their people and
/// archive, and nobody is told.
@Suite struct RoomImportTests {
  private static let start: Int64 = 1_600_000_000_000

  private func address(_ stage: Stage, _ name: String = "hall") throws -> BareJID {
    try BareJID(local: name, domain: stage.parley.realms[0].rooms)
  }

  /// A user whose first login writes no profile.
  private func nameless(_ name: String, _ stage: Stage) async throws -> Party {
    let address = try BareJID("\(name)@localhost")
    let (realm, now) = (stage.parley.realms[0].id, stage.clock.now)
    return try await stage.parley.work {
      try $0.insertUser(address, in: realm, profile: Profile(), createdAt: now).party
    }
  }

  private func room(_ address: BareJID, owners: [BareJID], at time: Int64? = start) -> Intent {
    .imported(
      .room(
        ImportedRoom(
          address: address,
          settings: SettingsDraft {
            $0.name = "Hall"
            $0.isMembersOnly = true
            $0.history = .sinceJoin
          }, owners: owners, topic: "Masks", topicNick: "Cap", time: time.map { Timestamp(milliseconds: $0) })))
  }

  private func message(
    _ text: String, at time: Int64, in room: BareJID, nick: String = "Romy", by author: BareJID? = nil,
    topic: String? = nil
  ) -> Intent {
    .imported(
      .roomMessage(
        ImportedRoomMessage(
          room: room, time: Timestamp(milliseconds: time), nick: nick, author: author, topic: topic,
          draft: RoomMessageDraft(
            content: Content(
              kind: topic == nil ? .text : .none, text: text, extras: Array("<body>\(text)</body>".utf8)),
            envelope: Envelope(type: .groupchat, id: text), traits: [.archived], key: nil))))
  }

  private func person(
    _ room: BareJID, _ jid: BareJID, _ affiliation: Affiliation, nick: String? = nil
  ) -> Intent {
    .imported(
      .roomPerson(
        ImportedRoomPerson(room: room, member: MemberDraft(address: jid, affiliation: affiliation, nick: nick))))
  }

  @Test func aRoomIsAsItWasAndNobodyIsTold() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await nameless("juliet", stage))
    let session = try await stage.session(juliet, "phone", door: .app)
    let hall = try address(stage)
    let gone = try BareJID("gone@localhost")
    let made = try await stage.parley.post(room(hall, owners: [gone, romeo.address]), by: Parley.nobody)
    let name = try #require(made.room?.name)
    for intent in [
      message("one", at: Self.start, in: hall, by: romeo.address),
      message("two", at: Self.start + 1_000, in: hall, nick: "Who?"),
      message("three", at: Self.start + 2_000, in: hall, nick: "Gone", by: gone),
      message("", at: Self.start + 3_000, in: hall, by: romeo.address, topic: "No masks"),
      person(hall, romeo.address, .owner, nick: "Romy"), person(hall, juliet.address, .member, nick: "Jule"),
      person(hall, gone, .outcast),
    ] {
      #expect(try await !stage.parley.post(intent, by: Parley.nobody).isRepeat)
      #expect(try await stage.parley.post(intent, by: Parley.nobody).isRepeat)
    }
    #expect(try await stage.parley.post(room(hall, owners: [juliet.address]), by: Parley.nobody).isRepeat)
    #expect(session.deliveries().isEmpty)

    let stored = try await stage.stored(name)
    #expect(stored.createdAt.milliseconds == Self.start)
    #expect(stored.settings.name == "Hall" && stored.settings.lifetime == .persistent)
    #expect(stored.topic?.text == "No masks" && stored.memberCount == 2)
    #expect(try await stage.member(romeo, of: name)?.nick == "Romy")
    #expect(try await stage.member(juliet, of: name)?.affiliation == .member)
    let bans = try await stage.parley.read { try $0.addressBans(of: .server(name.dialog, .rules)).map(\.address) }
    #expect(bans == [gone])
    // Nothing of it is unread, and members find the room in their lists.
    let views = try await stage.parley.read { try $0.rooms(of: .own(juliet), before: .end, limit: 9) }
    #expect(views.map(\.room.id) == [name.dialog])
    #expect(views.map { $0.mark.unread(ordinal: stored.ordinal) } == [0])
    let occupied = try await stage.enter(name, RecordingSession(juliet), "Jule")
    #expect(occupied?.messages != nil)
    // Whoever spoke under a nick is nobody who can log in, and the same person whenever they spoke.
    let authors = try await stage.parley.read { reader in
      try reader.archive(of: .server(name.dialog, .rules), ArchiveQuery(limit: 9)).entries.map(\.author.address)
    }
    #expect(authors.first == romeo.address)
    #expect(authors.dropFirst().prefix(2).allSatisfy { $0.domain == "\(hall.domain).invalid" })
    #expect(Set(authors).count == 3)
  }

  @Test func nicksThatLookAlikeStay() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let hall = try address(stage)
    let made = try await stage.parley.post(room(hall, owners: [romeo.address]), by: Parley.nobody)
    let name = try #require(made.room?.name)
    let copy = "R\u{43E}my"
    for intent in [
      person(hall, romeo.address, .owner, nick: "Romy"), person(hall, juliet.address, .member, nick: copy),
    ] {
      _ = try await stage.parley.post(intent, by: Parley.nobody)
    }
    #expect(try await stage.member(juliet, of: name)?.nick == copy)
    // Whoever has it enters with it.
    #expect(try await stage.enter(name, RecordingSession(juliet), copy)?.own.nick == copy)
  }

  @Test func whatDoesNotFitIsRefusedAndChangesNothing() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let hall = try address(stage)
    let refused: [(Intent, String)] = [
      (room(try BareJID("hall@elsewhere.example"), owners: [romeo.address]), "domain-not-served"),
      (room(hall, owners: [try BareJID("gone@localhost")]), "owner-unknown"),
      (message("one", at: Self.start, in: hall), "room-unknown"),
      (person(hall, romeo.address, .member), "room-unknown"),
    ]
    for (intent, code) in refused {
      let problem = await #expect(throws: Problem.self) { try await stage.parley.post(intent, by: Parley.nobody) }
      #expect(problem?.code == code)
    }
    #expect(try await stage.parley.read { try $0.room(at: hall) } == nil)
    _ = try await stage.say("new", from: romeo, to: romeo)
    // The log has gone on: the room is made now, and its history is refused.
    let made = try await stage.parley.post(room(hall, owners: [romeo.address]), by: Parley.nobody)
    #expect(made.room.map { $0.createdAt.milliseconds > Self.start } == true)
    for intent in [
      message("late", at: Self.start, in: hall), message("future", at: Self.start * 2, in: hall),
      person(hall, try BareJID("gone@localhost"), .member), person(hall, romeo.address, .owner, nick: " "),
    ] {
      await #expect(throws: Problem.self) { try await stage.parley.post(intent, by: Parley.nobody) }
    }
  }

  /// A room that came without its archive, whose history follows in a later import.
  @Test func aRoomInWhichNobodySaidAnythingDoesNotStandInTheWayOfHistory() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await nameless("juliet", stage))
    let (hall, garden) = (try address(stage), try address(stage, "garden"))
    let made = try await stage.parley.post(room(hall, owners: [romeo.address], at: nil), by: Parley.nobody)
    #expect(made.room.map { $0.createdAt.milliseconds > Self.start } == true)
    try await stage.parley.post(person(hall, juliet.address, .member, nick: "Jule"), by: Parley.nobody)
    let said = message("one", at: Self.start, in: hall, by: romeo.address)
    #expect(try await stage.parley.post(said, by: Parley.nobody).entry?.time.milliseconds == Self.start)
    #expect(try await stage.parley.post(said, by: Parley.nobody).isRepeat)
    // Neither does a setting: the next room is as old as its first message.
    try await stage.parley.post(.profile(ProfileDraft(displayName: "R.")), by: romeo)
    let next = try await stage.parley.post(
      room(garden, owners: [romeo.address], at: Self.start + 1_000), by: Parley.nobody)
    #expect(next.room?.createdAt.milliseconds == Self.start + 1_000)
  }
}
