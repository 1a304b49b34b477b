import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Testing

@testable import Dialogs

/// What comes from another server (docs/decisions/0036): messages at their time, contacts with their subscriptions, and
/// nobody is told.
@Suite struct ImportTests {
  private static let start: Int64 = 1_600_000_000_000

  private func message(
    _ text: String, at time: Int64, with peer: BareJID, inbound: Bool = false, offline: Bool = false,
    archives: (Bool, Bool) = (true, true), id: String? = nil
  ) -> Intent {
    .imported(
      .message(
        ImportedMessage(
          time: Timestamp(milliseconds: time), peer: peer, isInbound: inbound,
          draft: MessageDraft(
            to: peer, content: Content(kind: .text, text: text, extras: Array("<body>\(text)</body>".utf8)),
            envelope: Envelope(type: .chat, id: id), traits: [.counts, .archived, .replayed], key: nil),
          isInArchive: (author: archives.0, addressee: archives.1), isOffline: offline)))
  }

  /// A user whose first login writes no profile.
  private func nameless(_ name: String, _ stage: Stage) async throws -> Party {
    let address = try BareJID("\(name)@localhost")
    let (realm, now) = (stage.parley.realms[0].id, stage.clock.now)
    return try await stage.parley.work {
      try $0.insertUser(address, in: realm, profile: Profile(), createdAt: now).party
    }
  }

  private func texts(
    of user: Party, _ stage: Stage, _ query: ArchiveQuery = ArchiveQuery(limit: 9)
  ) async throws
    -> [String]
  {
    try await stage.parley.read {
      try $0.archive(of: user.id, query).entries.map {
        guard case .message(let message) = $0.fact else { return "" }
        return message.content.text
      }
    }
  }

