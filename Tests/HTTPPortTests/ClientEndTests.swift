import NIOCore
import NIOEmbedded
import NIOHTTP1
import ServerMetrics
import Synchronization
import Testing

@testable import HTTPPort

@Suite struct ClientEndTests {
  private final class Count: Sendable {
    private let value = Atomic<Int>(0)
    var calls: Int { value.load(ordering: .relaxed) }
    func add() { value.wrappingAdd(1, ordering: .relaxed) }
  }

  private func channel(_ handler: ClientEndHandler) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(handler: handler)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  /// Both halves, or the client's alone, once.
  @Test(arguments: [true, false]) func aWaitingRequestIsToldThatItsClientIsGone(isHalf: Bool) throws {
    let (handler, count) = (ClientEndHandler(), Count())
    let channel = try channel(handler)
    handler.wait { count.add() }
    #expect(count.calls == 0)
    if isHalf { channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
    try channel.close().wait()
    #expect(count.calls == 1)
    // The client was gone before the request began to wait.
    handler.wait { count.add() }
    #expect(count.calls == 2)
  }

  @Test func anAnsweredRequestIsNotTold() throws {
    let (handler, count) = (ClientEndHandler(), Count())
    let channel = try channel(handler)
    handler.wait { count.add() }
    try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
    try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    try channel.close().wait()
    #expect(count.calls == 0)
  }
}

@Suite struct MalformedRequestTests {
  /// A connection on which nothing has come.
  private func connection(isServed: Bool = false) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel()
    let first = FirstRequestHandler(
      sockets: [], origins: .any, proxies: TrustedProxies(), isSecure: false, metrics: Metrics())
    let malformed = MalformedRequestHandler()
    if isServed { malformed.serve() }
    try channel.pipeline.syncOperations.addHandlers([first, malformed])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  private func receive(_ parts: [HTTPServerRequestPart], _ channel: EmbeddedChannel) {
    for part in parts { channel.pipeline.fireChannelRead(part) }
  }

  /// What Hummingbird does.
  private func answer(_ status: HTTPResponseStatus, _ channel: EmbeddedChannel) throws {
    try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: status)))
    try channel.writeOutbound(HTTPServerResponsePart.end(nil))
  }

  private func answers(_ channel: EmbeddedChannel) throws -> [HTTPResponseHead] {
    var heads: [HTTPResponseHead] = []
    while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
      if case .head(let head) = part { heads.append(head) }
    }
    return heads
  }

  private func head(_ version: HTTPVersion, _ fields: HTTPHeaders = [:]) -> HTTPServerRequestPart {
    .head(HTTPRequestHead(version: version, method: .POST, uri: "/", headers: fields))
  }

  /// RFC 9112 9.6: the connection ends with the answer that says so, and not when the wait for a first request does.
  @Test func whoDoesNotSpeakHTTPIsDisconnected() throws {
    let channel = try connection()
    // Not every error is one of the request.
    channel.pipeline.fireErrorCaught(ChannelError.operationUnsupported)
    #expect(channel.isActive)
    // The parser reports a request line without a version twice.
    for error in [HTTPParserError.invalidVersion, .unknown] { channel.pipeline.fireErrorCaught(error) }
    let heads = try answers(channel)
    #expect(heads.map(\.status) == [.badRequest] && heads.first?.headers["connection"] == ["close"])
    #expect(!channel.isActive)
    _ = try? channel.finish()
  }

  /// RFC 9112 6.1: such a request may have been one of other bytes for who has passed it on.
  @Test(arguments: [true, false]) func piecesAreNoneOfHTTP10(isServed: Bool) throws {
    let channel = try connection(isServed: isServed)
    receive([head(.http1_0, ["transfer-encoding": "chunked", "connection": "keep-alive"])], channel)
    receive([.body(ByteBuffer(string: "GET")), .end(nil), head(.http1_0), .end(nil)], channel)
    #expect(try channel.readInbound(as: HTTPServerRequestPart.self) == nil)
    #expect(throws: HTTPParserError.self) { try channel.throwIfErrorCaught() }
    if isServed { try answer(.badRequest, channel) }
    #expect(try answers(channel).map(\.status) == [.badRequest])
    _ = try? channel.finish()
  }

  @Test func piecesAreThoseOfHTTP11() throws {
    let channel = try connection()
    receive([head(.http1_1, ["transfer-encoding": "chunked"]), .end(nil)], channel)
    #expect(try channel.readInbound(as: HTTPServerRequestPart.self) != nil)
    try channel.throwIfErrorCaught()
    _ = try? channel.finish()
  }

  /// RFC 9112 9.3.2: in the order of the requests, so that no client takes it for another answer.
  @Test func theAnswerIsBehindThoseOfTheRequestsBefore() throws {
    let channel = try connection(isServed: true)
    receive([head(.http1_1), .end(nil)], channel)
    for error in [HTTPParserError.invalidVersion, .unknown] { channel.pipeline.fireErrorCaught(error) }
    #expect(try answers(channel).isEmpty)
    for status in [HTTPResponseStatus.ok, .badRequest] { try answer(status, channel) }
    #expect(try answers(channel).map(\.status) == [.ok, .badRequest])
    _ = try? channel.finish()
  }

  /// A body that breaks off is one of a request, which has one answer.
  @Test(arguments: [true, false]) func aRequestHasOneAnswer(isAnswered: Bool) throws {
    let channel = try connection(isServed: true)
    receive([head(.http1_1, ["transfer-encoding": "chunked"])], channel)
    if isAnswered { try answer(.unauthorized, channel) }
    channel.pipeline.fireErrorCaught(HTTPParserError.invalidChunkSize)
    try answer(.badRequest, channel)
    #expect(try answers(channel).map(\.status) == [isAnswered ? .unauthorized : .badRequest])
    _ = try? channel.finish()
  }
}
