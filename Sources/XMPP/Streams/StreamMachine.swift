// A client-to-server stream, the receiving side (RFC 6120 4 to 7).
//
// Theory. A stream is opened up to three times on one connection: in the clear, after STARTTLS, after SASL. Each time
// the client sends a header and gets the server's with the features that may still be negotiated. After the last
// opening it binds a resource or resumes a former session, and from then on stanzas flow until one side closes. The
// phases:
//
//   opening        a header is awaited (first, or again after TLS or SASL)
//   negotiating    header exchanged; TLS and SASL may come
//   securing       <proceed/> was sent; TLS is being set up, no XML is expected
//   authenticated  header exchanged after SASL, or none needed (XEP-0388); binding or resuming may come
//   bound          stanzas
//   closing        our closing tag was sent; theirs is awaited, and what they still send counts (4.4)
//   closed         nothing counts
//
// Events are the methods in past participle; each returns one output, which the caller carries out in full before the
// next event. Everything that takes time or knowledge (keys, passwords, resources, former sessions) is an output now
// and an event later, and until the answer is in, the caller feeds nothing more. The machine holds no clock: it names
// the running deadline (`deadline`), and the caller reports when it has passed.
//
// The `from` of a header is answered but not compared with the authenticated user (as RFC 6120 6.4.6 asks): nothing is
// ever decided by it, and clients are known to send it unprepared.

public import Addresses
public import XMLStream

/// The offer and the rules of a server's streams. It is a value: a change affects new streams.
public struct StreamPolicy: Sendable {
  public enum TLS: Sendable, Equatable {
    /// STARTTLS is offered and nothing else until it is done (RFC 6120 5.3.1).
    case required
    /// STARTTLS is offered.
    case optional
    /// There is no certificate: STARTTLS is neither offered nor accepted.
    case unavailable
  }

  /// The served domains, normalised.
  public var domains: Set<String>
  /// The domain of headers that name none (RFC 6120 4.7.2: be liberal); `nil` to refuse such streams.
  public var defaultDomain: String?
  public var tls: TLS
  public var authentication: AuthenticationPolicy
  /// The table of features, in the order they are written: STARTTLS, mechanisms, bind and session included.
  public var features: [StreamFeature]
  /// The language of the server's texts.
  public var language: String
  /// Whether registration requests (XEP-0077, XEP-0445) are let through before authentication.
  public var allowsRegistration: Bool
  /// The domains that take guests (XEP-0175).
  public var guestDomains: Set<String>

  /// Creates a policy with features besides STARTTLS, the mechanisms, resource binding and the session request.
  public init(
    domains: Set<String>, defaultDomain: String? = nil, tls: TLS = .required, authentication: AuthenticationPolicy,
    features: [StreamFeature] = [.streamManagement], language: String = "en", allowsRegistration: Bool = false,
    guestDomains: Set<String> = []
  ) {
    self.guestDomains = guestDomains
    self.domains = domains
    self.defaultDomain = defaultDomain
    self.tls = tls
    var authentication = authentication
    if tls == .required { authentication.allowsUnsecured = false }
    self.authentication = authentication
    self.language = language
    self.allowsRegistration = allowsRegistration
    var table: [StreamFeature] = []
    if tls != .unavailable { table.append(.startTLS(isRequired: tls == .required)) }
    table += StreamFeature.mechanisms(authentication)
    table += [.bind, .session]
    self.features = table + features
  }
}

