import Addresses
import ServerMetrics
import Synchronization

/// Asks the hook before a message enters the inbox. It is in front of the inbox, so that the committer never waits:
/// only an author waits, and only for their own messages (`AuthorQueue`). `Intent.speech` says what it is asked about, and `QuestionTurns`
/// when: what an author sends faster than the backend answers waits here, and holds up nobody else.
///
/// It is bounded by the bytes of the posts that wait: each author may have a share of what the others leave free, so that many authors
/// together leave some of it to the next one. At a bound it refuses, as the inbox does, and callers are notified when there is room
/// again.
final class BeforeSendQueue: Sendable {
  /// A post with the bytes that it is counted with.
  private struct Held {
    let post: Post
    let bytes: Int
  }
  private struct Line {
    var posts = AuthorQueue<Held>()
    var bytes = 0
    /// The continuations that run once the author's posts have half of the bytes that they may, or none waits.
    var waiting: [@Sendable () -> Void] = []
  }
  /// A question about a post, with what is known of it before the store is read.
  private struct Question: Sendable {
    let number: UInt64
    let post: Post
    let speech: Speech
    let bytes: Int
  }
  private struct State {
    var turns: QuestionTurns<Question>
    var lines: [UserID: Line] = [:]
    /// The bytes of all posts.
    var bytes = 0
    /// The continuations that run once all posts have half of the bytes that they may.
    var waiting: [@Sendable () -> Void] = []
    var number: UInt64 = 0
    /// Whether the server stops: questions that have not begun are not asked any more.
    var isStopping = false
    /// The continuations that run once no post waits.
    var emptied: [@Sendable () -> Void] = []
  }

  private let settings: BeforeSendOptions
  private let inbox: Inbox
  private let metrics: Metrics
  private let wake: @Sendable () -> Void
  private let state: Mutex<State>
  private let bytesMax: Int

  init(_ settings: BeforeSendOptions, inbox: Inbox, metrics: Metrics, wake: @escaping @Sendable () -> Void) {
    self.settings = settings
    self.inbox = inbox
    self.metrics = metrics
    self.wake = wake
    bytesMax = settings.policy.bytesMax
    let turns = QuestionTurns<Question>(max: settings.policy.questionsMax, patience: settings.policy.patience)
    state = Mutex(State(turns: turns))
  }

  /// The questions whose turn has come.
  private struct Turn: Sendable {
    var asked: [QuestionTurns<Question>.Begun] = []
    /// The authors of posts that are decided without asking.
    var decided: [UserID] = []
    /// The number of these posts that are late.
    var lateCount = 0
  }

  private enum Taken {
    case passes, full, queued
    case asks(Turn)
  }

  /// Takes a post that must wait.
  ///
  /// - Parameters:
  ///   - isFromBackend: whether the post is the backend's own, about which the hook is not asked.
  ///   - parley: what is read, before the hook is asked, of a message to forward and of the users of a dialog.
  /// - Returns: `nil` if the post need not wait, `false` if too much waits already; otherwise it was taken, and leaves in order.
  func take(_ post: Post, isFromBackend: Bool, in parley: Parley) -> Bool? {
    let speech = isFromBackend ? nil : speech(of: post)
    let bytes = Self.bytes(of: post, asking: speech)
    let taken: Taken = state.withLock { state in
      let author = post.author.id
      if speech == nil, state.lines[author] == nil { return .passes }
      guard (state.lines[author]?.bytes ?? 0) < authorBytesMax(beside: state.bytes) else { return .full }
      var line = state.lines.removeValue(forKey: author) ?? Line()
      line.bytes += bytes
      state.bytes += bytes
      var question: Question?
      if let speech {
        if let answer = answer(unasked: speech) {
          line.posts.add(Held(post: decided(post, speech, answer), bytes: bytes))
        } else {
          state.number += 1
          line.posts.wait(state.number)
          question = Question(number: state.number, post: post, speech: speech, bytes: bytes)
        }
      } else {
        line.posts.add(Held(post: post, bytes: bytes))
      }
      state.lines[author] = line
      guard let question else { return .queued }
      let now = ContinuousClock.now
      state.turns.add(question, by: author, of: Self.account(of: post.author, in: parley), now: now)
      return .asks(begin(&state, now: now))
    }
    switch taken {
    case .passes: return nil
    case .full:
      metrics.refusals.add(.inbox)
      return false
    case .queued: drain(post.author.id)
    case .asks(let turn): ask(turn, in: parley)
    }
    return true
  }

