// HT (draft-schmaus-kitten-sasl-ht-09): a client proves by one message that it knows a token, and the server by its
// answer that it does too. Neither sends the token itself.
//
//   client   authcid NUL HMAC(token, "Initiator" || cb-data)
//   server   HMAC(token, "Responder" || cb-data)
//
// There is no challenge in it, so an attacker who reads the client's message can use it again: it is for TLS only, and
// better if it contains the connection's own bytes (cb-data).

import Crypto
import XMLStream

/// The offered mechanisms of HT, the better first: their names and channel bindings.
public enum HashedTokenMechanism: Sendable, Hashable, CaseIterable {
  case exporter
  case endPoint
  case none

  public var name: StaticString {
    switch self {
    case .exporter: "HT-SHA-256-EXPR"
    case .endPoint: "HT-SHA-256-ENDP"
    case .none: "HT-SHA-256-NONE"
    }
  }

  /// The type of `ChannelBinding`; `nil` if nothing is bound.
  public var bindingType: String? {
    switch self {
    case .exporter: ChannelBinding.exporterType
    case .endPoint: ChannelBinding.endPointType
    case .none: nil
    }
  }

  /// The conditions that a stream must meet.
  var needs: StreamConditions {
    switch self {
    case .exporter: .exporting
    case .endPoint: .certified
    case .none: []
    }
  }
}

/// A client's `<fast/>` (XEP-0484 0.2.0, 3.4): its mechanism uses a token.
public struct TokenUse: Sendable, Equatable {
  /// A count that is higher at each use; `nil` if not given.
  public let count: Int64?
  /// Whether the token is invalid from now on (3.6).
  public let invalidates: Bool

  public init(count: Int64?, invalidates: Bool) {
    self.count = count
    self.invalidates = invalidates
  }

  init(_ element: Element) throws(SASLFailure) {
    if let text = element["count"] {
      guard let count = Int64(text), count >= 0 else {
        throw SASLFailure(.malformedRequest, "the count of <fast/> is no number")
      }
      self.count = count
    } else {
      count = nil
    }
    switch element["invalidate"] {
    case nil, "false", "0": invalidates = false
    case "true", "1": invalidates = true
    default: throw SASLFailure(.malformedRequest, "'invalidate' is true or false")
    }
  }
}

/// The client's message.
struct HashedTokenMessage: Sendable, Equatable {
  let authcid: String
  let hash: [UInt8]

  init?(_ message: [UInt8]) {
    guard let end = message.firstIndex(of: 0), end > 0, end <= XMPPLimits.saslFieldBytesMax,
      message.count - end - 1 == SHA256.byteCount,
      let authcid = String(validating: message[..<end], as: UTF8.self)
    else { return nil }
    self.authcid = authcid
    hash = Array(message[(end + 1)...])
  }
}

/// A client's proof that it knows a token.
public struct TokenProof: Sendable, Equatable {
  /// The prepared name.
  public let username: String
  /// The installation's UUID, in lower case.
  public let agent: String
  public let mechanism: HashedTokenMechanism
  public let use: TokenUse
  /// The mechanism for which another token is requested.
  public let wanted: String?
  let hash: [UInt8]
  /// The binding of the connection; empty if the mechanism binds nothing.
  let binding: [UInt8]

  public init(
    username: String, agent: String, mechanism: HashedTokenMechanism, use: TokenUse, wanted: String? = nil,
    hash: [UInt8],
    binding: [UInt8] = []
  ) {
    self.username = username
    self.agent = agent
    self.mechanism = mechanism
    self.use = use
    self.wanted = wanted
    self.hash = hash
    self.binding = binding
  }

  /// Returns whether the proof is of this token, in constant time (XEP-0484 6).
  public func fits(_ token: String) -> Bool {
    HMAC<SHA256>.isValidAuthenticationCode(
      hash, authenticating: Array("Initiator".utf8) + binding, using: SymmetricKey(data: Array(token.utf8)))
  }

  /// Returns the proof for the client that the server knows the token.
  public func answer(_ token: String) -> [UInt8] {
    Self.hash("Responder", token, binding)
  }

  /// Returns a client's message; for scripted clients and tests.
  public static func message(username: String, token: String, binding: [UInt8] = []) -> [UInt8] {
    Array(username.utf8) + [0] + hash("Initiator", token, binding)
  }

  private static func hash(_ side: String, _ token: String, _ binding: [UInt8]) -> [UInt8] {
    Array(
      HMAC<SHA256>.authenticationCode(
        for: Array(side.utf8) + binding, using: SymmetricKey(data: Array(token.utf8))))
  }
}
