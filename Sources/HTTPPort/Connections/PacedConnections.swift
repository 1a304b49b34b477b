import Basics
public import Logging
package import NIOCore
public import ServerMetrics
import Synchronization

/// Limits the rate at which the connections or requests of a network begin (`NetworkPace`). Programs of this machine and trusted
/// proxies, which serve many networks, have no limit.
public final class PacedConnections: Sendable {
  /// The counted things, each at all ports together.
  public enum Kind: Sendable {
    /// Connections over HTTP, with TLS or without.
    case http
    /// Requests over HTTP.
    case requests
    /// TLS handshakes at the ports of XMPP.
    case tls
    /// Connections without TLS at the ports of XMPP, each of which may later have a handshake by STARTTLS.
    case clear
  }

  private struct State {
    var pace: NetworkPace
    var log = LogPace(interval: HTTPLimits.paceLog, linesOfReasonMax: 1, linesMax: 16)
  }

  private let kind: Kind
  private let state: Mutex<State>
  private let isByNetwork: Bool
  private let exempt: TrustedProxies
  private let metrics: Metrics
  private let logger: Logger

  /// - Parameters:
  ///   - isByNetwork: Whether there is a limit at all.
  ///   - exempt: The proxies without a limit.
  public init(_ kind: Kind, isByNetwork: Bool, exempt: TrustedProxies, metrics: Metrics, logger: Logger) {
    self.kind = kind
    let (perSecond, burst) =
      switch kind {
      case .http: (HTTPLimits.connectionsPerSecond, HTTPLimits.connectionsAtOnce)
      case .requests: (HTTPLimits.requestsPerSecond, HTTPLimits.requestsAtOnce)
      case .tls, .clear: (HTTPLimits.handshakesPerSecond, HTTPLimits.handshakesAtOnce)
      }
    state = Mutex(
      State(pace: NetworkPace(perSecond: perSecond, burst: burst, networksMax: HTTPLimits.bucketsMax)))
    self.isByNetwork = isByNetwork
    self.exempt = exempt
    self.metrics = metrics
    self.logger = logger
  }

  /// Returns the network of a client; nil for a client without a limit.
  func network(_ address: SocketAddress?) -> String? {
    guard isByNetwork, let address, !exempt.contains(address) else { return nil }
    return ClientAddress.network(address)
  }

  /// Counts one more for a network, and returns the time for which it must wait; zero if it may begin at once.
  func wait(_ network: String) -> Duration {
    let (wait, unlogged) = state.withLock { state -> (Duration, Int?) in
      let wait = state.pace.wait(network, now: .now)
      return (wait, wait > .zero ? state.log.note(network, now: .now) : nil)
    }
    guard wait > .zero else { return wait }
    let (delayed, what) =
      switch kind {
      case .http: (metrics.httpConnectionsDelayed, "HTTP connections")
      case .requests: (metrics.httpRequestsDelayed, "HTTP requests")
      case .tls: (metrics.tlsHandshakesDelayed, "TLS handshakes")
      case .clear: (metrics.xmppConnectionsDelayed, "XMPP connections")
      }
    delayed.add()
    if let unlogged {
      logger.info(
        "\(what) of a network wait, since it begins too many",
        metadata: ["network": "\(network)", "unlogged": "\(unlogged)"])
    }
    return wait
  }

  /// Reverts the count of one that has not begun, or need not count.
  func cancel(_ network: String) { state.withLock { $0.pace.cancel(network) } }

  /// Holds back a client's input until its connection may begin. Called on the channel's loop. A connection that still waits after
  /// `HTTPLimits.idle` is closed.
  ///
  /// - Parameters:
  ///   - client: The address of the client, if a proxy has named it; nil for that of the connection.
  ///   - onTurn: Called when the connection begins, before the handlers get input: before this returns if it begins at once, and
  ///     never if the client leaves first.
  ///   - onLeave: Called if the client leaves first.
  package func pace(
    _ channel: any Channel, of client: SocketAddress? = nil, onTurn: @escaping () -> Void = {},
    onLeave: @escaping () -> Void = {}
  ) throws {
    guard let network = network(client ?? channel.remoteAddress) else { return onTurn() }
    let wait = wait(network)
    guard wait > .zero else { return onTurn() }
    let gate = PaceGate(TimeAmount(wait), onTurn: onTurn) { [self] in
      cancel(network)
      onLeave()
    }
    try channel.pipeline.syncOperations.addHandler(gate, position: .first)
  }
}

/// Holds back a client's input until its connection may begin. A client that leaves before costs little more than the
/// connection itself.
///
///  Confined to its channel's event loop, like every handler.
final class PaceGate: ChannelDuplexHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let wait: TimeAmount
  private let onTurn: () -> Void
  private let onLeave: () -> Void
  private var timer: Scheduled<Void>?
  private var held: [ByteBuffer] = []
  private var wantsRead = false

  /// - Parameters:
  ///   - onTurn: Called when the connection begins, before any input passes.
  ///   - onLeave: Called if the client leaves first.
  init(_ wait: TimeAmount, onTurn: @escaping () -> Void = {}, onLeave: @escaping () -> Void) {
    self.wait = wait
    self.onTurn = onTurn
    self.onLeave = onLeave
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: min(wait, HTTPLimits.idle)) {
      let (gate, context) = bound.value
      if gate.wait > HTTPLimits.idle { context.close(promise: nil) } else { gate.open(context) }
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
    onTurn()
    let parts = held
    held = []
    for part in parts { context.fireChannelRead(wrapInboundOut(part)) }
    if !parts.isEmpty { context.fireChannelReadComplete() }
    if wantsRead { context.read() }
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }

  /// Blocks reads while the connection waits. Input can still arrive when the connection ends.
  func read(context: ChannelHandlerContext) {
    if timer == nil { context.read() } else { wantsRead = true }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if timer == nil { context.fireChannelRead(data) } else { held.append(unwrapInboundIn(data)) }
  }

  /// Ends the wait if the client has closed its half, or if the server stops.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case ChannelEvent.inputClosed where timer != nil, is ChannelShouldQuiesceEvent where timer != nil:
      context.close(promise: nil)
    default: context.fireUserInboundEventTriggered(event)
    }
  }
}
