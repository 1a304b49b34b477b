import Basics
import JSON

/// A code or a link was sent, if it was to be: the answer is the same whoever has the address.
struct SentBody: Hashable, Sendable, JSONObjectWritable {
  /// When what was sent ends.
  var expiresAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("expiresAt", expiresAt)
  }
}

/// A new second factor; shown this once.
struct EnrolmentBody: Hashable, Sendable, JSONObjectWritable {
  /// `totp` or `sms`.
  var method: String
  /// For an authenticator program: base 32, for typing.
  var secret: String?
  /// For an authenticator program: `otpauth://...`, for a QR code.
  var uri: String?
  /// Of `sms`: when the code that was sent ends.
  var expiresAt: Timestamp?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("method", method)
    writer.member("secret", secret)
    writer.member("uri", uri)
    writer.member("expiresAt", expiresAt)
  }
}

/// Shown this once; each works once, in place of a code.
struct RecoveryCodesBody: Hashable, Sendable, JSONObjectWritable {
  var recoveryCodes: [String]

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("recoveryCodes", recoveryCodes)
  }
}
