/// What ``Parley`` knows of an open dialog.
struct View {
  let dialogId: String
  let limit: Int
  var timeline = Timeline()
  var reached = Reached()
  /// The markers that arrived before the first answer, which may be older.
  var markers: [Marker] = []
  var isFresh = false
  var isLoading = false
  var error: ParleyError?
  /// Changes with each replacement of all messages, so that an older answer is not taken.
  var attempt = 0
  /// The attempt that loads the newest messages, with what its answer includes.
  var asked = 0
  /// Whether the messages are those of an answer since then.
  var isShown = false
  /// By request: what happened meanwhile.
  var arrived: [Int: [Timeline.Change]] = [:]
  var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
  var fresh: [CheckedContinuation<Void, any Error>] = []
  /// Who waits for the page that is loading.
  var loaded: [CheckedContinuation<Void, Never>] = []
}

/// A dialog that is being read: a gapless piece of its messages. Memory holds what was loaded; ``close()`` it when it leaves the screen.
public struct DialogView: Sendable {
  /// The messages after each change; changes of the same moment are told once, and the first element is the present.
  public typealias Changes = AsyncMapSequence<AsyncStream<Void>, [LocalMessage]>

  public let dialogId: String
  let parley: Parley
  let number: Int

  /// The dialog as it is now.
  public var dialog: Dialog? { get async { await parley.store.dialogs[dialogId] } }
  /// Oldest first; at the end those that are still being sent.
  public var messages: [LocalMessage] { get async { await parley.messages(number) } }
  public var hasOlder: Bool { get async { await parley.views[number]?.timeline.hasOlder ?? false } }
  /// Only after ``jump(_:limit:)``: the newest messages are not loaded.
  public var hasNewer: Bool { get async { await parley.views[number]?.timeline.hasNewer ?? false } }
  /// Whether the first answer of the server has arrived.
  public var isFresh: Bool { get async { await parley.views[number]?.isFresh ?? false } }
  /// The reason why the first answer is missing (offline, say); after a temporary one the answer is asked for again, at the latest when
  /// the client is connected.
  public var error: ParleyError? { get async { await parley.views[number]?.error } }

  /// Waits for the first answer, or throws its error, if that is not temporary.
  public func fresh() async throws { try await parley.fresh(number) }
  public func changes() async -> Changes {
    let view = self
    return await parley.changes(number).map { _ in await view.messages }
  }
  /// Returns whether there are more. One page at a time: while one is loading, another call waits for it.
  @discardableResult public func loadOlder(limit: Int = 50) async throws -> Bool {
    try await parley.loadOlder(number, limit)
  }
  @discardableResult public func loadNewer(limit: Int = 50) async throws -> Bool {
    try await parley.loadNewer(number, limit)
  }
  /// Loads the surroundings of a message, for a hit of a search or a quoted message, and replaces the messages. A later jump or ``toEnd()``
  /// takes its place: one that is still loading then returns and changes nothing.
  public func jump(_ messageId: String, limit: Int = 50) async throws {
    try await parley.jump(number, messageId, limit)
  }
  /// Back to the newest messages.
  public func toEnd() async throws { try await parley.toEnd(number) }
  /// Drops the oldest messages from memory; ``loadOlder(limit:)`` finds them again.
  public func trim(_ keep: Int) async { await parley.trim(number, keep) }
  @discardableResult public func send(_ text: String) async throws -> LocalMessage {
    try await parley.send(dialogId, text)
  }
  @discardableResult public func send(_ message: NewMessage) async throws -> LocalMessage {
    try await parley.send(dialogId, message)
  }
  /// Marks everything that is loaded as read.
  public func markRead() async throws { try await parley.markRead(number) }
  /// The users who have read one's message, as far as known from markers.
  public func readersOf(_ messageId: String) async -> [String] { await parley.readers(number, messageId) }
  public func close() async { await parley.close(number) }
}

