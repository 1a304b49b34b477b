import NIOCore

/// The bounds of this target, each with its reason and the behaviour when it is reached.
package enum CertificateLimits {
  /// The maximum length of a PEM file in bytes: a chain of ten certificates has about 20 KiB. A larger file is refused.
  package static let fileBytesMax = 1_048_576
  /// The time that a closed connection waits for the peer's `close_notify`. It is enough for the last bytes to arrive;
  /// the wait is not required (RFC 8446 6.1), and a stopping server waits for all connections.
  static let tlsCloseWait: TimeAmount = .seconds(1)
  /// The interval at which the certificate files are checked.
  package static let pollInterval: Duration = .seconds(30)
  /// The time after which a certificate is judged again for `StrictTransport`, though it is the same: the system's
  /// authorities may have changed.
  static let trustLookInterval: Duration = .seconds(86_400)
  /// The validity of a self-signed certificate in days: the maximum that the strictest clients accept.
  static let selfSignedDays = 825
  /// The remaining days at which a start creates a new certificate.
  static let selfSignedRenewalDays = 30
  /// The remaining days at which a configured certificate should have been renewed: public authorities' live for 90 days
  /// or less, and tools renew them when a third is left.
  static let renewalDays: Int64 = 14

  /// The time of one request to an ACME authority; some issue a certificate before they answer.
  static let authorityTimeout: Duration = .seconds(30)

  // MARK: Certificates of other servers

  /// The certificates of a peer's chain, and their bytes; public chains have 2 to 4 and about 6 KiB. A longer chain is
  /// not verified.
  static let peerChainMax = 10
  static let peerChainBytesMax = 65_536
  /// The names of a peer's certificate; public authorities sign 100. One with more is not valid for any.
  static let peerNamesMax = 512
  /// The names that an error text lists.
  static let namesShownMax = 5
  /// The checks of signatures in one judgement, each of which takes 0.1 ms of a processor, or 1 ms with the largest keys: a chain of
  /// three needs three, one of ten in any order ten, and as many again to say what is wrong with it. At the bound no further issuers are
  /// tried, so a chain that has not led to an authority by then is not valid (`SignatureChecks`).
  static let signatureChecksMax = 32
  /// The product of the bytes of a chain's names and of its name constraints that counts as one check, some 15,000 comparisons: a hundred
  /// names below an authority of ten domains are one or two.
  static let namesPerCheck = 262_144
  /// The TLSA records of one target that are of use; each hashes up to the bytes of a chain. A target has two, and four while its key
  /// changes; further ones count as absent.
  static let tlsaMax = 16
  /// The verifications that run at once; others wait, as many as there are streams that are being negotiated. They take
  /// a millisecond or two of a processor, and some 30 at most. A machine with two processors has two threads for all such work, of which
  /// one must be left to the users' requests.
  static let verificationsAtOnce = 1
  /// The bytes of valid chains that are remembered for resumed TLS sessions, which present the first certificate alone:
  /// about 1,000 chains. At the bound all are forgotten; a peer whose chain was is told that its issuer's certificate is
  /// missing, and its next full handshake presents it.
  static let rememberedBytesMax = 4_194_304
  /// The targets of a domain whose TLSA records are tried.
  static let targetsMax = 8
  /// The documents of RFC 7711 that are fetched at once, and those of one zone (`DomainZone`), an eighth of them; at a bound a further
  /// domain counts as having none.
  static let poshAtOnce = 16
  static let poshPerZoneAtOnce = 2
  /// The time and bytes of one such document, its redirects and references, and the fingerprints that are read.
  static let poshTimeout: Duration = .seconds(5)
  static let poshBytesMax = 16_384
  static let poshHopsMax = 4
  static let poshFingerprintsMax = 32
  /// The domains whose outcome is kept; at the bound all are forgotten. It is kept as long as the document says, at
  /// most for a day; where there is none, for five minutes.
  static let poshDomainsMax = 1_024
  static let poshLifetimeMax: Duration = .seconds(86_400)
  static let poshAbsence: Duration = .seconds(300)
}
