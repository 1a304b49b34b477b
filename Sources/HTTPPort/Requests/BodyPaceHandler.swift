import Basics
import JSON
import NIOCore
import NIOHTTP1

/// The pace of a request body. It measures the time for which the port waits for the client, not the time in which the
/// port itself is busy, for instance with a slow disk. A body has a minimum rate, so its deadline depends on its length.
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

  /// Whether the body has arrived at the minimum rate so far, without the allowance.
  func isOnTime(at now: NIODeadline) -> Bool { left(at: now) > HTTPLimits.bodyGrace }

  /// The time for which this remains true even if nothing more arrives, at least a second.
  func onTimeFor(at now: NIODeadline) -> TimeAmount { max(.seconds(1), left(at: now) - HTTPLimits.bodyGrace) }
}

/// Supervises incomplete bodies of requests.
///
/// It closes connections whose bodies arrive too slowly, with 408 if no response has begun (RFC 9110 15.5.9). Without it a client
/// that sends a byte now and then could hold a connection, and an upload's slot, indefinitely.
///
/// It counts the memory of each incomplete body from the head of its request on, even if the body is refused, and closes the
/// connection if others need that memory, with 503 if no response has begun.
///
/// A response may begin before the body is complete, such as a refusal. If little of the body is missing, it is read and dropped, and
/// the connection serves the next request: many clients send head and body in two packets. Otherwise the response ends the connection,
/// and the client has some time to read it (RFC 9112 9.6).
///
///  Confined to its channel's event loop, like every handler.
final class BodyPaceHandler: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// The memory of incomplete bodies; nil without a bound.
  private let memory: HTTPMemory?
  private let proxies: TrustedProxies
  /// The pace of the current body; nil between bodies.
  private var pace: BodyPace?
  /// The fields of the current body's request, for its length and the client of a proxy.
  private var headers: HTTPHeaders = [:]
  private var timer: Scheduled<Void>?
  /// The deadline of the current body apart from its pace, and the answer then; nil without such a deadline.
  private var deadline: (time: NIODeadline, refusal: HTTPRefusal)?
  /// The holder that counts the current body, and the number of ended counts, by which late notices of these are recognised.
  private var holder: MemoryBound.Holder?
  private var counted = 0
  /// Whether the current body is written to the disk piece by piece, so that its memory does not count.
  private var isOnDisk = false
  /// The number of complete requests without a complete response. It is -1 while the body of an answered one still comes.
  private var complete = 0
  private var isAnswering = false
  /// Whether the response that is written, or was written, ends the connection.
  private var isLast = false
  /// The bytes that may still be read of the body after that response; nil before it.
  private var bytesMax: Int64?
  /// Whether the connection was closed for its pace.
  private(set) var isTooSlow = false

  init(memory: HTTPMemory?, proxies: TrustedProxies) {
    self.memory = memory
    self.proxies = proxies
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // RFC 9112 9.6: input after the last request is not handled.
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
    switch unwrapOutboundIn(data) {
    case .head(var head) where head.status.code >= 200:
      isAnswering = true
      guard complete == 0, isMuchMissing else { break }
      isLast = true
      head.headers.replaceOrAdd(name: "connection", value: "close")
      return context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .head, .body: break
    case .end:
      isAnswering = false
      complete -= 1
      if complete < 0 {
        // Further bytes of the body are dropped, even those of an upload.
        isOnDisk = false
        count(context)
      }
      if isLast { return context.write(data, promise: ending(promise, context)) }
    }
    context.write(data, promise: promise)
  }

  func handlerRemoved(context: ChannelHandlerContext) { end() }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  /// Notes that the next request to be answered is one of a logged-in user, so that its incomplete body counts with those of logged-in
  /// users.
  ///
  /// - Parameter isOnDisk: Whether the body is written to the disk piece by piece, so that its memory does not count.
  func logIn(_ context: ChannelHandlerContext, isOnDisk: Bool) {
    // The current body may be that of a later request.
    guard complete == 0, pace != nil else { return }
    stopCounting()
    self.isOnDisk = isOnDisk
    count(context, isLoggedIn: true)
  }

  /// Bounds the time until the body of the next request to be answered is complete, if it blocks a resource meanwhile.
  ///
  /// - Parameter refusal: The content of the answer with 408 when the time is over, or the body is too slow.
  func bound(_ context: ChannelHandlerContext, to time: TimeAmount, _ refusal: HTTPRefusal) {
    // The current body may be that of a later request.
    guard complete == 0, pace != nil else { return }
    deadline = (context.eventLoop.now + time, refusal)
    timer?.cancel()
    check(context)
  }

  private func end() {
    pace = nil
    headers = [:]
    deadline = nil
    isOnDisk = false
    timer?.cancel()
    timer = nil
    stopCounting()
  }

  private func stopCounting() {
    holder?.release()
    holder = nil
    counted += 1
  }

  /// Counts the memory of the incomplete body. A body whose request was answered is dropped and takes none.
  private func count(_ context: ChannelHandlerContext, isLoggedIn: Bool = false) {
    guard let pace, !isOnDisk, let memory else { return }
    let kept = complete < 0 ? 0 : MemoryBound.grown(Int(pace.bytes))
    let holder = holder ?? enter(isLoggedIn ? memory.loggedIn : memory.withoutLogin, context)
    self.holder = holder
    // This may end the holder, but not at once.
    holder.hold(HTTPLimits.requestBytes + kept)
  }

  private func enter(_ memory: MemoryBound, _ context: ChannelHandlerContext) -> MemoryBound.Holder {
    let (count, loop) = (counted, context.eventLoop)
    let address = ClientAddress.of(ForwardedFields(headers), context.channel.remoteAddress, proxies)
    let bound = NIOLoopBound((self, context), eventLoop: loop)
    return memory.enter(address) {
      loop.execute {
        let (handler, context) = bound.value
        if handler.counted == count { handler.giveWay(context) }
      }
    }
  }

  private func check(_ context: ChannelHandlerContext) {
    guard let pace else { return }
    let now = context.eventLoop.now
    var left = pace.left(at: now)
    if let deadline { left = min(left, deadline.time - now) }
    guard left > .zero else {
      isTooSlow = true
      return refuse(context, .requestTimeout, content: deadline?.refusal)
    }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: left) {
      let (handler, context) = bound.value
      handler.timer = nil
      handler.check(context)
    }
  }

  /// Closes the connection to free the memory of its incomplete body, with 503 if no response has begun. The memory is free when the
  /// connection has ended, which does not wait for the client.
  func giveWay(_ context: ChannelHandlerContext) {
    guard pace != nil else { return }
    refuse(context, .serviceUnavailable, ["retry-after": "\(HTTPLimits.bodyRetrySeconds)"])
    context.pipeline.syncOperations.cut()
  }

  private func refuse(
    _ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ more: HTTPHeaders = [:],
    content: HTTPRefusal? = nil
  ) {
    end()
    // The next response may be that to an earlier request.
    if !isAnswering, complete == 0 {
      var body = ByteBuffer()
      if let content {
        var writer = JSONWriter()
        ProblemBody(status: content.status, detail: content.detail, code: content.code).write(to: &writer)
        body.writeBytes(writer.bytes)
      }
      var headers: HTTPHeaders = ["connection": "close", "content-length": "\(body.readableBytes)"]
      headers.add(contentsOf: more)
      if content != nil { headers.add(name: "content-type", value: "application/problem+json") }
      context.write(
        wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
        promise: nil)
      if content != nil { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
    context.close(promise: nil)
  }

  // MARK: Responses before the end of the body

  /// Whether so much of the current body may be missing that a response ends the connection.
  private var isMuchMissing: Bool {
    guard let pace else { return false }
    // A client that expects 100 may not send its body without it (RFC 9110 10.1.1). `ContinueHandler` removes the field when it sends
    // 100.
    if headers.contains(name: "expect") { return true }
    // A chunked body announces no length.
    guard let length = headers.first(name: "content-length").flatMap({ Int64($0) }) else { return true }
    return length - pace.bytes > HTTPLimits.drainedBytesMax
  }

  /// Returns the promise of the last write of the last response, after which the connection ends.
  private func ending(
    _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
  ) -> EventLoopPromise<Void> {
    let last = promise ?? context.eventLoop.makePromise(of: Void.self)
    let (bound, loop) = (NIOLoopBound((self, context), eventLoop: context.eventLoop), context.eventLoop)
    last.futureResult.whenSuccess { _ in
      // The write may end within a call of TLS, which must not be closed then.
      loop.execute {
        let (handler, context) = bound.value
        handler.linger(context)
      }
    }
    return last
  }

  /// Ends the server's half of the connection. Further bytes of the body are dropped, and the connection is closed when the body ends,
  /// or is too slow or too long. Closing at once would reset the connection, since the client is still sending, and the client might
  /// lose the response (RFC 9112 9.6).
  private func linger(_ context: ChannelHandlerContext) {
    guard let pace else { return context.close(promise: nil) }
    bytesMax = pace.bytes + HTTPLimits.lingerBytesMax
    context.close(mode: .output, promise: nil)
  }
}
