import Basics
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import ServerMetrics
import Synchronization
import Testing

@testable import HTTPPort

/// How much of what a client sends is decoded, kept and read.
@Suite struct RequestGateTests {
  /// The reads that reach the socket.
  private final class Reads: ChannelOutboundHandler {
    typealias OutboundIn = Never
    var count = 0
    func read(context: ChannelHandlerContext) {
      count += 1
      context.read()
    }
  }

  /// The half-closures that reach the handlers of requests.
  private final class HalfClosures: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    var count = 0
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case .inputClosed = event as? ChannelEvent { count += 1 }
      context.fireUserInboundEventTriggered(event)
    }
  }

  private struct Connection {
    let channel = EmbeddedChannel()
    let reads = Reads()
    let halfClosures = HalfClosures()
    let gate: RequestGate
    let place: ConnectionPlace
    let poll = ClientEndHandler()

    init(from address: String = "192.0.2.1", pace: PacedConnections? = nil, memory: MemoryBound? = nil) throws {
      let remote = try SocketAddress(ipAddress: address, port: 1)
      try channel.connect(to: remote).wait()
      channel.remoteAddress = remote
      place = ConnectionPlace(ConnectionBound(max: .max), TrustedProxies(), channel)
      gate = RequestGate(channel, pace: pace, memory: memory, place: place)
      let decoder = ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes))
      try channel.pipeline.syncOperations.addHandlers([
        reads, gate, decoder, RequestWatch(gate), halfClosures, place, poll,
      ])
    }

    func receive(_ text: String) {
      channel.pipeline.fireChannelRead(ByteBuffer(string: text))
      channel.pipeline.fireChannelReadComplete()
      channel.embeddedEventLoop.run()
    }

    /// Returns the paths of the requests that were decoded, and the lengths of the pieces of bodies; an end is `.`.
    func decoded() throws -> [String] {
      var parts: [String] = []
      while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
        switch part {
        case .head(let head): parts.append(head.uri)
        case .body(let bytes): parts.append("\(bytes.readableBytes)")
        case .end: parts.append(".")
        }
      }
      return parts
    }

    /// Returns the field `Connection` of the answer.
    @discardableResult func answer(_ status: HTTPResponseStatus = .ok) throws -> [String] {
      var connection: [String] = []
      try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: status)))
      try channel.writeOutbound(HTTPServerResponsePart.end(nil))
      while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
        if case .head(let head) = part { connection = head.headers["connection"] }
      }
      channel.embeddedEventLoop.run()
      return connection
    }

    /// Notes that the request is one of a logged-in user, as an operation does.
    func logIn() {
      HTTPContext(source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test"))).noteLogin()
      channel.embeddedEventLoop.run()
    }

    func end() { _ = try? channel.finish() }
  }

  private func get(_ path: String, _ fields: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
  }
  private func pipelined(_ count: Int) -> String { (1...count).map { get("/\($0)") }.joined() }

  private func pace() -> PacedConnections {
    PacedConnections(
      .requests, isByNetwork: true, exempt: TrustedProxies(), metrics: Metrics(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  // MARK: One by one

  @Test func aRequestIsDecodedWhenTheOneBeforeIsAnswered() throws {
    let connection = try Connection()
    connection.receive("\r\n" + pipelined(3))
    #expect(try connection.decoded() == ["/1", "."])
    for path in ["/2", "/3"] {
      try connection.answer()
      #expect(try connection.decoded() == [path, "."])
    }
    try connection.answer()
    connection.receive(get("/4"))
    #expect(try connection.decoded() == ["/4", "."])
    connection.end()
  }

  @Test func bodiesAndPartsAreDecodedAsTheyCome() throws {
    let connection = try Connection()
    let text = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345" + get("/2")
    for byte in text { connection.receive(String(byte)) }
    #expect(try connection.decoded() == ["/1", "1", "1", "1", "1", "1", "."])
    try connection.answer()
    #expect(try connection.decoded() == ["/2", "."])
    try connection.answer()
    connection.receive("PUT /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n1\r\n\r\n2" + get("/4"))
    #expect(try connection.decoded() == ["/3", "6", "."])
    connection.end()
  }

  /// The body of a request that was refused early is still read, and what follows it is decoded behind it.
  @Test func theBodyOfAnAnsweredRequestIsRead() throws {
    let connection = try Connection()
    connection.receive("POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n12")
    try connection.answer(.notFound)
    connection.channel.pipeline.read()
    #expect(connection.reads.count == 1)
    connection.receive("34" + pipelined(2))
    #expect(try connection.decoded() == ["/1", "2", "2", ".", "/1", "."])
    connection.end()
  }

  @Test func aChunkedBodyEndsWithFewRequestsBehindIt() throws {
    let connection = try Connection()
    let chunk = "1000\r\n" + String(repeating: "\n", count: 0x1000) + "\r\n"
    connection.receive(
      "POST /0 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n" + pipelined(1_000))
    let parts = try connection.decoded()
    let ends = parts.count(where: { $0 == "." })
    #expect(parts.first == "/0" && (1...1 + HTTPLimits.chunkedBytesLeast / 18).contains(ends))
    #expect(parts.compactMap { Int($0) }.reduce(0, +) == 0x1000)
    connection.end()
  }

  /// RFC 9112 9.6: nothing behind the last request is handled. It is one that says so, or behind which NIO decodes nothing.
  @Test(arguments: ["Connection: close\r\n", "Connection: upgrade\r\nUpgrade: h2c\r\n"])
  func nothingIsBehindTheLastRequest(fields: String) throws {
    let connection = try Connection()
    connection.receive(get("/1", fields) + pipelined(100))
    #expect(try connection.answer() == ["close"])
    connection.receive(pipelined(100))
    #expect(try connection.decoded() == ["/1", "."])
    // Its end is read.
    connection.channel.pipeline.read()
    #expect(connection.reads.count == 1)
    connection.end()
  }

  /// A request that began when the server stops would get no answer.
  @Test func nothingIsDecodedBehindTheRequestAtWhichTheServerStops() throws {
    let connection = try Connection()
    connection.receive(pipelined(3))
    #expect(try connection.answer().isEmpty)
    connection.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    #expect(try connection.answer() == ["close"])
    #expect(try connection.decoded() == ["/1", ".", "/2", "."])
    connection.end()
  }

  @Test func nothingIsDecodedBehindAFault() throws {
    let connection = try Connection()
    connection.receive(get("/1") + "what is no request\r\n\r\n" + pipelined(100))
    #expect(try connection.decoded() == ["/1", "."])
    try connection.channel.throwIfErrorCaught()
    try connection.answer()
    #expect(throws: HTTPParserError.self) { try connection.channel.throwIfErrorCaught() }
    connection.receive(pipelined(100))
    #expect(try connection.decoded().isEmpty)
    connection.end()
  }

  // MARK: Reading

  @Test func readingPausesWhileBytesAreKept() throws {
    let connection = try Connection()
    connection.receive(get("/1"))
    // The end of its client is noticed while a request waits.
    connection.channel.pipeline.read()
    #expect(connection.reads.count == 1)
    connection.receive(get("/2") + get("/3"))
    connection.channel.pipeline.read()
    #expect(connection.reads.count == 1)
    try connection.answer()
    #expect(connection.reads.count == 1)
    try connection.answer()
    #expect(connection.reads.count == 2)
    connection.end()
  }

  @Test func aHalfClosureIsBehindTheRequestsBeforeIt() throws {
    let connection = try Connection()
    connection.receive(get("/1"))
    connection.receive(get("/2"))
    connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(try connection.decoded() == ["/1", "."])
    #expect(connection.halfClosures.count == 0)
    try connection.answer()
    #expect(try connection.decoded() == ["/2", "."])
    #expect(connection.halfClosures.count == 1)
    connection.end()
  }

  /// What is behind no other bytes is noticed at once, as by a long poll.
  @Test func aHalfClosureAloneIsNoticed() throws {
    let connection = try Connection()
    connection.receive(get("/1"))
    connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(connection.halfClosures.count == 1)
    connection.end()
  }

  /// A long poll notices the end of its client also behind kept bytes, such as an empty line behind the request.
  @Test func aPollNoticesAHalfClosureBehindKeptBytes() throws {
    final class Count: Sendable { let calls = Atomic<Int>(0) }
    let (connection, count) = (try Connection(), Count())
    connection.receive(get("/1") + "\r\n")
    connection.poll.wait { count.calls.wrappingAdd(1, ordering: .relaxed) }
    connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(count.calls.load(ordering: .relaxed) == 1)
    #expect(connection.halfClosures.count == 0)
    connection.end()
  }

  @Test func theKeptBytesOfAnUpgradeReachTheNewProtocol() throws {
    let connection = try Connection()
    connection.receive(get("/1", "Connection: upgrade\r\nUpgrade: websocket\r\n") + "frame")
    #expect(try connection.decoded() == ["/1", "."])
    let pipeline = connection.channel.pipeline.syncOperations
    let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
    let watch = try pipeline.handler(type: RequestWatch.self)
    pipeline.removeHandler(connection.gate, promise: nil)
    pipeline.removeHandler(decoder, promise: nil)
    pipeline.removeHandler(watch, promise: nil)
    pipeline.removeHandler(connection.place, promise: nil)
    pipeline.removeHandler(connection.poll, promise: nil)
    connection.channel.embeddedEventLoop.run()
    #expect(try connection.channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "frame"))
    connection.end()
  }

  // MARK: Memory

  @Test func keptBytesCountAndAreBounded() throws {
    let memory = MemoryBound()
    let connection = try Connection(memory: memory)
    let many = pipelined(1_000)
    connection.receive(many)
    #expect(memory.bytes == MemoryBound.grown(many.utf8.count - get("/1").utf8.count))
    for number in 1...1_000 {
      #expect(try connection.decoded() == ["/\(number)", "."])
      try connection.answer()
    }
    #expect(memory.bytes == 0)
    // Such a client has closed its half, so that NIO reads everything.
    while connection.channel.isActive { connection.receive(many) }
    #expect(memory.bytes == 0)
    connection.end()
  }

  @Test func keptBytesGiveWay() throws {
    let memory = MemoryBound(bytesMax: 65_536)
    let connection = try Connection(memory: memory)
    connection.receive(pipelined(2_000))
    #expect(memory.bytes == 65_536)
    let other = memory.enter("192.0.2.2") {}
    other.hold(1)
    connection.channel.embeddedEventLoop.run()
    #expect(!connection.channel.isActive)
    connection.end()
  }

  // MARK: The pace

  /// Makes so many requests that further ones of the network wait for some seconds.
  private func exhaust(_ pace: PacedConnections) {
    // More than four seconds of the pace, which is more than the rest of a test takes.
    for _ in 0..<2 * HTTPLimits.requestsAtOnce + 4 * HTTPLimits.requestsPerSecond { _ = pace.wait("192.0.2.1") }
  }

  @Test func requestsBeyondThePaceWaitAndThoseOfOthersDoNot() throws {
    let pace = pace()
    exhaust(pace)
    let connection = try Connection(pace: pace)
    connection.receive(pipelined(2))
    connection.channel.pipeline.read()
    #expect(try connection.decoded().isEmpty)
    #expect(connection.reads.count == 0)
    for address in ["192.0.2.2", "127.0.0.1"] {
      let other = try Connection(from: address, pace: pace)
      other.receive(get("/1"))
      #expect(try other.decoded() == ["/1", "."])
      other.end()
    }
    connection.channel.embeddedEventLoop.advanceTime(by: .seconds(10))
    #expect(try connection.decoded() == ["/1", "."])
    connection.end()
  }

  @Test func aRequestThatWouldWaitTooLongEndsTheConnection() throws {
    let pace = pace()
    let most = Int(HTTPLimits.idle.nanoseconds / 1_000_000_000) * HTTPLimits.requestsPerSecond
    for _ in 0..<2 * most { _ = pace.wait("192.0.2.1") }
    let connection = try Connection(pace: pace)
    connection.receive(get("/1"))
    connection.channel.embeddedEventLoop.advanceTime(by: HTTPLimits.idle)
    #expect(!connection.channel.isActive)
    #expect(try connection.decoded().isEmpty)
    connection.end()
  }

  /// A client that leaves takes no turn of others.
  @Test func waitingRequestsThatLeaveDoNotCount() throws {
    let pace = pace()
    exhaust(pace)
    let connections = try (0..<1_000).map { _ in try Connection(pace: pace) }
    for connection in connections { connection.receive(get("/1")) }
    let before = pace.wait("192.0.2.1")
    for connection in connections { connection.end() }
    // Each of them a millisecond, and the one that asks has another one.
    #expect(before - pace.wait("192.0.2.1") >= .milliseconds(999))
  }

  @Test func programsOfThisMachineHaveNoPace() throws {
    let connection = try Connection(from: "127.0.0.1", pace: pace())
    for _ in 0..<2 * HTTPLimits.requestsAtOnce {
      connection.receive(get("/1"))
      #expect(try connection.decoded() == ["/1", "."])
      try connection.answer()
    }
    connection.end()
  }

  /// A backend with a key makes thousands of requests a second.
  @Test func answeredRequestsOfLoggedInUsersDoNotCount() throws {
    let connection = try Connection(pace: pace())
    for _ in 0..<2 * HTTPLimits.requestsAtOnce {
      connection.receive(get("/1"))
      #expect(try connection.decoded() == ["/1", "."])
      connection.logIn()
      try connection.answer()
    }
    connection.end()
  }

  /// 2,000 requests of one network on connections that it has kept come one after the other, and all within two seconds.
  @Test func requestsAtTheSameMomentComeOneByOne() {
    var pace = NetworkPace(
      perSecond: HTTPLimits.requestsPerSecond, burst: HTTPLimits.requestsAtOnce, networksMax: 10)
    let now = ContinuousClock.now
    let waits = (0..<2_000).map { _ in pace.wait("192.0.2.1", now: now) }
    #expect(waits.count { $0 == .zero } == 300)
    #expect(Set(waits).count == 1_701 && waits.last == .milliseconds(1_700))
    #expect(pace.wait("192.0.2.2", now: now) == .zero)
  }

  /// A refusal for a rate costs as much as an answer. The requests that may come at once are 300 ms of the pace.
  @Test(arguments: [true, false]) func onlyRefusalsForRatesCount(isRefused: Bool) throws {
    let pace = pace()
    let connections = try (0..<HTTPLimits.requestsAtOnce).map { _ in try Connection(pace: pace) }
    for connection in connections {
      connection.receive(get("/1"))
      connection.logIn()
    }
    exhaust(pace)
    let start = ContinuousClock.now
    let before = pace.wait("192.0.2.1")
    for connection in connections { try connection.answer(isRefused ? .tooManyRequests : .ok) }
    let after = pace.wait("192.0.2.1")
    // The time that the test takes shortens the wait, too.
    #expect((before - after - (ContinuousClock.now - start) >= .milliseconds(150)) == !isRefused)
    for connection in connections { connection.end() }
  }
}
