// SCRAM (RFC 5802; RFC 7677 for SHA-256), pure: messages in, messages out.
//
// Four messages. The client names itself and sends a nonce (client-first). The server answers with its own nonce
// appended, the user's salt and iteration count (server-first). The client proves that it knows the password
// (client-final): the proof is ClientKey XOR HMAC(StoredKey, AuthMessage), where AuthMessage joins the messages so far.
// The server recovers ClientKey, hashes it and compares it with StoredKey; then it proves itself with HMAC(ServerKey,
// AuthMessage) (server-final). A password never travels, and a stolen StoredKey opens nothing.
//
// An unknown user goes the same way with made-up keys (`SCRAMDecoy`): the same messages, the same work, the same salt
// each time, and a proof that never fits.

import Basics
import Crypto

/// The SCRAM mechanisms, strongest first. Each is offered with channel binding (`-PLUS`) and without.
public enum SCRAMMechanism: UInt8, Sendable, CaseIterable {
  case sha512
  case sha256
  case sha1

  /// The SASL name (RFC 5802 4).
  public var name: StaticString {
    switch self {
    case .sha512: "SCRAM-SHA-512"
    case .sha256: "SCRAM-SHA-256"
    case .sha1: "SCRAM-SHA-1"
    }
  }

  /// The SASL name with channel binding (RFC 5802 4).
  public var boundName: StaticString {
    switch self {
    case .sha512: "SCRAM-SHA-512-PLUS"
    case .sha256: "SCRAM-SHA-256-PLUS"
    case .sha1: "SCRAM-SHA-1-PLUS"
    }
  }

  /// The length of a key, in bytes.
  public var byteCount: Int {
    switch self {
    case .sha512: SHA512Digest.byteCount
    case .sha256: SHA256Digest.byteCount
    case .sha1: Insecure.SHA1Digest.byteCount
    }
  }
}

/// The keys of one password (RFC 5802 3).
public struct SCRAMKeyPair: Sendable, Equatable {
  public var storedKey: [UInt8]
  public var serverKey: [UInt8]

  public init(storedKey: [UInt8], serverKey: [UInt8]) {
    self.storedKey = storedKey
    self.serverKey = serverKey
  }
}

/// The data that a server stores of a user's password for SCRAM (RFC 5802 3).
public struct SCRAMCredentials: Sendable, Equatable {
  public var salt: [UInt8]
  public var iterations: Int
  public var storedKey: [UInt8]
  public var serverKey: [UInt8]
  /// The keys of further passwords of the user, under the same salt and iterations.
  public var alternatives: [SCRAMKeyPair]

  public init(
    salt: [UInt8], iterations: Int, storedKey: [UInt8], serverKey: [UInt8], alternatives: [SCRAMKeyPair] = []
  ) {
    self.salt = salt
    self.iterations = iterations
    self.storedKey = storedKey
    self.serverKey = serverKey
    self.alternatives = alternatives
  }
}

/// Makes credentials for unknown users. The same name always has the same salt, derived from a secret of the server, so
/// that neither one answer nor two reveal whether an account exists (RFC 6120 6.5.10).
public struct SCRAMDecoy: Sendable, Equatable {
  /// The secret: at least 16 random bytes that stay the same over restarts.
  public var secret: [UInt8]
  /// The iterations of new accounts; an account made under another number can still be told apart from a decoy.
  public var iterations: Int
  /// The length of real salts, in bytes.
  public var saltByteCount: Int

  public init(secret: [UInt8], iterations: Int = 4096, saltByteCount: Int = 16) {
    self.secret = secret
    self.iterations = iterations
    self.saltByteCount = saltByteCount
  }

  /// Returns the made-up credentials of a user, whose name is prepared.
  public func credentials(for username: String, mechanism: SCRAMMechanism) -> SCRAMCredentials {
    func bytes(_ label: String, _ count: Int) -> [UInt8] {
      let message = Array("\(label)\0\(mechanism.name)\0\(username)".utf8)
      return Array(SCRAMMechanism.sha512.hmac(key: secret, message).prefix(count))
    }
    return SCRAMCredentials(
      salt: bytes("salt", min(saltByteCount, SCRAMMechanism.sha512.byteCount)), iterations: iterations,
      storedKey: bytes("stored", mechanism.byteCount), serverKey: bytes("server", mechanism.byteCount))
  }
}