/// The next action of the caller. The rare large cases are indirect: a stanza costs no more to return than it holds.
public enum StreamOutput: Sendable, Equatable {
  case nothing
  /// Send this header and `<stream:features/>` with these.
  indirect case open(StreamResponse, [StreamFeature])
  /// Send the header if there is one, the error, the closing tag; then close the connection. Unread input is dropped.
  indirect case refuse(StreamResponse?, StreamError)
  /// Send `<proceed/>`, drop unread input, start TLS, and call `secured` (RFC 6120 5.4.2.3).
  case startTLS
  /// Send `<failure/>` of STARTTLS and the closing tag; then close the connection (RFC 6120 5.4.2.2).
  case refuseTLS
  /// Send `<challenge/>` in the `saslProfile`.
  case challenge([UInt8])
  /// Answer with `credentials`.
  case needCredentials(username: String, mechanism: SCRAMMechanism, attempt: Int)
  /// Answer with `password`.
  case verifyPassword(username: String, password: Password, attempt: Int)
  /// See `AuthenticationOutput`; answer with `upgrades`.
  case needUpgrades([SCRAMMechanism], username: String, attempt: Int)
  /// Send `<continue/>` with the upgrade to this mechanism.
  case upgrade(SCRAMMechanism, [UInt8]?)
  /// Send `<task-data/>` with this upgrade.
  case taskData(SCRAMUpgrade)
  /// Answer with `upgrade`.
  indirect case storeUpgrade(SCRAMUpgrade, SaltedPassword, username: String, attempt: Int)
  /// Answer with `token`.
  indirect case verifyToken(TokenProof, attempt: Int)
  /// Answer with `bearer`.
  case verifyBearer(Password, attempt: Int)
  /// Answer with `guest`.
  case needGuest(attempt: Int)
  /// Send `<success/>` and start a new reader: the stream restarts (RFC 6120 6.4.6).
  case authenticated(BareJID, [UInt8]?)
  /// Continue the stream as it is, with the bounds of an authenticated one: the extensible profile has succeeded. Do
  /// what the request asks for, call `bound` if that gave an address, then send `<success/>` and the features
  /// (`offered`).
  indirect case admitted(BareJID, [UInt8]?, AuthenticateRequest)
  /// Send `<failure/>` of SASL in the `saslProfile`.
  case authenticationFailed(SASLFailure, AuthenticationFault)
  /// Decide with `BindMachine`, and call `bound` if it binds.
  case bind(BindRequest)
  /// Send this error to this stanza.
  indirect case reply(StanzaError, Stanza)
  /// Carry out stream management with `ResumptionMachine`; after a resumption call `bound`.
  case management(ManagementElement)
  /// Send `<failed/>` of stream management with this condition (XEP-0198 6).
  case managementFailed(StanzaError.Condition)
  /// Handle a stanza.
  case stanza(Stanza)
  /// Handle another top-level element of a bound stream; if it is unknown, call `notUnderstood`.
  case element(Element)
  /// Send the closing tag and wait for the client's.
  case close
  /// Close the connection, after the closing tag if `closing`: the stream is over.
  case finish(closing: Bool)
}

/// A deadline that the caller keeps for a stream.
public enum StreamDeadline: Sendable, Equatable {
  /// From the connection to a bound resource.
  case negotiation
  /// From the server's closing tag to the client's.
  case closing
  /// On a bound stream: silence, which the caller's own rule bounds.
  case idle
}

/// The state machine of one stream.
///
///     var machine = StreamMachine(policy: policy, isSecured: false)
///     if case .open(let header, let features) = machine.opened(clientHeader, id: "1") { send(header, features) }
///     if case .stanza(let stanza) = machine.received(element) { handle(stanza) }
public struct StreamMachine: Sendable {
  public enum Phase: Sendable, Equatable {
    case opening
    case negotiating
    case securing
    case authenticated
    case bound
    case closing
    case closed
  }

  /// A login on the heap: it is larger than all else of a stream, most of which have long been logged in.
  private indirect enum Login {
    case underWay(AuthenticationMachine)
    case over
  }

  private let policy: StreamPolicy
  private var login = Login.over
  private var authentication: AuthenticationMachine? {
    get { if case .underWay(let machine) = login { machine } else { nil } }
    set { login = newValue.map { .underWay($0) } ?? .over }
  }
  /// The channel bindings of a login; dropped after it.
  private var channelBindings: [ChannelBinding] = []
  /// Whether stanzas still count while closing.
  private var listensWhileClosing = false

