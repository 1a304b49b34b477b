import Accounts
import Addresses
import Basics
import Dialogs
import HTTPPort
import JSON
import NIOCore

/// The commands of a client.
extension AppSession {
  func carryOut(_ frame: CommandFrame) {
    guard let traces = parley.traces else { return handle(frame) }
    traces.receiving("websocket \(CommandName(rawValue: frame.type)?.rawValue ?? "other")") { handle(frame) }
  }

  private func handle(_ frame: CommandFrame) {
    guard let command = CommandName(rawValue: frame.type) else {
      charge(stanzas: 1, bytes: 0)
      return refuse(
        frame.id,
        Problem(.malformed, "command-unknown", "There is no command \"\(frame.type.prefix(64))\".", field: "type"))
    }
    do throws(Problem) {
      switch (state, command) {
      case (.closed, _), (.identifying, _): return
      case (.fresh, .hello): try hello(frame)
      case (.fresh, _):
        let problem = Problem(.unauthenticated, "hello-first", "Say hello first.")
        refuse(frame.id, problem)
        close(.unauthenticated, problem)
      case (.open(let session), let command): try carryOut(command, frame, session)
      }
    } catch {
      // `AppLimits.refusalsMax` bounds those that are too fast.
      if error.kind != .tooFast { charge(stanzas: 1, bytes: 0) }
      refuse(frame.id, error)
    }
  }

  private func carryOut(_ command: CommandName, _ frame: CommandFrame, _ session: OpenSession) throws(Problem) {
    switch command {
    case .hello: throw Problem(.conflict, "hello-twice", "This session has said hello already.")
    case .ping:
      charge(stanzas: 1, bytes: 0)
      accept(frame.id)
    case .ack: try acknowledge(frame, session)
    case .typing: try typing(frame, session)
    case .presence: try presence(frame, session)
    case .sendMessage: try post(SendMessage.self, .message, frame, session)
    case .setMarker: try post(SetMarker.self, .marker, frame, session)
    case .custom: try custom(frame, session)
    case .callSignal: try signalCall(frame, session)
    }
  }

  func input<Input: Decodable>(_ type: Input.Type, _ frame: CommandFrame) throws(Problem) -> Input {
    do throws(InputError) { return try InputDecoder.decode(type, from: frame.data) } catch { throw Problem(error) }
  }

  /// Decodes an input that reads its members itself; the type decides between the two ways.
  func input<Input: DirectInput>(_ type: Input.Type, _ frame: CommandFrame) throws(Problem) -> Input {
    do throws(InputError) { return try InputDecoder.decode(type, from: frame.data) } catch { throw Problem(error) }
  }

  // MARK: hello

  private func hello(_ frame: CommandFrame) throws(Problem) {
    let input = try input(HelloInput.self, frame)
    helloCame()
    state = .identifying
    regulateReading()
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    let accounts = accounts
    let loop = channel.eventLoop
    let owner = ReadOwner.network(address)
    Task {
      let result = await ReadOwner.$current.withValue(owner) { () async -> Result<Accounts.Caller, Problem> in
        do throws(Problem) { return .success(try await accounts.caller(accessToken: input.token)) } catch {
          return .failure(error)
        }
      }
      loop.execute { me.value.identified(result, input, re: frame.id) }
    }
  }

  /// Begins with a known caller, without `hello`.
  func begin(_ caller: Accounts.Caller, cursor: String?) {
    state = .identifying
    identified(.success(caller), HelloInput(token: "", cursor: cursor), re: Self.unasked)
  }

  private func identified(_ result: Result<Accounts.Caller, Problem>, _ input: HelloInput, re: String) {
    guard case .identifying = state else { return }
    defer { flush() }
    switch result {
    case .failure(let problem):
      let problem = problem.kind == .unauthenticated ? accounts.wrongToken(problem, from: address) : problem
      refuse(re, problem)
      close(problem.kind == .unauthenticated ? .unauthenticated : .tryAgainLater, problem)
    case .success(let caller):
      guard channel.loggedIn(caller.user.address.description) else {
        refuse(re, LoggedInConnections.problem)
        return close(.tryAgainLater, LoggedInConnections.problem)
      }
      attend(caller, caller.access(since: parley.clock.now), input, re: re)
    }
  }