/// The fault of a peer's message.
public enum SCRAMFault: Error, Sendable, Equatable {
  /// It breaks the syntax of RFC 5802 7.
  case malformed
  /// It requires an extension by `m=` (RFC 5802 5.1).
  case extensionRequired
  /// It asks for channel binding where there is none, for none where it is required, for an unknown type, or its `c=`
  /// is not what was sent first and what TLS says (RFC 5802 6).
  case channelBinding
  /// It claims that no channel binding was offered although it was: the offer was changed on its way (RFC 5802 6).
  case downgraded
  /// The nonce is not that of this exchange.
  case nonce
  /// The proof or signature does not fit: a wrong password, or none.
  case proof
}

/// The client's first message (RFC 5802 7, `client-first-message`).
public struct SCRAMClientFirst: Sendable, Equatable {
  /// The client's statement on channel binding (`gs2-cbind-flag`).
  public enum BindingFlag: Sendable, Equatable {
    /// `n`: the client supports none.
    case unsupported
    /// `y`: it supports it, and sees none offered.
    case unoffered
    /// `p=`: it uses this type.
    case used(type: String)
  }

  public let bindingFlag: BindingFlag
  /// The name to authenticate, unescaped and not yet prepared.
  public let username: String
  /// The identity to act as, unescaped; `nil` if absent.
  public let authzid: String?
  /// The client's nonce.
  public let nonce: [UInt8]
  /// The message up to the second comma, as received.
  public let gs2Header: [UInt8]
  /// The rest, as received: the hash covers it byte by byte (RFC 5802 5.1).
  public let bare: [UInt8]

  /// Parses a decoded SASL message.
  public init(_ message: [UInt8]) throws(SCRAMFault) {
    guard String(validating: message, as: UTF8.self) != nil, !message.contains(0) else { throw .malformed }
    let comma = UInt8(ascii: ",")
    guard let first = message.firstIndex(of: comma),
      let second = message[(first + 1)...].firstIndex(of: comma)
    else { throw .malformed }
    switch message[..<first] {
    case [UInt8(ascii: "n")]: bindingFlag = .unsupported
    case [UInt8(ascii: "y")]: bindingFlag = .unoffered
    case let flag where flag.starts(with: Array("p=".utf8)) && flag.count > 2:
      bindingFlag = .used(type: String(decoding: flag.dropFirst(2), as: UTF8.self))
    default: throw .malformed
    }
    let authorization = message[(first + 1)..<second]
    if authorization.isEmpty {
      authzid = nil
    } else {
      guard authorization.starts(with: Array("a=".utf8)) else { throw .malformed }
      authzid = try Self.unescape(authorization.dropFirst(2))
    }
    gs2Header = Array(message[...second])
    bare = Array(message[(second + 1)...])

    let attributes = try SCRAMAttributes(bare)
    guard attributes.list.count >= 2, attributes.list[0].name == UInt8(ascii: "n"),
      attributes.list[1].name == UInt8(ascii: "r")
    else { throw .malformed }
    username = try Self.unescape(attributes.list[0].value)
    nonce = Array(attributes.list[1].value)
    guard nonce.count <= XMPPLimits.scramNonceBytesMax, nonce.allSatisfy(SCRAMAttributes.isPrintable) else {
      throw .malformed
    }
  }

  /// Reads a `saslname` (RFC 5802 7): `=2C` is a comma, `=3D` an equals sign, any other `=` an error.
  static func unescape(_ value: ArraySlice<UInt8>) throws(SCRAMFault) -> String {
    guard !value.isEmpty, value.count <= 3 * XMPPLimits.saslFieldBytesMax else { throw .malformed }
    var bytes: [UInt8] = []
    var rest = value
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "=") else {
        bytes.append(byte)
        continue
      }
      if rest.starts(with: Array("2C".utf8)) {
        bytes.append(UInt8(ascii: ","))
      } else if rest.starts(with: Array("3D".utf8)) {
        bytes.append(UInt8(ascii: "="))
      } else {
        throw .malformed
      }
      rest = rest.dropFirst(2)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The server's side of one exchange, from the moment the user's keys are known.
public struct SCRAMExchange: Sendable, Equatable {
  public let mechanism: SCRAMMechanism
  /// The server-first-message, to be sent.
  public let challenge: [UInt8]

  /// The required value of `c=`: the client's GS2 header, followed by the channel binding.
  private let channelBinding: [UInt8]
  private let clientFirstBare: [UInt8]
  private let nonce: [UInt8]
  /// The keys; the first are the account's own.
  private let keys: [SCRAMKeyPair]

