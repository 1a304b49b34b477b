import Dialogs
import Synchronization

/// One script, carried out by the real core and by the model. Everything runs on the committer's thread: the next batch is
/// posted when the last post of the one before has been answered, so that a batch is exactly what the script says, and no
/// thread ever waits for another. A restart is the only place where that thread is left.
public final class Run: @unchecked Sendable {  // confined to the committer's thread, or to the task that has stopped it
  /// What a run was like.
  public struct Report: Sendable {
    public var posts = 0
    public var batches = 0
    public var conversations = 0
    /// nil: all was as it has to be.
    public var violation: String?
  }

  private struct Posted {
    let action: Action
    let text: Int?
    var result: Result<Receipt, Problem>?
  }

  private enum End { case restart, crash, over }

  private struct SessionKey: Hashable {
    let user: Int
    let door: Door
  }

  private var script: [Action]
  private var next = 0
  private var model = Model()
  private var core: Core
  private var report = Report()
  private var batch: [Posted] = []
  /// The weight of the batch, which must not exceed the share of one account: the core would make two batches of it.
  private var weight = 0
  /// The share is 128, and one post more follows the batch (`Core.finally`).
  private static let weightMax = 127
  private var said: [Int: (action: Action, text: Int)] = [:]
  /// What is online, and of the app also who was.
  private var sessions: [SessionKey: Session] = [:]
  private var online: Set<SessionKey> = []
  private var numbers: UInt64 = 0
  private var failures = 0
  private var end: End?
  private var reopens = false
  private var isDrained = false
  private var stopped: CheckedContinuation<Void, Never>?

  private init(_ script: [Action], _ database: Database) throws {
    self.script = script
    core = try Core(database)
  }

  /// Carries out scripts one behind the other on one database, until one fails.
  ///
  /// - Returns: the report of the last.
  public static func play(_ scripts: [Action]...) async throws -> Report { try await play(scripts) }

  static func play(_ scripts: [[Action]]) async throws -> Report {
    let database = try Database()
    defer { try? database.close() }
    var report = Report()
    for script in scripts where report.violation == nil { report = try await play(script, on: database) }
    return report
  }

  static func play(_ script: [Action], on database: Database) async throws -> Report {
    let run = try Run(script, database)
    while true {
      await withCheckedContinuation { stopped in
        run.stopped = stopped
        let started = run.core.finally { run.step() }
        precondition(started, "a new core takes no posts")
      }
      await run.core.stop()
      if run.report.violation == nil {
        run.report.violation = try run.core.violation(against: run.model, isEnd: run.end == .over)
      }
      if run.end == .over || run.report.violation != nil { break }
      try run.core.restart(reopens: run.reopens)
      run.restarted()
    }
    run.report.conversations = run.model.conversations
    return run.report
  }

  // MARK: Steps

  /// Goes on until there is a batch to wait for, or the server is to stop.
  private func step() {
    while report.violation == nil, end == nil {
      if next == script.count {
        if !batch.isEmpty { return commit() }
        if isDrained {
          drain()
          end = .over
        } else {
          comeBack()
        }
        continue
      }
      // A configuration takes the whole share of its author's account.
      if case .configure = script[next], !batch.isEmpty { return commit() }
      if perform(script[next]) { next += 1 } else { return commit() }
      // Another post has a weight of at most 3.
      if weight > Self.weightMax - 3 { return commit() }
    }
    stopped?.resume()
    stopped = nil
  }

  /// At the end of the script everybody comes, and reads.
  private func comeBack() {
    isDrained = true
    core.store.fail(0, after: 0)
    for user in Set(sessions.keys.map(\.user)).union(model.users).sorted() {
      script += [.come(user, .app), .resume(user), .catchUp(user)]
    }
    script.append(.commit)
  }

  private func drain() {
    for (key, session) in sessions where online.contains(key) {
      // No page is empty but the last one.
      var pages = 0
      while !session.isCaughtUp, pages < script.count * 4 {
        attempt { try session.fetch(core.store) }
        session.show()
        pages += 1
      }
      if !session.isCaughtUp { report.violation = "user \(key.user) never catches up" }
      check(session, key)
    }
  }