  /// Registers the session of a known caller, as soon as the user may begin one more.
  ///
  /// - Parameter access: the credential as of the look at it: whatever was revoked since does not open the session.
  private func attend(_ caller: Accounts.Caller, _ access: Access?, _ input: HelloInput, re: String) {
    // The client may have gone while it waited.
    guard case .identifying = state else { return }
    let now = parley.clock.now
    if let time = parley.sending.budget(of: caller.user, from: address, now: now).startSession(now: now) {
      let waiting = NIOLoopBound((me: self, caller: caller, input: input), eventLoop: channel.eventLoop)
      channel.eventLoop.scheduleTask(in: TimeAmount(time)) {
        let (me, caller, input) = waiting.value
        me.attend(caller, access, input, re: re)
        me.flush()
      }
      return
    }
    let rendering = Rendering(parley: parley, realm: caller.user.realm)
    let handle = AppSessionHandle(
      id: door.nextSessionID(), party: caller.user, lane: door.lane(channel.eventLoop), session: self)
    var onlineSession = OnlineSession(session: handle, door: .app, resource: OpenSession.resource(caller))
    onlineSession.access = access
    onlineSession.transport = channel.transport
    // A placeholder until the session is registered, and the real one replaces it.
    pendingHello = PendingHello(re: re, caller: caller, rendering: rendering, handle: handle, cursor: input.cursor)
    let post = Post(author: caller.user, intent: .goOnline(onlineSession), completion: .session(handle, token: 0))
    if !parley.submit(post) { attended(.failure(.overloaded)) }
  }

  /// The state between `hello` and its answer.
  struct PendingHello {
    let re: String
    let caller: Accounts.Caller
    let rendering: Rendering
    let handle: AppSessionHandle
    let cursor: String?
  }

  func attended(_ result: Result<Receipt, Problem>) {
    guard let pendingHello else { return }
    self.pendingHello = nil
    guard case .identifying = state else {
      // The client disconnected while the session was being registered.
      return unregister(pendingHello.handle, parley.clock.now)
    }
    switch result {
    case .failure(let problem):
      refuse(pendingHello.re, problem)
      let isOut = problem.kind == .forbidden || problem.kind == .unauthenticated
      close(isOut ? .unauthenticated : .tryAgainLater, problem)
    case .success(let receipt):
      begin(pendingHello, receipt)
      drainBacklog()
    }
  }

  private func begin(_ pendingHello: PendingHello, _ receipt: Receipt) {
    let rendering = pendingHello.rendering
    let head = receipt.position
    let headCursor = rendering.cursor(head)
    let known = pendingHello.cursor.flatMap { parley.position(ofCursor: $0, in: rendering.realm) }
    let isForeign = pendingHello.cursor != nil && (known ?? .end) > head
    let behind = isForeign ? nil : known
    let session = OpenSession(
      handle: pendingHello.handle, caller: pendingHello.caller, rendering: rendering,
      follower: FeedFollower(behind: behind, attended: head),
      cursor: isForeign ? headCursor : pendingHello.cursor ?? headCursor, attended: head,
      profile: receipt.user?.profile, now: parley.clock.now)
    // A client that reconnects soon is shown as before, until it sends another presence.
    let here = parley.hub.onlineSessions(of: pendingHello.caller.user.id).first { $0.session === pendingHello.handle }
    if let presence = here?.presence {
      session.presence = presence
      if let profile = receipt.user?.profile { show(profile, session) }
    }
    state = .open(session)
    accept(pendingHello.re)
    if let user = receipt.user {
      tell(
        .ready,
        ReadyBody(
          user: rendering.user(user), deviceId: pendingHello.caller.device, cursor: headCursor, features: door.features)
      )
    }
    if isForeign { tell(.resync, ResyncBody(reason: .cursorUnknown, cursor: headCursor), cursor: headCursor) }
    // Another connection of a user in debt is not read either.
    charge(stanzas: 0, bytes: 0)
    readOn(session)
  }

  // MARK: ack

  private func acknowledge(_ frame: CommandFrame, _ session: OpenSession) throws(Problem) {
    let input = try input(AckInput.self, frame)
    guard let position = parley.position(ofCursor: input.cursor, in: session.rendering.realm) else {
      throw .cursorUnknown
    }
    // A client cannot have entries that were not sent yet.
    let reached = min(position, session.follower.told)
    if reached > session.acknowledged {
      session.acknowledged = reached
      session.unconfirmed += 1
      if session.unconfirmed >= Limits.confirmEvery {
        confirm(session)
      } else if session.confirmTimer == nil {
        let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
        session.confirmTimer = channel.eventLoop.scheduleTask(in: AppLimits.confirmDelay) {
          guard let session = me.value.open else { return }
          me.value.confirm(session)
        }
      }
    } else {
      // One that acknowledges something is free: others cause as many as they write.
      charge(stanzas: 1, bytes: 0)
    }
    accept(frame.id)
  }

