import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Testing

@testable import Dialogs

/// Messages of several files, forwards, pins, and what one deletes for oneself.
@Suite struct MessageTests {
  private static let files = (1...3).map { Attachment(blob: nil, url: "https://elsewhere.example/\($0).png") }
  private static let traits: Message.Traits = [.counts, .archived, .replayed, .markable, .receipted, .fromApp]

  private func draft(
    to peer: Party, _ content: Content, key: String? = nil, reference: ReferenceDraft? = nil,
    forward: ForwardDraft? = nil
  ) -> Intent {
    .message(
      MessageDraft(
        to: peer.address, content: content, envelope: Envelope(type: .chat, id: key), traits: Self.traits,
        key: key.map { RepeatKey(rule: .app, id: $0, bodyHash: 1) }, reference: reference, forward: forward))
  }

  private func album(_ text: String = "Look") -> Content {
    Content(kind: .image, text: text, attachments: Self.files)
  }

  private func message(_ entry: Entry?) throws -> Message {
    guard case .message(let message)? = entry?.fact else { throw StageError.full }
    return message
  }

  private func entries(_ session: RecordingSession) -> [Entry] {
    session.deliveries().compactMap { delivery -> Entry? in
      guard case .entry(let entry, _) = delivery else { return nil }
      return entry
    }
  }

  private func state(_ entry: Entry, _ stage: Stage) async throws -> MessageState? {
    try await stage.parley.read { try $0.entry(entry.position, in: entry.dialog)?.state }
  }

  private func unread(_ party: Party, _ stage: Stage) async throws -> Int64 {
    try await stage.parley.read { try $0.unread(of: party.id) }
  }

  private func hide(_ entry: Entry, _ party: Party, _ stage: Stage) async throws {
    try await stage.parley.post(.perUser(entry.dialog, .hide(entry.id)), by: party)
  }

  // MARK: Several files

