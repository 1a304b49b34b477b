public import XMLStream

/// A stanza error (RFC 6120 8.3): features throw it, and the sender gets it.
public struct StanzaError: Error, Sendable, Equatable {
  /// The condition (RFC 6120 8.3.3).
  public var condition: Condition
  /// The advice to the sender (RFC 6120 8.3.2).
  public var type: Kind
  /// The text for diagnosis only, in English.
  public var text: String?
  /// An application-specific condition (RFC 6120 8.3.4).
  public var application: Element?
  /// The new address of `gone` (RFC 6120 8.3.3.5) and `redirect` (8.3.3.14), an XMPP URI.
  public var alternative: String?

  /// Creates an error, whose `type` is the one recommended with the condition if it is `nil`.
  public init(
    _ condition: Condition, _ text: String? = nil, type: Kind? = nil, application: Element? = nil,
    alternative: String? = nil
  ) {
    self.condition = condition
    self.type = type ?? condition.recommendedType
    self.text = text
    self.application = application
    self.alternative = alternative
  }

  /// The type of a stanza error (RFC 6120 8.3.2).
  public enum Kind: UInt8, Sendable, CaseIterable {
    /// Retry after providing credentials.
    case auth
    /// Do not retry.
    case cancel
    /// Only a warning.
    case `continue`
    /// Retry after changing the data sent.
    case modify
    /// Retry after waiting.
    case wait

    public var text: StaticString {
      switch self {
      case .auth: "auth"
      case .cancel: "cancel"
      case .continue: "continue"
      case .modify: "modify"
      case .wait: "wait"
      }
    }
  }

  /// The defined conditions (RFC 6120 8.3.3), in the order of the RFC.
  public enum Condition: UInt8, Sendable, CaseIterable {
    case badRequest
    case conflict
    case featureNotImplemented
    case forbidden
    case gone
    case internalServerError
    case itemNotFound
    case jidMalformed
    case notAcceptable
    case notAllowed
    case notAuthorized
    case policyViolation
    case recipientUnavailable
    case redirect
    case registrationRequired
    case remoteServerNotFound
    case remoteServerTimeout
    case resourceConstraint
    case serviceUnavailable
    case subscriptionRequired
    case undefinedCondition
    case unexpectedRequest

    /// The local name of the condition's element.
    public var text: StaticString {
      switch self {
      case .badRequest: "bad-request"
      case .conflict: "conflict"
      case .featureNotImplemented: "feature-not-implemented"
      case .forbidden: "forbidden"
      case .gone: "gone"
      case .internalServerError: "internal-server-error"
      case .itemNotFound: "item-not-found"
      case .jidMalformed: "jid-malformed"
      case .notAcceptable: "not-acceptable"
      case .notAllowed: "not-allowed"
      case .notAuthorized: "not-authorized"
      case .policyViolation: "policy-violation"
      case .recipientUnavailable: "recipient-unavailable"
      case .redirect: "redirect"
      case .registrationRequired: "registration-required"
      case .remoteServerNotFound: "remote-server-not-found"
      case .remoteServerTimeout: "remote-server-timeout"
      case .resourceConstraint: "resource-constraint"
      case .serviceUnavailable: "service-unavailable"
      case .subscriptionRequired: "subscription-required"
      case .undefinedCondition: "undefined-condition"
      case .unexpectedRequest: "unexpected-request"
      }
    }

    /// The type that RFC 6120 8.3.3 recommends, the first where it names two. `undefined-condition` takes any, so
    /// `cancel`.
    public var recommendedType: Kind {
      switch self {
      case .badRequest, .jidMalformed, .notAcceptable, .policyViolation, .redirect: .modify
      case .forbidden, .notAuthorized, .registrationRequired, .subscriptionRequired: .auth
      case .recipientUnavailable, .remoteServerTimeout, .resourceConstraint, .unexpectedRequest: .wait
      case .conflict, .featureNotImplemented, .gone, .internalServerError, .itemNotFound, .notAllowed,
        .remoteServerNotFound, .serviceUnavailable, .undefinedCondition:
        .cancel
      }
    }

    /// The number from before there were conditions (XEP-0086 2); `nil` for later conditions. Some clients still read
    /// it: profanity publishes its first list of OMEMO devices only if the answer is a 404.
    public var code: StaticString? {
      switch self {
      case .badRequest, .jidMalformed, .unexpectedRequest: "400"
      case .conflict: "409"
      case .featureNotImplemented: "501"
      case .forbidden: "403"
      case .gone, .redirect: "302"
      case .internalServerError, .resourceConstraint, .undefinedCondition: "500"
      case .itemNotFound, .recipientUnavailable, .remoteServerNotFound: "404"
      case .notAcceptable: "406"
      case .notAllowed: "405"
      case .notAuthorized: "401"
      case .registrationRequired, .subscriptionRequired: "407"
      case .remoteServerTimeout: "504"
      case .serviceUnavailable: "503"
      case .policyViolation: nil
      }
    }

