public import XMLStream

/// A stream error (RFC 6120 4.9): unrecoverable, sent once, followed by the end of the stream.
public struct StreamError: Error, Sendable, Equatable {
  public var condition: Condition
  /// The text for diagnosis only, in English (RFC 6120 4.9.2).
  public var text: String?
  /// An application-specific condition (RFC 6120 4.9.4).
  public var application: Element?
  /// The address of `see-other-host` (RFC 6120 4.9.3.19): `domainpart` or `domainpart:port`, IPv6 in brackets.
  public var otherHost: String?

  public init(_ condition: Condition, _ text: String? = nil, application: Element? = nil, otherHost: String? = nil) {
    self.condition = condition
    self.text = text
    self.application = application
    self.otherHost = otherHost
  }

  /// The defined conditions (RFC 6120 4.9.3), in the order of the RFC.
  public enum Condition: UInt8, Sendable, CaseIterable {
    case badFormat
    case badNamespacePrefix
    case conflict
    case connectionTimeout
    case hostGone
    case hostUnknown
    case improperAddressing
    case internalServerError
    case invalidFrom
    case invalidNamespace
    case invalidXML
    case notAuthorized
    case notWellFormed
    case policyViolation
    case remoteConnectionFailed
    case reset
    case resourceConstraint
    case restrictedXML
    case seeOtherHost
    case systemShutdown
    case undefinedCondition
    case unsupportedEncoding
    case unsupportedFeature
    case unsupportedStanzaType
    case unsupportedVersion

    /// The local name of the condition's element.
    public var text: StaticString {
      switch self {
      case .badFormat: "bad-format"
      case .badNamespacePrefix: "bad-namespace-prefix"
      case .conflict: "conflict"
      case .connectionTimeout: "connection-timeout"
      case .hostGone: "host-gone"
      case .hostUnknown: "host-unknown"
      case .improperAddressing: "improper-addressing"
      case .internalServerError: "internal-server-error"
      case .invalidFrom: "invalid-from"
      case .invalidNamespace: "invalid-namespace"
      case .invalidXML: "invalid-xml"
      case .notAuthorized: "not-authorized"
      case .notWellFormed: "not-well-formed"
      case .policyViolation: "policy-violation"
      case .remoteConnectionFailed: "remote-connection-failed"
      case .reset: "reset"
      case .resourceConstraint: "resource-constraint"
      case .restrictedXML: "restricted-xml"
      case .seeOtherHost: "see-other-host"
      case .systemShutdown: "system-shutdown"
      case .undefinedCondition: "undefined-condition"
      case .unsupportedEncoding: "unsupported-encoding"
      case .unsupportedFeature: "unsupported-feature"
      case .unsupportedStanzaType: "unsupported-stanza-type"
      case .unsupportedVersion: "unsupported-version"
      }
    }

    /// Reads the condition of an element; `nil` for an unknown name.
    public init?(_ element: Element) {
      guard element.namespace == String(describing: NS.streamErrors) else { return nil }
      let local = element.local
      guard let found = Self.allCases.first(where: { String(describing: $0.text) == local }) else { return nil }
      self = found
    }
  }

  /// Creates the error for bytes that broke a rule of XML (RFC 6120 4.9.3, 11). A stanza above a size limit also
  /// carries `stanza-too-big` (RFC 6120 4.9.3.14, XEP-0205).
  ///
  /// It is labelled because `.unsupportedEncoding` and `.badNamespacePrefix` name a condition, too.
  public init(violation: XMLViolation) {
    switch violation {
    case .notWellFormed(let rule): self.init(.notWellFormed, rule)
    case .restricted(let feature): self.init(.restrictedXML, feature)
    case .unsupportedEncoding: self.init(.unsupportedEncoding)
    case .badNamespacePrefix: self.init(.badNamespacePrefix)
    case .limit(let bound):
      self.init(.policyViolation, bound, application: Element(Name("stanza-too-big", NS.errors)))
    }
  }

  /// Returns the error for a peer that acknowledged more stanzas than it was sent (XEP-0198 6).
  ///
  /// - Parameters:
  ///   - handled: the `h` it sent.
  ///   - sent: the number of stanzas it was sent, modulo 2^32.
  public static func handledCountTooHigh(handled: UInt32, sent: UInt32) -> StreamError {
    StreamError(
      .undefinedCondition, "You acknowledged \(handled) stanzas, but I only sent you \(sent) so far.",
      application: Element(.smHandledCountTooHigh, ["h": String(handled), "send-count": String(sent)]))
  }
}

extension StreamError {
  /// Writes `<stream:error/>` (RFC 6120 4.9.2) where stanzas go.
  public func write(into writer: inout ElementWriter) {
    writer.element(.streamError) { writer in
      writer.element(Name(condition.text, NS.streamErrors)) { writer in
        if let otherHost { writer.text(otherHost) }
      }
      if let text {
        writer.element(.streamErrorText) { writer in
          writer.attribute("xml:lang", "en" as StaticString)
          writer.text(text)
        }
      }
      if let application { writer.element(application) }
    }
  }

  /// Reads a peer's `<stream:error/>`; `nil` if the element is none. An unknown condition is `undefined-condition` (RFC
  /// 6120 4.9.2).
  public init?(_ element: Element) {
    guard element.is(.streamError) else { return nil }
    var condition: Condition?
    var text: String?
    var application: Element?
    var otherHost: String?
    for child in element.children {
      if child.is(.streamErrorText) {
        text = text ?? child.text
      } else if let found = Condition(child) {
        condition = condition ?? found
        if found == .seeOtherHost { otherHost = child.text }
      } else if child.namespace != String(describing: NS.streamErrors) {
        application = application ?? child
      }
    }
    self.init(condition ?? .undefinedCondition, text, application: application, otherHost: otherHost)
  }
}
