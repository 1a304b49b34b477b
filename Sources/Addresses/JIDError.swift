/// One of the three parts of a JID (RFC 7622 3.1).
public enum JIDPart: String, Hashable, Sendable, CaseIterable {
  case local, domain, resource
}

/// The reason why a string is not a JID. A stanza with such a string is answered with `jid-malformed` (RFC 7622 4, RFC
/// 6120 8.3.3.8).
public enum JIDError: Error, Hashable, Sendable {
  /// The part is there but has no octets, or is required and missing.
  case empty(JIDPart)
  /// The part is longer than `AddressLimits.partBytes` octets.
  case tooLong(JIDPart)
  /// The part holds a character that its profile forbids, everywhere or in this place.
  case disallowed(JIDPart, Unicode.Scalar)
  /// The part mixes writing directions in a way RFC 5893 2 forbids.
  case bidi(JIDPart)
  /// The profile's rules do not settle on one string (RFC 8264 7).
  case unstable(JIDPart)
  /// The part's structure is wrong: an empty DNS label or a long one, a hyphen at a label's end, a false A-label or IP literal.
  case malformed(JIDPart)
  /// A JID without this part was asked for.
  case unexpected(JIDPart)
  /// The octets are not UTF-8.
  case notUTF8
}

extension JIDError: CustomStringConvertible {
  /// The error as one line for a log or a terminal.
  public var description: String {
    switch self {
    case .empty(let part): "the \(part.rawValue)part is empty or missing"
    case .tooLong(let part): "the \(part.rawValue)part is longer than \(AddressLimits.partBytes) octets"
    case .disallowed(let part, let scalar):
      "the \(part.rawValue)part holds U+\(String(scalar.value, radix: 16, uppercase: true)), which is not allowed there"
    case .bidi(let part): "the \(part.rawValue)part mixes writing directions"
    case .unstable(let part): "the \(part.rawValue)part has no stable normal form"
    case .malformed(let part): "the \(part.rawValue)part is malformed"
    case .unexpected(let part): "a \(part.rawValue)part is not expected here"
    case .notUTF8: "the address is not UTF-8"
    }
  }

  init(_ error: PrecisError, in part: JIDPart) {
    self =
      switch error {
      case .empty: .empty(part)
      case .tooLong: .tooLong(part)
      case .disallowed(let scalar): .disallowed(part, scalar)
      case .bidi: .bidi(part)
      case .unstable: .unstable(part)
      }
  }
}
