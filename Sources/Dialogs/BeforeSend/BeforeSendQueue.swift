import Addresses
import ServerMetrics
import Synchronization

/// Asks the hook before a message enters the inbox. It is in front of the inbox, so that the committer never waits:
/// only an author waits, and only for their own messages (`AuthorQueue`). `Intent.speech` says what it is asked about.
///
/// It is bounded by the bytes of the posts that wait, of each author and in all. At a bound it refuses, as the inbox does, and callers
/// are notified when there is room again.
final class BeforeSendQueue: Sendable {
  /// A post with the bytes that it is counted with.
  private struct Held {
    let post: Post
    let bytes: Int
  }
  private struct Line {
    var posts = AuthorQueue<Held>()
    var bytes = 0
    /// The continuations that run once the author's posts have half of the bytes that they may.
    var waiting: [@Sendable () -> Void] = []
  }
  private struct State {
    var lines: [UserID: Line] = [:]
    /// The bytes of all posts.
    var bytes = 0
    /// The continuations that run once all posts have half of the bytes that they may.
    var waiting: [@Sendable () -> Void] = []
    var questions = 0
    var number: UInt64 = 0
    /// The continuations that run once no post waits.
    var emptied: [@Sendable () -> Void] = []
  }

  private let settings: BeforeSendOptions
  private let inbox: Inbox
  private let metrics: Metrics
  private let wake: @Sendable () -> Void
  private let state = Mutex(State())
  private let bytesMax: Int
  private let authorBytesMax: Int

  init(_ settings: BeforeSendOptions, inbox: Inbox, metrics: Metrics, wake: @escaping @Sendable () -> Void) {
    self.settings = settings
    self.inbox = inbox
    self.metrics = metrics
    self.wake = wake
    bytesMax = settings.policy.bytesMax
    authorBytesMax = settings.policy.bytesMax / Limits.beforeSendAuthorShare
  }

  private enum Taken {
    case passes, full, queued, unasked
    case asked(Speech, UInt64)
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
      guard state.bytes < bytesMax, (state.lines[author]?.bytes ?? 0) < authorBytesMax else { return .full }
      var line = state.lines.removeValue(forKey: author) ?? Line()
      defer { state.lines[author] = line }
      line.bytes += bytes
      state.bytes += bytes
      guard let speech else {
        line.posts.add(Held(post: post, bytes: bytes))
        return .queued
      }
      if let answer = answer(unasked: speech, state.questions) {
        line.posts.add(Held(post: decided(post, speech, answer), bytes: bytes))
        return answer == .none ? .unasked : .queued
      }
      state.number += 1
      state.questions += 1
      line.posts.wait(state.number)
      return .asked(speech, state.number)
    }
    switch taken {
    case .passes: return nil
    case .full:
      metrics.refusals.add(.inbox)
      return false
    case .queued: drain(post.author.id)
    case .unasked:
      settings.beforeSend.noteUnasked()
      drain(post.author.id)
    case .asked(let speech, let number):
      Task { [self] in answered(number, await asked(post, speech, bytes, in: parley)) }
    }
    return true
  }

  /// Returns what the post says, if the hook is asked about it.
  private func speech(of post: Post) -> Speech? {
    guard var speech = post.intent.speech else { return nil }
    speech.readExtras(settings.rewriting)
    return speech.forward == nil && speech.shown == nil ? nil : speech
  }

  /// Asks the hook, and returns the post after its answer.
  private func asked(_ post: Post, _ speech: Speech, _ bytes: Int, in parley: Parley) async -> Held {
    let speech = await speech.found(for: post.author, in: parley)
    var bytes = bytes
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
      guard state.bytes < bytesMax, let line = state.lines[author], line.bytes < authorBytesMax else { return false }
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
      if state.bytes > bytesMax / 2 {
        state.waiting.append(body)
        return false
      }
      if let line = state.lines[author], line.bytes > authorBytesMax / 2 {
        state.lines[author]?.waiting.append(body)
        return false
      }
      return true
    }
    if now { body() }
  }

  /// Returns an answer that is known without asking.
  private func answer(unasked speech: Speech, _ questions: Int) -> BeforeSendAnswer? {
    if speech.shown?.kind == .encrypted {
      return settings.policy.passesEncrypted
        ? .allow : .refuse(code: Problem.encryptedRefused.code, text: Problem.encryptedRefused.text)
    }
    return questions < settings.policy.questionsMax ? nil : BeforeSendAnswer.none
  }

  private func answered(_ number: UInt64, _ held: Held) {
    let author = held.post.author.id
    state.withLock { state in
      state.questions -= 1
      state.lines[author]?.posts.answer(number, with: held)
    }
    drain(author)
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
      if line.bytes <= authorBytesMax / 2 {
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

  /// Returns when no post waits: at most after the hook's timeout.
  func emptied() async {
    await withCheckedContinuation { continuation in
      let isEmpty = state.withLock { state in
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