  @Test func aMessageOfSeveralFilesIsSeveralEntriesAndCountsOnce() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let session = try await stage.session(juliet, "phone", door: .app)
    let receipt = try await stage.parley.post(draft(to: juliet, album(), key: "a"), by: romeo)
    let head = try #require(receipt.entry)
    #expect(try message(head).parts == 3)
    let told = entries(session)
    let positions = [0, 1, 2, 3].map { head.position.number + $0 }
    #expect(told.map(\.position.number) == positions)
    let parts = try told.dropFirst().map { try message($0) }
    #expect(parts.map(\.content.attachments) == [[Self.files[1]], [Self.files[2]], []])
    #expect(parts.map(\.content.text) == ["", "", "Look"])
    #expect(parts.allSatisfy { $0.sequence == 0 && $0.reference?.kind == .part && $0.reference?.targetID == head.id })
    #expect(parts.allSatisfy { !$0.traits.contains(.counts) && !$0.traits.contains(.receipted) })
    #expect(try await unread(juliet, stage) == 1)
    // A repeat is the first, and says nothing again.
    let again = try await stage.parley.post(draft(to: juliet, album(), key: "a"), by: romeo)
    #expect(again.isRepeat && again.entry?.position == head.position)
    #expect(session.taken().isEmpty)
    let history = try await stage.parley.read {
      try $0.history(of: head.dialog, after: .zero, before: .end, limit: 9, ascending: true).map(\.position)
    }
    #expect(history == [head.position])
    let feed = try await stage.parley.read { try $0.feed(of: juliet.id, after: .zero, limit: 99).map(\.position) }
    #expect(feed.filter { $0 >= head.position } == [head.position])
    let archive = try await stage.parley.read { try $0.archive(of: juliet.id, ArchiveQuery(limit: 9)).entries.count }
    #expect(archive == 4)
  }

  @Test(arguments: [0, 1, 3]) func whateverPartIsNamedAllOfItIsTakenBack(_ number: Int64) async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let head = try #require(try await stage.parley.post(draft(to: juliet, album()), by: romeo).entry)
    let session = try await stage.session(juliet, "balcony")
    let named = stage.parley.entryID(Position(head.position.number + number), in: romeo.realm)
    let receipt = try await stage.parley.post(
      draft(
        to: juliet, Content(kind: .none),
        reference: ReferenceDraft(kind: .retraction(reason: "no"), target: .stanza(named.description))), by: romeo)
    #expect(try message(receipt.entry).reference?.targetID == head.id)
    let told = entries(session)
    // The first is the author's own stanza; the others name what it did not.
    #expect(told.count == 4)
    let targets = try told.dropFirst().compactMap { try message($0).reference?.target.number }
    let others = [0, 1, 2, 3].filter { $0 != number }.map { head.position.number + $0 }
    #expect(targets == others)
    for part in 0...Int64(3) {
      let found = try await stage.parley.read {
        try $0.entry(Position(head.position.number + part), in: head.dialog)
      }
      #expect(found?.state?.retraction?.reason == "no")
      #expect(try message(found).content.attachments.isEmpty)
      #expect(try message(found).content.text.isEmpty)
    }
  }

  @Test func aReferenceToAPartIsOneToTheMessage() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let head = try #require(try await stage.parley.post(draft(to: juliet, album()), by: romeo).entry)
    let caption = stage.parley.entryID(Position(head.position.number + 3), in: romeo.realm)
    _ = try await stage.parley.post(
      draft(
        to: romeo, Content(kind: .none),
        reference: ReferenceDraft(kind: .reactions(["x"]), target: .entry(caption))), by: juliet)
    #expect(try await state(head, stage)?.reactions.map(\.emoji) == [["x"]])
    // The text of an edit is the new caption, and XMPP clients are told so.
    let edit = try await stage.parley.post(
      draft(
        to: juliet, Content(kind: .text, text: "Anew"),
        reference: ReferenceDraft(kind: .correction, target: .entry(head.id))), by: romeo)
    #expect(try message(edit.entry).reference?.targetStanzaID == caption.description)
    #expect(try await state(head, stage)?.text == "Anew")
    let marked = try await stage.parley.post(
      .marker(MarkerDraft(with: romeo.address, kind: .displayed, target: .entry(caption))), by: juliet)
    guard case .marker(let marker)? = marked.entry?.fact else { throw StageError.full }
    #expect(marker.mark.displayed == head.position)
    #expect(try await unread(juliet, stage) == 0)
  }

  @Test func aModeratorRetractsAllPartsOfAMessageInARoom() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    let said = try await stage.act(
      .say(
        .dialog(room.dialog),
        RoomMessageDraft(
          content: album(""), envelope: Envelope(type: .groupchat), traits: [.counts, .archived, .fromApp], key: nil)),
      by: juliet)
    let head = try #require(said.entry)
    #expect(try message(head).parts == 2)
    #expect(try await stage.stored(room).last.number == head.position.number + 2)
    #expect(try await unread(romeo, stage) == 1)
    try await stage.act(
      .say(
        .dialog(room.dialog),
        RoomMessageDraft(
          content: Content(kind: .none), envelope: Envelope(type: .groupchat), traits: [.archived, .fromApp], key: nil,
          reference: ReferenceDraft(kind: .moderation(reason: nil), target: .entry(head.id)))), by: romeo)
    let states = try await stage.parley.read { reader in
      try (0...2).map { try reader.entry(Position(head.position.number + $0), in: head.dialog)?.state?.retraction }
    }
    #expect(states.allSatisfy { $0?.isModeration == true })
    #expect(try await unread(romeo, stage) == 0)
  }

  // MARK: Forwards

  @Test func aForwardIsCopiedByTheServerAndNobodyElseIsNamed() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let said = try #require(try await stage.say("But soft", from: romeo, to: juliet).entry)
    let source = ForwardDraft(dialog: said.dialog, message: said.id)
    let first = try await stage.parley.post(draft(to: nurse, Content(kind: .none), forward: source), by: juliet)
    #expect(try message(first.entry).content.text == "But soft")
    #expect(try message(first.entry).forwarded == Forwarded(author: nil, at: said.time))
    let own = try await stage.parley.post(draft(to: nurse, Content(kind: .none), forward: source), by: romeo)
    #expect(try message(own.entry).forwarded?.author == romeo)
    await #expect(throws: Problem.messageUnknown(field: "forwardFrom")) {
      try await stage.parley.post(draft(to: juliet, Content(kind: .none), forward: source), by: nurse)
    }
    // A user who has deleted the message for themselves cannot forward it.
    try await hide(said, juliet, stage)
    await #expect {
      try await stage.parley.post(draft(to: nurse, Content(kind: .none), forward: source), by: juliet)
    } throws: { ($0 as? Problem)?.code == "message-unknown" }
    // Nobody puts words into another's mouth, by whichever door.
    let copy = try #require(first.entry)
    let correction = MessageDraft(
      to: nurse.address, content: Content(kind: .text, text: "But hard"), envelope: Envelope(type: .chat, id: "c"),
      traits: [.archived], key: nil, reference: ReferenceDraft(kind: .correction, target: .stanza(copy.id.description)))
    let tried = try await stage.parley.post(.message(correction), by: juliet)
    #expect(try message(tried.entry).reference == nil)
    #expect(try await state(copy, stage) == nil)
  }

  @Test func aNameGoesAlongOnlyWherePeopleKnowEachOther() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let group = try await stage.room("group", by: romeo, with: [(juliet, .member)])
    let open = try await stage.room("open", by: romeo, .open, with: [(juliet, .member)])
    func say(_ content: Content, in room: RoomName, by party: Party, forward: ForwardDraft? = nil) async throws -> Entry
    {
      try #require(
        try await stage.act(
          .say(
            .dialog(room.dialog),
            RoomMessageDraft(
              content: content, envelope: Envelope(type: .groupchat), traits: [.counts, .archived, .fromApp], key: nil,
              forward: forward)), by: party
        ).entry)
    }
    let named = try await say(Content(kind: .text, text: "1"), in: group, by: romeo)
    let anonymized = try await say(Content(kind: .text, text: "2"), in: open, by: romeo)
    func author(_ entry: Entry, into room: RoomName) async throws -> Party? {
      let forward = ForwardDraft(dialog: entry.dialog, message: entry.id)
      return try message(try await say(Content(kind: .none), in: room, by: juliet, forward: forward)).forwarded?.author
    }
    #expect(try await author(named, into: group) == romeo)
    #expect(try await author(named, into: open) == nil)
    #expect(try await author(anonymized, into: group) == nil)
    // Once lost it does not come back.
    let again = try await say(
      Content(kind: .none), in: group, by: juliet,
      forward: ForwardDraft(dialog: anonymized.dialog, message: anonymized.id))
    #expect(try await author(again, into: group) == nil)
  }

  // MARK: Pins

  @Test func aPinIsAChangeLikeOthersAndBounded() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    func pin(_ entry: Entry, _ isPinned: Bool) async throws {
      let change = MessageDraft(
        to: romeo.address, content: Content(kind: .none), envelope: Envelope(type: .chat), traits: .fromApp, key: nil,
        reference: ReferenceDraft(kind: .pin(isPinned), target: .entry(entry.id)))
      try await stage.parley.post(.message(change), by: juliet)
    }
    var said: [Entry] = []
    for number in 0...Limits.pinsMax {
      said.append(try #require(try await stage.say("\(number)", from: romeo, to: juliet).entry))
    }
    for entry in said.dropLast() { try await pin(entry, true) }
    #expect(try await state(said[0], stage)?.pin?.by == juliet)
    let dialog = said[0].dialog
    func pins() async throws -> [Position] { try await stage.parley.read { try $0.pins(of: dialog) } }
    #expect(try await pins() == said.dropLast().map(\.position).reversed())
    await #expect { try await pin(said[Limits.pinsMax], true) } throws: { ($0 as? Problem)?.code == "too-many-pins" }
    // Pinning a pinned message is no further pin.
    try await pin(said[0], true)
    try await pin(said[1], false)
    try await pin(said[Limits.pinsMax], true)
    #expect(try await pins().first == said[Limits.pinsMax].position)
    let retraction = MessageDraft(
      to: juliet.address, content: Content(kind: .none), envelope: Envelope(type: .chat), traits: .fromApp, key: nil,
      reference: ReferenceDraft(kind: .retraction(reason: nil), target: .entry(said[0].id)))
    try await stage.parley.post(.message(retraction), by: romeo)
    #expect(try await !pins().contains(said[0].position))
    #expect(try await state(said[0], stage)?.pin == nil)
  }

  // MARK: For oneself

  @Test func hiddenMessagesAreNotUnreadHoweverFarTheUserHasRead() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    var said: [Entry] = []
    for number in 1...5 { said.append(try #require(try await stage.say("\(number)", from: romeo, to: juliet).entry)) }
    func read(_ entry: Entry) async throws {
      try await stage.parley.post(
        .marker(MarkerDraft(with: romeo.address, kind: .displayed, target: .entry(entry.id))), by: juliet)
    }
    try await hide(said[1], juliet, stage)
    try await hide(said[3], juliet, stage)
    try await hide(said[3], juliet, stage)
    #expect(try await unread(juliet, stage) == 3)
    // The user's own messages never count.
    let mine = try #require(try await stage.say("mine", from: juliet, to: romeo).entry)
    try await hide(mine, juliet, stage)
    #expect(try await unread(juliet, stage) == 3)
    try await read(said[0])
    #expect(try await unread(juliet, stage) == 2)
    try await read(said[2])
    #expect(try await unread(juliet, stage) == 1)
    try await hide(said[0], juliet, stage)
    #expect(try await unread(juliet, stage) == 1)
    try await read(said[4])
    #expect(try await unread(juliet, stage) == 0)
    _ = try await stage.say("6", from: romeo, to: juliet)
    #expect(try await unread(juliet, stage) == 1)
    #expect(try await unread(romeo, stage) == 1)
  }

  @Test func hiddenMessagesOfARoomDoNotCount() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: romeo, with: [(juliet, .member)])
    var said: [Entry] = []
    for number in 1...4 {
      let draft = RoomMessageDraft(
        content: Content(kind: .text, text: "\(number)"), envelope: Envelope(type: .groupchat),
        traits: [.counts, .archived, .fromApp], key: nil)
      said.append(try #require(try await stage.act(.say(.dialog(room.dialog), draft), by: romeo).entry))
    }
    func read(_ entry: Entry) async throws {
      try await stage.act(
        .marker(.dialog(room.dialog), RoomMarkerDraft(kind: .displayed, target: entry.id)), by: juliet)
    }
    try await hide(said[0], juliet, stage)
    try await hide(said[2], juliet, stage)
    #expect(try await unread(juliet, stage) == 2)
    try await read(said[0])
    #expect(try await unread(juliet, stage) == 2)
    try await read(said[1])
    #expect(try await unread(juliet, stage) == 1)
    try await read(said[3])
    #expect(try await unread(juliet, stage) == 0)
  }

  /// Cleared messages stay cleared for a user who leaves an open room, visits it, and joins it again.
  @Test func clearedMessagesStaySoAfterLeavingARoom() async throws {
    let stage = try Stage()
    let (romeo, juliet, paris) = try await cast(stage)
    let room = try await stage.room(by: romeo, .open, with: [(juliet, .member)])
    let first = try #require(try await stage.say("1", in: room, by: romeo).entry)
    try await stage.parley.post(.perUser(room.dialog, .clear(leaves: false)), by: juliet)
    let second = try #require(try await stage.say("2", in: room, by: romeo).entry)

    func read(_ user: Party) async throws -> [Position] {
      try await stage.parley.read {
        let access = RoomAccess(
          of: try #require(try $0.room(room.dialog)), for: user,
          as: try $0.member(user.id, of: .server(room.dialog, .rules)), holdsAddress: true)
        return try $0.history(
          of: try #require(access.readable).messages, after: .zero, before: .end, limit: 9, ascending: true
        ).filter { if case .message = $0.fact { true } else { false } }.map(\.position)
      }
    }
    for affiliation in [Affiliation.none, .member, .none, .member] {
      try await stage.affiliate(juliet, affiliation, in: room, by: affiliation == .none ? juliet : romeo)
      #expect(try await read(juliet) == [second.position])
      #expect(try await stage.parley.read { try $0.hidden(from: first.position, in: room.dialog) } == [juliet.id])
    }
    #expect(try await read(paris) == [first.position, second.position])
  }

  @Test func changesOfAMessageAreToldOnlyToThoseWhoHaveIt() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let said = try #require(try await stage.say("1", from: romeo, to: juliet).entry)
    func react() async throws -> [UserID] {
      let receipt = try await stage.parley.post(
        draft(
          to: juliet, Content(kind: .none),
          reference: ReferenceDraft(kind: .reactions(["\(stage.clock.now)"]), target: .entry(said.id))), by: romeo)
      return try message(receipt.entry).reference?.hiddenFrom ?? []
    }
    #expect(try await react() == [])
    try await hide(said, juliet, stage)
    #expect(try await react() == [juliet.id])
    let later = try #require(try await stage.say("2", from: romeo, to: juliet).entry)
    try await stage.parley.post(.perUser(later.dialog, .clear(leaves: false)), by: romeo)
    #expect(try await react() == [juliet.id, romeo.id].sorted())
    #expect(try await unread(juliet, stage) == 1)
  }

  @Test func clearingMarksAsReadAndTellsOnesOwnSessionsAlone() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let said = try #require(try await stage.say("1", from: romeo, to: juliet).entry)
    let phone = try await stage.session(juliet, "phone", door: .app)
    let other = try await stage.session(romeo, "tablet", door: .app)
    try await stage.parley.post(.perUser(said.dialog, .clear(leaves: true)), by: juliet)
    #expect(
      phone.taken() == [.perUser(PerUserMessageChange(.cleared(leaves: true), in: said.dialog, target: said.position))])
    #expect(other.taken().isEmpty)
    #expect(try await unread(juliet, stage) == 0)
    await #expect(throws: Problem.dialogUnknown) {
      try await stage.parley.post(.perUser(DialogID(9_999), .clear(leaves: false)), by: juliet)
    }
  }

  /// Whoever has hidden or starred as many as one may is refused from memory; the messages are counted again after a minute.
  @Test func aTryAtTheBoundCountsNothing() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let said = try #require(try await stage.say("1", from: romeo, to: juliet).entry)
    let other = try #require(try await stage.say("2", from: stage.user("nurse"), to: juliet).entry).dialog
    let user = juliet.id
    func refusal(_ intent: PerUserMessageIntent) async -> String? {
      do throws(Problem) { try await stage.parley.post(.perUser(said.dialog, intent), by: juliet) } catch {
        return error.code
      }
      return nil
    }
    try await stage.parley.work { writer in
      for number in 1...Int64(Limits.hiddenMax) {
        try writer.hide(Position(1_000 + number), in: other, for: user, counts: false)
      }
      for number in 1...Int64(Limits.starsMax) {
        try writer.setStar(true, Position(1_000 + number), in: other, for: user)
      }
    }
    #expect(await refusal(.star(said.id, true)) == "too-many-stars")
    #expect(await refusal(.hide(said.id)) == "too-many-hidden")
    try await stage.parley.work { try $0.clear(other, upTo: Position(1_000_000), leaves: false, for: user) }
    #expect(await refusal(.star(said.id, true)) == "too-many-stars")
    #expect(await refusal(.hide(said.id)) == "too-many-hidden")
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    #expect(await refusal(.star(said.id, true)) == nil)
    #expect(await refusal(.hide(said.id)) == nil)
  }

  @Test func aReportIsMadeOnceAndBounded() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    func flag(_ entry: Entry, by party: Party) async throws {
      try await stage.parley.post(
        .perUser(entry.dialog, .flag(entry.id, reason: "urn:xmpp:reporting:spam", text: "x")), by: party)
    }
    var said: [Entry] = []
    for number in 0...Limits.reportsPerDayMax {
      said.append(try #require(try await stage.say("\(number)", from: romeo, to: juliet).entry))
    }
    try await flag(said[0], by: juliet)
    try await flag(said[0], by: juliet)
    let reports = try await Reports(stage.parley).all(in: juliet.realm)
    #expect(reports.map(\.reported) == ["romeo@localhost"])
    let told = Report.Message(id: said[0].id.description, text: "0", dialog: said[0].dialog)
    #expect(reports.first?.messages == [told])
    await #expect { try await flag(said[0], by: romeo) } throws: { ($0 as? Problem)?.code == "message-own" }
    for entry in said.dropFirst().dropLast() { try await flag(entry, by: juliet) }
    await #expect { try await flag(said[Limits.reportsPerDayMax], by: juliet) } throws: {
      ($0 as? Problem)?.kind == .tooFast && ($0 as? Problem)?.retryAfter != nil
    }
  }
}
