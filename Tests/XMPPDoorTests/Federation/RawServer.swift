import Basics
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import XMPPDoor

/// A peer that sends what it likes: a socket, with TLS if asked.
final class RawServer: Sendable {
  private let channel: any Channel
  private let received: AsyncStream<String>

  private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let continuation: AsyncStream<String>.Continuation
    init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      continuation.yield(String(buffer: unwrapInboundIn(data)))
    }
    func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }

  /// - Parameter address: The address that it connects from; `nil` for the usual one.
  init(_ group: any EventLoopGroup, port: Int, from address: String? = nil) async throws {
    let (stream, continuation) = AsyncStream<String>.makeStream()
    received = stream
    var bootstrap = ClientBootstrap(group: group)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Collector(continuation))
        }
      }
    if let address { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: address, port: 0)) }
    channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
  }

  func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)).get() }

  private init(_ channel: any Channel, _ received: AsyncStream<String>) {
    (self.channel, self.received) = (channel, received)
  }

  /// Listens at a port of the loopback interface for those who connect to it.
  static func listen(_ group: any EventLoopGroup) async throws -> (port: Int, peers: AsyncStream<RawServer>) {
    let (peers, arrivals) = AsyncStream<RawServer>.makeStream()
    let listener = try await ServerBootstrap(group: group)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let (received, continuation) = AsyncStream<String>.makeStream()
          try channel.pipeline.syncOperations.addHandler(Collector(continuation))
          arrivals.yield(RawServer(channel, received))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    return (try #require(listener.localAddress?.port), peers)
  }

  /// Sends without waiting until it is taken.
  func pour(_ text: String) { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }

  /// Returns what comes up to a text; up to the end of the connection if it does not come.
  func read(to text: String) async -> String {
    var all = ""
    var pieces = received.makeAsyncIterator()
    while !all.contains(text), let piece = await pieces.next() { all += piece }
    return all
  }

  /// Sends a text, and returns what comes up to another, which must come.
  @discardableResult
  func ask(_ text: String, until end: String) async throws -> String {
    try await send(text)
    let answer = await read(to: end)
    try #require(answer.contains(end), "\(answer)")
    return answer
  }

  /// Logs in as a client by SASL PLAIN, in the clear, and reads the features behind it.
  func logIn(_ name: String, password: String) async throws {
    let header =
      "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' "
      + "to='localhost' version='1.0'>"
    let plain = Base64.string(Array("\u{0}\(name)\u{0}\(password)".utf8))
    try await ask(header, until: "</stream:features>")
    try await ask(
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>\(plain)</auth>", until: "<success")
    try await ask(header, until: "</stream:features>")
  }

  func close() async throws { try await channel.close().get() }

  func stopReading() async throws { try await channel.setOption(.autoRead, value: false).get() }

  static func header(from: String = "capulet.example", to: String = "montague.example") -> String {
    "<?xml version='1.0'?><stream:stream xmlns='jabber:server' xmlns:stream='http://etherx.jabber.org/streams' "
      + "xmlns:db='jabber:server:dialback' from='\(from)' to='\(to)' version='1.0'>"
  }

  /// Sends a text in the clear, and sets up TLS with a domain's certificate, as the one who was connected to.
  func acceptTLS(as domain: String, behind text: String) async throws {
    let context = try NIOSSLContext(configuration: try #require(SideTrust.configuration(domain, server: true)))
    // The ClientHello is read in a later turn of the loop.
    try await channel.eventLoop.submit { [channel] in
      channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
      try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context), position: .first)
    }.get()
  }

  /// Sets up TLS, with a domain's certificate, and reads the features.
  ///
  /// - Parameter injected: What is sent in the clear behind `<starttls/>`, in one piece with it.
  func secure(
    as domain: String, from: String = "capulet.example", injected: String = ""
  ) async throws -> String {
    try await send(Self.header(from: from))
    _ = await read(to: "</stream:features>")
    try await send("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>" + injected)
    _ = await read(to: "<proceed")
    let configuration = try #require(SideTrust.configuration(domain, server: false))
    let context = try NIOSSLContext(configuration: configuration)
    try await channel.eventLoop.submit { [channel] in
      let handler = try NIOSSLClientHandler(
        context: context, serverHostname: "montague.example",
        customVerificationCallback: { _, promise in promise.succeed(.certificateVerified) }, configuration: .init())
      try channel.pipeline.syncOperations.addHandler(handler, position: .first)
    }.get()
    try await send(Self.header(from: from))
    return await read(to: "</stream:features>")
  }

  /// Opens a stream that is verified by certificate.
  func authenticate() async throws {
    #expect(try await secure(as: "capulet.example").contains("EXTERNAL"))
    try await send("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='EXTERNAL'>=</auth>")
    #expect(await read(to: "<success").contains("<success"))
    try await send(Self.header())
    _ = await read(to: "</stream:features>")
  }
}
