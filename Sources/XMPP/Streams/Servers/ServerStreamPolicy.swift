import Addresses
import Basics
public import XMLStream

/// The rules and the offer of streams between servers. It is a value: a change affects new streams.
public struct ServerStreamPolicy: Sendable {
  /// The domains that this server answers for: of users, rooms, uploads and components; normalised.
  public var domains: Set<String>
  /// The secret of dialback keys.
  public var secret: DialbackSecret
  /// The limits that are told to a peer once it may send stanzas (XEP-0478).
  public var limits: StreamLimits
  /// The bytes of one element before that.
  public var unverifiedBytesMax: Int
  /// The pairs that a peer may ask for on one stream; further ones are refused with `resource-constraint` (XEP-0220 2.4).
  public var pairsMax: Int
  /// The language of the server's texts.
  public var language: String

  public init(
    domains: Set<String>, secret: DialbackSecret, limits: StreamLimits = StreamLimits(maxBytes: 262_144),
    unverifiedBytesMax: Int = 10_240, pairsMax: Int = 32, language: String = "en"
  ) {
    self.domains = domains
    self.secret = secret
    self.limits = limits
    self.unverifiedBytesMax = unverifiedBytesMax
    self.pairsMax = pairsMax
    self.language = language
  }
}

/// The limits of one direction of a stream (XEP-0478 3.1).
public struct StreamLimits: Sendable, Equatable {
  /// The most bytes of one top-level element; `nil` if none is told.
  public var maxBytes: Int?
  /// The silence after which the stream may be closed; `nil` if none is told.
  public var idleSeconds: Int?

  public init(maxBytes: Int? = nil, idleSeconds: Int? = nil) {
    self.maxBytes = maxBytes
    self.idleSeconds = idleSeconds
  }

  /// Reads `<limits/>`; `nil` if the element is none. A value that is no number counts as none.
  public init?(_ element: Element) {
    guard element.is(Self.name) else { return nil }
    maxBytes = element.first(Name("max-bytes", NS.limits)).flatMap { Int($0.text) }.flatMap { $0 > 0 ? $0 : nil }
    idleSeconds = element.first(Name("idle-seconds", NS.limits)).flatMap { Int($0.text) }.flatMap { $0 > 0 ? $0 : nil }
  }

  /// `<limits/>`.
  public var element: Element {
    var children: [Element] = []
    if let maxBytes { children.append(Element(Name("max-bytes", NS.limits), text: String(maxBytes))) }
    if let idleSeconds { children.append(Element(Name("idle-seconds", NS.limits), text: String(idleSeconds))) }
    return Element(Self.name, [:], children)
  }

  static let name = Name("limits", NS.limits)
}

/// The judgement of a peer by its TLS certificate and by the operator's rules, made outside of the machines.
public enum PeerJudgement: Sendable, Equatable {
  /// The certificate is good for the domain.
  case certified
  /// The certificate is not good for the domain, for this reason. `mayDialBack`: dialback may prove the domain instead.
  case uncertified(String, mayDialBack: Bool)
  /// The domain is not admitted.
  case denied(StreamError)
}

/// The reason why a stream between servers ended.
public enum StreamEnd: Error, Sendable, Equatable {
  /// This server ended it with an error.
  case refused(StreamError)
  /// The peer ended it with an error.
  case failed(StreamError)
  /// The peer refused this server's certificate and offers no dialback.
  case unauthenticated(SASLFailure)
  /// The peer refused this server's dialback key.
  case undialled(DialbackVerdict)
  /// The peer refused TLS, or it could not be set up.
  case unsecured(String)
  /// It was closed with its tag.
  case closed
  /// The connection was lost.
  case lost(String)
}

/// A top-level element, other than a stanza, that a machine has sent.
public enum ServerElement: Sendable, Equatable {
  /// `<starttls/>` (RFC 6120 5.4.2.1).
  case startTLS
  /// `<bidi/>` (XEP-0288 2.2), with the limits for what the peer sends (XEP-0478 3.2).
  case bidi(StreamLimits)
  /// `<auth/>` with EXTERNAL and the domain as authorization identity, for the sake of older servers (XEP-0178 3).
  case external(String)
  /// An empty `<challenge/>`, for an `<auth/>` without an initial response (RFC 6120 6.4.2).
  case challenge
  case saslFailure(SASLFailure)
  case dialback(Dialback)
  /// `<enable/>` of stream management (XEP-0198 3), without resumption.
  case enableManagement
  /// `<enabled/>`.
  case managementEnabled
  /// `<failed/>` of stream management (XEP-0198 6).
  case managementFailed(StanzaError.Condition)

