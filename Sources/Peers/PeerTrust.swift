public import Basics
public import NIOSSL

/// The trust in the certificates of other servers, and the TLS of streams to and from them.
///
/// No handshake fails because of the peer's certificate: `PeerChain` keeps the certificates, and `verify` judges them
/// afterwards, off the event loop, for each domain of the stream. So a refused peer gets a stream error with the reason, and
/// a peer without a valid certificate can still be verified by dialback (XEP-0220).
public protocol PeerTrust: Sendable {
  /// Returns the context of incoming streams to a local domain: TLS 1.2 and up, ALPN `xmpp-server` (XEP-0368), the domain's
  /// certificate; the peer's is requested and not required. It is called for each connection, so that a renewed certificate
  /// needs no restart; `nil` if the context cannot be created.
  func serverContext(_ local: String) -> NIOSSLContext?

  /// Returns the context of outgoing streams from a local domain; otherwise as `serverContext`.
  func clientContext(_ local: String) -> NIOSSLContext?

  /// Returns whether a chain is valid for a domain.
  ///
  /// - Parameters:
  ///   - chain: The certificates in DER as the peer presented them, the leaf first; empty if it presented none.
  ///   - domain: The domain in normal form that the peer must prove.
  ///   - targets: For a stream that this server opened its target; for one that the peer opened all targets of the domain
  ///     (RFC 7673), of which the peer must be one. A secure target's certificate may have the target's name instead of the
  ///     domain's, and must match one of its TLSA records if it has any. Empty only if the DNS was not asked, not if its
  ///     answer is forged or missing.
  func verify(_ chain: [[UInt8]], for domain: String, targets: [ServerTarget]) async -> PeerVerdict

  /// Returns the contents of a chain's first certificate for an operator; `nil` if it cannot be parsed.
  func describe(_ chain: [[UInt8]]) -> PeerCertificate?
}

/// Whether a peer's certificate is valid for a domain.
public enum PeerVerdict: Hashable, Sendable {
  /// The certificate is valid for the domain until the first of its chain's certificates expires; `Timestamp.latest` if the
  /// dates do not count (RFC 7671 5.1).
  case valid(by: PeerProof, until: Timestamp)
  /// The certificate is not valid for the domain. The reason is a clause in plain English for the other side and for the
  /// operator, such as `the certificate is not valid: it is for example.org, not for example.net`.
  case invalid(reason: String)
}

/// The way in which a certificate was found to be valid for a domain.
public enum PeerProof: String, Codable, Hashable, Sendable {
  /// It was issued by an authority that this server trusts (RFC 5280, RFC 6120 13.7.1.2).
  case pkix
  /// It matches a TLSA record in signed DNS (RFC 7671).
  case dane
  /// The domain's web site confirms it (RFC 7711).
  case posh
}

/// The contents of a certificate that are shown to an operator.
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
