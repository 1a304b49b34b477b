import Basics
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import XMPP

/// An HTTP request over a connection of its own.
struct HTTPCall: Sendable {
  struct Answer: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let body: [UInt8]
    /// nil: the body is empty or no JSON.
    var json: JSONValue? { try? JSONValue(parsing: body) }
    /// The body as a play writes it if it is not JSON.
    var bytes: String { HTTPCall.bytes + String(decoding: Base64.encode(body), as: UTF8.self) }
  }

  let port: Int
  /// The domain asked for: it decides whose users are meant.
  let host: String
  let loop: any EventLoop
  /// The Unix socket to connect to in place of the port.
  var socket: String?

  /// The prefix of `body`, and of answers in a play, that are bytes in base 64 and not JSON.
  static let bytes = "base64:"

  func send(_ method: String, _ path: String, body text: String? = nil, token: String? = nil) async throws -> Answer {
    var body = text.map { Array($0.utf8) }
    if let text, text.hasPrefix(Self.bytes) {
      guard let bytes = Base64.decode(Array(text.utf8.dropFirst(Self.bytes.utf8.count))) else {
        throw PlayerError("what is sent to \(path) is no base 64")
      }
      body = bytes
    }
    var head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: method), uri: path)
    head.headers.add(name: "Host", value: "\(host):\(port)")
    head.headers.add(name: "Connection", value: "close")
    if let token { head.headers.add(name: "Authorization", value: "Bearer \(token)") }
    if let body {
      head.headers.add(
        name: "Content-Type",
        value: text?.hasPrefix(Self.bytes) == true ? "application/octet-stream" : "application/json")
      head.headers.add(name: "Content-Length", value: "\(body.count)")
    } else if method != "GET" {
      head.headers.add(name: "Content-Length", value: "0")
    }

    let promise = loop.makePromise(of: Answer.self)
    let timer = loop.scheduleTask(in: Deadline.amount) {
      promise.fail(PlayerError("\(method) \(path) was not answered"))
    }
    promise.futureResult.whenComplete { _ in timer.cancel() }
    let channel: any Channel
    do {
      let bootstrap = ClientBootstrap(group: loop)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            try channel.pipeline.syncOperations.addHandler(AnswerHandler(promise: promise))
          }
        }
      if let socket {
        channel = try await bootstrap.connect(unixDomainSocketPath: socket).get()
      } else {
        channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
      }
    } catch {
      promise.fail(error)
      return try await promise.futureResult.get()
    }
    channel.write(HTTPClientRequestPart.head(head), promise: nil)
    if let body { channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil) }
    channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    let answer = try await promise.futureResult.get()
    // The server may have closed it first.
    try? await channel.close()
    return answer
  }

  private final class AnswerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    private let promise: EventLoopPromise<Answer>
    private var head: HTTPResponseHead?
    private var body: [UInt8] = []

    init(promise: EventLoopPromise<Answer>) { self.promise = promise }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): self.head = head
      case .body(let bytes): body += Array(bytes.readableBytesView)
      case .end:
        guard let head else { return promise.fail(PlayerError("an answer without a head")) }
        promise.succeed(Answer(status: Int(head.status.code), headers: head.headers, body: body))
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      promise.fail(error)
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      promise.fail(PlayerError("the server closed the connection without an answer"))
    }
  }
}
