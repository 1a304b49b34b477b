import Basics
import NIOCore
import NIOHTTP1

/// The pace of a request body. It measures the time in which the port waits for the client, not the time in which the
/// port itself is busy, for instance with a slow disk. A body has a minimum rate and so a deadline that depends on its
/// length.
struct BodyPace: Equatable {
  private(set) var bytes: Int64 = 0
  private var waited: TimeAmount = .zero
  private var waitingSince: NIODeadline?

  /// Marks the beginning of a wait for bytes.
  mutating func wait(at now: NIODeadline) { if waitingSince == nil { waitingSince = now } }

  mutating func receive(_ count: Int, at now: NIODeadline) {
    bytes += Int64(count)
    if let since = waitingSince { waited = waited + (now - since) }
    waitingSince = nil
  }

  /// The time that the port may still wait; zero if the body is too slow.
  func left(at now: NIODeadline) -> TimeAmount {
    let wait = waitingSince.map { waited + (now - $0) } ?? waited
    let allowed = HTTPLimits.bodyGrace.nanoseconds + bytes * 1_000_000_000 / HTTPLimits.bodyBytesPerSecond
    return .nanoseconds(max(0, allowed - wait.nanoseconds))
  }

  /// Whether the body has come at the least rate so far, without the allowance.
  func isOnTime(at now: NIODeadline) -> Bool { left(at: now) > HTTPLimits.bodyGrace }

  /// The time for which this holds at least if no more comes, a second at least.
  func onTimeFor(at now: NIODeadline) -> TimeAmount { max(.seconds(1), left(at: now) - HTTPLimits.bodyGrace) }
}

