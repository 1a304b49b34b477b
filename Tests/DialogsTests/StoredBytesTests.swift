import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// What one sender stores in a day.
@Suite struct StoredBytesTests {
  /// Six messages of 500 bytes, of which 256 are the row's, and some ids.
  private static let policy: SendingPolicy = {
    var policy = SendingPolicy()
    policy.dayBytes = 3_100
    return policy
  }()
  private let text = String(repeating: "x", count: 244)

  @Test func whoHasStoredAsMuchAsOneMayWaitsForTheNextDay() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let phone = try await stage.session(romeo, "phone")
    for _ in 0..<6 { _ = try await stage.say(text, from: romeo, to: juliet) }
    let problem = await #expect(throws: Problem.self) { try await stage.say("", from: romeo, to: juliet) }
    // The clock shows 6,400 seconds before midnight.
    #expect(problem?.kind == .tooFast && problem?.code == "messages-day-quota" && problem?.retryAfter == 6_400)
    #expect(problem?.text.contains("3100 bytes") == true && problem?.text.contains("6400 seconds") == true)

    // What others send still arrives, and others may still write.
    _ = phone.taken()
    _ = try await stage.say("good night", from: juliet, to: romeo)
    #expect(phone.taken() == [.said("good night", .direct)])

    stage.clock.set(stage.clock.now.milliseconds + 6_399_000)
    await #expect(throws: Problem.self) { try await stage.say("", from: romeo, to: juliet) }
    stage.clock.set(stage.clock.now.milliseconds + 1_000)
    _ = try await stage.say(text, from: romeo, to: juliet)
  }

  /// Rooms and private conversations are one account of the author; what was refused is not counted.
  @Test func messagesInRoomsAreCountedAndRefusedOnesAreNot() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let stranger = Party(
      id: UserID(999), realm: juliet.realm, address: try BareJID("nobody@localhost"))
    for _ in 0..<9 {
      await #expect(throws: Problem.self) { try await stage.say(text, from: romeo, to: stranger) }
    }
    // What the owner does to create the room does not count for the member.
    let room = try await stage.room(by: juliet, with: [(romeo, .member)])
    for _ in 0..<5 { try await stage.say(text, in: room, by: romeo) }
    _ = try await stage.say(text, from: romeo, to: juliet)
    await #expect(throws: Problem.self) { try await stage.say(text, in: room, by: romeo) }
  }

  /// A message that is due while its author has stored as much as one may is sent the next day.
  @Test func aScheduledMessageWaitsForTheNextDay() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let dialog = try #require(try await stage.parley.post(.openDialog(juliet.address), by: romeo).dialog?.id)
    let scheduled = ScheduledMessages(stage.parley)
    func due(_ id: String) async throws {
      let draft = ScheduleDraft(
        dialog: dialog, due: Timestamp(milliseconds: stage.clock.now.milliseconds + 1_000),
        content: Content(kind: .text, text: text), replyTo: nil, mentions: [],
        key: RepeatKey(rule: .app, id: id, bodyHash: 1))
      _ = try await scheduled.post(.schedule(draft), by: romeo)
      stage.clock.set(stage.clock.now.milliseconds + 1_000)
    }
    // It counts as any other, beside what was scheduled.
    for _ in 0..<3 { _ = try await stage.say(text, from: romeo, to: juliet) }
    try await due("s1")
    #expect(await scheduled.sendDue() == nil)
    _ = try? await stage.say(text, from: romeo, to: juliet)
    await #expect(throws: Problem.self) { try await stage.say(text, from: romeo, to: juliet) }
    // Whoever has stored so much may schedule for the next day.
    try await due("s2")
    // 6,398 seconds before midnight.
    #expect(await scheduled.sendDue() == Limits.scheduleLook)
    stage.clock.set(stage.clock.now.milliseconds + 6_398_000)
    #expect(await scheduled.sendDue() == nil)
    #expect(try await stage.parley.read { try $0.scheduled(of: romeo.id) }.isEmpty)
  }

  /// Returns the code with which one of many posts is refused; `nil` if none is.
  private func refusal(_ stage: Stage, _ author: Party, _ intents: [Intent]) async -> String? {
    for intent in intents {
      do throws(Problem) { try await stage.parley.post(intent, by: author) } catch { return error.code }
    }
    return nil
  }

  /// What a user sets counts as messages do.
  @Test func whatAUserSetsIsCounted() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let long = String(repeating: "x", count: 900)
    let profiles = (0..<5).map { Intent.profile(ProfileDraft(status: "\(long)\($0)")) }
    #expect(await refusal(stage, romeo, profiles) == "messages-day-quota")
    await #expect(throws: Problem.self) { try await stage.say(text, from: romeo, to: juliet) }
    // Contacts to be, all of whom have long names.
    let contacts = try (0..<5).map {
      Intent.contact(address: try BareJID("c\($0)@localhost"), name: nil, groups: [long])
    }
    #expect(await refusal(stage, juliet, contacts) == "messages-day-quota")
    // What others cause counts for them.
    let paris = try await stage.user("paris")
    let requests = (0..<9).flatMap { _ in
      [SubscriptionAct.subscribe, .unsubscribe].map {
        Intent.subscription($0, to: romeo.address, stanza: Array(repeating: 0x20, count: 900))
      }
    }
    #expect(await refusal(stage, paris, requests) == "messages-day-quota")
    stage.clock.set(stage.clock.now.milliseconds + 86_400_000)
    #expect(await refusal(stage, romeo, Array(profiles.prefix(1))) == nil)
  }

  /// Topics and settings of rooms count for whoever changes them, with or without a stanza; not for a backend.
  @Test func whatIsSetInRoomsIsCounted() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = RoomReference.dialog(try await stage.room(by: juliet, with: [(romeo, .owner)]).dialog)
    let long = String(repeating: "x", count: 900)
    let topics = (0..<5).map { Intent.room(.topic(room, text: "\(long)\($0)", stanza: nil)) }
    #expect(await refusal(stage, romeo, topics) == "messages-day-quota")
    try await stage.parley.post(.room(.topic(room, text: long, stanza: nil)), by: romeo, isFromBackend: true)
    stage.clock.set(stage.clock.now.milliseconds + 86_400_000)
    // An owner may change them at the bound, up to twice as much.
    #expect(await refusal(stage, romeo, topics) == "messages-day-quota")
    let settings = (0..<20).map { number in
      Intent.room(.configure(room, .change { $0.metadata = "\(long)\(number)" }))
    }
    #expect(await refusal(stage, romeo, Array(settings.prefix(1))) == nil)
    #expect(await refusal(stage, romeo, settings) == "messages-day-quota")
  }

  /// Bans of addresses, pictures and the texts of a new room are rows of the room. Whoever has stored as much as one may still bans.
  @Test func whatRoomsHaveIsCounted() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = RoomReference.dialog(try await stage.room(by: juliet, with: [(romeo, .owner)]).dialog)
    let long = String(repeating: "x", count: 900)
    let bans = try (0..<9).map { number in
      let draft = MemberDraft(
        address: try BareJID("spam\(number)@elsewhere.example"), affiliation: .outcast, reason: long, bansAddress: true)
      return Intent.room(.members(room, [draft]))
    }
    let pictures = (0..<5).map { (byte: UInt8) in
      let avatar = Avatar(Array(repeating: byte, count: 3_000))
      return Intent.room(.configure(room, SettingsDraft(avatar: .some(avatar)) { _ in }))
    }
    #expect(await refusal(stage, romeo, bans) == "messages-day-quota")
    stage.clock.set(stage.clock.now.milliseconds + 86_400_000)
    // The same ban again takes no more bytes.
    #expect(await refusal(stage, romeo, Array(repeating: bans[0], count: 9)) == nil)
    #expect(await refusal(stage, romeo, [pictures[0]]) == nil)
    #expect(await refusal(stage, romeo, [pictures[1]]) == "messages-day-quota")
    try await stage.parley.post(pictures[2], by: romeo, isFromBackend: true)
    #expect(await refusal(stage, romeo, [bans[8]]) == nil)
    stage.clock.set(stage.clock.now.milliseconds + 86_400_000)
    // What is rolled back is not counted.
    for _ in 0..<3 {
      stage.store.failNext(1)
      #expect(await refusal(stage, romeo, [bans[5]]) == Problem.storage.code)
    }
    #expect(await refusal(stage, romeo, Array(pictures[1...3])) == nil)

    var settings = RoomSettings.group
    settings.metadata = String(repeating: "x", count: 3_000)
    _ = try await stage.room("mantua", by: juliet, settings)
    let problem = await #expect(throws: Problem.self) { try await stage.say("", from: juliet, to: romeo) }
    #expect(problem?.code == "messages-day-quota")
  }

  /// A member who enters a room by another nick each time changes the reserved one, which is an entry.
  @Test func nicksAreCounted() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: juliet, with: [(romeo, .member)])
    let session = RecordingSession(romeo)
    let refused = try await problem {
      for number in 0..<40 {
        try await stage.act(.enter(.address(room.address), stage.entering(session, "romeo\(number)")), by: session)
      }
    }
    #expect(refused?.code == "messages-day-quota")
  }

  /// What replaces an entry counts by its growth alone: a roster item that is changed all day is one entry.
  @Test func whatIsReplacedIsCountedOnce() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let group = String(repeating: "x", count: 900)
    let names = (0..<9).map { Intent.contact(address: juliet.address, name: "n\($0)", groups: [group]) }
    #expect(await refusal(stage, romeo, names) == nil)
    let entries = try await stage.parley.read { try $0.feed(of: .own(romeo), after: .zero, limit: 100, all: true) }
    let items = entries.compactMap { entry -> Contact? in
      if case .contact(let change) = entry.fact { change.contact } else { nil }
    }
    #expect(items.map(\.name) == ["n8"])
    #expect(try await stage.parley.read { try $0.ownContact(of: romeo.id, juliet.address)?.name } == "n8")
    let changes = try await stage.parley.read { try $0.contactChanges(of: romeo.id, after: .zero) }
    #expect(changes?.map(\.contact.name) == ["n8"])
  }

  /// What the contact has sent stays in the log for sessions that are away, however the item is renamed.
  @Test func aStanzaOfTheContactIsNotReplaced() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: romeo)
    try await stage.parley.post(.subscription(.subscribed, to: romeo.address, stanza: nil), by: juliet)
    for name in ["n1", "n2", "n3"] {
      try await stage.parley.post(.contact(address: juliet.address, name: name, groups: []), by: romeo)
    }
    let entries = try await stage.parley.read { try $0.feed(of: .own(romeo), after: .zero, limit: 100, all: true) }
    let changes = entries.compactMap { entry -> ContactChange? in
      if case .contact(let change) = entry.fact { change } else { nil }
    }
    #expect(changes.map(\.act) == [nil, .subscribed, nil])
    #expect(changes.map(\.contact.name) == [nil, nil, "n3"])
  }

  /// Each stanza of a call is an entry for ever. A call that rings at the bound is answered and ended, and no further one begins.
  @Test func stanzasOfCallsAreCounted() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(.link(juliet.address, name: nil, groups: nil, mutual: true), by: romeo)
    func say(_ act: CallAct, _ name: String, to peer: Party, bytes: Int = 700) -> Intent {
      let draft = MessageDraft(
        to: peer.address, content: Content(kind: .none, extras: [UInt8](repeating: 0x20, count: bytes)),
        envelope: Envelope(type: .chat, fromResource: "orchard"), traits: [.archived], key: nil)
      return .call(.said(CallStanza(message: draft, name: name, act: act, kind: .audio, reason: nil)))
    }
    #expect(await refusal(stage, romeo, [say(.ring, "1", to: juliet)]) == nil)
    #expect(await refusal(stage, juliet, [say(.heard, "1", to: romeo), say(.accept, "1", to: romeo)]) == nil)
    #expect(await refusal(stage, romeo, [say(.finish, "1", to: juliet)]) == nil)
    // She has stored two stanzas; the third one is beyond the bound.
    #expect(await refusal(stage, juliet, [say(.ring, "2", to: romeo)]) == nil)
    #expect(await refusal(stage, juliet, [say(.ring, "3", to: romeo)]) == "messages-day-quota")
    #expect(await refusal(stage, romeo, [say(.accept, "2", to: juliet)]) == nil)
    // The second one changes nothing, and is relayed as a message.
    #expect(await refusal(stage, juliet, [say(.finish, "2", to: romeo), say(.finish, "2", to: romeo)]) == nil)
    let open = try await Calls(stage.parley).open(of: juliet)
    #expect(open.isEmpty)
    stage.clock.set(stage.clock.now.milliseconds + 86_400_000)
    let long = say(.ring, "4", to: romeo, bytes: Limits.callStanzaBytesMax + 1)
    #expect(await refusal(stage, juliet, [long]) == "call-stanza-too-large")
  }

  /// The stanza of a marker stays until the next one in the dialog: it counts there by what it is longer.
  @Test func stanzasOfMarkersAreCounted() async throws {
    let stage = try Stage(sending: Self.policy)
    let juliet = try await stage.user("juliet")
    func mark(_ entry: Entry, of author: Party) -> Intent {
      let content = Content(kind: .none, extras: [UInt8](repeating: 0x20, count: 900))
      return .marker(
        MarkerDraft(
          with: author.address, kind: .displayed, target: .entry(entry.id),
          stanza: (content, Envelope(type: .chat), [])))
    }
    func said(by author: Party) async throws -> Intent {
      mark(try #require(try await stage.say("x", from: author, to: juliet).entry), of: author)
    }
    let romeo = try await stage.user("romeo")
    for _ in 0..<9 {
      let next = try await said(by: romeo)
      #expect(await refusal(stage, juliet, [next]) == nil)
    }
    var others: [Intent] = []
    for number in 0..<9 { others.append(try await said(by: stage.user("romeo\(number)"))) }
    #expect(await refusal(stage, juliet, others) == "messages-day-quota")
  }

  /// Reports are stored until an operator dismisses them, with a reason of any length; files and mentions are rows.
  @Test func reportsFilesAndMentionsAreCounted() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let pattern = BlockPattern(try JID("spam@elsewhere.example"))
    let report = ReportDraft(reported: pattern, reason: String(repeating: "x", count: 7_000))
    let block = Intent.block([pattern], reports: [report])
    #expect(await refusal(stage, romeo, [block, block]) == "messages-day-quota")
    stage.clock.set(stage.clock.now.milliseconds + 86_400_000)
    let file = Dialogs.Attachment(blob: nil, url: "https://elsewhere.example/1.png")
    let album = Intent.message(
      MessageDraft(
        to: juliet.address, content: Content(kind: .image, attachments: Array(repeating: file, count: 5)),
        envelope: Envelope(type: .chat), traits: [.archived], key: nil))
    #expect(await refusal(stage, romeo, [album]) == nil)
    #expect(await refusal(stage, romeo, [album]) == "messages-day-quota")
    let mentions = [romeo, juliet].map { MentionDraft(address: JID($0.address), begin: nil, end: nil) }
    let calling = Intent.message(
      MessageDraft(
        to: romeo.address, content: Content(kind: .text, text: text), envelope: Envelope(type: .chat),
        traits: [.counts, .archived], key: nil, mentions: mentions))
    #expect(await refusal(stage, juliet, Array(repeating: calling, count: 5)) == "messages-day-quota")
  }

  /// Who has stored as much as one may still removes things and is protected from others, up to twice the bound.
  @Test func whatIsNeededIsRefusedLater() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let contact = Intent.contact(address: juliet.address, name: "Juliet", groups: [])
    #expect(await refusal(stage, romeo, [contact]) == nil)
    for _ in 0..<7 { _ = try? await stage.say(text, from: romeo, to: juliet) }
    let other = Intent.contact(address: try BareJID("paris@localhost"), name: nil, groups: [])
    #expect(await refusal(stage, romeo, Array(repeating: other, count: 2)) == "messages-day-quota")
    let pattern = BlockPattern(JID(juliet.address))
    #expect(await refusal(stage, romeo, [.removeContact(juliet.address), .block([pattern])]) == nil)
    var settings = UserSettingsDraft()
    settings.messagesFrom = .contacts
    #expect(await refusal(stage, romeo, [.profile(ProfileDraft(settings: settings))]) == nil)
    #expect(await refusal(stage, romeo, [.profile(ProfileDraft(status: "here"))]) == "messages-day-quota")
    let bare = ProfileDraft(displayName: .some(nil), status: .some(nil), avatar: .some(nil))
    #expect(await refusal(stage, romeo, [.profile(bare)]) == nil)
    let flips = (0..<20).flatMap { _ in [Intent.unblock([pattern]), .block([pattern])] }
    #expect(await refusal(stage, romeo, flips) == "messages-day-quota")
  }

  /// Whoever has stored as much as one may takes back what they have said, and nothing that a backend says as them counts.
  @Test func whatWasSaidIsTakenBackAtTheBound() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let room = try await stage.room(by: juliet, with: [(romeo, .member)])
    let said = try #require(try await stage.say(text, from: romeo, to: juliet).entry)
    let saidThere = try #require(try await stage.say(text, in: room, by: romeo).entry)
    for _ in 0..<20 { _ = try? await stage.say("", from: romeo, to: juliet) }
    func change(_ kind: Reference.Kind, _ text: String) -> Intent {
      .message(
        MessageDraft(
          to: juliet.address, content: Content(kind: text.isEmpty ? .none : .text, text: text),
          envelope: Envelope(type: .chat), traits: [.archived, .fromApp], key: nil,
          reference: ReferenceDraft(kind: kind, target: .entry(said.id))))
    }
    let backend = Intent.message(
      MessageDraft(
        to: juliet.address, content: Content(kind: .text, text: text), envelope: Envelope(type: .chat),
        traits: [.counts, .archived, .fromApp], key: nil))
    for _ in 0..<20 { try await stage.parley.post(backend, by: romeo, isFromBackend: true) }
    #expect(await refusal(stage, romeo, [backend]) == "messages-day-quota")
    #expect(await refusal(stage, romeo, [change(.correction, "other words")]) == "messages-day-quota")
    #expect(await refusal(stage, romeo, [change(.retraction(reason: nil), "")]) == nil)
    let retraction = RoomMessageDraft(
      content: Content(kind: .none), envelope: Envelope(type: .groupchat), traits: [.archived, .fromApp], key: nil,
      reference: ReferenceDraft(kind: .retraction(reason: nil), target: .entry(saidThere.id)))
    #expect(await refusal(stage, romeo, [.room(.say(.dialog(room.dialog), retraction))]) == nil)
    for entry in [said, saidThere] {
      let found = try await stage.parley.read { try $0.entry(entry.position, in: .server(entry.dialog, .rules)) }
      #expect(found?.state?.retraction != nil)
    }
  }

  /// What is not stored again is not counted again, and is answered at the bound as before.
  @Test func repeatsAreNotCounted() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let key = RepeatKey(rule: .app, id: "m", bodyHash: 1)
    for _ in 0..<7 { _ = try await stage.say(text, from: romeo, to: juliet, key: key) }
    for _ in 0..<5 { _ = try await stage.say(text, from: romeo, to: juliet) }
    await #expect(throws: Problem.self) { try await stage.say("", from: romeo, to: juliet) }
    #expect(try await stage.say(text, from: romeo, to: juliet, key: key).isRepeat)
  }

  /// A forwarded message is stored anew, with all that it has, and so is an id.
  @Test func forwardedMessagesAndIDsAreCounted() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    func post(_ draft: MessageDraft) async throws { _ = try await stage.parley.post(.message(draft), by: romeo) }
    let long = String(repeating: "x", count: 1_000)
    let entry = try #require(try await stage.say(long, from: juliet, to: romeo).entry)
    let forward = MessageDraft(
      to: juliet.address, content: Content(kind: .none), envelope: Envelope(type: .chat),
      traits: [.counts, .archived, .fromApp], key: nil, forward: ForwardDraft(dialog: entry.dialog, message: entry.id))
    for _ in 0..<2 { try await post(forward) }
    await #expect(throws: Problem.self) { try await post(forward) }
    var named = MessageDraft(
      to: juliet.address, content: Content(kind: .text, text: "x"), envelope: Envelope(type: .chat),
      traits: [.archived], key: nil)
    named.envelope.id = long
    await #expect(throws: Problem.self) { try await post(named) }
    named.envelope.id = "m1"
    try await post(named)
  }

  /// The posts of a batch that fails are judged again without the one that fails it.
  @Test func aBatchThatIsJudgedAgainIsCountedOnce() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let laptop = try await stage.session(romeo, "laptop")
    // Hold the committer, so that the rest becomes one batch.
    let gate = Gate()
    let held = Task { try await stage.parley.work { _ in gate.wait() } }
    await gate.entered()
    func submit(_ intent: Intent) {
      let post = Post(author: romeo, intent: intent, completion: .session(laptop, token: laptop.nextToken()))
      #expect(stage.parley.submit(post))
    }
    for _ in 0..<3 {
      submit(
        .message(
          MessageDraft(
            to: juliet.address, content: Content(kind: .text, text: text), envelope: Envelope(),
            traits: [.counts, .archived], key: nil)))
    }
    let (user, now) = (romeo.id, stage.clock.now)
    submit(
      .work(
        WriteTransaction { writer in
          try writer.setLastSeen(now, for: user)
          throw Problem(.conflict, "no", "It does not work.")
        }))
    gate.open()
    try await held.value
    try await stage.parley.post(.confirm(.zero), by: romeo)
    #expect(laptop.taken() == [.done(1), .done(2), .done(3), .refused(4, .conflict)])
    for _ in 0..<3 { _ = try await stage.say(text, from: romeo, to: juliet) }
    await #expect(throws: Problem.self) { try await stage.say("", from: romeo, to: juliet) }
  }

  /// The times of the log do not go back with the clock, but a count of a day to come ends when it is set right.
  @Test func aClockThatWasADayAheadBeginsANewCount() async throws {
    let stage = try Stage(sending: Self.policy)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let right = stage.clock.now.milliseconds
    stage.clock.set(right + 86_400_000)
    for _ in 0..<6 { _ = try await stage.say(text, from: romeo, to: juliet) }
    await #expect(throws: Problem.self) { try await stage.say("", from: romeo, to: juliet) }
    stage.clock.set(right)
    for _ in 0..<6 { _ = try await stage.say(text, from: romeo, to: juliet) }
    let problem = await #expect(throws: Problem.self) { try await stage.say("", from: romeo, to: juliet) }
    #expect(problem?.retryAfter == 6_400)
  }

  /// Whoever has a zone stores no more by many subdomains than by one, until somebody here knows somebody of them.
  @Test func theUnknownDomainsOfAZoneStoreAsMuchAsOne() async throws {
    let stage = try Stage(sending: Self.policy)
    stage.parley.hub.setFederation(FederationTests.Service(refusing: [], strangers: .allow))
    let juliet = try await stage.user("juliet")
    let home = stage.parley.realms[0].id
    let realm = stage.parley.federatedRealm(of: home).id
    func fill(_ address: String) async throws {
      let author = Party(remote: try BareJID(address), realm: realm)
      for _ in 0..<6 { _ = try await stage.say(text, from: author, to: juliet) }
    }
    for number in 0..<16 { try await fill("a@s\(number).spam.example") }
    let problem = await #expect(throws: Problem.self) { try await fill("a@s16.spam.example") }
    #expect(problem?.code == "messages-day-quota")
    try await fill("a@mantua.example")
    #expect(stage.parley.registries.knownDomains.insert("s16.spam.example", home: home))
    try await fill("b@s16.spam.example")
  }

  /// An account here makes subdomains known by writing to them: together they store as much as sixteen.
  @Test func theKnownDomainsOfAZoneStoreAsMuchAsSixteen() throws {
    let stored = StoredBytes(Self.policy)
    let now = Timestamp(milliseconds: 0)
    let (known, others) = (
      SendingAccount.zone("spam.example", isKnown: true), SendingAccount.zone("spam.example", isKnown: false)
    )
    stored.add([known: 793_000, others: 49_000], at: now)
    try stored.check(600, of: [known], beside: [:], at: now)
    #expect(throws: Problem.self) { try stored.check(601, of: [known], beside: [:], at: now) }
    try stored.check(600, of: [others], beside: [:], at: now)
    #expect(throws: Problem.self) { try stored.check(601, of: [others], beside: [:], at: now) }
  }

  @Test func aDomainElsewhereStoresSixteenTimesAsMuchAndEachOfItsUsersAsMuchAsAUserHere() throws {
    let stored = StoredBytes(Self.policy)
    let now = Timestamp(milliseconds: 0)
    func check(_ bytes: Int64, _ author: Party) throws {
      try stored.check(bytes, of: accounts(author), beside: [:], at: now)
    }
    func accounts(_ author: Party) -> [SendingAccount] { [.user(author), .domain(author.address.domain)] }
    let romeo = Party(remote: try BareJID("romeo@mantua.example"), realm: RealmID(-1))
    let paris = Party(remote: try BareJID("paris@mantua.example"), realm: RealmID(-1))
    let other = Party(remote: try BareJID("romeo@padua.example"), realm: RealmID(-1))
    stored.add([.user(romeo): 2_000, .domain("mantua.example"): 47_600], at: now)
    try check(1_100, romeo)
    #expect(throws: Problem.self) { try check(1_101, romeo) }
    try check(2_000, paris)
    let problem = #expect(throws: Problem.self) { try check(2_001, paris) }
    #expect(problem?.retryAfter == 86_400)
    #expect(throws: Problem.self) {
      try stored.check(1, of: accounts(paris), beside: [.user(paris): 3_100], at: now)
    }
    #expect(Set(stored.reached(now: now).map(\.account)) == [.user(romeo), .domain("mantua.example"), .user(paris)])
    try check(3_100, other)
    try stored.check(3_100, of: accounts(paris), beside: [:], at: Timestamp(milliseconds: 86_400_000))
  }
}