extension Parley {
  /// Opens a dialog for reading: one request, which goes on when this returns.
  public func view(_ dialogId: String, limit: Int = 50) async throws -> DialogView {
    try await opened()
    numbers += 1
    let number = numbers
    views[number] = View(dialogId: dialogId, limit: limit)
    startReload(number)
    return DialogView(dialogId: dialogId, parley: self, number: number)
  }

  func messages(_ number: Int) -> [LocalMessage] {
    guard let view = views[number] else { return [] }
    let userId = userId ?? ""
    let stored = view.timeline.messages.map { message in
      let isOwn = message.senderId == userId
      var local = LocalMessage(key: isOwn ? message.clientId ?? message.id : message.id, message: message)
      guard isOwn, message.content.type != .system else { return local }
      if let delivery = message.delivery, delivery.state == "failed" {
        local.status = .failed
        local.error = .init(code: delivery.code ?? "", detail: delivery.text ?? "")
      } else {
        local.status = view.reached.step(message.seq, of: userId).status
      }
      return local
    }
    let pending = view.timeline.hasNewer ? [] : outboxState.entries.filter { $0.dialogId == view.dialogId }.map(shown)
    return stored + pending
  }

  func readers(_ number: Int, _ messageId: String) -> [String] {
    guard let view = views[number], let message = view.timeline.messages.last(where: { $0.id == messageId }) else {
      return []
    }
    return view.reached.step(message.seq, of: userId ?? "").readers
  }

  func changes(_ number: Int) -> AsyncStream<Void> {
    numbers += 1
    let listener = numbers
    let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    guard views[number] != nil else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { _ in Task { await self.stopTelling(number, listener) } }
    views[number]?.listeners[listener] = continuation
    continuation.yield()
    return stream
  }

  private func stopTelling(_ number: Int, _ listener: Int) { views[number]?.listeners[listener] = nil }

  func close(_ number: Int) {
    guard let view = views.removeValue(forKey: number) else { return }
    for listener in view.listeners.values { listener.finish() }
    for waiter in view.fresh { waiter.resume(throwing: ParleyError("aborted", "The view was closed.")) }
    for waiter in view.loaded { waiter.resume() }
  }

  func trim(_ number: Int, _ keep: Int) { change(number) { $0.timeline.trim(keep) } }

  private func change(_ number: Int, _ change: (inout View) -> Void) {
    guard views[number] != nil else { return }
    change(&views[number]!)
    views[number]!.reached.resolve(views[number]!.timeline.messages)
    tell(number)
  }

  private func tell(_ number: Int) { for listener in views[number]!.listeners.values { listener.yield() } }

  /// The numbers of the views of a dialog. No copy of a view is held while it is changed.
  private func views(of dialogId: String) -> [Int] { views.filter { $0.value.dialogId == dialogId }.map(\.key) }

  func tellViews(of dialogId: String) { for number in views(of: dialogId) { tell(number) } }

  // MARK: What events tell

  func addToViews(_ message: Message) {
    for number in views(of: message.dialogId) {
      note(.arrived(message), number)
      views[number]?.timeline.arrive(message)
      views[number]?.reached.resolve([message])
      tell(number)
    }
  }

  func updateInViews(_ message: Message) { applyToViews(.changed(message), of: message.dialogId) }

  private func applyToViews(_ event: Timeline.Change, of dialogId: String) {
    for number in views(of: dialogId) {
      note(event, number)
      change(number) { $0.timeline.apply(event) }
    }
  }

  /// Notes an event for the pages that are being loaded: it is applied again behind each, which may be older.
  private func note(_ event: Timeline.Change, _ number: Int) {
    for request in Array(views[number]!.arrived.keys) { views[number]?.arrived[request]?.append(event) }
  }

