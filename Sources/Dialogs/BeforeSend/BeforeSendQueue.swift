import Addresses
import Synchronization

/// Has the backend asked before a message goes into the inbox. In front of it, so that the committer waits for nobody: only an
/// author waits, and only for what they said themselves (`AuthorQueue`).
final class BeforeSendQueue: Sendable {
  private struct State {
    var lines: [UserID: AuthorQueue<Post>] = [:]
    var questions = 0
    var number: UInt64 = 0
    /// Run once nobody waits.
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

  /// - Parameter isFromBackend: nobody is asked.
  /// - Returns: nil: the post has nobody to wait for; else it was taken, and leaves in its turn.
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

  /// What is known without asking.
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

  /// Lets go who may, in order: the inbox is appended to under the lock, so that two who drain do not cross.
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

  /// Returns when nobody waits any more: after the longest time that an answer takes.
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

  /// nil: nobody is asked, as of what says nothing.
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

  /// What the post is after the answer.
  private func decided(_ post: Post, _ answer: BeforeSendAnswer) -> Post {
    switch answer {
    case .allow: return post
    case .none: return settings.policy.passesUnanswered ? post : post.with(.refused(.unanswered))
    case .refuse(let code, let text): return post.with(.refused(Problem(.refused, code, text)))
    case .change(let text):
      switch post.intent {
      case .message(var draft):
        (draft.content, draft.mentions) = changed(draft.content, draft.mentions, text)
        return post.with(.message(draft))
      case .room(.say(let room, var draft)):
        (draft.content, draft.mentions) = changed(draft.content, draft.mentions, text)
        return post.with(.room(.say(room, draft)))
      case .room(.whisper(let room, let nick, var draft)):
        (draft.content, draft.mentions) = changed(draft.content, draft.mentions, text)
        return post.with(.room(.whisper(room, nick: nick, draft)))
      default: return post
      }
    }
  }

  /// The places of mentions are those of the text that is not said.
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
  func with(_ intent: Intent) -> Post {
    Post(author: author, intent: intent, inbound: inbound, completion: completion, behalf: behalf)
  }

  /// Tells whoever waits that nothing came of it.
  func fail(_ problem: Problem) {
    switch completion {
    case .none: break
    case .session(let session, let token): session.lane.deliver(.outcome(token: token, .failure(problem)), to: session)
    case .callback(let body): body(.failure(problem))
    }
  }
}