  public private(set) var phase = Phase.opening
  public private(set) var conditions: StreamConditions
  /// The domain that the stream is for, once a header has named it.
  public private(set) var domain: String?
  /// The client's default language (RFC 6120 4.7.4), which `Stanza.language` gives to stanzas without their own.
  public private(set) var language: String?
  /// The authenticated user.
  public private(set) var user: BareJID?
  /// The index of the password that was used; see `AuthenticationMachine.password`.
  public private(set) var password = 0
  /// The address of a bound stream.
  public private(set) var jid: FullJID?
  /// Whether the client ended the stream with its closing tag: then there is nothing to resume (XEP-0198 7).
  public private(set) var wasClosedByPeer = false

  ///
  /// - Parameters:
  ///   - isSecured: whether the connection has TLS from its first byte (XEP-0368).
  ///   - channelBindings: the bindings of that TLS, if known already; otherwise `secured` takes them.
  public init(policy: StreamPolicy, isSecured: Bool, channelBindings: [ChannelBinding] = []) {
    self.policy = policy
    self.conditions = isSecured ? .secured : []
    bindable(by: channelBindings)
  }

  /// The features to send now.
  public var offered: [StreamFeature] {
    let bindings = policy.authentication.offer(bindings: channelBindings).map(\.type)
    return (policy.features + (bindings.isEmpty ? [] : [.channelBindings(bindings)])).offered(in: conditions)
  }

  /// The installation that authenticates by the extensible profile, if it names itself.
  public var agentID: String? { authentication?.request?.agent?.id }

  /// The profile in which the client authenticates.
  public var saslProfile: SASLProfile { authentication?.profile ?? .core }

  /// The running deadline; `nil` for none.
  public var deadline: StreamDeadline? {
    switch phase {
    case .opening, .negotiating, .securing, .authenticated: .negotiation
    case .bound: .idle
    case .closing: .closing
    case .closed: nil
    }
  }

  // MARK: The reader's events

  /// Processes a header. `id` is a fresh stream id.
  public mutating func opened(_ header: StreamHeader, id: String) -> StreamOutput {
    switch phase {
    case .opening: break
    case .negotiating, .securing, .authenticated, .bound:
      return refuse(StreamError(.badFormat, "a header within a stream"))
    case .closing, .closed: return .nothing
    }
    let version = header.version.map(Version.init) ?? nil
    var response = StreamResponse(
      from: domain ?? policy.defaultDomain ?? "", to: nil, id: id, language: policy.language,
      isVersioned: version != nil)
    guard header.namespace == Self.streamsNamespace || header.namespace == Self.framingNamespace else {
      return refuse(StreamError(.invalidNamespace, "the namespace of the stream"), with: response)
    }
    let isFramed = header.namespace == Self.framingNamespace
    guard header.local == (isFramed ? "open" : "stream") else {
      return refuse(StreamError(.badFormat, "the root element is not <stream/>"), with: response)
    }
    // Prefix-free headers have no content namespace as default (RFC 6120 4.8.2).
    let content = header.defaultNamespace
    guard isFramed || content.isEmpty || content == Self.clientNamespace || content == Self.streamsNamespace else {
      return refuse(StreamError(.invalidNamespace, "the content namespace is not jabber:client"), with: response)
    }
    response.to = header.from.flatMap(Self.bare)

    let asked: String
    if let to = header.to, !to.isEmpty {
      guard let jid = JID(parsing: to), jid.isDomain else {
        return refuse(StreamError(.improperAddressing, "'to' is no domain"), with: response)
      }
      asked = jid.domain
    } else if let domain = domain ?? policy.defaultDomain {
      asked = domain
    } else {
      return refuse(StreamError(.improperAddressing, "'to' is missing"), with: response)
    }
    guard policy.domains.contains(asked) else { return refuse(StreamError(.hostUnknown), with: response) }
    if let user, user.domain != asked {
      return refuse(StreamError(.notAuthorized, "the stream is authenticated for another domain"), with: response)
    }
    response.from = asked
    guard let version, version.major == 1 else {
      return refuse(StreamError(.unsupportedVersion, "this is XMPP 1.0"), with: response)
    }
    domain = asked
    // XEP-0124 7.1: the first request states the language of the whole session.
    language = header.defaultLanguage ?? (isFramed ? language : nil)
    if conditions.contains(.authenticated) {
      phase = .authenticated
    } else {
      negotiate(as: asked, claimed: header.from)
    }
    return .open(response, offered)
  }

