import Addresses
import Crypto
public import XMLStream

/// A component's stream from the server's side (XEP-0114 3): header, handshake, stanzas, the end. A value: what comes in
/// is an event, what comes out is to be carried out.
public struct ComponentMachine: Sendable {
  public enum Phase: Sendable, Equatable { case opening, handshaking, accepted, closed }

  public enum Output: Sendable, Equatable {
    case nothing
    case open(StreamResponse)
    /// The secret is right: `accepted` or `refuse(.conflict)` is the caller's to say.
    case attach(domain: String)
    case stanza(Stanza)
    /// It does not say from whom and for whom it is: to be answered with an error.
    case unaddressed(Stanza)
    /// The stream ends with an error, behind a header where there was none yet.
    case refuse(StreamResponse?, StreamError)
    /// The stream ends: both sides have said what they had to.
    case finish
  }

  public private(set) var phase = Phase.opening
  /// The component's domain, once its header has named one that is served.
  public private(set) var domain: String?
  private let secrets: [String: String]
  private var id = ""

  /// - Parameter secrets: by domain.
  public init(secrets: [String: String]) { self.secrets = secrets }

  /// - Parameter id: a fresh stream id, unpredictable: it is what makes a handshake good once only.
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
    guard element.is(Name("handshake", NS.component)), let domain, let secret = secrets[domain] else {
      return refuse(StreamError(.notAuthorized, "a handshake comes first"))
    }
    // 3: in lower case.
    guard Self.isEqual(Array(element.text.utf8), Self.proof(id: id, secret: secret)) else {
      return refuse(StreamError(.notAuthorized, "the handshake is wrong"))
    }
    return .attach(domain: domain)
  }

  /// It has its place: stanzas follow.
  public mutating func accepted() { phase = .accepted }

  /// SHA-1 of stream id and secret, in hex.
  static func proof(id: String, secret: String) -> [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    return Insecure.SHA1.hash(data: Array((id + secret).utf8)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
  }

  /// In a time that tells nothing of where they differ.
  private static func isEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    guard a.count == b.count else { return false }
    return zip(a, b).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// 3: every stanza says from whom and for whom it is, and it is from somebody of the component.
  private mutating func stanza(_ element: Element) -> Output {
    // What is the content namespace there is jabber:client here.
    let bytes = element.serialised(defaultNamespace: NS.component)
    guard let read = try? Element(parsing: bytes, defaultNamespace: String(describing: NS.client)),
      let stanza = Stanza(read)
    else { return refuse(StreamError(.unsupportedStanzaType)) }
    // What has no addresses, or wrong ones, is that stanza's fault alone: libraries make such.
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

  /// The closing tag arrived (RFC 6120 4.4).
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
