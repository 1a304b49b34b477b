import Accounts
import Addresses
import Basics
import Dialogs
import HTTPPort
import JSON
import Logging
import NIOCore
import Synchronization

/// A session of an app on its channel: a WebSocket, or a stream of server-sent events, which has no commands. Confined
/// to its event loop.
///
/// Theory. Frames come in, and commands are executed in order; deliveries of the hub are sent, through `FeedFollower`
/// if they are durable.
///
/// States and their transitions:
/// - `fresh`: the client is unknown. `hello` leads on; ten seconds without it, or any other command, close with 4401.
/// - `identifying`: the token is being looked up, then the session is registered. Further commands wait. A stream of
///   events, whose request contained the token, begins here.
/// - `open`: `ready` was sent, the feed is followed, commands are executed. Posts are answered after their commit.
/// - `closed`: a close frame was sent or received, or the connection is gone. Nothing more is sent; the hub has
///   unregistered the session.
///
/// `AppSession+Commands` has the client's commands, `AppSession+Events` the events for it.
final class AppSession {
  enum State {
    case fresh
    case identifying
    case open(OpenSession)
    case closed
  }

  let door: AppDoor
  let channel: any SessionChannel
  /// The client's address, for limits.
  let address: String
  var state = State.fresh
  /// The waiting commands, in order.
  var backlog: [CommandFrame] = []
  /// The bytes of the commands that have waited since there was none.
  private var backlogBytes = 0
  /// The state between the token and the session's registration.
  var pendingHello: PendingHello?
  private var isReadingStopped = false
  /// Whether the user has sent as many bytes as one may, and the socket is not read for a while.
  private(set) var isHeldBack = false
  private var helloTimer: Scheduled<Void>?
  private var lagTimer: Scheduled<Void>?
  private var refusals = 0
  /// The frames that came before `hello`.
  private var framesBeforeHello = 0
  /// Whether its commands wait for a turn of the event loop.
  private var waitsForTurn = false
  private lazy var turns = door.lane(channel.eventLoop).turns
  /// The memory of the output that the client does not read.
  private var unread: MemoryBound.Holder?
  /// Whether the client ended the session by itself.
  var hasSaidGoodbye = false
  /// Whether the session must not linger: its client is done, or was logged out.
  var isForGood = false
  /// The timer until whose end the client's absence is not announced.
  private var lingering: (end: Scheduled<Void>, handle: AppSessionHandle)?

  /// The id of an answer to no command: no frame has it (`CommandFrame.id`), and nothing is sent.
  static let unasked = ""

  var parley: Parley { door.parley }
  var accounts: Accounts { door.accounts }
  var isWritable: Bool { channel.isWritable }

  init(door: AppDoor, channel: any SessionChannel, address: String) {
    self.door = door
    self.channel = channel
    self.address = address
  }

  var open: OpenSession? {
    if case .open(let session) = state { return session }
    return nil
  }

  // MARK: The channel

  func awaitHello() {
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    helloTimer = channel.eventLoop.scheduleTask(in: AppLimits.helloTime) {
      me.value.close(
        .unauthenticated, Problem(.unauthenticated, "hello-missing", "Say hello within 10 seconds."))
    }
  }

  func writabilityChanged() {
    open?.handle.setLeavesUnread(!channel.isWritable)
    if channel.isWritable {
      lagTimer?.cancel()
      lagTimer = nil
      unread?.release()
      unread = nil
      open.map { resume($0) }
      flush()
    } else if case .closed = state {
      // A session that has ended releases nothing any more, and its channel is being closed.
    } else {
      let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
      lagTimer?.cancel()
      lagTimer = channel.eventLoop.scheduleTask(in: AppLimits.lagMax) {
        // A close frame would only wait in the unread queue.
        me.value.end()
        me.value.channel.cut()
      }
      let (loop, owner) = (channel.eventLoop, open?.caller.user.address.description ?? address)
      unread = parley.options.memory.unread.enter(owner) { loop.execute { me.value.giveUnreadUp() } }
      countUnread()
    }
    regulateReading()
  }

  private func countUnread() { unread?.hold(MemoryBound.grown(channel.unreadBytes)) }

  /// Closes the connection of a client that does not read, for others. Its cursor remains valid.
  private func giveUnreadUp() {
    guard unread != nil else { return }
    end()
    channel.cut()
  }

  // MARK: Ending

  /// Sends the reason and closes. Nothing more is sent after it.
  func close(_ code: CloseCode, _ problem: Problem) {
    close(code, reason: ProblemBody.typePrefix + problem.code, problem)
  }

  func close(_ code: CloseCode, reason: String, _ problem: Problem? = nil) {
    if case .closed = state { return }
    switch code {
    case .unauthenticated, .goingAway: isForGood = true
    case .tooBig, .tryAgainLater, .badFrame, .replaced, .tooFast: break
    }
    end()
    // The client's answer to the close is read.
    regulateReading()
    channel.close(code, reason: reason, problem)
  }

