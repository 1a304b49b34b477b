/// A violation of XML by a peer. Each case is one stream error condition of RFC 6120 4.9.3; the text of a case names
/// the broken rule and is meant for logs and the error's `<text/>`, not for decisions.
public enum XMLViolation: Error, Sendable, Equatable {
  /// The bytes break the well-formedness rules of XML or of Namespaces in XML (RFC 6120 4.9.3.13, 11.3).
  case notWellFormed(String)
  /// There is a comment, processing instruction, DTD, or a reference to an entity other than the five predefined ones
  /// (RFC 6120 4.9.3.18, 11.1).
  case restricted(String)
  /// It is not UTF-8, or declared as something else than XML 1.0 in UTF-8 (RFC 6120 4.9.3.22, 11.6, 11.8).
  case unsupportedEncoding
  /// A prefix has no declaration in scope (RFC 6120 4.9.3.2).
  case badNamespacePrefix
  /// A bound of ``ReaderLimits`` was passed (RFC 6120 4.9.3.14, 13.12).
  case limit(String)

  /// The name of the stream error's condition element, in the namespace `urn:ietf:params:xml:ns:xmpp-streams` (RFC 6120
  /// 4.9.3).
  public var condition: StaticString {
    switch self {
    case .notWellFormed: "not-well-formed"
    case .restricted: "restricted-xml"
    case .unsupportedEncoding: "unsupported-encoding"
    case .badNamespacePrefix: "bad-namespace-prefix"
    case .limit: "policy-violation"
    }
  }
}

extension XMLViolation: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notWellFormed(let rule): "not well-formed: \(rule)"
    case .restricted(let feature): "restricted XML: \(feature)"
    case .unsupportedEncoding: "not XML 1.0 in UTF-8"
    case .badNamespacePrefix: "namespace prefix not declared"
    case .limit(let bound): "limit passed: \(bound)"
    }
  }
}