  /// Returns whose questions share their turn with the author's.
  private static func account(of author: Party, in parley: Parley) -> QuestionTurns<Question>.Account {
    guard parley.realmTable.isFederated(author.realm) else { return .author(author.id) }
    return .zone(DomainZone.of(author.address.domain))
  }

  /// Returns the bytes at which an author's next post is refused.
  ///
  /// - Parameter bytes: The bytes of all posts.
  private func authorBytesMax(beside bytes: Int) -> Int { (bytesMax - bytes) / Limits.beforeSendAuthorShare }

  /// Begins the questions whose turn it is. A late one is not asked, and counts as unanswered; when the server stops all are refused that
  /// have not begun.
  private func begin(_ state: inout State, now: ContinuousClock.Instant) -> Turn {
    var turn = Turn()
    while let next = state.turns.next(now: now) {
      guard next.isLate || state.isStopping else {
        turn.asked.append(next)
        continue
      }
      let question = next.question
      let post =
        state.isStopping
        ? Post(question.post, .refused(.overloaded)) : decided(question.post, question.speech, .none)
      if !state.isStopping { turn.lateCount += 1 }
      turn.decided.append(question.post.author.id)
      state.lines[question.post.author.id]?.posts.answer(question.number, with: Held(post: post, bytes: question.bytes))
      state.turns.end(next, now: now)
    }
    return turn
  }

  /// Asks the questions that have begun.
  private func ask(_ turn: Turn, in parley: Parley) {
    for _ in 0..<turn.lateCount { settings.beforeSend.noteUnasked() }
    for author in turn.decided { drain(author) }
    for begun in turn.asked {
      Task { [self] in answered(begun, await asked(begun.question, in: parley), in: parley) }
    }
  }

  /// Returns what the post says, if the hook is asked about it.
  private func speech(of post: Post) -> Speech? {
    guard var speech = post.intent.speech else { return nil }
    speech.readExtras(settings.rewriting)
    return speech.forward == nil && speech.shown == nil ? nil : speech
  }

  /// Asks the hook, and returns the post after its answer.
  private func asked(_ question: Question, in parley: Parley) async -> Held {
    let post = question.post
    let speech = await question.speech.found(for: post.author, in: parley)
    var bytes = question.bytes
    if speech.forward != nil {
      let more = Self.bytes(ofForwarded: speech.shown)
      guard hold(more, of: post.author.id) else { return Held(post: Post(post, .refused(.overloaded)), bytes: bytes) }
      bytes += more
    }
    // The committer refuses the forward of a message that was not found.
    guard let content = speech.shown else { return Held(post: Post(post, speech.intent), bytes: bytes) }
    let answer = await settings.beforeSend.answer(BeforeSendQuestion(speech, content, by: post.author))
    return Held(post: decided(post, speech, answer), bytes: bytes)
  }

  /// Counts the bytes of a message to forward, which are known once it has been read. Returns `false` if too much waits already.
  private func hold(_ bytes: Int, of author: UserID) -> Bool {
    state.withLock { state in
      guard let line = state.lines[author], line.bytes < authorBytesMax(beside: state.bytes) else { return false }
      state.lines[author]?.bytes += bytes
      state.bytes += bytes
      return true
    }
  }

  /// Returns the bytes that a post takes while it waits. The request to the hook has a copy of what the author wrote, and a
  /// description of the files.
  private static func bytes(of post: Post, asking speech: Speech?) -> Int {
    let bytes = Limits.beforeSendPostBytes + post.intent.byteCount
    guard let speech else { return bytes }
    return bytes + post.intent.byteCount + (speech.shown?.attachments.count ?? 0) * Limits.beforeSendFileBytes
  }

  private static func bytes(ofForwarded content: Content?) -> Int {
    content.map { 2 * Int($0.storedBytes) + $0.attachments.count * Limits.beforeSendFileBytes } ?? 0
  }

