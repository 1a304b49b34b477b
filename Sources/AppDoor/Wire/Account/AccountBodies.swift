import Basics
import JSON

/// The answer after sending a code or a link, which is the same whether or not a user has the address.
struct SentBody: Hashable, Sendable, JSONObjectWritable {
  /// The time when it expires.
  var expiresAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("expiresAt", expiresAt)
  }
}

/// A new second factor, which is shown this once.
struct EnrolmentBody: Hashable, Sendable, JSONObjectWritable {
  /// The method, `totp` or `sms`.
  var method: String
  /// The secret for an authenticator app: base 32, for typing.
  var secret: String?
  /// The URI for an authenticator app: `otpauth://...`, for a QR code.
  var uri: String?
  /// The expiry of the code that was sent, for `sms`.
  var expiresAt: Timestamp?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("method", method)
    writer.member("secret", secret)
    writer.member("uri", uri)
    writer.member("expiresAt", expiresAt)
  }
}

/// The recovery codes, which are shown this once; each works once, in place of a code.
struct RecoveryCodesBody: Hashable, Sendable, JSONObjectWritable {
  var recoveryCodes: [String]

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("recoveryCodes", recoveryCodes)
  }
}
