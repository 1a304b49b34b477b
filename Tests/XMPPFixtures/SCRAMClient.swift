import Basics
import CryptoExtras
public import XMPP

/// The client's side of SCRAM (RFC 5802), for players and tests. It derives the keys itself, so it blocks for milliseconds.
public struct SCRAMClient: Sendable {
  public let mechanism: SCRAMMechanism
  /// The client-first-message, to be sent.
  public let first: [UInt8]

  private let gs2Header: [UInt8]
  private let channelBinding: [UInt8]
  private let nonce: [UInt8]
  private let password: String
  private var expected: [UInt8]?

  /// Creates the client.
  ///
  /// - Parameters:
  ///   - password: The password, prepared with OpaqueString.
  ///   - nonce: Random printable ASCII without commas.
  ///   - authzid: The identity to act as; `nil` for the user.
  ///   - channelBinding: The binding, for a mechanism with channel binding.
  public init(
    mechanism: SCRAMMechanism, username: String, password: String, nonce: String, authzid: String? = nil,
    channelBinding: ChannelBinding? = nil
  ) {
    self.mechanism = mechanism
    self.password = password
    self.nonce = Array(nonce.utf8)
    self.channelBinding = channelBinding?.data ?? []
    gs2Header =
      Array((channelBinding.map { "p=\($0.type)," } ?? "n,").utf8)
      + (authzid.map { Array("a=".utf8) + Self.escaped($0) } ?? []) + Array(",".utf8)
    first = gs2Header + Array("n=".utf8) + Self.escaped(username) + Array(",r=".utf8) + self.nonce
  }

  /// Answers the server-first-message with the client-final-message.
  public mutating func respond(to challenge: [UInt8]) throws(SCRAMFault) -> [UInt8] {
    let attributes = try SCRAMAttributes(challenge)
    guard attributes.list.count >= 3, attributes.list[0].name == UInt8(ascii: "r"),
      attributes.list[1].name == UInt8(ascii: "s"), attributes.list[2].name == UInt8(ascii: "i"),
      let salt = Base64.decode(attributes.list[1].value), !salt.isEmpty,
      let iterations = Int(String(decoding: attributes.list[2].value, as: UTF8.self)),
      (1...1_000_000).contains(iterations)
    else { throw .malformed }
    let fullNonce = Array(attributes.list[0].value)
    guard fullNonce.starts(with: nonce), fullNonce.count > nonce.count else { throw .nonce }

    let salted = mechanism.saltedPassword(Array(password.utf8), salt: salt, iterations: iterations)
    let clientKey = mechanism.hmac(key: salted, Array("Client Key".utf8))
    let withoutProof = Array("c=".utf8) + Base64.encode(gs2Header + channelBinding) + Array(",r=".utf8) + fullNonce
    let comma = [UInt8(ascii: ",")]
    let authMessage = Array(first.dropFirst(gs2Header.count)) + comma + challenge + comma + withoutProof
    let signature = mechanism.hmac(key: mechanism.hash(clientKey), authMessage)
    let proof = zip(clientKey, signature).map { $0 ^ $1 }
    expected = mechanism.hmac(key: mechanism.hmac(key: salted, Array("Server Key".utf8)), authMessage)
    return withoutProof + Array(",p=".utf8) + Base64.encode(proof)
  }

  /// Checks the server-final-message: whether the server knows the keys too.
  public func verify(_ final: [UInt8]) throws(SCRAMFault) {
    let attributes = try SCRAMAttributes(final)
    guard let verifier = attributes.list.first, verifier.name == UInt8(ascii: "v"),
      let signature = Base64.decode(verifier.value)
    else { throw .malformed }
    guard let expected, signature == expected else { throw .proof }
  }

  /// Returns the name as a `saslname` (RFC 5802 7).
  private static func escaped(_ name: String) -> [UInt8] {
    var bytes: [UInt8] = []
    for byte in name.utf8 {
      switch byte {
      case UInt8(ascii: ","): bytes += Array("=2C".utf8)
      case UInt8(ascii: "="): bytes += Array("=3D".utf8)
      default: bytes.append(byte)
      }
    }
    return bytes
  }
}

extension SCRAMMechanism {
  /// Returns `Hi` (RFC 5802 2.2): PBKDF2 of one block. The library derives it, since a debug build's own rounds took a fifth of
  /// the plays' time.
  package func saltedPassword(_ password: [UInt8], salt: [UInt8], iterations: Int) -> [UInt8] {
    let function: KDF.Insecure.PBKDF2.HashFunction =
      switch self {
      case .sha1: .insecureSHA1
      case .sha256: .sha256
      case .sha512: .sha512
      }
    let key = try? KDF.Insecure.PBKDF2.deriveKey(
      from: password, salt: salt, using: function, outputByteCount: byteCount, unsafeUncheckedRounds: iterations)
    return key?.withUnsafeBytes { Array($0) } ?? []
  }
}
