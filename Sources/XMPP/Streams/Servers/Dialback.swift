// Server dialback (XEP-0220): the two elements in both directions, and the key.
//
// Theory. A server that cannot prove a domain by certificate proves that it is reached under that domain: the
// initiating server sends a key (`<db:result/>`), the receiving server asks the authoritative server of the sender's
// domain for the key's validity on another stream (`<db:verify/>`), and answers with the outcome. The key is a keyed
// hash of both domains and of the stream's id (XEP-0185 2), so that the authoritative server needs no memory of it.

import Addresses
import Basics
import Crypto
public import XMLStream

/// Two domains in the direction in which stanzas flow: XEP-0220 1.3 calls them a domain pair.
public struct DirectedPair: Sendable, Hashable {
  /// The domain of the stanzas' `from`.
  public let sender: String
  /// The domain of the stanzas' `to`.
  public let target: String

  public init(sender: String, target: String) {
    self.sender = sender
    self.target = target
  }

  /// The same domains in the other direction.
  public var reversed: DirectedPair { DirectedPair(sender: target, target: sender) }
}

/// A `<db:result/>` or `<db:verify/>`.
public struct Dialback: Sendable, Equatable {
  public enum Step: Sendable, Equatable { case result, verify }

  public enum Content: Sendable, Equatable {
    /// A request, with its key.
    case key(String)
    case valid
    case invalid
    /// A dialback error, which does not end the stream (XEP-0220 2.4).
    case error(StanzaError.Condition)
  }

  public var step: Step
  public var from: String
  public var to: String
  /// The id of the stream on which the key was sent; only in `<db:verify/>`.
  public var id: String?
  public var content: Content

  public init(_ step: Step, from: String, to: String, id: String? = nil, _ content: Content) {
    self.step = step
    self.from = from
    self.to = to
    self.id = id
    self.content = content
  }

  /// Reads an element; `nil` if it is none of the two or lacks a domain or the id.
  public init?(_ element: Element) {
    if element.is(Self.result) {
      step = .result
    } else if element.is(Self.verify) {
      step = .verify
    } else {
      return nil
    }
    guard let from = element["from"].flatMap(JID.init(parsing:)), from.isDomain,
      let to = element["to"].flatMap(JID.init(parsing:)), to.isDomain
    else { return nil }
    self.from = from.domain
    self.to = to.domain
    id = step == .verify ? element["id"] : nil
    if step == .verify, id?.isEmpty != false { return nil }
    switch element["type"] {
    case nil:
      let key = element.text.split { $0.isWhitespace }
      guard key.count == 1, key[0].utf8.count <= XMPPLimits.dialbackKeyBytesMax else { return nil }
      content = .key(String(key[0]))
    case "valid": content = .valid
    case "invalid": content = .invalid
    case "error": content = .error(element.first(.error).map { StanzaError($0).condition } ?? .undefinedCondition)
    default: return nil
    }
  }

  /// Returns the answer to this request, with the domains swapped (XEP-0220 2.1.1, 2.2.2).
  public func answer(_ content: Content) -> Dialback { Dialback(step, from: to, to: from, id: id, content) }

  /// Writes the element with the prefix `db`, which the stream header declares and some servers insist on (XEP-0220
  /// 2.4.1).
  public func write(into writer: inout ElementWriter) {
    let name: StaticString = step == .result ? "db:result" : "db:verify"
    writer.raw("<")
    writer.raw(name)
    writer.rawAttribute(" from='", from)
    writer.rawAttribute(" to='", to)
    if let id { writer.rawAttribute(" id='", id) }
    switch content {
    case .key(let key):
      writer.raw(">")
      writer.text(key)
    case .valid: writer.raw(" type='valid'>")
    case .invalid: writer.raw(" type='invalid'>")
    case .error(let condition):
      writer.raw(" type='error'>")
      StanzaError(condition).write(into: &writer)
    }
    writer.raw("</")
    writer.raw(name)
    writer.raw(">")
  }

  private static let result = Name("result", NS.dialback)
  private static let verify = Name("verify", NS.dialback)
}

/// A key that is to be verified with the authoritative server of `pair.sender`.
public struct DialbackRequest: Sendable, Hashable {
  public let pair: DirectedPair
  /// The id of the stream on which the key was sent, which this server gave it.
  public let streamID: String
  public let key: String

  public init(pair: DirectedPair, streamID: String, key: String) {
    self.pair = pair
    self.streamID = streamID
    self.key = key
  }

  /// The question to the authoritative server (XEP-0220 2.1.2).
  public var question: Dialback {
    Dialback(.verify, from: pair.target, to: pair.sender, id: streamID, .key(key))
  }
}

/// The outcome of a verification, by a certificate or by calling back.
public enum DialbackVerdict: Sendable, Hashable {
  case valid
  case invalid
  case error(StanzaError.Condition)

  /// The content of an answer that tells it.
  public var content: Dialback.Content {
    switch self {
    case .valid: .valid
    case .invalid: .invalid
    case .error(let condition): .error(condition)
    }
  }
}

/// The secret of this server's dialback keys.
public struct DialbackSecret: Sendable {
  /// The secret's digest in hex, which is the key of the keyed hash (XEP-0185 2).
  private let digest: [UInt8]

  public init(_ secret: [UInt8]) { digest = Hex.encode(SHA256.hash(data: secret)) }

  /// Returns the key of a stream (XEP-0185 2).
  ///
  /// - Parameters:
  ///   - pair: the direction of the stanzas: `sender` is the domain that the key proves.
  ///   - streamID: the id that the receiving server gave the stream.
  public func key(of pair: DirectedPair, streamID: String) -> String {
    let text = "\(pair.target) \(pair.sender) \(streamID)"
    return Hex.string(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: digest)))
  }

  /// Returns whether a key of a verification request is this server's.
  func isKey(_ key: String, of pair: DirectedPair, streamID: String) -> Bool {
    Array(key.utf8).isEqualInConstantTime(to: Array(self.key(of: pair, streamID: streamID).utf8))
  }
}
