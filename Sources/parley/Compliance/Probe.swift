import NIOCore
import NIOPosix
import ServerConfiguration
import XMLStream
import XMPP

/// What a running server showed of itself to a client that asked. Nothing of it is read from the configuration or from tables:
/// what cannot be reached is not there.
struct ProbeFacts: Sendable, Hashable {
  /// Features of the stream before and behind authentication, by namespace.
  var streamFeatures: Set<String> = []
  /// STARTTLS was offered, and done.
  var startTLS = false
  /// XMPP over TLS from the first byte (XEP-0368).
  var directTLS = false
  /// disco#info of the domain, of one's own account, of the rooms' domain, of a room.
  var server: Set<String> = []
  var account: Set<String> = []
  var rooms: Set<String> = []
  var room: Set<String> = []
  /// `category/type` of the account.
  var identities: Set<String> = []
  /// disco#info of what disco#items of the domain named.
  var items: Set<String> = []
  /// Payloads of requests that had a result.
  var answered: Set<String> = []
  /// Namespaces of transports that answered (RFC 7395, XEP-0206), and the component port's (XEP-0114).
  var transports: Set<String> = []
}

/// Asks a running server: over its ports, as anybody would; as a user, with an account that is made for it and deleted.
struct Probe {
  let settings: Settings
  let group: any EventLoopGroup

  private var domain: String { settings.domains[0].name }

  func facts(user: String, password: String) async throws -> ProbeFacts {
    var facts = ProbeFacts()
    if settings.xmpp.isOn, let stream = try? await connect(settings.xmpp, tls: false) {
      if let features = try? await stream.open() {
        facts.streamFeatures.formUnion(features.children.map(\.namespace))
        if features.children.contains(where: { $0.namespace == "\(NS.tls)" }) {
          if (try? await stream.startTLS()) != nil, let secured = try? await stream.open() {
            facts.startTLS = true
            facts.streamFeatures.formUnion(secured.children.map(\.namespace))
            if !settings.xmppTLS.isOn { try await ask(stream, user, password, &facts) }
          }
        }
      }
      stream.close()
    }
    if settings.xmppTLS.isOn, let stream = try? await connect(settings.xmppTLS, tls: true) {
      if let features = try? await stream.open() {
        facts.directTLS = true
        facts.streamFeatures.formUnion(features.children.map(\.namespace))
        try await ask(stream, user, password, &facts)
      }
      stream.close()
    }
    await askHTTP(&facts)
    await askComponents(&facts)
    return facts
  }

  private func connect(_ endpoint: Settings.Endpoint, tls: Bool) async throws -> ProbeStream {
    try await ProbeStream.connect(to: endpoint, tls: tls, domain: domain, group: group)
  }

  // MARK: As a user

  private func ask(_ stream: ProbeStream, _ user: String, _ password: String, _ facts: inout ProbeFacts) async throws {
    facts.streamFeatures.formUnion(try await stream.logIn(user, password: password).children.map(\.namespace))
    facts.server = try await info(stream, domain)
    facts.account = try await info(stream, "\(user)@\(domain)", identities: &facts.identities)
    let items = try await stream.ask("get", to: domain, "<query xmlns='\(NS.discoItems)'/>")
    for item in items.payload?.children.compactMap({ $0["jid"] }) ?? [] {
      facts.items.formUnion(try await info(stream, item))
    }
    let home = settings.domains[0].rooms
    facts.rooms = try await info(stream, home)
    // A room that nobody has configured ends with its creator's session.
    let room = "parley-check-\(UInt64.random(in: .min ... .max))@\(home)"
    try await stream.send("<presence/><presence to='\(room)/check'><x xmlns='\(NS.muc)'/></presence>")
    facts.room = try await info(stream, room)
    for (name, to, payload) in Self.requests(domain) {
      let answer = try await stream.ask("get", to: to, payload)
      if answer["type"] == "result" { facts.answered.insert(name) }
    }
    try await stream.send("</stream:stream>")
  }

