import Testing
import XMLStream

@testable import XMPP

/// Streams that this server opens.
@Suite struct InitiatingMachineTests {
  typealias S = ServerStreams

  private static let header = StreamResponse.initial(from: "capulet.example", to: "montague.example", language: "en")
  private static let key = S.policy.secret.key(of: S.ours, streamID: "t1")
  private static let request = ServerElement.dialback(
    Dialback(.result, from: "capulet.example", to: "montague.example", .key(key)))
  private static let bidi = ServerElement.bidi(S.policy.limits)
  private static let unasked = S.policyViolation("an answer to a dialback request that was never sent")
  private static let message = "<message from='romeo@montague.example/o' to='juliet@capulet.example'/>"

  private func response(
    _ id: String? = "t1", from: String? = "montague.example", dialback: Bool = false
  ) throws
    -> StreamHeader
  {
    try S.header(from: from, to: "capulet.example", id: id, dialback: dialback)
  }

  /// A stream with TLS whose features are due.
  private func secured(
    hasCertificate: Bool = true, wantsBidi: Bool = true, dialback: Bool = false,
    question: DialbackRequest? = nil
  ) throws -> InitiatingMachine {
    var machine =
      question.map { InitiatingMachine(policy: S.policy, question: $0) }
      ?? InitiatingMachine(policy: S.policy, pair: S.ours, hasCertificate: hasCertificate, wantsBidi: wantsBidi)
    #expect(machine.secured() == .judge(machine.pair.reversed))
    #expect(
      machine.judged(.certified)
        == .reopen(.initial(from: machine.pair.sender, to: machine.pair.target, language: "en")))
    #expect(
      machine.opened(try S.header(from: machine.pair.target, to: machine.pair.sender, id: "t1", dialback: dialback))
        == .nothing)
    return machine
  }

  private func opened(wantsBidi: Bool = true) throws -> InitiatingMachine {
    var machine = try secured(wantsBidi: wantsBidi)
    _ = machine.received(try S.features(S.external, S.bidi))
    #expect(machine.received(try S.element(S.success)) == .reopen(Self.header))
    _ = machine.opened(try response("t2"))
    #expect(machine.received(try S.features(S.management)) == .send([.enableManagement]))
    #expect(
      machine.received(try S.element("<enabled xmlns='urn:xmpp:sm:3'/>"))
        == .opened(wantsBidi ? [S.ours, S.theirs] : [S.ours], nil))
    #expect(machine.isManaged)
    return machine
  }

  // MARK: The whole way

  @Test func theWholeWayByCertificate() throws {
    var machine = InitiatingMachine(policy: S.policy, pair: S.ours, hasCertificate: true)
    #expect(machine.start() == .reopen(Self.header))
    #expect(machine.opened(try response("t0")) == .nothing)
    #expect(machine.received(try S.features(S.startTLS)) == .send([.startTLS]))
    #expect(machine.received(try S.element("<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")) == .startTLS)
    #expect(machine.secured() == .judge(S.theirs))
    #expect(machine.judged(.certified) == .reopen(Self.header))
    #expect(machine.opened(try response()) == .nothing)
    #expect(
      machine.received(try S.features(S.external, S.dialback, S.bidi))
        == .send([Self.bidi, .external("capulet.example")]))
    #expect(machine.received(try S.element(S.success)) == .reopen(Self.header))
    #expect(machine.opened(try response("t2")) == .nothing)
    #expect(
      machine.received(
        try S.features(
          S.management, "<limits xmlns='urn:xmpp:stream-limits:0'><max-bytes>65536</max-bytes></limits>"))
        == .send([.enableManagement]))
    #expect(machine.received(try S.element("<enabled xmlns='urn:xmpp:sm:3'/>")) == .opened([S.ours, S.theirs], nil))
    #expect(machine.peerLimits == StreamLimits(maxBytes: 65_536))
    let message = try S.stanza(Self.message)
    #expect(machine.received(message.element) == .stanza(message, S.theirs))
    #expect(machine.close() == .close)
    #expect(machine.closed() == .finish(closing: false))
    #expect(machine.end == .closed)
  }

  @Test func theWholeWayByDialback() throws {
    var machine = try secured()
    #expect(machine.received(try S.features(S.dialback)) == .send([Self.request]))
    #expect(
      machine.received(try S.element("<db:result from='montague.example' to='capulet.example' type='valid'/>"))
        == .opened([S.ours], nil))
  }

  // MARK: Features, in every order

  private static let offers: [(String, String)] = [
    ("external", S.external), ("dialback", S.dialback), ("bidi", S.bidi), ("management", S.management),
    ("tls", S.startTLS), ("unknown", "<x xmlns='urn:x'/>"),
  ]

  /// Returns all subsets of the offers, each forwards and backwards.
  private static let orders: [[Int]] = (0..<(1 << offers.count)).flatMap { bits in
    let subset = offers.indices.filter { bits & (1 << $0) != 0 }
    return [subset, subset.reversed(), Array(subset.dropFirst()) + subset.prefix(1)]
  }

  @Test(arguments: orders) func theStepsDoNotDependOnTheOrderOfFeatures(_ order: [Int]) throws {
    let names = Set(order.map { Self.offers[$0].0 })
    let features = try S.element("<stream:features>\(order.map { Self.offers[$0].1 }.joined())</stream:features>")
    for (hasCertificate, wantsBidi) in [(true, true), (true, false), (false, true), (false, false)] {
      var machine = try secured(hasCertificate: hasCertificate, wantsBidi: wantsBidi)
      let bidi = wantsBidi && names.contains("bidi") ? [Self.bidi] : []
      let expected: ServerStreamOutput =
        if hasCertificate, names.contains("external") {
          .send(bidi + [.external("capulet.example")])
        } else if names
          .contains("dialback")
        { .send(bidi + [Self.request]) } else {
          .refuse(nil, StreamError(.unsupportedFeature, "neither EXTERNAL nor dialback is offered"))
        }
      #expect(machine.received(features) == expected)
    }
    // In the clear nothing but TLS counts.
    var clear = InitiatingMachine(policy: S.policy, pair: S.ours, hasCertificate: true)
    _ = clear.start()
    _ = clear.opened(try response())
    #expect(
      clear.received(features)
        == (names.contains("tls") ? .send([.startTLS]) : S.policyViolation("the server offers no TLS")))
    // After authentication only stream management does.
    var machine = try secured()
    _ = machine.received(try S.features(S.external))
    _ = machine.received(try S.element(S.success))
    _ = machine.opened(try response("t2"))
    #expect(
      machine.received(features)
        == (names.contains("management") ? .send([.enableManagement]) : .opened([S.ours], nil)))
  }

  /// XEP-0220 2.4.1: older servers announce dialback by the declaration alone.
  @Test func aDeclarationOffersDialback() throws {
    var machine = try secured(hasCertificate: false, dialback: true)
    #expect(machine.received(try S.features()) == .send([Self.request]))
  }

  // MARK: Refusals

  @Test func aRefusedCertificateIsFollowedByDialback() throws {
    let failure = "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><not-authorized/></failure>"
    var machine = try secured()
    _ = machine.received(try S.features(S.external, S.dialback, S.bidi))
    #expect(machine.received(try S.element(failure)) == .send([Self.request]))
    #expect(
      machine.received(try S.element("<db:result from='montague.example' to='capulet.example' type='valid'/>"))
        == .opened([S.ours, S.theirs], nil))

    machine = try secured()
    _ = machine.received(try S.features(S.external))
    #expect(machine.received(try S.element(failure)) == .finish(closing: true))
    #expect(machine.end == .unauthenticated(SASLFailure(.notAuthorized)))
  }

  @Test func theirCertificateIsJudgedBeforeAnythingIsSaid() throws {
    var machine = InitiatingMachine(policy: S.policy, pair: S.ours, hasCertificate: true)
    #expect(machine.secured() == .judge(S.theirs))
    let error = StreamError(.policyViolation, "the certificate is for verona.example")
    #expect(
      machine.judged(.uncertified("the certificate is for verona.example", mayDialBack: false))
        == .refuse(Self.header, error))
    #expect(machine.end == .refused(error))
    machine = InitiatingMachine(policy: S.policy, pair: S.ours, hasCertificate: true)
    _ = machine.secured()
    #expect(machine.judged(.uncertified("self-signed", mayDialBack: true)) == .reopen(Self.header))
  }

  @Test(arguments: [
    ("type='invalid'", DialbackVerdict.invalid), ("type='error'", .error(.undefinedCondition)),
  ])
  func aRefusedKeyEndsTheStream(_ type: String, verdict: DialbackVerdict) throws {
    var machine = try secured()
    _ = machine.received(try S.features(S.dialback))
    #expect(
      machine.received(try S.element("<db:result from='montague.example' to='capulet.example' \(type)/>"))
        == .finish(closing: true))
    #expect(machine.end == .undialled(verdict))
  }

  /// XEP-0220 3.1: answers for other domains, to other questions, and unasked ones.
  @Test(arguments: [
    "<db:result from='verona.example' to='capulet.example' type='valid'/>",
    "<db:result from='montague.example' to='rooms.capulet.example' type='valid'/>",
    "<db:verify from='montague.example' to='capulet.example' id='t1' type='valid'/>",
  ])
  func foreignAnswersEndTheStream(_ xml: String) throws {
    var machine = try secured()
    _ = machine.received(try S.features(S.dialback))
    #expect(machine.received(try S.element(xml)) == Self.unasked)
    for var machine in [try opened(), try opened(wantsBidi: false)] {
      #expect(machine.received(try S.element(xml)) == Self.unasked)
    }
  }

  @Test func anAnswerBeforeTheQuestionEndsTheStream() throws {
    var machine = try secured()
    #expect(
      machine.received(try S.element("<db:result from='montague.example' to='capulet.example' type='valid'/>"))
        == .refuse(nil, StreamError(.unsupportedStanzaType, "<result/> is not understood here")))
  }

  @Test(arguments: [
    ("<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>", StreamError.Condition.unsupportedStanzaType),
    ("<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", .unsupportedStanzaType), (message, .notAuthorized),
    ("<enabled xmlns='urn:xmpp:sm:3'/>", .unsupportedStanzaType),
  ])
  func elementsOutOfTurnEndTheStream(_ xml: String, condition: StreamError.Condition) throws {
    var machine = try secured()
    guard case .refuse(nil, let error) = machine.received(try S.element(xml)) else {
      Issue.record("it was taken")
      return
    }
    #expect(error.condition == condition)
  }

  @Test func tlsCanBeRefused() throws {
    var machine = InitiatingMachine(policy: S.policy, pair: S.ours, hasCertificate: true)
    _ = machine.start()
    _ = machine.opened(try response())
    _ = machine.received(try S.features(S.startTLS))
    #expect(
      machine.received(try S.element("<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")) == .finish(closing: true))
    #expect(machine.end == .unsecured("the server refused TLS"))
  }

  // MARK: Headers

  @Test func headersOfOtherServersAreRefused() throws {
    func refusal(_ header: StreamHeader) throws -> StreamError? {
      var machine = InitiatingMachine(policy: S.policy, pair: S.ours, hasCertificate: true)
      _ = machine.secured()
      _ = machine.judged(.certified)
      var output = machine.opened(header)
      if output == .nothing { output = machine.received(try S.features(S.external)) }
      guard case .refuse(nil, let error) = output else { return nil }
      return error
    }
    #expect(try refusal(try response(from: nil)) == nil)
    #expect(try refusal(try response(nil)) == StreamError(.badFormat, "the header has no 'id'"))
    #expect(
      try refusal(try response(from: "verona.example"))
        == StreamError(.invalidFrom, "the server answers for another domain"))
    #expect(
      try refusal(try S.header(id: "t1", version: nil)) == StreamError(.unsupportedVersion, "this is XMPP 1.0"))
    #expect(
      try refusal(try S.header(id: "t1", content: "jabber:client"))
        == StreamError(.invalidNamespace, "the content namespace is not jabber:server"))
  }

  @Test func anErrorUnderAnotherNameIsUnderstood() throws {
    var machine = InitiatingMachine(policy: S.policy, pair: S.ours, hasCertificate: true)
    _ = machine.start()
    #expect(machine.opened(try response(from: "verona.example")) == .nothing)
    let error = "<stream:error><host-unknown xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>"
    #expect(machine.received(try S.element(error)) == .finish(closing: true))
    #expect(machine.end == .failed(StreamError(.hostUnknown)))
  }

  /// RFC 6120 4.9.3.19: nothing follows it.
  @Test func anotherHostIsNotFollowed() throws {
    var machine = try secured()
    let error =
      "<stream:error><see-other-host xmlns='urn:ietf:params:xml:ns:xmpp-streams'>[::1]:22</see-other-host></stream:error>"
    #expect(machine.received(try S.element(error)) == .finish(closing: true))
    #expect(machine.end == .failed(StreamError(.seeOtherHost, otherHost: "[::1]:22")))
  }

  // MARK: Open streams

  @Test func stanzasComeOnBidirectionalStreamsAlone() throws {
    let message = try S.stanza(Self.message)
    var machine = try opened(wantsBidi: false)
    #expect(
      machine.received(message.element)
        == .refuse(nil, StreamError(.notAuthorized, "no stanzas were asked for on this stream")))
    machine = try opened()
    #expect(machine.received(message.element) == .stanza(message, S.theirs))
    guard
      case .refuse(nil, let error) = machine.received(
        try S.element("<message from='romeo@verona.example' to='juliet@capulet.example'/>"))
    else {
      Issue.record("it was taken")
      return
    }
    #expect(error.condition == .invalidFrom)
  }

  @Test func stanzasMayComeBeforeStreamManagementIsThere() throws {
    var machine = try secured()
    _ = machine.received(try S.features(S.external, S.bidi))
    _ = machine.received(try S.element(S.success))
    _ = machine.opened(try response("t2"))
    _ = machine.received(try S.features(S.management))
    let message = try S.stanza(Self.message)
    #expect(machine.received(message.element) == .stanza(message, S.theirs))
    #expect(
      machine.received(try S.element("<failed xmlns='urn:xmpp:sm:3'/>")) == .opened([S.ours, S.theirs], nil))
    #expect(!machine.isManaged)
  }

  /// XEP-0288 2.2: the other server may ask for further pairs, and about keys, but not about this stream's.
  @Test func theOtherServerMayAskOnABidirectionalStream() throws {
    var machine = try opened()
    let pair = DirectedPair(sender: "rooms.montague.example", target: "capulet.example")
    #expect(
      machine.received(try S.element("<db:result from='rooms.montague.example' to='capulet.example'>k</db:result>"))
        == .verify(DialbackRequest(pair: pair, streamID: "t2", key: "k")))
    #expect(
      machine.verified(pair, .valid)
        == .opened(
          [pair, pair.reversed], .dialback(Dialback(.result, from: pair.target, to: pair.sender, .valid))))
    #expect(
      machine.received(try S.element("<db:verify from='montague.example' to='capulet.example' id='t2'>k</db:verify>"))
        == .send([
          .dialback(
            Dialback(.verify, from: "capulet.example", to: "montague.example", id: "t2", .error(.notAcceptable)))
        ]))
    machine = try opened(wantsBidi: false)
    #expect(
      machine.received(try S.element("<db:result from='rooms.montague.example' to='capulet.example'>k</db:result>"))
        == .refuse(nil, StreamError(.unsupportedStanzaType, "<result/> is not understood here")))
  }

  @Test func acknowledgements() throws {
    var machine = try opened()
    #expect(machine.received(try S.element("<r xmlns='urn:xmpp:sm:3'/>")) == .management(.request))
    #expect(machine.received(try S.element("<a xmlns='urn:xmpp:sm:3' h='1'/>")) == .management(.acknowledge(1)))
    #expect(
      machine.received(try S.element("<enable xmlns='urn:xmpp:sm:3'/>"))
        == .send([.managementFailed(.unexpectedRequest)]))
  }

  // MARK: Questions (XEP-0220 2.1.2)

  private static let asked = DialbackRequest(pair: S.theirs, streamID: "s1", key: "key")
  private static let question = ServerElement.dialback(
    Dialback(.verify, from: "capulet.example", to: "montague.example", id: "s1", .key("key")))

  @Test(arguments: [
    ("type='valid'", DialbackVerdict.valid), ("type='invalid'", .invalid),
    ("type='error'", .error(.undefinedCondition)),
  ])
  func aQuestionNeedsNoAuthentication(_ type: String, verdict: DialbackVerdict) throws {
    var machine = try secured(question: Self.asked)
    #expect(machine.received(try S.features(S.external, S.dialback, S.bidi)) == .send([Self.question]))
    #expect(
      machine.received(try S.element("<db:verify from='montague.example' to='capulet.example' id='s1' \(type)/>"))
        == .verdict(verdict))
    #expect(machine.close() == .close)
  }

  @Test(arguments: [
    "<db:verify from='montague.example' to='capulet.example' id='s2' type='valid'/>",
    "<db:verify from='verona.example' to='capulet.example' id='s1' type='valid'/>",
    "<db:result from='montague.example' to='capulet.example' type='valid'/>",
  ])
  func anAnswerToAnotherQuestionEndsTheStream(_ xml: String) throws {
    var machine = try secured(question: Self.asked)
    _ = machine.received(try S.features())
    #expect(machine.received(try S.element(xml)) == Self.unasked)
  }
}
