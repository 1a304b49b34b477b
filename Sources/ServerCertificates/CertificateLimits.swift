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
  /// The validity of a self-signed certificate in days: the maximum that the strictest clients accept.
  static let selfSignedDays = 825
  /// The remaining days at which a start creates a new certificate.
  static let selfSignedRenewalDays = 30
}
