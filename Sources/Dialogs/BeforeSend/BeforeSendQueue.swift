import Addresses
import ServerMetrics
import Synchronization

/// Asks the hook before a message enters the inbox. It is in front of the inbox, so that the committer never waits:
/// only an author waits, and only for their own messages (`AuthorQueue`).
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
    case passes, full, queued
    case asked(BeforeSendQuestion, UInt64)
  }

  /// Takes a post that must wait.
  ///
  /// - Parameter isFromBackend: whether the post is the backend's own, about which the hook is not asked.
  /// - Returns: `nil` if the post need not wait, `false` if too much waits already; otherwise it was taken, and leaves in order.
  func take(_ post: Post, isFromBackend: Bool) -> Bool? {
    let question = isFromBackend ? nil : Self.question(post)
    let bytes = Self.bytes(of: post, asking: question)
    let taken: Taken = state.withLock { state in
      let author = post.author.id
      if question == nil, state.lines[author] == nil { return .passes }
      guard state.bytes < bytesMax, (state.lines[author]?.bytes ?? 0) < authorBytesMax else { return .full }
      var line = state.lines.removeValue(forKey: author) ?? Line()
      defer { state.lines[author] = line }
      line.bytes += bytes
      state.bytes += bytes
      guard let question else {
        line.posts.add(Held(post: post, bytes: bytes))
        return .queued
      }
      if let answer = answer(unasked: question, state.questions) {
        line.posts.add(Held(post: decided(post, answer), bytes: bytes))
        return .queued
      }
      state.number += 1
      state.questions += 1
      line.posts.wait(state.number)
      return .asked(question, state.number)
    }
    switch taken {
    case .passes: return nil
    case .full:
      metrics.refusals.add(.inbox)
      return false
    case .queued: drain(post.author.id)
    case .asked(let question, let number):
      Task { [self] in answered(post, bytes, number, await settings.beforeSend.answer(question)) }
    }
    return true
  }

  /// Returns the bytes that a post takes while it waits. The request to the hook has a copy of what the author wrote, and a
  /// description of the files.
  private static func bytes(of post: Post, asking question: BeforeSendQuestion?) -> Int {
    let bytes = Limits.beforeSendPostBytes + post.intent.byteCount
    guard let question else { return bytes }
    return bytes + post.intent.byteCount + question.content.attachments.count * Limits.beforeSendFileBytes
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
  private func answer(unasked question: BeforeSendQuestion, _ questions: Int) -> BeforeSendAnswer? {
    if question.content.kind == .encrypted {
      return settings.policy.passesEncrypted
        ? .allow : .refuse(code: Problem.encryptedRefused.code, text: Problem.encryptedRefused.text)
    }
    return questions < settings.policy.questionsMax ? nil : BeforeSendAnswer.none
  }

  private func answered(_ post: Post, _ bytes: Int, _ number: UInt64, _ answer: BeforeSendAnswer) {
    state.withLock { state in
      state.questions -= 1
      state.lines[post.author.id]?.posts.answer(number, with: Held(post: decided(post, answer), bytes: bytes))
    }
    drain(post.author.id)
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

  /// Returns the question about a post; `nil` if none is asked, as for a message without content.
  private static func question(_ post: Post) -> BeforeSendQuestion? {
    switch post.intent {
    case .message(let draft):
      guard isAsked(draft.content) else { return nil }
      return BeforeSendQuestion(
        author: post.author, recipient: draft.to, room: nil, content: draft.content, reference: draft.reference,
        id: draft.envelope.id, isFromApp: draft.traits.contains(.fromApp))
    case .room(.say(let room, let draft)), .room(.whisper(let room, _, let draft)):
      guard isAsked(draft.content) else { return nil }
      return BeforeSendQuestion(
        author: post.author, recipient: nil, room: room, content: draft.content, reference: draft.reference,
        id: draft.envelope.id, isFromApp: draft.traits.contains(.fromApp))
    default: return nil
    }
  }

  private static func isAsked(_ content: Content) -> Bool { content.kind != .none }

  /// Returns the post after the answer.
  private func decided(_ post: Post, _ answer: BeforeSendAnswer) -> Post {
    switch answer {
    case .allow: return post
    case .none: return settings.policy.passesUnanswered ? post : Post(post, .refused(.unanswered))
    case .refuse(let code, let text): return Post(post, .refused(Problem(.refused, code, text)))
    case .change(let text):
      switch post.intent {
      case .message(var draft):
        (draft.content, draft.mentions) = changed(draft.content, draft.mentions, text)
        return Post(post, .message(draft))
      case .room(.say(let room, var draft)):
        (draft.content, draft.mentions) = changed(draft.content, draft.mentions, text)
        return Post(post, .room(.say(room, draft)))
      case .room(.whisper(let room, let nick, var draft)):
        (draft.content, draft.mentions) = changed(draft.content, draft.mentions, text)
        return Post(post, .room(.whisper(room, nick: nick, draft)))
      default: return post
      }
    }
  }

  /// Removes the places of mentions, which belong to the old text.
  private func changed(
    _ content: Content, _ mentions: [MentionDraft], _ text: String
  ) -> (Content, [MentionDraft]) {
    var content = content
    content.text = text
    if !content.extras.isEmpty { content.extras = settings.rewriting.extras(content.extras, saying: text) }
    return (content, mentions.map { MentionDraft(address: $0.address, begin: nil, end: nil) })
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
