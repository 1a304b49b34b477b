import Addresses
import Basics
import DialogsFixtures
import StoreConformance
import Synchronization
import Testing

@testable import Dialogs

/// Messages that a backend checks: which posts wait for which, and the result of each.
@Suite struct BeforeSendTests {
  @Test func postsLeaveInTheirOrderWheneverTheirAnswersCome() {
    var line = AuthorQueue<String>()
    line.wait(1)
    line.add("b")
    line.wait(2)
    #expect(line.next == nil)
    line.answer(2, with: "c")
    #expect(line.next == nil)
    line.answer(1, with: "a")
    var left: [String] = []
    while let next = line.next {
      left.append(next)
      line.removeNext()
    }
    #expect(left == ["a", "b", "c"] && line.isEmpty)
    line.answer(3, with: "nobody's")
    #expect(line.isEmpty)
  }

  /// A backend that answers when the test says so.
  private final class Backend: BeforeSendHook {
    private struct State {
      var answers: [String: BeforeSendAnswer] = [:]
      var last: BeforeSendQuestion?
      var waiting: [String: CheckedContinuation<BeforeSendAnswer, Never>] = [:]
      var asked: [String] = []
      var unasked = 0
      var arrivals: [(count: Int, CheckedContinuation<Void, Never>)] = []
    }
    private let state = Mutex(State())

    var asked: [String] { state.withLock { $0.asked } }
    /// The number of messages about which it was not asked, since they have waited too long for their turn.
    var unasked: Int { state.withLock { $0.unasked } }
    /// The last question.
    var last: BeforeSendQuestion? { state.withLock { $0.last } }

    func say(_ answer: BeforeSendAnswer, to text: String) {
      state.withLock { state in
        state.answers[text] = answer
        return state.waiting.removeValue(forKey: text)
      }?.resume(returning: answer)
    }