  func applyToViews(_ event: ServerEvent) {
    switch event {
    case .messageCreated(let message): addToViews(message)
    case .messageUpdated(let message): updateInViews(message)
    case .messageDeleted(let data):
      applyToViews(data.message.map(Timeline.Change.changed) ?? .removed(data.messageId), of: data.dialogId)
    case .markerUpdated(let marker):
      for number in views(of: marker.dialogId) {
        change(number) { view in
          view.reached.mark(marker)
          if !view.isFresh { view.markers.append(marker) }
          view.reached.resolve(view.timeline.messages.filter { $0.id == marker.delivered || $0.id == marker.read })
        }
      }
    case .dialogCleared(let data): applyToViews(.cleared, of: data.dialogId)
    case .dialogCreated(let data), .dialogUpdated(let data): if let message = data.message { addToViews(message) }
    case .memberUpdated(let data): if let message = data.message { addToViews(message) }
    case .ready, .caughtUp, .resync, .messageStarred, .contactUpdated, .contactsChanged, .blockUpdated, .userUpdated,
      .dialogDeleted, .dialogInvited, .settingsUpdated, .draftUpdated, .scheduledUpdated, .callUpdated, .callSignal,
      .custom, .typingUpdated, .presenceUpdated, .unreadUpdated, .sessionRevoked, .goaway, .unknown:
      break
    }
  }

  // MARK: Loading

  /// Runs a request, and gives its answer together with what happened meanwhile.
  private func asking<T: Sendable>(
    _ number: Int, _ request: () async throws -> T
  ) async throws -> (T, [Timeline.Change]) {
    numbers += 1
    let mark = numbers
    views[number]?.arrived[mark] = []
    do {
      let answer = try await request()
      return (answer, views[number]?.arrived.removeValue(forKey: mark) ?? [])
    } catch {
      views[number]?.arrived[mark] = nil
      throw error
    }
  }

  /// Begins an attempt to load the newest messages in place of all others.
  private func begin(_ number: Int) -> Int {
    guard views[number] != nil else { return 0 }
    numbers += 1
    let attempt = numbers
    views[number]!.attempt = attempt
    views[number]!.asked = attempt
    views[number]!.isShown = false
    return attempt
  }

  /// Begins an attempt at once, before a jump can begin, and loads the messages when this has returned.
  private func startReload(_ number: Int) {
    let attempt = begin(number)
    Task { await reload(number, attempt) }
  }

  /// Loads the newest messages in place of all others. After a temporary error they are asked for again: as soon as the client is
  /// connected, or after a pause.
  func reload(_ number: Int) async { await reload(number, begin(number)) }

  private func reload(_ number: Int, _ attempt: Int) async {
    var attempts = 0
    while views[number]?.asked == attempt {
      do { return try await load(number, attempt) } catch {
        let error = ParleyError.of(error)
        guard views[number]?.asked == attempt else { return }
        views[number]!.error = error
        tell(number)
        guard error.isTemporary else {
          for waiter in views[number]!.fresh { waiter.resume(throwing: error) }
          views[number]!.fresh = []
          return
        }
        await pause(error.retryAfter.map { .milliseconds(Int($0 * 1000)) } ?? Self.delay(attempts))
        attempts += 1
      }
    }
  }

  /// Loads the newest messages in place of all others, once.
  func reloaded(_ number: Int) async throws {
    let attempt = begin(number)
    do { try await load(number, attempt) } catch {
      // This attempt ended the one that `fresh` waits for.
      if let view = views[number], view.asked == attempt, !view.isFresh { startReload(number) }
      throw error
    }
  }

  func toEnd(_ number: Int) async throws {
    guard let view = views[number] else { return }
    if view.timeline.hasNewer || (!view.isShown && view.attempt != view.asked) { return try await reloaded(number) }
    // A jump that is still loading is over.
    views[number]!.attempt = view.asked
  }

  private func load(_ number: Int, _ attempt: Int) async throws {
    guard let view = views[number], view.asked == attempt else { return }
    views[number]!.markers = []
    let asked = store.clock
    let (page, arrived) = try await asking(number) { try await openDialog(view.dialogId, limit: view.limit) }
    guard views[number]?.asked == attempt else { return }
    for user in page.users.items { store.put(user) }
    took(page.dialog, asked: asked)
    change(number) {
      for marker in page.markers.items + $0.markers { $0.reached.mark(marker) }
      $0.markers = []
      // A jump since then replaces the messages.
      if $0.attempt == attempt {
        $0.timeline.replace(page.items, older: page.nextCursor, newer: nil, arrived: arrived)
        $0.isShown = true
      }
      ($0.isFresh, $0.error) = (true, nil)
    }
    for waiter in views[number]!.fresh { waiter.resume() }
    views[number]!.fresh = []
  }

