import NIOCore
public import NIOSSL
import NIOTLS
import XMPP

/// A stream over TCP (RFC 6120 3), in the clear until STARTTLS or over TLS from the first byte (XEP-0368).
final class TCPTransport: ChannelDuplexHandler, StreamTransport {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let connection: XMPPConnection
  private let tls: TLSProvider
  private let exporters: TLSExporters?
  private var context: ChannelHandlerContext?
  private var clientRandom: ClientRandom?

  init(_ connection: XMPPConnection, tls: @escaping TLSProvider, exporters: TLSExporters?) {
    self.connection = connection
    self.tls = tls
    self.exporters = exporters
  }

  // MARK: The channel's events

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    connection.opened(over: self)
  }

  func handlerRemoved(context: ChannelHandlerContext) { over() }

  func channelInactive(context: ChannelHandlerContext) {
    over()
    context.fireChannelInactive()
  }

  private func over() {
    context = nil
    connection.lost()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A reset, a TLS alert: the connection is of no use any more.
    connection.failed(error)
    context.close(promise: nil)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
      connection.secured(channelBindings: takeChannelBindings())
    } else if case .inputClosed = event as? ChannelEvent {
      context.close(promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    connection.writabilityChanged(context.channel.isWritable)
    context.fireChannelWritabilityChanged()
  }

  func read(context: ChannelHandlerContext) {
    if connection.mayRead() { context.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    connection.received(unwrapInboundIn(data))
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    connection.flush()
    context.fireChannelReadComplete()
  }

  /// TLS is to stand in front of this handler, and in front of TLS, where its keys are logged, what tells them apart.
  func secure(_ pipeline: ChannelPipeline.SynchronousOperations, _ context: NIOSSLContext) throws {
    try pipeline.addHandler(NIOSSLServerHandler(context: context), position: .first)
    guard let exporters else { return }
    let random = ClientRandom(exporters)
    try pipeline.addHandler(random, position: .first)
    clientRandom = random
  }

  /// The handshake is complete.
  private func takeChannelBindings() -> [ChannelBinding] {
    guard let random = clientRandom else { return [] }
    clientRandom = nil
    let binding = random.takeBinding()
    context?.pipeline.syncOperations.removeHandler(random, promise: nil)
    return binding.map { [.tlsExporter($0)] } ?? []
  }

  // MARK: What the connection asks

  func send(_ bytes: ByteBuffer, ends: [Int]) { context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
  func read() { context?.read() }
  func close() { context?.close(mode: .all, promise: nil) }
  func drop() { close() }

  func startTLS(_ proceed: () -> Void) -> Bool {
    guard let context, let tlsContext = tls() else { return false }
    proceed()
    do {
      // The handler stands before this one: what is written from here on is
      // encrypted, and nothing is written before the handshake is complete.
      try secure(context.pipeline.syncOperations, tlsContext)
    } catch {
      close()
    }
    return true
  }
}

/// The current TLS context, asked for at each new connection, so that a renewed
/// certificate needs no restart; nil: there is none.
public typealias TLSProvider = @Sendable () -> NIOSSLContext?
