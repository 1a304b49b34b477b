import Basics
import Dialogs
import XMLStream
import XMPP

/// XEP-0215: the STUN and TURN servers for calls, each with temporary credentials. Only the server's own users get
/// them.
struct ExternalServiceDiscovery: Feature {
  static let xep = XEP(
    215, "1.0.0", "External Service Discovery", note: "STUN and TURN servers. No pushed updates (3.3, a MAY).")
  private static let services = Name("services", NS.externalServices)
  private static let credentials = Name("credentials", NS.externalServices)
  private static let service = Name("service", NS.externalServices)

  func register(in table: inout FeatureTable) {
    table.iq(.get, Self.services, to: [.server, .account], Self.list)
    table.iq(.get, Self.credentials, to: [.server, .account], Self.credentials)
  }

  /// Advertises the feature if there are services; requests are answered in any case.
  static func offer(in table: inout FeatureTable, _ parley: Parley, _ options: DoorContext.Options) {
    if !parley.options.services.all.isEmpty { table.advertise("\(NS.externalServices)", on: [.server]) }
  }

  /// Lists all services, or those of one type (3.1, 3.2).
  private static func list(_ turn: Turn, _ query: Element) {
    let type = query["type"]
    turn.reply { writer in
      writer.element(services) { writer in
        writer.attribute("type", type)
        for service in turn.parley.options.services.all where type == nil || service.kind.rawValue == type {
          write(service, for: turn, isWhole: true, into: &writer)
        }
      }
    }
  }

  /// Returns the credentials of the named service (3.4).
  private static func credentials(_ turn: Turn, _ query: Element) throws(StanzaError) {
    guard let wanted = query.first(service), let host = wanted["host"], let type = wanted["type"] else {
      throw StanzaError(.badRequest, "<credentials/> names the 'host' and 'type' of a <service/>")
    }
    let port = wanted["port"]
    let found = turn.parley.options.services.all.filter {
      $0.kind.isRelay && $0.kind.rawValue == type && $0.host == host && (port == nil || String($0.port) == port)
    }
    if found.isEmpty { throw StanzaError(.itemNotFound, "there is no such service that wants credentials") }
    turn.reply { writer in
      writer.element(credentials) { writer in
        for service in found { write(service, for: turn, isWhole: false, into: &writer) }
      }
    }
  }

  private static func write(
    _ found: ExternalService, for turn: Turn, isWhole: Bool, into writer: inout ElementWriter
  ) {
    writer.element(service) { writer in
      writer.attribute("type", found.kind.rawValue)
      writer.attribute("host", found.host)
      writer.attribute("port", found.port)
      writer.attribute("transport", found.transport.rawValue)
      if let credentials = Calls(turn.parley).credentials(for: turn.party, at: found) {
        if isWhole { writer.attribute("restricted", "true" as StaticString) }
        writer.attribute("expires", credentials.expires.description)
        writer.attribute("username", credentials.username)
        writer.attribute("password", credentials.password)
      }
    }
  }
}
