public import Basics
public import NIOSSL

/// The trust in the certificates of other servers, and the TLS of streams to and from them.
///
/// No handshake fails for the peer's certificate: `PeerChain` keeps what the peer presents, and `verify` judges it
/// afterwards, off the event loop, for each domain that the stream is to carry. So a peer that is refused is told why,
/// and one without a valid certificate can still be verified by dialback (XEP-0220).
public protocol PeerTrust: Sendable {
  /// Returns the context of streams that come to one of this server's domains: TLS 1.2 and up, ALPN `xmpp-server`
  /// (XEP-0368), the domain's certificate; the peer's is requested and not required. It is called for each connection,
  /// so that a renewed certificate needs no restart; `nil` if the context cannot be made.
  func serverContext(_ local: String) -> NIOSSLContext?

  /// Returns the context of streams that begin at one of this server's domains; as `serverContext`.
  func clientContext(_ local: String) -> NIOSSLContext?

  /// Returns whether a chain is good for a domain.
  ///
  /// - Parameters:
  ///   - chain: The certificates in DER as the peer presented them, the leaf first; empty if it presented none.
  ///   - domain: The domain in normal form that the peer is to be.
  ///   - targets: On a stream that this server opened the target that was connected to, on one that the peer opened all
  ///     targets of the domain (RFC 7673): the peer must be one of them. A secure target's certificate may have its name
  ///     in place of the domain's, and must match one of its TLSA records if it has any. Empty if the DNS was not asked;
  ///     an answer that is forged or does not come is no reason for that.
  func verify(_ chain: [[UInt8]], for domain: String, targets: [ServerTarget]) async -> PeerVerdict

  /// Returns the contents of a chain's first certificate that an operator is shown; `nil` if it is none.
  func describe(_ chain: [[UInt8]]) -> PeerCertificate?
}

/// Whether a peer's certificate is good for a domain.
public enum PeerVerdict: Hashable, Sendable {
  /// The certificate is good for the domain until the first of its chain's certificates expires; `Timestamp.latest` where
  /// the dates do not count (RFC 7671 5.1).
  case valid(by: PeerProof, until: Timestamp)
  /// The certificate is not good for the domain. The reason is a clause in plain English for the other side and for the
  /// operator, such as `the certificate is not valid: it is for example.org, not for example.net`.
  case invalid(reason: String)
}

/// The way in which a certificate was found to be good for a domain.
public enum PeerProof: String, Codable, Hashable, Sendable {
  /// By an authority that this server knows (RFC 5280, RFC 6120 13.7.1.2).
  case pkix
  /// By a TLSA record in signed DNS (RFC 7671).
  case dane
  /// By the domain's web site (RFC 7711).
  case posh
}

/// The contents of a certificate that an operator is shown.
public struct PeerCertificate: Codable, Hashable, Sendable {
  /// The domains that it names.
  public let names: [String]
  public let issuer: String
  public let validFrom: Timestamp
  public let validUntil: Timestamp
  /// The SHA-256 of the certificate in hexadecimal.
  public let fingerprint: String

  public init(names: [String], issuer: String, validFrom: Timestamp, validUntil: Timestamp, fingerprint: String) {
    self.names = names
    self.issuer = issuer
    self.validFrom = validFrom
    self.validUntil = validUntil
    self.fingerprint = fingerprint
  }
}
