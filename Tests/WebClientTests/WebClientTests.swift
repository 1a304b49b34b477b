import Basics
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import WebClient

/// The client's handling of other servers' answers, over real sockets.
@Suite(.timeLimit(.minutes(1)))
struct WebClientTests {
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  @Test func itAsksAndGetsWhatIsAnswered() async throws {
    let server = try await EchoServer.start()
    let client = WebClient(.anywhere, logger: logger)
    defer { client.stop() }
    let answer = try await client.send(
      WebRequest(
        .post, server.url("/echo?x=1"), headers: [("X-Rose", "by any name")], body: .bytes(Array("smells".utf8))))
    #expect(answer.status == 201)
    #expect(answer.isSuccess)
    #expect(answer.header("x-method") == "POST")
    #expect(answer.header("x-path") == "/echo?x=1")
    #expect(answer.header("x-rose") == "by any name")
    #expect(String(decoding: answer.body, as: UTF8.self) == "smells")
    #expect(try await client.send(WebRequest(.get, server.url("/echo"))).header("x-method") == "GET")
    #expect(try await client.send(WebRequest(.delete, server.url("/echo"))).header("x-method") == "DELETE")
    let empty = try await client.send(WebRequest(.put, server.url("/echo")))
    #expect(empty.header("x-method") == "PUT" && empty.body.isEmpty)
    await server.stop()
  }

  @Test func aThreadMayWait() async throws {
    let server = try await EchoServer.start()
    let client = WebClient(.anywhere, logger: logger)
    defer { client.stop() }
    let url = server.url("/echo")
    let status = await withCheckedContinuation { continuation in
      NIOSingletons.posixBlockingThreadPool.submit { _ in
        continuation.resume(returning: (try? client.wait(WebRequest(.get, url)))?.status)
      }
    }
    #expect(status == 201)
    await server.stop()
  }

  /// RFC 9110 10.2.3.
  @Test func aWaitIsInSecondsOrUntilADate() {
    func seconds(_ fields: (name: String, value: String)...) -> Int? {
      WebAnswer(status: 503, headers: fields).retryAfter
    }
    let date = "Fri, 31 Dec 1999 23:59:59 GMT"
    #expect(seconds() == nil && seconds(("retry-after", "120")) == 120 && seconds(("retry-after", "-1")) == 0)
    #expect(seconds(("retry-after", date), ("date", "Fri, 31 Dec 1999 23:00:00 GMT")) == 3_599)
    #expect(seconds(("retry-after", date)) == 0 && seconds(("retry-after", "soon")) == nil)
  }

  @Test func redirectsAreAnswersAndNotFollowed() async throws {
    let server = try await EchoServer.start()
    let client = WebClient(.anywhere, logger: logger)
    defer { client.stop() }
    let answer = try await client.send(WebRequest(.get, server.url("/away")))
    #expect(answer.status == 302)
    #expect(answer.header("location") == "http://169.254.169.254/")
    await server.stop()
  }

  @Test func aTooLongAnswerIsNotRead() async throws {
    let server = try await EchoServer.start()
    let client = WebClient(.anywhere, logger: logger)
    defer { client.stop() }
    let request = WebRequest(
      .post, server.url("/echo"), body: .bytes([UInt8](repeating: 0x61, count: 1_000)), answerBytesMax: 999)
    await #expect(throws: WebFailure(.tooLarge, "The answer is longer than 999 bytes.")) {
      try await client.send(request)
    }
    await server.stop()
  }

  @Test func strangersReachPublicAddressesOnly() async throws {
    let server = try await EchoServer.start()
    let client = WebClient(.publicOnly(PublicAddresses()), logger: logger)
    defer { client.stop() }
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
      let failure = await #expect(throws: WebFailure.self) {
        try await client.send(WebRequest(.get, "http://\(host):\(server.port)/echo"))
      }
      #expect(failure?.kind == .forbidden, "\(host)")
    }
    #expect(server.requests == 0)
    let loopback = try #require(Network("127.0.0.0/8"))
    let allowed = WebClient(.publicOnly(PublicAddresses(exceptions: [loopback])), logger: logger)
    defer { allowed.stop() }
    #expect(try await allowed.send(WebRequest(.get, server.url("/echo"))).status == 201)
    await server.stop()
  }

  @Test func nothingButHTTPIsAsked() async throws {
    let client = WebClient(.anywhere, logger: logger)
    defer { client.stop() }
    for url in ["file:///etc/passwd", "gopher://localhost/", "no url"] {
      let failure = await #expect(throws: WebFailure.self) { try await client.send(WebRequest(.get, url)) }
      #expect(failure != nil && failure?.kind != .tooLarge, "\(url)")
    }
    let split = WebRequest(.get, "http://localhost/", headers: [("X", "a\r\nHost: elsewhere")])
    let failure = await #expect(throws: WebFailure.self) { try await client.send(split) }
    #expect(failure?.kind == .malformed)
  }

  @Test func aCancelledOrStoppedRequestIsTold() async throws {
    let server = try await EchoServer.start()
    let client = WebClient(.anywhere, logger: logger)
    let url = server.url("/never")
    let asking = Task { () -> WebFailure.Kind? in
      do throws(WebFailure) {
        _ = try await client.send(WebRequest(.get, url))
        return nil
      } catch { return error.kind }
    }
    await server.asked()
    asking.cancel()
    #expect(await asking.value == .cancelled)
    client.stop()
    let failure = await #expect(throws: WebFailure.self) { try await client.send(WebRequest(.get, url)) }
    #expect(failure?.kind == .cancelled)
    await server.stop()
  }
}

/// Answers 201 with what was asked; `/away` redirects, `/never` does not answer.
private final class EchoServer: Sendable {
  private let channel: any Channel
  private let count: NIOLockedValueBox<Int>
  private let arrivals: AsyncStream<Void>
  var port: Int { channel.localAddress?.port ?? 0 }
  var requests: Int { count.withLockedValue { $0 } }

  private init(_ channel: any Channel, _ count: NIOLockedValueBox<Int>, _ arrivals: AsyncStream<Void>) {
    (self.channel, self.count, self.arrivals) = (channel, count, arrivals)
  }

  static func start() async throws -> EchoServer {
    let count = NIOLockedValueBox(0)
    let (arrivals, arrived) = AsyncStream<Void>.makeStream()
    let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Handler(count: count, arrived: arrived))
        }
      }.bind(host: "127.0.0.1", port: 0).get()
    return EchoServer(channel, count, arrivals)
  }

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// Returns when the next request has come.
  func asked() async { for await _ in arrivals { return } }

  func stop() async { try? await channel.close() }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let count: NIOLockedValueBox<Int>
    private let arrived: AsyncStream<Void>.Continuation
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()

    init(count: NIOLockedValueBox<Int>, arrived: AsyncStream<Void>.Continuation) {
      (self.count, self.arrived) = (count, arrived)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): (self.head, body) = (head, ByteBuffer())
      case .body(var part): body.writeBuffer(&part)
      case .end:
        guard let head else { return }
        count.withLockedValue { $0 += 1 }
        arrived.yield()
        if head.uri == "/never" { return }
        var headers: HTTPHeaders = [
          "X-Method": head.method.rawValue, "X-Path": head.uri, "Content-Length": "\(body.readableBytes)",
        ]
        if let rose = head.headers.first(name: "X-Rose") { headers.add(name: "X-Rose", value: rose) }
        if head.uri == "/away" { headers.add(name: "Location", value: "http://169.254.169.254/") }
        let status: HTTPResponseStatus = head.uri == "/away" ? .found : .created
        context.write(
          wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      }
    }
  }
}
