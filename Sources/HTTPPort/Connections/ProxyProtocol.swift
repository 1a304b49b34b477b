import Basics
import Dialogs
public import Logging
package import NIOCore
public import ServerMetrics

/// The connections of trusted proxies at the ports of XMPP, each of which begins with a header that names the client (`ProxyHeader`).
///
/// Section 2 of the specification forbids guessing whether there is a header. A trusted proxy's connection must have one, or it is
/// closed; any other connection is read without one, since its client could forge it. The limits of a network, from the TLS
/// handshake on, depend on the header, so a stream begins only when the header has arrived.
public final class ProxyProtocol: Sendable {
  private let proxies: TrustedProxies
  /// The connections whose header has not arrived yet.
  private let waiting: ConnectionBound
  private let refusals: RefusalLog

  /// - Parameter waitingMax: The maximum number of connections whose header has not arrived yet, by default unlimited. They count
  ///   among the open connections of all ports, but are not closed there for others before their client is known.
  public init(_ proxies: TrustedProxies, waitingMax: Int = .max, metrics: Metrics, logger: Logger) {
    let refusals = RefusalLog(logger)
    self.proxies = proxies
    self.refusals = refusals
    waiting = ConnectionBound(max: min(waitingMax, HTTPLimits.proxyHeadersMax)) { network in
      metrics.refusals.add(.connections)
      refusals.note("a connection", "proxy-headers-awaited", isFault: false, ["network": network])
    }
  }

  /// Opens the stream of an accepted connection: at once for a client's, and after the header for a proxy's. Called on the channel's
  /// loop, before there are other handlers.
  ///
  /// - Parameter open: Adds the handlers, for the address of the client. An error closes the connection.
  package func accept(_ channel: any Channel, open: @escaping (_ client: SocketAddress?) throws -> Void) throws {
    guard proxies.contains(channel.remoteAddress) else { return try open(channel.remoteAddress) }
    let peer = channel.remoteAddress.map { ClientAddress.network($0) } ?? "local"
    let handler = ProxyHeaderHandler(channel, in: waiting, open: open) { [refusals] fault in
      refusals.note("a connection", fault.rawValue, isFault: false, ["peer": peer])
    }
    guard handler.enter(as: peer) else { throw ChannelError.ioOnClosedChannel }
    try channel.pipeline.syncOperations.addHandler(handler)
  }
}

/// Waits for the header of a proxy's connection, and then opens the stream.
///
///  Confined to its channel's event loop, like every handler.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = ByteBuffer

  private let channel: any Channel
  private let waiting: ConnectionBound
  private let open: (SocketAddress?) throws -> Void
  private let refuse: (ProxyHeader.Fault) -> Void
  private var place: ConnectionBound.ID?
  private var timer: Scheduled<Void>?
  private var received = ByteBuffer()
  /// Whether the header has arrived, or the connection is closed.
  private var isOver = false

  init(
    _ channel: any Channel, in waiting: ConnectionBound, open: @escaping (SocketAddress?) throws -> Void,
    refuse: @escaping (ProxyHeader.Fault) -> Void
  ) {
    self.channel = channel
    self.waiting = waiting
    self.open = open
    self.refuse = refuse
  }

  /// Returns whether the connection may wait.
  func enter(as peer: String) -> Bool {
    place = waiting.admit(peer) { [self] in
      channel.eventLoop.execute { if !self.isOver { self.channel.close(promise: nil) } }
    }
    return place != nil
  }

  // MARK: The channel's events

  func handlerAdded(context: ChannelHandlerContext) {
    timer = context.eventLoop.scheduleTask(in: HTTPLimits.proxyHeader) { self.end(.late) }
    if context.channel.isActive { context.read() }
  }

  func handlerRemoved(context: ChannelHandlerContext) { over() }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    // Not every port has automatic reading.
    context.read()
  }

  func channelInactive(context: ChannelHandlerContext) {
    over()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if isOver { return }
    var bytes = unwrapInboundIn(data)
    received.writeBuffer(&bytes)
    let header: ProxyHeader?
    do throws(ProxyHeader.Fault) {
      header = try ProxyHeader.read(
        Array(received.readableBytesView.prefix(HTTPLimits.proxyHeaderBytesMax)),
        bytesMax: HTTPLimits.proxyHeaderBytesMax)
    } catch {
      return end(error)
    }
    if let header { begin(behind: header, context) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if !isOver { context.read() }
    context.fireChannelReadComplete()
  }

  // MARK: The end of waiting

  private func over() {
    isOver = true
    timer?.cancel()
    timer = nil
    if let place { waiting.release(place) }
    place = nil
  }

  private func end(_ fault: ProxyHeader.Fault) {
    over()
    refuse(fault)
    channel.close(promise: nil)
  }

  /// Leaves the pipeline to the handlers of the stream, and passes them the bytes behind the header.
  private func begin(behind header: ProxyHeader, _ context: ChannelHandlerContext) {
    over()
    received.moveReaderIndex(forwardBy: header.length)
    let (rest, pipeline) = (received, context.pipeline.syncOperations)
    pipeline.removeHandler(self, promise: nil)
    let client = header.client.flatMap { try? SocketAddress(ipAddress: $0.address.description, port: $0.port) }
    do {
      try open(client ?? channel.remoteAddress)
    } catch {
      return channel.close(promise: nil)
    }
    if rest.readableBytes > 0 { pipeline.fireChannelRead(NIOAny(rest)) }
  }
}
