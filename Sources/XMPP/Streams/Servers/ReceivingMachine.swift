// A stream between servers, the receiving side (RFC 6120 4 to 6, 13; XEP-0178 3; XEP-0220 2.2; XEP-0288; XEP-0344).
//
// Theory. Another server opens the stream to send stanzas of one of its domains to one of ours. It may do nothing before
// TLS. Then it proves its domain: by certificate and SASL EXTERNAL, after which the stream restarts, or by dialback,
// after which it goes on. From then on the stream carries the pair (their domain, our domain); further pairs are added by
// dialback requests on the same stream. There is no resource to bind. The phases:
//
//   opening      a header is awaited (first, or again after TLS or SASL)
//   judging      the header named both domains; the caller finds out what the peer's certificate is good for
//   negotiating  header exchanged; TLS, <bidi/>, SASL and dialback may come
//   securing     <proceed/> was sent; TLS is being set up, no XML is expected
//   open         at least one pair is carried: stanzas, dialback, stream management
//   closing      our closing tag was sent; theirs is awaited, and what they still send counts (RFC 6120 4.4)
//   closed       nothing counts
//
// Events are the methods in past participle; each returns one output, which the caller carries out in full before the
// next event. Certificates are judged and keys verified outside: an output now, an event later. A key is never verified
// over the stream that it is about: the output `verify` goes to another connection.

import Basics
public import XMLStream

/// The state machine of one stream that another server has opened.
///
///     var machine = ReceivingMachine(policy: policy)
///     if case .judge(let pair) = machine.opened(header, id: "1") { perform(machine.judged(judgement(pair))) }
///     if case .stanza(let stanza, let pair) = machine.received(element) { handle(stanza, pair) }
public struct ReceivingMachine: ServerStreamMachine, Sendable {
  public enum Phase: ServerStreamPhase, Sendable, Equatable {
    case opening, judging, negotiating, securing, open, closing, closed
  }

  private let policy: ServerStreamPolicy
  var pairs: StreamPairs
  private var response: StreamResponse?
  private var isCertified = false
  private var isChallenged = false
  private var attempts = 0
  /// The pair of the header, once the peer is named.
  private var named: DirectedPair?
  /// The peer's default language (RFC 6120 4.7.4), for stanzas without their own.
  private var language: String?

  public internal(set) var phase = Phase.opening
  public private(set) var isSecured = false
  /// The pair that was proved by SASL.
  public private(set) var authenticated: DirectedPair?
  /// Whether this server may send stanzas to the domains that the peer has proved (XEP-0288).
  public private(set) var isBidirectional = false
  /// Whether stanzas are counted (XEP-0198).
  public private(set) var isManaged = false
  /// The limits for what is sent to the peer (XEP-0478 3.2).
  public private(set) var peerLimits = StreamLimits()
  /// The id that this server gave the stream.
  public private(set) var id = ""
  /// The reason why the stream ended.
  public internal(set) var end: StreamEnd?

  public init(policy: ServerStreamPolicy) {
    self.policy = policy
    pairs = StreamPairs(policy: policy)
  }

  /// The pairs on which the peer may send.
  public var carried: Set<DirectedPair> { pairs.carried }

  // MARK: The reader's events

  /// Processes a header. `id` is a fresh, unpredictable stream id: dialback keys are good for it alone.
  public mutating func opened(_ header: StreamHeader, id: String) -> ServerStreamOutput {
    switch phase {
    case .opening: break
    case .judging, .negotiating, .securing, .open: return refuse(StreamError(.badFormat, "a header within a stream"))
    case .closing, .closed: return .nothing
    }
    self.id = id
    language = header.defaultLanguage
    var response = response(id)
    do throws(StreamError) {
      if let fault = header.serverFault() { throw fault }
      guard let to = try StreamHeader.domain(header.to) else {
        throw StreamError(.improperAddressing, "'to' is missing")
      }
      guard policy.domains.contains(to) else { throw StreamError(.hostUnknown) }
      response.from = to
      let from = try StreamHeader.domain(header.from)
      response.to = from
      if let from, policy.domains.contains(from) {
        throw StreamError(.invalidFrom, "'from' is a domain of this server")
      }
      // Dialback without version 1.0 (RFC 3920) knows no features, and so no TLS.
      guard header.isVersion1 else { throw StreamError(.unsupportedVersion, "this is XMPP 1.0") }
      if let authenticated {
        guard to == authenticated.target, from == nil || from == authenticated.sender else {
          throw StreamError(.notAuthorized, "the stream is authenticated for other domains")
        }
        response.to = authenticated.sender
        phase = .open
        return .open(
          response, [.streamManagement, .dialback, limits(policy.limits.maxBytes)],
          isBidirectional ? [authenticated, authenticated.reversed] : [authenticated])
      }
      named = DirectedPair(sender: from ?? "", target: to)
      guard isSecured else {
        phase = .negotiating
        return .open(response, [.startTLS(isRequired: true)], [])
      }
      // RFC 6120 4.7.1: it must be there now, and without it neither mechanism could be offered.
      guard let from else { throw StreamError(.improperAddressing, "'from' is missing") }
      self.response = response
      phase = .judging
      return .judge(DirectedPair(sender: from, target: to))
    } catch {
      return refuse(error, with: response)
    }
  }