  /// Commits the client's acknowledgements: one write for many of them.
  func confirm(_ session: OpenSession) {
    session.confirmTimer?.cancel()
    session.confirmTimer = nil
    guard session.acknowledged > session.confirmed else { return }
    let post = Post(
      author: session.caller.user, intent: .confirm(session.acknowledged), completion: .none, from: address)
    // If the inbox is full the next acknowledgement brings it.
    if parley.submit(post) {
      session.confirmed = session.acknowledged
      session.unconfirmed = 0
    }
  }

  // MARK: presence, typing

  /// Announces the session's presence, and gets those of others.
  func announce(_ session: OpenSession) {
    session.isAnnounced = true
    let count = parley.hub.setPresence(session.presence, of: session.handle)
    if count > 0 { session.sending.owe(deliveries: count, now: parley.clock.now) }
  }

  /// Updates the presence after a change of the profile: it contains the status and the avatar's hash (XEP-0398 4), as
  /// that of an XMPP client.
  func show(_ profile: Profile, _ session: OpenSession) {
    let now = session.presence
    let status = now.status == session.profileStatus ? profile.status : now.status
    let hash = profile.avatarHash ?? (now.avatarHash == nil ? nil : "")
    session.profileStatus = profile.status
    if status == now.status, hash == now.avatarHash { return }
    session.presence = Presence(
      from: now.from, resource: now.resource, availability: now.availability, status: status, avatarHash: hash,
      time: parley.clock.now)
    if session.isAnnounced { announce(session) }
  }

  private func presence(_ frame: CommandFrame, _ session: OpenSession) throws(Problem) {
    let input = try input(SetPresenceInput.self, frame)
    try door.limiters.others.take(session.caller.user.id, now: parley.clock.now)
    // A thousand of them may be in one read, and each is shown to thousands of contacts.
    try session.sending.take(now: parley.clock.now, waitsForRooms: false)
    if let status = input.status {
      try Checks.text(status, field: "status")
      guard status.utf8.count <= Limits.statusBytesMax else {
        throw Problem(
          .tooLarge, "status-too-long", "status has at most \(Limits.statusBytesMax) bytes.", field: "status")
      }
    }
    let presence = Presence(
      from: session.caller.user, resource: session.resource, availability: .init(input.availability),
      status: input.status == "" ? nil : input.status ?? session.profileStatus,
      avatarHash: session.presence.avatarHash, time: parley.clock.now)
    try look(at: input.activeDialogId, re: frame.id, session) { me, session in
      session.presence = presence
      me.announce(session)
      me.accept(frame.id)
    }
  }

  private func typing(_ frame: CommandFrame, _ session: OpenSession) throws(Problem) {
    let input = try input(TypingInput.self, frame)
    try door.limiters.others.take(session.caller.user.id, now: parley.clock.now)
    try resolve(input.dialogId, frame, session) { me, session, place in
      let now = me.parley.clock.now
      let before = session.typing[place.id]
      if input.on {
        // A renewal that comes too soon is not relayed.
        if let before, now < before.since + AppLimits.typingEvery { return me.accept(frame.id) }
        if before == nil, session.typing.count >= AppLimits.typingDialogsMax { return me.accept(frame.id) }
        session.typing[place.id] = (place, now)
      } else {
        session.typing[place.id] = nil
      }
      me.postTyping(input.on, in: place, frame, session)
    }
  }

  private func postTyping(_ on: Bool, in place: DialogPlace, _ frame: CommandFrame, _ session: OpenSession) {
    let intent = SetTyping.intent(on, from: session.caller.user, resource: session.resource, in: place)
    var completion = Post.Completion.none
    if case .room = place {
      // The core checks that the caller belongs to it.
      let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
      let loop = channel.eventLoop
      completion = .callback { result in
        loop.execute { me.value.typed(result, in: place, re: frame.id) }
      }
    }
    let post = Post(author: session.caller.user, intent: intent, completion: completion, from: address)
    guard parley.submit(post) else { return refuse(frame.id, .overloaded) }
    if case .none = completion { accept(frame.id) }
  }

  private func typed(_ result: Result<Receipt, Problem>, in place: DialogPlace, re: String) {
    guard let session = open else { return }
    switch result {
    case .success: accept(re)
    case .failure(let problem):
      session.typing[place.id] = nil
      refuse(re, problem, of: place, session)
    }
    flush()
  }

  // MARK: Posts

