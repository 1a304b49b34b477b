public import Basics
import NIOSSL
public import ServerConfiguration
import Synchronization

/// Whether browsers are asked to reach this server by TLS alone (RFC 6797).
///
/// A browser that was asked refuses plain HTTP on all ports of the host for a year, and offers no way round a certificate
/// that it does not trust. So it is asked only about the host that the operator has written into `http.url`, with https
/// and the usual port, and only while the host's certificate leads to an authority that this machine's system knows: a
/// domain has other services beside this one, and a self-signed certificate is one that users have accepted by hand. A
/// proxy that terminates TLS asks by itself, as its certificate is unknown here.
public final class StrictTransport: Sendable {
  private struct State: Sendable {
    var chain: [NIOSSLCertificate] = []
    var isTrusted = false
    /// The time until which that holds without another look.
    var until = Timestamp(milliseconds: 0)
  }

  /// The host in A-labels; nil if browsers are never asked.
  private let host: String?
  private let certificates: Certificates
  private let authorities: @Sendable () -> Authorities?
  private let state = Mutex(State())

  public convenience init(_ settings: Settings, _ certificates: Certificates) {
    self.init(settings, certificates) { try? Authorities.read(nil) }
  }

  init(_ settings: Settings, _ certificates: Certificates, authorities: @escaping @Sendable () -> Authorities?) {
    host = Self.host(settings)
    self.certificates = certificates
    self.authorities = authorities
  }

  /// Returns whether the answer to a request for this authority asks for TLS. Called for each request that came over TLS.
  public func applies(to authority: String?) -> Bool {
    guard let host, let authority, Self.usual(authority.lowercased()) == host else { return false }
    return state.withLock { $0.isTrusted }
  }

  /// Judges the certificate that clients of the host get now, if it is another one or was judged a while ago. Called by the
  /// poll behind `Certificates.refresh`.
  public func judge(at now: Timestamp) async {
    guard let host else { return }
    let chain = certificates.current(for: host)
    if state.withLock({ $0.chain == chain && now < $0.until }) { return }
    let end = await end(of: chain, for: host, at: now)
    let next = now + CertificateLimits.trustLookInterval
    state.withLock { $0 = State(chain: chain, isTrusted: end != nil, until: min(end ?? next, next)) }
  }

  /// Returns the time at which the chain ends to be valid for the host; nil if it is not.
  private func end(of chain: [NIOSSLCertificate], for host: String, at now: Timestamp) async -> Timestamp? {
    guard let known = authorities(), let bytes = try? chain.map({ try $0.toDERBytes() }),
      let presented = try? PresentedChain(bytes),
      // Browsers look at the names of hosts alone.
      let names = try? CertificateNames(of: presented.leaf.certificate), names.cover(host: host)
    else { return nil }
    let verifier = ChainVerifier(now: now, names: ChainVerifier.Names(domain: host), authorities: known)
    return try? await verifier.verify(presented)
  }

  private static func host(_ settings: Settings) -> String? {
    let scheme = "https://"
    guard !settings.isPublicURLDerived, settings.publicURL.hasPrefix(scheme) else { return nil }
    let authority = settings.publicURL.dropFirst(scheme.count).prefix { $0 != "/" }
    let host = usual(authority.lowercased())
    // RFC 6797 8.1.1 has browsers ignore the field at addresses. `localhost` is the same host for all servers under test
    // (RFC 6761 6.3).
    guard !host.contains(":"), IPAddress(host) == nil, host != "localhost", !host.hasSuffix(".localhost") else {
      return nil
    }
    return CertificateNames.ascii(host)
  }

  /// Returns an authority without the port of https.
  private static func usual(_ authority: String) -> String {
    authority.hasSuffix(":443") ? String(authority.dropLast(4)) : authority
  }
}