  @Test func messagesHaveTheirTimeAndNobodyIsTold() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await nameless("juliet", stage))
    let session = try await stage.session(juliet, "phone", door: .app)
    let first = try await stage.parley.post(message("one", at: Self.start, with: juliet.address), by: romeo)
    #expect(first.entry?.time.milliseconds == Self.start)
    try await stage.parley.post(
      message("two", at: Self.start + 1_000, with: juliet.address, inbound: true, archives: (false, true)), by: romeo)
    try await stage.parley.post(
      message("three", at: Self.start + 2_000, with: juliet.address, offline: true), by: romeo)
    #expect(session.deliveries().isEmpty)
    #expect(try await texts(of: romeo, stage) == ["one", "two", "three"])
    #expect(try await texts(of: juliet, stage) == ["one", "three"])
    // A search by time finds them: time does not decrease with position.
    var query = ArchiveQuery(limit: 9)
    query.start = Timestamp(milliseconds: Self.start + 500)
    #expect(try await texts(of: romeo, stage, query) == ["two", "three"])
    // Only what was not received yet is unread, and sent to a client that reads no archive.
    #expect(try await stage.parley.read { try $0.unread(of: juliet.id) } == 1)
    #expect(try await stage.parley.read { try $0.replay(of: .own(juliet), after: .zero, limit: 9).count } == 1)
  }

  @Test func aRepeatIsFoundAndWhatWasSaidTwiceIsNot() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let intents = [
      message("again", at: Self.start, with: juliet.address, id: "1"),
      message("again", at: Self.start, with: juliet.address, id: "2"),
      message("again", at: Self.start, with: juliet.address, inbound: true, id: "1"),
      // Whoever has made the file may have given two messages one id.
      message("unlike", at: Self.start, with: juliet.address, id: "1"),
      message("else", at: Self.start + 1, with: juliet.address, id: "1"),
    ]
    for intent in intents { #expect(try await !stage.parley.post(intent, by: romeo).isRepeat) }
    for intent in intents { #expect(try await stage.parley.post(intent, by: romeo).isRepeat) }
    #expect(try await texts(of: romeo, stage) == ["again", "again", "again", "unlike", "else"])
  }

  /// An export names a message that has no id of its own by that of its entry, and comes back when newer messages are here.
  @Test func whatThisServerHasExportedIsHere() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let nameless = message("one", at: Self.start, with: juliet.address, offline: true)
    let first = try #require(try await stage.parley.post(nameless, by: romeo).entry)
    let named = message("one", at: Self.start, with: juliet.address, offline: true, id: first.id.description)
    #expect(try await stage.parley.post(named, by: romeo).entry?.position == first.position)
    var said: [Entry] = []
    for text in ["two", "three"] {
      let entry = try #require(try await stage.say(text, from: romeo, to: juliet).entry)
      said.append(entry)
    }
    for entry in [first] + said {
      // The export has the stanza that an app's message was rendered as.
      let inbound = message(
        "as sent", at: entry.time.milliseconds, with: romeo.address, inbound: true, offline: true,
        id: entry.id.description)
      let receipt = try await stage.parley.post(inbound, by: juliet)
      #expect(receipt.isRepeat && !receipt.isKept && receipt.entry?.position == entry.position)
    }
    // The id says nothing in a message by somebody else, or of another time: a copy of this server gives the same ids.
    for other in [
      message("forged", at: Self.start, with: juliet.address, inbound: true, id: first.id.description),
      message("one", at: Self.start + 1, with: juliet.address, offline: true, id: first.id.description),
    ] {
      await #expect(throws: Problem.self) { try await stage.parley.post(other, by: romeo) }
    }
    #expect(try await texts(of: juliet, stage) == ["one", "two", "three"])
  }

  @Test func whatAnotherServerAddedToAStanzaMakesNoOtherMessage() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let paris = try BareJID("paris@elsewhere.example")
    func copy(_ extras: String, from author: BareJID, id: String?) -> Intent {
      .imported(
        .message(
          ImportedMessage(
            time: Timestamp(milliseconds: Self.start), peer: author, isInbound: true,
            draft: MessageDraft(
              to: juliet.address, content: Content(kind: .text, text: "one", extras: Array(extras.utf8)),
              envelope: Envelope(type: .chat, id: id), traits: [.archived], key: nil),
            isInArchive: (author: false, addressee: true), isOffline: false)))
    }
    let added = "<body>one</body><stanza-id xmlns='urn:xmpp:sid:0' by='paris@elsewhere.example' id='1'/>"
    let cases: [(BareJID, String?, Bool)] = [(paris, "1", true), (paris, nil, false), (romeo.address, "1", false)]
    for (author, id, isRepeat) in cases {
      #expect(try await !stage.parley.post(copy(added, from: author, id: id), by: juliet).isRepeat)
      let without = copy("<body>one</body>", from: author, id: id)
      #expect(try await stage.parley.post(without, by: juliet).isRepeat == isRepeat)
    }
  }

  @Test func anExportedMessageThatWasRemovedStaysSo() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    // The log keeps only the last change of a contact.
    let was = try await stage.parley.post(.contact(address: juliet.address, name: "J", groups: []), by: romeo).position
    try await stage.parley.post(.contact(address: juliet.address, name: "Juliet", groups: []), by: romeo)
    #expect(try await !stage.parley.read { try $0.hasEntry(at: was, in: nil) })
    let id = stage.parley.entryID(was, in: romeo.realm).description
    let receipt = try await stage.parley.post(message("one", at: Self.start, with: juliet.address, id: id), by: romeo)
    #expect(receipt.isRepeat && receipt.isKept)
    #expect(try await texts(of: romeo, stage).isEmpty)
  }

  @Test func historyBehindWhatWasWrittenIsRefused() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(message("old", at: Self.start, with: juliet.address), by: romeo)
    _ = try await stage.say("new", from: romeo, to: juliet)
    await #expect(throws: Problem.self) {
      try await stage.parley.post(message("late", at: Self.start + 1, with: juliet.address), by: romeo)
    }
    #expect(try await stage.parley.post(message("old", at: Self.start, with: juliet.address), by: romeo).isRepeat)
    await #expect(throws: Problem.self) {
      try await stage.parley.post(message("future", at: Self.start * 2, with: juliet.address), by: romeo)
    }
    #expect(try await texts(of: romeo, stage) == ["old", "new"])
  }

  /// Users move in steps: contacts first and history later, or once more when the former server has more.
  @Test func contactsAndSettingsDoNotStandInTheWayOfHistory() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let contact = ImportedContact(address: juliet.address, name: "Juliet", groups: [], subscription: .none)
    try await stage.parley.post(.imported(.contact(contact)), by: romeo)
    let steps: [(text: String, milliseconds: Int64)] = [("one", 0), ("two", 0), ("three", 1_000), ("four", 2_000)]
    for (text, milliseconds) in steps {
      try await stage.parley.post(.contact(address: juliet.address, name: text, groups: []), by: romeo)
      try await stage.parley.post(.profile(ProfileDraft(displayName: text)), by: juliet)
      let said = message(text, at: Self.start + milliseconds, with: juliet.address)
      #expect(try await stage.parley.post(said, by: romeo).entry?.time.milliseconds == Self.start + milliseconds)
    }
    try await stage.parley.post(.profile(ProfileDraft(displayName: "R.")), by: romeo)
    for (text, milliseconds) in steps {
      let again = message(text, at: Self.start + milliseconds, with: juliet.address)
      #expect(try await stage.parley.post(again, by: romeo).isRepeat)
    }
    #expect(try await texts(of: romeo, stage) == ["one", "two", "three", "four"])
    var query = ArchiveQuery(limit: 9)
    query.start = Timestamp(milliseconds: Self.start + 1)
    query.end = Timestamp(milliseconds: Self.start + 1_999)
    #expect(try await texts(of: romeo, stage, query) == ["three"])
    // What was said later does.
    let late = await #expect(throws: Problem.self) {
      try await stage.parley.post(message("late", at: Self.start + 1_500, with: juliet.address), by: romeo)
    }
    #expect(late?.code == "history-too-late")
    #expect(late?.text.contains("\(Timestamp(milliseconds: Self.start + 2_000))") == true)
  }

  /// A history, and settings of later behind it; with the end of each.
  private func settingsBehindHistory(
    _ stage: Stage, _ romeo: Party, _ juliet: Party
  ) async throws -> (end: Position, head: Position) {
    let said = try await stage.parley.post(message("one", at: Self.start, with: juliet.address), by: romeo)
    for number in 0..<12 {
      // Each of another contact, as the log has only the last change of a name.
      let address = try BareJID("c\(number)@localhost")
      try await stage.parley.post(.contact(address: address, name: nil, groups: []), by: romeo)
    }
    let end = try #require(said.entry).position
    let head = try await stage.parley.read { try $0.head().position }
    #expect(head.number == end.number + 12)
    return (end, head)
  }

  /// The last entry that is not later than the history that comes next.
  private func lastBefore(_ past: Timestamp, _ stage: Stage) async throws -> Position {
    try await stage.parley.read { try $0.position(before: past + .milliseconds(1)) }
  }

  /// So that many entries behind the history do not hold up everybody. Wherever it ends, the log is in order.
  @Test func theWayForHistoryIsMadeInPieces() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (end, head) = try await settingsBehindHistory(stage, romeo, juliet)
    let past = Timestamp(milliseconds: Self.start + 1_000)
    let two = message("two", at: past.milliseconds, with: juliet.address)
    // Few are left to the post, and a message that the log has or that is too late needs no way.
    try await stage.parley.makeWay(for: [two], atOnce: 12)
    for early in [Self.start - 1, Self.start - 1_000] {
      try await stage.parley.makeWay(for: [message("zero", at: early, with: juliet.address)], atOnce: 5)
    }
    #expect(try await lastBefore(past, stage) == end)
    stage.store.failNext(1, after: 1)
    await #expect(throws: Problem.storage) { try await stage.parley.makeWay(for: [two], atOnce: 5) }
    #expect(try await lastBefore(past, stage) == Position(end.number + 5))
    // It goes on where it ended, and does nothing where all is done.
    for pieces in [2, 0] {
      let commits = stage.store.commits
      try await stage.parley.makeWay(for: [two], atOnce: 5)
      #expect(stage.store.commits == commits + pieces)
      #expect(try await lastBefore(past, stage) == head)
    }
    try await stage.parley.makeWay(for: [message("one", at: Self.start, with: juliet.address), two], atOnce: 5)
    #expect(try await lastBefore(past, stage) == head)
    #expect(try await lastBefore(Timestamp(milliseconds: past.milliseconds - 1), stage) == head)
    let entry = try #require(try await stage.parley.post(two, by: romeo).entry)
    #expect(entry.time == past && entry.position == head.next)
    #expect(try await lastBefore(past, stage) == entry.position)
    #expect(try await texts(of: romeo, stage) == ["one", "two"])
  }

  @Test func aConversationThatBeginsMeanwhileEndsTheWayOfHistory() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (end, _) = try await settingsBehindHistory(stage, romeo, juliet)
    let past = Timestamp(milliseconds: Self.start + 1_000)
    let draft = MessageDraft(
      to: juliet.address, content: Content(kind: .text, text: "new"), envelope: Envelope(type: .chat),
      traits: [.counts, .archived], key: nil)
    stage.store.afterNextRead {
      _ = stage.parley.submit(Post(author: romeo, intent: .message(draft), completion: .none))
    }
    try await stage.parley.makeWay(for: [message("two", at: past.milliseconds, with: juliet.address)], atOnce: 5)
    #expect(try await texts(of: romeo, stage) == ["one", "new"])
    #expect(try await lastBefore(past, stage) == end)
  }

  @Test func aRestartGoesOnWhereTheHistoryEnded() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    try await stage.parley.post(message("one", at: Self.start, with: juliet.address), by: romeo)
    #expect(try await stage.parley.read { try $0.head().time.milliseconds } == Self.start)
  }

  @Test func somebodyElsewhereNeedsNoFederation() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let paris = try BareJID("paris@elsewhere.example")
    try await stage.parley.post(message("hello", at: Self.start, with: paris, inbound: true), by: romeo)
    #expect(try await texts(of: romeo, stage) == ["hello"])
    await #expect(throws: Problem.self) {
      try await stage.parley.post(
        message("room", at: Self.start, with: BareJID("orchard@\(stage.parley.realms[0].rooms)")), by: romeo)
    }
    await #expect(throws: Problem.self) {
      try await stage.parley.post(message("gone", at: Self.start, with: BareJID("gone@localhost")), by: romeo)
    }
  }

  @Test func contactsKeepTheirStatesAndRequestsWait() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let asked = try #require(Subscription(to: false, from: true, asks: true, isApproved: false))
    let contact = Intent.imported(
      .contact(ImportedContact(address: juliet.address, name: "Juliet", groups: ["Loves"], subscription: asked)))
    #expect(try await !stage.parley.post(contact, by: romeo).isRepeat)
    #expect(try await stage.parley.post(contact, by: romeo).isRepeat)
    // Another one about the same address changes nothing.
    let unlike = ImportedContact(address: juliet.address, name: "J", groups: [], subscription: .none)
    let other = try await stage.parley.post(.imported(.contact(unlike)), by: romeo)
    #expect(other.isRepeat && other.isKept)
    let request = Intent.imported(.request(from: try BareJID("paris@elsewhere.example"), stanza: nil))
    #expect(try await !stage.parley.post(request, by: romeo).isRepeat)
    #expect(try await stage.parley.post(request, by: romeo).isRepeat)
    let found = try await stage.parley.read {
      try $0.contacts(of: romeo.id).sorted { $0.address.domain < $1.address.domain }
    }
    #expect(found.map(\.subscription) == [.nonePendingIn, asked])
    #expect(found.map(\.name) == [nil, "Juliet"])
    #expect(found.map(\.peer) == [nil, juliet.id])
    // The other side is the other's own item.
    #expect(try await stage.parley.read { try $0.contacts(of: juliet.id).isEmpty })
  }

  /// Whoever registers the address would see what was shared with somebody else.
  @Test func aContactWithoutAnAccountIsImportedWithoutASubscription() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let gone = try BareJID("gone@localhost")
    let both = try #require(Subscription(to: true, from: true, asks: false, isApproved: false))
    try await stage.parley.post(.imported(.request(from: gone, stanza: nil)), by: romeo)
    #expect(try await stage.parley.read { try $0.contacts(of: romeo.id).isEmpty })
    try await stage.parley.post(
      .imported(.contact(ImportedContact(address: gone, name: "Gone", groups: ["Old"], subscription: both))), by: romeo)
    let contact = try #require(try await stage.parley.read { try $0.contacts(of: romeo.id) }.first)
    #expect(contact.name == "Gone" && contact.groups == ["Old"])
    #expect(!contact.subscription.from && !contact.subscription.to)
  }
}
