import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0030: what the server, an account and an app's session are and can do,
/// compiled from what the features have registered.
struct Disco: Feature {
  static let xep = XEP(30, "2.5.0", "Service Discovery")

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.discoInfo)", "\(NS.discoItems)", on: [.server, .account])
    table.advertise("\(NS.discoInfo)", on: [.session])
    table.identify(.init(category: "server", type: "im", name: SoftwareVersion.name), on: .server)
    table.identify(.init(category: "account", type: "registered", name: nil), on: .account)
    table.identify(.init(category: "client", type: "phone", name: SoftwareVersion.name), on: .session)

    table.iq(.get, .discoInfo, to: [.server]) { (turn, query) throws(StanzaError) in
      try Self.reply(turn, query, .server)
    }
    table.advertise("\(NS.discoInfo)", "\(NS.discoItems)", on: [.rooms])
    table.iq(.get, .discoInfo, to: [.rooms]) { (turn, query) throws(StanzaError) in
      try Self.reply(turn, query, .rooms)
    }
    table.iq(.get, .discoInfo, to: [.account]) { (turn, query) throws(StanzaError) in
      try Self.reply(turn, query, .account)
    }
    table.iq(.get, .discoInfo, to: [.session]) { (turn, query) throws(StanzaError) in
      try turn.checkSight()
      try Self.reply(turn, query, .session)
    }
    table.iq(.get, .discoInfo, to: [.user], Self.infoOfUser)
    table.iq(.get, .discoItems, to: [.server, .account], Self.ownItems)
    table.iq(.get, .discoItems, to: [.user], Self.itemsOfUser)
  }

  // MARK: Info

  private static func reply(
    _ turn: Turn, _ query: Element, _ target: FeatureTable.Target
  ) throws(StanzaError) {
    let node = query["node"]
    let capabilities = turn.session.house.table.capabilities(of: target)
    // The only nodes are those of entity capabilities (XEP-0115 6.2).
    if let node, target == .account || node != EntityCapabilities.node(of: capabilities) {
      throw StanzaError(.itemNotFound, "there is no such node")
    }
    turn.reply { write(capabilities, node: node, into: &$0) }
  }

  private static func infoOfUser(_ turn: Turn, _ query: Element) throws(StanzaError) {
    guard let address = turn.to?.bare else { throw StanzaError(.badRequest) }
    let (viewer, jid) = (turn.party, turn.jid)
    turn.fetch { try PresenceAccess.to(address, for: viewer, at: jid, $0) } reply: { (access) throws(StanzaError) in
      // 8: unknown and unshared accounts look alike.
      guard case .granted = access else { throw StanzaError(.serviceUnavailable) }
      try reply(turn, query, .account)
    }
  }

  static func write(_ capabilities: Capabilities, node: String?, into writer: inout ElementWriter) {
    writer.open(.discoInfo)
    // 3.2: the answer mirrors the node.
    writer.attribute("node", node)
    capabilities.writeContent(into: &writer)
    writer.close()
  }

  // MARK: Items

  /// The server has its rooms; an account has its available resources (4.2).
  private static func ownItems(_ turn: Turn, _ query: Element) throws(StanzaError) {
    if query["node"] != nil { throw StanzaError(.itemNotFound, "there is no such node") }
    let isAccount = turn.to.map { !$0.isDomain } ?? true
    let rooms = turn.parley.realm(domain: turn.to?.domain ?? turn.party.address.domain)?.rooms
    let items = isAccount ? resources(of: turn.party, turn.parley.hub) : rooms.map { [$0] } ?? []
    turn.reply { writeItems(items, into: &$0) }
  }

  private static func itemsOfUser(_ turn: Turn, _ query: Element) throws(StanzaError) {
    guard let address = turn.to?.bare else { throw StanzaError(.badRequest) }
    let hasNode = query["node"] != nil
    let (viewer, jid) = (turn.party, turn.jid)
    turn.fetch { try PresenceAccess.to(address, for: viewer, at: jid, $0) } reply: { (access) throws(StanzaError) in
      switch access {
      // 8: an empty result for whom it does not concern.
      case .absent, .denied: turn.reply { writeItems([], into: &$0) }
      case .granted(let user):
        if hasNode { throw StanzaError(.itemNotFound, "there is no such node") }
        let party = Party(id: user.id, realm: user.realm, address: user.address)
        turn.reply { writeItems(resources(of: party, turn.parley.hub), into: &$0) }
      }
    }
  }

  private static func resources(of party: Party, _ hub: Hub) -> [String] {
    hub.attendances(of: party.id).filter(\.isAvailable).map { Outbound.address(party, $0.resource) }
  }

  private static func writeItems(_ items: [String], into writer: inout ElementWriter) {
    writer.open(.discoItems)
    for item in items {
      writer.open(.discoItem)
      writer.attribute("jid", item)
      writer.close()
    }
    writer.close()
  }
}

extension FeatureTable {
  /// What disco#info says of a target. Each feature string once, in the order
  /// of registration.
  func capabilities(of target: Target) -> Capabilities {
    var seen: Set<String> = []
    return Capabilities(
      identities: (identities[target] ?? []).map {
        Capabilities.Identity(category: $0.category, type: $0.type, name: $0.name)
      },
      features: (advertised[target] ?? []).filter { seen.insert($0).inserted })
  }
}
