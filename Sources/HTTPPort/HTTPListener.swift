import Hummingbird
import HummingbirdCore
public import Logging
public import NIOCore
public import NIOSSL
public import ServiceLifecycle

/// One HTTP port, which serves the sites of all doors. Plain or, with a TLS
/// context, HTTPS. A service: runs until graceful shutdown, during which open
/// requests are answered and WebSockets get `ChannelShouldQuiesceEvent`.
public struct HTTPListener: Service {
  private let sites: [HTTPSite]
  private let loops: any EventLoopGroup
  private let host: String
  private let port: Int
  private let tls: (@Sendable () -> NIOSSLContext)?
  private let onBound: @Sendable (SocketAddress?) async -> Void
  private let logger: Logger

  /// - Parameters:
  ///   - sites: their routes and WebSockets; no path twice.
  ///   - loops: where connections live.
  ///   - port: 0 lets the system choose; `onBound` tells which.
  ///   - tls: asked for every new connection, so that certificates can be replaced
  ///     while the server runs; nil: plain HTTP.
  ///   - onBound: called once the port is open.
  public init(
    sites: [HTTPSite], loops: any EventLoopGroup, host: String, port: Int,
    tls: (@Sendable () -> NIOSSLContext)? = nil, logger: Logger,
    onBound: @escaping @Sendable (SocketAddress?) async -> Void = { _ in }
  ) {
    self.sites = sites
    self.loops = loops
    self.host = host
    self.port = port
    self.tls = tls
    self.onBound = onBound
    // Hummingbird tells of every connection at `info`.
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    self.logger = quiet
  }

  /// Throws what binding the port threw.
  public func run() async throws {
    let sockets = sites.flatMap(\.sockets)
    let tls = tls
    let onBound = onBound
    let open = OpenSockets()
    let application = Application(
      responder: SiteResponder(sites, isSecure: tls != nil),
      server: HTTPServerBuilder { UpgradableChannel(responder: $0, sockets: sockets, open: open, tls: tls) },
      configuration: ApplicationConfiguration(
        address: .hostname(host, port: port), serverName: nil, backlog: 1_024, reuseAddress: true,
        availableConnectionsDelegate: MaximumAvailableConnections(HTTPLimits.connectionsMax)),
      onServerRunning: { await onBound($0.localAddress) }, eventLoopGroupProvider: .shared(loops), logger: logger)
    try await withGracefulShutdownHandler {
      try await application.run()
    } onGracefulShutdown: { [sites] in
      for site in sites { site.stop() }
    }
    await open.end()
  }
}
