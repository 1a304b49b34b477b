import Addresses
import Dialogs
import DialogsFixtures
import StoreConformance
import Testing

/// Private messages between the occupants of a room (XEP-0045 7.5).
@Suite struct WhisperTests {
  private struct Scene {
    let stage: Stage
    let room: RoomName
    let romeo, juliet, paris: Party
    let orchard, balcony, street: RecordingSession
  }

  private func scene(_ settings: RoomSettings = .open) async throws -> Scene {
    let stage = try Stage()
    let (romeo, juliet, paris) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("paris")
    )
    let room = try await stage.room(by: romeo, settings, with: [(juliet, .member), (paris, .member)])
    let all = try await stage.seats(room, romeo, juliet, paris)
    return Scene(
      stage: stage, room: room, romeo: romeo, juliet: juliet, paris: paris, orchard: all[0], balcony: all[1],
      street: all[2])
  }

  private func draft(
    _ text: String, id: String? = nil, traits: Message.Traits = [.counts, .archived]
  ) -> RoomMessageDraft {
    RoomMessageDraft(
      content: Content(kind: .text, text: text), envelope: Envelope(type: .chat, fromResource: "orchard", id: id),
      traits: traits, key: id.map { RepeatKey(rule: .xmpp, id: $0, bodyHash: UInt64(text.utf8.count)) })
  }

  private func whisper(_ text: String, to nick: String, id: String? = nil, _ scene: Scene) -> RoomIntent {
    .whisper(.address(scene.room.address), nick: nick, draft(text, id: id))
  }

  private func archive(_ party: Party, with dialog: DialogID? = nil, _ stage: Stage) async throws -> [Entry] {
    var query = ArchiveQuery(limit: 99)
    query.with = dialog
    return try await stage.parley.read { [query] in try $0.archive(of: party.id, query).entries }
  }

  @Test func aWhisperIsAnEntryOfBothUsersAndOfNobodyElse() async throws {
    let scene = try await scene()
    let stage = scene.stage
    let before = try await stage.stored(scene.room)
    let receipt = try await stage.act(whisper("psst", to: "JULIET", scene), by: scene.orchard)
    #expect(scene.balcony.effects() == [.said("psst", .direct)])
    #expect(scene.street.effects() == [])
    #expect(scene.orchard.effects() == [])
    let entry = try #require(receipt.entry)
    #expect(entry.place == .whisper(to: scene.juliet, in: scene.room, nick: "romeo"))
    #expect(entry.peer == nil)
    #expect(entry.room == nil)
    guard case .message(let message) = entry.fact else { return #expect(Bool(false), "no message") }
    // The nick as the room has it; the author's own end as it was written.
    #expect(message.envelope.toResource == "juliet")
    #expect(message.envelope.fromResource == "orchard")
    #expect(message.traits == [.archived])
    for party in [scene.romeo, scene.juliet] {
      #expect(try await archive(party, stage).map(\.position) == [entry.position])
      #expect(try await archive(party, with: scene.room.dialog, stage).map(\.position) == [entry.position])
    }
    #expect(try await archive(scene.paris, stage).isEmpty)
    // Nothing of it in the room, and nothing where the two are known by address.
    #expect(try await stage.stored(scene.room) == before)
    let direct = try await stage.parley.post(.openDialog(scene.juliet.address), by: scene.romeo)
    #expect(!direct.isRepeat)
    #expect(direct.dialog?.id != entry.dialog)
  }

  /// The app gets no event, lists nothing and counts nothing.
  @Test func noAppSeesAWhisper() async throws {
    let scene = try await scene()
    let stage = scene.stage
    let phones = [
      try await stage.session(scene.romeo, "phone", door: .app),
      try await stage.session(scene.juliet, "phone", door: .app),
    ]
    let unread = try await stage.unread(scene.juliet)
    let head = try await stage.parley.read { try $0.head().position }
    for session in phones + [scene.balcony] { _ = session.taken() }
    let entry = try #require(try await stage.act(whisper("psst", to: "juliet", scene), by: scene.orchard).entry)
    // Her XMPP session heard it: what is behind it has come to all.
    #expect(scene.balcony.effects() == [.said("psst", .direct)])
    for phone in phones { #expect(phone.effects() == []) }
    #expect(try await stage.unread(scene.juliet) == unread)
    for party in [scene.romeo, scene.juliet] {
      let (dialogs, one, feed) = try await stage.parley.read { reader in
        (
          try reader.dialogs(of: party.id, before: .end, limit: 9), try reader.dialog(entry.dialog),
          try reader.feed(of: party.id, rooms: [(scene.room.dialog, .zero)], after: head, limit: 9)
        )
      }
      #expect(dialogs.isEmpty)
      #expect(one == nil)
      #expect(feed.isEmpty)
    }
  }

  @Test func itReachesAllSeatsOfTheOneAndCopiesThoseOfTheOther() async throws {
    let scene = try await scene()
    let stage = scene.stage
    // Two more of each; of the author's one wants copies, and one is not in the room.
    let commitLoop = try await stage.session(scene.romeo, "desk")
    let plain = try await stage.session(scene.romeo, "plain")
    let away = try await stage.session(scene.romeo, "away")
    let chamber = try await stage.session(scene.juliet, "chamber")
    for session in [commitLoop, away, chamber] { stage.parley.hub.update(session) { $0.carbons = true } }
    for session in [commitLoop, plain, chamber] { try await stage.enter(scene.room, session) }
    let all = [scene.orchard, scene.balcony, scene.street, commitLoop, plain, away, chamber]
    for session in all { _ = session.taken() }
    try await stage.act(whisper("psst", to: "juliet", scene), by: scene.orchard)
    #expect(scene.balcony.effects() == [.said("psst", .direct)])
    // The delivery is no copy of the one to the other session.
    #expect(chamber.effects() == [.said("psst", .direct)])
    #expect(commitLoop.effects() == [.said("psst", .carbonSent)])
    for session in [scene.orchard, scene.street, plain, away] { #expect(session.effects() == []) }
    // Its author may not want copies.
    try await stage.act(
      .whisper(.address(scene.room.address), nick: "juliet", draft("hush", traits: [.archived, .uncopied])),
      by: scene.orchard)
    #expect(scene.balcony.effects() == [.said("hush", .direct)])
    #expect(commitLoop.effects() == [])
    // A whisper to oneself is delivered to all sessions of the author, and the archive has it once.
    try await stage.act(whisper("note", to: "romeo", scene), by: scene.orchard)
    for session in [scene.orchard, commitLoop, plain] { #expect(session.effects() == [.said("note", .direct)]) }
    #expect(try await archive(scene.romeo, stage).count == 3)
  }

  @Test func aRepeatIsRecognised() async throws {
    let scene = try await scene()
    let stage = scene.stage
    let first = try await stage.act(whisper("psst", to: "juliet", id: "m1", scene), by: scene.orchard)
    let again = try await stage.act(whisper("psst", to: "juliet", id: "m1", scene), by: scene.orchard)
    #expect(!first.isRepeat)
    #expect(again.isRepeat)
    #expect(again.entry?.position == first.entry?.position)
    #expect(scene.balcony.effects() == [.said("psst", .direct)])
    // The same id with other content, or to somebody else, is another message.
    #expect(try await !stage.act(whisper("hush!", to: "juliet", id: "m1", scene), by: scene.orchard).isRepeat)
    #expect(try await !stage.act(whisper("psst", to: "paris", id: "m1", scene), by: scene.orchard).isRepeat)
    // It is told once it is durable, or not at all.
    stage.store.failNext(1)
    await #expect(throws: Problem.storage) {
      try await stage.act(whisper("lost", to: "juliet", scene), by: scene.orchard)
    }
    #expect(scene.balcony.effects() == [.said("hush!", .direct)])
    #expect(try await archive(scene.juliet, stage).count == 2)
  }

  @Test func aRefusedWhisperLeavesNothing() async throws {
    let scene = try await scene(.open.with { $0.whispers = .moderators })
    let stage = scene.stage
    let guest = RecordingSession(scene.paris)
    #expect(try await problem { try await stage.act(whisper("x", to: "romeo", scene), by: guest) } == .notOccupant)
    #expect(
      try await problem { try await stage.act(whisper("x", to: "tybalt", scene), by: scene.orchard) }
        == .occupantUnknown)
    #expect(
      try await problem { try await stage.act(whisper("x", to: "paris", scene), by: scene.balcony) } == .noWhispers)
    // Moderators can be asked, and ask.
    try await stage.act(whisper("a", to: "romeo", scene), by: scene.balcony)
    try await stage.act(whisper("b", to: "juliet", scene), by: scene.orchard)
    // A user who has left the room gets no whispers, now or later.
    try await stage.act(.exit(.address(scene.room.address), nil), by: scene.balcony)
    _ = scene.balcony.taken()
    #expect(
      try await problem { try await stage.act(whisper("c", to: "juliet", scene), by: scene.orchard) }
        == .occupantUnknown)
    let back = try await stage.session(scene.juliet, "back")
    try await stage.enter(scene.room, back)
    #expect(!back.effects().contains { if case .said = $0 { true } else { false } })
    #expect(try await archive(scene.juliet, stage).count == 2)
    #expect(try await archive(scene.paris, stage).isEmpty)
  }

  @Test func aSenderBlockedByAddressOrByNickIsNotHeard() async throws {
    let scene = try await scene()
    let stage = scene.stage
    try await stage.parley.post(.block([BlockPattern(JID(scene.romeo.address))]), by: scene.juliet)
    try await stage.parley.post(.block([BlockPattern(try JID("verona@conference.localhost/romeo"))]), by: scene.paris)
    for session in [scene.balcony, scene.street] { _ = session.taken() }
    for nick in ["juliet", "paris"] {
      try await stage.act(whisper("psst", to: nick, scene), by: scene.orchard)
    }
    for session in [scene.balcony, scene.street] { #expect(session.effects() == []) }
    for party in [scene.romeo, scene.juliet, scene.paris] { #expect(try await archive(party, stage).isEmpty) }
    // A user who blocks an occupant cannot write to them; one who blocks a user does not learn that the occupant is
    // that user.
    #expect(
      try await problem { try await stage.act(whisper("x", to: "romeo", scene), by: scene.street) }?.kind == .blocked)
    try await stage.act(whisper("y", to: "romeo", scene), by: scene.balcony)
    #expect(scene.orchard.effects() == [.said("y", .direct)])
  }

  @Test func whispersCanBeCorrectedAndRetractedByTheirAuthor() async throws {
    let scene = try await scene()
    let stage = scene.stage
    let said = try #require(
      try await stage.act(whisper("psst", to: "juliet", id: "m1", scene), by: scene.orchard).entry)
    var correction = draft("psssst", id: "m2")
    correction.reference = ReferenceDraft(kind: .correction, target: .stanza("m1"))
    let corrected = try #require(
      try await stage.act(.whisper(.address(scene.room.address), nick: "juliet", correction), by: scene.orchard).entry)
    func state() async throws -> MessageState? {
      try await stage.parley.read { try $0.entry(said.position, in: said.dialog)?.state }
    }
    #expect(try await state()?.text == "psssst")
    // The other one may not.
    var retraction = draft("gone")
    retraction.reference = ReferenceDraft(kind: .retraction(reason: nil), target: .stanza("m1"))
    try await stage.act(.whisper(.address(scene.room.address), nick: "romeo", retraction), by: scene.balcony)
    #expect(try await state()?.retraction == nil)
    try await stage.act(.whisper(.address(scene.room.address), nick: "juliet", retraction), by: scene.orchard)
    #expect(try await state()?.retraction?.by == scene.romeo)
    #expect(
      try await stage.parley.read { try $0.entry(corrected.position, in: corrected.dialog)?.state?.retraction } != nil)
    #expect(try await archive(scene.juliet, stage).count == 4)
  }
}