  /// - Parameter isCut: the client was told nothing of the last batch.
  private func check(_ session: Session, _ key: SessionKey, isCut: Bool = false) {
    if report.violation != nil { return }
    switch key.door {
    case .app:
      guard !isCut, session.isCaughtUp, let start = session.start else { return }
      report.violation = model.violation(ofTold: session.told, to: key.user, after: start)
    case .xmpp:
      let heard = model.heard[key.user] ?? []
      if session.told != (isCut ? Array(heard.prefix(session.told.count)) : heard) {
        report.violation = "XMPP client of user \(key.user) heard \(session.told), not \(heard)"
      }
    }
  }

  private func restarted() {
    for (key, session) in sessions {
      session.end()
      if key.door == .xmpp { sessions[key] = nil }
    }
    online = []
    model.restarted()
    (end, failures) = (nil, 0)
  }

  /// - Returns: whether it is done; false: what was posted before it is to be committed first.
  private func perform(_ action: Action) -> Bool {
    // A repeat of a message that has gone is a new entry. Until the core has answered with it, this step would be about the
    // former entry to the core, and about the new one to the model.
    if let target = action.target, batch.contains(where: { $0.text == target }) { return false }
    switch action {
    case .come(let user, let door):
      let key = SessionKey(user: user, door: door)
      if online.contains(key) { return true }
      if door == .xmpp {
        // A session that is not registered cannot be known from its later posts.
        if !batch.isEmpty { return false }
        core.store.pause(true)
      }
      numbers += 1
      let session = Session(numbers, core.parties[user], door, after: sessions[key]) { [unowned self] in
        answered($0, $1)
      }
      sessions[key] = session
      online.insert(key)
      post(action, by: session)
    case .go(let user, let door):
      let key = SessionKey(user: user, door: door)
      guard let session = sessions[key], online.contains(key) else { return true }
      if !batch.isEmpty { return false }
      check(session, key)
      session.end()
      online.remove(key)
      core.unregister(session)
      core.store.pause(true)
      post(action, by: session)
    case .stall(let user): app(user)?.stall(true)
    case .resume(let user): app(user)?.stall(false)
    case .lag(let user): app(user)?.lag(true)
    case .catchUp(let user): app(user)?.lag(false)
    case .fetch(let user): attempt { try app(user)?.fetch(core.store) }
    case .show(let user): app(user)?.show()
    case .wait(let milliseconds): core.clock.move(by: milliseconds)
    case .fail(let count, let passing): core.store.fail(count, after: passing)
    case .commit: return batch.isEmpty
    case .restart(let reopens):
      if !batch.isEmpty { return false }
      for key in online { if let session = sessions[key] { check(session, key) } }
      (end, self.reopens) = (.restart, reopens)
    case .crash(let isDurable, let reopens):
      (end, self.reopens) = (.crash, reopens)
      for session in sessions.values { session.end() }
      if !isDurable { core.store.die() }
      if !batch.isEmpty {
        next += 1
        return false
      }
    case .again(let number):
      guard let first = said[number] else { return true }
      post(first.action, text: first.text)
    case .reuse(let number, let text):
      guard let first = said[number] else { return true }
      // To the core the last message with an id is the one that is repeated; an app's id names its first for ever.
      if case .say(_, .xmpp, _, _) = first.action { said[number]?.text = text }
      post(first.action, text: text)
    case .say(_, _, _, let number):
      said[number] = (action, number)
      post(action)
    case .enter(let user, let number):
      // Who enters a room that is not there, or their own that was destroyed, makes one, which the model does not know.
      let isEnding = batch.contains { if case .destroy(_, let room) = $0.action { room == number } else { false } }
      if isEnding { return false }
      if let room = model.rooms[number], !room.isDestroyed || room.affiliation(user) != .owner { post(action) }
    case .forward, .change, .mark, .hide, .clear, .block, .unblock, .create, .affiliate, .join, .exit, .kick,
      .configure, .destroy, .expire, .age, .holdDialog, .holdUser, .release:
      post(action)
    }
    return true
  }

