import NIOCore
import NIOHTTP1

/// Answers what is no valid request with 400, once and behind the answers to the requests before it, and ends the
/// connection (RFC 9112 2.2, 9.3.2, 9.6).
///
/// Until the first request has come nobody else can answer, and this handler does. From then on Hummingbird answers when
/// it comes to the error, also an error in the body of a request that is answered already: a client would take such an
/// answer for that to its next request, so it is dropped here.
///
///  Confined to its channel's event loop, like every handler.
final class MalformedRequestHandler: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// Whether Hummingbird has the connection.
  private var isServed = false
  /// Whether something that was no request has come, behind which there are none.
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
      // RFC 9112 6.1: the framing of such a request is faulty, because the pieces may mean nothing to who has passed it on.
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
        // An answer that broke off has no end but that of the connection.
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
