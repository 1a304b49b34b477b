import AppProtocol
import Dialogs
import Logging
import NIOCore
import NIOWebSocket

/// One WebSocket session: a channel handler, confined to its event loop.
///
/// Theory. Frames come in, commands are carried out in their order; what
/// the hub delivers goes out, through `FeedFollower` where it is durable.
///
/// States and what moves them:
/// - `fresh`: nothing is known of the client. `hello` moves on; ten seconds
///   without it, or any other command, close with 4401.
/// - `identifying`: the token is being looked up, then the session attends. What
///   comes meanwhile waits.
/// - `open`: the session stands: `ready` was said, the feed is followed, commands
///   are carried out. Posts are answered when they are committed.
/// - `closed`: a close frame was sent or received, or the connection is gone.
///   Nothing is sent any more; the hub has forgotten the session.
///
/// `AppSession+Commands` is what the client asks, `AppSession+Events` what it is
/// told.
final class AppSession: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  enum State {
    case fresh
    case identifying
    case open(OpenSession)
    case closed
  }

  let door: AppDoor
  let channel: any Channel
  /// The client's address, for limits.
  let address: String
  var state = State.fresh
  /// Commands that wait for an answer from elsewhere, in order.
  var backlog: [CommandFrame] = []
  /// From the token until the attend is answered.
  var arriving: Arriving?
  private var context: ChannelHandlerContext?
  private var needsFlush = false
  private var isReadingStopped = false
  private var helloTimer: Scheduled<Void>?
  private var pinger: RepeatedTask?
  private var lagTimer: Scheduled<Void>?
  private var lastRead = NIODeadline.now()
  private var refusals = 0
  private var hasSaidGoodbye = false

  var parley: Parley { door.parley }
  var isWritable: Bool { channel.isWritable }

  init(door: AppDoor, channel: any Channel, address: String) {
    self.door = door
    self.channel = channel
    self.address = address
  }

  var open: OpenSession? {
    if case .open(let session) = state { return session }
    return nil
  }

  // MARK: The channel

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    let me = NIOLoopBound(self, eventLoop: context.eventLoop)
    helloTimer = context.eventLoop.scheduleTask(in: AppLimits.helloTime) {
      me.value.close(
        .unauthenticated, Problem(.unauthenticated, "hello-missing", "Say hello within 10 seconds."))
    }
    pinger = context.eventLoop.scheduleRepeatedTask(initialDelay: AppLimits.pingEvery, delay: AppLimits.pingEvery) {
      _ in
      me.value.keepAlive()
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { end() }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    lastRead = .now()
    switch frame.opcode {
    case .text:
      if case .closed = state { return }
      take(frame.unmaskedData)
    case .ping:
      send(.pong, frame.unmaskedData)
    case .connectionClose:
      // RFC 6455 5.5.1: answered with the same code.
      if case .closed = state { return context.close(promise: nil) }
      var data = frame.unmaskedData
      send(.connectionClose, data.readSlice(length: min(2, data.readableBytes)) ?? ByteBuffer())
      flush()
      hasSaidGoodbye = true
      end()
      context.close(promise: nil)
    case .pong: break
    default:
      close(.badFrame, Problem(.malformed, "frame-malformed", "Frames are text messages."))
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    flush()
    context.fireChannelReadComplete()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      lagTimer?.cancel()
      lagTimer = nil
      open.map { resume($0) }
      flush()
    } else {
      open.map { $0.follower.stall() }
      let me = NIOLoopBound(self, eventLoop: context.eventLoop)
      lagTimer?.cancel()
      lagTimer = context.eventLoop.scheduleTask(in: AppLimits.lagMax) {
        // A close frame would only join the queue that nobody reads.
        me.value.end()
        me.value.channel.close(promise: nil)
      }
    }
    regulateReading()
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent { goAway() }
    context.fireUserInboundEventTriggered(event)
  }

  /// The aggregator's and the decoder's errors. The decoder's have been
  /// answered with a close frame by NIO's own handler before.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
      NIOWebSocketFrameAggregator.Error.tooManyFragments:
      close(.tooBig, Problem(.tooLarge, "frame-too-large", "A message has at most \(AppLimits.frameBytesMax) bytes."))
    case is NIOWebSocketFrameAggregator.Error:
      close(.badFrame, Problem(.malformed, "frame-malformed", "The frames do not follow RFC 6455."))
    default:
      end()
      context.close(promise: nil)
    }
  }

  // MARK: Ending

  /// Says why and closes. Nothing more is sent after it.
  func close(_ code: CloseCode, _ problem: Problem) {
    close(code, reason: ProblemBody.typePrefix + problem.code)
  }

  func close(_ code: CloseCode, reason: String) {
    if case .closed = state { return }
    var data = channel.allocator.buffer(capacity: 2 + reason.utf8.count)
    data.writeInteger(code.rawValue)
    // RFC 6455 5.5: a control frame has at most 125 bytes. Reasons are ASCII.
    data.writeBytes(reason.utf8.prefix(123))
    end()
    context?.writeAndFlush(
      wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)), promise: nil)
    // The client answers the close; one that does not is cut off.
    let channel = channel
    channel.eventLoop.scheduleTask(in: .seconds(5)) { channel.close(promise: nil) }
  }

  /// The server stops.
  private func goAway() {
    if case .closed = state { return }
    tell(.goAway, GoAwayBody(reason: "shutdown", retryAfterMs: 1_000))
    close(.goingAway, reason: ProblemBody.typePrefix + "shutdown")
    channel.close(promise: nil)
  }

  /// Whatever the cause: the hub forgets the session, timers stop. Idempotent.
  func end() {
    guard let was = leave() else { return }
    helloTimer?.cancel()
    pinger?.cancel()
    lagTimer?.cancel()
    backlog = []
    guard let session = was.session else { return }
    session.end(self)
    parley.hub.depart(session.handle, time: parley.clock.now)
    parley.leave(session.caller.user, session: session.handle.id)
    // A client that says good-bye has read what it was told; who is gone without a word may have heard nothing for minutes.
    if !hasSaidGoodbye, parley.pushes.has(session.caller.user.id, resource: session.resource) {
      let after = max(session.attended, session.acknowledged)
      parley.submitSurely(Post(author: session.caller.user, intent: .push(.missed(after: after)), completion: .none))
    }
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

  private func keepAlive() {
    if NIODeadline.now() - lastRead > AppLimits.silenceMax {
      end()
      channel.close(promise: nil)
      return
    }
    send(.ping, ByteBuffer())
    flush()
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
    // An error here means that the channel is closed, and then nothing is read.
    try? channel.syncOptions?.setOption(.autoRead, value: !mustStop)
  }

  private func take(_ buffer: ByteBuffer) {
    let frame: CommandFrame
    do throws(JSONError) {
      let value = try buffer.withUnsafeReadableBytes { (bytes) throws(JSONError) in try JSONValue(parsing: bytes) }
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

  private func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
    guard let context else { return }
    context.write(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: data)), promise: nil)
    needsFlush = true
  }

  /// One text message; goes out with the next flush.
  func write(_ text: ByteBuffer) {
    if case .closed = state { return }
    send(.text, text)
  }

  func flush() {
    guard needsFlush, let context else { return }
    needsFlush = false
    context.flush()
  }

  func write(_ body: some JSONWritable) {
    var writer = JSONWriter()
    body.write(to: &writer)
    write(ByteBuffer(bytes: writer.bytes))
  }

  /// An event that is no entry.
  func tell(_ name: EventName, _ body: some Codable & Hashable & Sendable & JSONWritable) {
    write(EventFrame(name, time: WireTime(parley.clock.now), data: body))
  }

  func accept(_ re: String) {
    refusals = 0
    write(ReplyFrame<EmptyBody>(re: re))
  }

  func accept(_ re: String, _ data: some Codable & Hashable & Sendable & JSONWritable) {
    refusals = 0
    write(ReplyFrame(re: re, data: data))
  }

  /// A message's JSON made earlier, shared with its event.
  func accept(_ re: String, raw data: ByteBuffer) {
    refusals = 0
    var writer = JSONWriter(capacity: 64)
    writer.beginObject()
    writer.member("re", re)
    writer.member("ok", true)
    var frame = channel.allocator.buffer(capacity: writer.bytes.count + data.readableBytes + 10)
    frame.writeBytes(writer.bytes)
    frame.writeStaticString(",\"data\":")
    frame.writeImmutableBuffer(data)
    frame.writeStaticString("}")
    write(frame)
  }

  func refuse(_ re: String, _ problem: Problem) {
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