  public func write(into writer: inout ElementWriter) {
    switch self {
    case .startTLS: writer.element(.startTLS)
    case .bidi(let limits): writer.element(Element(Name("bidi", NS.bidi), [:], [limits.element]))
    case .external(let domain):
      writer.element(.auth, ["mechanism": "EXTERNAL"]) { $0.text(Base64.encode(Array(domain.utf8))) }
    case .challenge: writer.element(.challenge)
    case .saslFailure(let failure): failure.write(into: &writer)
    case .dialback(let dialback): dialback.write(into: &writer)
    case .enableManagement: writer.element(.smEnable)
    case .managementEnabled: StreamManagement.writeEnabled(nil, into: &writer)
    case .managementFailed(let condition): StreamManagement.writeFailed(condition, into: &writer)
    }
  }
}

/// The next action of a caller of `ReceivingMachine` or `InitiatingMachine`.
public enum ServerStreamOutput: Sendable, Equatable {
  case nothing
  /// Send this header and `<stream:features/>` with these. From now on the stream carries these pairs.
  indirect case open(StreamResponse, [StreamFeature], [DirectedPair])
  /// Begin a new reader and send this header.
  indirect case reopen(StreamResponse)
  /// Find out what the peer's certificate is good for, and whether its domain `pair.sender` is admitted by
  /// `pair.target`; feed nothing more until the answer, `judged`.
  case judge(DirectedPair)
  /// Send `<proceed/>`, drop unread input, start TLS with the certificate of the domain, and call `secured` (RFC 6120
  /// 5.4.2.3).
  case proceedTLS(domain: String)
  /// The same without `<proceed/>`, which the peer has sent.
  case startTLS
  /// Send `<failure/>` of STARTTLS and the closing tag; then close the connection (RFC 6120 5.4.2.2).
  case refuseTLS
  case send([ServerElement])
  /// Send `<success/>` and begin a new reader: the peer has proved its domain, and the stream restarts (RFC 6120 6.4.6).
  case authenticated
  /// Send the element, if there is one. From now on the stream carries these pairs.
  case opened([DirectedPair], ServerElement?)
  /// Verify this key by the peer's certificate or by calling back, and answer with `verified`. Meanwhile the stream goes
  /// on.
  case verify(DialbackRequest)
  /// Send this refusal of a key and the closing tag; then close the connection (XEP-0220 2.2.1).
  case reject(Dialback)
  /// The peer has answered the question of a verification.
  case verdict(DialbackVerdict)
  /// Handle a stanza of a pair that the stream carries.
  case stanza(Stanza, DirectedPair)
  /// Drop this stanza, which has an address that is none.
  case dropped(Stanza)
  /// Answer `<r/>`, or take the count of `<a/>`.
  case management(ManagementElement)
  /// Send the header if there is one, the error, the closing tag; then close the connection.
  indirect case refuse(StreamResponse?, StreamError)
  /// Send the closing tag and wait for the peer's.
  case close
  /// Close the connection, after the closing tag if `closing`: the stream is over.
  case finish(closing: Bool)
}

extension StreamHeader {
  /// Returns the fault of a header between servers, addresses apart (RFC 6120 4.7.5, 4.8).
  func serverFault() -> StreamError? {
    guard namespace == String(describing: NS.streams) else {
      return StreamError(.invalidNamespace, "the namespace of the stream")
    }
    guard local == "stream" else { return StreamError(.badFormat, "the root element is not <stream/>") }
    guard defaultNamespace == String(describing: NS.server) else {
      return StreamError(.invalidNamespace, "the content namespace is not jabber:server")
    }
    return nil
  }

  /// Returns whether the peer uses XMPP 1.0 or a later 1.x (RFC 6120 4.7.5).
  var isVersion1: Bool { version.flatMap(StreamMachine.Version.init)?.major == 1 }

  /// Returns the normalised domain of an attribute; `nil` if it is absent, and an error if it is no domain.
  static func domain(_ attribute: String?) throws(StreamError) -> String? {
    guard let attribute, !attribute.isEmpty else { return nil }
    guard let jid = JID(parsing: attribute), jid.isDomain else {
      throw StreamError(.improperAddressing, "an address of the header is no domain")
    }
    return jid.domain
  }
}
