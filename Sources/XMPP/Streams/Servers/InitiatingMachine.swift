// A stream between servers, the initiating side (RFC 6120 4 to 6, 13; XEP-0178 3; XEP-0220 2.1; XEP-0288; XEP-0198).
//
// Theory. This server opens a stream for one pair: to send stanzas of one of its domains to a domain elsewhere, or only
// to ask there about a key. Each step answers what the other side offers, so that the order of its features does not
// matter: TLS, then <bidi/>, then EXTERNAL or dialback, then stream management. A refused EXTERNAL is followed by
// dialback on the same stream, since servers refuse certificates that lack the client purpose. The phases:
//
//   idle            nothing is sent yet; on a connection with TLS from its first byte, TLS is being set up
//   greeting        our header was sent; theirs is awaited
//   offering        their features are awaited
//   requestingTLS   <starttls/> was sent
//   securing        <proceed/> came; TLS is being set up, no XML is expected
//   judging         TLS is in place; the caller finds out what the peer's certificate is good for
//   authenticating  <auth/> was sent
//   dialling        our key was sent
//   asking          a question about a key was sent (XEP-0220 2.1.2)
//   enabling        <enable/> was sent
//   open            stanzas of the pair may be sent
//   closing, closed as in ReceivingMachine
//
// Events are the methods in past participle, `start` included; each returns one output, which the caller carries out in
// full before the next event. `see-other-host` is an error as any other: it could lead anywhere.

public import XMLStream

/// The state machine of one stream that this server opens.
///
///     var machine = InitiatingMachine(policy: policy, pair: pair, hasCertificate: true)
///     perform(machine.start())
///     if case .opened(let pairs, _) = machine.received(element) { send(pairs) }
public struct InitiatingMachine: ServerStreamMachine, Sendable {
  public enum Phase: ServerStreamPhase, Sendable, Equatable {
    case idle, greeting, offering, requestingTLS, securing, judging, authenticating, dialling, asking, enabling, open
    case closing, closed
  }

  private let policy: ServerStreamPolicy
  /// The direction of our stanzas.
  public let pair: DirectedPair
  private let hasCertificate: Bool
  private let wantsBidi: Bool
  /// The question for which the stream is opened, in place of stanzas.
  private let question: DialbackRequest?
  var pairs: StreamPairs
  private var offersDialback = false
  private var offersManagement = false
  private var isAuthenticated = false
  /// Whether the response header names another domain than the one that was asked for.
  private var isForeign = false
  /// The peer's default language (RFC 6120 4.7.4), for stanzas without their own.
  private var language: String?

  public internal(set) var phase = Phase.idle
  public private(set) var isSecured = false
  public private(set) var isBidirectional = false
  /// Whether stanzas are counted (XEP-0198).
  public private(set) var isManaged = false
  /// The limits for what is sent to the peer (XEP-0478 3.1).
  public private(set) var peerLimits = StreamLimits()
  /// The id that the peer gave the stream.
  public private(set) var id = ""
  /// The reason why the stream ended.
  public internal(set) var end: StreamEnd?

  ///
  /// - Parameters:
  ///   - hasCertificate: whether this server has shown a certificate that may be good for its domain.
  ///   - wantsBidi: whether the peer may send stanzas over the same stream.
  public init(policy: ServerStreamPolicy, pair: DirectedPair, hasCertificate: Bool, wantsBidi: Bool = true) {
    self.policy = policy
    self.pair = pair
    self.hasCertificate = hasCertificate
    self.wantsBidi = wantsBidi
    question = nil
    pairs = StreamPairs(policy: policy)
  }

  /// Creates the machine of a stream that asks the authoritative server about a key, and carries nothing.
  public init(policy: ServerStreamPolicy, question: DialbackRequest) {
    self.policy = policy
    pair = question.pair.reversed
    hasCertificate = false
    wantsBidi = false
    self.question = question
    pairs = StreamPairs(policy: policy)
  }

  /// The pairs on which the peer may send.
  public var carried: Set<DirectedPair> { pairs.carried }

  // MARK: The caller's events

  /// Begins a stream on a connection without TLS. With TLS from the first byte `secured` is the first event.
  public mutating func start() -> ServerStreamOutput { phase == .idle ? greet() : .nothing }

  /// Notes that TLS is set up.
  public mutating func secured() -> ServerStreamOutput {
    guard phase == .securing || phase == .idle else { return .nothing }
    isSecured = true
    phase = .judging
    return .judge(pair.reversed)
  }

