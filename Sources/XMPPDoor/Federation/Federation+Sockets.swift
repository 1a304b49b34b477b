import Accounts
public import Basics
import Dialogs
import NIOCore
public import Peers
import Synchronization
import XMPP

/// The connections to other servers over the network: their names are looked up, and their certificates verified.
extension Federation {
  /// Creates the service that reaches other servers and the other realms of this process.
  ///
  /// - Parameters:
  ///   - trust: Judges certificates.
  ///   - addresses: The addresses to which the DNS of other domains may lead.
  ///   - linksMax: The maximum number of links to other servers.
  public convenience init(
    _ listener: XMPPListener, options: FederationOptions, trust: any PeerTrust, addresses: PublicAddresses,
    linksMax: Int? = nil
  ) {
    let policy = DomainPolicy(options, clock: listener.door.parley.clock)
    // XEP-0185: a key may be verified after a restart, so the secret must survive one.
    let secret = Array("parley dialback ".utf8) + listener.door.accounts.decoySecret
    let streams = ServerStreams(
      door: listener.door, mounted: listener.mounted,
      domains: Set(Self.homes(listener.door, options).keys), secret: secret, idleSeconds: options.idleSeconds,
      trust: trust, dialing: Dialer(options, addresses: addresses, on: listener.group), rules: policy,
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
