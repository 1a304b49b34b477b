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
  /// RFC 9112 9.6: the connection ends with the answer that says so, and not when the wait for a first request does.
  @Test func whoDoesNotSpeakHTTPIsDisconnected() throws {
    let channel = EmbeddedChannel()
    let first = FirstRequestHandler(
      sockets: [], origins: .any, proxies: TrustedProxies(), isSecure: false, metrics: Metrics())
    try channel.pipeline.syncOperations.addHandlers([first, HTTPServerProtocolErrorHandler()])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    // Not every error is one of the request.
    channel.pipeline.fireErrorCaught(ChannelError.operationUnsupported)
    #expect(channel.isActive)
    channel.pipeline.fireErrorCaught(HTTPParserError.invalidHeaderToken)
    guard case .head(let head)? = try channel.readOutbound(as: HTTPServerResponsePart.self) else {
      return #expect(Bool(false), "there is no answer")
    }
    #expect(head.status == .badRequest && head.headers["connection"] == ["close"])
    #expect(!channel.isActive)
    _ = try? channel.finish()
  }
}
