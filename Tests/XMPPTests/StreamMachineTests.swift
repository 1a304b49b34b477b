import Addresses
import NIOCore
import Testing
import XMLStream
import XMPPFixtures

@testable import XMPP

@Suite struct StreamMachineTests {
  static let decoy = AuthenticationMachineTests.decoy
  static func policy(
    _ tls: StreamPolicy.TLS = .required, defaultDomain: String? = nil, registration: Bool = false,
    unsecured: Bool = false
  ) -> StreamPolicy {
    StreamPolicy(
      domains: ["im.example.com", "example.org"], defaultDomain: defaultDomain, tls: tls,
      authentication: AuthenticationPolicy(allowsUnsecured: unsecured, allowsUnsecuredPlain: unsecured, decoy: decoy),
      features: [.streamManagement, .rosterVersioning], allowsRegistration: registration)
  }

  static func response(
    from: String = "im.example.com", to: String? = nil, id: String = "s1", isVersioned: Bool = true
  ) -> StreamResponse {
    StreamResponse(from: from, to: to, id: id, language: "en", isVersioned: isVersioned)
  }

  static let login = AuthenticationMachineTests.auth("PLAIN", "\0juliet\0x")
  static func user() throws -> BareJID { try BareJID("juliet@im.example.com") }
  static func jid() throws -> FullJID { try FullJID("juliet@im.example.com/balcony") }
  static let firstBind = "<iq id='tn281v37' type='set'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"

  /// A stream with TLS that has authenticated and restarted.
  static func authenticated(_ policy: StreamPolicy = policy()) throws -> StreamMachine {
    var machine = StreamMachine(policy: policy, isSecured: true)
    _ = machine.opened(try clientHeader(), id: "s1")
    _ = machine.received(login)
    #expect(machine.answered(.password(.right(.active)), attempt: 1) == .authenticated(try user(), nil))
    _ = machine.opened(try clientHeader(), id: "s2")
    #expect(machine.phase == .authenticated)
    return machine
  }

  static func bound(_ policy: StreamPolicy = policy()) throws -> StreamMachine {
    var machine = try authenticated(policy)
    machine.bound(try jid())
    #expect(machine.phase == .bound)
    return machine
  }

  /// Returns the mechanisms that are offered without guests.
  private static func mechanisms() throws -> StreamFeature {
    try #require(StreamFeature.mechanisms(policy().authentication).first { $0.forbids.contains(.guests) })
  }

  private func features(_ output: StreamOutput) -> [String] {
    guard case .open(_, let features) = output else { return ["none"] }
    return features.map { $0.element.local }
  }

  // MARK: The whole way

  /// RFC 6120 9.1: TLS, SASL, binding, stanzas, end.
  @Test func theWholeWay() throws {
    var machine = StreamMachine(policy: Self.policy(), isSecured: false)
    #expect(machine.deadline == .negotiation)
    let first = machine.opened(try clientHeader(from: "juliet@im.example.com"), id: "s1")
    #expect(first == .open(Self.response(to: "juliet@im.example.com"), [.startTLS(isRequired: true)]))
    #expect(machine.received(try element("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")) == .startTLS)
    #expect(machine.phase == .securing)
    machine.secured()
    #expect(machine.phase == .opening)

    let second = machine.opened(try clientHeader(language: "pl"), id: "s2")
    let mechanisms = try Self.mechanisms()
    #expect(second == .open(Self.response(id: "s2"), [mechanisms]))
    #expect(machine.language == "pl")
    #expect(machine.received(Self.login) == .verifyPassword(username: "juliet", password: Password("x"), attempt: 1))
    #expect(machine.answered(.password(.right(.active)), attempt: 1) == .authenticated(try Self.user(), nil))
    #expect(machine.user == (try Self.user()))

    let third = machine.opened(try clientHeader(language: "pl"), id: "s3")
    #expect(third == .open(Self.response(id: "s3"), [.bind, .session, .streamManagement, .rosterVersioning]))
    let bind = try stanza(Self.firstBind, on: "pl")
    #expect(machine.received(bind.element) == .bind(try #require(try BindRequest(bind))))
    #expect(machine.deadline == .negotiation)
    machine.bound(try Self.jid())
    #expect(machine.deadline == .idle)
    #expect(machine.jid == (try Self.jid()))

    let message = try stanza("<message to='romeo@example.net'><body>hi</body></message>", on: "pl")
    #expect(machine.received(message.element) == .stanza(message))
    #expect(machine.closed() == .finish(closing: true))
    #expect(machine.wasClosedByPeer)
    #expect(machine.deadline == nil)
    #expect(machine.received(message.element) == .nothing)
  }