/// Supervises the bodies of requests while they are not complete.
///
/// It closes connections whose bodies arrive too slowly, with 408 if no response has begun (RFC 9110 15.5.9). Without it a client
/// that sends a byte now and then could hold a connection, and an upload's slot, indefinitely.
///
/// It counts the memory of each incomplete body from the head of its request on, whoever reads the body or refuses it, and answers
/// with 503 if others need that memory.
///
/// A response that begins before the body is complete, such as a refusal, ends the connection: the server cannot know how much of
/// the body it would have to read before the next request. The client has some time to read the response (RFC 9112 9.6).
///
///  Confined to its channel's event loop, like every handler.
final class BodyPaceHandler: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// The memory of incomplete bodies; nil where it has no bound.
  private let memory: HTTPMemory?
  private let proxies: TrustedProxies
  /// The pace of the current body; nil between bodies.
  private var pace: BodyPace?
  /// The fields of the request of the current body, which name the client of a proxy.
  private var headers: HTTPHeaders = [:]
  private var timer: Scheduled<Void>?
  /// What counts the current body, and the number of times that one was counted, of which only the last can give way.
  private var holder: MemoryBound.Holder?
  private var entrances = 0
  /// The number of complete requests without a complete response. It is -1 while the body of an answered one still comes.
  private var complete = 0
  private var isAnswering = false
  /// Whether the response that is written, or was written, ends the connection, and whether it has ended.
  private var (isLast, isOver) = (false, false)
  /// The bytes that the body may have once its request was answered; nil before that.
  private var bytesMax: Int64?
  /// Whether the request that is answered next is one of a logged-in user, and whether its body is kept on the disk.
  private var (isLoggedIn, isOnDisk) = (false, false)
  /// Whether the connection was closed for its pace.
  private(set) var isTooSlow = false

  init(memory: HTTPMemory?, proxies: TrustedProxies) {
    self.memory = memory
    self.proxies = proxies
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // RFC 9112 9.6: what follows the last request is not handled.
    if isLast, pace == nil { return }
    switch unwrapInboundIn(data) {
    case .head(let head): (pace, headers) = (BodyPace(), head.headers)
    case .body(let bytes):
      pace?.receive(bytes.readableBytes, at: context.eventLoop.now)
      if let bytesMax {
        if let pace, pace.bytes > bytesMax { context.pipeline.syncOperations.cut() }
        return
      }
      if holder != nil { count(context) }
    case .end:
      end()
      complete += 1
      if bytesMax != nil { return context.pipeline.syncOperations.cut() }
    }
    context.fireChannelRead(data)
  }

  /// Starts the timer and the count. Most bodies arrive together with their heads and need neither.
  func channelReadComplete(context: ChannelHandlerContext) {
    if pace != nil, timer == nil { check(context) }
    if holder == nil { count(context) }
    context.fireChannelReadComplete()
  }

  func read(context: ChannelHandlerContext) {
    pace?.wait(at: context.eventLoop.now)
    context.read()
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    // Nothing may follow the last response, such as one to a fault of the body.
    if isOver {
      promise?.succeed()
      return
    }
    switch unwrapOutboundIn(data) {
    case .head(var head) where head.status.code >= 200:
      isAnswering = true
      guard complete == 0, pace != nil else { break }
      isLast = true
      head.headers.replaceOrAdd(name: "connection", value: "close")
      return context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .head, .body: break
    case .end:
      isAnswering = false
      complete -= 1
      (isLoggedIn, isOnDisk) = (false, false)
      guard isLast else { break }
      isOver = true
      return context.write(data, promise: ending(promise, context))
    }
    context.write(data, promise: promise)
  }

  func handlerRemoved(context: ChannelHandlerContext) { end() }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  /// Notes that the request that is answered next is one of a logged-in user, whose incomplete body counts with those of logged-in
  /// users.
  ///
  /// - Parameter isOnDisk: Whether the body is written to the disk piece by piece. Such a body does not count.
  func logIn(_ context: ChannelHandlerContext, isOnDisk: Bool) {
    (isLoggedIn, self.isOnDisk) = (true, isOnDisk)
    // The body that is counted may be that of a later request.
    guard complete == 0, holder != nil else { return }
    stopCounting()
    count(context)
  }

  private func end() {
    pace = nil
    headers = [:]
    stopTimer()
    stopCounting()
  }

  private func stopTimer() {
    timer?.cancel()
    timer = nil
  }

  private func stopCounting() {
    holder?.release()
    holder = nil
  }

  /// Counts what the incomplete body takes. One whose request was answered is not kept.
  private func count(_ context: ChannelHandlerContext) {
    guard let memory, let pace else { return }
    let isNext = complete == 0
    if isNext, isOnDisk { return }
    let kept = bytesMax == nil ? MemoryBound.grown(Int(pace.bytes)) : 0
    let holder = holder ?? enter(isNext && isLoggedIn ? memory.loggedIn : memory.withoutLogin, context)
    self.holder = holder
    // This may end the holder, but not at once.
    holder.hold(HTTPLimits.requestBytes + kept)
  }

  private func enter(_ memory: MemoryBound, _ context: ChannelHandlerContext) -> MemoryBound.Holder {
    entrances += 1
    let (entrance, loop) = (entrances, context.eventLoop)
    let address = ClientAddress.of(ForwardedFields(headers), context.channel.remoteAddress, proxies)
    let bound = NIOLoopBound((self, context), eventLoop: loop)
    return memory.enter(address) {
      loop.execute {
        let (handler, context) = bound.value
        if handler.entrances == entrance { handler.giveWay(context) }
      }
    }
  }

  private func check(_ context: ChannelHandlerContext) {
    guard let pace else { return }
    let left = pace.left(at: context.eventLoop.now)
    guard left > .zero else {
      isTooSlow = true
      return refuse(context, .requestTimeout)
    }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: left) {
      let (handler, context) = bound.value
      handler.timer = nil
      handler.check(context)
    }
  }

  /// Closes the connection for the memory that its unfinished body takes, with 503 if no response has begun. The body is kept until the
  /// connection has ended, which does not wait for the client.
  func giveWay(_ context: ChannelHandlerContext) {
    guard pace != nil else { return }
    refuse(context, .serviceUnavailable, ["retry-after": "\(HTTPLimits.bodyRetrySeconds)"])
    context.pipeline.syncOperations.cut()
  }

  private func refuse(
    _ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ more: HTTPHeaders = [:]
  ) {
    end()
    // The next response may be that to an earlier request.
    if !isAnswering, complete == 0 {
      var headers: HTTPHeaders = ["connection": "close", "content-length": "0"]
      headers.add(contentsOf: more)
      context.write(
        wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
        promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
    context.close(promise: nil)
  }

  // MARK: The end behind a response

  /// Returns the promise of the last write of the last response, after which the connection ends.
  private func ending(
    _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
  ) -> EventLoopPromise<Void> {
    let last = promise ?? context.eventLoop.makePromise(of: Void.self)
    let (bound, loop) = (NIOLoopBound((self, context), eventLoop: context.eventLoop), context.eventLoop)
    last.futureResult.whenSuccess { _ in
      // The write may end while TLS is at work, which cannot be closed then.
      loop.execute {
        let (handler, context) = bound.value
        handler.linger(context)
      }
    }
    return last
  }

  /// Ends the server's half of the connection, and the other one once the client has read the response, as far as that can be seen:
  /// when the body has ended or no more of it comes. A connection that is closed at once would be reset, since the client is still
  /// sending, and the client might lose the response (RFC 9112 9.6).
  private func linger(_ context: ChannelHandlerContext) {
    guard let pace else { return context.close(promise: nil) }
    stopTimer()
    bytesMax = pace.bytes + HTTPLimits.lingerBytesMax
    count(context)
    context.close(mode: .output, promise: nil)
    look(context, since: pace.bytes, until: context.eventLoop.now + HTTPLimits.lingerMax)
  }

  /// Closes the connection after an interval in which nothing has come, or at the end of all the time.
  private func look(_ context: ChannelHandlerContext, since bytes: Int64, until end: NIODeadline) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: HTTPLimits.lingerCheck) {
      let (handler, context) = bound.value
      handler.timer = nil
      guard let pace = handler.pace else { return }
      guard pace.bytes > bytes, context.eventLoop.now < end else { return context.pipeline.syncOperations.cut() }
      handler.look(context, since: pace.bytes, until: end)
    }
  }
}
