import Basics
import Crypto
import CryptoExtras
import JSON

/// The token that authenticates the sender (RFC 7519), signed with ES256 or RS256 (RFC 7518 3.3, 3.4).
enum SignedToken {
  static func make(
    _ header: [(String, JSONValue)], _ claims: [(String, JSONValue)], signature: ([UInt8]) throws -> [UInt8]
  ) rethrows -> String {
    let signed = encode(header) + "." + encode(claims)
    return signed + "." + Base64URL.string(try signature(Array(signed.utf8)))
  }

  static func es256(
    _ key: P256.Signing.PrivateKey, header: [(String, JSONValue)] = [], claims: [(String, JSONValue)]
  ) throws -> String {
    try make([("typ", .string("JWT")), ("alg", .string("ES256"))] + header, claims) {
      // R followed by S (RFC 7518 3.4).
      Array(try key.signature(for: $0).rawRepresentation)
    }
  }

  static func rs256(
    _ key: _RSA.Signing.PrivateKey, header: [(String, JSONValue)] = [], claims: [(String, JSONValue)]
  ) throws -> String {
    try make([("typ", .string("JWT")), ("alg", .string("RS256"))] + header, claims) {
      Array(try key.signature(for: SHA256.hash(data: $0), padding: .insecurePKCS1v1_5).rawRepresentation)
    }
  }

  private static func encode(_ members: [(String, JSONValue)]) -> String {
    Base64URL.string(JSONValue.object(members.map { .init($0.0, $0.1) }).bytes)
  }
}
