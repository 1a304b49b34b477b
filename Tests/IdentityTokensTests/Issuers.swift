import Basics
import Crypto
import CryptoExtras
import Dialogs
import Foundation
import Synchronization

@testable import IdentityTokens

/// Makes tokens, right and wrong ones.
struct Issuer {
  enum Key {
    case secret([UInt8])
    case rsa(_RSA.Signing.PrivateKey)
    case curve(P256.Signing.PrivateKey)
    /// The token has no signature.
    case none
  }
  let key: Key

  static let secret = Array("a secret that backend and server have".utf8)
  static let other = Array("another secret, which nobody here has".utf8)
  static let rsa: _RSA.Signing.PrivateKey = {
    guard let key = try? _RSA.Signing.PrivateKey(keySize: .bits2048) else { fatalError("no key") }
    return key
  }()
  static let curve = P256.Signing.PrivateKey()

  func token(_ header: [String: Any?], _ claims: [String: Any?]) throws -> String {
    try token(header: json(header), claims: json(claims))
  }

  func token(header: String, claims: String) throws -> String {
    let body = Array("\(base64(Array(header.utf8))).\(base64(Array(claims.utf8)))".utf8)
    let signature: [UInt8] =
      switch key {
      case .secret(let secret):
        Array(HMAC<SHA256>.authenticationCode(for: body, using: SymmetricKey(data: secret)))
      case .rsa(let key):
        Array(try key.signature(for: SHA256.hash(data: body), padding: .insecurePKCS1v1_5).rawRepresentation)
      case .curve(let key): Array(try key.signature(for: SHA256.hash(data: body)).rawRepresentation)
      case .none: []
      }
    return String(decoding: body, as: UTF8.self) + "." + base64(signature)
  }

  /// `nil` takes a member out.
  private func json(_ members: [String: Any?]) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: members.compactMapValues { $0 }), as: UTF8.self)
  }
}

func base64(_ bytes: [UInt8]) -> String {
  Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
}

/// The key sets, as a provider publishes them.
enum JWKSet {
  static func rsa(_ key: _RSA.Signing.PublicKey, _ id: String?, more: [String: String] = [:]) throws -> [String: String]
  {
    let numbers = try key.getKeyPrimitives()
    return member(
      ["kty": "RSA", "n": base64(Array(numbers.modulus)), "e": base64(Array(numbers.publicExponent))], id, more)
  }

  static func curve(_ key: P256.Signing.PublicKey, _ id: String?, more: [String: String] = [:]) -> [String: String] {
    let bytes = Array(key.rawRepresentation)
    return member(
      ["kty": "EC", "crv": "P-256", "x": base64(Array(bytes[..<32])), "y": base64(Array(bytes[32...]))], id, more)
  }

  private static func member(_ key: [String: String], _ id: String?, _ more: [String: String]) -> [String: String] {
    key.merging(id.map { ["kid": $0] } ?? [:]) { _, new in new }.merging(more) { _, new in new }
  }

  static func text(_ keys: [[String: String]]) throws -> [UInt8] {
    Array(try JSONSerialization.data(withJSONObject: ["keys": keys]))
  }
}

final class HandClock: Clock {
  private let time = Mutex(Timestamp(milliseconds: 1_700_000_000_000))
  var now: Timestamp { time.withLock { $0 } }
  var seconds: Int64 { now.milliseconds / 1_000 }
  func advance(_ seconds: Int64) { time.withLock { $0 = Timestamp(milliseconds: $0.milliseconds + seconds * 1_000) } }
}

/// The documents that other servers publish; requests are counted.
final class Web: DocumentSource {
  private struct State {
    var documents: [String: Document] = [:]
    var asked: [String] = []
    var beforeSend: CheckedContinuation<Void, Never>?
    var isGated = false
    var onGate: CheckedContinuation<Void, Never>?
  }
  private let state = Mutex(State())
  var asked: [String] { state.withLock { $0.asked } }
  func put(_ url: String, _ document: Document?) { state.withLock { $0.documents[url] = document } }

  func document(at url: String, bytesMax: Int) async -> Document? {
    state.withLock {
      $0.asked.append(url)
      return $0.documents[url]
    }
  }
}