  /// Processes a complete top-level element.
  public mutating func received(_ element: Element) -> ServerStreamOutput {
    switch phase {
    case .open, .negotiating:
      if let error = StreamError(element) { return failed(error) }
      return isSecured ? receivedSecured(element) : receivedInTheClear(element)
    case .opening, .judging, .securing: return refuse(StreamError(.badFormat, "an element outside a stream"))
    case .closing:
      guard let stanza = Stanza(element, streamLanguage: language), !pairs.carried.isEmpty else { return .nothing }
      return end(pairs.route(stanza))
    case .closed: return .nothing
    }
  }

  /// Processes the peer's closing tag (RFC 6120 4.4).
  public mutating func closed() -> ServerStreamOutput {
    if phase == .closed { return .nothing }
    let closing = phase != .closing
    over(.closed)
    return .finish(closing: closing)
  }

  /// Processes a violation of XML. `id` is used only if no header was sent yet (RFC 6120 4.9.1.2).
  public mutating func violated(_ violation: XMLViolation, id: String) -> ServerStreamOutput {
    fail(StreamError(violation: violation), id: id)
  }

  // MARK: The caller's events

  /// Notes that TLS is set up: a new header comes, or the first one on a connection with TLS from its first byte.
  public mutating func secured() {
    guard phase == .securing || phase == .opening, !isSecured else { return }
    isSecured = true
    named = nil
    phase = .opening
  }

  /// Takes the answer to `judge`.
  public mutating func judged(_ judgement: PeerJudgement) -> ServerStreamOutput {
    guard phase == .judging, let response else { return .nothing }
    switch judgement {
    case .denied(let error): return refuse(error, with: response)
    case .uncertified(let reason, mayDialBack: false):
      return refuse(StreamError(.policyViolation, reason), with: response)
    case .certified:
      isCertified = true
      phase = .negotiating
      return .open(response, [.external, .dialback, .bidi, limits(policy.unverifiedBytesMax)], [])
    case .uncertified(_, mayDialBack: true):
      phase = .negotiating
      // After dialback no features come anew, so that stream management has to be offered now.
      return .open(response, [.dialback, .bidi, .streamManagement, limits(policy.unverifiedBytesMax)], [])
    }
  }

  /// Takes the answer to `verify`.
  public mutating func verified(_ pair: DirectedPair, _ verdict: DialbackVerdict) -> ServerStreamOutput {
    guard phase == .open || phase == .negotiating else { return .nothing }
    let output = pairs.verified(pair, verdict, isBidirectional: isBidirectional)
    if case .opened = output { phase = .open }
    return end(output)
  }

  /// Handles the passing of the deadline for a first pair.
  public mutating func expired(id: String) -> ServerStreamOutput {
    switch phase {
    case .closing, .securing:
      over(.lost("timeout"))
      return .finish(closing: false)
    case .opening, .judging, .negotiating, .open, .closed: return fail(StreamError(.connectionTimeout), id: id)
    }
  }

  /// Ends the stream with an error of this server.
  public mutating func fail(_ error: StreamError, id: String) -> ServerStreamOutput {
    switch phase {
    case .closed: return .nothing
    case .closing, .securing:
      over(.refused(error))
      return .finish(closing: false)
    case .opening, .judging: return refuse(error, with: response ?? response(id))
    case .negotiating, .open: return refuse(error)
    }
  }

  /// Ends the stream without an error.
  public mutating func close() -> ServerStreamOutput {
    switch phase {
    case .closing, .closed: return .nothing
    case .opening, .judging, .securing:
      over(.closed)
      return .finish(closing: false)
    case .negotiating, .open:
      phase = .closing
      return .close
    }
  }

  /// Notes that the connection is gone.
  public mutating func disconnected(_ reason: String = "the connection was lost") { over(.lost(reason)) }

