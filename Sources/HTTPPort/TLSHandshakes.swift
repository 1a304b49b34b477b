import Basics
public import Logging
package import NIOCore
public import ServerMetrics
import Synchronization

/// The TLS handshakes of all ports, which begin at the pace of their network (`HandshakePace`). Programs of this machine and
/// trusted proxies, behind which there are many networks, have no pace.
public final class TLSHandshakes: Sendable {
  private struct State {
    var pace = HandshakePace(
      perSecond: HTTPLimits.handshakesPerSecond, burst: HTTPLimits.handshakesAtOnce,
      networksMax: HTTPLimits.bucketsMax)
    var log = LogPace(interval: HTTPLimits.handshakeLog, linesOfReasonMax: 1, linesMax: 16)
  }

  private let state = Mutex(State())
  private let isByNetwork: Bool
  private let exempt: TrustedProxies
  private let metrics: Metrics
  private let logger: Logger

  /// - Parameters:
  ///   - isByNetwork: Whether there is a pace at all.
  ///   - exempt: The proxies without one.
  public init(isByNetwork: Bool, exempt: TrustedProxies, metrics: Metrics, logger: Logger) {
    self.isByNetwork = isByNetwork
    self.exempt = exempt
    self.metrics = metrics
    self.logger = logger
  }

  /// Keeps what a client sends from TLS until its handshake may begin. Called on the channel's loop, behind the adding of the
  /// handlers of TLS.
  ///
  /// - Parameter client: The address of the client, where a proxy has named it; nil for that of the connection.
  package func pace(_ channel: any Channel, of client: SocketAddress? = nil) throws {
    guard isByNetwork, let address = client ?? channel.remoteAddress, !exempt.contains(address) else { return }
    let network = ClientAddress.network(address)
    let (wait, unlogged) = state.withLock { state -> (Duration, Int?) in
      let wait = state.pace.wait(network, now: .now)
      return (wait, wait > .zero ? state.log.note(network, now: .now) : nil)
    }
    guard wait > .zero else { return }
    metrics.tlsHandshakesDelayed.add()
    if let unlogged {
      logger.info(
        "TLS handshakes of a network wait, since it begins too many",
        metadata: ["network": "\(network)", "unlogged": "\(unlogged)"])
    }
    let gate = HandshakeGate(TimeAmount(wait)) { [self] in state.withLock { $0.pace.cancel(network) } }
    try channel.pipeline.syncOperations.addHandler(gate, position: .first)
  }
}

/// Holds back what a client sends until its handshake may begin. A client that leaves before has cost no handshake.
///
///  Confined to its channel's event loop, like every handler.
final class HandshakeGate: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let wait: TimeAmount
  private let onLeave: @Sendable () -> Void
  private var timer: Scheduled<Void>?
  private var held: [ByteBuffer] = []
  private var wantsRead = false

  /// - Parameter onLeave: Called if the client leaves before.
  init(_ wait: TimeAmount, onLeave: @escaping @Sendable () -> Void) {
    self.wait = wait
    self.onLeave = onLeave
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: wait) {
      let (gate, context) = bound.value
      gate.open(context)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { left() }

  func channelInactive(context: ChannelHandlerContext) {
    left()
    context.fireChannelInactive()
  }

  private func left() {
    guard let timer else { return }
    timer.cancel()
    self.timer = nil
    held = []
    onLeave()
  }

  private func open(_ context: ChannelHandlerContext) {
    timer = nil
    let parts = held
    held = []
    for part in parts { context.fireChannelRead(wrapInboundOut(part)) }
    if !parts.isEmpty { context.fireChannelReadComplete() }
    if wantsRead { context.read() }
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }

  /// Nothing is read meanwhile; what comes all the same has been read at the end of the connection.
  func read(context: ChannelHandlerContext) {
    if timer == nil { context.read() } else { wantsRead = true }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if timer == nil { context.fireChannelRead(data) } else { held.append(unwrapInboundIn(data)) }
  }

  /// A client that has closed its half waits for no handshake.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if timer != nil, case .inputClosed = event as? ChannelEvent { return context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }
}