  ///
  /// - Parameters:
  ///   - nonce: the server's part: random printable ASCII without commas, at least 18 characters, new each time.
  ///   - channelBinding: the binding of the type that the client's flag names; `nil` if it names none.
  ///   - offer: the offer to the client; `nil` to leave its hash out.
  public init(
    mechanism: SCRAMMechanism, first: SCRAMClientFirst, nonce: String, credentials: SCRAMCredentials,
    channelBinding: ChannelBinding? = nil, offer: SASLOffer? = nil
  ) {
    self.mechanism = mechanism
    self.channelBinding = first.gs2Header + (channelBinding?.data ?? [])
    self.clientFirstBare = first.bare
    self.nonce = first.nonce + Array(nonce.utf8)
    self.keys =
      [SCRAMKeyPair(storedKey: credentials.storedKey, serverKey: credentials.serverKey)] + credentials.alternatives
    self.challenge =
      Array("r=".utf8) + self.nonce + Array(",s=".utf8) + Base64.encode(credentials.salt)
      + Array(",i=\(credentials.iterations)".utf8)
      + (offer.map { Array(",h=".utf8) + Base64.encode($0.digest(mechanism)) } ?? [])
  }

  /// Checks the client-final-message.
  ///
  /// - Returns: the server-final-message, to be sent with the success.
  public func finish(_ message: [UInt8]) throws(SCRAMFault) -> [UInt8] { try verify(message).data }

  /// Checks the message like `finish`. Also returns which of the passwords it was: 0 for the account's own, otherwise
  /// one of the alternatives, counted from 1.
  public func verify(_ message: [UInt8]) throws(SCRAMFault) -> (data: [UInt8], password: Int) {
    guard String(validating: message, as: UTF8.self) != nil, !message.contains(0) else { throw .malformed }
    let attributes = try SCRAMAttributes(message)
    guard attributes.list.count >= 3, attributes.list[0].name == UInt8(ascii: "c"),
      attributes.list[1].name == UInt8(ascii: "r"), let last = attributes.list.last, last.name == UInt8(ascii: "p"),
      let binding = Base64.decode(attributes.list[0].value), let proof = Base64.decode(last.value)
    else { throw .malformed }
    guard binding == channelBinding else { throw .channelBinding }
    guard Array(attributes.list[1].value) == nonce else { throw .nonce }
    guard proof.count == mechanism.byteCount else { throw .proof }
    // The proof is the last attribute: ",p=" and its value.
    let withoutProof = message[..<(last.value.startIndex - 3)]
    let comma = UInt8(ascii: ",")
    let authMessage = clientFirstBare + [comma] + challenge + [comma] + withoutProof
    // All are tried, so that the time taken does not reveal which it was.
    var found: Int?
    for (index, key) in keys.enumerated() where key.storedKey.count == mechanism.byteCount {
      let signature = mechanism.hmac(key: key.storedKey, authMessage)
      let clientKey = zip(proof, signature).map { $0 ^ $1 }
      if mechanism.hash(of: clientKey, equals: key.storedKey) { found = index }
    }
    guard let found else { throw .proof }
    return (Array("v=".utf8) + Base64.encode(mechanism.hmac(key: keys[found].serverKey, authMessage)), found)
  }
}

/// A message as its list of attributes (RFC 5802 5.1): one letter, `=`, a value without commas.
package struct SCRAMAttributes {
  package let list: [(name: UInt8, value: ArraySlice<UInt8>)]

  package init(_ message: [UInt8]) throws(SCRAMFault) {
    guard message.count <= XMPPLimits.saslMessageBytesMax else { throw .malformed }
    var list: [(name: UInt8, value: ArraySlice<UInt8>)] = []
    for part in message.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      let value = part.dropFirst(2)
      guard let name = part.first, Self.isLetter(name), part.dropFirst().first == UInt8(ascii: "="), !value.isEmpty
      else {
        throw .malformed
      }
      if name == UInt8(ascii: "m") { throw .extensionRequired }
      list.append((name, value))
    }
    self.list = list
  }

  static func isPrintable(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: ",") }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
  }
}

extension SCRAMMechanism {
  package func hmac(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    let key = SymmetricKey(data: key)
    switch self {
    case .sha512: return Array(HMAC<SHA512>.authenticationCode(for: message, using: key))
    case .sha256: return Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
    case .sha1: return Array(HMAC<Insecure.SHA1>.authenticationCode(for: message, using: key))
    }
  }

  package func hash(_ data: [UInt8]) -> [UInt8] {
    switch self {
    case .sha512: Array(SHA512.hash(data: data))
    case .sha256: Array(SHA256.hash(data: data))
    case .sha1: Array(Insecure.SHA1.hash(data: data))
    }
  }

  /// Compares in constant time, as the library's digest equality does.
  func hash(of data: [UInt8], equals expected: [UInt8]) -> Bool {
    switch self {
    case .sha512: SHA512.hash(data: data) == expected
    case .sha256: SHA256.hash(data: data) == expected
    case .sha1: Insecure.SHA1.hash(data: data) == expected
    }
  }
}