    func questions(_ count: Int) async {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.asked.count >= count { return true }
          state.arrivals.append((count, continuation))
          return false
        }
        if isThere { continuation.resume() }
      }
    }

    func noteUnasked() { state.withLock { $0.unasked += 1 } }

    func answer(_ question: BeforeSendQuestion) async -> BeforeSendAnswer {
      await withCheckedContinuation { continuation in
        let text = question.content.text
        let (known, woken) = state.withLock { state -> (BeforeSendAnswer?, [CheckedContinuation<Void, Never>]) in
          state.asked.append(text)
          state.last = question
          let count = state.asked.count
          let woken = state.arrivals.filter { $0.count <= count }.map(\.1)
          state.arrivals.removeAll { $0.count <= count }
          if let known = state.answers[text] { return (known, woken) }
          state.waiting[text] = continuation
          return (nil, woken)
        }
        for each in woken { each.resume() }
        if let known { continuation.resume(returning: known) }
      }
    }
  }

  private struct Words: ContentRewriting {
    func shown(_ content: Content) -> Content? {
      if content.kind != .none { return content }
      let text = String(decoding: content.extras, as: UTF8.self)
      return text.hasPrefix("<body>") ? Content(kind: .text, text: String(text.dropFirst(6).dropLast(7))) : nil
    }
    func extras(_ extras: [UInt8], saying text: String) -> [UInt8] { Array("<body>\(text)</body>".utf8) }
  }

  private func makeStage(
    _ backend: Backend, passesUnanswered: Bool = true, passesEncrypted: Bool = true, patience: Duration = .seconds(60),
    max: Int = Limits.beforeSendQuestionsMax, bytesMax: Int = Limits.beforeSendBytesMax
  ) throws -> Stage {
    try Stage(
      beforeSend: BeforeSendOptions(
        policy: BeforeSendPolicy(
          passesUnanswered: passesUnanswered, passesEncrypted: passesEncrypted, patience: patience,
          questionsMax: max, bytesMax: bytesMax),
        beforeSend: backend, rewriting: Words()))
  }

  private func draft(_ text: String, to peer: Party, kind: Content.Kind = .text) -> MessageDraft {
    MessageDraft(
      to: peer.address, content: Content(kind: kind, text: text, extras: Array("<body>\(text)</body>".utf8)),
      envelope: Envelope(type: .chat), traits: [.counts, .archived], key: nil,
      mentions: [MentionDraft(address: JID(peer.address), begin: 0, end: 1)])
  }

  private func submit(_ stage: Stage, _ session: RecordingSession, _ intent: Intent) -> UInt64 {
    let token = session.nextToken()
    #expect(
      stage.parley.submit(Post(author: session.party, intent: intent, completion: .session(session, token: token))))
    return token
  }

  @Test func laterPostsOfASessionWaitForItsMessageAndOthersDoNot() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let session = try await stage.session(romeo, "orchard")
    let first = submit(stage, session, .message(draft("slow", to: juliet)))
    let second = submit(stage, session, .message(draft("quick", to: juliet)))
    // It says nothing, and comes behind what does.
    let third = submit(stage, session, .confirm(.zero))
    backend.say(.allow, to: "quick")
    await backend.questions(2)
    // Somebody else is not held up.
    backend.say(.allow, to: "mine")
    _ = try await stage.parley.post(.message(draft("mine", to: romeo)), by: juliet)
    #expect(session.outcome(of: first) == nil && session.outcome(of: third) == nil)
    backend.say(.allow, to: "slow")
    await session.waitForOutcome(of: third)
    let done = session.taken().compactMap { heard -> UInt64? in if case .done(let token) = heard { token } else { nil }
    }
    #expect(done == [first, second, third])
  }

  @Test func aRefusalComesInItsTurnAndSaysWhy() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let session = try await stage.session(romeo, "orchard")
    backend.say(.refuse(code: "swearing", text: "Mind your tongue."), to: "bad")
    backend.say(.allow, to: "good")
    let bad = submit(stage, session, .message(draft("bad", to: juliet)))
    let good = submit(stage, session, .message(draft("good", to: juliet)))
    await session.waitForOutcome(of: good)
    let problem = #expect(throws: Problem.self) { try session.outcome(of: bad)?.get() }
    #expect(problem == Problem(.refused, "swearing", "Mind your tongue."))
    let outcomes = session.taken().filter {
      if case .done = $0 { true } else if case .refused = $0 { true } else { false }
    }
    #expect(outcomes == [.refused(bad, .refused), .done(good)])
    let said = try await stage.parley.read { reader in
      try reader.dialog(between: romeo.id, and: juliet.id).map {
        try reader.history(of: $0.id, after: .zero, before: .end, limit: 9, ascending: true).count
      }
    }
    #expect(said == 1)
  }

  @Test func aChangedTextIsWhatIsSaidInBothProtocols() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    backend.say(.change(text: "****"), to: "damn")
    let receipt = try await stage.parley.post(.message(draft("damn", to: juliet)), by: romeo)
    guard case .message(let message)? = receipt.entry?.fact else {
      Issue.record("no message")
      return
    }
    #expect(message.content.text == "****" && message.content.extras == Array("<body>****</body>".utf8))
    #expect(message.mentions.allSatisfy { $0.place == nil })
  }

  @Test(arguments: [true, false]) func anUnansweredMessageIsHandledAsConfigured(passes: Bool) async throws {
    let backend = Backend()
    let stage = try makeStage(backend, passesUnanswered: passes)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    backend.say(.none, to: "hm")
    let result: String?
    do throws(Problem) {
      _ = try await stage.parley.post(.message(draft("hm", to: juliet)), by: romeo)
      result = nil
    } catch { result = error.code }
    #expect(result == (passes ? nil : "message-unanswered"))
  }

  @Test(arguments: [true, false]) func ciphertextIsShownToNobody(passes: Bool) async throws {
    let backend = Backend()
    let stage = try makeStage(backend, passesEncrypted: passes)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let result: String?
    do throws(Problem) {
      _ = try await stage.parley.post(.message(draft("secret", to: juliet, kind: .encrypted)), by: romeo)
      result = nil
    } catch { result = error.code }
    #expect(result == (passes ? nil : "message-encrypted") && backend.asked.isEmpty)
  }

  @Test func aMessageThatWaitsTooLongForItsTurnIsUnansweredAndTheBackendsOwnIsNotAsked() async throws {
    let backend = Backend()
    let stage = try makeStage(backend, passesUnanswered: false, patience: .zero, max: 1)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (session, other) = (try await stage.session(romeo, "orchard"), try await stage.session(juliet, "balcony"))
    let nurse = try await stage.user("nurse")
    let waits = submit(stage, session, .message(draft("waits", to: juliet)))
    let more = submit(stage, other, .message(draft("more", to: romeo)))
    _ = try await stage.parley.post(.message(draft("vouched", to: romeo)), by: nurse, isFromBackend: true)
    #expect(other.outcome(of: more) == nil)
    backend.say(.allow, to: "waits")
    await session.waitForOutcome(of: waits)
    await other.waitForOutcome(of: more)
    #expect(throws: Problem.unanswered) { try other.outcome(of: more)?.get() }
    #expect(backend.asked == ["waits"] && backend.unasked == 1)
  }

  // MARK: Whose turn it is

  private static func ask(
    _ turns: inout QuestionTurns<String>, _ text: String, by author: Int64, of zone: String? = nil,
    now: ContinuousClock.Instant
  ) {
    turns.add(text, by: UserID(author), of: zone.map { .zone($0) } ?? .author(UserID(author)), now: now)
  }

  private static func begin(
    _ turns: inout QuestionTurns<String>, now: ContinuousClock.Instant
  ) -> [QuestionTurns<String>.Begun] {
    var begun: [QuestionTurns<String>.Begun] = []
    while let next = turns.next(now: now) { begun.append(next) }
    return begun
  }

  /// However many messages some send, somebody else's is asked about when the first of those under way is answered.
  @Test func authorsTakeTurnsAndNoneHasAllQuestions() {
    let now = ContinuousClock.now
    var turns = QuestionTurns<String>(max: 6, patience: .seconds(1))
    for number in 0..<100 { Self.ask(&turns, "a\(number)", by: 1, now: now) }
    let first = Self.begin(&turns, now: now)
    #expect(first.map(\.question) == ["a0", "a1", "a2", "a3"])
    for number in 0..<3 { Self.ask(&turns, "b\(number)", by: 2, now: now) }
    Self.ask(&turns, "c", by: 3, now: now)
    #expect(Self.begin(&turns, now: now).map(\.question) == ["b0", "c"])
    turns.end(first[0], now: now)
    // The bound of an author is free as well as that of all, and the one who came first is the next.
    #expect(Self.begin(&turns, now: now).map(\.question) == ["b1"])
    turns.end(first[1], now: now)
    #expect(Self.begin(&turns, now: now).map(\.question) == ["a4"])
  }

  /// The authors of a zone have one turn among those of others, and take turns for it.
  @Test func theAuthorsOfAZoneElsewhereShareItsTurn() {
    let now = ContinuousClock.now
    var turns = QuestionTurns<String>(max: 100, patience: .seconds(1))
    for author in 1...100 {
      for number in 0..<2 {
        Self.ask(&turns, "\(author) \(number)", by: Int64(author), of: "mantua.example", now: now)
      }
    }
    let first = Self.begin(&turns, now: now)
    #expect(first.map(\.question) == ["1 0", "1 1"] + (2...7).map { "\($0) 0" })
    #expect(first.count == Limits.beforeSendZoneQuestionsMax)
    Self.ask(&turns, "other", by: 101, now: now)
    #expect(Self.begin(&turns, now: now).map(\.question) == ["other"])
  }

  /// Only the time counts in which an account waits for others, with one question at a time.
  @Test func nobodyMakesTheirOwnQuestionsLate() {
    let now = ContinuousClock.now
    var turns = QuestionTurns<String>(max: 4, patience: .seconds(1))
    for number in 0..<9 { Self.ask(&turns, "a\(number)", by: 1, now: now) }
    let first = Self.begin(&turns, now: now)
    Self.ask(&turns, "b", by: 2, now: now)
    #expect(Self.begin(&turns, now: now).isEmpty)
    let later = now + .seconds(60)
    for each in first { turns.end(each, now: later) }
    let second = Self.begin(&turns, now: later)
    #expect(second.map(\.question) == ["b", "a4", "a5", "a6"] && second.map(\.isLate) == [true, false, false, false])
  }

  /// The further messages of one author wait, while others' are asked about, and none is sent unasked.
  @Test func theFurtherMessagesOfAnAuthorWaitInOrder() async throws {
    let backend = Backend()
    let stage = try makeStage(backend, patience: .zero)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let session = try await stage.session(romeo, "orchard")
    let count = 3 * Limits.beforeSendQuestionsMax
    let tokens = (0..<count).map { submit(stage, session, .message(draft("\($0)", to: juliet))) }
    await backend.questions(Limits.beforeSendAuthorQuestionsMax)
    backend.say(.allow, to: "mine")
    _ = try await stage.parley.post(.message(draft("mine", to: romeo)), by: juliet)
    #expect(backend.asked.count == Limits.beforeSendAuthorQuestionsMax + 1)
    for number in 0..<count { backend.say(.allow, to: "\(number)") }
    for token in tokens { await session.waitForOutcome(of: token) }
    #expect(backend.asked.count == count + 1 && backend.unasked == 0)
    let done = session.taken().compactMap { heard -> UInt64? in if case .done(let token) = heard { token } else { nil }
    }
    #expect(done == tokens)
  }

  @Test func aQuestionHasTheIDOfTheDialogAndTheAddressOfTheRoomHoweverItsAuthorNamesThem() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    for text in ["first", "second", "by id", "by address"] { backend.say(.allow, to: text) }
    let first = try #require(try await stage.parley.post(.message(draft("first", to: juliet)), by: romeo).entry)
    // The message creates the dialog.
    #expect(backend.last?.recipient == juliet.address && backend.last?.dialog == nil)
    try await stage.parley.post(.message(draft("second", to: romeo)), by: juliet)
    #expect(backend.last?.recipient == romeo.address && backend.last?.dialog == first.dialog)
    let room = try await stage.room(by: romeo)
    let session = try await stage.seats(room, romeo)[0]
    for (text, reference) in [("by id", RoomReference.dialog(room.dialog)), ("by address", .address(room.address))] {
      try await stage.act(
        .say(
          reference,
          RoomMessageDraft(
            content: Content(kind: .text, text: text), envelope: Envelope(type: .groupchat, fromResource: "romeo"),
            traits: [.counts, .archived], key: nil)), by: session)
      #expect(backend.last?.content.text == text && backend.last?.recipient == nil)
      #expect(backend.last?.room == room.address && backend.last?.dialog == room.dialog)
    }
  }

  /// Each message from elsewhere comes under a provisional id, which no dialog has.
  @Test func aQuestionAboutAMessageFromElsewhereHasTheIDOfTheDialogToo() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    stage.parley.hub.setFederation(FederationTests.Service(refusing: []))
    let romeo = try await stage.user("romeo")
    let federated = stage.parley.federatedRealm(of: romeo.realm)
    let benvolio = Party(remote: try BareJID("benvolio@mantua.example"), realm: federated.id)
    for text in ["first", "second"] { backend.say(.allow, to: text) }
    let first = try #require(try await stage.parley.post(.message(draft("first", to: romeo)), by: benvolio).entry)
    #expect(backend.last?.recipient == romeo.address && backend.last?.dialog == nil)
    try await stage.parley.post(.message(draft("second", to: romeo)), by: benvolio)
    #expect(backend.last?.recipient == romeo.address && backend.last?.dialog == first.dialog)
  }

  private func post(_ author: Party, _ intent: Intent) -> Post {
    Post(author: author, intent: intent, completion: .none)
  }

  /// What one author makes the server hold does not refuse the messages of others, and there is room again once the messages have
  /// been answered.
  @Test func theBytesThatWaitAreBoundedForEachAuthor() async throws {
    let backend = Backend()
    let stage = try makeStage(backend, bytesMax: 16 * Limits.beforeSendPostBytes)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let session = try await stage.session(romeo, "orchard")
    // An eighth is what two posts take beside their texts, so that what follows them is refused, of whatever kind it is.
    _ = submit(stage, session, .message(draft("slow", to: juliet)))
    let second = submit(stage, session, .message(draft("second", to: juliet)))
    #expect(!stage.parley.submit(post(romeo, .message(draft("third", to: juliet)))))
    #expect(!stage.parley.submit(post(romeo, .confirm(.zero))))
    backend.say(.allow, to: "mine")
    _ = try await stage.parley.post(.message(draft("mine", to: romeo)), by: juliet)
    stage.parley.submitSurely(post(romeo, .message(draft("third", to: juliet))))
    for text in ["slow", "second", "third"] { backend.say(.allow, to: text) }
    await session.waitForOutcome(of: second)
    // It was taken when there was room, and asked about.
    await backend.questions(4)
    #expect(Set(backend.asked) == ["slow", "second", "mine", "third"])
    _ = try await stage.parley.post(.confirm(.zero), by: romeo)
  }

  /// In all a few large messages of several authors fill the queue, and everybody's wait.
  @Test func theBytesThatWaitAreBoundedInAll() async throws {
    let backend = Backend()
    let text = String(repeating: "x", count: 8_000)
    let stage = try makeStage(backend, bytesMax: 40_000)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let nurse = try await stage.user("nurse")
    #expect(stage.parley.submit(post(romeo, .message(draft(text, to: juliet)))))
    #expect(stage.parley.submit(post(juliet, .message(draft(text + "2", to: romeo)))))
    #expect(!stage.parley.submit(post(nurse, .message(draft("hm", to: romeo)))))
    // Nobody asks about what others post without a message.
    #expect(stage.parley.submit(post(nurse, .confirm(.zero))))
    let answers = Atomic(0)
    await withCheckedContinuation { (room: CheckedContinuation<Void, Never>) in
      stage.parley.whenRoom(for: nurse.id) {
        #expect(answers.load(ordering: .relaxed) == 1)
        room.resume()
      }
      answers.add(1, ordering: .relaxed)
      for each in [text, text + "2"] { backend.say(.allow, to: each) }
    }
    #expect(stage.parley.submit(post(nurse, .message(draft("hm", to: romeo)))))
    await backend.questions(3)
    backend.say(.allow, to: "hm")
    _ = try await stage.parley.post(.confirm(.zero), by: nurse)
  }

  /// Returns the code of the refusal; `nil` if there was none.
  private func refusal(_ body: () async throws(Problem) -> Void) async -> String? {
    do throws(Problem) {
      try await body()
      return nil
    } catch { return error.code }
  }

  private func said(by author: Party, to peer: Party, _ stage: Stage) async throws -> [Message] {
    try await stage.parley.read { reader in
      guard let dialog = try reader.dialog(between: author.id, and: peer.id) else { return [] }
      return try reader.history(of: dialog.id, after: .zero, before: .end, limit: 9, ascending: true).compactMap {
        entry -> Message? in
        guard case .message(let message) = entry.fact else { return nil }
        return message
      }
    }
  }

  /// A text is asked about when it is stored, and not when it is sent.
  @Test func aScheduledMessageIsAskedAboutWhenItIsScheduled() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let dialog = try #require(try await stage.parley.post(.openDialog(juliet.address), by: romeo).dialog?.id)
    let messages = ScheduledMessages(stage.parley)
    let due = stage.clock.now + .seconds(1)
    func schedule(_ text: String) async throws(Problem) -> ScheduledMessage? {
      let draft = ScheduleDraft(
        dialog: dialog, due: due, content: Content(kind: .text, text: text), replyTo: nil,
        mentions: [MentionDraft(address: JID(juliet.address), begin: 0, end: 1)],
        key: RepeatKey(rule: .app, id: text, bodyHash: 1))
      return try await messages.post(.schedule(draft), by: romeo).value as? ScheduledMessage
    }
    for text in ["good", "sent", "unknown"] { backend.say(.allow, to: text) }
    backend.say(.change(text: "****"), to: "damn")
    backend.say(.refuse(code: "no-spam", text: "No spam."), to: "spam")
    #expect(await refusal { () async throws(Problem) in _ = try await schedule("spam") } == "no-spam")
    #expect(try await stage.parley.read { try $0.scheduled(of: romeo.id).isEmpty })
    let good = try #require(try await schedule("good"))
    let question = try #require(backend.last)
    #expect(question.recipient == juliet.address && question.room == nil && question.dialog == dialog)
    #expect(question.id == "good" && question.due == due)
    let damn = try #require(try await schedule("damn"))
    #expect(damn.content.text == "****" && damn.mentions.allSatisfy { $0.begin == nil })
    // A repeat is asked about again, and is the first one.
    #expect(try await schedule("damn") == damn)
    // Another text is asked about, and another time is not.
    let later = due + .seconds(1)
    #expect(
      await refusal { () async throws(Problem) in
        try await messages.post(
          .reschedule(good.id, due: later, content: Content(kind: .text, text: "spam")), by: romeo)
      } == "no-spam")
    #expect(backend.last?.recipient == juliet.address && backend.last?.id == "good" && backend.last?.due == later)
    #expect(try await stage.parley.read { try $0.scheduled(good.id, of: romeo.id) } == good)
    let count = backend.asked.count
    try await messages.post(.reschedule(good.id, due: later, content: nil), by: romeo)
    #expect(backend.asked.count == count)
    try await messages.post(.reschedule(good.id, due: nil, content: Content(kind: .text, text: "sent")), by: romeo)
    // What is not there is asked about as well: it may be by the time of the commit.
    #expect(
      await refusal { () async throws(Problem) in
        try await messages.post(.reschedule(1, due: nil, content: Content(kind: .text, text: "unknown")), by: romeo)
      } == "scheduled-unknown")
    #expect(backend.asked.suffix(2) == ["sent", "unknown"])
    stage.clock.set(later.milliseconds)
    #expect(await messages.sendDue() == nil)
    #expect(backend.asked.count == count + 2)
    #expect(try await Set(said(by: romeo, to: juliet, stage).map(\.content.text)) == ["****", "sent"])
  }

  @Test(arguments: [true, false]) func anUnansweredScheduledMessageIsHandledAsConfigured(passes: Bool) async throws {
    let backend = Backend()
    let stage = try makeStage(backend, passesUnanswered: passes)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let dialog = try #require(try await stage.parley.post(.openDialog(juliet.address), by: romeo).dialog?.id)
    backend.say(.none, to: "hm")
    let draft = ScheduleDraft(
      dialog: dialog, due: stage.clock.now + .seconds(1), content: Content(kind: .text, text: "hm"), replyTo: nil,
      mentions: [], key: RepeatKey(rule: .app, id: "hm", bodyHash: 1))
    let code = await refusal { () async throws(Problem) in
      try await ScheduledMessages(stage.parley).post(.schedule(draft), by: romeo)
    }
    #expect(code == (passes ? nil : "message-unanswered"))
    #expect(try await stage.parley.read { try $0.scheduledCount(of: romeo.id) } == (passes ? 1 : 0))
  }

  private func forward(_ entry: Entry, to peer: Party, id: String) -> Intent {
    .message(
      MessageDraft(
        to: peer.address, content: Content(kind: .none), envelope: Envelope(type: .chat, id: id),
        traits: [.counts, .archived, .fromApp], key: RepeatKey(rule: .app, id: id, bodyHash: 1),
        forward: ForwardDraft(dialog: entry.dialog, message: entry.id)))
  }

  /// A forward is asked about with the content that its receivers get, and is sent with it.
  @Test func aForwardIsAskedAboutWithTheContentOfTheMessage() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let nurse = try await stage.user("nurse")
    // The author of the message may say what one who forwards it may not.
    for text in ["good", "damn", "spam"] { backend.say(.allow, to: text) }
    func say(_ text: String) async throws -> Entry {
      try #require(try await stage.parley.post(.message(draft(text, to: juliet)), by: romeo).entry)
    }
    let (good, damn, spam) = (try await say("good"), try await say("damn"), try await say("spam"))
    backend.say(.change(text: "****"), to: "damn")
    backend.say(.refuse(code: "no-spam", text: "No spam."), to: "spam")
    let first = try await stage.parley.post(forward(good, to: nurse, id: "f1"), by: juliet)
    let question = try #require(backend.last)
    #expect(question.content.text == "good" && question.content.extras.isEmpty && question.recipient == nurse.address)
    #expect(question.forward?.message == good.id && question.id == "f1")
    try await stage.parley.post(forward(damn, to: nurse, id: "f2"), by: juliet)
    #expect(
      await refusal { () async throws(Problem) in
        try await stage.parley.post(forward(spam, to: nurse, id: "f3"), by: juliet)
      } == "no-spam")
    // Whoever may not read a message learns nothing by the backend's answer.
    let count = backend.asked.count
    #expect(
      await refusal { () async throws(Problem) in
        try await stage.parley.post(forward(spam, to: juliet, id: "f4"), by: nurse)
      } == "message-unknown")
    #expect(backend.asked.count == count)
    let forwards = try await said(by: juliet, to: nurse, stage)
    #expect(forwards.map(\.content.text) == ["good", "****"] && forwards.allSatisfy { $0.forwarded?.at == good.time })
    // A repeat is answered with the first result, also when the message is gone.
    try await stage.parley.post(
      .message(
        MessageDraft(
          to: juliet.address, content: Content(kind: .none), envelope: Envelope(type: .chat),
          traits: [.archived, .fromApp], key: nil,
          reference: ReferenceDraft(kind: .retraction(reason: nil), target: .entry(good.id)))), by: romeo)
    let again = try await stage.parley.post(forward(good, to: nurse, id: "f1"), by: juliet)
    #expect(again.isRepeat && again.entry?.position == first.entry?.position)
    #expect(
      await refusal { () async throws(Problem) in
        try await stage.parley.post(forward(good, to: nurse, id: "f5"), by: juliet)
      } == "message-deleted")
  }

  /// Nobody is sent a text about which the backend was not asked, nor one that has been replaced.
  @Test(arguments: [BeforeSendAnswer.allow, .change(text: "****")])
  func aMessageThatIsEditedWhileTheBackendIsAskedIsNotForwarded(answer: BeforeSendAnswer) async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let nurse = try await stage.user("nurse")
    let original = try await stage.parley.post(.message(draft("before", to: juliet)), by: romeo, isFromBackend: true)
    let entry = try #require(original.entry)
    let session = try await stage.session(juliet, "chamber")
    let token = submit(stage, session, forward(entry, to: nurse, id: "f1"))
    await backend.questions(1)
    let edit = MessageDraft(
      to: juliet.address, content: Content(kind: .text, text: "after"), envelope: Envelope(type: .chat),
      traits: [.archived, .fromApp], key: nil, reference: ReferenceDraft(kind: .correction, target: .entry(entry.id)))
    try await stage.parley.post(.message(edit), by: romeo, isFromBackend: true)
    backend.say(answer, to: "before")
    await session.waitForOutcome(of: token)
    #expect(throws: Problem.messageChanged) { try session.outcome(of: token)?.get() }
    backend.say(.allow, to: "after")
    try await stage.parley.post(forward(entry, to: nurse, id: "f1"), by: juliet)
    #expect(try await said(by: juliet, to: nurse, stage).map(\.content.text) == ["after"])
  }

  /// The content of a forward counts, which is known once the message has been read.
  @Test func theBytesOfForwardedMessagesAreBounded() async throws {
    let backend = Backend()
    let stage = try makeStage(backend, bytesMax: 32 * Limits.beforeSendPostBytes)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let text = String(repeating: "x", count: 3 * Limits.beforeSendPostBytes)
    let original = try await stage.parley.post(.message(draft(text, to: juliet)), by: romeo, isFromBackend: true)
    let entry = try #require(original.entry)
    let session = try await stage.session(juliet, "chamber")
    let first = submit(stage, session, forward(entry, to: romeo, id: "f1"))
    await backend.questions(1)
    #expect(!stage.parley.submit(post(juliet, .confirm(.zero))))
    backend.say(.allow, to: text)
    await session.waitForOutcome(of: first)
    _ = try await stage.parley.post(.confirm(.zero), by: juliet)
  }

  /// A stanza that is only relayed is asked about if it says something.
  @Test func whatIsOnlyRelayedIsAskedAbout() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (session, listener) = (try await stage.session(romeo, "orchard"), try await stage.session(juliet, "balcony"))
    backend.say(.change(text: "****"), to: "damn")
    backend.say(.refuse(code: "no-spam", text: "No spam."), to: "spam")
    func relay(_ extras: String) -> UInt64 {
      let stanza = RelayedStanza(
        name: .message(.chat), from: romeo, fromResource: "orchard", to: juliet.address, toResource: nil, id: nil,
        extras: Array(extras.utf8))
      return submit(stage, session, .signal(.stanza(stanza), to: .user(juliet.address, resource: nil)))
    }
    let refused = relay("<body>spam</body>")
    _ = relay("<active/>")
    let last = relay("<body>damn</body>")
    await session.waitForOutcome(of: last)
    // What is committed before it has been delivered.
    try await stage.parley.post(.confirm(.zero), by: juliet)
    #expect(throws: Problem(.refused, "no-spam", "No spam.")) { try session.outcome(of: refused)?.get() }
    let heard = listener.deliveries().compactMap { delivery -> String? in
      guard case .signal(.stanza(let stanza), _) = delivery else { return nil }
      return String(decoding: stanza.extras, as: UTF8.self)
    }
    #expect(heard == ["<active/>", "<body>****</body>"] && Set(backend.asked) == ["spam", "damn"])
  }

  /// A message of a call without a call is an ordinary message.
  @Test func aMessageOfACallIsAskedAbout() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    backend.say(.refuse(code: "no-spam", text: "No spam."), to: "spam")
    let stanza = CallStanza(message: draft("spam", to: juliet), name: "1", act: .accept, kind: .audio, reason: nil)
    #expect(
      await refusal { () async throws(Problem) in try await stage.parley.post(.call(.said(stanza)), by: romeo) }
        == "no-spam")
  }

  /// A stop waits for the questions under way, and not for those of which an author may have any number.
  @Test func aStoppingServerCommitsTheMessagesThatAreAskedAboutAndRefusesLaterOnes() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let session = try await stage.session(romeo, "orchard")
    let most = Limits.beforeSendAuthorQuestionsMax
    let tokens = (0...most).map { submit(stage, session, .message(draft("\($0)", to: juliet))) }
    await backend.questions(most)
    let parley = stage.parley
    let stopped = Task { await parley.stop() }
    backend.say(.allow, to: "probe")
    while (try? await stage.parley.post(.message(draft("probe", to: romeo)), by: juliet)) != nil {}
    for number in 0...most { backend.say(.allow, to: "\(number)") }
    await stopped.value
    for token in tokens { await session.waitForOutcome(of: token) }
    for token in tokens.dropLast() { #expect((try? session.outcome(of: token)?.get()) != nil) }
    #expect(throws: Problem.overloaded) { try session.outcome(of: tokens[most])?.get() }
    #expect(!backend.asked.contains("\(most)"))
  }
}
