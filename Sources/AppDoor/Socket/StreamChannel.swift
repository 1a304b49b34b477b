import Accounts
import Basics
import Dialogs
import HTTPPort
import JSON
import NIOCore
import Synchronization

/// A session over server-sent events (WHATWG HTML, 9.2): the body of one response. The session writes, the task of the
/// response takes chunk after chunk; bytes not taken count, and beyond `AppLimits.streamBytesMax` the session holds
/// back as on a full socket.
///
/// States: nothing written yet (a refusal becomes the response itself); open; ended.
final class StreamChannel: SessionChannel {
  /// The response's side of the channel.
  struct Body: Sendable {
    let chunks: AsyncStream<ByteBuffer>
    /// Reports sent bytes.
    let taken: @Sendable (Int) -> Void
    /// Reports the end: the client has disconnected, or everything was sent.
    let ended: @Sendable () -> Void
    /// Sets what closes the connection of a client that does not read.
    let whenCut: @Sendable (@escaping @Sendable () -> Void) -> Void
  }

  let eventLoop: any EventLoop
  let transport = OnlineSession.Transport.events
  private let chunks: AsyncStream<ByteBuffer>.Continuation
  private let opened: EventLoopPromise<Void>
  private let time: () -> Timestamp
  private var session: AppSession?
  private var gathered = ByteBuffer()
  private var outstanding = 0
  private var heart: RepeatedTask?
  private var isOpen = false
  private var isEnded = false
  private(set) var isWritable = true
  var unreadBytes: Int { outstanding }
  private var onCut: (@Sendable () -> Void)?
  /// The memory of this answer, which ends with the connection of the client.
  private var held: MemoryBound.Holder?

  private init(
    _ loop: any EventLoop, _ chunks: AsyncStream<ByteBuffer>.Continuation, _ opened: EventLoopPromise<Void>,
    _ time: @escaping () -> Timestamp
  ) {
    eventLoop = loop
    self.chunks = chunks
    self.opened = opened
    self.time = time
  }

  /// Begins a session of the caller behind a cursor. Throws if it is refused.
  static func open(
    _ caller: Accounts.Caller, cursor: String?, address: String, door: AppDoor
  ) async throws(Problem) -> Body {
    let loop = door.loops.next()
    let (stream, continuation) = AsyncStream<ByteBuffer>.makeStream()
    let opened = loop.makePromise(of: Void.self)
    let made: EventLoopFuture<NIOLoopBound<StreamChannel>> = loop.submit {
      let channel = StreamChannel(loop, continuation, opened) { door.parley.clock.now }
      let bound = NIOLoopBound(channel, eventLoop: loop)
      let session = AppSession(door: door, channel: channel, address: address)
      channel.session = session
      guard door.streams.add(bound) else {
        channel.close(.goingAway, reason: "shutdown", .overloaded)
        return bound
      }
      channel.held = door.parley.options.memory.answers.enter("\(caller.user.address)") {
        loop.execute { bound.value.giveWay() }
      }
      channel.held?.hold(AppLimits.heldAnswerBytes)
      session.begin(caller, cursor: cursor)
      return bound
    }
    do {
      let bound = try await made.get()
      try await opened.futureResult.get()
      return Body(
        chunks: stream,
        taken: { count in loop.execute { bound.value.taken(count) } },
        ended: { loop.execute { bound.value.end() } },
        whenCut: { cut in loop.execute { bound.value.onCut = cut } })
    } catch let problem as Problem {
      throw problem
    } catch {
      // The event loops have ended.
      throw Problem.overloaded
    }
  }

  // MARK: The response

  private func taken(_ count: Int) {
    outstanding -= count
    if !isWritable, outstanding <= AppLimits.streamBytesMax / 2 {
      isWritable = true
      session?.writabilityChanged()
    }
  }

  func end() {
    guard !isEnded else { return }
    isEnded = true
    heart?.cancel()
    held?.release()
    held = nil
    onCut = nil
    chunks.finish()
    let session = session
    self.session = nil
    session?.end()
    session?.door.streams.remove(self)
  }

  /// Ends the session because the server stops.
  func goAway() { session?.goAway() }

  /// Ends the session for others. Its client comes back with its cursor.
  private func giveWay() { session?.close(.tryAgainLater, .overloaded) }

  // MARK: Sending

  func write(count: Int, cursor: String?, _ body: (inout ByteBuffer) -> Void) {
    if isEnded { return }
    if !isOpen {
      isOpen = true
      opened.succeed()
      let me = NIOLoopBound(self, eventLoop: eventLoop)
      heart = eventLoop.scheduleRepeatedTask(
        initialDelay: AppLimits.heartbeatEvery, delay: AppLimits.heartbeatEvery
      ) { _ in me.value.beat() }
    }
    if let cursor {
      gathered.writeStaticString("id: ")
      gathered.writeString(cursor)
      gathered.writeStaticString("\n")
    }
    gathered.writeStaticString("data: ")
    // This server's JSON has no line breaks.
    body(&gathered)
    gathered.writeStaticString("\n\n")
  }

  /// Sends a comment, so that proxies keep the connection, and a dead one is noticed.
  private func beat() {
    gathered.writeStaticString(":\n\n")
    flush()
  }

  func flush() {
    guard !isEnded, gathered.readableBytes > 0 else { return }
    let chunk = gathered
    gathered = ByteBuffer()
    outstanding += chunk.readableBytes
    chunks.yield(chunk)
    if isWritable, outstanding > AppLimits.streamBytesMax {
      isWritable = false
      session?.writabilityChanged()
    }
  }

  /// Does nothing: commands are requests of their own.
  func setReading(_ isReading: Bool) {}

  func close(_ code: CloseCode, reason: String, _ problem: Problem?) {
    if isEnded { return }
    if isOpen {
      switch code {
      // It was sent as an event of its own.
      case .goingAway, .unauthenticated: break
      case .tooBig, .tryAgainLater, .badFrame, .replaced, .tooFast:
        let reason =
          reason.hasPrefix(ProblemBody.typePrefix) ? String(reason.dropFirst(ProblemBody.typePrefix.count)) : reason
        var writer = JSONWriter()
        EventFrame(.goAway, time: time(), data: GoAwayBody(reason: reason, retryAfterMs: 1_000)).write(to: &writer)
        write(count: writer.bytes.count, cursor: nil) { $0.writeBytes(writer.bytes) }
      }
      flush()
    } else {
      opened.fail(problem ?? Problem.overloaded)
    }
    end()
  }

  func finish() { end() }

  func cut() {
    let cut = onCut
    end()
    cut?()
  }
}

/// The open event streams: the port stops when each has ended.
final class OpenStreams: Sendable {
  private struct State {
    var streams: [ObjectIdentifier: NIOLoopBound<StreamChannel>] = [:]
    var isStopped = false
  }
  private let state = Mutex(State())

  /// Adds a stream. Returns `false` if the server stops.
  func add(_ stream: NIOLoopBound<StreamChannel>) -> Bool {
    let id = ObjectIdentifier(stream.value)
    return state.withLock { state in
      if state.isStopped { return false }
      state.streams[id] = stream
      return true
    }
  }

  func remove(_ stream: StreamChannel) {
    let id = ObjectIdentifier(stream)
    state.withLock { _ = $0.streams.removeValue(forKey: id) }
  }

  /// Ends all streams with `goaway`; callable from any thread.
  func stop() {
    let streams = state.withLock { state in
      state.isStopped = true
      return Array(state.streams.values)
    }
    for stream in streams { stream.eventLoop.execute { stream.value.goAway() } }
  }
}