  /// Begins the negotiation for a domain.
  private mutating func negotiate(as domain: String, claimed: String?) {
    phase = .negotiating
    // A restart after TLS forgets earlier negotiation (RFC 6120 5.4.3.3).
    let takesGuests = policy.guestDomains.contains(domain)
    if takesGuests { conditions.insert(.guests) } else { conditions.remove(.guests) }
    authentication = AuthenticationMachine(
      policy: policy.authentication, domain: domain, isSecured: conditions.contains(.secured),
      takesGuests: takesGuests, claimed: claimed, channelBindings: channelBindings)
  }

  /// Processes a complete top-level element.
  public mutating func received(_ element: Element) -> StreamOutput {
    switch phase {
    case .bound: return receivedBound(element)
    case .authenticated: return receivedAuthenticated(element)
    case .negotiating: return receivedNegotiating(element)
    case .opening, .securing: return refuse(StreamError(.badFormat, "an element outside a stream"))
    case .closing:
      guard listensWhileClosing, jid != nil else { return .nothing }
      if let stanza = Stanza(element, streamLanguage: language) { return .stanza(stanza) }
      guard let management = try? ManagementElement(element) else { return .nothing }
      return .management(management)
    case .closed: return .nothing
    }
  }

  /// Processes the client's closing tag (RFC 6120 4.4).
  public mutating func closed() -> StreamOutput {
    switch phase {
    case .closed: return .nothing
    case .closing:
      wasClosedByPeer = true
      phase = .closed
      return .finish(closing: false)
    case .opening, .negotiating, .securing, .authenticated, .bound:
      wasClosedByPeer = true
      phase = .closed
      return .finish(closing: true)
    }
  }

  /// Processes a violation of XML. `id` is used only if no header was sent yet (RFC 6120 4.9.1.2).
  public mutating func violated(_ violation: XMLViolation, id: @autoclosure () -> String) -> StreamOutput {
    end(StreamError(violation: violation), id: id)
  }

  // MARK: The caller's events

  /// Notes that TLS is set up: a new header comes (RFC 6120 5.4.3.3), or the first one if the connection has TLS from
  /// its first byte.
  ///
  /// - Parameter channelBindings: the bindings for a login; empty if TLS offers none.
  public mutating func secured(channelBindings: [ChannelBinding] = []) {
    switch phase {
    case .securing:
      conditions.insert(.secured)
      domain = nil
      language = nil
      authentication = nil
      phase = .opening
    case .opening where conditions == .secured: break
    case .opening, .negotiating, .authenticated, .bound, .closing, .closed: return
    }
    bindable(by: channelBindings)
  }

  private mutating func bindable(by bindings: [ChannelBinding]) {
    guard conditions.contains(.secured), !bindings.isEmpty else { return }
    channelBindings = bindings
    conditions.formUnion(StreamConditions(bindings: bindings))
  }

  /// Takes the answer to a question of this attempt; see `AuthenticationMachine.answered`.
  public mutating func answered(_ answer: AuthenticationAnswer, attempt: Int) -> StreamOutput {
    guard phase == .negotiating, let output = authentication?.answered(answer, attempt: attempt) else {
      return .nothing
    }
    return authenticate(output)
  }

  /// Whether the next element is a proof; see `AuthenticationMachine.isProofDue`.
  public var isProofDue: Bool { phase == .negotiating && authentication?.isProofDue == true }

  /// Refuses the proof; see `AuthenticationMachine.proofRefused`.
  public mutating func proofRefused() -> StreamOutput {
    guard phase == .negotiating, let output = authentication?.proofRefused() else { return .nothing }
    return authenticate(output)
  }

  /// Notes that the resource is bound, or a former session was resumed under its address: stanzas flow.
  public mutating func bound(_ jid: FullJID) {
    guard phase == .authenticated else { return }
    self.jid = jid
    conditions.insert(.bound)
    phase = .bound
  }

  /// Notes that stream management was enabled or a session was resumed by the login (XEP-0198 9).
  public mutating func managed() { conditions.insert(.managed) }