  private func app(_ user: Int) -> Session? { live(SessionKey(user: user, door: .app)) }
  private func xmpp(_ user: Int) -> Session? { live(SessionKey(user: user, door: .xmpp)) }
  private func live(_ key: SessionKey) -> Session? { online.contains(key) ? sessions[key] : nil }

  private func attempt(_ body: () throws -> Void) {
    do { try body() } catch { report.violation = "\(error)" }
  }

  // MARK: Posts

  private func post(_ action: Action, text: Int? = nil, by session: Session? = nil) {
    var session = session
    switch action {
    case .say(let user, .xmpp, _, _), .change(let user, .xmpp, _, _, _), .enter(let user, _), .exit(let user, _):
      session = xmpp(user)
      if session == nil { return }
    default: break
    }
    let token = UInt64(report.batches) << 16 | UInt64(batch.count)
    let completion: Post.Completion =
      if let session, !session.isOver {
        .session(session, token: token)
      } else {
        .callback { [unowned self] in answered(token, $0) }
      }
    guard let post = core.post(action, text: text, by: session, completion: completion) else { return }
    batch.append(Posted(action: action, text: text))
    switch action {
    case .affiliate, .kick: weight += 3
    case .configure: weight = Self.weightMax
    default: weight += 1
    }
    report.posts += 1
    if !core.submit(post) { report.violation = "\(action) was not taken" }
  }

  private func answered(_ token: UInt64, _ result: Result<Receipt, Problem>) {
    let index = Int(token & 0xffff)
    guard token >> 16 == UInt64(report.batches), batch.indices.contains(index) else {
      report.violation = "an answer came late"
      return
    }
    if batch[index].result != nil { report.violation = "\(batch[index].action) was answered twice" }
    batch[index].result = result
    if case .come(let user, .app) = batch[index].action, case .success(let receipt) = result {
      app(user)?.attended(at: receipt.position)
    }
  }

  private func commit() {
    let number = report.batches
    let queued = core.finally { [unowned self] in
      if number != report.batches {
        report.violation = "a batch was answered twice"
        return
      }
      settle()
      step()
    }
    precondition(queued, "the core takes no posts")
  }

  /// Everything of the batch has been answered.
  private func settle() {
    core.store.pause(false)
    var failed = 0
    for posted in batch where report.violation == nil {
      guard let result = posted.result else {
        report.violation = "\(posted.action) was not answered"
        break
      }
      let answer = core.answer(to: posted.action, text: posted.text, result)
      if case .failed = answer {
        failed += 1
        if case .come(let user, let door) = posted.action {
          online.remove(SessionKey(user: user, door: door))
        }
      }
      report.violation = model.settle(posted.action, answer, text: posted.text)
    }
    // Where it was not alone in its batch, what came behind it has changed what is to be read.
    if batch.count == 1, case .enter(let user, let room) = batch[0].action,
      case .success(let receipt)? = batch[0].result,
      report.violation == nil
    {
      attempt { report.violation = try core.violation(entering: room, user, receipt, against: model) }
    }
    // What a later batch sets right is seen now or never.
    if report.violation == nil, let (user, place) = batch.lazy.compactMap({ self.model.reading(by: $0.action) }).last {
      attempt { report.violation = try core.violation(inUnreadOf: user, in: place, against: model) }
    }
    // From the eighth on that fails alone the rest of a batch is not tried.
    if failed > core.store.failures - failures, failed < 8, end != .crash {
      report.violation = report.violation ?? "\(failed) posts failed without a reason"
    }
    failures = core.store.failures
    if end == .crash { for key in online { if let session = sessions[key] { check(session, key, isCut: true) } } }
    report.batches += 1
    batch = []
    weight = 0
  }
}
