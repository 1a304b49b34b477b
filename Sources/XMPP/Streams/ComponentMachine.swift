import Addresses
import Basics
import Crypto
public import XMLStream

/// A component's stream from the server's side (XEP-0114 3): header, handshake, stanzas, the end. It is a value: events
/// come in, and the caller carries out the outputs. Its reader reads the content namespace as `jabber:client`
/// (`ElementReader.init(limits:contentNamespace:)`).
public struct ComponentMachine: Sendable {
  public enum Phase: Sendable, Equatable { case opening, handshaking, accepted, closed }

  public enum Output: Sendable, Equatable {
    case nothing
    case open(StreamResponse)
    /// The secret is right: the caller answers with `accepted` or `refuse(.conflict)`.
    case attach(domain: String)
    case stanza(Stanza)
    /// It lacks a sender or an addressee: to be answered with an error.
    case unaddressed(Stanza)
    /// The stream ends with an error, behind a header if none was sent yet.
    case refuse(StreamResponse?, StreamError)
    /// The stream ends normally.
    case finish
  }

  public private(set) var phase = Phase.opening
  /// The component's domain, once its header has named one that is served.
  public private(set) var domain: String?
  private let secrets: [String: String]
  private var id = ""
  /// The component's default language (RFC 6120 4.7.4), for stanzas without their own.
  private var language: String?

  /// Creates a machine with the secrets by domain.
  public init(secrets: [String: String]) { self.secrets = secrets }

  /// Processes a header. `id` is a fresh, unpredictable stream id, which makes a handshake valid only once.
  public mutating func opened(_ header: StreamHeader, id: String) -> Output {
    guard phase == .opening else { return refuse(StreamError(.badFormat, "a header within a stream")) }
    var response = response(id)
    guard header.namespace == String(describing: NS.streams), header.local == "stream" else {
      return refuse(StreamError(.invalidNamespace, "the namespace of the stream"), response)
    }
    guard header.defaultNamespace == String(describing: NS.component) else {
      return refuse(StreamError(.invalidNamespace, "the content namespace is not jabber:component:accept"), response)
    }
    guard let to = header.to, let named = JID(parsing: to), named.isDomain, secrets[named.domain] != nil else {
      return refuse(StreamError(.hostUnknown, "there is no component of this name in the configuration"), response)
    }
    response.from = named.domain
    domain = named.domain
    language = header.defaultLanguage
    self.id = id
    phase = .handshaking
    return .open(response)
  }

  public mutating func received(_ element: Element) -> Output {
    switch phase {
    case .opening: return refuse(StreamError(.badFormat, "an element outside a stream"), response(id))
    case .handshaking: return handshake(element)
    case .accepted: return stanza(element)
    case .closed: return .nothing
    }
  }

  private mutating func handshake(_ element: Element) -> Output {
    guard element.is(Name("handshake", NS.client)), let domain, let secret = secrets[domain] else {
      return refuse(StreamError(.notAuthorized, "a handshake comes first"))
    }
    // 3: in lower case.
    guard Array(element.text.utf8).isEqualInConstantTime(to: Self.proof(id: id, secret: secret)) else {
      return refuse(StreamError(.notAuthorized, "the handshake is wrong"))
    }
    return .attach(domain: domain)
  }

  /// Notes that the component is attached: stanzas follow.
  public mutating func accepted() { phase = .accepted }

  /// Returns SHA-1 of stream id and secret, in hex.
  static func proof(id: String, secret: String) -> [UInt8] {
    Hex.encode(Insecure.SHA1.hash(data: Array((id + secret).utf8)))
  }

  /// Processes a stanza, which must have an addressee, and a sender of the component's domain (3).
  private mutating func stanza(_ element: Element) -> Output {
    guard let stanza = Stanza(element, streamLanguage: language) else {
      return refuse(StreamError(.unsupportedStanzaType))
    }
    // Missing or wrong addresses are an error of that stanza alone: some libraries send such stanzas.
    guard let from = try? stanza.from(), (try? stanza.to()) ?? nil != nil else {
      return .unaddressed(stanza)
    }
    guard from.domain == domain else {
      return refuse(StreamError(.invalidFrom, "'from' is not of the component's domain"))
    }
    return .stanza(stanza)
  }

  public mutating func violated(_ violation: XMLViolation, id: String) -> Output {
    refuse(StreamError(violation: violation), phase == .opening ? response(id) : nil)
  }

  /// Processes the closing tag (RFC 6120 4.4).
  public mutating func closed() -> Output {
    if phase == .closed { return .nothing }
    phase = .closed
    return .finish
  }

  /// Ends the stream.
  public mutating func fail(_ error: StreamError, id: String) -> Output {
    refuse(error, phase == .opening ? response(id) : nil)
  }

  private mutating func refuse(_ error: StreamError, _ response: StreamResponse? = nil) -> Output {
    if phase == .closed { return .nothing }
    phase = .closed
    return .refuse(response, error)
  }

  private func response(_ id: String) -> StreamResponse {
    StreamResponse(
      from: domain ?? "", to: nil, id: id, language: "en", isVersioned: false, content: NS.component)
  }
}