  /// Refuses an unknown element that was given out as `element` (RFC 6120 4.9.3.24).
  public mutating func notUnderstood(_ element: Element) -> StreamOutput {
    refuse(StreamError(.unsupportedStanzaType, "<\(element.local)/> is not understood here"))
  }

  /// Handles the passing of `deadline`.
  public mutating func expired(id: @autoclosure () -> String) -> StreamOutput {
    switch phase {
    case .closed: return .nothing
    case .closing, .securing:
      // While TLS is being set up no XML may be sent (RFC 6120 5.4.3.2).
      phase = .closed
      return .finish(closing: false)
    case .opening, .negotiating, .authenticated, .bound:
      return end(StreamError(.connectionTimeout), id: id)
    }
  }

  /// Ends the stream with an error of the server.
  public mutating func fail(_ error: StreamError, id: @autoclosure () -> String) -> StreamOutput {
    end(error, id: id)
  }

  /// Ends the stream without an error: the closing tag is sent, and what the client still sends counts until its own
  /// comes.
  public mutating func close() -> StreamOutput {
    switch phase {
    case .closing, .closed: return .nothing
    case .opening, .securing:
      phase = .closed
      return .finish(closing: false)
    case .negotiating, .authenticated, .bound:
      listensWhileClosing = true
      phase = .closing
      return .close
    }
  }

  /// Notes that the connection is gone. `wasClosedByPeer` says whether the stream had ended.
  public mutating func disconnected() {
    phase = .closed
    authentication = nil
    channelBindings = []
  }

  // MARK: Elements by phase

  private mutating func receivedNegotiating(_ element: Element) -> StreamOutput {
    if authentication?.isExclusive == true, element.namespace != Self.saslNamespace,
      element.namespace != Self.sasl2Namespace
    {
      return element.is(.streamError)
        ? peerFailed() : refuse(StreamError(.notAuthorized, "finish authenticating first"))
    }
    if element.is(.startTLS) { return startTLS() }
    if element.namespace == Self.saslNamespace || element.namespace == Self.sasl2Namespace,
      let output = authentication?.received(element)
    {
      return authenticate(output)
    }
    if element.is(.streamError) { return peerFailed() }
    if element.is(.smEnable) || element.is(.smResume) { return .managementFailed(.unexpectedRequest) }
    if policy.allowsRegistration, let stanza = Stanza(element), isRegistration(stanza) { return .stanza(stanza) }
    return refuse(StreamError(.notAuthorized, "authenticate first"))
  }

  private mutating func receivedAuthenticated(_ element: Element) -> StreamOutput {
    if let stanza = Stanza(element, streamLanguage: language) {
      let request: BindRequest?
      do { request = try BindRequest(stanza) } catch { return .reply(error, stanza) }
      guard let request else { return refuse(StreamError(.notAuthorized, "bind a resource first")) }
      return .bind(request)
    }
    if element.is(.streamError) { return peerFailed() }
    do {
      switch try ManagementElement(element) {
      case .resume(let previous, let handled): return .management(.resume(previous: previous, handled: handled))
      case .enable: return .managementFailed(.unexpectedRequest)
      case .request, .acknowledge, nil: break
      }
    } catch {
      return .managementFailed(error.condition)
    }
    if element.is(.startTLS) { return refuseTLS() }
    return refuse(StreamError(.notAuthorized, "bind a resource first"))
  }

  private mutating func receivedBound(_ element: Element) -> StreamOutput {
    if let stanza = Stanza(element, streamLanguage: language) { return .stanza(stanza) }
    do {
      if let management = try ManagementElement(element) {
        switch management {
        case .resume: return .managementFailed(.unexpectedRequest)
        case .enable, .request, .acknowledge: return .management(management)
        }
      }
    } catch {
      // A broken acknowledgement leaves both sides with different counts, which cannot be repaired.
      if element.is(.smAcknowledge) { return refuse(StreamError(.invalidXML, error.text)) }
      return .managementFailed(error.condition)
    }
    if element.is(.streamError) { return peerFailed() }
    if element.is(.startTLS) { return refuseTLS() }
    return .element(element)
  }

