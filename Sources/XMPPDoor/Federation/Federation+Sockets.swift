import Accounts
public import Basics
import DNS
import Dialogs
import NIOCore
public import Peers
import Synchronization
import XMPP

/// The way to other servers over the network: their names are looked up, their certificates verified.
extension Federation {
  /// Creates the service that reaches other servers and the other realms of this process.
  ///
  /// - Parameters:
  ///   - trust: The judgement of certificates.
  ///   - addresses: The addresses that the DNS of others may lead to.
  ///   - linksMax: The links to other servers, by default as many as there ever are.
  public convenience init(
    _ listener: XMPPListener, options: FederationOptions, trust: any PeerTrust, addresses: PublicAddresses,
    linksMax: Int? = nil
  ) {
    let policy = DomainPolicy(options, clock: listener.door.parley.clock)
    let resolver = options.resolver(listener.group)
    let routes = Dictionary(
      options.routes.map { ($0.domain, ServerTarget(name: $0.host, port: $0.port, isDirectTLS: $0.isDirectTLS)) },
      uniquingKeysWith: { first, _ in first })
    // XEP-0185: a key may be verified after a restart, so the secret is one that lasts.
    let secret = Array("parley dialback ".utf8) + listener.door.accounts.decoySecret
    let streams = ServerStreams(
      door: listener.door, mounted: listener.mounted,
      domains: Set(Self.homes(listener.door, options).keys), secret: secret, idleSeconds: options.idleSeconds,
      trust: trust, dialing: Dialer(resolver: resolver, routes: routes, addresses: addresses), rules: policy,
      connections: listener.connections, handshakes: listener.handshakes, memory: listener.memory, all: listener.all)
    var limits = LinkLimits()
    limits.links = min(limits.links, linksMax ?? limits.links)
    self.init(listener, options: options, policy: policy, servers: streams, limits: limits)
  }

  /// Binds and serves a port for other servers. Returns the port that was bound.
  @discardableResult
  public func listen(host: String, port: Int, directTLS: Bool) async throws -> Int {
    let server = self.port.withLock { known in
      if let known { return known }
      let server = ServerListener(
        servers, mounted: mounted, group: group, owner: self, boundsByNetwork: boundsByNetwork, memory: memory,
        all: all, proxies: proxies)
      known = server
      return server
    }
    return try await server.listen(host: host, port: port, directTLS: directTLS)
  }
}

extension FederationOptions {
  /// Returns the resolver of the DNS: the configured name servers, or the system's.
  func resolver(_ group: any EventLoopGroup) -> StubResolver {
    StubResolver(
      resolvers.isEmpty ? .system() : .servers(resolvers.compactMap(Self.address)), authenticity: authenticity,
      group: group)
  }

  /// Parses an address and a port, such as `127.0.0.1:53` or `[::1]:53`.
  private static func address(_ text: String) -> SocketAddress? {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]) else { return nil }
    let host = text[..<colon].drop { $0 == "[" }.prefix { $0 != "]" }
    return try? SocketAddress(ipAddress: String(host), port: port)
  }

  private var authenticity: StubResolver.Authenticity {
    switch dnssec {
    case .auto: .auto
    case .always: .always
    case .never: .never
    }
  }
}
