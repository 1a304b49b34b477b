import NIOCore
import NIOHTTP1

/// An event: a client has closed its half behind requests that are not decoded yet. `ChannelEvent.inputClosed` follows behind them.
struct EndBehindRequests {}

/// Notices that the client of a connection is gone while a request of it waits for something else.
///
/// HTTP/1.1 answers the requests of a connection one after the other, so there is at most one that waits. A client that has
/// closed its half is gone as well: a browser does no more when it leaves a page, and nothing shows what it meant.
///
///  Confined to its channel's event loop, like every handler.
final class ClientEndHandler: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private var isOver = false
  private var onEnd: (@Sendable () -> Void)?

  /// Calls `body` once, when the client is gone, unless the current response ends first.
  func wait(_ body: @escaping @Sendable () -> Void) {
    if isOver { return body() }
    onEnd = body
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { onEnd = nil }
    context.write(data, promise: promise)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is EndBehindRequests { return end() }
    if case .inputClosed = event as? ChannelEvent { end() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  private func end() {
    isOver = true
    onEnd?()
    onEnd = nil
  }
}
