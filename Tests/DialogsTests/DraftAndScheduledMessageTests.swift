import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Testing

@testable import Dialogs

/// Tests of drafts and scheduled messages.
@Suite struct DraftAndScheduledMessageTests {
  private struct Cast {
    let stage: Stage
    let romeo: Party
    let juliet: Party
    let dialog: DialogID

    init() async throws {
      stage = try Stage()
      romeo = try await stage.user("romeo")
      juliet = try await stage.user("juliet")
      dialog = try #require(try await stage.parley.post(.openDialog(juliet.address), by: romeo).dialog?.id)
    }

    var now: Int64 { stage.clock.now.milliseconds }

    func schedule(
      _ text: String, id: String, in dialog: DialogID? = nil, after milliseconds: Int64 = 1_000,
      by author: Party? = nil, mentions: [MentionDraft] = []
    ) async throws -> Receipt {
      try await ScheduledMessages(stage.parley).post(
        .schedule(
          ScheduleDraft(
            dialog: dialog ?? self.dialog, due: Timestamp(milliseconds: now + milliseconds),
            content: Content(kind: .text, text: text), replyTo: nil, mentions: mentions,
            key: RepeatKey(rule: .app, id: id, bodyHash: UInt64(text.utf8.count)))), by: author ?? romeo)
    }

    func said(in other: DialogID? = nil) async throws -> [String] {
      let dialog = other ?? dialog
      return try await stage.parley.read { reader in
        try reader.history(of: dialog, after: .zero, before: .end, limit: 9, ascending: true).compactMap {
          guard case .message(let message) = $0.fact else { return nil }
          return message.content.text
        }
      }
    }

    func scheduled() async throws -> [ScheduledMessage] {
      let romeo = romeo.id
      return try await stage.parley.read { try $0.scheduled(of: romeo) }
    }
  }

  @Test func aScheduledMessageIsSentOnceAtItsTime() async throws {
    let cast = try await Cast()
    let receipt = try await cast.schedule("good morrow", id: "s1")
    #expect((receipt.value as? ScheduledMessage)?.content.text == "good morrow")
    #expect(await ScheduledMessages(cast.stage.parley).sendDue() == .seconds(1))
    #expect(try await cast.said() == [])
    cast.stage.clock.set(cast.now + 1_000)
    #expect(await ScheduledMessages(cast.stage.parley).sendDue() == nil)
    #expect(await ScheduledMessages(cast.stage.parley).sendDue() == nil)
    // A second sending of the same message, which another run saw due at the same time, changes nothing.
    let id = try #require((receipt.value as? ScheduledMessage)?.id)
    try await cast.stage.parley.post(.scheduledMessage(.send(id)), by: cast.romeo)
    #expect(try await cast.said() == ["good morrow"])
    #expect(try await cast.scheduled().isEmpty)
    // A late repeat is answered with what it has become.
    let repeated = try await cast.schedule("good morrow", id: "s1")
    #expect(repeated.isRepeat && repeated.entry != nil)
    #expect(try await cast.scheduled().isEmpty)
  }

