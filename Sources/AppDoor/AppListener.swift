import Hummingbird
import HummingbirdCore
public import Logging
public import NIOCore
public import NIOSSL
public import ServiceLifecycle

/// One port of the app door: REST, WebSocket and health. Plain or, with a TLS
/// context, HTTPS. A service: runs until graceful shutdown, during which open
/// requests are answered and WebSockets are told `goaway`.
public struct AppListener: Service {
  private let door: AppDoor
  private let host: String
  private let port: Int
  private let tls: (@Sendable () -> NIOSSLContext)?
  private let onBound: @Sendable (SocketAddress?) async -> Void
  private let logger: Logger

  /// - Parameters:
  ///   - port: 0 lets the system choose; `onBound` tells which.
  ///   - tls: asked for every new connection, so that certificates can be replaced
  ///     while the server runs; nil: plain HTTP.
  ///   - onBound: called once the port is open.
  public init(
    door: AppDoor, host: String, port: Int, tls: (@Sendable () -> NIOSSLContext)? = nil, logger: Logger,
    onBound: @escaping @Sendable (SocketAddress?) async -> Void = { _ in }
  ) {
    self.door = door
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
    let door = door
    let tls = tls
    let onBound = onBound
    let application = Application(
      responder: AppResponder(door: door, isSecure: tls != nil),
      server: HTTPServerBuilder { UpgradableChannel(responder: $0, door: door, tls: tls) },
      configuration: ApplicationConfiguration(
        address: .hostname(host, port: port), serverName: nil, backlog: 1_024, reuseAddress: true,
        availableConnectionsDelegate: MaximumAvailableConnections(AppLimits.connectionsMax)),
      onServerRunning: { await onBound($0.localAddress) }, eventLoopGroupProvider: .shared(door.loops), logger: logger)
    try await application.run()
  }
}