  /// Ends the session because the server stops.
  func goAway() {
    if case .closed = state { return }
    tell(.goAway, GoAwayBody(reason: "shutdown", retryAfterMs: 1_000))
    close(.goingAway, reason: ProblemBody.typePrefix + "shutdown")
    channel.finish()
  }

  /// Ends the session for any reason: nothing more is sent, timers stop. Idempotent.
  func end() {
    guard let was = leave() else { return }
    helloTimer?.cancel()
    lagTimer?.cancel()
    unread?.release()
    unread = nil
    backlog = []
    waitsForTurn = false
    guard let session = was.session else { return }
    session.end(self)
    let now = parley.clock.now
    unregister(session.handle, now)
    parley.leave(session.caller.user, at: now)
    // A client that closes properly has read all events; one that lost its connection may have missed those of several
    // minutes.
    if !hasSaidGoodbye, parley.registries.pushes.has(session.caller.user.id, resource: session.resource) {
      let after = max(session.attended, session.acknowledged)
      parley.submitSurely(Post(author: session.caller.user, intent: .push(.missed(after: after)), completion: .none))
    }
  }

  /// Unregisters the session from the hub and its rooms: at once, or if its client has not reconnected within
  /// `lingerTime`.
  func unregister(_ handle: AppSessionHandle, _ now: Timestamp) {
    guard !isForGood, parley.hub.linger(handle, time: now) else { return vanish(handle, now) }
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    let end = channel.eventLoop.scheduleTask(in: AppLimits.lingerTime) { me.value.lingerNoMore() }
    lingering = (end, handle)
  }

  func lingerNoMore() {
    guard let (end, handle) = lingering else { return }
    lingering = nil
    end.cancel()
    vanish(handle, parley.clock.now)
  }

  private func vanish(_ handle: AppSessionHandle, _ now: Timestamp) {
    parley.unregister(handle, at: now)
    parley.vacate(handle.party, session: handle.id)
  }

  private func leave() -> (session: OpenSession?, Void)? {
    switch state {
    case .closed: return nil
    case .fresh, .identifying:
      state = .closed
      return (nil, ())
    case .open(let session):
      state = .closed
      return (session, ())
    }
  }

  func helloCame() {
    helloTimer?.cancel()
    helloTimer = nil
  }

  // MARK: Reading

  /// Reads the socket while there is room for further commands, while the client reads the answers, while the user has not sent as many
  /// bytes as one may, and while no command waits for a turn of the loop; and not while the client is being identified, as what strangers
  /// send would wait.
  func regulateReading() {
    let isIdentifying = if case .identifying = state { true } else { false }
    let mustStop =
      isIdentifying || !isWritable || isHeldBack || waitsForTurn || backlog.count >= AppLimits.backlogMax
      || backlogBytes >= AppLimits.backlogBytesMax || (open?.awaited.count ?? 0) >= AppLimits.inFlightMax
    if mustStop == isReadingStopped { return }
    isReadingStopped = mustStop
    channel.setReading(!mustStop)
  }

  /// Counts a frame of a client that has not said hello. Returns whether it is one too many; the session is then closed.
  private func isOneTooMany() -> Bool {
    guard case .fresh = state else { return false }
    framesBeforeHello += 1
    guard framesBeforeHello > AppLimits.framesBeforeHelloMax else { return false }
    close(.unauthenticated, Problem(.unauthenticated, "hello-first", "Say hello first."))
    return true
  }

  /// Takes a ping or pong. It counts as a stanza: it has few bytes, or none.
  func takeControl(_ bytes: Int) {
    if !isOneTooMany() { charge(stanzas: 1, bytes: bytes) }
  }

  /// Charges what the user has sent, and reads no more for a while if that is too much.
  func charge(stanzas: Int, bytes: Int) {
    guard let open, let time = open.sending.charge(stanzas: stanzas, bytes: bytes, now: parley.clock.now), !isHeldBack
    else { return }
    isHeldBack = true
    regulateReading()
    let (me, loop) = (NIOLoopBound(self, eventLoop: channel.eventLoop), channel.eventLoop)
    open.sending.endPause(after: time, parley.clock) { time, body in
      loop.scheduleTask(in: TimeAmount(time)) { body() }
    } end: {
      me.value.isHeldBack = false
      if case .closed = me.value.state { return }
      me.value.regulateReading()
    }
  }

