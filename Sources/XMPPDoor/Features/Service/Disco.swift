import Addresses
import Dialogs
import Peers
import XMLStream
import XMPP

/// XEP-0030: the identities and features of the server, an account and an app's session, compiled from the
/// registrations of the features.
struct Disco: Feature {
  static let xep = XEP(30, "2.5.0", "Service Discovery")

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.discoInfo)", "\(NS.discoItems)", on: [.server, .account])
    table.advertise("\(NS.discoInfo)", on: [.session])
    table.identify(.init(category: "server", type: "im", name: SoftwareVersion.name), on: .server)
    table.identify(.init(category: "account", type: "registered", name: nil), on: .account)
    table.identify(.init(category: "client", type: "phone", name: SoftwareVersion.name), on: .session)

    table.iq(.get, .discoInfo, to: [.server]) { (turn, query) throws(StanzaError) in
      if let node = query["node"], try AdHocCommands.info(turn, node) { return }
      try Self.reply(turn, query, .server)
    }
    table.advertise("\(NS.discoInfo)", "\(NS.discoItems)", on: [.rooms])
    table.iq(.get, .discoInfo, to: [.rooms]) { (turn, query) throws(StanzaError) in
      try Self.reply(turn, query, .rooms)
    }
    table.iq(.get, .discoInfo, to: [.account]) { (turn, query) throws(StanzaError) in
      if let node = query["node"] { return Self.node(turn, node, Delegation.anyInfo) { PEP.info(turn, node) } }
      if turn.parley.isGuest(turn.party.id) { return Self.replyOfGuest(turn) }
      try Self.reply(turn, query, .account)
    }
    table.iq(.get, .discoInfo, to: [.session]) { (turn, query) throws(StanzaError) in
      try turn.checkPresenceAccess()
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
    let info = turn.session.door.info(of: target, in: turn.addressed.domain)
    guard let node = query["node"] else { return turn.reply { $0.raw(info.whole) } }
    // The only nodes are those of entity capabilities (XEP-0115 6.2); an account has nodes of its own (`PEP.info`).
    guard node == info.node else { throw StanzaError(.itemNotFound, "there is no such node") }
    turn.reply { $0.raw(info.ofNode) }
  }

  private static func infoOfUser(_ turn: Turn, _ query: Element) throws(StanzaError) {
    guard let address = turn.to?.bare else { throw StanzaError(.badRequest) }
    if let node = query["node"] { return Self.node(turn, node, Delegation.anyInfo) { PEP.info(turn, node) } }
    let (viewer, jid) = (turn.party, turn.jid)
    turn.fetch {
      (try $0.presenceAccess(to: address, for: viewer, at: jid.jid), try $0.user(address))
    } reply: { (access, user) throws(StanzaError) in
      if let user, user.isGuest, user.state == .active { return replyOfGuest(turn) }
      // 8: unknown and unshared accounts look alike.
      guard case .reads = access else { throw StanzaError(.serviceUnavailable) }
      try reply(turn, query, .account)
    }
  }

  /// XEP-0175 4: anyone who knows a guest's address may know that it is one.
  private static func replyOfGuest(_ turn: Turn) {
    let capabilities = Capabilities(
      identities: [.init(category: "account", type: "anonymous")],
      features: ["\(NS.discoInfo)", "\(NS.discoItems)"])
    turn.reply { write(capabilities, node: nil, into: &$0) }
  }

  /// Answers for a node of an account. One that the server does not know may be a component's (XEP-0355 7.2.3, 7.2.4).
  private static func node(_ turn: Turn, _ name: String, _ namespace: String, _ own: @escaping () -> Void) {
    guard let manager = Delegation.ofNodes(namespace, turn) else { return own() }
    let door = turn.session.door
    // Where a component answers for nodes, the server's own are not shown.
    if door.delegations.delegates("\(NS.pubsub)", in: turn.addressed.domain) {
      return NamespaceDelegation.forward(turn, to: manager)
    }
    let (address, viewer, jid, services) = (turn.addressed, turn.party, turn.jid, turn.parley.pubsub)
    turn.fetch {
      if case .missing = try FoundNode(name, of: address, for: viewer, at: jid, $0, services) { false } else { true }
    } reply: { (isKnown) throws(StanzaError) in
      if isKnown { own() } else { NamespaceDelegation.forward(turn, to: manager) }
    }
  }

  static func write(_ capabilities: Capabilities, node: String?, into writer: inout ElementWriter) {
    writer.element(.discoInfo) { writer in
      // 3.2: the answer repeats the node.
      writer.attribute("node", node)
      capabilities.writeContent(into: &writer)
    }
  }

  // MARK: Items

  /// Lists the items: the server's services; an account's available resources (4.2) and nodes (XEP-0060 5.2), as far as
  /// the requester may see them.
  private static func ownItems(_ turn: Turn, _ query: Element) throws(StanzaError) {
    if turn.to?.isDomain != true { return itemsOfAccount(turn, query) }
    if let node = query["node"] {
      if node == "\(NS.commands)" { return AdHocCommands.items(turn) }
      throw StanzaError(.itemNotFound, "there is no such node")
    }
    let domain = turn.to?.domain ?? turn.party.address.domain
    let realm = turn.parley.realm(domain: domain)
    let pubsub = realm.flatMap { turn.parley.pubsub.service(of: $0.id) }?.address.domain
    let services = [realm?.rooms, turn.session.door.options.uploads[domain], pubsub].compactMap { $0 }
    let components = realm.map { turn.parley.remotes(of: $0.id).map(\.domain) } ?? []
    turn.reply { writeItems(services + components, into: &$0) }
  }

  private static func itemsOfUser(_ turn: Turn, _ query: Element) throws(StanzaError) { itemsOfAccount(turn, query) }

  private static func itemsOfAccount(_ turn: Turn, _ query: Element) {
    if let node = query["node"] { return Self.node(turn, node, Delegation.anyItems) { PEP.itemNames(turn, node) } }
    // XEP-0355 7.2.4: the component lists all nodes there.
    if let manager = Delegation.ofNodes(Delegation.anyItems, turn) {
      return NamespaceDelegation.forward(turn, to: manager)
    }
    let address = turn.to?.bare ?? turn.party.address
    let (viewer, jid, services) = (turn.party, turn.jid, turn.parley.pubsub)
    turn.fetch { reader in
      (
        try reader.presenceAccess(to: address, for: viewer, at: jid.jid),
        try PEP.nodes(of: address, for: viewer, at: jid, reader, services)
      )
    } reply: { (access, readable) in
      // 8: an empty result without access.
      let nodes = turn.hidesAccount ? [] : readable
      var resources: [String] = []
      if case .reads(let user) = access {
        let party = Party(id: user.id, realm: user.realm, address: user.address)
        resources = Self.resources(of: party, turn.parley.hub)
      }
      turn.reply { writer in
        writeItems(resources, into: &writer) { writer in
          for node in nodes {
            writer.element(.discoItem) { writer in
              writer.attribute("jid", address.description)
              writer.attribute("node", node.name)
              writer.attribute("name", node.configuration.title)
            }
          }
        }
      }
    }
  }

  private static func resources(of party: Party, _ hub: Hub) -> [String] {
    hub.onlineSessions(of: party.id).filter(\.isAvailable).map { Outbound.address(party, $0.resource) }
  }

  private static func writeItems(
    _ items: [String], into writer: inout ElementWriter, _ more: (inout ElementWriter) -> Void = { _ in }
  ) {
    writer.element(.discoItems) { writer in
      for item in items { writer.element(.discoItem) { $0.attribute("jid", item) } }
      more(&writer)
    }
  }
}

extension FeatureTable {
  /// Returns the disco#info of a target. Each feature is listed once, in the order of registration.
  ///
  /// - Parameter namespaces: features that answer payloads of these namespaces are left out.
  func capabilities(of target: Target, without namespaces: Set<String> = []) -> Capabilities {
    let isLeftOut = registrants(answering: namespaces)
    var seen: Set<String> = []
    return Capabilities(
      identities: identities(of: target).filter { !isLeftOut.contains($0.of) }.map {
        Capabilities.Identity(category: $0.identity.category, type: $0.identity.type, name: $0.identity.name)
      },
      features: features(of: target).filter { !isLeftOut.contains($0.of) && seen.insert($0.feature).inserted }
        .map(\.feature),
      forms: forms(of: target).filter { !isLeftOut.contains($0.of) }.map(\.form))
  }
}
