import Accounts
import Administration
import AppDoor
import Basics
import Dialogs
import HTTPPort
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Peers
import ServerCertificates
import ServerConfiguration
import ServerMetrics
import ServiceLifecycle
import XMPPDoor

/// The XMPP door's ports, and the sessions that it preserves over a restart.
struct XMPPService: Service {
  private let settings: Settings
  private let parley: Parley
  private let listener: XMPPListener
  var lanes: [ObjectIdentifier: Lane] { listener.lanes }
  /// The links to other servers; nil if federation is off.
  let federation: Federation?
  private let trust: PeerCertificates?
  /// The publisher to push services (XEP-0357).
  let pushes: PushPublisher
  private let readiness: Readiness
  private let logger: Logger

  init(
    _ settings: Settings, _ accounts: Accounts, _ certificates: Certificates, _ outgoing: Outgoing,
    _ loops: any EventLoopGroup, _ bounds: ConnectionBounds, _ memory: BoundedMemory, _ all: OpenConnections,
    _ loggedIn: LoggedInConnections, _ connections: PacedConnections, _ handshakes: PacedConnections,
    _ readiness: Readiness, _ logger: Logger
  ) async throws {
    self.settings = settings
    let parley = accounts.parley
    self.parley = parley
    self.readiness = readiness
    self.logger = logger
    let options = DoorContext.Options(
      domains: settings.domains.map(\.name), allowsPlaintext: settings.allowsPlaintext,
      allowsRegistration: settings.allowsRegistration,
      signUpPages: Dictionary(
        uniqueKeysWithValues: settings.domains.compactMap { domain in
          settings.signUpPage(of: domain).map { (domain.name, $0) }
        }),
      resumptionSeconds: UInt32(clamping: settings.resumeWindow.components.seconds), version: Version.number,
      commands: ServerCommands.all(
        AdminContext(accounts: accounts, startedAt: parley.clock.now, publicURL: settings.pages)),
      // XEP-0363 5: both URLs of a slot must be HTTPS.
      uploads: parley.blobs?.policy.links.isSecure == true
        ? Dictionary(uniqueKeysWithValues: settings.domains.map { ($0.name, $0.uploads) }) : [:],
      contacts: settings.contacts, outageAddresses: settings.outageAddresses,
      components: Dictionary(
        settings.components.map {
          ($0.name, DoorContext.Options.Component(secret: $0.secret, home: $0.home, delegated: $0.delegated))
        }, uniquingKeysWith: { first, _ in first }),
      pushContent: settings.pushContent,
      pushResumptionSeconds: UInt32(clamping: settings.pushResumeWindow.components.seconds))
    // XEP-0368 5: ALPN.
    let exporters = TLSExporters()
    let door = DoorContext(accounts: accounts, options: options, logger: logger)
    let proxies =
      settings.readsProxyHeaders
      ? ProxyProtocol(
        TrustedProxies(settings.trustedProxies), waitingMax: bounds.awaitingHeaders, metrics: parley.metrics,
        logger: logger) : nil
    pushes = PushPublisher(door: door)
    listener = try await XMPPListener(
      door: door, group: loops, tls: try certificates.identities(protocols: ["xmpp-client"], keyLog: exporters.log),
      exporters: exporters, boundsByNetwork: settings.boundsByNetwork, unauthenticatedMax: bounds.withoutLogin,
      memory: memory.withoutLogin, all: all, loggedIn: loggedIn, connections: connections, handshakes: handshakes,
      proxies: proxies)
    guard let federated = settings.federation else {
      (federation, trust) = (nil, nil)
      return
    }
    let trust = try PeerCertificates(
      certificates, authorities: federated.authorities, posh: federated.usesPOSH ? outgoing.given : nil,
      clock: parley.clock, logger: logger)
    self.trust = trust
    federation = Federation(
      listener, options: federated, trust: trust,
      addresses: PublicAddresses(exceptions: settings.outgoing.networks), linksMax: bounds.links)
  }