  /// Takes the answer to `judge`. A refusal is told the peer, behind a header.
  public mutating func judged(_ judgement: PeerJudgement) -> ServerStreamOutput {
    guard phase == .judging else { return .nothing }
    switch judgement {
    case .certified, .uncertified(_, mayDialBack: true): return greet()
    case .uncertified(let reason, mayDialBack: false):
      return refuse(StreamError(.policyViolation, reason), with: header)
    case .denied(let error): return refuse(error, with: header)
    }
  }

  /// Takes the answer to `verify`.
  public mutating func verified(_ pair: DirectedPair, _ verdict: DialbackVerdict) -> ServerStreamOutput {
    guard phase == .open else { return .nothing }
    return end(pairs.verified(pair, verdict, isBidirectional: true))
  }

  /// Handles the passing of the deadline for an open stream.
  public mutating func expired() -> ServerStreamOutput { fail(StreamError(.connectionTimeout)) }

  /// Ends the stream with an error of this server.
  public mutating func fail(_ error: StreamError) -> ServerStreamOutput {
    switch phase {
    case .closed: return .nothing
    case .idle, .requestingTLS, .securing, .judging, .closing:
      over(.refused(error))
      return .finish(closing: false)
    case .greeting, .offering, .authenticating, .dialling, .asking, .enabling, .open: return refuse(error)
    }
  }

  /// Ends the stream without an error.
  public mutating func close() -> ServerStreamOutput {
    switch phase {
    case .closing, .closed: return .nothing
    case .idle, .requestingTLS, .securing, .judging:
      over(.closed)
      return .finish(closing: false)
    case .greeting, .offering, .authenticating, .dialling, .asking, .enabling, .open:
      phase = .closing
      return .close
    }
  }

  /// Notes that the connection is gone.
  public mutating func disconnected(_ reason: String = "the connection was lost") { over(.lost(reason)) }

  // MARK: The reader's events

  /// Processes the response header.
  public mutating func opened(_ header: StreamHeader) -> ServerStreamOutput {
    guard phase == .greeting else {
      return phase == .closing || phase == .closed
        ? .nothing : refuse(StreamError(.badFormat, "a header within a stream"))
    }
    do throws(StreamError) {
      if let fault = header.serverFault() { throw fault }
      // RFC 6120 4.9.1.3: a server that does not know the domain answers under another name; its error comes next.
      isForeign = try StreamHeader.domain(header.from).map { $0 != pair.target } ?? false
      guard header.isVersion1 else { throw StreamError(.unsupportedVersion, "this is XMPP 1.0") }
      guard let id = header.id, !id.isEmpty else { throw StreamError(.badFormat, "the header has no 'id'") }
      self.id = id
      language = header.defaultLanguage
    } catch {
      return refuse(error)
    }
    offersDialback = header.declarations.values.contains(String(describing: NS.dialback))
    phase = .offering
    return .nothing
  }

  /// Processes a complete top-level element.
  public mutating func received(_ element: Element) -> ServerStreamOutput {
    if phase == .closed { return .nothing }
    if let error = StreamError(element) {
      let closing = phase != .closing
      over(.failed(error))
      return .finish(closing: closing)
    }
    switch phase {
    case .idle, .greeting, .securing, .judging:
      return refuse(StreamError(.badFormat, "an element outside a stream"))
    case .offering:
      guard element.is(.streamFeatures) else { break }
      return offered(element)
    case .requestingTLS:
      if element.is(.proceedTLS) {
        phase = .securing
        return .startTLS
      }
      if element.is(.failureTLS) {
        over(.unsecured("the server refused TLS"))
        return .finish(closing: true)
      }
    case .authenticating:
      if element.is(.success) {
        isAuthenticated = true
        return greet()
      }
      if let failure = SASLFailure(element) {
        if offersDialback { return dial() }
        over(.unauthenticated(failure))
        return .finish(closing: true)
      }
    case .dialling, .asking: if let output = answered(element) { return output }
    case .enabling:
      if element.is(.smEnabled) { return open(isManaged: true) }
      if element.is(.smFailed) { return open(isManaged: false) }
      if let output = receivedOpen(element) { return output }
    case .open: if let output = receivedOpen(element) { return output }
    case .closing:
      guard let stanza = Stanza(element, streamLanguage: language), !pairs.carried.isEmpty else { return .nothing }
      return end(pairs.route(stanza))
    case .closed: return .nothing
    }
    if Stanza(element) != nil {
      return refuse(StreamError(.notAuthorized, "no stanzas were asked for on this stream"))
    }
    return refuse(StreamError(.unsupportedStanzaType, "<\(element.local)/> is not understood here"))
  }

