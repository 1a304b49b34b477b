import Testing
import XMLStream

@testable import XMPP

@Suite struct StanzaErrorTests {
  /// RFC 6120 8.3.3: every condition, with the type it recommends (the first of two), and the number of XEP-0086 2.
  static let conditions: [(StanzaError.Condition, String, StanzaError.Kind, Int?)] = [
    (.badRequest, "bad-request", .modify, 400), (.conflict, "conflict", .cancel, 409),
    (.featureNotImplemented, "feature-not-implemented", .cancel, 501), (.forbidden, "forbidden", .auth, 403),
    (.gone, "gone", .cancel, 302), (.internalServerError, "internal-server-error", .cancel, 500),
    (.itemNotFound, "item-not-found", .cancel, 404), (.jidMalformed, "jid-malformed", .modify, 400),
    (.notAcceptable, "not-acceptable", .modify, 406), (.notAllowed, "not-allowed", .cancel, 405),
    (.notAuthorized, "not-authorized", .auth, 401), (.policyViolation, "policy-violation", .modify, nil),
    (.recipientUnavailable, "recipient-unavailable", .wait, 404), (.redirect, "redirect", .modify, 302),
    (.registrationRequired, "registration-required", .auth, 407),
    (.remoteServerNotFound, "remote-server-not-found", .cancel, 404),
    (.remoteServerTimeout, "remote-server-timeout", .wait, 504),
    (.resourceConstraint, "resource-constraint", .wait, 500),
    (.serviceUnavailable, "service-unavailable", .cancel, 503),
    (.subscriptionRequired, "subscription-required", .auth, 407),
    (.undefinedCondition, "undefined-condition", .cancel, 500), (.unexpectedRequest, "unexpected-request", .wait, 400),
  ]

  @Test func theTableIsComplete() {
    #expect(Self.conditions.map(\.0) == StanzaError.Condition.allCases)
  }

  @Test(arguments: 0..<conditions.count) func condition(index: Int) throws {
    let (condition, name, type, code) = Self.conditions[index]
    let error = StanzaError(condition)
    #expect(error.type == type)
    let xml = written { error.write(into: &$0) }
    let number = code.map { "code='\($0)' " } ?? ""
    #expect(xml == "<error \(number)type='\(type.text)'><\(name) xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error>")
    #expect(StanzaError(try element(xml)) == error)
  }

  @Test(arguments: StanzaError.Kind.allCases) func type(kind: StanzaError.Kind) throws {
    let error = StanzaError(.undefinedCondition, type: kind)
    #expect(StanzaError(try element(written { error.write(into: &$0) })) == error)
  }