  /// The site of XMPP on the HTTP ports.
  var site: HTTPSite {
    let settings = settings
    let hostMeta = HostMeta(
      domains: settings.domains.map(\.name), addresses: settings.addresses,
      directTLSPort: settings.xmppTLS.isOn ? settings.xmppTLS.port : nil, base: { settings.publicURL(of: $0) })
    return listener.site(hostMeta)
  }

  /// Applies changed rules of federation and privileges, which are announced to components. A failure changes nothing.
  func reload(_ settings: Settings) throws(StartupError) {
    if let federated = settings.federation {
      try trust?.reload(authorities: federated.authorities)
      federation?.reload(federated.rules)
    }
    parley.grant(settings.privileges)
    listener.privilegesChanged()
  }

  func run() async throws {
    try await federation?.start()
    let restored = try await listener.restore()
    if restored > 0 { logger.info("restored sessions", metadata: ["count": "\(restored)"]) }
    try await open(settings.xmpp, Keys.shared.xmppPort, directTLS: false)
    try await open(settings.xmppTLS, Keys.shared.xmppTLSPort, directTLS: true)
    if let federation, let federated = settings.federation {
      for (port, key, directTLS) in [
        (federated.port, Keys.shared.federationPort, false), (federated.tlsPort, Keys.shared.federationTLSPort, true),
      ] where port != 0 {
        try await open(Settings.Endpoint(host: federated.host, port: port), key) {
          try await federation.listen(host: $0, port: $1, directTLS: directTLS)
        }
      }
    }
    if settings.component.isOn {
      try await open(settings.component, Keys.shared.componentPort) {
        try await listener.listenForComponents(host: $0, port: $1)
      }
    }
    // Not before: a start that fails must leave the sessions to the next one. A crash from now on must not bring them back
    // as they were. The stanzas stay until their session is resumed.
    try await parley.work(keepingCaches: true) { try $0.forgetSuspended() }
    readiness.arrive()
    try? await gracefulShutdown()
    await listener.stopAccepting()
    let kept = await listener.shutDown()
    await federation?.stop()
    // Each session that has ended may have posted what its client confirmed.
    if parley.isFull { await withCheckedContinuation { room in parley.whenRoom { room.resume() } } }
    do throws(Problem) {
      try await parley.work { try $0.setSuspended(kept) }
    } catch {
      logger.error("sessions could not be kept for the next start", metadata: ["reason": "\(error.text)"])
    }
  }

  private func open(_ endpoint: Settings.Endpoint, _ key: Key<Int>, directTLS: Bool) async throws {
    guard endpoint.isOn else { return }
    try await open(endpoint, key) { try await listener.listen(host: $0, port: $1, directTLS: directTLS) }
  }

  private func open(
    _ endpoint: Settings.Endpoint, _ key: Key<Int>, _ listen: (String, Int) async throws -> Int
  ) async throws {
    do {
      _ = try await listen(Host.bound(endpoint.host), endpoint.port)
    } catch {
      throw HTTPPorts.refusal(error, endpoint, key)
    }
    logger.info("listening", metadata: endpoint.fields(key))
  }
}

/// The ports of HTTP and HTTPS. Both serve all sites.
enum HTTPPorts {
  /// Creates the app door, whose site is one of them.
  static func app(
    _ settings: Settings, _ accounts: Accounts, _ loops: any EventLoopGroup, lanes: [ObjectIdentifier: Lane],
    _ logger: Logger
  ) -> AppDoor {
    AppDoor(
      accounts: accounts,
      settings: AppDoor.Settings(
        version: Version.number, registration: settings.allowsRegistration,
        publicURL: settings.isPublicURLDerived ? nil : settings.publicURL, terms: settings.terms,
        termsURL: settings.termsURL),
      loops: loops,
      lane: { loop in
        // A lane of its own for each session would take the turns that all sessions of a loop share.
        guard let lane = lanes[ObjectIdentifier(loop)] else { preconditionFailure("an event loop without a lane") }
        return lane
      },
      nextSessionID: { SessionID(.random(in: .min ... .max)) }, logger: logger)
  }