  /// Runs `body` once posts of an author may wait again; at once if they may.
  func whenRoom(for author: UserID, _ body: @escaping @Sendable () -> Void) {
    let now = state.withLock { state in
      let most = authorBytesMax(beside: state.bytes)
      if let line = state.lines[author] {
        if line.bytes <= most / 2 { return true }
        state.lines[author]?.waiting.append(body)
        return false
      }
      if most > 0 { return true }
      state.waiting.append(body)
      return false
    }
    if now { body() }
  }

  /// Returns an answer that is known without asking.
  private func answer(unasked speech: Speech) -> BeforeSendAnswer? {
    guard speech.shown?.kind == .encrypted else { return nil }
    return settings.policy.passesEncrypted
      ? .allow : .refuse(code: Problem.encryptedRefused.code, text: Problem.encryptedRefused.text)
  }

  private func answered(_ begun: QuestionTurns<Question>.Begun, _ held: Held, in parley: Parley) {
    let author = held.post.author.id
    let turn: Turn = state.withLock { state in
      let now = ContinuousClock.now
      state.lines[author]?.posts.answer(begun.question.number, with: held)
      state.turns.end(begun, now: now)
      return begin(&state, now: now)
    }
    drain(author)
    ask(turn, in: parley)
  }

  /// Appends the posts that may leave, in order: under the lock, so that concurrent calls do not interleave.
  private func drain(_ author: UserID) {
    var wakes = false
    let (isFull, lost, ready): (Bool, [Post], [@Sendable () -> Void]) = state.withLock { state in
      guard var line = state.lines.removeValue(forKey: author) else { return (false, [], []) }
      var lost: [Post] = []
      var isFull = false
      while let held = line.posts.next {
        switch inbox.append(held.post) {
        case .queued(let wake): wakes = wakes || wake
        case .full: isFull = true
        case .closed: lost.append(held.post)
        }
        if isFull { break }
        line.posts.removeNext()
        line.bytes -= held.bytes
        state.bytes -= held.bytes
      }
      var ready: [@Sendable () -> Void] = []
      if line.posts.isEmpty || line.bytes <= authorBytesMax(beside: state.bytes) / 2 {
        ready += line.waiting
        line.waiting = []
      }
      if state.bytes <= bytesMax / 2 {
        ready += state.waiting
        state.waiting = []
      }
      if !line.posts.isEmpty { state.lines[author] = line }
      if state.lines.isEmpty {
        ready += state.emptied
        state.emptied = []
      }
      return (isFull, lost, ready)
    }
    if wakes { wake() }
    if isFull { inbox.whenRoom { [self] in drain(author) } }
    for post in lost { post.fail(.overloaded) }
    for body in ready { body() }
  }

  /// Returns when no post waits: at most after the hook's timeout, since questions that have not begun are not asked any more. It is
  /// called when the server stops.
  func emptied() async {
    await withCheckedContinuation { continuation in
      let isEmpty = state.withLock { state in
        state.isStopping = true
        if state.lines.isEmpty { return true }
        state.emptied.append { continuation.resume() }
        return false
      }
      if isEmpty { continuation.resume() }
    }
  }

  /// Returns the post after the answer.
  private func decided(_ post: Post, _ speech: Speech, _ answer: BeforeSendAnswer) -> Post {
    switch answer {
    case .none where !settings.policy.passesUnanswered: return Post(post, .refused(.unanswered))
    // A forward is sent as it was asked about.
    case .allow, .none: return speech.forward == nil ? post : Post(post, speech.intent)
    case .refuse(let code, let text): return Post(post, .refused(Problem(.refused, code, text)))
    case .change(let text):
      var speech = speech
      speech.change(to: text, settings.rewriting)
      return Post(post, speech.intent)
    }
  }
}

extension Post {
  /// Completes the post with a failure.
  func fail(_ problem: Problem) {
    trace?.end(with: problem)
    switch completion {
    case .none: break
    case .session(let session, let token): session.lane.deliver(.outcome(token: token, .failure(problem)), to: session)
    case .callback(let body): body(.failure(problem))
    }
  }
}
