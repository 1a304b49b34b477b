import Addresses
import Synchronization

/// Asks the hook before a message enters the inbox. It is in front of the inbox, so that the committer never waits:
/// only an author waits, and only for their own messages (`AuthorQueue`).
final class BeforeSendQueue: Sendable {
  private struct State {
    var lines: [UserID: AuthorQueue<Post>] = [:]
    var questions = 0
    var number: UInt64 = 0
    /// The continuations that run once no post waits.
    var emptied: [@Sendable () -> Void] = []
  }

  private let settings: BeforeSendOptions
  private let inbox: Inbox
  private let wake: @Sendable () -> Void
  private let state = Mutex(State())

  init(_ settings: BeforeSendOptions, inbox: Inbox, wake: @escaping @Sendable () -> Void) {
    self.settings = settings
    self.inbox = inbox
    self.wake = wake
  }

  /// Takes a post that must wait.
  ///
  /// - Parameter isFromBackend: whether the post is the backend's own, about which the hook is not asked.
  /// - Returns: `nil` if the post need not wait; otherwise it was taken, and leaves in order.
  func take(_ post: Post, isFromBackend: Bool) -> Bool? {
    let question = isFromBackend ? nil : Self.question(post)
    let asked: (question: BeforeSendQuestion, number: UInt64)?? = state.withLock { state in
      let author = post.author.id
      guard let question else {
        guard var line = state.lines.removeValue(forKey: author) else { return nil }
        line.add(post)
        state.lines[author] = line
        return .some(nil)
      }
      var line = state.lines.removeValue(forKey: author) ?? AuthorQueue()
      defer { state.lines[author] = line }
      if let answer = answer(unasked: question, state.questions) {
        line.add(decided(post, answer))
        return .some(nil)
      }
      state.number += 1
      state.questions += 1
      line.wait(state.number)
      return (question, state.number)
    }
    guard let asked else { return nil }
    if let (question, number) = asked {
      Task { [self] in answered(post, number, await settings.beforeSend.answer(question)) }
    } else {
      drain(post.author.id)
    }
    return true
  }

  /// Returns an answer that is known without asking.
  private func answer(unasked question: BeforeSendQuestion, _ questions: Int) -> BeforeSendAnswer? {
    if question.content.kind == .encrypted {
      return settings.policy.passesEncrypted
        ? .allow : .refuse(code: Problem.encryptedRefused.code, text: Problem.encryptedRefused.text)
    }
    return questions < settings.policy.questionsMax ? nil : BeforeSendAnswer.none
  }

  private func answered(_ post: Post, _ number: UInt64, _ answer: BeforeSendAnswer) {
    state.withLock { state in
      state.questions -= 1
      state.lines[post.author.id]?.answer(number, with: decided(post, answer))
    }
    drain(post.author.id)
  }

  /// Appends the posts that may leave, in order: under the lock, so that concurrent calls do not interleave.
  private func drain(_ author: UserID) {
    var wakes = false
    let (isFull, lost, emptied): (Bool, [Post], [@Sendable () -> Void]) = state.withLock { state in
      guard var line = state.lines.removeValue(forKey: author) else { return (false, [], []) }
      var lost: [Post] = []
      var isFull = false
      while !isFull, let post = line.next {
        switch inbox.append(post) {
        case .queued(let wake): wakes = wakes || wake
        case .full: isFull = true
        case .closed: lost.append(post)
        }
        if !isFull { line.removeNext() }
      }
      if !line.isEmpty { state.lines[author] = line }
      guard state.lines.isEmpty else { return (isFull, lost, []) }
      defer { state.emptied = [] }
      return (isFull, lost, state.emptied)
    }
    if wakes { wake() }
    if isFull { inbox.whenRoom { [self] in drain(author) } }
    for post in lost { post.fail(.overloaded) }
    for body in emptied { body() }
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