  // MARK: Pieces

  private mutating func startTLS() -> StreamOutput {
    guard policy.tls != .unavailable, !conditions.contains(.secured) else { return refuseTLS() }
    phase = .securing
    return .startTLS
  }

  private mutating func refuseTLS() -> StreamOutput {
    phase = .closed
    return .refuseTLS
  }

  private mutating func authenticate(_ output: AuthenticationOutput) -> StreamOutput {
    switch output {
    case .nothing: return .nothing
    case .challenge(let bytes): return .challenge(bytes)
    case .needCredentials(let username, let mechanism, let attempt):
      return .needCredentials(username: username, mechanism: mechanism, attempt: attempt)
    case .verifyPassword(let username, let password, let attempt):
      return .verifyPassword(username: username, password: password, attempt: attempt)
    case .needUpgrades(let upgrades, let username, let attempt):
      return .needUpgrades(upgrades, username: username, attempt: attempt)
    case .upgrade(let mechanism, let data): return .upgrade(mechanism, data)
    case .taskData(let upgrade): return .taskData(upgrade)
    case .storeUpgrade(let upgrade, let salted, let username, let attempt):
      return .storeUpgrade(upgrade, salted, username: username, attempt: attempt)
    case .verifyToken(let proof, let attempt): return .verifyToken(proof, attempt: attempt)
    case .verifyBearer(let token, let attempt): return .verifyBearer(token, attempt: attempt)
    case .needGuest(let attempt): return .needGuest(attempt: attempt)
    case .success(let user, let data):
      let request = authentication?.request
      password = authentication?.password ?? 0
      self.user = user
      authentication = nil
      channelBindings = []
      conditions.insert(.authenticated)
      if let request {
        phase = .authenticated
        return .admitted(user, data, request)
      }
      phase = .opening
      return .authenticated(user, data)
    case .failure(let failure, let fault): return .authenticationFailed(failure, fault)
    case .close(let error): return refuse(error)
    }
  }

  /// Closes after a stream error of the client (RFC 6120 4.9.1.1), which does not end its session.
  private mutating func peerFailed() -> StreamOutput {
    phase = .closed
    return .finish(closing: true)
  }

  private mutating func refuse(_ error: StreamError, with response: StreamResponse? = nil) -> StreamOutput {
    phase = .closed
    return .refuse(response, error)
  }

  private mutating func end(_ error: StreamError, id: () -> String) -> StreamOutput {
    switch phase {
    case .closed: return .nothing
    case .closing, .securing:
      phase = .closed
      return .finish(closing: false)
    case .negotiating, .authenticated, .bound: return refuse(error)
    case .opening:
      return refuse(
        error,
        with: StreamResponse(
          from: domain ?? policy.defaultDomain ?? "", to: nil, id: id(), language: policy.language, isVersioned: true))
    }
  }

  private func isRegistration(_ stanza: Stanza) -> Bool {
    stanza.kind == .iq && stanza.iqType?.isRequest == true
      && (stanza.payload?.is(.register) == true || stanza.payload?.is(.preauth) == true)
      && (policy.tls != .required || conditions.contains(.secured))
  }

  private static func bare(_ address: String) -> String? { JID(parsing: address)?.bare.description }

  private static let streamsNamespace = String(describing: NS.streams)
  private static let framingNamespace = String(describing: NS.framing)
  private static let clientNamespace = String(describing: NS.client)
  private static let saslNamespace = String(describing: NS.sasl)
  private static let sasl2Namespace = String(describing: NS.sasl2)

  /// The `<major>.<minor>` as two numbers, leading zeros ignored (RFC 6120 4.7.5).
  struct Version {
    let major: Int
    let minor: Int

    init?(_ text: String) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2, let major = Self.number(parts[0]), let minor = Self.number(parts[1]) else { return nil }
      self.major = major
      self.minor = minor
    }

    private static func number(_ digits: Substring) -> Int? {
      guard !digits.isEmpty, digits.utf8.count <= 9, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        return nil
      }
      return Int(digits)
    }
  }
}