  /// The example of RFC 6120 8.3.3.1.
  @Test func replyToAnUnknownIQ() throws {
    let request = try stanza(
      "<iq from='juliet@im.example.com/balcony' id='zj3v142b' to='im.example.com' type='subscribe'><ping xmlns='urn:xmpp:ping'/></iq>"
    )
    let reply = written { StanzaError(.badRequest).writeReply(to: request, into: &$0) }
    #expect(
      try element(reply)
        == element(
          """
          <iq from='im.example.com' id='zj3v142b' to='juliet@im.example.com/balcony' type='error'><error code='400' type='modify'>\
          <bad-request xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>
          """))
  }

  /// The example of RFC 6120 8.3.3.3: an application-specific condition, and the request goes back.
  @Test func replyWithPayloadAndApplicationCondition() throws {
    let request = try stanza(
      "<iq from='juliet@im.example.com/balcony' id='9u2bax16' to='pubsub.example.com' type='get'><pubsub xmlns='http://jabber.org/protocol/pubsub'><subscriptions/></pubsub></iq>"
    )
    let error = StanzaError(
      .featureNotImplemented, "not here",
      application: Element(Name("unsupported", NS.pubsubErrors), ["feature": "retrieve-subscriptions"]))
    let reply = written { error.writeReply(to: request, into: &$0, includingPayload: true, by: "im.example.com") }
    #expect(
      try element(reply)
        == element(
          """
          <iq from='pubsub.example.com' id='9u2bax16' to='juliet@im.example.com/balcony' type='error'>\
          <pubsub xmlns='http://jabber.org/protocol/pubsub'><subscriptions/></pubsub>\
          <error by='im.example.com' code='501' type='cancel'>\
          <feature-not-implemented xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>\
          <text xmlns='urn:ietf:params:xml:ns:xmpp-stanzas' xml:lang='en'>not here</text>\
          <unsupported xmlns='http://jabber.org/protocol/pubsub#errors' feature='retrieve-subscriptions'/></error></iq>
          """))
    #expect(StanzaError(reportedBy: try stanza(reply)) == error)
  }

  /// RFC 6120 8.3.3.5.
  @Test func goneTellsTheNewAddress() throws {
    let error = StanzaError(.gone, alternative: "xmpp:romeo@afterlife.example.net")
    let xml = written { error.write(into: &$0) }
    #expect(
      xml
        == "<error code='302' type='cancel'><gone xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'>xmpp:romeo@afterlife.example.net</gone></error>"
    )
    #expect(StanzaError(try element(xml)) == error)
  }

  @Test func addressesCanBeGiven() throws {
    let message = try stanza("<message to='a@example.net' id='1'><body>x</body></message>")
    let reply = written {
      StanzaError(.serviceUnavailable).writeReply(to: message, into: &$0, from: "b@example.net", to: "c@example.net/r")
    }
    #expect(
      try element(reply)
        == element(
          """
          <message type='error' id='1' from='b@example.net' to='c@example.net/r'><error code='503' type='cancel'>\
          <service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>
          """))
  }

  /// RFC 6120 8.3.1 rule 8.
  @Test(arguments: ["<message type='error' id='1'/>", "<iq type='result' id='1'/>", "<presence type='error'/>"])
  func errorsAreNotAnswered(xml: String) throws {
    let request = try stanza(xml)
    var isWritten = true
    let reply = written { isWritten = StanzaError(.badRequest).writeReply(to: request, into: &$0) }
    #expect(!isWritten)
    #expect(reply == "")
  }

  /// RFC 6120 8.3.2: an unknown condition is undefined-condition.
  @Test func unknownConditions() throws {
    let unknown = try element("<error type='wait'><too-loud xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error>")
    #expect(StanzaError(unknown) == StanzaError(.undefinedCondition, type: .wait))
    let empty = try element("<error/>")
    #expect(StanzaError(empty) == StanzaError(.undefinedCondition))
    #expect(StanzaError(reportedBy: try stanza("<message type='error'/>")) == nil)
    #expect(StanzaError(reportedBy: try stanza("<message><error/></message>")) == nil)
  }
}

@Suite struct StreamErrorTests {
  /// RFC 6120 4.9.3.
  static let names = [
    "bad-format", "bad-namespace-prefix", "conflict", "connection-timeout", "host-gone", "host-unknown",
    "improper-addressing", "internal-server-error", "invalid-from", "invalid-namespace", "invalid-xml",
    "not-authorized",
    "not-well-formed", "policy-violation", "remote-connection-failed", "reset", "resource-constraint", "restricted-xml",
    "see-other-host", "system-shutdown", "undefined-condition", "unsupported-encoding", "unsupported-feature",
    "unsupported-stanza-type", "unsupported-version",
  ]

  @Test func theTableIsComplete() {
    #expect(StreamError.Condition.allCases.map { String(describing: $0.text) } == Self.names)
  }

  @Test(arguments: StreamError.Condition.allCases) func condition(condition: StreamError.Condition) throws {
    let xml = written { StreamError(condition).write(into: &$0) }
    #expect(xml == "<stream:error><\(condition.text) xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>")
    let framed = written(framing: .messages) { StreamError(condition).write(into: &$0) }
    #expect(StreamError(try element(framed))?.condition == condition || condition == .seeOtherHost)
  }

