import NIOSSL
import ServerConfiguration
import Synchronization

/// The TLS contexts of streams between servers, one of each role per certificate of this server. They are created at the
/// first stream that needs them; those of replaced certificates are dropped.
final class PeerContexts: Sendable {
  enum Role: Hashable, Sendable { case server, client }

  private struct Key: Hashable {
    let files: Settings.CertificateFiles
    let role: Role
  }

  private let made = Mutex<[Key: (generation: Int, context: NIOSSLContext)]>([:])

  /// Returns the context that presents a certificate.
  func context(_ role: Role, for pair: Certificates.Pair) throws -> NIOSSLContext {
    let key = Key(files: pair.files, role: role)
    if let known = made.withLock({ $0[key] }), known.generation == pair.generation { return known.context }
    let context = try NIOSSLContext(configuration: Self.configuration(role, pair))
    // If two are created concurrently, both are used, and the later one is kept.
    made.withLock { $0[key] = (pair.generation, context) }
    return context
  }

  /// Both roles present this server's certificate, and request the peer's. `PeerChain` keeps that in place of NIOSSL's own
  /// verification, which would end the handshake; so no authorities are loaded.
  private static func configuration(_ role: Role, _ pair: Certificates.Pair) -> TLSConfiguration {
    var configuration: TLSConfiguration
    switch role {
    case .server:
      configuration = Certificates.configuration(pair)
      // A peer without a certificate can be verified by dialback.
      configuration.certificateVerification = .optionalVerification
    case .client:
      configuration = TLSConfiguration.makeClientConfiguration()
      configuration.certificateChain = pair.chain.map { .certificate($0) }
      configuration.privateKey = .privateKey(pair.key)
      configuration.certificateVerification = .noHostnameVerification
      configuration.shutdownTimeout = CertificateLimits.tlsCloseWait
    }
    configuration.trustRoots = .certificates([])
    // RFC 9325 3.1.1.
    configuration.minimumTLSVersion = .tlsv12
    // XEP-0368 3.
    configuration.applicationProtocols = ["xmpp-server"]
    return configuration
  }
}