  /// Processes a text of the client, which is not kept.
  func take(_ text: UnsafeRawBufferPointer) {
    if case .closed = state { return }
    if isOneTooMany() { return }
    charge(stanzas: 0, bytes: text.count)
    let frame: CommandFrame
    do throws(JSONError) {
      let value = try JSONValue(parsing: text, valuesMax: HTTPLimits.jsonValuesMax)
      do throws(InputError) { frame = try CommandFrame(value) } catch {
        return close(.badFrame, Problem(.malformed, "frame-malformed", error.text))
      }
    } catch {
      return close(.badFrame, Problem(error))
    }
    if case .identifying = state { return wait(frame, text.count) }
    guard let open else { return carryOut(frame) }
    if turns.isOver { waitForTurn() }
    if open.isResolving || waitsForTurn { return wait(frame, text.count) }
    carryOut(frame)
    if turns.worked(1) { waitForTurn() }
  }

  /// Continues with the commands in a turn of their own, as the event loop has worked for long. Where networks do not take turns, users
  /// do.
  private func waitForTurn() {
    guard !waitsForTurn, let open else { return }
    waitsForTurn = true
    regulateReading()
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    let network = parley.options.networks.name(of: address) ?? open.caller.user.address.description
    turns.wait(self, in: network) {
      let session = me.value
      session.waitsForTurn = false
      if case .closed = session.state { return }
      session.drainBacklog()
      session.flush()
    }
  }

  private func wait(_ frame: CommandFrame, _ bytes: Int) {
    backlog.append(frame)
    backlogBytes += bytes
    regulateReading()
  }

  /// Continues with the waiting commands.
  func drainBacklog() {
    while !waitsForTurn, !backlog.isEmpty, let session = open, !session.isResolving {
      carryOut(backlog.removeFirst())
      if turns.worked(1) { waitForTurn() }
    }
    if backlog.isEmpty { backlogBytes = 0 }
    regulateReading()
  }

  // MARK: Writing

  /// Writes a text message, which is sent with the next flush, as in `SessionChannel.write`.
  func write(count: Int, cursor: String? = nil, _ body: (inout ByteBuffer) -> Void) {
    if case .closed = state { return }
    channel.write(count: count, cursor: cursor, body)
  }

  func flush() {
    channel.flush()
    countUnread()
  }

  func write(_ body: some JSONWritable, cursor: String? = nil) {
    var writer = JSONWriter()
    body.write(to: &writer)
    write(count: writer.bytes.count, cursor: cursor) { $0.writeBytes(writer.bytes) }
  }

  /// Sends an event that is no entry.
  func tell(
    _ name: EventName, _ body: some Hashable & Sendable & JSONWritable, cursor: String? = nil
  ) {
    write(EventFrame(name, time: parley.clock.now, data: body), cursor: cursor)
  }

  func accept(_ re: String) {
    if re == Self.unasked { return }
    refusals = 0
    write(ReplyFrame<EmptyBody>(re: re))
  }

  func accept(_ re: String, _ data: some Hashable & Sendable & JSONWritable) {
    refusals = 0
    write(ReplyFrame(re: re, data: data))
  }

  private static let dataName: StaticString = ",\"data\":"

  /// Answers with a message's JSON that was encoded for its event.
  func accept(_ re: String, raw data: ByteBuffer) {
    refusals = 0
    var writer = JSONWriter(capacity: 64)
    writer.beginObject()
    writer.member("re", re)
    writer.member("ok", true)
    write(count: writer.bytes.count + Self.dataName.utf8CodeUnitCount + data.readableBytes + 1) { frame in
      frame.writeBytes(writer.bytes)
      frame.writeStaticString(Self.dataName)
      frame.writeImmutableBuffer(data)
      frame.writeStaticString("}")
    }
  }

  func refuse(_ re: String, _ problem: Problem) {
    if re == Self.unasked { return }
    door.refusals.note(
      "a command", problem.code, isFault: problem.kind == .internal,
      [
        "command": re, "user": open?.caller.user.address.description ?? "", "device": open?.resource ?? "",
        "peer": address,
      ])
    write(ReplyFrame<EmptyBody>(re: re, error: ProblemBody(problem)))
    guard problem.kind == .tooFast else { return }
    refusals += 1
    if refusals >= AppLimits.refusalsMax { close(.tooFast, problem) }
  }
}

/// The hub's reference to a session: usable on any thread, it acts on the session's event loop.
final class AppSessionHandle: LiveSession {
  let id: SessionID
  let party: Party
  let lane: Lane
  let peer: String?
  private let session: NIOLoopBound<AppSession>
  private let lagging = Atomic<Bool>(false)

  var leavesUnread: Bool { lagging.load(ordering: .relaxed) }
  func setLeavesUnread(_ leavesUnread: Bool) { lagging.store(leavesUnread, ordering: .relaxed) }

  /// Creates the handle, on the session's event loop.
  init(id: SessionID, party: Party, lane: Lane, session: AppSession) {
    self.id = id
    self.party = party
    self.lane = lane
    self.peer = session.address
    self.session = NIOLoopBound(session, eventLoop: session.channel.eventLoop)
  }

  func receive(_ delivery: Delivery) { session.value.receive(delivery) }
  func batchEnded() { session.value.flush() }
}
