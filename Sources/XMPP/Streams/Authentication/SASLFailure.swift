public import XMLStream

/// The reason why a SASL handshake failed (RFC 6120 6.5).
public struct SASLFailure: Error, Sendable, Equatable {
  public var condition: Condition
  /// The text, which may be shown to a person beside the condition (RFC 6120 6.5).
  public var text: String?

  public init(_ condition: Condition, _ text: String? = nil) {
    self.condition = condition
    self.text = text
  }

  /// The defined conditions, in the order of the RFC.
  public enum Condition: UInt8, Sendable, CaseIterable {
    case aborted
    case accountDisabled
    case credentialsExpired
    case encryptionRequired
    case incorrectEncoding
    case invalidAuthzid
    case invalidMechanism
    case malformedRequest
    case mechanismTooWeak
    case notAuthorized
    case temporaryAuthFailure

    /// The local name of the condition's element.
    public var text: StaticString {
      switch self {
      case .aborted: "aborted"
      case .accountDisabled: "account-disabled"
      case .credentialsExpired: "credentials-expired"
      case .encryptionRequired: "encryption-required"
      case .incorrectEncoding: "incorrect-encoding"
      case .invalidAuthzid: "invalid-authzid"
      case .invalidMechanism: "invalid-mechanism"
      case .malformedRequest: "malformed-request"
      case .mechanismTooWeak: "mechanism-too-weak"
      case .notAuthorized: "not-authorized"
      case .temporaryAuthFailure: "temporary-auth-failure"
      }
    }
  }

  /// Writes `<failure/>` (RFC 6120 6.5, XEP-0388 2.6.2), whose conditions are the same in both profiles.
  public func write(_ profile: SASLProfile = .core, into writer: inout ElementWriter) {
    writer.element(Name("failure", profile.namespace)) { writer in
      writer.element(Name(condition.text, NS.sasl))
      if let text {
        writer.element(Name("text", profile.namespace)) { writer in
          writer.attribute("xml:lang", "en" as StaticString)
          writer.text(text)
        }
      }
    }
  }

  /// Reads a server's `<failure/>`; `nil` if the element is none. An unknown condition is `not-authorized` (RFC 6120
  /// 6.5).
  public init?(_ element: Element) {
    guard element.is(.saslFailure) else { return nil }
    var condition: Condition?
    var text: String?
    for child in element.children where child.namespace == String(describing: NS.sasl) {
      let local = child.local
      if local == "text" {
        text = text ?? child.text
      } else {
        condition = condition ?? Condition.allCases.first { String(describing: $0.text) == local }
      }
    }
    self.init(condition ?? .notAuthorized, text)
  }
}
