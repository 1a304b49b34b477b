import Basics
import JSON

/// A nonce for a token of the app's backend.
struct NonceBody: Hashable, Sendable, JSONObjectWritable {
  /// The opaque nonce.
  var nonce: String
  var expiresAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("nonce", nonce)
    writer.member("expiresAt", expiresAt)
  }
}

/// An external identity of the caller.
struct IdentityBody: Hashable, Sendable, JSONObjectWritable {
  enum Kind: String, Sendable, CaseIterable {
    /// `subject` is the id of the app's own backend.
    case external
    case email, phone
    /// `subject` is the id of `provider`.
    case provider
  }

  var id: String
  /// A `Kind`.
  var type: String
  var provider: String?
  var subject: String
  var createdAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("type", type)
    writer.member("provider", provider)
    writer.member("subject", subject)
    writer.member("createdAt", createdAt)
  }
}

/// A token that proves an identity: of the app's backend, or of a provider.
struct IdentityInput: Decodable, Hashable, Sendable {
  var identityToken: String?
  var provider: String?
  var idToken: String?
  /// The members in place of `idToken` for a provider without ID tokens: all three.
  var code: String?
  var codeVerifier: String?
  var redirectUri: String?
}

struct IdentityReference: Decodable, Hashable, Sendable {
  var identityId: String
}
