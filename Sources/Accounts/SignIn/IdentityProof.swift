import Basics
public import Dialogs

/// A token by which an external issuer identifies a user.
public enum IdentityToken: Sendable {
  /// A token of the app's own backend.
  case backend(String)
  /// An ID token of an OpenID provider, with the provider's name in the configuration.
  case provider(String, idToken: String)
  /// An authorization code of a provider without ID tokens, to be redeemed there.
  case code(String, CodeGrant)
}

/// An authorization code (RFC 6749 4.1.3), with the proof that it was issued to its sender (RFC 7636 4.5).
public struct CodeGrant: Hashable, Sendable {
  public let code: String
  public let verifier: String
  /// The URI to which the provider sent the code.
  public let redirectURI: String

  public init(code: String, verifier: String, redirectURI: String) {
    self.code = code
    self.verifier = verifier
    self.redirectURI = redirectURI
  }
}

/// The place to which a client sends its user for an authorization code (RFC 6749 3.1). Nothing of it is secret: the
/// user's browser sees all of it.
public struct AuthorizationEndpoint: Hashable, Sendable {
  public let provider: String
  public let url: String
  public let clientID: String
  public let scope: String?
  /// The redirect URIs of which a client uses its own.
  public let redirectURIs: [String]

  public init(provider: String, url: String, clientID: String, scope: String?, redirectURIs: [String]) {
    self.provider = provider
    self.url = url
    self.clientID = clientID
    self.scope = scope
    self.redirectURIs = redirectURIs
  }
}

/// The content of a token that is genuine, meant for this realm and currently valid.
public struct IdentityProof: Hashable, Sendable {
  public var identity: Identity
  /// The wished localpart of a new user.
  public var localpart: String?
  public var displayName: String?
  /// Whether the name is set at each login, not only for new users: the issuer manages the profile.
  public var renames: Bool
  /// The URL of a picture (http or https).
  public var pictureURL: String?
  /// The nonce in the token. The core checks whether it is valid and unused.
  public var nonce: String?
  /// Whether a token without a nonce of this server is invalid.
  public var needsNonce: Bool
  /// The mail addresses and telephone numbers that the issuer has verified.
  public var contacts: [Identity]
  /// Whether a user without account gets one.
  public var admitsNewcomers: Bool

  public init(
    _ identity: Identity, localpart: String? = nil, displayName: String? = nil, renames: Bool = false,
    pictureURL: String? = nil, nonce: String? = nil, needsNonce: Bool = false, contacts: [Identity] = [],
    admitsNewcomers: Bool
  ) {
    self.identity = identity
    self.localpart = localpart
    self.displayName = displayName
    self.renames = renames
    self.pictureURL = pictureURL
    self.nonce = nonce
    self.needsNonce = needsNonce
    self.contacts = contacts
    self.admitsNewcomers = admitsNewcomers
  }
}

/// Verifies tokens. It knows keys, issuers and their rules, but no accounts.
public protocol IdentityVerifier: Sendable {
  /// Verifies a token.
  ///
  /// - Throws: `.unauthenticated` if the token is invalid in this domain; `.malformed` `provider-unknown`;
  ///   `.overloaded` if the issuer's keys are unavailable.
  func verify(_ token: IdentityToken, for domain: String) async throws(Problem) -> IdentityProof
  /// Returns whether this domain's users can sign in by tokens of a backend.
  func hasBackend(_ domain: String) -> Bool
  /// Returns the names of the domain's providers, in the order of the configuration.
  func providers(of domain: String) -> [String]
  /// Returns the authorization endpoints of those that are offered to every client, in the same order.
  func authorizationEndpoints(of domain: String) -> [AuthorizationEndpoint]
}

/// Fetches the pictures that tokens name.
public protocol PictureFinder: Sendable {
  /// Returns the bytes, at most `Limits.avatarBytesMax`; `nil` if there are none, or too many.
  func picture(at url: String) async -> [UInt8]?
}

/// The ways to sign in besides a password.
public struct SignInPolicy: Sendable {
  /// The verifier; `nil` if external tokens are off.
  public var verifier: (any IdentityVerifier)?
  /// The fetcher of pictures; `nil` to fetch none.
  public var pictures: (any PictureFinder)?

  public init(verifier: (any IdentityVerifier)? = nil, pictures: (any PictureFinder)? = nil) {
    self.verifier = verifier
    self.pictures = pictures
  }

  public static var none: SignInPolicy { SignInPolicy() }
}