  static func services(
    _ settings: Settings, sites: [HTTPSite], _ certificates: Certificates, _ strict: StrictTransport,
    _ validation: ValidationResponses?, _ loops: any EventLoopGroup, _ bounds: HTTPBounds, _ readiness: Readiness,
    _ parley: Parley, _ logger: Logger
  ) throws -> [any Service] {
    let context = try certificates.context(protocols: ["http/1.1"])
    let ports: [(endpoint: Settings.Endpoint, key: Key<Int>, isSecure: Bool)] = [
      (settings.http, Keys.shared.httpPort, false), (settings.https, Keys.shared.httpsPort, true),
    ]
    var services: [any Service] = []
    for (endpoint, key, isSecure) in ports where endpoint.isOn {
      let provider: (@Sendable () -> NIOSSLContext)? = isSecure ? { @Sendable in context } : nil
      let onBound: @Sendable (SocketAddress?) async -> Void = { _ in
        logger.info("listening", metadata: endpoint.fields(key))
        readiness.arrive()
      }
      let listener = HTTPListener(
        sites: sites, origins: AllowedOrigins(settings.origins), proxies: TrustedProxies(settings.trustedProxies),
        loops: loops, host: Host.bound(endpoint.host), port: endpoint.port, tls: provider, validation: validation,
        isStrict: { strict.applies(to: $0) }, bounds: bounds, metrics: parley.metrics, traces: parley.traces,
        logger: logger, onBound: onBound)
      services.append(Port(listener: listener, endpoint: endpoint, key: key))
    }
    return services
  }

  /// Returns the service of the metrics' port; nil if that is off.
  static func metrics(
    _ settings: Settings, _ site: MetricsSite, _ loops: any EventLoopGroup, _ readiness: Readiness, _ logger: Logger
  ) -> (any Service)? {
    let (endpoint, key) = (settings.metrics, Keys.shared.metricsPort)
    guard endpoint.isOn else { return nil }
    let listener = HTTPListener(
      sites: [site.site], origins: AllowedOrigins([]), proxies: TrustedProxies(), loops: loops,
      host: Host.bound(endpoint.host), port: endpoint.port,
      connectionsMax: ServerLimits.metricsConnectionsMax, bounds: HTTPBounds(), metrics: site.parley.metrics,
      logger: logger
    ) { _ in
      logger.info("listening", metadata: endpoint.fields(key))
      readiness.arrive()
    }
    return Port(listener: listener, endpoint: endpoint, key: key)
  }

  static func refusal(_ error: any Error, _ endpoint: Settings.Endpoint, _ key: Key<Int>) -> StartupError {
    StartupError("port \(endpoint.port) of \(endpoint.host) (\(key.name)) cannot be opened: \(Listening.reason(error))")
  }

  /// A listener whose errors of binding become a line for the operator.
  private struct Port: Service {
    let listener: HTTPListener
    let endpoint: Settings.Endpoint
    let key: Key<Int>

    func run() async throws {
      do {
        try await listener.run()
      } catch let error where !(error is CancellationError) {
        throw HTTPPorts.refusal(error, endpoint, key)
      }
    }
  }
}

extension Settings {
  /// The endpoints that are opened, each with the key of its port.
  var listeners: [(endpoint: Endpoint, key: Key<Int>)] {
    let keys = Keys.shared
    var all: [(endpoint: Endpoint, key: Key<Int>)] = [
      (xmpp, keys.xmppPort), (xmppTLS, keys.xmppTLSPort), (http, keys.httpPort), (https, keys.httpsPort),
      (component, keys.componentPort), (metrics, keys.metricsPort),
    ]
    if let federation {
      all.append((Endpoint(host: federation.host, port: federation.port), keys.federationPort))
      all.append((Endpoint(host: federation.host, port: federation.tlsPort), keys.federationTLSPort))
    }
    return all.filter { $0.endpoint.isOn }
  }
}

extension Settings.Endpoint {
  /// The fields of the log's line about the opened port.
  fileprivate func fields(_ key: Key<Int>) -> Logger.Metadata {
    ["key": "\(key.name)", "host": "\(Host.bound(host))", "port": "\(port)"]
  }
}
