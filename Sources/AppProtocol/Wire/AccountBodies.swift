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

/// A new second factor, for an authenticator program; shown this once.
public struct EnrolmentBody: Codable, Hashable, Sendable, JSONWritable {
  /// Base 32, for typing.
  public var secret: String
  /// `otpauth://...`, for a QR code.
  public var uri: String
  public init(secret: String, uri: String) {
    self.secret = secret
    self.uri = uri
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("secret", secret)
    writer.member("uri", uri)
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
