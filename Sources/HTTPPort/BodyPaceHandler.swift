import NIOCore
import NIOHTTP1

/// How fast a body comes. What counts is the time in which the port waits for the other end, not that in which it is busy
/// with what has come: a slow disk is nobody's fault. So a body has a minimum rate, and by its length a deadline.
struct BodyPace: Equatable {
  private var bytes: Int64 = 0
  private var waited: TimeAmount = .zero
  private var waitingSince: NIODeadline?

  /// The port waits for bytes from now on.
  mutating func wait(at now: NIODeadline) { if waitingSince == nil { waitingSince = now } }

  mutating func receive(_ count: Int, at now: NIODeadline) {
    bytes += Int64(count)
    if let since = waitingSince { waited = waited + (now - since) }
    waitingSince = nil
  }

  /// How long the port may still wait; zero: the body is too slow.
  func left(at now: NIODeadline) -> TimeAmount {
    let wait = waitingSince.map { waited + (now - $0) } ?? waited
    let allowed = HTTPLimits.bodyGrace.nanoseconds + bytes * 1_000_000_000 / HTTPLimits.bodyBytesPerSecond
    return .nanoseconds(max(0, allowed - wait.nanoseconds))
  }
}

/// Ends connections whose bodies come too slowly: 408 where nothing is answered yet (RFC 9110 15.5.9), then the end. Whoever
/// sends a byte now and then would else hold a connection, and an upload's place, for as long as they like.
///
/// Confined to its channel's event loop, like every handler.
final class BodyPaceHandler: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// nil: no body is coming.
  private var pace: BodyPace?
  private var timer: Scheduled<Void>?
  private var isAnswering = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head: pace = BodyPace()
    case .body(let bytes): pace?.receive(bytes.readableBytes, at: context.eventLoop.now)
    case .end: end()
    }
    context.fireChannelRead(data)
  }

  /// Most bodies come with their heads, and need no timer.
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
    guard left > .zero else { return refuse(context) }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: left) {
      let (handler, context) = bound.value
      handler.timer = nil
      handler.check(context)
    }
  }

  private func refuse(_ context: ChannelHandlerContext) {
    end()
    if !isAnswering {
      let headers: HTTPHeaders = ["connection": "close", "content-length": "0"]
      context.write(
        wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .requestTimeout, headers: headers))),
        promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
    context.close(promise: nil)
  }
}
