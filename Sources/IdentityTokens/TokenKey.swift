import Basics
import Crypto
import CryptoExtras
import JSON

/// A key that verifies signatures. Its kind decides the algorithm (RFC 8725 3.1): a public key is never taken for a
/// secret.
struct TokenKey: Sendable {
  /// The algorithms of RFC 7518 3.1.
  enum Algorithm: String, Sendable, CaseIterable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
  }

  private enum Material: Sendable {
    case secret(SymmetricKey)
    case rsa(_RSA.Signing.PublicKey)
    case curve(P256.Signing.PublicKey)
  }

  /// The id by which tokens name it, if any.
  let id: String?
  private let material: Material

  var algorithm: Algorithm {
    switch material {
    case .secret: .hs256
    case .rsa: .rs256
    case .curve: .es256
    }
  }

  init(secret: [UInt8]) throws(KeyError) {
    guard secret.count >= IdentityLimits.secretBytesMin else {
      throw KeyError("a secret has at least \(IdentityLimits.secretBytesMin) bytes")
    }
    id = nil
    material = .secret(SymmetricKey(data: secret))
  }

  /// Creates a key from a public key as PEM (RFC 7468 13): RSA, or on the curve P-256.
  init(pem: String) throws(KeyError) {
    id = nil
    if let key = try? P256.Signing.PublicKey(pemRepresentation: pem) {
      material = .curve(key)
    } else if let key = try? _RSA.Signing.PublicKey(pemRepresentation: pem) {
      material = try Self.checked(key)
    } else {
      throw KeyError("it is no public key of RSA or of the curve P-256, as PEM")
    }
  }

  /// Creates a key from a member of a set (RFC 7517 4, RFC 7518 6); `nil` if it cannot be used: unknown kinds are to be
  /// ignored (RFC 7517 5). Secrets never come this way.
  init?(_ member: JSONValue) {
    if let use = member["use"], use.string != "sig" { return nil }
    func bytes(_ name: String) -> [UInt8]? {
      member[name]?.string.flatMap { Base64URL.decode(Array($0.utf8)) }
    }
    let algorithm = member["alg"]?.string
    switch member["kty"]?.string {
    case "RSA":
      guard algorithm == nil || algorithm == Algorithm.rs256.rawValue, let n = bytes("n"), let e = bytes("e"),
        n.count <= IdentityLimits.rsaBits.upperBound / 8 + 1, let key = try? _RSA.Signing.PublicKey(n: n, e: e),
        let checked = try? Self.checked(key)
      else { return nil }
      material = checked
    case "EC":
      guard algorithm == nil || algorithm == Algorithm.es256.rawValue, member["crv"]?.string == "P-256",
        let x = bytes("x"), let y = bytes("y"), x.count == 32, y.count == 32,
        let key = try? P256.Signing.PublicKey(x963Representation: [4] + x + y)
      else { return nil }
      material = .curve(key)
    default: return nil
    }
    id = member["kid"]?.string
  }

  private static func checked(_ key: _RSA.Signing.PublicKey) throws(KeyError) -> Material {
    guard IdentityLimits.rsaBits.contains(key.keySizeInBits) else {
      throw KeyError("an RSA key has \(IdentityLimits.rsaBits.lowerBound) to \(IdentityLimits.rsaBits.upperBound) bits")
    }
    return .rsa(key)
  }

  /// Returns the keys of a set in their order; `nil` if it is none.
  static func set(_ document: [UInt8]) -> [TokenKey]? {
    guard let value = try? JSONValue(parsing: document), case .array(let members)? = value["keys"] else { return nil }
    return members.prefix(IdentityLimits.keySetMax).compactMap { TokenKey($0) }
  }

  func verifies(_ token: SignedToken) -> Bool {
    guard token.algorithm == algorithm else { return false }
    switch material {
    case .secret(let key):
      // In constant time.
      return HMAC<SHA256>.isValidAuthenticationCode(token.signature, authenticating: token.signed, using: key)
    case .rsa(let key):
      return key.isValidSignature(
        _RSA.Signing.RSASignature(rawRepresentation: token.signature), for: SHA256.hash(data: token.signed),
        padding: .insecurePKCS1v1_5)
    case .curve(let key):
      guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: token.signature) else { return false }
      return key.isValidSignature(signature, for: SHA256.hash(data: token.signed))
    }
  }
}

/// The reason why a key is invalid.
public struct KeyError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}
