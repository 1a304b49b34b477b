import Testing
import XMLStream

@testable import XMPP

/// Streams that another server opens.
@Suite struct ReceivingMachineTests {
  typealias S = ServerStreams

  /// A stream with TLS whose header has been judged.
  private func secured(_ judgement: PeerJudgement = .certified) throws -> ReceivingMachine {
    var machine = ReceivingMachine(policy: S.policy)
    machine.secured()
    #expect(machine.opened(try S.header(), id: "s1") == .judge(S.theirs))
    let offer = judgement == .certified ? S.certifiedOffer : S.uncertifiedOffer
    #expect(machine.judged(judgement) == .open(S.response(), offer, []))
    return machine
  }

  private func authenticated(bidi: Bool = false) throws -> ReceivingMachine {
    var machine = try secured()
    if bidi { #expect(machine.received(try S.element("<bidi xmlns='urn:xmpp:bidi'/>")) == .nothing) }
    #expect(machine.received(try S.auth("=")) == .authenticated)
    #expect(
      machine.opened(try S.header(), id: "s2")
        == .open(S.response(id: "s2"), S.openOffer, bidi ? [S.theirs, S.ours] : [S.theirs]))
    return machine
  }

  private static let uncertified = PeerJudgement.uncertified("self-signed", mayDialBack: true)
  private static let message = "<message from='romeo@montague.example/o' to='juliet@capulet.example'/>"
  private static let result = "<db:result from='montague.example' to='capulet.example'>key</db:result>"
  private static let request = DialbackRequest(pair: S.theirs, streamID: "s1", key: "key")

  private func answer(_ content: Dialback.Content, _ pair: DirectedPair = S.theirs) -> ServerElement {
    .dialback(Dialback(.result, from: pair.target, to: pair.sender, content))
  }

  // MARK: The whole way

