import Basics
import Crypto
import JSON

/// The account with the authority's operator, such as a customer's, to which the ACME account is bound (RFC 8555 7.3.4).
package struct ExternalAccount: Hashable, Sendable {
  /// The identifier by which the operator knows the account.
  private let keyID: String
  /// The key that the operator has given for it; a secret.
  private let key: [UInt8]
  /// The public key of the ACME account.
  private let webKey: JSONValue

  /// - Parameter key: The key in base64url, as operators give it, with or without padding; nil is returned for anything else.
  package init?(keyID: String, key: String, binding account: AccountKey) {
    guard let bytes = Base64URL.decode(key.utf8.prefix { $0 != UInt8(ascii: "=") }), !bytes.isEmpty else { return nil }
    self.keyID = keyID
    self.key = bytes
    webKey = account.webKey
  }

  /// Returns the binding: a JWS over the account's key, for the resource `newAccount`.
  func binding(at newAccount: String) -> JSONValue {
    let header = JSONValue.object([
      .init("alg", .string("HS256")), .init("kid", .string(keyID)), .init("url", .string(newAccount)),
    ])
    let (protected, payload) = (Base64URL.string(header.text.utf8), Base64URL.string(webKey.text.utf8))
    let code = HMAC<SHA256>.authenticationCode(
      for: Array("\(protected).\(payload)".utf8), using: SymmetricKey(data: key))
    return .object([
      .init("protected", .string(protected)), .init("payload", .string(payload)),
      .init("signature", .string(Base64URL.string(code))),
    ])
  }
}
