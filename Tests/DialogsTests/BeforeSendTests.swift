import Addresses
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
      var waiting: [String: CheckedContinuation<BeforeSendAnswer, Never>] = [:]
      var asked: [String] = []
      var arrivals: [(count: Int, CheckedContinuation<Void, Never>)] = []
    }
    private let state = Mutex(State())

    var asked: [String] { state.withLock { $0.asked } }

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

    func answer(_ question: BeforeSendQuestion) async -> BeforeSendAnswer {
      await withCheckedContinuation { continuation in
        let text = question.content.text
        let (known, woken) = state.withLock { state -> (BeforeSendAnswer?, [CheckedContinuation<Void, Never>]) in
          state.asked.append(text)
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
    func extras(_ extras: [UInt8], saying text: String) -> [UInt8] { Array("<body>\(text)</body>".utf8) }
  }

  private func makeStage(
    _ backend: Backend, passesUnanswered: Bool = true, passesEncrypted: Bool = true, max: Int = 100,
    bytesMax: Int = Limits.beforeSendBytesMax
  ) throws -> Stage {
    try Stage(
      beforeSend: BeforeSendOptions(
        policy: BeforeSendPolicy(
          passesUnanswered: passesUnanswered, passesEncrypted: passesEncrypted, questionsMax: max,
          bytesMax: bytesMax),
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

  @Test func atTheBoundAMessageCountsAsUnansweredAndTheBackendsOwnIsNotAsked() async throws {
    let backend = Backend()
    let stage = try makeStage(backend, passesUnanswered: false, max: 1)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let session = try await stage.session(romeo, "orchard")
    let waits = submit(stage, session, .message(draft("waits", to: juliet)))
    await #expect {
      _ = try await stage.parley.post(.message(draft("more", to: romeo)), by: juliet)
    } throws: { ($0 as? Problem)?.code == "message-unanswered" }
    _ = try await stage.parley.post(.message(draft("vouched", to: romeo)), by: juliet, isFromBackend: true)
    backend.say(.allow, to: "waits")
    await session.waitForOutcome(of: waits)
    #expect(backend.asked == ["waits"])
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

  @Test func aStoppingServerCommitsTheWaitingMessages() async throws {
    let backend = Backend()
    let stage = try makeStage(backend)
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let session = try await stage.session(romeo, "orchard")
    let token = submit(stage, session, .message(draft("last words", to: juliet)))
    await backend.questions(1)
    async let stopped: Void = stage.parley.stop()
    backend.say(.allow, to: "last words")
    await stopped
    await session.waitForOutcome(of: token)
    #expect((try? session.outcome(of: token)?.get()) != nil)
  }
}
