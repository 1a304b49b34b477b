import Basics
public import Dialogs

/// A token by which somebody vouches for a user.
public enum IdentityToken: Sendable {
  /// Made by the app's own backend.
  case backend(String)
  /// An ID token of an OpenID provider, by the name that the configuration gives it.
  case provider(String, idToken: String)
  /// What a provider without ID tokens has given the app, to be redeemed there.
  case code(String, CodeGrant)
}

/// An authorization code (RFC 6749 4.1.3) and what proves that it was made for who brings it (RFC 7636 4.5).
public struct CodeGrant: Hashable, Sendable {
  public let code: String
  public let verifier: String
  /// Where the provider sent the code.
  public let redirectURI: String

  public init(code: String, verifier: String, redirectURI: String) {
    self.code = code
    self.verifier = verifier
    self.redirectURI = redirectURI
  }
}

/// What a token says, once it is known to be genuine, meant for this realm and of this time.
public struct IdentityProof: Hashable, Sendable {
  public var identity: Identity
  /// The localpart that a new user would like to have.
  public var localpart: String?
  public var displayName: String?
  /// The name holds at each login, not only for who is new: whoever vouches manages the profile.
  public var renames: Bool
  /// Where a picture is, for whoever vouches (http or https).
  public var pictureURL: String?
  /// As it stands in the token. Whether it is one of ours, and unused, the core looks itself.
  public var nonce: String?
  /// A token without a nonce of ours is worth nothing.
  public var needsNonce: Bool
  /// Mail addresses and telephone numbers that were proved to whoever vouches.
  public var contacts: [Identity]
  /// Who has no account gets one.
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

/// Looks at tokens. It knows keys, issuers and their rules, and nobody's account.
public protocol IdentityVerifier: Sendable {
  /// - Throws: `.unauthenticated` where the token is worth nothing in this domain; `.malformed` `provider-unknown`;
  ///   `.overloaded` where the keys to judge it cannot be had.
  func verify(_ token: IdentityToken, for domain: String) async throws(Problem) -> IdentityProof
  /// Whether backends vouch for users of this domain.
  func hasBackend(_ domain: String) -> Bool
  /// The names of the providers who do, in the order of the configuration.
  func providers(of domain: String) -> [String]
}

/// Fetches pictures that tokens name.
public protocol PictureFinder: Sendable {
  /// The bytes there, at most `Limits.avatarBytesMax`; nil: there are none, or too many.
  func picture(at url: String) async -> [UInt8]?
}

/// How people sign in besides by a password.
public struct SignInPolicy: Sendable {
  /// nil: nobody vouches for anybody.
  public var verifier: (any IdentityVerifier)?
  /// nil: pictures are not fetched.
  public var pictures: (any PictureFinder)?

  public init(verifier: (any IdentityVerifier)? = nil, pictures: (any PictureFinder)? = nil) {
    self.verifier = verifier
    self.pictures = pictures
  }

  public static var none: SignInPolicy { SignInPolicy() }
}
