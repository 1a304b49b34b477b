import Foundation

extension Parley {
  /// Connects, and stays connected until ``disconnect()``: resumes by cursor, and tries again after losses (0.5 s to 60 s later, with
  /// jitter). Returns when the client has caught up for the first time; throws if the login has ended.
  public func connect() async throws {
    try await opened()
    guard !isClosed else { throw ParleyError.closed }
    guard session != nil else { throw ParleyError.signedOut }
    if running == nil {
      generation += 1
      let mine = generation
      attempts = 0
      running = Task { await run(mine) }
    }
    guard state != .online else { return }
    waits += 1
    let number = waits
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiters[number] = $0 }
    } onCancel: {
      Task { await self.stopWaiting(number) }
    }
  }

  private func stopWaiting(_ number: Int) { waiters.removeValue(forKey: number)?.resume(throwing: CancellationError()) }

  public func disconnect() async {
    guard running != nil else { return }
    await storeCursor()
    let last = socket
    socket = nil
    stop(nil)
    await last?.close(code: 1000)
  }

  /// Tries at once, in place of waiting; asks a connection that exists whether it still does. For an app that comes to the foreground or
  /// learns that there is a network.
  public func wake() {
    endPauses()
    if state == .online { Task { _ = try? await command("ping", [:]) } }
  }

  func stop(_ error: ParleyError?) {
    generation += 1
    running?.cancel()
    running = nil
    if let socket { Task { await socket.close(code: 1000) } }
    socket = nil
    failReplies()
    for waiter in waiters.values { waiter.resume(throwing: error ?? .aborted) }
    waiters = [:]
    if state != .stopped { turn(.stopped, error) }
  }

  private func turn(_ next: ConnectionState, _ error: ParleyError? = nil) {
    state = next
    emit(.connection(next, error: error))
    guard next == .online else { return }
    for waiter in waiters.values { waiter.resume() }
    waiters = [:]
    endPauses()
  }

  /// Holds one connection after the other.
  private func run(_ mine: Int) async {
    while mine == generation {
      turn(.connecting)
      var wait = Duration.zero
      var error = ParleyError.network("The connection ended.")
      do {
        if store.cursor == nil { try await loadFirst() }
        guard mine == generation else { return }
        try await hold(mine)
      } catch let closed as WebSocketClosed {
        error = .network(closed.reason.isEmpty ? "The connection was closed (\(closed.code))." : closed.reason)
        if closed.code == 4409 || away?.reason == "session-replaced" {
          guard mine == generation else { return }
          return stop(ParleyError("session-replaced", "The same device has connected elsewhere."))
        }
        if closed.code == 4401 { error = ParleyError("token-invalid", closed.reason) }
        wait =
          away.map { .milliseconds($0.retryAfterMs) }
          ?? (closed.code == 4429 ? .seconds(5) : closed.code == 1013 ? .seconds(10) : .zero)
        wait = wait * Double.random(in: 1...1.5)
      } catch let failure { error = .of(failure) }
      away = nil
      guard mine == generation else { return }
      if error.isToken, attempts < 3, let token = session?.accessToken {
        do {
          attempts += 1
          try await refresh(token)
          continue
        } catch let failure { error = .of(failure) }
        guard mine == generation else { return }
      }
      if let seconds = error.retryAfter { wait = max(wait, .milliseconds(Int(seconds * 1000))) }
      wait = max(wait, Self.delay(attempts, first: .milliseconds(500)))
      attempts += 1
      turn(.waiting, error)
      await pause(wait)
    }
  }

  /// Opens a WebSocket, and returns by throwing the reason of its end.
  private func hold(_ mine: Int) async throws {
    var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) ?? URLComponents()
    parts.scheme = parts.scheme == "http" ? "ws" : "wss"
    while parts.path.hasSuffix("/") { parts.path.removeLast() }
    parts.path += "/v1/ws"
    guard let address = parts.url else { throw ParleyError.network("\(url) is no address of a server.") }
    let socket = try await within(min(Limits.helloTime, requestTimeout)) { [transport] in
      try await transport.open(address, subprotocol: "parley.v1")
    }
    guard mine == generation else { return await socket.close(code: 1000) }
    self.socket = socket
    heard = .now
    let result = await withTaskGroup(of: Result<Void, any Error>.self) { group in
      func add(_ work: @escaping @Sendable () async throws -> Void) {
        group.addTask { do { return .success(try await work()) } catch { return .failure(error) } }
      }
      add { while true { try await self.receive(socket.receive(), mine) } }
      add { try await self.watch(mine) }
      add {
        try await self.hello()
        while true { try await Task.sleep(for: .seconds(3600)) }
      }
      let result = await group.next()
      drop(mine)
      // 1000 tells the server that the user is away, anything else that they return.
      await socket.close(code: 4000)
      group.cancelAll()
      return result
    }
    try result?.get()
  }

  private func drop(_ mine: Int) {
    guard mine == generation else { return }
    socket = nil
    failReplies()
    isReplay = false
  }

  private func failReplies() {
    for reply in replies.values {
      reply.continuation.resume(throwing: ParleyError.network("The connection ended before the answer."))
    }
    replies = [:]
  }

  private func hello() async throws {
    guard let token = session?.accessToken else { throw ParleyError.signedOut }
    _ = try await command("hello", JSONObject([("token", .string(token)), ("cursor", JSONValue(store.cursor))]))
  }

  private func watch(_ mine: Int) async throws {
    while mine == generation {
      try await Task.sleep(for: min(.seconds(5), requestTimeout))
      if isHandling { continue }
      if replies.values.contains(where: { $0.since.duration(to: .now) > requestTimeout }) {
        throw ParleyError.network("A command was not answered.")
      }
      let silence = heard.duration(to: .now)
      if silence > (state == .online ? Limits.silence : Limits.helloTime) {
        throw ParleyError.network("The server has fallen silent.")
      }
      if silence > Limits.pingAfter, state == .online { Task { _ = try? await command("ping", [:]) } }
    }
  }

  /// Sends a command and returns the frame that answers it.
  func command(_ type: String, _ data: JSONObject) async throws -> Data {
    guard let socket else { throw ParleyError.network("There is no connection.") }
    commands += 1
    let id = String(commands)
    let frame: JSONValue = ["id": .string(id), "type": .string(type), "data": .object(data)]
    let text = String(decoding: try JSON.encode(frame), as: UTF8.self)
    return try await withCheckedThrowingContinuation { continuation in
      replies[id] = (continuation, .now)
      Task {
        do { try await socket.send(text) } catch {
          replies.removeValue(forKey: id)?.continuation.resume(
            throwing: ParleyError.network(ParleyError.reason(of: error)))
        }
      }
    }
  }

  /// A frame of the server. Frames are handled one after the other, as they came.
  private func receive(_ text: String, _ mine: Int) async throws {
    guard mine == generation, socket != nil else { throw CancellationError() }
    heard = .now
    let data = Data(text.utf8)
    let frame: Frame
    do { frame = try JSON.decode(Frame.self, from: data) } catch {
      throw ParleyError("answer-malformed", "\(error)")
    }
    switch frame.kind {
    case .reply(let id, let problem):
      let reply = replies.removeValue(forKey: id)?.continuation
      if let problem { reply?.resume(throwing: ParleyError(problem)) } else { reply?.resume(returning: data) }
    case .event(let event, let cursor, let prevCursor):
      isHandling = true
      defer {
        isHandling = false
        heard = .now
      }
      try await handle(event, cursor, prevCursor)
    }
  }

  private func handle(_ event: ServerEvent, _ cursor: String?, _ prevCursor: String?) async throws {
    switch event {
    case .ready(let data):
      isReplay = true
      session?.user = data.user
    case .resync(let data): return try await resync(data)
    case .goaway(let data): away = data
    case .caughtUp, .messageCreated, .messageUpdated, .messageDeleted, .messageStarred, .markerUpdated, .contactUpdated,
      .contactsChanged, .blockUpdated, .userUpdated, .dialogCreated, .dialogUpdated, .dialogDeleted, .dialogCleared,
      .dialogInvited, .memberUpdated, .settingsUpdated, .draftUpdated, .scheduledUpdated, .callUpdated, .callSignal,
      .custom, .typingUpdated, .presenceUpdated, .unreadUpdated, .sessionRevoked, .unknown:
      break
    }
    guard cursor == nil || prevCursor == store.cursor else {
      // An event was lost on the way: the server tells it again.
      throw ParleyError.network("An event is missing.")
    }
    trail.begin()
    apply(event)
    if let cursor {
      store.cursor = cursor
      trail.end(at: cursor)
      advance()
    }
    if case .caughtUp(let data) = event { caughtUp(data) }
  }

  private func apply(_ event: ServerEvent) {
    guard let userId else { return }
    let totals = (store.totalUnread, store.totalMentions)
    store.apply(event, me: userId)
    applyToViews(event)
    switch event {
    case .messageCreated(let message):
      let isOwn = message.senderId == userId
      if isOwn, let clientId = message.clientId { settle(clientId, message) }
      if !isOwn { arrived(message) }
      emit(.message(message, isOwn: isOwn, isReplay: isReplay))
    case .typingUpdated(let data): emit(.typing(dialogId: data.dialogId, userIds: data.userIds))
    case .presenceUpdated(let presence): emit(.presence(presence))
    case .callUpdated(let state): apply(state)
    case .callSignal(let data): signaled(data)
    case .userUpdated(let user): if user.id == userId { session?.user = user }
    case .ready, .caughtUp, .resync, .messageUpdated, .messageDeleted, .messageStarred, .markerUpdated, .contactUpdated,
      .contactsChanged, .blockUpdated, .dialogCreated, .dialogUpdated, .dialogDeleted, .dialogCleared, .dialogInvited,
      .memberUpdated, .settingsUpdated, .draftUpdated, .scheduledUpdated, .custom, .unreadUpdated, .sessionRevoked,
      .goaway, .unknown:
      break
    }
    if totals != (store.totalUnread, store.totalMentions) {
      emit(.unread(totalUnread: store.totalUnread, totalMentions: store.totalMentions))
    }
    emit(.server(event))
    storeChanged()
  }

  private func caughtUp(_ data: ServerEvent.CaughtUp) {
    store.cursor = data.cursor
    trail.end(at: data.cursor)
    advance()
    attempts = 0
    isReplay = false
    turn(.online)
    if let wish { Task { _ = try? await command("presence", wish) } }
    storeChanged()
    drainAll()
  }

  /// Events were lost, or are too many: the list is fetched again, and from there on events follow. If that fails, the connection ends
  /// and the next one asks again, from the same place.
  private func resync(_ data: ServerEvent.Resync) async throws {
    let asked = store.clock
    let page = try await listDialogs(limit: 50)
    store.replace(by: page, asked: asked)
    store.cursor = data.cursor
    trail.begin()
    for number in Array(views.keys) { Task { await reload(number) } }
    emit(.resync(reason: data.reason))
    trail.end(at: data.cursor)
    store.changed = []
    emit(.dialogs(ids: nil))
    advance()
  }

  /// The first page of dialogs, for the place in the log from which events follow.
  private func loadFirst() async throws {
    let asked = store.clock
    store.put(try await listDialogs(limit: 50), asked: asked)
    trail.reset(to: store.cursor)
    storeChanged()
    await storeCursor()
  }

  /// Tells which dialogs have changed, and fetches those that are missing, a few at a time.
  func storeChanged() {
    if !store.changed.isEmpty {
      emit(.dialogs(ids: store.changed.sorted()))
      store.changed = []
    }
    guard !store.missing.isEmpty, fetching == nil, !isClosed, session != nil else { return }
    fetching = Task {
      var attempts = 0
      while let id = store.missing.popFirst(), session != nil, !isClosed {
        attempts = await fetch(id, attempts) ? 0 : attempts + 1
      }
      fetching = nil
    }
  }

  /// Returns `false` after a temporary error, when it has waited: the dialog is asked for again.
  private func fetch(_ id: String, _ attempts: Int) async -> Bool {
    let asked = store.clock
    do {
      let dialog: Dialog = try await ask("GET", path("dialogs", id))
      if dialog.me != nil { store.put([dialog], asked: asked) }
      storeChanged()
    } catch {
      let error = ParleyError.of(error)
      if error.status == 404 || error.status == 403 {
        store.remove(id)
        storeChanged()
      } else if error.isTemporary {
        store.missing.insert(id)
        await pause(error.retryAfter.map { .milliseconds(Int($0 * 1000)) } ?? Self.delay(attempts))
        return false
      } else if error.code != "signed-out" {
        failed(error)
      }
    }
    return true
  }
}
