import NIOCore
import NIOHTTP1

/// Answers `Expect: 100-continue` with 100 (RFC 9110 10.1.1), and removes the field then; without it the client waits, curl for a
/// second. The final response follows as usual.
///
///  Confined to its channel's event loop, like every handler.
final class ContinueHandler: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// The number of requests without a complete response.
  private var open = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data) {
      open += 1
      // After an unanswered request, 100 would look like a part of that request's response. The client continues without it
      // after some time.
      if open == 1, head.version == .http1_1,
        head.headers[canonicalForm: "expect"].contains(where: { $0.lowercased() == "100-continue" }),
        head.headers.contains(name: "transfer-encoding")
          || head.headers["content-length"].contains(where: { $0 != "0" })
      {
        context.writeAndFlush(
          wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        var met = head
        met.headers.remove(name: "expect")
        return context.fireChannelRead(wrapInboundOut(.head(met)))
      }
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { open -= 1 }
    context.write(data, promise: promise)
  }
}