  // MARK: Elements

  private mutating func receivedInTheClear(_ element: Element) -> ServerStreamOutput {
    if element.is(.startTLS) {
      phase = .securing
      return .proceedTLS(domain: named?.target ?? "")
    }
    // XEP-0220 2.4: TLS comes before dialback.
    if let dialback = Dialback(element), case .key = dialback.content {
      return .send([.dialback(dialback.answer(.error(.policyViolation)))])
    }
    return refuse(StreamError(.policyViolation, "TLS comes first"))
  }

  private mutating func receivedSecured(_ element: Element) -> ServerStreamOutput {
    if let stanza = Stanza(element, streamLanguage: language) {
      guard !pairs.carried.isEmpty else { return refuse(StreamError(.notAuthorized, "authenticate first")) }
      return end(pairs.route(stanza))
    }
    let namespace = element.namespace
    if namespace == String(describing: NS.dialback), let output = dialback(element) { return output }
    if namespace == String(describing: NS.sasl) { return sasl(element) }
    if element.is(Name("bidi", NS.bidi)) { return bidi(element) }
    if element.is(.startTLS) {
      over(.refused(StreamError(.policyViolation, "a second <starttls/>")))
      return .refuseTLS
    }
    if let output = management(element) { return output }
    return refuse(StreamError(.unsupportedStanzaType, "<\(element.local)/> is not understood here"))
  }

  /// SASL EXTERNAL (XEP-0178 3): the authorization identity is empty or the domain of the header's `from`.
  private mutating func sasl(_ element: Element) -> ServerStreamOutput {
    guard authenticated == nil, pairs.carried.isEmpty else {
      return refuse(StreamError(.policyViolation, "the stream is authenticated"))
    }
    if element.is(.auth) {
      isChallenged = false
      attempts += 1
      guard attempts <= XMPPLimits.externalAttemptsMax else {
        return refuse(StreamError(.policyViolation, "too many attempts to authenticate"))
      }
      guard isCertified, element.has("mechanism", equalTo: "EXTERNAL") else {
        return .send([.saslFailure(SASLFailure(.invalidMechanism))])
      }
      if !element.hasText {
        isChallenged = true
        return .send([.challenge])
      }
      return external(element.text)
    }
    if element.is(.response), isChallenged {
      isChallenged = false
      return external(element.text)
    }
    if element.is(.abort), isChallenged {
      isChallenged = false
      return .send([.saslFailure(SASLFailure(.aborted))])
    }
    return .send([.saslFailure(SASLFailure(.malformedRequest))])
  }

  private mutating func external(_ text: String) -> ServerStreamOutput {
    guard let named else { return .nothing }
    if !text.isEmpty, text != "=" {
      guard let bytes = Base64.decode(Array(text.utf8)), let identity = String(validating: bytes, as: UTF8.self) else {
        return .send([.saslFailure(SASLFailure(.incorrectEncoding))])
      }
      guard (try? StreamHeader.domain(identity)) == named.sender else {
        return .send([.saslFailure(SASLFailure(.invalidAuthzid))])
      }
    }
    authenticated = named
    pairs.prove(named)
    phase = .opening
    return .authenticated
  }

  private mutating func bidi(_ element: Element) -> ServerStreamOutput {
    guard authenticated == nil, pairs.carried.isEmpty, !isBidirectional else {
      return refuse(StreamError(.policyViolation, "<bidi/> comes once, before authentication"))
    }
    isBidirectional = true
    for child in element.children { if let limits = StreamLimits(child) { peerLimits = limits } }
    return .nothing
  }

  mutating func manage(_ element: ManagementElement) -> ServerStreamOutput {
    switch element {
    case .enable:
      guard phase == .open, !isManaged else { return .send([.managementFailed(.unexpectedRequest)]) }
      isManaged = true
      return .send([.managementEnabled])
    case .resume: return .send([.managementFailed(.featureNotImplemented)])
    case .request, .acknowledge: return counted(element)
    }
  }

  // MARK: Pieces

  private func limits(_ bytes: Int?) -> StreamFeature {
    StreamFeature(StreamLimits(maxBytes: bytes, idleSeconds: policy.limits.idleSeconds).element)
  }

  private func response(_ id: String) -> StreamResponse {
    StreamResponse(
      from: authenticated?.target ?? "", to: nil, id: id, language: policy.language, isVersioned: true,
      content: NS.server)
  }

  private mutating func failed(_ error: StreamError) -> ServerStreamOutput {
    over(.failed(error))
    return .finish(closing: true)
  }
}