  private func post<Op: PostingOperation>(
    _ operation: Op.Type, _ answer: OpenSession.Awaited.Answer, _ frame: CommandFrame, _ session: OpenSession
  ) throws(Problem) {
    let input = try input(Op.Input.self, frame)
    try Op.limit(door.limiters, session, now: parley.clock.now)
    // The dialog is nearly always cached, and then nothing is queued.
    if case .page(let page) = try door.dialogs.find(Op.dialogID(input), in: session.rendering.realm) {
      return post(operation, input, answer, frame, in: try page.place(for: session.caller.user), session)
    }
    try resolve(Op.dialogID(input), frame, session) { me, session, place in
      me.post(operation, input, answer, frame, in: place, session)
    }
  }

  private func post<Op: PostingOperation>(
    _ operation: Op.Type, _ input: Op.Input, _ answer: OpenSession.Awaited.Answer, _ frame: CommandFrame,
    in place: DialogPlace, _ session: OpenSession
  ) {
    guard let read = Op.reading(input, by: session.caller.user, in: place, parley) else {
      return submit(operation, input, answer, frame, in: place, session)
    }
    session.isResolving = true
    let submit: (AppSession, OpenSession, Op.Input) -> Void = { $0.submit(operation, $2, answer, frame, in: place, $1) }
    let bound = NIOLoopBound((self, submit), eventLoop: channel.eventLoop)
    parley.fetch(for: session.readOwner, on: session.handle.lane, read) { result in
      let (me, submit) = bound.value
      guard let session = me.open else { return }
      session.isResolving = false
      switch result {
      case .success(let input): submit(me, session, input)
      case .failure(let problem): me.refuse(frame.id, problem, of: place, session)
      }
      me.drainBacklog()
      me.flush()
    }
  }

  private func submit<Op: PostingOperation>(
    _ operation: Op.Type, _ input: Op.Input, _ answer: OpenSession.Awaited.Answer, _ frame: CommandFrame,
    in place: DialogPlace, _ session: OpenSession
  ) {
    do throws(Problem) {
      var intents = try Op.intents(input, by: session.caller, resource: session.resource, in: place, parley)
      // The sent message ends the typing indicator.
      if case .message = answer, !session.typing.isEmpty { session.typing[place.id] = nil }
      while !intents.isEmpty {
        let intent = intents.removeFirst()
        let isLast = intents.isEmpty
        let token = session.nextToken()
        let completion: Post.Completion = isLast ? .session(session.handle, token: token) : .none
        let post = Post(author: session.caller.user, intent: intent, completion: completion, from: address)
        guard parley.submit(post) else { throw Problem.overloaded }
        if isLast {
          session.awaited[token] = OpenSession.Awaited(re: frame.id, place: place, answer: answer)
        }
      }
      regulateReading()
    } catch {
      refuse(frame.id, error, of: place, session)
    }
  }

  /// Refuses with a problem that the caller may see: non-members learn nothing of a dialog.
  func refuse(_ re: String, _ problem: Problem, of place: DialogPlace, _ session: OpenSession) {
    guard case .room(let room) = place, problem.isTelling else { return refuse(re, problem) }
    let user = session.caller.user
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    parley.fetch(for: session.readOwner, on: session.handle.lane, { try $0.access(to: room.dialog, for: user) }) {
      result in
      let me = me.value
      guard me.open != nil else { return }
      switch result {
      case .success(let access): me.refuse(re, access.refusal(problem))
      case .failure(let problem): me.refuse(re, problem)
      }
      me.flush()
    }
  }

  /// Resolves a dialog and continues: at once if it is cached, otherwise after reading it, while later commands wait.
  func resolve(
    _ dialogID: String, _ frame: CommandFrame, _ session: OpenSession,
    then: @escaping (AppSession, OpenSession, DialogPlace) -> Void
  ) throws(Problem) {
    switch try door.dialogs.find(dialogID, in: session.rendering.realm) {
    case .page(let page): then(self, session, try page.place(for: session.caller.user))
    case .unread(let id):
      session.isResolving = true
      let me = NIOLoopBound((self, then), eventLoop: channel.eventLoop)
      parley.fetch(for: session.readOwner, on: session.handle.lane, { try DialogResolver.Page.read(id, $0) }) {
        result in
        let (me, then) = me.value
        guard let session = me.open else { return }
        session.isResolving = false
        do throws(Problem) {
          guard let page = try result.get() else { throw DialogResolver.unknown }
          me.door.dialogs.remember(page)
          then(me, session, try page.place(for: session.caller.user))
        } catch {
          me.refuse(frame.id, error)
        }
        me.drainBacklog()
        me.flush()
      }
    }
  }
}
