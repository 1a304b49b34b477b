import NIOCore
import NIOHTTP1

/// Answers a malformed request with 400, once and after the answers to earlier requests, and ends the connection
/// (RFC 9112 2.2, 9.3.2, 9.6).
///
/// Before the first valid request this handler answers. From then on Hummingbird answers when it gets the error. It also
/// answers an error in the body of a request that has been answered already. A client would take that for the answer to its
/// next request, so this handler drops it.
///
///  Confined to its channel's event loop, like every handler.
final class MalformedRequestHandler: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// Whether Hummingbird handles the connection.
  private var isServed = false
  /// Whether a malformed request has arrived; nothing after it is a request.
  private(set) var isMalformed = false
  /// Whether a request has begun and not ended.
  private var isReading = false
  /// The number of requests without a complete answer, the malformed one included.
  private var unanswered = 0
  private var isAnswering = false
  private var isDropping = false

  /// Leaves the answers to Hummingbird.
  func serve() { isServed = true }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isMalformed { return }
    switch unwrapInboundIn(data) {
    case .head(let head):
      // RFC 9112 6.1: the framing of such a request is faulty, since a proxy of that version may not understand chunks.
      if head.version != .http1_1, head.headers.contains(name: "transfer-encoding") {
        return fail(HTTPParserError.unknown, context)
      }
      unanswered += 1
      isReading = true
    case .body: break
    case .end: isReading = false
    }
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard error is HTTPParserError else { return context.fireErrorCaught(error) }
    fail(error, context)
  }

  private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
    // The parser may report one fault twice.
    if isMalformed { return }
    isMalformed = true
    if !isReading { unanswered += 1 }
    if isServed { return context.fireErrorCaught(error) }
    let headers: HTTPHeaders = ["connection": "close", "content-length": "0"]
    context.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .badRequest, headers: headers))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    context.fireErrorCaught(error)
    // RFC 9112 9.6: the server's half first, so that a client that is still sending can read the answer. The timer of
    // `FirstRequestHandler` ends the other half.
    context.close(mode: .output, promise: nil)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(let head):
      if head.status.code < 200 { break }
      if isAnswering {
        // An incomplete answer can only end with the connection.
        isDropping = true
        context.close(promise: nil)
      }
      if unanswered == 0 { isDropping = true }
      isAnswering = true
    case .body: break
    case .end:
      if isDropping { break }
      isAnswering = false
      unanswered -= 1
    }
    if isDropping { promise?.succeed() } else { context.write(data, promise: promise) }
  }
}
