import NIOCore
import NIOHTTP1

/// The event that a client has closed its half after requests that are not decoded yet. `ChannelEvent.inputClosed` follows these.
struct EndBehindRequests {}

/// Detects that the client of a connection is gone while a request of it is pending.
///
/// HTTP/1.1 answers the requests of a connection one after the other, so at most one is pending. A client that has closed its
/// half counts as gone: a browser does only that when it leaves a page.
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