    /// Reads the condition of an element; `nil` for an unknown name.
    public init?(_ element: Element) {
      guard element.namespace == String(describing: NS.stanzas) else { return nil }
      let local = element.local
      guard let found = Self.allCases.first(where: { String(describing: $0.text) == local }) else { return nil }
      self = found
    }
  }
}

extension StanzaError {
  /// Writes `<error/>` (RFC 6120 8.3.2, with the number of XEP-0086) into an open stanza.
  ///
  /// - Parameter by: the entity that found the error (RFC 6120 8.3.1 rule 5); `nil` leaves it out.
  public func write(into writer: inout ElementWriter, by: String? = nil) {
    writer.element("error") { writer in
      writer.attribute("by", by)
      if let code = condition.code { writer.attribute("code", code) }
      writer.attribute("type", type.text)
      writer.element(Name(condition.text, NS.stanzas)) { writer in
        if let alternative { writer.text(alternative) }
      }
      if let text {
        writer.element(.stanzaErrorText) { writer in
          writer.attribute("xml:lang", "en" as StaticString)
          writer.text(text)
        }
      }
      if let application { writer.element(application) }
    }
  }

  /// Writes the whole error reply to a stanza (RFC 6120 8.3.1): the same kind, the addresses swapped, the same id.
  /// Nothing is written if the stanza may not be answered.
  ///
  /// - Parameters:
  ///   - from: the reply's sender; `nil` for the stanza's `to`.
  ///   - to: the reply's addressee; `nil` for the stanza's `from`.
  ///   - includingPayload: whether the stanza's children go back too, a courtesy of rule 6; never for large stanzas.
  /// - Returns: whether a reply was written.
  @discardableResult
  public func writeReply(
    to stanza: Stanza, into writer: inout ElementWriter, from: String? = nil, to: String? = nil,
    includingPayload: Bool = false, by: String? = nil
  ) -> Bool {
    guard stanza.mayBeAnswered else { return false }
    writer.element(stanza.kind.name) { writer in
      writer.attribute("type", "error" as StaticString)
      stanza.copy("id", to: "id", in: &writer)
      if let from { writer.attribute("from", from) } else { stanza.copy("to", to: "from", in: &writer) }
      if let to { writer.attribute("to", to) } else { stanza.copy("from", to: "to", in: &writer) }
      if includingPayload { writer.children(of: stanza.element, except: { $0.is(.error) }) }
      write(into: &writer, by: by)
    }
    return true
  }

  /// Reads an `<error/>` element. An unknown condition is `undefined-condition` (RFC 6120 8.3.2); a missing type is the
  /// condition's own.
  public init(_ error: Element) {
    var condition: Condition?
    var text: String?
    var alternative: String?
    var application: Element?
    for child in error.children {
      if child.is(.stanzaErrorText) {
        text = text ?? child.text
      } else if let found = Condition(child) {
        condition = condition ?? found
        if found == .gone || found == .redirect, child.hasText { alternative = child.text }
      } else if child.namespace != String(describing: NS.stanzas) {
        application = application ?? child
      }
    }
    let type = Kind.allCases.first { error.has("type", equalTo: $0.text) }
    self.init(
      condition ?? .undefinedCondition, text, type: type, application: application, alternative: alternative)
  }

  /// Reads the error of a stanza of type `error`; `nil` if it reports none.
  public init?(reportedBy stanza: Stanza) {
    guard stanza.isError else { return nil }
    guard let error = stanza.element.first(.error) else { return nil }
    self.init(error)
  }
}

extension Stanza {
  /// Copies an attribute without making a `String`; does nothing if it is absent.
  func copy(_ source: StaticString, to target: StaticString, in writer: inout ElementWriter) {
    element.withAttribute(source) { writer.attribute(target, $0) }
  }

  /// Writes the start of the reply to an IQ request or an answer of the same kind: `id` kept, addresses swapped. The
  /// caller writes the content and closes the element.
  ///
  /// - Parameter type: for example `IQType.result.text`; `nil` leaves it out.
  public func openReply(
    type: StaticString?, into writer: inout ElementWriter, from: String? = nil, to: String? = nil
  ) {
    writer.open(kind.name)
    if let type { writer.attribute("type", type) }
    copy("id", to: "id", in: &writer)
    if let from { writer.attribute("from", from) } else { copy("to", to: "from", in: &writer) }
    if let to { writer.attribute("to", to) } else { copy("from", to: "to", in: &writer) }
  }
}