  /// Requests whose answer is what counts.
  private static func requests(_ domain: String) -> [(name: String, to: String?, payload: String)] {
    [
      ("\(NS.roster)", nil, "<query xmlns='\(NS.roster)'/>"),
      ("\(NS.privateStorage)", nil, "<query xmlns='\(NS.privateStorage)'><storage xmlns='storage:bookmarks'/></query>"),
      ("\(NS.blocking)", nil, "<blocklist xmlns='\(NS.blocking)'/>"),
      ("\(NS.externalServices)", domain, "<services xmlns='\(NS.externalServices)'/>"),
    ]
  }

  private func info(_ stream: ProbeStream, _ jid: String) async throws -> Set<String> {
    var identities: Set<String> = []
    return try await info(stream, jid, identities: &identities)
  }

  private func info(
    _ stream: ProbeStream, _ jid: String, identities: inout Set<String>
  ) async throws -> Set<String> {
    let answer = try await stream.ask("get", to: jid, "<query xmlns='\(NS.discoInfo)'/>")
    var features: Set<String> = []
    for child in answer.payload?.children.map({ $0 }) ?? [] {
      if let feature = child["var"], child.local == "feature" { features.insert(feature) }
      if let category = child["category"], let type = child["type"] { identities.insert("\(category)/\(type)") }
    }
    return features
  }

  // MARK: Over HTTP

  private func askHTTP(_ facts: inout ProbeFacts) async {
    let isSecure = settings.https.isOn
    let port = isSecure ? settings.https : settings.http
    guard port.isOn else { return }
    func ask(_ request: String) async -> String {
      (try? await ProbeHTTP.ask(request, at: port, tls: isSecure, group: group)) ?? ""
    }
    let socket = await ask(
      "GET /xmpp-websocket HTTP/1.1\r\nHost: \(domain)\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: cGFybGV5LWNoZWNrLTEyMw==\r\n"
        + "Sec-WebSocket-Protocol: xmpp\r\n\r\n")
    if socket.hasPrefix("HTTP/1.1 101") { facts.transports.insert("\(NS.framing)") }
    let body =
      "<body xmlns='http://jabber.org/protocol/httpbind' xmlns:xmpp='urn:xmpp:xbosh' content='text/xml; charset=utf-8' "
      + "hold='1' wait='5' rid='1573741820' to='\(domain)' ver='1.10' xmpp:version='1.0' xml:lang='en'/>"
    let bosh = await ask(
      "POST /http-bind HTTP/1.1\r\nHost: \(domain)\r\nConnection: close\r\nContent-Type: text/xml; charset=utf-8\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    if bosh.hasPrefix("HTTP/1.1 200"), bosh.contains("sid=") {
      facts.transports.insert("http://jabber.org/protocol/httpbind")
    }
    let meta = await ask(
      "GET /.well-known/host-meta.json HTTP/1.1\r\nHost: \(domain)\r\nConnection: close\r\n\r\n")
    if meta.hasPrefix("HTTP/1.1 200"), meta.contains("urn:xmpp:alt-connections:") {
      facts.transports.insert("urn:xmpp:alt-connections")
    }
  }

  // MARK: As a component

  private func askComponents(_ facts: inout ProbeFacts) async {
    guard !settings.components.isEmpty, settings.component.isOn,
      let stream = try? await ProbeStream.connect(
        to: settings.component, tls: false, domain: "parley-check.invalid", group: group)
    else { return }
    // A domain nobody has is refused in the protocol's own form (XEP-0114 3): that is an answer.
    if let answer = try? await stream.open(namespace: NS.component), answer.namespace == "\(NS.streams)" {
      facts.transports.insert("\(NS.component)")
    }
    stream.close()
  }
}

extension Element {
  /// The first child.
  fileprivate var payload: Element? { children.first { _ in true } }
}