  /// RFC 6120 4.9.3.19.
  @Test func seeOtherHost() throws {
    let error = StreamError(.seeOtherHost, otherHost: "[2001:41D0:1:A49b::1]:9222")
    let xml = written(framing: .messages) { error.write(into: &$0) }
    #expect(
      xml
        == "<stream:error xmlns:stream='http://etherx.jabber.org/streams'><see-other-host xmlns='urn:ietf:params:xml:ns:xmpp-streams'>[2001:41D0:1:A49b::1]:9222</see-other-host></stream:error>"
    )
    #expect(StreamError(try element(xml)) == error)
  }

  /// The example of XEP-0198 6.
  @Test func handledCountTooHigh() throws {
    let xml = written(framing: .messages) { StreamError.handledCountTooHigh(handled: 10, sent: 8).write(into: &$0) }
    #expect(
      try element(xml)
        == element(
          """
          <error xmlns='http://etherx.jabber.org/streams'>\
          <undefined-condition xmlns='urn:ietf:params:xml:ns:xmpp-streams'/>\
          <text xml:lang='en' xmlns='urn:ietf:params:xml:ns:xmpp-streams'>You acknowledged 10 stanzas, but I only sent you 8 so far.</text>\
          <handled-count-too-high xmlns='urn:xmpp:sm:3' h='10' send-count='8'/></error>
          """))
  }

  @Test(arguments: [
    (XMLViolation.notWellFormed("x"), StreamError(.notWellFormed, "x")),
    (.restricted("x"), StreamError(.restrictedXML, "x")),
    (.unsupportedEncoding, StreamError(.unsupportedEncoding)), (.badNamespacePrefix, StreamError(.badNamespacePrefix)),
    (.limit("x"), StreamError(.policyViolation, "x", application: Element(Name("stanza-too-big", NS.errors)))),
  ])
  func violation(violation: XMLViolation, error: StreamError) {
    #expect(StreamError(violation: violation) == error)
    #expect(
      String(describing: StreamError(violation: violation).condition.text) == String(describing: violation.condition))
  }

  @Test func notAnError() throws {
    #expect(StreamError(try element("<error/>")) == nil)
    #expect(
      StreamError(
        try element(
          "<error xmlns='http://etherx.jabber.org/streams'><news xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></error>")
      ) == StreamError(.undefinedCondition))
  }
}

@Suite struct SASLFailureTests {
  /// RFC 6120 6.5.
  static let names = [
    "aborted", "account-disabled", "credentials-expired", "encryption-required", "incorrect-encoding",
    "invalid-authzid",
    "invalid-mechanism", "malformed-request", "mechanism-too-weak", "not-authorized", "temporary-auth-failure",
  ]

  @Test func theTableIsComplete() {
    #expect(SASLFailure.Condition.allCases.map { String(describing: $0.text) } == Self.names)
  }

  @Test(arguments: SASLFailure.Condition.allCases) func condition(condition: SASLFailure.Condition) throws {
    let xml = written { SASLFailure(condition).write(into: &$0) }
    #expect(xml == "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><\(condition.text)/></failure>")
    #expect(SASLFailure(try element(xml)) == SASLFailure(condition))
  }

  /// The example of RFC 6120 6.5.2.
  @Test func text() throws {
    let failure = SASLFailure(.accountDisabled, "Call 212-555-1212 for assistance.")
    let xml = written { failure.write(into: &$0) }
    #expect(
      try element(xml)
        == element(
          "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><account-disabled/><text xml:lang='en'>Call 212-555-1212 for assistance.</text></failure>"
        ))
    #expect(SASLFailure(try element(xml)) == failure)
    #expect(
      SASLFailure(try element("<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><odd/></failure>"))
        == SASLFailure(.notAuthorized))
    #expect(SASLFailure(try element("<failure/>")) == nil)
  }
}
