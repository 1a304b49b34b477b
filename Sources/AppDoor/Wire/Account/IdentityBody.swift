import Basics
import JSON

/// Goes into a token of the app's backend.
struct NonceBody: Hashable, Sendable, JSONObjectWritable {
  /// Opaque.
  var nonce: String
  var expiresAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("nonce", nonce)
    writer.member("expiresAt", expiresAt)
  }
}

/// What a user is known by besides their id, in the list of one's own.
struct IdentityBody: Hashable, Sendable, JSONObjectWritable {
  enum Kind: String, Sendable, CaseIterable {
    /// `subject` is what the app's own backend calls the user.
    case external
    case email, phone
    /// `subject` is what `provider` calls the user.
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
  /// In place of `idToken`, where the provider gives none: all three.
  var code: String?
  var codeVerifier: String?
  var redirectUri: String?
}

struct IdentityReference: Decodable, Hashable, Sendable {
  var identityId: String
}
