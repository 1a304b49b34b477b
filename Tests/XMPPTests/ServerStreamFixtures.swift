import XMLStream

@testable import XMPP

/// The streams of these tests: this server has capulet.example and its rooms, the other one montague.example.
enum ServerStreams {
  static let ours = DirectedPair(sender: "capulet.example", target: "montague.example")
  static let theirs = ours.reversed
  static let policy = ServerStreamPolicy(
    domains: ["capulet.example", "rooms.capulet.example"], secret: DialbackSecret(bytes("s3cr3tf0rd14lb4ck")),
    limits: StreamLimits(maxBytes: 262_144, idleSeconds: 1_800))

  /// A response header of this server.
  static func response(
    from: String = "capulet.example", to: String? = "montague.example", id: String = "s1"
  ) -> StreamResponse {
    StreamResponse(from: from, to: to, id: id, language: "en", isVersioned: true, content: NS.server)
  }

  static func limits(_ bytes: Int) -> StreamFeature {
    StreamFeature(StreamLimits(maxBytes: bytes, idleSeconds: 1_800).element)
  }

  static let certifiedOffer: [StreamFeature] = [.external, .dialback, .bidi, limits(10_240)]
  static let uncertifiedOffer: [StreamFeature] = [.dialback, .bidi, .streamManagement, limits(10_240)]
  static let openOffer: [StreamFeature] = [.streamManagement, .dialback, limits(262_144)]

  /// Returns an element as it is read from the stream of a server.
  static func element(_ xml: String) throws -> Element {
    var reader = ElementReader(limits: .authenticated, contentNamespace: NS.server)
    var found: Element?
    let header =
      "<stream:stream xmlns='jabber:server' xmlns:stream='http://etherx.jabber.org/streams' "
      + "xmlns:db='jabber:server:dialback'>"
    Array((header + xml).utf8).withUnsafeBytes { bytes in
      _ = reader.feed(bytes) { event in
        if case .element(let element) = event { found = element }
        return .proceed
      }
    }
    guard let found else { throw NotAStanza(xml: xml) }
    return found
  }

  static func stanza(_ xml: String) throws -> Stanza {
    guard let stanza = Stanza(try element(xml)) else { throw NotAStanza(xml: xml) }
    return stanza
  }

  /// Returns a header of the other server.
  static func header(
    from: String? = "montague.example", to: String? = "capulet.example", id: String? = nil, version: String? = "1.0",
    content: String = "jabber:server", stream: String = "http://etherx.jabber.org/streams", root: String = "stream",
    dialback: Bool = true, language: String? = nil
  ) throws -> StreamHeader {
    var xml = "<s:\(root) xmlns='\(content)' xmlns:s='\(stream)'"
    if dialback { xml += " xmlns:db='jabber:server:dialback'" }
    for (name, value) in [("from", from), ("to", to), ("id", id), ("version", version), ("xml:lang", language)] {
      if let value { xml += " \(name)='\(value)'" }
    }
    return try XMPPTests.header(xml + ">")
  }

  static func features(_ children: String...) throws -> Element {
    try element("<stream:features>\(children.joined())</stream:features>")
  }

  static let startTLS = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls>"
  static let external =
    "<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>PLAIN</mechanism>"
    + "<mechanism>EXTERNAL</mechanism></mechanisms>"
  static let dialback = "<dialback xmlns='urn:xmpp:features:dialback'><errors/></dialback>"
  static let bidi = "<bidi xmlns='urn:xmpp:features:bidi'/>"
  static let management = "<sm xmlns='urn:xmpp:sm:3'/>"
  static let success = "<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>"

  static func auth(_ content: String, _ mechanism: String = "EXTERNAL") throws -> Element {
    try element("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='\(mechanism)'>\(content)</auth>")
  }

  static func failure(_ condition: SASLFailure.Condition) -> ServerStreamOutput {
    .send([.saslFailure(SASLFailure(condition))])
  }

  static func policyViolation(_ text: String) -> ServerStreamOutput {
    .refuse(nil, StreamError(.policyViolation, text))
  }
}