  @Test func scramThroughTheStream() throws {
    let exchange = SCRAMTests.exchanges[1]
    var machine = StreamMachine(policy: Self.policy(), isSecured: true)
    _ = machine.opened(try clientHeader(), id: "s1")
    var client = SCRAMClient(mechanism: .sha256, username: "juliet", password: "pencil", nonce: "abc")
    #expect(
      machine.received(AuthenticationMachineTests.auth("SCRAM-SHA-256", text(client.first)))
        == .needCredentials(username: "juliet", mechanism: .sha256, attempt: 1))
    guard
      case .challenge(let challenge) = machine.answered(
        .credentials(.found(exchange.credentials, .active), nonce: "xyz"), attempt: 1)
    else {
      Issue.record("no challenge")
      return
    }
    guard
      case .authenticated(let user, let data?) = machine.received(
        AuthenticationMachineTests.response(text(try client.respond(to: challenge))))
    else {
      Issue.record("no success")
      return
    }
    #expect(user == (try Self.user()))
    #expect(throws: Never.self) { try client.verify(data) }
  }

  // MARK: Headers

  /// RFC 6120 4.9.1.2, 4.9.1.3, 4.9.3.6, 4.9.3.7, 4.9.3.10, 4.9.3.25.
  @Test func badHeaders() throws {
    func refusal(_ header: StreamHeader, defaultDomain: String? = "example.org") -> StreamOutput {
      var machine = StreamMachine(policy: Self.policy(defaultDomain: defaultDomain), isSecured: false)
      let output = machine.opened(header, id: "s1")
      #expect(machine.phase == .closed)
      return output
    }
    func refused(
      _ condition: StreamError.Condition, _ text: String?, from: String = "example.org", to: String? = nil,
      isVersioned: Bool = true
    ) -> StreamOutput {
      .refuse(Self.response(from: from, to: to, isVersioned: isVersioned), StreamError(condition, text))
    }
    #expect(
      refusal(try clientHeader(to: "unknown.example.com", from: "juliet@im.example.com"))
        == refused(.hostUnknown, nil, to: "juliet@im.example.com"))
    #expect(refusal(try clientHeader(to: "a@im.example.com")) == refused(.improperAddressing, "'to' is no domain"))
    #expect(refusal(try clientHeader(to: "im.example.com/x")) == refused(.improperAddressing, "'to' is no domain"))
    #expect(refusal(try clientHeader(to: "a b")) == refused(.improperAddressing, "'to' is no domain"))
    #expect(
      refusal(try clientHeader(to: nil), defaultDomain: nil)
        == refused(.improperAddressing, "'to' is missing", from: ""))
    #expect(
      refusal(try clientHeader(version: "11.0"))
        == refused(.unsupportedVersion, "this is XMPP 1.0", from: "im.example.com"))
    #expect(
      refusal(try clientHeader(version: "0.9"))
        == refused(.unsupportedVersion, "this is XMPP 1.0", from: "im.example.com"))
    #expect(
      refusal(try clientHeader(version: nil))
        == refused(.unsupportedVersion, "this is XMPP 1.0", from: "im.example.com", isVersioned: false))
    #expect(
      refusal(try clientHeader(version: "one"))
        == refused(.unsupportedVersion, "this is XMPP 1.0", from: "im.example.com", isVersioned: false))
    #expect(
      refusal(
        try header(
          "<stream:stream to='im.example.com' version='1.0' xmlns='jabber:client' xmlns:stream='http://wrong.namespace.example.org/'>"
        )) == refused(.invalidNamespace, "the namespace of the stream"))
    #expect(
      refusal(
        try header(
          "<stream:stream to='im.example.com' version='1.0' xmlns='jabber:server' xmlns:stream='http://etherx.jabber.org/streams'>"
        )) == refused(.invalidNamespace, "the content namespace is not jabber:client"))
    #expect(
      refusal(
        try header(
          "<stream:flow to='im.example.com' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"
        )) == refused(.badFormat, "the root element is not <stream/>"))
  }

  /// RFC 6120 4.7.2 (liberal), 4.7.5 (minor versions, leading zeros), 4.8.2 (no default namespace), 4.8.5 (another
  /// prefix).
  @Test(arguments: [
    "<stream:stream version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>",
    "<stream:stream to='EXAMPLE.org' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>",
    "<stream:stream to='example.org' version='1.13' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>",
    "<stream:stream to='example.org' version='01.00' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>",
    "<stream to='example.org' version='1.0' xmlns='http://etherx.jabber.org/streams'>",
    "<s:stream to='example.org' version='1.0' xmlns='jabber:client' xmlns:s='http://etherx.jabber.org/streams' id='mine'>",
  ])
  func goodHeaders(xml: String) throws {
    var machine = StreamMachine(policy: Self.policy(defaultDomain: "example.org"), isSecured: false)
    #expect(
      machine.opened(try header(xml), id: "s1")
        == .open(Self.response(from: "example.org"), [.startTLS(isRequired: true)]))
    #expect(machine.domain == "example.org")
  }

  /// A full JID in `from` is answered with its bare form, an impossible one not at all (RFC 6120 4.7.2).
  @Test func from() throws {
    for (from, to) in [("Juliet@im.example.com/x", "juliet@im.example.com"), ("@", nil)] as [(String, String?)] {
      var machine = StreamMachine(policy: Self.policy(), isSecured: false)
      #expect(
        machine.opened(try clientHeader(from: from), id: "s1")
          == .open(Self.response(to: to), [.startTLS(isRequired: true)]))
    }
  }

  @Test func aHeaderWithinAStream() throws {
    var machine = try Self.bound()
    #expect(
      machine.opened(try clientHeader(), id: "s9") == .refuse(nil, StreamError(.badFormat, "a header within a stream")))
  }

  @Test func theDomainStaysAfterAuthentication() throws {
    var machine = StreamMachine(policy: Self.policy(), isSecured: true)
    _ = machine.opened(try clientHeader(), id: "s1")
    _ = machine.received(Self.login)
    _ = machine.answered(.password(.right(.active)), attempt: 1)
    #expect(
      machine.opened(try clientHeader(to: "example.org"), id: "s2")
        == .refuse(
          Self.response(id: "s2"), StreamError(.notAuthorized, "the stream is authenticated for another domain")))
  }

  // MARK: Features and TLS

  @Test func featuresFollowTheState() throws {
    var required = StreamMachine(policy: Self.policy(.required, unsecured: true), isSecured: false)
    #expect(features(required.opened(try clientHeader(), id: "1")) == ["starttls"])
    var optional = StreamMachine(policy: Self.policy(.optional), isSecured: false)
    #expect(features(optional.opened(try clientHeader(), id: "1")) == ["starttls"])
    var loopback = StreamMachine(policy: Self.policy(.optional, unsecured: true), isSecured: false)
    #expect(features(loopback.opened(try clientHeader(), id: "1")) == ["starttls", "mechanisms"])
    var plain = StreamMachine(policy: Self.policy(.unavailable, unsecured: true), isSecured: false)
    #expect(features(plain.opened(try clientHeader(), id: "1")) == ["mechanisms"])
    var direct = StreamMachine(policy: Self.policy(), isSecured: true)
    #expect(features(direct.opened(try clientHeader(), id: "1")) == ["mechanisms"])
  }

  /// RFC 7395 3.3.3: what is encoded for a document stands alone with what its header declares.
  @Test(arguments: [
    ("<message to='a'><body>x</body></message>", "<message xmlns='jabber:client' to='a'><body>x</body></message>"),
    ("<presence/>", "<presence xmlns='jabber:client'/>"), ("<iq><a/></iq>", "<iq xmlns='jabber:client'><a/></iq>"),
    ("<r xmlns='urn:xmpp:sm:3'/>", "<r xmlns='urn:xmpp:sm:3'/>"),
    ("<stream:features/>", "<stream:features xmlns:stream='http://etherx.jabber.org/streams'/>"),
    (
      "<message><stream:x/></message>",
      "<message xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'><stream:x/></message>"
    ), ("<message>astream</message>", "<message xmlns='jabber:client'>astream</message>"),
  ])
  func standingAlone(inDocument: String, alone: String) throws {
    var buffer = ByteBuffer()
    StreamFraming.writeStandAlone(ByteBuffer(string: inDocument).readableBytesView, into: &buffer)
    #expect(String(buffer: buffer) == alone)
    #expect(throws: Never.self) { try Element(xml: alone) }
  }

  /// A client that finds stream management among the features enables it (XEP-0198 3), also where its login has (9).
  @Test func whatTheLoginHasEnabledIsNotOffered() throws {
    var machine = try Self.bound()
    #expect(machine.offered.map(\.element.local) == ["sm", "ver"])
    machine.managed()
    #expect(machine.offered.map(\.element.local) == ["ver"])
  }

  @Test func featuresAreWritten() throws {
    let table: [StreamFeature] = [
      .startTLS(isRequired: true), .bind, .session, .registration(needsTLS: true),
      .limits(maxBytes: 10000, idleSeconds: 1800, needs: .secured),
      .capabilities(node: "http://example.com", version: "v="),
      .preApproval, .clientState,
    ]
    let xml = written(framing: .messages) { StreamFraming.messages.writeFeatures(table, into: &$0) }
    #expect(
      try element(xml)
        == element(
          """
          <features xmlns='http://etherx.jabber.org/streams'>\
          <starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls>\
          <bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>\
          <session xmlns='urn:ietf:params:xml:ns:xmpp-session'><optional/></session>\
          <register xmlns='http://jabber.org/features/iq-register'/>\
          <limits xmlns='urn:xmpp:stream-limits:0'><max-bytes>10000</max-bytes><idle-seconds>1800</idle-seconds></limits>\
          <c xmlns='http://jabber.org/protocol/caps' hash='sha-1' node='http://example.com' ver='v='/>\
          <sub xmlns='urn:xmpp:features:pre-approval'/><csi xmlns='urn:xmpp:csi:0'/></features>
          """))
    #expect(written { StreamFraming.document.writeFeatures([], into: &$0) } == "<stream:features/>")
    let plain = try Self.mechanisms()
    let mechanisms = written {
      StreamFraming.document.writeFeatures([plain], into: &$0)
    }
    #expect(
      mechanisms
        == """
        <stream:features><mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>SCRAM-SHA-512</mechanism>\
        <mechanism>SCRAM-SHA-256</mechanism><mechanism>SCRAM-SHA-1</mechanism><mechanism>PLAIN</mechanism>\
        </mechanisms></stream:features>
        """)
    #expect(table.offered(in: []).map(\.element.local) == ["starttls"])
    #expect(table.offered(in: .secured).map(\.element.local) == ["register", "limits"])
  }

  /// RFC 6120 5.4.2.2, XEP-0368 2.
  @Test func startTLSWhereItIsNotOffered() throws {
    let command = try element("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
    var direct = StreamMachine(policy: Self.policy(), isSecured: true)
    _ = direct.opened(try clientHeader(), id: "1")
    #expect(direct.received(command) == .refuseTLS)
    #expect(direct.phase == .closed)
    var none = StreamMachine(policy: Self.policy(.unavailable), isSecured: false)
    _ = none.opened(try clientHeader(), id: "1")
    #expect(none.received(command) == .refuseTLS)
    var authenticated = try Self.authenticated()
    #expect(authenticated.received(command) == .refuseTLS)
    var bound = try Self.bound()
    #expect(bound.received(command) == .refuseTLS)
  }

  /// RFC 6120 5.4.3.3: everything from before TLS is discarded, including attempts of SASL.
  @Test func tlsForgets() throws {
    var machine = StreamMachine(policy: Self.policy(.optional, unsecured: true), isSecured: false)
    _ = machine.opened(try clientHeader(language: "de"), id: "1")
    #expect(machine.received(Self.login) == .verifyPassword(username: "juliet", password: Password("x"), attempt: 1))
    _ = machine.received(try element("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"))
    #expect(machine.answered(.password(.right(.active)), attempt: 1) == .nothing)
    machine.secured()
    #expect(machine.domain == nil)
    #expect(machine.language == nil)
    #expect(machine.answered(.password(.right(.active)), attempt: 1) == .nothing)
    _ = machine.opened(try clientHeader(to: "example.org"), id: "2")
    #expect(machine.domain == "example.org")
    #expect(machine.answered(.password(.right(.active)), attempt: 1) == .nothing)
  }

  @Test func securedOutOfTurnChangesNothing() throws {
    var machine = try Self.bound()
    machine.secured()
    #expect(machine.phase == .bound)
    machine.bound(try FullJID("romeo@im.example.com/x"))
    #expect(machine.jid == (try Self.jid()))
  }

  /// An element while TLS is being set up cannot be the client's.
  @Test func elementsWhileSecuring() throws {
    var machine = StreamMachine(policy: Self.policy(), isSecured: false)
    _ = machine.opened(try clientHeader(), id: "1")
    _ = machine.received(try element("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"))
    #expect(machine.received(Self.login) == .refuse(nil, StreamError(.badFormat, "an element outside a stream")))
  }

  // MARK: Before authentication

  /// RFC 6120 4.3.5, 4.9.3.12: the example there.
  @Test(arguments: [
    "<message to='romeo@example.net'><body>Wherefore art thou?</body></message>", "<presence/>", firstBind,
    "<iq type='get' id='1'><query xmlns='jabber:iq:register'/></iq>", "<pubsub/>", "<active xmlns='urn:xmpp:csi:0'/>",
  ])
  func nothingBeforeAuthentication(xml: String) throws {
    var machine = StreamMachine(policy: Self.policy(), isSecured: true)
    _ = machine.opened(try clientHeader(), id: "1")
    #expect(machine.received(try element(xml)) == .refuse(nil, StreamError(.notAuthorized, "authenticate first")))
    #expect(machine.phase == .closed)
  }

  @Test func registrationWhereAllowed() throws {
    let request = try stanza("<iq type='get' id='1'><query xmlns='jabber:iq:register'/></iq>")
    var machine = StreamMachine(policy: Self.policy(registration: true), isSecured: true)
    _ = machine.opened(try clientHeader(), id: "1")
    #expect(machine.received(request.element) == .stanza(request))
    #expect(
      machine.received(try element("<iq type='result' id='1'><query xmlns='jabber:iq:register'/></iq>"))
        == .refuse(nil, StreamError(.notAuthorized, "authenticate first")))
    var open = StreamMachine(policy: Self.policy(registration: true), isSecured: false)
    _ = open.opened(try clientHeader(), id: "1")
    #expect(open.received(request.element) == .refuse(nil, StreamError(.notAuthorized, "authenticate first")))
  }

  @Test func authenticationFails() throws {
    var machine = StreamMachine(policy: Self.policy(), isSecured: false)
    _ = machine.opened(try clientHeader(), id: "1")
    #expect(machine.received(Self.login) == .authenticationFailed(SASLFailure(.encryptionRequired), .mechanism))
    #expect(machine.phase == .negotiating)
    for _ in 2...7 { _ = machine.received(Self.login) }
    #expect(
      machine.received(Self.login) == .refuse(nil, StreamError(.policyViolation, "too many authentication attempts")))
    #expect(machine.phase == .closed)
  }

  /// XEP-0198 3: not before authentication, not before binding.
  @Test func managementOutOfOrder() throws {
    let enable = try element("<enable xmlns='urn:xmpp:sm:3'/>")
    var machine = StreamMachine(policy: Self.policy(), isSecured: true)
    _ = machine.opened(try clientHeader(), id: "1")
    #expect(machine.received(enable) == .managementFailed(.unexpectedRequest))
    #expect(
      machine.received(try element("<resume xmlns='urn:xmpp:sm:3' previd='a' h='1'/>"))
        == .managementFailed(.unexpectedRequest))
    var authenticated = try Self.authenticated()
    #expect(authenticated.received(enable) == .managementFailed(.unexpectedRequest))
    var bound = try Self.bound()
    #expect(
      bound.received(try element("<resume xmlns='urn:xmpp:sm:3' previd='a' h='1'/>"))
        == .managementFailed(.unexpectedRequest))
  }

  // MARK: Before binding

  /// RFC 6120 7.1.
  @Test(arguments: [
    "<message to='a@b'/>", "<presence/>",
    "<iq type='get' id='1' to='im.example.com'><ping xmlns='urn:xmpp:ping'/></iq>", "<r xmlns='urn:xmpp:sm:3'/>",
    "<active xmlns='urn:xmpp:csi:0'/>",
  ])
  func nothingBeforeBinding(xml: String) throws {
    var machine = try Self.authenticated()
    #expect(machine.received(try element(xml)) == .refuse(nil, StreamError(.notAuthorized, "bind a resource first")))
  }

  @Test func resume() throws {
    var machine = try Self.authenticated()
    let resume = try element("<resume xmlns='urn:xmpp:sm:3' previd='some-long-sm-id' h='7'/>")
    #expect(machine.received(resume) == .management(.resume(previous: "some-long-sm-id", handled: 7)))
    #expect(machine.received(try element("<resume xmlns='urn:xmpp:sm:3' h='7'/>")) == .managementFailed(.badRequest))
    machine.bound(try Self.jid())
    #expect(machine.phase == .bound)
  }

  @Test func badBinds() throws {
    var machine = try Self.authenticated()
    let get = try stanza("<iq id='1' type='get'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
    #expect(
      machine.received(get.element) == .reply(StanzaError(.badRequest, "binding a resource is an iq of type set"), get))
    let anonymous = try stanza("<iq type='set'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
    #expect(machine.received(anonymous.element) == .reply(StanzaError(.badRequest, "iq without id"), anonymous))
    #expect(machine.phase == .authenticated)
  }

  // MARK: Bound

  @Test func boundStreams() throws {
    var machine = try Self.bound()
    // Every stanza is the session's, which counts it (XEP-0198 4).
    let again = try stanza(Self.firstBind)
    #expect(machine.received(again.element) == .stanza(again))
    let session = try stanza("<iq id='s' type='set'><session xmlns='urn:ietf:params:xml:ns:xmpp-session'/></iq>")
    #expect(machine.received(session.element) == .stanza(session))
    let ping = try stanza("<iq id='p' type='get'><ping xmlns='urn:xmpp:ping'/></iq>")
    #expect(machine.received(ping.element) == .stanza(ping))
    #expect(
      machine.received(try element("<enable xmlns='urn:xmpp:sm:3' resume='true' max='60'/>"))
        == .management(.enable(resume: true, max: 60)))
    #expect(machine.received(try element("<r xmlns='urn:xmpp:sm:3'/>")) == .management(.request))
    #expect(
      machine.received(try element("<a xmlns='urn:xmpp:sm:3' h='4294967295'/>")) == .management(.acknowledge(.max)))
    #expect(
      machine.received(try element("<enable xmlns='urn:xmpp:sm:3' resume='maybe'/>")) == .managementFailed(.badRequest))
    let active = try element("<active xmlns='urn:xmpp:csi:0'/>")
    #expect(machine.received(active) == .element(active))
    #expect(
      machine.notUnderstood(active)
        == .refuse(nil, StreamError(.unsupportedStanzaType, "<active/> is not understood here")))
  }

  @Test func aBrokenAcknowledgementEndsTheStream() throws {
    var machine = try Self.bound()
    #expect(
      machine.received(try element("<a xmlns='urn:xmpp:sm:3'/>"))
        == .refuse(nil, StreamError(.invalidXML, "<a/> lacks the attribute 'h'")))
  }

  /// RFC 6120 4.9.1.1: who receives a stream error closes. Without a closing tag the session may be resumed.
  @Test func theClientReportsAnError() throws {
    var machine = try Self.bound()
    let error = try element(
      "<error xmlns='http://etherx.jabber.org/streams'><reset xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></error>")
    #expect(machine.received(error) == .finish(closing: true))
    #expect(!machine.wasClosedByPeer)
  }

  // MARK: The end

  /// RFC 6120 4.4.
  @Test func weClose() throws {
    var machine = try Self.bound()
    #expect(machine.close() == .close)
    #expect(machine.close() == .nothing)
    #expect(machine.deadline == .closing)
    let late = try stanza("<message to='a@b'/>")
    #expect(machine.received(late.element) == .stanza(late))
    #expect(machine.received(try element("<a xmlns='urn:xmpp:sm:3' h='1'/>")) == .management(.acknowledge(1)))
    #expect(machine.received(try element("<active xmlns='urn:xmpp:csi:0'/>")) == .nothing)
    #expect(machine.closed() == .finish(closing: false))
    #expect(machine.closed() == .nothing)
  }

  @Test func theyDoNotCloseInTime() throws {
    var machine = try Self.bound()
    _ = machine.close()
    #expect(machine.expired(id: "x") == .finish(closing: false))
    #expect(!machine.wasClosedByPeer)
  }

  @Test func violations() throws {
    var machine = try Self.bound()
    #expect(machine.violated(.badNamespacePrefix, id: "x") == .refuse(nil, StreamError(.badNamespacePrefix)))
    #expect(machine.violated(.badNamespacePrefix, id: "x") == .nothing)
    var fresh = StreamMachine(policy: Self.policy(defaultDomain: "example.org"), isSecured: false)
    #expect(
      fresh.violated(.unsupportedEncoding, id: "x")
        == .refuse(Self.response(from: "example.org", id: "x"), StreamError(.unsupportedEncoding)))
  }

  @Test func deadlines() throws {
    var fresh = StreamMachine(policy: Self.policy(), isSecured: false)
    #expect(fresh.expired(id: "x") == .refuse(Self.response(from: "", id: "x"), StreamError(.connectionTimeout)))
    var negotiating = StreamMachine(policy: Self.policy(), isSecured: false)
    _ = negotiating.opened(try clientHeader(), id: "1")
    #expect(negotiating.expired(id: "x") == .refuse(nil, StreamError(.connectionTimeout)))
    var securing = StreamMachine(policy: Self.policy(), isSecured: false)
    _ = securing.opened(try clientHeader(), id: "1")
    _ = securing.received(try element("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"))
    #expect(securing.expired(id: "x") == .finish(closing: false))
    var bound = try Self.bound()
    #expect(bound.expired(id: "x") == .refuse(nil, StreamError(.connectionTimeout)))
    #expect(bound.expired(id: "x") == .nothing)
  }

  @Test func theServerEnds() throws {
    var bound = try Self.bound()
    #expect(bound.fail(StreamError(.systemShutdown), id: "x") == .refuse(nil, StreamError(.systemShutdown)))
    var closing = try Self.bound()
    _ = closing.close()
    #expect(closing.fail(StreamError(.systemShutdown), id: "x") == .finish(closing: false))
    var fresh = StreamMachine(policy: Self.policy(), isSecured: false)
    #expect(fresh.close() == .finish(closing: false))
    var gone = try Self.bound()
    gone.disconnected()
    #expect(gone.phase == .closed)
    #expect(!gone.wasClosedByPeer)
    #expect(gone.fail(StreamError(.reset), id: "x") == .nothing)
  }

  // MARK: Writing

  /// RFC 6120 4.7.
  @Test func headersAreWritten() throws {
    let response = StreamResponse(
      from: "im.example.com", to: "o'neil@im.example.com", id: "++TR84Sm6A3hnt3Q065SnAbbk3Y=", language: "en",
      isVersioned: true)
    let xml = written { response.write(framing: .document, into: &$0) }
    #expect(
      xml == """
        <?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' \
        from='im.example.com' to='o&apos;neil@im.example.com' id='++TR84Sm6A3hnt3Q065SnAbbk3Y=' version='1.0' xml:lang='en'>
        """)
    #expect(try header(xml).to == "o'neil@im.example.com")
    let old = StreamResponse(from: "", to: nil, id: "<&>\"", language: "en", isVersioned: false)
    let oldHeader = try header(written { old.write(framing: .document, into: &$0) })
    #expect(oldHeader.version == nil)
    #expect(oldHeader.to == nil)
    #expect(oldHeader.id == "<&>\"")
  }

  /// RFC 7395 3.4, 3.6.
  @Test func framedHeadersAreWritten() throws {
    let response = StreamResponse(
      from: "example.com", to: nil, id: "++TR84Sm6A3hnt3Q065SnAbbk3Y=", language: "en", isVersioned: true)
    let xml = written(framing: .messages) { response.write(framing: .messages, into: &$0) }
    #expect(
      try Element(xml: xml)
        == Element(
          xml:
            "<open xmlns='urn:ietf:params:xml:ns:xmpp-framing' from='example.com' id='++TR84Sm6A3hnt3Q065SnAbbk3Y=' xml:lang='en' version='1.0'/>"
        ))
    #expect(
      written(framing: .messages) { StreamFraming.messages.writeClose(into: &$0) }
        == "<close xmlns='urn:ietf:params:xml:ns:xmpp-framing'/>")
    #expect(written { StreamFraming.document.writeClose(into: &$0) } == "</stream:stream>")
  }
}
