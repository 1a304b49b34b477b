public import Basics
import Crypto
public import Logging
public import NIOSSL
public import Peers
public import ServerConfiguration
import SwiftASN1
public import WebClient
import X509

/// The trust in other servers, with this server's own certificates and the authorities that the operator trusts.
public final class PeerCertificates: PeerTrust {
  private let certificates: Certificates
  private let contexts = PeerContexts()
  private let verifier: PeerVerifier
  private let logger: Logger

  /// Reads the authorities.
  ///
  /// - Parameters:
  ///   - certificates: This server's own.
  ///   - authorities: A PEM file of the authorities to trust; `nil` for the system's.
  ///   - posh: A client that reaches public addresses only; `nil` to leave RFC 7711 out.
  /// - Throws: If the authorities cannot be read.
  public init(
    _ certificates: Certificates, authorities: String?, posh: WebClient?, clock: any Clock, logger: Logger
  ) throws(StartupError) {
    self.certificates = certificates
    self.logger = logger
    verifier = PeerVerifier(
      try Authorities.read(authorities), posh: posh.map { POSH($0, clock: clock) }, clock: clock)
  }

  /// Reads the authorities again, which may be in another file. On failure the previous ones stay in use.
  public func reload(authorities path: String?) throws(StartupError) {
    verifier.authorities = try Authorities.read(path)
  }

  public func serverContext(_ local: String) -> NIOSSLContext? { context(.server, local) }

  public func clientContext(_ local: String) -> NIOSSLContext? { context(.client, local) }

  private func context(_ role: PeerContexts.Role, _ local: String) -> NIOSSLContext? {
    do { return try contexts.context(role, for: certificates.pair(ofServed: local)) } catch {
      logger.error("TLS of streams between servers cannot be set up", metadata: ["reason": "\(error)"])
      return nil
    }
  }

  public func verify(_ chain: [[UInt8]], for domain: String, targets: [ServerTarget]) async -> PeerVerdict {
    await verifier.verify(chain, for: domain, targets: targets)
  }

  public func describe(_ chain: [[UInt8]]) -> PeerCertificate? {
    guard let leaf = chain.first, let certificate = try? Certificate(derEncoded: leaf) else { return nil }
    return PeerCertificate(
      names: (try? CertificateNames(of: certificate))?.shown ?? [], issuer: certificate.issuer.text,
      validFrom: certificate.validFrom, validUntil: certificate.validUntil,
      fingerprint: Hex.string(SHA256.hash(data: leaf)))
  }
}
