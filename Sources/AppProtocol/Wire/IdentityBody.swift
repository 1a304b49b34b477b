/// Goes into a token of the app's backend.
public struct NonceBody: Codable, Hashable, Sendable, JSONWritable {
  /// Opaque.
  public var nonce: String
  public var expiresAt: WireTime

  public init(nonce: String, expiresAt: WireTime) {
    self.nonce = nonce
    self.expiresAt = expiresAt
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("nonce", nonce)
    writer.member("expiresAt", expiresAt)
    writer.endObject()
  }
}

/// What a user is known by besides their id, in the list of one's own.
public struct IdentityBody: Codable, Hashable, Sendable, JSONWritable {
  public enum Kind: String, Sendable, CaseIterable {
    /// `subject` is what the app's own backend calls the user.
    case external
    case email, phone
    /// `subject` is what `provider` calls the user.
    case provider
  }

  public var id: String
  /// A `Kind`.
  public var type: String
  public var provider: String?
  public var subject: String
  public var createdAt: WireTime

  public init(id: String, type: String, provider: String? = nil, subject: String, createdAt: WireTime) {
    self.id = id
    self.type = type
    self.provider = provider
    self.subject = subject
    self.createdAt = createdAt
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("type", type)
    writer.member("provider", provider)
    writer.member("subject", subject)
    writer.member("createdAt", createdAt)
    writer.endObject()
  }
}

/// A token that proves an identity: of the app's backend, or of a provider.
public struct IdentityInput: Codable, Hashable, Sendable {
  public var identityToken: String?
  public var provider: String?
  public var idToken: String?
  /// In place of `idToken`, where the provider gives none: all three.
  public var code: String?
  public var codeVerifier: String?
  public var redirectUri: String?

  public init(identityToken: String? = nil, provider: String? = nil, idToken: String? = nil) {
    self.identityToken = identityToken
    self.provider = provider
    self.idToken = idToken
  }
}

public struct IdentityReference: Codable, Hashable, Sendable {
  public var identityId: String
  public init(identityId: String) { self.identityId = identityId }
}
