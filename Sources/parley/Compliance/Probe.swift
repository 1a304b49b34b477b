import Basics
import NIOCore
import NIOPosix
import ServerConfiguration
import XMLStream
import XMPP

/// The features of a running server that a client has observed. Nothing is taken from the configuration or from tables:
/// a feature that cannot be reached is absent.
struct ProbeFacts: Sendable, Hashable {
  /// The stream features before and after authentication, by namespace.
  var streamFeatures: Set<String> = []
  /// Whether STARTTLS was offered and succeeded.
  var startTLS = false
  /// Whether XMPP over direct TLS works (XEP-0368).
  var directTLS = false
  /// The features in disco#info of the domain, the own account, the rooms domain and a room.
  var server: Set<String> = []
  var account: Set<String> = []
  var rooms: Set<String> = []
  var room: Set<String> = []
  /// The identities of the account as `category/type`.
  var identities: Set<String> = []
  /// The features in disco#info of the domain's disco#items.
  var items: Set<String> = []
  /// The payloads of requests that had a result.
  var answered: Set<String> = []
  /// The namespaces of transports that answered (RFC 7395, XEP-0206) and of the component port (XEP-0114).
  var transports: Set<String> = []
}

/// Probes a running server over its ports: without an account, and as a temporary user.
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
    // Programs of this machine are trusted proxies.
    let isProxy = settings.readsProxyHeaders && Host.isLoopback(Host.reached(endpoint.host))
    return try await ProbeStream.connect(
      to: endpoint, tls: tls, domain: domain, header: isProxy ? ProxyHeader.local : [], group: group)
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
    // An unconfigured room is deleted with its creator's session.
    let room = "parley-check-\(UInt64.random(in: .min ... .max))@\(home)"
    try await stream.send("<presence/><presence to='\(room)/check'><x xmlns='\(NS.muc)'/></presence>")
    facts.room = try await info(stream, room)
    for (name, to, payload) in Self.requests(domain) {
      let answer = try await stream.ask("get", to: to, payload)
      if answer["type"] == "result" { facts.answered.insert(name) }
    }
    try await stream.send("</stream:stream>")
  }

  /// The requests that are answered with a result if the feature is supported.
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
    // An unknown domain is refused in the protocol's own form (XEP-0114 3), which shows the feature.
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
