import Addresses
import Basics
import DNS

/// Finds the servers of a domain in the DNS (RFC 6120 3.2, XEP-0368, RFC 7673 3), or in the operator's routes.
struct ServerLookUp: Sendable {
  /// A server whose addresses are not looked up yet.
  struct Candidate: Hashable, Sendable {
    /// The source of its addresses.
    enum Host: Hashable, Sendable {
      case name(DomainName)
      case address(IPAddress)
    }

    let target: ServerTarget
    let host: Host
    let priority: UInt16
    /// Whether the operator configured it: then its address need not be public.
    let isRoute: Bool
  }

  enum Found: Hashable, Sendable {
    case servers([Candidate])
    /// The domain has no SRV records: it is its own server, if it has addresses.
    case itself(Candidate)
  }

  let resolver: any DNSResolver
  /// The servers that the operator named, by domain.
  let routes: [String: ServerTarget]

  /// Returns the first servers of a domain in the order in which they are tried.
  func servers(of domain: String) async throws(DialFailure) -> Found {
    if let route = routes[domain] {
      guard let host = Self.host(route.name) else {
        throw .unreachable(reasons: ["the route's host \(Line.safe(route.name)) is neither a name nor an address"])
      }
      return .servers([Candidate(target: route, host: host, priority: 0, isRoute: true)])
    }
    // The JID of a server may be an address, for which the DNS has no records.
    guard let name = DomainName(AsciiDomain.of(domain)), IPAddress(domain) == nil,
      let directName = name.below("_xmpps-server", "_tcp"), let upgradedName = name.below("_xmpp-server", "_tcp")
    else { throw .noSuchDomain(isAuthentic: true) }
    async let askedDirect = look(directName, .srv)
    let upgraded = await look(upgradedName, .srv)
    let direct = await askedDirect
    // RFC 7673 3.1: a failure does not prove absence. An attacker who can cause one must not be able to choose another server.
    switch Services(direct: try direct.get(), upgraded: try upgraded.get()) {
    case .notAvailable: throw .refused
    case .unspecified:
      let target = ServerTarget(name: name.description, port: PeerLimits.port, isDirectTLS: false)
      return .itself(Candidate(target: target, host: .name(name), priority: 0, isRoute: false))
    case .servers(let servers):
      return .servers(
        servers.prefix(PeerLimits.serversMax).map { server in
          let target = ServerTarget(
            name: server.record.target.description, port: Int(server.record.port), isDirectTLS: server.isDirectTLS,
            isSecure: server.isSecure)
          return Candidate(
            target: target, host: .name(server.record.target), priority: server.record.priority, isRoute: false)
        })
    }
  }

  /// Returns the TLSA records of a server whose SRV record is authentic, if they are authentic, too (RFC 7673 3.3). The
  /// server's name is that of its SRV record: aliases there are against RFC 2782.
  func tlsa(of target: ServerTarget) async throws(LookupFailure) -> [TLSARecord] {
    guard let name = DomainName(target.name)?.below("_\(target.port)", "_tcp") else { return [] }
    let answer = try await resolver.lookUp(name, .tlsa)
    return answer.isSecure ? answer.tlsaRecords : []
  }

  /// Returns all servers of a domain with their TLSA records, for streams from it: its certificate must be one of its
  /// servers'. Empty if the domain declares that it has no servers.
  func targets(of domain: String) async throws(DialFailure) -> [ServerTarget] {
    let candidates: [Candidate]
    do throws(DialFailure) {
      switch try await servers(of: domain) {
      case .servers(let servers): candidates = servers
      case .itself(let server): candidates = [server]
      }
    } catch .refused { return [] }
    var targets: [ServerTarget] = []
    for candidate in candidates {
      guard candidate.target.isSecure, case .name(let host) = candidate.host else {
        targets.append(candidate.target)
        continue
      }
      do throws(LookupFailure) {
        targets.append(candidate.target.with(tlsa: try await tlsa(of: candidate.target)))
      } catch {
        // RFC 7673 3.2: an unsigned host has no TLSA records, so a failed look-up of them does no harm.
        guard await hasSecureAddresses(host) else {
          targets.append(candidate.target)
          continue
        }
        throw .unreachable(reasons: ["\(candidate.target.name): \(error)"])
      }
    }
    return targets
  }

  /// Returns the servers that `targets` returns, for the operator's check of whether a domain can be reached. Unlike `targets` it
  /// fails with `noSuchDomain` if the DNS has neither servers nor addresses for the domain.
  func existingTargets(of domain: String) async throws(DialFailure) -> [ServerTarget] {
    let targets = try await targets(of: domain)
    guard case .itself(let server) = try await servers(of: domain), case .name(let host) = server.host else {
      return targets
    }
    var isAuthentic = true
    for type in [RecordType.aaaa, .a] {
      // RFC 7673 3.1: a failure does not prove absence.
      guard let answer = try? await resolver.lookUp(host, type), answer.outcome != .found else { return targets }
      isAuthentic = isAuthentic && answer.isSecure
    }
    throw .noSuchDomain(isAuthentic: isAuthentic)
  }

  private func hasSecureAddresses(_ host: DomainName) async -> Bool {
    for type in [RecordType.aaaa, .a] {
      if let answer = try? await resolver.lookUp(host, type), answer.outcome == .found { return answer.isSecure }
    }
    return true
  }

  private func look(_ name: DomainName, _ type: RecordType) async -> Result<Answer, DialFailure> {
    do throws(LookupFailure) {
      return .success(try await resolver.lookUp(name, type))
    } catch {
      return .failure(.unreachable(reasons: ["\(name): \(error)"]))
    }
  }

  private static func host(_ text: String) -> Candidate.Host? {
    if let address = IPAddress(text) { return .address(address) }
    return DomainName(AsciiDomain.of(text)).map { .name($0) }
  }
}

extension ServerTarget {
  func with(tlsa: [TLSARecord]) -> ServerTarget {
    ServerTarget(name: name, port: port, isDirectTLS: isDirectTLS, isSecure: isSecure, tlsa: tlsa)
  }

  func isSameServer(as other: ServerTarget) -> Bool {
    name == other.name && port == other.port && isDirectTLS == other.isDirectTLS
  }
}
