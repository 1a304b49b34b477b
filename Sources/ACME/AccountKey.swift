import Basics
package import Crypto
import JSON

/// The key of an account with an authority. Requests are signed with it (RFC 8555 6.2), and what proves the control of
/// a name contains its fingerprint.
package struct AccountKey: Sendable {
  package let key: P256.Signing.PrivateKey

  package init(_ key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()) { self.key = key }

  /// The public key as a JSON Web Key (RFC 7518 6.2.1), with the members that a fingerprint needs, in its order.
  var webKey: JSONValue {
    let point = key.publicKey.rawRepresentation
    return .object([
      .init("crv", .string("P-256")), .init("kty", .string("EC")),
      .init("x", .string(Base64URL.string(point.prefix(32)))), .init("y", .string(Base64URL.string(point.suffix(32)))),
    ])
  }

  /// The fingerprint of the key (RFC 7638 3).
  package var thumbprint: String { Base64URL.string(SHA256.hash(data: Array(webKey.text.utf8))) }

  /// Returns a request's body: a JWS in the flattened form (RFC 7515 7.2.2) with the header of RFC 8555 6.2.
  ///
  /// - Parameter certificateRequest: Returns the request for a certificate in DER, for the names of `Payload.request`.
  package func sign(
    _ request: SignedRequest, certificateRequest: ([String]) throws -> [UInt8]
  ) throws -> [UInt8] {
    let payload: String
    switch request.payload {
    case .none: payload = ""
    case .json(let value): payload = Base64URL.string(value.text.utf8)
    case .request(let names):
      let request = JSONValue.object([.init("csr", .string(Base64URL.string(try certificateRequest(names))))])
      payload = Base64URL.string(request.text.utf8)
    }
    let signer = request.account.map { JSONValue.Member("kid", .string($0)) } ?? .init("jwk", webKey)
    let header = JSONValue.object([
      .init("alg", .string("ES256")), signer, .init("nonce", .string(request.nonce)),
      .init("url", .string(request.url)),
    ])
    let protected = Base64URL.string(header.text.utf8)
    // R followed by S (RFC 7518 3.4).
    let signature = try key.signature(for: Array("\(protected).\(payload)".utf8)).rawRepresentation
    let body = JSONValue.object([
      .init("protected", .string(protected)), .init("payload", .string(payload)),
      .init("signature", .string(Base64URL.string(signature))),
    ])
    return Array(body.text.utf8)
  }
}

/// The response to a challenge, which this server shows to prove the control of a name.
package struct ChallengeResponse: Hashable, Sendable {
  package let name: String
  package let kind: ChallengeKind
  package let token: String
  /// The key authorization (RFC 8555 8.1).
  package let authorization: String

  init(name: String, _ challenge: Authorization.Challenge, thumbprint: String) {
    self.name = name
    kind = challenge.kind
    token = challenge.token
    authorization = "\(challenge.token).\(thumbprint)"
  }
}
