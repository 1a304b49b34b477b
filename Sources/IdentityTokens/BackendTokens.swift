import Accounts
import Basics
import Dialogs
import JSON

/// An app's own backend, which identifies its users with tokens of the form below.
public struct Backend: Hashable, Sendable {
  /// The `iss` of its tokens.
  public var name: String
  /// The domain of its users.
  public var domain: String
  /// The secrets for HS256; several while one replaces another.
  public var secrets: [[UInt8]]
  /// The public keys as PEM, for RS256 and ES256.
  public var publicKeys: [String]
  /// The URL where it publishes keys (RFC 7517 5), if it does.
  public var keySet: String?
  /// Whether a user without an account gets one.
  public var admitsNewcomers: Bool

  public init(
    name: String, domain: String, secrets: [[UInt8]] = [], publicKeys: [String] = [], keySet: String? = nil,
    admitsNewcomers: Bool = true
  ) {
    self.name = name
    self.domain = domain
    self.secrets = secrets
    self.publicKeys = publicKeys
    self.keySet = keySet
    self.admitsNewcomers = admitsNewcomers
  }
}

/// Verifies a backend's tokens: header `alg`, `typ` "JWT", `ver` "v2"; claims `iss`, `iat`, `exp`, `nbf`, `nce` (the
/// nonce), `prn` (the app's id of the user), `name`, `avatar_url`.
struct BackendTokens {
  let backend: Backend
  private let keys: [TokenKey]
  private let keySet: RemoteKeys?
  private let clock: any Clock

  init(_ backend: Backend, _ keySet: RemoteKeys?, clock: any Clock) throws(KeyError) {
    var keys: [TokenKey] = []
    for secret in backend.secrets { keys.append(try TokenKey(secret: secret)) }
    for pem in backend.publicKeys { keys.append(try TokenKey(pem: pem)) }
    guard !keys.isEmpty || keySet != nil else { throw KeyError("\(backend.name) has no key") }
    self.backend = backend
    self.keys = keys
    self.keySet = keySet
    self.clock = clock
  }

  /// Returns the proof of a token whose `iss` is this backend.
  func proof(_ token: SignedToken) async throws(Problem) -> IdentityProof {
    guard token.header["typ"]?.string == "JWT" else { throw .invalid(#"its header needs "typ": "JWT""#) }
    guard token.header["ver"]?.string == "v2" else { throw .invalid(#"its header needs "ver": "v2""#) }
    var isGenuine = keys.contains { $0.verifies(token) }
    // A published key is never a secret.
    if !isGenuine, let keySet, token.algorithm != .hs256 {
      isGenuine = try await keySet.keys(for: token).contains { $0.verifies(token) }
    }
    guard isGenuine else { throw .invalid("its signature is not by a key of its issuer") }
    try token.checkTimes(now: clock.now, lifetimeMax: IdentityLimits.backendLifetimeMax, needsNotBefore: true)
    guard let nonce = token.claims["nce"]?.string else { throw .invalid("nce is missing") }
    guard let principal = try token.text("prn", bytesMax: IdentityLimits.principalBytesMax),
      principal.first?.isWhitespace == false, principal.last?.isWhitespace == false
    else { throw .invalid("prn is missing, or has spaces around it") }
    let name = try token.text("name", bytesMax: Limits.displayNameBytesMax)
    return IdentityProof(
      Identity(.external, principal), localpart: principal, displayName: name, renames: true,
      pictureURL: token.pictureURL("avatar_url"), nonce: nonce, needsNonce: true,
      admitsNewcomers: backend.admitsNewcomers)
  }
}

extension SignedToken {
  /// Returns the URL of a picture; an invalid one is ignored, since no login is refused for a picture.
  func pictureURL(_ name: String) -> String? {
    guard let url = claims[name]?.string, url.utf8.count <= IdentityLimits.pictureURLBytesMax,
      url.hasPrefix("https://") || url.hasPrefix("http://")
    else { return nil }
    return url
  }
}
