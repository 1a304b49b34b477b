import Foundation
import NIOCore
import NIOEmbedded
import NIOSSL
import ServerMetrics
import Testing

@testable import HTTPPort
@testable import ServerCertificates

/// Both ends of a connection over TLS, after the handshake. The client takes nothing until the network is released.
struct SecuredPair {
  /// The socket of the server, which keeps bytes from leaving while it is stuck, as for a client that reads nothing.
  final class Network: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    struct Buffer {
      let address: UInt
      let bytes: Int
      let capacity: Int
    }

    var isStuck = true
    /// The buffers that were written.
    var buffers: [Buffer] = []
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      let bytes = unwrapOutboundIn(data)
      let address = bytes.withVeryUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
      buffers.append(Buffer(address: address, bytes: bytes.readableBytes, capacity: bytes.capacity))
      context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) { if !isStuck { context.flush() } }

    func release() {
      isStuck = false
      context?.flush()
    }
  }

  let network = Network()
  let server: EmbeddedChannel
  let client: EmbeddedChannel

  /// - Parameter handlers: The handlers of the server behind TLS.
  init(_ loop: EmbeddedEventLoop, _ handlers: [any ChannelHandler] = []) throws {
    let made = try SelfSigned.make(names: ["localhost"], now: Date())
    let chain = try NIOSSLCertificate.fromPEMBytes(Array(made.chain.utf8))
    let key = try NIOSSLPrivateKey(bytes: Array(made.key.utf8), format: .pem)
    let ours = try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: chain.map { NIOSSLCertificateSource.certificate($0) }, privateKey: .privateKey(key)))
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.certificateVerification = .none
    let theirs = try NIOSSLClientHandler(
      context: try NIOSSLContext(configuration: configuration), serverHostname: "localhost")

    network.isStuck = false
    server = EmbeddedChannel(handlers: [network], loop: loop)
    try server.pipeline.syncOperations.addTLS(NIOSSLServerHandler(context: ours), position: .last)
    for handler in handlers { try server.pipeline.syncOperations.addHandler(handler) }
    client = EmbeddedChannel(handlers: [theirs], loop: loop)
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    for channel in [server, client] { channel.connect(to: address, promise: nil) }
    try exchange()
    #expect(SecureVersion(server.pipeline.syncOperations) == .v13)
    network.isStuck = true
    network.buffers = []
  }

  /// Passes on what the two ends have written, until they have nothing more to say.
  func exchange() throws {
    var isMoving = true
    while isMoving {
      isMoving = false
      server.embeddedEventLoop.run()
      for (from, to) in [(server, client), (client, server)] {
        while let bytes = try from.readOutbound(as: ByteBuffer.self) {
          try to.writeInbound(bytes)
          isMoving = true
        }
      }
    }
  }

  func send(_ text: String) { server.writeAndFlush(ByteBuffer(string: text), promise: nil) }

  /// Returns what the client has received since the last time.
  func received() throws -> String {
    try exchange()
    var all = ByteBuffer()
    while var bytes = try client.readInbound(as: ByteBuffer.self) { all.writeBuffer(&bytes) }
    return String(buffer: all)
  }

  /// Ends both sides without the end of TLS.
  func cut() {
    for channel in [server, client] { channel.pipeline.syncOperations.cut() }
    server.embeddedEventLoop.run()
  }
}