  func fresh(_ number: Int) async throws {
    guard let view = views[number] else { throw ParleyError("aborted", "The view was closed.") }
    if view.isFresh { return }
    if let error = view.error, !error.isTemporary { throw error }
    try await withCheckedThrowingContinuation { views[number]?.fresh.append($0) }
  }

  /// Waits for the page that is loading: a second call that returned at once would be repeated without end.
  private func loaded(_ number: Int) async {
    guard views[number]?.isLoading == true else { return }
    await withCheckedContinuation { views[number]?.loaded.append($0) }
  }

  private func endLoading(_ number: Int) {
    guard let waiters = views[number]?.loaded else { return }
    views[number]!.isLoading = false
    views[number]!.loaded = []
    for waiter in waiters { waiter.resume() }
  }

  func loadOlder(_ number: Int, _ limit: Int) async throws -> Bool {
    guard let view = views[number], view.timeline.hasOlder else { return false }
    if view.isLoading {
      await loaded(number)
      return views[number]?.timeline.hasOlder ?? false
    }
    views[number]!.isLoading = true
    defer { endLoading(number) }
    let before = view.timeline.before
    let (page, arrived) = try await asking(number) {
      try await listMessages(view.dialogId, before: before, limit: limit)
    }
    // If the messages were replaced or trimmed meanwhile, the page would leave a gap.
    if views[number]?.timeline.before == before {
      change(number) { $0.timeline.addOlder(page, arrived: arrived) }
    }
    return views[number]?.timeline.hasOlder ?? false
  }

  func loadNewer(_ number: Int, _ limit: Int) async throws -> Bool {
    guard let view = views[number], view.timeline.hasNewer else { return false }
    if view.isLoading {
      await loaded(number)
      return views[number]?.timeline.hasNewer ?? false
    }
    views[number]!.isLoading = true
    defer { endLoading(number) }
    let (page, arrived) = try await asking(number) {
      try await listMessages(view.dialogId, after: view.timeline.newerCursor, limit: limit)
    }
    if views[number]?.timeline.newerCursor == view.timeline.newerCursor {
      change(number) { $0.timeline.addNewer(page, arrived: arrived) }
    }
    return views[number]?.timeline.hasNewer ?? false
  }

  func jump(_ number: Int, _ messageId: String, _ limit: Int) async throws {
    guard let view = views[number] else { return }
    numbers += 1
    let attempt = numbers
    views[number]!.attempt = attempt
    let half = max(1, limit / 2)
    do {
      let (answer, arrived) = try await asking(number) {
        async let message = self.message(view.dialogId, messageId)
        async let older = listMessages(view.dialogId, before: messageId, limit: half)
        async let newer = listMessages(view.dialogId, after: messageId, limit: half)
        return try await (message, older, newer)
      }
      guard views[number]?.attempt == attempt else { return }
      let (message, older, newer) = answer
      change(number) {
        $0.timeline.replace(
          newer.items + [message] + older.items, older: older.nextCursor, newer: newer.nextCursor, arrived: arrived)
        $0.isShown = true
      }
    } catch {
      // The newest messages were not shown because of the jump. If the message is gone, they are shown before the jump fails.
      if let view = views[number], view.attempt == attempt, !view.isShown {
        if ParleyError.of(error).isTemporary { startReload(number) } else { await reload(number) }
      }
      throw error
    }
  }

  func markRead(_ number: Int) async throws {
    guard let view = views[number] else { return }
    let messages = view.timeline.messages
    guard let last = messages.last(where: { $0.senderId != userId }) ?? messages.last else { return }
    try await markRead(view.dialogId, last.id)
  }
}