  /// The messages of many authors are posted together, in each author's order, and nobody's twice at once.
  @Test func authorsDoNotWaitForOneAnother() async throws {
    let cast = try await Cast()
    let parley = cast.stage.parley
    var dialogs: [DialogID] = []
    for number in 0...Limits.scheduledAuthorsAtOnce {
      let author = try await cast.stage.user("author\(number)")
      let dialog = try #require(try await parley.post(.openDialog(cast.juliet.address), by: author).dialog?.id)
      dialogs.append(dialog)
      for (index, text) in ["one", "two", "three"].enumerated() {
        _ = try await cast.schedule(text, id: text, in: dialog, after: Int64(index + 1), by: author)
      }
    }
    cast.stage.clock.set(cast.now + 1_000)
    let messages = ScheduledMessages(parley)
    // Nothing is committed meanwhile: whoever waits for a post would wait here.
    let gate = Gate()
    let held = Task { try await parley.work { _ in gate.wait() } }
    await gate.entered()
    let first = await messages.beginSending()
    let again = await messages.beginSending()
    #expect(first.sending.count == Limits.scheduledAuthorsAtOnce && again.sending.isEmpty)
    // What fails is looked at again.
    #expect(first.wait == Limits.scheduleRetry && again.wait == Limits.scheduleRetry)
    gate.open()
    try await held.value
    for task in first.sending { await task.value }
    let last = await messages.beginSending()
    #expect(last.sending.count == 1)
    for task in last.sending { await task.value }
    #expect(await messages.beginSending().wait == nil)
    for dialog in dialogs { #expect(try await cast.said(in: dialog) == ["one", "two", "three"]) }
  }

  /// Those who could not send are behind all others when there are more than are sent at once.
  @Test func authorsWhoseMessagesCannotBePostedDelayNobody() {
    let authors = (0...Limits.scheduledAuthorsAtOnce).map { UserID(Int64($0 + 1)) }
    let due = DueAuthors()
    let first = due.claim(authors)
    #expect(first == Array(authors.dropLast()))
    for author in first { due.release(author, isSent: false) }
    let second = due.claim(authors)
    #expect(second.first == authors.last && Array(second.dropFirst()) == Array(authors.dropLast(2)))
  }

  @Test func nobodySendsItEarlier() async throws {
    let cast = try await Cast()
    let receipt = try await cast.schedule("later", id: "s1")
    let id = try #require((receipt.value as? ScheduledMessage)?.id)
    try await cast.stage.parley.post(.scheduledMessage(.send(id)), by: cast.romeo)
    #expect(try await cast.said() == [])
    #expect(try await cast.scheduled().count == 1)
  }

  @Test func aRepeatIsTheSameAndAnotherTextIsRefused() async throws {
    let cast = try await Cast()
    let first = try await cast.schedule("one", id: "s1")
    let again = try await cast.schedule("one", id: "s1", after: 9_000)
    #expect(again.isRepeat)
    #expect(first.value as? ScheduledMessage == again.value as? ScheduledMessage)
    await #expect(throws: Problem.self) { try await cast.schedule("other", id: "s1") }
    #expect(try await cast.scheduled().count == 1)
  }

  @Test func aRefusedScheduledMessageIsKeptWithTheReason() async throws {
    let cast = try await Cast()
    let session = try await cast.stage.session(cast.romeo, "app-1", door: .app)
    _ = try await cast.schedule("hello", id: "s1")
    try await cast.stage.parley.post(.block([BlockPattern(JID(cast.romeo.address))]), by: cast.juliet)
    cast.stage.clock.set(cast.now + 2_000)
    #expect(await ScheduledMessages(cast.stage.parley).sendDue() == nil)
    #expect(try await cast.said() == [])
    let failed = try #require(try await cast.scheduled().first)
    #expect(failed.failure?.code == "user-unreachable")
    let states = session.deliveries().compactMap { delivery -> ScheduledChange.State? in
      guard case .entry(let entry, _) = delivery, case .scheduledMessage(let change) = entry.fact else { return nil }
      return change.state
    }
    #expect(states == [.pending, .failed])
    // A message that is given another time is sent again.
    try await cast.stage.parley.post(.unblock([]), by: cast.juliet)
    let due = Timestamp(milliseconds: cast.now + 1_000)
    try await ScheduledMessages(cast.stage.parley).post(.reschedule(failed.id, due: due, content: nil), by: cast.romeo)
    cast.stage.clock.set(cast.now + 1_000)
    #expect(await ScheduledMessages(cast.stage.parley).sendDue() == nil)
    #expect(try await cast.said() == ["hello"])
  }

  @Test func othersFindNeither() async throws {
    let cast = try await Cast()
    let nurse = try await cast.stage.user("nurse")
    let receipt = try await cast.schedule("mine", id: "s1")
    let id = try #require((receipt.value as? ScheduledMessage)?.id)
    for intent in [
      Intent.scheduledMessage(.cancel(id)), .scheduledMessage(.reschedule(id, due: nil, content: nil)),
      .draft(cast.dialog, text: "x", replyTo: nil),
    ] {
      await #expect(throws: Problem.self) { try await cast.stage.parley.post(intent, by: nurse) }
    }
    await #expect(throws: Problem.self) { try await cast.schedule("x", id: "s2", by: nurse) }
    #expect(try await cast.scheduled().map(\.id) == [id])
  }

  @Test func thereIsABound() async throws {
    let cast = try await Cast()
    for index in 0..<Limits.scheduledPerUserMax { _ = try await cast.schedule("x", id: "s\(index)") }
    await #expect(throws: Problem.self) { try await cast.schedule("x", id: "more") }
    let whens: [Int64] = [0, -1, 400 * 86_400_000]
    for when in whens {
      await #expect(throws: Problem.self) { try await cast.schedule("x", id: "when", after: when) }
    }
  }

  /// A message that would be refused when it is sent is refused when it is scheduled.
  @Test func aMentionLiesInTheText() async throws {
    let cast = try await Cast()
    func mention(_ begin: Int?, _ end: Int?) -> MentionDraft {
      MentionDraft(address: JID(cast.juliet.address), begin: begin, end: end)
    }
    for (begin, end) in [(-1, 3), (0, 0), (nil, 3), (0, nil), (0, 7)] as [(Int?, Int?)] {
      let problem = await #expect(throws: Problem.self) {
        try await cast.schedule("juliet", id: "s", mentions: [mention(begin, end)])
      }
      #expect(problem?.code == "mention-misplaced")
    }
    let receipt = try await cast.schedule("juliet", id: "s", mentions: [mention(0, 6)])
    let id = try #require((receipt.value as? ScheduledMessage)?.id)
    // Other words: the place was one in the old ones.
    try await ScheduledMessages(cast.stage.parley).post(
      .reschedule(id, due: nil, content: Content(kind: .text, text: "Ju")), by: cast.romeo)
    #expect(try await cast.scheduled().map(\.mentions) == [[mention(nil, nil)]])
    cast.stage.clock.set(cast.now + 1_000)
    #expect(await ScheduledMessages(cast.stage.parley).sendDue() == nil)
    #expect(try await cast.said() == ["Ju"])
  }

  @Test func theLogHoldsTheLastDraftOnly() async throws {
    let cast = try await Cast()
    for text in ["a", "ab", "abc", "abc"] {
      try await cast.stage.parley.post(.draft(cast.dialog, text: text, replyTo: nil), by: cast.romeo)
    }
    let (romeo, dialog) = (cast.romeo.id, cast.dialog)
    let drafts = try await cast.stage.parley.read { reader in
      try reader.feed(of: romeo, after: .zero, limit: 99).compactMap { entry -> String? in
        guard case .draft(_, let draft) = entry.fact else { return nil }
        return draft?.text
      }
    }
    #expect(drafts == ["abc"])
    #expect(try await cast.stage.parley.read { try $0.draft(of: romeo, in: dialog)?.text } == "abc")
    try await cast.stage.parley.post(.draft(cast.dialog, text: "", replyTo: nil), by: cast.romeo)
    #expect(try await cast.stage.parley.read { try $0.draft(of: romeo, in: dialog) } == nil)
  }
}