  /// Processes the peer's closing tag (RFC 6120 4.4).
  public mutating func closed() -> ServerStreamOutput {
    if phase == .closed { return .nothing }
    let closing = phase != .closing
    over(.closed)
    return .finish(closing: closing)
  }

  public mutating func violated(_ violation: XMLViolation) -> ServerStreamOutput {
    fail(StreamError(violation: violation))
  }

  // MARK: Steps

  private var header: StreamResponse {
    .initial(from: pair.sender, to: pair.target, language: policy.language)
  }

  private mutating func greet() -> ServerStreamOutput {
    phase = .greeting
    return .reopen(header)
  }

  private mutating func offered(_ features: Element) -> ServerStreamOutput {
    if isForeign { return refuse(StreamError(.invalidFrom, "the server answers for another domain")) }
    guard isSecured else {
      guard features.first(.startTLS) != nil else {
        return refuse(StreamError(.policyViolation, "the server offers no TLS"))
      }
      phase = .requestingTLS
      return .send([.startTLS])
    }
    var mechanisms: [String] = []
    var offersBidi = false
    for feature in features.children {
      if feature.is(.mechanisms) {
        mechanisms = feature.children.filter { $0.is(.mechanism) }.map(\.text)
      } else if feature.is(Name("bidi", NS.bidiFeature)) {
        offersBidi = true
      } else if feature.is(Name("dialback", NS.dialbackFeature)) {
        offersDialback = true
      } else if feature.is(.streamManagement) {
        offersManagement = true
      } else if let limits = StreamLimits(feature) {
        peerLimits = limits
      }
    }
    if let question {
      phase = .asking
      return .send([.dialback(question.question)])
    }
    if isAuthenticated { return authenticated() }
    var sent: [ServerElement] = []
    if offersBidi, wantsBidi {
      isBidirectional = true
      sent.append(.bidi(policy.limits))
    }
    if hasCertificate, mechanisms.contains("EXTERNAL") {
      phase = .authenticating
      return .send(sent + [.external(pair.sender)])
    }
    guard offersDialback else {
      return refuse(StreamError(.unsupportedFeature, "neither EXTERNAL nor dialback is offered"))
    }
    return dial(after: sent)
  }

  private mutating func dial(after sent: [ServerElement] = []) -> ServerStreamOutput {
    phase = .dialling
    let key = policy.secret.key(of: pair, streamID: id)
    return .send(sent + [.dialback(Dialback(.result, from: pair.sender, to: pair.target, .key(key)))])
  }

  /// Processes the answer to our key or to our question; `nil` for another element.
  private mutating func answered(_ element: Element) -> ServerStreamOutput? {
    guard let dialback = Dialback(element) else { return nil }
    let verdict: DialbackVerdict
    switch dialback.content {
    case .key(let key):
      guard isBidirectional, dialback.step == .verify else { return nil }
      return pairs.asked(dialback, key: key, streamID: id)
    case .valid: verdict = .valid
    case .invalid: verdict = .invalid
    case .error(let condition): verdict = .error(condition)
    }
    // XEP-0220 3.1: an answer counts only to what was asked on this stream.
    guard dialback.from == pair.target, dialback.to == pair.sender, dialback.id == question?.streamID,
      dialback.step == (question == nil ? .result : .verify)
    else { return refuse(StreamError(.policyViolation, "an answer to a dialback request that was never sent")) }
    if question != nil { return .verdict(verdict) }
    guard verdict == .valid else {
      over(.undialled(verdict))
      return .finish(closing: true)
    }
    return authenticated()
  }

  private mutating func authenticated() -> ServerStreamOutput {
    if isBidirectional { pairs.prove(pair.reversed) }
    guard offersManagement else { return open(isManaged: false) }
    phase = .enabling
    return .send([.enableManagement])
  }

  private mutating func open(isManaged: Bool) -> ServerStreamOutput {
    self.isManaged = isManaged
    phase = .open
    return .opened(isBidirectional ? [pair, pair.reversed] : [pair], nil)
  }

  /// Processes an element of an open stream: on a bidirectional one the peer may do what a server may do that has opened
  /// a stream (XEP-0288 2.2).
  private mutating func receivedOpen(_ element: Element) -> ServerStreamOutput? {
    if let stanza = Stanza(element, streamLanguage: language) {
      return isBidirectional ? end(pairs.route(stanza)) : nil
    }
    if element.namespace == String(describing: NS.dialback) { return dialback(element, mayAsk: isBidirectional) }
    return management(element)
  }

  mutating func manage(_ element: ManagementElement) -> ServerStreamOutput {
    switch element {
    case .request, .acknowledge: counted(element)
    case .enable, .resume: .send([.managementFailed(.unexpectedRequest)])
    }
  }
}
