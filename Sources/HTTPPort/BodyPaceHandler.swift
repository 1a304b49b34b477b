import NIOCore
import NIOHTTP1

/// The pace of a request body. It measures the time in which the port waits for the client, not the time in which the
/// port itself is busy, for instance with a slow disk. A body has a minimum rate and so a deadline that depends on its
/// length.
struct BodyPace: Equatable {
  private var bytes: Int64 = 0
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

/// Closes connections whose bodies arrive too slowly, with 408 if no response has begun (RFC 9110 15.5.9). Without it a
/// client that sends a byte now and then could hold a connection, and an upload's slot, indefinitely.
///
///  Confined to its channel's event loop, like every handler.
final class BodyPaceHandler: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// The pace of the current body; nil between bodies.
  private var pace: BodyPace?
  private var timer: Scheduled<Void>?
  private var isAnswering = false
  /// Whether the connection was closed for its pace.
  private(set) var isTooSlow = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head: pace = BodyPace()
    case .body(let bytes): pace?.receive(bytes.readableBytes, at: context.eventLoop.now)
    case .end: end()
    }
    context.fireChannelRead(data)
  }

  /// Starts the timer. Most bodies arrive together with their heads and need none.
  func channelReadComplete(context: ChannelHandlerContext) {
    if pace != nil, timer == nil { check(context) }
    context.fireChannelReadComplete()
  }

  func read(context: ChannelHandlerContext) {
    pace?.wait(at: context.eventLoop.now)
    context.read()
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(let head): isAnswering = head.status.code >= 200
    case .body: break
    case .end: isAnswering = false
    }
    context.write(data, promise: promise)
  }

  func handlerRemoved(context: ChannelHandlerContext) { end() }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  private func end() {
    pace = nil
    timer?.cancel()
    timer = nil
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
    if !isAnswering {
      var headers: HTTPHeaders = ["connection": "close", "content-length": "0"]
      headers.add(contentsOf: more)
      context.write(
        wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
        promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
    context.close(promise: nil)
  }
}
