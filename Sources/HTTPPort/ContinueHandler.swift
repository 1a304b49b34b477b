import NIOCore
import NIOHTTP1

/// Tells a client that asks first whether its content is wanted (`Expect: 100-continue`) to go on (RFC 9110 10.1.1): else it
/// waits, curl for a second. What the request comes to is said as ever, behind it.
///
/// Confined to its channel's event loop, like every handler.
final class ContinueHandler: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// Requests without their whole response.
  private var open = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data) {
      open += 1
      // Behind an earlier request it would look like a part of that one's response: such a client goes on by itself.
      if open == 1, head.version == .http1_1,
        head.headers[canonicalForm: "expect"].contains(where: { $0.lowercased() == "100-continue" }),
        head.headers.contains(name: "transfer-encoding")
          || head.headers["content-length"].contains(where: { $0 != "0" })
      {
        context.writeAndFlush(
          wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
      }
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { open -= 1 }
    context.write(data, promise: promise)
  }
}
