/// A code or a link was sent, if it was to be: the answer is the same whoever has the address.
public struct SentBody: Codable, Hashable, Sendable, JSONWritable {
  /// When what was sent ends.
  public var expiresAt: WireTime
  public init(expiresAt: WireTime) { self.expiresAt = expiresAt }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("expiresAt", expiresAt)
    writer.endObject()
  }
}

/// A new second factor; shown this once.
public struct EnrolmentBody: Codable, Hashable, Sendable, JSONWritable {
  /// `totp` or `sms`.
  public var method: String
  /// For an authenticator program: base 32, for typing.
  public var secret: String?
  /// For an authenticator program: `otpauth://...`, for a QR code.
  public var uri: String?
  /// Of `sms`: when the code that was sent ends.
  public var expiresAt: WireTime?
  public init(method: String, secret: String? = nil, uri: String? = nil, expiresAt: WireTime? = nil) {
    self.method = method
    self.secret = secret
    self.uri = uri
    self.expiresAt = expiresAt
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("method", method)
    writer.member("secret", secret)
    writer.member("uri", uri)
    writer.member("expiresAt", expiresAt)
    writer.endObject()
  }
}

/// Shown this once; each works once, in place of a code.
public struct RecoveryCodesBody: Codable, Hashable, Sendable, JSONWritable {
  public var recoveryCodes: [String]
  public init(recoveryCodes: [String]) { self.recoveryCodes = recoveryCodes }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("recoveryCodes", recoveryCodes)
    writer.endObject()
  }
}
