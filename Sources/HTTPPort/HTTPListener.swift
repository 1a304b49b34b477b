public import Dialogs
import Hummingbird
import HummingbirdCore
public import Logging
public import NIOCore
public import NIOSSL
public import ServerMetrics
public import ServiceLifecycle

/// One HTTP port that serves the sites of all doors, with TLS if it has a TLS context. It runs until graceful shutdown,
/// during which open requests are answered and WebSockets get `ChannelShouldQuiesceEvent`.
public struct HTTPListener: Service {
  private let sites: [HTTPSite]
  private let origins: AllowedOrigins
  private let proxies: TrustedProxies
  private let loops: any EventLoopGroup
  private let host: String
  private let port: Int
  private let tls: (@Sendable () -> NIOSSLContext)?
  private let validation: (any TLSValidation)?
  private let isStrict: @Sendable (String?) -> Bool
  private let onBound: @Sendable (SocketAddress?) async -> Void
  private let logger: Logger
  private let refusals: RefusalLog
  private let metrics: Metrics
  private let connectionsMax: Int?
  private let bounds: HTTPBounds
  private let traces: Traces?

  /// Creates a listener.
  ///
  /// - Parameters:
  ///   - sites: The sites, whose paths must be distinct.
  ///   - origins: The other origins whose web pages may use the port.
  ///   - proxies: The trusted proxies.
  ///   - loops: The event loops of the connections.
  ///   - port: The port; for 0 the system chooses one, which `onBound` receives.
  ///   - tls: Returns the TLS context of a new connection, so that certificates can be replaced while the server runs;
  ///     nil for plain HTTP.
  ///   - validation: The answers to an authority that verifies names by TLS; nil for none.
  ///   - isStrict: Returns whether answers over TLS for this authority tell browsers to use only TLS (HSTS).
  ///   - connectionsMax: The maximum of open connections at this port; at the bound the next ones wait to be accepted. nil
  ///     for the number that `bounds` admit.
  ///   - bounds: The bounds that ports share.
  ///   - traces: The spans of requests; nil to make none.
  ///   - onBound: Called once the port is open.
  public init(
    sites: [HTTPSite], origins: AllowedOrigins, proxies: TrustedProxies, loops: any EventLoopGroup, host: String,
    port: Int, tls: (@Sendable () -> NIOSSLContext)? = nil, validation: (any TLSValidation)? = nil,
    isStrict: @escaping @Sendable (String?) -> Bool = { _ in false }, connectionsMax: Int? = nil, bounds: HTTPBounds,
    metrics: Metrics, traces: Traces? = nil, logger: Logger,
    onBound: @escaping @Sendable (SocketAddress?) async -> Void = { _ in }
  ) {
    self.sites = sites
    self.origins = origins
    self.proxies = proxies
    self.loops = loops
    self.host = host
    self.port = port
    self.tls = tls
    self.validation = validation
    self.isStrict = isStrict
    self.onBound = onBound
    self.metrics = metrics
    self.traces = traces
    self.connectionsMax = connectionsMax
    self.bounds = bounds
    refusals = RefusalLog(logger)
    // Hummingbird logs every connection at `info`.
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    self.logger = quiet
  }

  /// Runs the listener; throws the error of binding the port.
  public func run() async throws {
    let sockets = sites.flatMap(\.sockets)
    let (tls, validation) = (tls, validation)
    let onBound = onBound
    let open = OpenSockets()
    let application = Application(
      responder: SiteResponder(
        sites, origins: origins, proxies: proxies, isSecure: tls != nil, isStrict: isStrict, traces: traces,
        refusals: refusals, downloads: bounds.downloads),
      server: HTTPServerBuilder { [metrics, origins, proxies, refusals, bounds] in
        UpgradableChannel(
          responder: $0, sockets: sockets, origins: origins, proxies: proxies, open: open, bounds: bounds,
          metrics: metrics, refusals: refusals, tls: tls, validation: validation)
      },
      configuration: ApplicationConfiguration(
        address: .hostname(host, port: port), serverName: nil, backlog: 1_024, reuseAddress: true,
        availableConnectionsDelegate: connectionsMax.map { MaximumAvailableConnections($0) }),
      onServerRunning: { [initializer = AcceptPause.initializer(metrics, logger)] channel in
        // Fails only for a channel that is closed already.
        try? await channel.eventLoop.flatSubmit { initializer(channel) }.get()
        await onBound(channel.localAddress)
      }, eventLoopGroupProvider: .shared(loops), logger: logger)
    try await withGracefulShutdownHandler {
      try await application.run()
    } onGracefulShutdown: { [sites] in
      for site in sites { site.stop() }
    }
    await open.end()
  }
}
