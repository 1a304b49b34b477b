import Addresses
import NIOCore
import NIOSSL
import NIOTLS

/// Asks a server which certificates it presents for a domain, as another server or a client would: by TLS from the
/// first byte (XEP-0368), or after STARTTLS (RFC 6120 5.4). It ends with the handshake, and judges nothing.
///
///     greeting -features with <starttls/>-> asking -<proceed/>-> securing -handshake-> over
///
/// Direct TLS begins with `securing`. The stream's end, a stream error, too many bytes and
/// `PeerLimits.testAnswer` end it with an error. It belongs to the connection's event loop.
final class PresentedChain: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The reason why there was no handshake, as a clause for operators.
  struct Failure: Error, Hashable {
    let text: String
  }

  /// The role of the caller, as servers may present a certificate by role.
  enum Role {
    case server, client, web

    /// The ALPN protocol of the role (XEP-0368 5, RFC 7301 6).
    fileprivate var `protocol`: String {
      switch self {
      case .server: "xmpp-server"
      case .client: "xmpp-client"
      case .web: "http/1.1"
      }
    }
  }

  private enum Phase { case greeting, asking, securing, over }

  /// The maximum number of bytes from a server before TLS; features and headers have a few hundred.
  private static let bytesMax = 16_384

  private let role: Role
  private let domain: String
  private let isDirectTLS: Bool
  private let result: EventLoopPromise<[[UInt8]]>
  private let chain = PeerChain()
  private var phase = Phase.greeting
  private var heard = ByteBuffer()

  private init(_ role: Role, _ domain: String, isDirectTLS: Bool, _ result: EventLoopPromise<[[UInt8]]>) {
    self.role = role
    (self.domain, self.isDirectTLS, self.result) = (domain, isDirectTLS, result)
  }

  /// Returns the certificates that another server would get, in DER, the leaf first, and closes the connection.
  static func ask(_ connection: DialedConnection, for domain: String) async throws -> [[UInt8]] {
    try await ask(connection.channel, as: .server, isDirectTLS: connection.target.isDirectTLS, for: domain)
  }

  /// Does the same in another role, on a connection that reads nothing by itself and has no handlers.
  static func ask(
    _ channel: any Channel, as role: Role, isDirectTLS: Bool, for domain: String
  ) async throws -> [[UInt8]] {
    let result = channel.eventLoop.makePromise(of: [[UInt8]].self)
    let patience = channel.eventLoop.scheduleTask(in: TimeAmount(PeerLimits.testAnswer)) {
      result.fail(Failure(text: "it does not answer"))
    }
    defer {
      patience.cancel()
      channel.close(promise: nil)
    }
    try await channel.eventLoop.submit {
      let handler = PresentedChain(role, domain, isDirectTLS: isDirectTLS, result)
      try channel.pipeline.syncOperations.addHandler(handler)
      try channel.syncOptions?.setOption(.autoRead, value: true)
    }.get()
    return try await result.futureResult.get()
  }

  func handlerAdded(context: ChannelHandlerContext) {
    if isDirectTLS { return secure(context) }
    write(
      "<?xml version='1.0'?><stream:stream xmlns='jabber:\(role == .server ? "server" : "client")' xmlns:stream='http://etherx.jabber.org/streams' "
        + "to='\(AsciiDomain.of(domain))' version='1.0'>", context)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    guard phase == .greeting || phase == .asking else { return }
    heard.writeBuffer(&bytes)
    // From the text before TLS only the start of TLS is used, since it is not authenticated.
    let said = String(buffer: heard)
    if said.contains("<stream:error") || said.contains("<failure") {
      end("it refuses to begin TLS")
    } else if phase == .greeting, said.contains("</stream:features>") {
      guard said.contains("urn:ietf:params:xml:ns:xmpp-tls") else { return end("it offers no STARTTLS") }
      (phase, heard) = (.asking, ByteBuffer())
      write("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", context)
    } else if phase == .asking, said.contains("<proceed") {
      secure(context)
    } else if heard.readableBytes > Self.bytesMax {
      end("it speaks no XMPP")
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case TLSUserEvent.handshakeCompleted = event, phase != .over {
      phase = .over
      result.succeed(chain.certificates)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    end(phase == .securing ? "TLS fails: \(error)" : "the connection fails: \(error)")
  }

  func channelInactive(context: ChannelHandlerContext) {
    end(phase == .securing ? "it ends the connection instead of beginning TLS" : "it ends the connection")
  }

  private func end(_ text: String) {
    guard phase != .over else { return }
    phase = .over
    result.fail(Failure(text: text))
  }

  private func write(_ text: String, _ context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
  }

  private func secure(_ context: ChannelHandlerContext) {
    phase = .securing
    do {
      var configuration = TLSConfiguration.makeClientConfiguration()
      // `PeerChain` keeps the certificates in place of NIOSSL's own verification.
      configuration.certificateVerification = .noHostnameVerification
      configuration.trustRoots = .certificates([])
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = [role.protocol]
      let handler = try chain.clientHandler(NIOSSLContext(configuration: configuration), domain: domain)
      try context.pipeline.syncOperations.addHandler(handler, position: .before(self))
    } catch {
      end("TLS fails: \(error)")
    }
  }
}
