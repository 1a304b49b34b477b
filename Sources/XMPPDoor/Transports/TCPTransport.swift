import Dialogs
import HTTPPort
import NIOCore
import NIOSSL
import NIOTLS
import ServerMetrics
import XMPP

/// A stream over TCP (RFC 6120 3), in the clear until STARTTLS or over TLS from the first byte (XEP-0368).
final class TCPTransport: ChannelDuplexHandler, StreamTransport {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  let kind = OnlineSession.Transport.tcp
  private let connection: XMPPConnection
  private let tls: TLSProvider
  private let exporters: TLSExporters?
  private let handshakes: PacedConnections?
  private let client: SocketAddress?
  private var context: ChannelHandlerContext?
  private var clientRandom: ClientRandom?
  /// The `tls-server-end-point` binding of the certificate that was used.
  private var endPoint: [UInt8]?
  /// Whether TLS waits for the ClientHello: nothing may be sent in the clear before it.
  private var awaitsHello = false
  private var buffers: TLSBuffers?
  /// Whether anything was sent or received since the last tick, and whether since the buffers were released.
  private var (isBusy, isUsed) = (true, true)

  /// - Parameter client: the address of the client, which is not that of the connection behind a proxy.
  init(
    _ connection: XMPPConnection, of client: SocketAddress?, tls: @escaping TLSProvider, exporters: TLSExporters?,
    handshakes: PacedConnections?
  ) {
    self.handshakes = handshakes
    self.client = client
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
      connection.metrics.tlsHandshakes.add(Both(.xmpp, SecureVersion(context.pipeline.syncOperations)))
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
    isBusy = true
    connection.received(unwrapInboundIn(data))
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    connection.flush()
    context.fireChannelReadComplete()
  }

  /// Puts TLS in front of this handler once the client has named its host, and in front of that, where the keys are
  /// logged, the reader of its random.
  func secure(_ channel: any Channel) throws {
    let pipeline = channel.pipeline.syncOperations
    awaitsHello = true
    let hello = SNIHandler { [self] asked in
      guard let context else { return pipeline.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
      return context.eventLoop.makeCompletedFuture { try begin(asked, in: context.pipeline.syncOperations) }
    }
    try pipeline.addHandler(ByteToMessageHandler(hello), position: .first)
    if let exporters {
      let random = ClientRandom(exporters)
      try pipeline.addHandler(random, position: .first)
      clientRandom = random
    }
    try handshakes?.pace(channel, of: client)
  }

  private func begin(_ asked: SNIResult, in pipeline: ChannelPipeline.SynchronousOperations) throws {
    let host: String? = if case .hostname(let name) = asked { name } else { nil }
    guard let identity = tls(host) else {
      close()
      throw ChannelError.operationUnsupported
    }
    let handler = NIOSSLServerHandler(context: identity.context)
    buffers = try TLSBuffers { try pipeline.addTLS(handler, position: .before(self)) }
    endPoint = identity.endPoint
    awaitsHello = false
  }

  /// Returns the channel bindings after the handshake.
  private func takeChannelBindings() -> [ChannelBinding] {
    let byCertificate = endPoint.map { [ChannelBinding.tlsServerEndPoint($0)] } ?? []
    guard let random = clientRandom else { return byCertificate }
    clientRandom = nil
    let exported = random.takeBinding().map { [ChannelBinding.tlsExporter($0)] } ?? []
    context?.pipeline.syncOperations.removeHandler(random, promise: nil)
    return exported + byCertificate
  }

  // MARK: Requests of the connection

  var heldBytes: Int { context?.unsentBytes ?? 0 }

  func send(_ bytes: ByteBuffer, ends: [Int]) {
    if awaitsHello { return }
    isBusy = true
    context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
  }

  /// Releases the buffers of TLS when nothing was sent or received for a tick, and nothing waits for the client to read.
  func tick(_ now: NIODeadline) {
    guard let buffers, let options = context?.channel.syncOptions else { return }
    if isBusy {
      (isBusy, isUsed) = (false, true)
    } else if isUsed, (try? options.getOption(.bufferedWritableBytes)) == 0 {
      buffers.release()
      isUsed = false
    }
  }

  func read() { context?.read() }
  func close() { context?.close(mode: .all, promise: nil) }
  func drop() { context?.pipeline.syncOperations.cut() }

  func startTLS(_ proceed: () -> Void) -> Bool {
    guard let context, tls(nil) != nil else { return false }
    proceed()
    do {
      // The handler stands before this one: everything written from here on is encrypted, and nothing is written before
      // the handshake is complete.
      try secure(context.channel)
    } catch {
      close()
    }
    return true
  }
}

extension ChannelHandlerContext {
  /// The bytes that were written to the channel and that its client has not taken.
  var unsentBytes: Int { (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }
}