  /// XEP-0178 3.
  @Test func theWholeWayByCertificate() throws {
    var machine = ReceivingMachine(policy: S.policy)
    #expect(machine.opened(try S.header(), id: "s0") == .open(S.response(id: "s0"), [.startTLS(isRequired: true)], []))
    #expect(machine.received(try S.element(S.startTLS)) == .proceedTLS(domain: "capulet.example"))
    machine.secured()
    #expect(machine.opened(try S.header(), id: "s1") == .judge(S.theirs))
    #expect(machine.judged(.certified) == .open(S.response(), S.certifiedOffer, []))
    #expect(machine.received(try S.auth("bW9udGFndWUuZXhhbXBsZQ==")) == .authenticated)
    #expect(machine.authenticated == S.theirs)
    #expect(machine.opened(try S.header(), id: "s2") == .open(S.response(id: "s2"), S.openOffer, [S.theirs]))
    let message = try S.stanza(Self.message)
    #expect(machine.received(message.element) == .stanza(message, S.theirs))
    #expect(
      machine.received(try S.element("<enable xmlns='urn:xmpp:sm:3' resume='true'/>")) == .send([.managementEnabled]))
    #expect(machine.isManaged)
    #expect(machine.received(try S.element("<r xmlns='urn:xmpp:sm:3'/>")) == .management(.request))
    #expect(machine.closed() == .finish(closing: true))
    #expect(machine.end == .closed)
    #expect(machine.received(message.element) == .nothing)
  }

  /// XEP-0220 2.2.1 over TLS (XEP-0344 2.3).
  @Test func theWholeWayByDialback() throws {
    var machine = try secured(Self.uncertified)
    #expect(machine.received(try S.element(Self.result)) == .verify(Self.request))
    #expect(machine.verified(S.theirs, .valid) == .opened([S.theirs], answer(.valid)))
    let message = try S.stanza(Self.message)
    #expect(machine.received(message.element) == .stanza(message, S.theirs))
    #expect(machine.received(try S.element("<enable xmlns='urn:xmpp:sm:3'/>")) == .send([.managementEnabled]))
  }

  // MARK: Headers

  @Test func nothingIsOfferedBeforeBothDomainsAreKnown() throws {
    var clear = ReceivingMachine(policy: S.policy)
    #expect(
      clear.opened(try S.header(from: nil), id: "s1")
        == .open(S.response(to: nil), [.startTLS(isRequired: true)], []))
    var machine = ReceivingMachine(policy: S.policy)
    machine.secured()
    #expect(
      machine.opened(try S.header(from: nil), id: "s1")
        == .refuse(S.response(to: nil), StreamError(.improperAddressing, "'from' is missing")))
  }

  @Test(
    arguments: [
      (["to": nil], "", "montague.example", StreamError(.improperAddressing, "'to' is missing")),
      (["to": "a@capulet.example"], "", nil, StreamError(.improperAddressing, "an address of the header is no domain")),
      (
        ["from": "a b"], "capulet.example", nil,
        StreamError(.improperAddressing, "an address of the header is no domain")
      ),
      (["to": "verona.example"], "", nil, StreamError(.hostUnknown)),
      (
        ["from": "rooms.capulet.example"], "capulet.example", "rooms.capulet.example",
        StreamError(.invalidFrom, "'from' is a domain of this server")
      ),
      (["version": nil], "capulet.example", "montague.example", StreamError(.unsupportedVersion, "this is XMPP 1.0")),
      (["version": "0.9"], "capulet.example", "montague.example", StreamError(.unsupportedVersion, "this is XMPP 1.0")),
      (
        ["content": "jabber:client"], "", nil,
        StreamError(.invalidNamespace, "the content namespace is not jabber:server")
      ),
      (["stream": "urn:x"], "", nil, StreamError(.invalidNamespace, "the namespace of the stream")),
      (["root": "open"], "", nil, StreamError(.badFormat, "the root element is not <stream/>")),
    ] as [([String: String?], String, String?, StreamError)])
  func wrongHeadersAreRefusedBehindAHeader(
    _ change: [String: String?], from: String, to: String?, error: StreamError
  ) throws {
    func value(_ name: String, _ usual: String) -> String? { change[name] ?? .some(usual) }
    let header = try S.header(
      from: value("from", "montague.example"), to: value("to", "capulet.example"), version: value("version", "1.0"),
      content: value("content", "jabber:server") ?? "",
      stream: value("stream", "http://etherx.jabber.org/streams") ?? "",
      root: value("root", "stream") ?? "")
    for isSecured in [false, true] {
      var machine = ReceivingMachine(policy: S.policy)
      if isSecured { machine.secured() }
      let known = from.isEmpty ? nil : to
      #expect(machine.opened(header, id: "s1") == .refuse(S.response(from: from, to: known), error))
      #expect(machine.end == .refused(error))
    }
  }

  @Test func aCertificateThatIsNotGoodIsToldWhy() throws {
    var machine = ReceivingMachine(policy: S.policy)
    machine.secured()
    #expect(machine.opened(try S.header(), id: "s1") == .judge(S.theirs))
    let error = StreamError(.policyViolation, "the certificate has expired")
    #expect(
      machine.judged(.uncertified("the certificate has expired", mayDialBack: false)) == .refuse(S.response(), error))
    #expect(machine.end == .refused(error))
  }

  @Test func aDomainThatIsNotAdmittedIsRefused() throws {
    var machine = ReceivingMachine(policy: S.policy)
    machine.secured()
    _ = machine.opened(try S.header(), id: "s1")
    #expect(
      machine.judged(.denied(StreamError(.policyViolation))) == .refuse(S.response(), StreamError(.policyViolation)))
  }

  /// RFC 6120 6.4.6: the stream restarts under the same names.
  @Test(arguments: [
    ("montague.example", "rooms.capulet.example"), ("verona.example", "capulet.example"),
  ])
  func aRestartCannotChangeTheNames(from: String, to: String) throws {
    var machine = try secured()
    #expect(machine.received(try S.auth("=")) == .authenticated)
    #expect(
      machine.opened(try S.header(from: from, to: to), id: "s2")
        == .refuse(
          S.response(from: to, to: from, id: "s2"),
          StreamError(.notAuthorized, "the stream is authenticated for other domains")))
  }

  @Test func aRestartMayLeaveOutTheSender() throws {
    var machine = try secured()
    _ = machine.received(try S.auth("="))
    #expect(
      machine.opened(try S.header(from: nil), id: "s2") == .open(S.response(id: "s2"), S.openOffer, [S.theirs]))
  }

  @Test func aSecondHeaderEndsTheStream() throws {
    var machine = try secured()
    #expect(
      machine.opened(try S.header(), id: "s2") == .refuse(nil, StreamError(.badFormat, "a header within a stream")))
  }

  // MARK: Without TLS

  @Test(arguments: [
    "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='EXTERNAL'>=</auth>", message,
    "<bidi xmlns='urn:xmpp:bidi'/>", "<enable xmlns='urn:xmpp:sm:3'/>", "<x xmlns='urn:x'/>",
  ])
  func nothingIsDoneInTheClear(_ xml: String) throws {
    var machine = ReceivingMachine(policy: S.policy)
    _ = machine.opened(try S.header(), id: "s1")
    #expect(machine.received(try S.element(xml)) == S.policyViolation("TLS comes first"))
    #expect(machine.carried.isEmpty)
  }

  /// XEP-0220 2.4: that is an error of dialback alone.
  @Test func dialbackInTheClearIsRefused() throws {
    var machine = ReceivingMachine(policy: S.policy)
    _ = machine.opened(try S.header(), id: "s1")
    #expect(machine.received(try S.element(Self.result)) == .send([answer(.error(.policyViolation))]))
    #expect(
      machine.received(try S.element("<db:verify from='montague.example' to='capulet.example' id='1'>k</db:verify>"))
        == .send([
          .dialback(
            Dialback(.verify, from: "capulet.example", to: "montague.example", id: "1", .error(.policyViolation)))
        ]))
    #expect(machine.received(try S.element(S.startTLS)) == .proceedTLS(domain: "capulet.example"))
  }

  @Test func whatCameInTheClearIsForgotten() throws {
    var machine = ReceivingMachine(policy: S.policy)
    _ = machine.opened(try S.header(from: "verona.example", to: "rooms.capulet.example"), id: "s0")
    _ = machine.received(try S.element(S.startTLS))
    #expect(
      machine.opened(try S.header(), id: "s1") == .refuse(nil, StreamError(.badFormat, "a header within a stream")))
    machine = ReceivingMachine(policy: S.policy)
    _ = machine.opened(try S.header(from: "verona.example", to: "rooms.capulet.example"), id: "s0")
    _ = machine.received(try S.element(S.startTLS))
    machine.secured()
    #expect(machine.opened(try S.header(), id: "s1") == .judge(S.theirs))
  }

  @Test func aSecondStartTLSIsRefused() throws {
    var machine = try secured()
    #expect(machine.received(try S.element(S.startTLS)) == .refuseTLS)
    #expect(machine.phase == .closed)
  }

  // MARK: SASL

  @Test(
    arguments: [
      ("", .send([.challenge])), ("=", .authenticated), ("bW9udGFndWUuZXhhbXBsZQ==", .authenticated),
      ("TW9udGFndWUuRXhhbXBsZQ==", .authenticated), ("Y2FwdWxldC5leGFtcGxl", ServerStreams.failure(.invalidAuthzid)),
      ("!", ServerStreams.failure(.incorrectEncoding)), ("/w==", ServerStreams.failure(.incorrectEncoding)),
    ] as [(String, ServerStreamOutput)])
  func authorizationIdentities(_ content: String, output: ServerStreamOutput) throws {
    var machine = try secured()
    #expect(machine.received(try S.auth(content)) == output)
  }

  @Test func theIdentityMayComeInAResponse() throws {
    var machine = try secured()
    #expect(machine.received(try S.auth("")) == .send([.challenge]))
    #expect(
      machine.received(try S.element("<response xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>")) == .authenticated)
  }

  @Test(arguments: ["abort", "response", "success"])
  func otherElementsOfSASLFail(_ name: String) throws {
    var machine = try secured()
    let element = try S.element("<\(name) xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>")
    #expect(machine.received(element) == S.failure(.malformedRequest))
    _ = machine.received(try S.auth(""))
    #expect(
      machine.received(element)
        == (name == "abort" ? S.failure(.aborted) : name == "response" ? .authenticated : S.failure(.malformedRequest)))
  }

  @Test func externalIsForValidCertificatesAlone() throws {
    var machine = try secured(Self.uncertified)
    #expect(machine.received(try S.auth("=")) == S.failure(.invalidMechanism))
    machine = try secured()
    #expect(machine.received(try S.auth("=", "PLAIN")) == S.failure(.invalidMechanism))
  }

  @Test func attemptsAreBounded() throws {
    var machine = try secured()
    for _ in 0..<3 { #expect(machine.received(try S.auth("!")) == S.failure(.incorrectEncoding)) }
    #expect(machine.received(try S.auth("=")) == S.policyViolation("too many attempts to authenticate"))
  }

  @Test func nothingFollowsASuccessfulAuthentication() throws {
    var machine = try authenticated()
    #expect(machine.received(try S.auth("=")) == S.policyViolation("the stream is authenticated"))
    machine = try secured()
    _ = machine.received(try S.element(Self.result))
    _ = machine.verified(S.theirs, .valid)
    #expect(machine.received(try S.auth("=")) == S.policyViolation("the stream is authenticated"))
  }

  @Test func theRestartIsAwaitedAfterIt() throws {
    var machine = try secured()
    _ = machine.received(try S.auth("="))
    #expect(
      machine.received(try S.element(Self.message))
        == .refuse(nil, StreamError(.badFormat, "an element outside a stream")))
  }

  // MARK: Dialback

  @Test func stanzasWaitForTheVerification() throws {
    var machine = try secured(Self.uncertified)
    #expect(machine.received(try S.element(Self.result)) == .verify(Self.request))
    #expect(
      machine.received(try S.element(Self.message)) == .refuse(nil, StreamError(.notAuthorized, "authenticate first")))
  }

  @Test func aWrongKeyEndsTheStreamUnlessOthersUseIt() throws {
    var machine = try secured(Self.uncertified)
    _ = machine.received(try S.element(Self.result))
    #expect(
      machine.verified(S.theirs, .invalid)
        == .reject(Dialback(.result, from: "capulet.example", to: "montague.example", .invalid)))
    #expect(machine.phase == .closed)

    machine = try authenticated()
    let other = DirectedPair(sender: "verona.example", target: "capulet.example")
    _ = machine.received(try S.element("<db:result from='verona.example' to='capulet.example'>key</db:result>"))
    #expect(machine.verified(other, .invalid) == .send([answer(.error(.forbidden), other)]))
    #expect(machine.carried == [S.theirs])
  }

  @Test func anErrorLeavesTheStreamOpen() throws {
    var machine = try secured(Self.uncertified)
    _ = machine.received(try S.element(Self.result))
    #expect(machine.verified(S.theirs, .error(.remoteServerTimeout)) == .send([answer(.error(.remoteServerTimeout))]))
    #expect(machine.carried.isEmpty)
    #expect(machine.received(try S.element(Self.result)) == .verify(Self.request))
  }

  /// XEP-0220 2.2.1, 2.2.2: these errors do not end the stream.
  @Test(arguments: [
    (
      "<db:result from='montague.example' to='verona.example'>k</db:result>",
      Dialback(.result, from: "verona.example", to: "montague.example", .error(.itemNotFound))
    ),
    (
      "<db:result from='rooms.capulet.example' to='capulet.example'>k</db:result>",
      Dialback(.result, from: "capulet.example", to: "rooms.capulet.example", .error(.notAcceptable))
    ),
    (
      "<db:verify from='montague.example' to='verona.example' id='1'>k</db:verify>",
      Dialback(.verify, from: "verona.example", to: "montague.example", id: "1", .error(.itemNotFound))
    ),
    (
      "<db:verify from='montague.example' to='capulet.example' id='D60000229F'>"
        + "b4835385f37fe2895af6c196b59097b16862406db80559900d96bf6fa7d23df3</db:verify>",
      Dialback(.verify, from: "capulet.example", to: "montague.example", id: "D60000229F", .valid)
    ),
    (
      "<db:verify from='verona.example' to='capulet.example' id='D60000229F'>"
        + "b4835385f37fe2895af6c196b59097b16862406db80559900d96bf6fa7d23df3</db:verify>",
      Dialback(.verify, from: "capulet.example", to: "verona.example", id: "D60000229F", .invalid)
    ),
    // Over the stream that it is about.
    (
      "<db:verify from='montague.example' to='capulet.example' id='s1'>k</db:verify>",
      Dialback(.verify, from: "capulet.example", to: "montague.example", id: "s1", .error(.notAcceptable))
    ),
  ])
  func requestsThatAreAnsweredAtOnce(_ xml: String, answer: Dialback) throws {
    var machine = try secured(Self.uncertified)
    #expect(machine.received(try S.element(xml)) == .send([.dialback(answer)]))
    #expect(machine.phase == .negotiating)
  }

  @Test func oneAnswerServesARepeatedKey() throws {
    var machine = try secured(Self.uncertified)
    #expect(machine.received(try S.element(Self.result)) == .verify(Self.request))
    #expect(machine.received(try S.element(Self.result)) == .nothing)
    #expect(machine.verified(S.theirs, .valid) == .opened([S.theirs], answer(.valid)))
    #expect(machine.received(try S.element(Self.result)) == .send([answer(.valid)]))
    #expect(machine.verified(S.theirs, .invalid) == .nothing)
  }

  @Test func twoKeysForOnePairEndTheStream() throws {
    var machine = try secured(Self.uncertified)
    _ = machine.received(try S.element(Self.result))
    #expect(
      machine.received(try S.element("<db:result from='montague.example' to='capulet.example'>other</db:result>"))
        == S.policyViolation("two keys at a time for one pair of domains"))
    #expect(machine.end == .refused(StreamError(.policyViolation, "two keys at a time for one pair of domains")))
  }

  /// XEP-0220 3.1.
  @Test(arguments: [
    "<db:result from='montague.example' to='capulet.example' type='valid'/>",
    "<db:verify from='montague.example' to='capulet.example' id='s1' type='valid'/>",
    "<db:result from='montague.example' to='capulet.example' type='error'/>",
  ])
  func unaskedAnswersEndTheStream(_ xml: String) throws {
    for var machine in [try secured(Self.uncertified), try authenticated(bidi: true)] {
      #expect(
        machine.received(try S.element(xml))
          == S.policyViolation("an answer to a dialback request that was never sent"))
      #expect(machine.carried.isEmpty || machine.carried == [S.theirs])
    }
  }

  @Test func malformedElementsOfDialbackEndTheStream() throws {
    var machine = try secured(Self.uncertified)
    #expect(
      machine.received(try S.element("<db:result from='montague.example'>key</db:result>"))
        == .refuse(
          nil, StreamError(.improperAddressing, "a dialback element lacks a domain, the id or the key")))
  }

  /// XEP-0220 2.4: further pairs are refused without harm to the ones there are.
  @Test func pairsAreBounded() throws {
    var machine = try authenticated()
    for number in 1..<32 {
      let pair = DirectedPair(sender: "d\(number).example", target: "capulet.example")
      _ = machine.received(try S.element("<db:result from='\(pair.sender)' to='capulet.example'>k</db:result>"))
      #expect(machine.verified(pair, .valid) == .opened([pair], answer(.valid, pair)))
    }
    #expect(machine.carried.count == 32)
    let last = DirectedPair(sender: "d32.example", target: "capulet.example")
    #expect(
      machine.received(try S.element("<db:result from='d32.example' to='capulet.example'>k</db:result>"))
        == .send([answer(.error(.resourceConstraint), last)]))
    #expect(machine.received(try S.element(Self.message)) == .stanza(try S.stanza(Self.message), S.theirs))
  }

  // MARK: Bidirectional streams (XEP-0288) and limits (XEP-0478)

  @Test func aBidirectionalStreamCarriesBothDirections() throws {
    var machine = try secured()
    #expect(
      machine.received(
        try S.element(
          "<bidi xmlns='urn:xmpp:bidi'><limits xmlns='urn:xmpp:stream-limits:0'><max-bytes>50000</max-bytes>"
            + "<idle-seconds>x</idle-seconds></limits></bidi>")) == .nothing)
    #expect(machine.peerLimits == StreamLimits(maxBytes: 50_000))
    _ = machine.received(try S.auth("="))
    #expect(machine.isBidirectional)
    #expect(
      machine.opened(try S.header(), id: "s2") == .open(S.response(id: "s2"), S.openOffer, [S.theirs, S.ours]))
    let pair = DirectedPair(sender: "verona.example", target: "rooms.capulet.example")
    _ = machine.received(try S.element("<db:result from='verona.example' to='rooms.capulet.example'>k</db:result>"))
    #expect(machine.verified(pair, .valid) == .opened([pair, pair.reversed], answer(.valid, pair)))
  }

  @Test func bidiComesOnceAndBeforeAuthentication() throws {
    let bidi = try S.element("<bidi xmlns='urn:xmpp:bidi'/>")
    var machine = try secured()
    #expect(machine.received(bidi) == .nothing)
    #expect(machine.received(bidi) == S.policyViolation("<bidi/> comes once, before authentication"))
    machine = try authenticated()
    #expect(machine.received(bidi) == S.policyViolation("<bidi/> comes once, before authentication"))
    #expect(!machine.isBidirectional)
  }

  // MARK: Stanzas (RFC 6120 8.1.1.2, 8.1.2.2)

  @Test(
    arguments: [
      ("<message from='romeo@montague.example'/>", .improperAddressing),
      ("<message to='juliet@capulet.example'/>", .improperAddressing),
      ("<message from='' to='juliet@capulet.example'/>", .improperAddressing),
      ("<iq from='juliet@capulet.example' to='juliet@capulet.example' type='get' id='1'/>", .invalidFrom),
      ("<message from='romeo@sub.montague.example' to='juliet@capulet.example'/>", .invalidFrom),
      ("<message from='romeo@montague.example' to='a@rooms.capulet.example'/>", .hostUnknown),
      ("<presence from='romeo@montague.example' to='verona.example'/>", .hostUnknown),
      ("<foo from='romeo@montague.example' to='juliet@capulet.example'/>", .unsupportedStanzaType),
      ("<message xmlns='urn:x' from='romeo@montague.example' to='juliet@capulet.example'/>", .unsupportedStanzaType),
    ] as [(String, StreamError.Condition)])
  func foreignPairsEndTheStream(_ xml: String, condition: StreamError.Condition) throws {
    var machine = try authenticated(bidi: true)
    guard case .refuse(nil, let error) = machine.received(try S.element(xml)) else {
      Issue.record("it was taken")
      return
    }
    #expect(error.condition == condition)
    #expect(machine.end == .refused(error))
  }

  @Test func anAddressThatIsNoneCostsTheStanzaAlone() throws {
    var machine = try authenticated()
    let stanza = try S.stanza("<message from='romeo@montague.example' to='a b@capulet.example'/>")
    #expect(machine.received(stanza.element) == .dropped(stanza))
    #expect(machine.phase == .open)
  }

  // MARK: Stream management (XEP-0198)

  @Test func streamManagement() throws {
    let enable = try S.element("<enable xmlns='urn:xmpp:sm:3'/>")
    var machine = try secured(Self.uncertified)
    #expect(machine.received(enable) == .send([.managementFailed(.unexpectedRequest)]))
    machine = try authenticated()
    #expect(
      machine.received(try S.element("<r xmlns='urn:xmpp:sm:3'/>")) == .send([.managementFailed(.unexpectedRequest)]))
    #expect(
      machine.received(try S.element("<resume xmlns='urn:xmpp:sm:3' previd='1' h='0'/>"))
        == .send([.managementFailed(.featureNotImplemented)]))
    #expect(machine.received(enable) == .send([.managementEnabled]))
    #expect(machine.received(enable) == .send([.managementFailed(.unexpectedRequest)]))
    #expect(machine.received(try S.element("<a xmlns='urn:xmpp:sm:3' h='7'/>")) == .management(.acknowledge(7)))
    guard case .refuse(nil, let error) = machine.received(try S.element("<a xmlns='urn:xmpp:sm:3'/>")) else {
      Issue.record("it was taken")
      return
    }
    #expect(error.condition == .invalidXML)
  }

  // MARK: The end

  @Test func theEnds() throws {
    var machine = ReceivingMachine(policy: S.policy)
    #expect(
      machine.expired(id: "s1") == .refuse(S.response(from: "", to: nil), StreamError(.connectionTimeout)))
    machine = try secured()
    #expect(machine.expired(id: "s9") == .refuse(nil, StreamError(.connectionTimeout)))
    #expect(machine.closed() == .nothing)

    machine = try authenticated()
    #expect(machine.received(try S.element("<stream:error/>")) == .finish(closing: true))
    #expect(machine.end == .failed(StreamError(.undefinedCondition)))

    machine = try authenticated()
    #expect(machine.close() == .close)
    let message = try S.stanza(Self.message)
    #expect(machine.received(message.element) == .stanza(message, S.theirs))
    #expect(machine.closed() == .finish(closing: false))

    machine = try authenticated()
    let bomb = StreamError(.restrictedXML, "a document type")
    #expect(machine.violated(.restricted("a document type"), id: "s9") == .refuse(nil, bomb))
    machine = try authenticated()
    machine.disconnected("reset")
    #expect(machine.end == .lost("reset"))
  }
}
