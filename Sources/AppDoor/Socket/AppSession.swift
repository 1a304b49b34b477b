import Accounts
import Basics
import Dialogs
import HTTPPort
import JSON
import Logging
import NIOCore

/// One session of an app, on its channel: a WebSocket, or a stream of server-sent events, on which nothing is asked. Confined
/// to its event loop.
///
/// Theory. Frames come in, commands are carried out in their order; what
/// the hub delivers goes out, through `FeedFollower` where it is durable.
///
/// States and what moves them:
/// - `fresh`: nothing is known of the client. `hello` moves on; ten seconds
///   without it, or any other command, close with 4401.
/// - `identifying`: the token is being looked up, then the session attends. What
///   comes meanwhile waits. A stream of events, whose request has brought the token, begins here.
/// - `open`: the session stands: `ready` was said, the feed is followed, commands
///   are carried out. Posts are answered when they are committed.
/// - `closed`: a close frame was sent or received, or the connection is gone.
///   Nothing is sent any more; the hub has forgotten the session.
///
/// `AppSession+Commands` is what the client asks, `AppSession+Events` what it is
/// told.
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
  /// Commands that wait for an answer from elsewhere, in order.
  var backlog: [CommandFrame] = []
  /// From the token until the attend is answered.
  var arriving: Arriving?
  private var isReadingStopped = false
  private var helloTimer: Scheduled<Void>?
  private var lagTimer: Scheduled<Void>?
  private var refusals = 0
  /// The client ends the session by itself.
  var hasSaidGoodbye = false
  /// Nobody is to wait for it to come back: its client has done what it came for, or is out.
  var isForGood = false
  /// Until the end, nobody is told that the client has gone.
  private var lingering: (end: Scheduled<Void>, handle: AppSessionHandle)?

  /// Answers what no command has asked; no frame has it (`CommandFrame.id`), and nothing is answered.
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
    if channel.isWritable {
      lagTimer?.cancel()
      lagTimer = nil
      open.map { resume($0) }
      flush()
    } else {
      let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
      lagTimer?.cancel()
      lagTimer = channel.eventLoop.scheduleTask(in: AppLimits.lagMax) {
        // A close frame would only join the queue that nobody reads.
        me.value.end()
        me.value.channel.cut()
      }
    }
    regulateReading()
  }

  // MARK: Ending

  /// Says why and closes. Nothing more is sent after it.
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
    channel.close(code, reason: reason, problem)
  }

  /// The server stops.
  func goAway() {
    if case .closed = state { return }
    tell(.goAway, GoAwayBody(reason: "shutdown", retryAfterMs: 1_000))
    close(.goingAway, reason: ProblemBody.typePrefix + "shutdown")
    channel.cut()
  }

  /// Whatever the cause: nothing is told any more, timers stop. Idempotent.
  func end() {
    guard let was = leave() else { return }
    helloTimer?.cancel()
    lagTimer?.cancel()
    backlog = []
    guard let session = was.session else { return }
    session.end(self)
    unregister(session.handle)
    parley.leave(session.caller.user)
    // A client that says good-bye has read what it was told; who is gone without a word may have heard nothing for minutes.
    if !hasSaidGoodbye, parley.registries.pushes.has(session.caller.user.id, resource: session.resource) {
      let after = max(session.attended, session.acknowledged)
      parley.submitSurely(Post(author: session.caller.user, intent: .push(.missed(after: after)), completion: .none))
    }
  }

  /// The hub forgets the session, and its seats are free: at once, or when its client has stayed away for `lingerTime`.
  func unregister(_ handle: AppSessionHandle) {
    guard !isForGood, parley.hub.linger(handle, time: parley.clock.now) else { return vanish(handle) }
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    let end = channel.eventLoop.scheduleTask(in: AppLimits.lingerTime) { me.value.lingerNoMore() }
    lingering = (end, handle)
  }

  func lingerNoMore() {
    guard let (end, handle) = lingering else { return }
    lingering = nil
    end.cancel()
    vanish(handle)
  }

  private func vanish(_ handle: AppSessionHandle) {
    parley.hub.unregister(handle, time: parley.clock.now)
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

  /// Reads the socket while there is room for what it may bring, and while the
  /// client takes the answers.
  func regulateReading() {
    let mustStop =
      !isWritable || backlog.count >= AppLimits.backlogMax || (open?.awaited.count ?? 0) >= AppLimits.inFlightMax
    if mustStop == isReadingStopped { return }
    isReadingStopped = mustStop
    channel.setReading(!mustStop)
  }

  /// A text of the client's, which is not kept.
  func take(_ text: UnsafeRawBufferPointer) {
    if case .closed = state { return }
    let frame: CommandFrame
    do throws(JSONError) {
      let value = try JSONValue(parsing: text)
      do throws(InputError) { frame = try CommandFrame(value) } catch {
        return close(.badFrame, Problem(.malformed, "frame-malformed", error.text))
      }
    } catch {
      return close(.badFrame, Problem(error))
    }
    if case .identifying = state { return wait(frame) }
    if open?.isResolving == true { return wait(frame) }
    carryOut(frame)
  }

  private func wait(_ frame: CommandFrame) {
    backlog.append(frame)
    regulateReading()
  }

  /// Carries on with what waited.
  func drainBacklog() {
    while !backlog.isEmpty, let session = open, !session.isResolving { carryOut(backlog.removeFirst()) }
    regulateReading()
  }

  // MARK: Writing

  /// One text message; goes out with the next flush. As `SessionChannel.write`.
  func write(count: Int, cursor: String? = nil, _ body: (inout ByteBuffer) -> Void) {
    if case .closed = state { return }
    channel.write(count: count, cursor: cursor, body)
  }

  func flush() { channel.flush() }

  func write(_ body: some JSONWritable, cursor: String? = nil) {
    var writer = JSONWriter()
    body.write(to: &writer)
    write(count: writer.bytes.count, cursor: cursor) { $0.writeBytes(writer.bytes) }
  }

  /// An event that is no entry.
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

  /// A message's JSON made earlier, shared with its event.
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
    write(ReplyFrame<EmptyBody>(re: re, error: ProblemBody(problem, requestID: nil)))
    guard problem.kind == .tooFast else { return }
    refusals += 1
    if refusals >= AppLimits.refusalsMax { close(.tooFast, problem) }
  }
}

/// What the hub holds of a session: may go anywhere, does everything on the loop.
final class AppSessionHandle: LiveSession {
  let id: SessionID
  let party: Party
  let lane: Lane
  private let session: NIOLoopBound<AppSession>

  /// On the session's loop.
  init(id: SessionID, party: Party, lane: Lane, session: AppSession) {
    self.id = id
    self.party = party
    self.lane = lane
    self.session = NIOLoopBound(session, eventLoop: session.channel.eventLoop)
  }

  func receive(_ delivery: Delivery) { session.value.receive(delivery) }
  func batchEnded() { session.value.flush() }
}
