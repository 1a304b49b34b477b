import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0060: the publish-subscribe service of a domain, whose nodes belong to those who create them. The rules are those
/// of accounts' nodes; `PubsubServices` says what differs, and `PEP` reads and writes what both have.
struct PubsubService: Feature {
  static let xep = XEP(
    60, "1.30.0", "Publish-Subscribe",
    note: """
      At `pubsub.{domain}`, and for accounts ([details](xep-0060.md)). No collections, leases, digests and expiry.
      """)

  /// The features of XEP-0060 10 at a service.
  static let features = [
    "access-authorize", "access-open", "access-whitelist", "config-node", "config-node-max", "create-and-configure",
    "create-nodes", "delete-items", "delete-nodes", "instant-nodes", "item-ids", "last-published",
    "manage-subscriptions", "member-affiliation", "meta-data", "modify-affiliations", "multi-items",
    "outcast-affiliation", "persistent-items", "publish", "publish-node-full", "publish-only-affiliation",
    "publish-options", "publisher-affiliation", "purge-nodes", "retract-items", "retrieve-affiliations",
    "retrieve-default", "retrieve-default-sub", "retrieve-items", "retrieve-subscriptions", "rsm", "subscribe",
    "subscription-notifications", "subscription-options",
  ]

  func register(in table: inout FeatureTable) {
    table.identify(.init(category: "pubsub", type: "service", name: "Publish-Subscribe"), on: .pubsub)
    table.advertise("\(NS.discoInfo)", "\(NS.discoItems)", "\(NS.pubsub)", on: [.pubsub])
    for feature in Self.features { table.advertise("\(NS.pubsub)#\(feature)", on: [.pubsub]) }

    table.iq(.get, .discoInfo, to: [.pubsub]) { (turn, query) throws(StanzaError) in
      if let node = query["node"] { return PEP.info(turn, node) }
      let info = turn.session.door.info(of: .pubsub, in: turn.addressed.domain)
      turn.reply { $0.raw(info.whole) }
    }
    table.iq(.get, .discoItems, to: [.pubsub]) { (turn, query) throws(StanzaError) in
      if let node = query["node"] { return PEP.itemNames(turn, node) }
      try Self.nodes(turn, query)
    }
    table.iq(.get, .pubsub, to: [.pubsub]) { (turn, pubsub) throws(StanzaError) in
      try PEP.read(turn, try PubsubRequest(pubsub, isSet: false))
    }
    table.iq(.set, .pubsub, to: [.pubsub]) { (turn, pubsub) throws(StanzaError) in
      switch try PubsubRequest(pubsub, isSet: true) {
      case .publish(let request): Self.publish(turn, request)
      case let request: try PEP.change(turn, request)
      }
    }
    table.iq(.get, .pubsubOwner, to: [.pubsub]) { (turn, pubsub) throws(StanzaError) in
      try PEP.look(turn, try OwnerRequest(pubsub, isSet: false))
    }
    table.iq(.set, .pubsubOwner, to: [.pubsub]) { (turn, pubsub) throws(StanzaError) in
      try PEP.own(turn, try OwnerRequest(pubsub, isSet: true))
    }
  }

  /// Publishes an item (7.1). A service reads no payload: it has no bookmarks and no profiles.
  private static func publish(_ turn: Turn, _ request: PublishRequest) {
    let publication = request.opaque
    turn.postToNode(.publish(publication)) {
      PEP.writePublished(request.node, publication.item?.id, into: &$0)
    }
  }

  /// Lists the nodes that the user may read (5.2), by the page (XEP-0059).
  private static func nodes(_ turn: Turn, _ query: Element) throws(StanzaError) {
    let set = try query.payload(ResultSetRequest.self)
    let limit = max(1, min(set?.limit(default: Limits.pageMax) ?? Limits.pageMax, Limits.pageMax))
    if set?.isBackward == true || set?.index != nil {
      throw StanzaError(.featureNotImplemented, "the list is read forwards")
    }
    let (address, viewer, jid, services, after) = (turn.host, turn.party, turn.jid, turn.parley.pubsub, set?.after)
    turn.fetch { reader -> (nodes: [Node], next: String?) in
      guard let access = try NodeAccess(of: address, for: viewer, at: jid, reader, services) else { return ([], nil) }
      var found: [Node] = []
      var place = after
      for _ in 0..<DoorLimits.nodePagesReadMax {
        let page = try reader.nodes(of: access.owner, after: place, limit: limit)
        for node in page where access.denial(of: node) == nil {
          found.append(node)
          if found.count == limit { return (found, node.name) }
        }
        guard page.count == limit else { return (found, nil) }
        place = page.last?.name
      }
      return (found, place)
    } reply: { (page) in
      turn.reply { writer in
        writer.element(.discoItems) { writer in
          for node in page.nodes {
            writer.element(.discoItem) { writer in
              writer.attribute("jid", address.description)
              writer.attribute("node", node.name)
              writer.attribute("name", node.configuration.title)
            }
          }
          if set != nil || page.next != nil {
            ResultSetPage(first: page.nodes.first?.name, last: page.next ?? page.nodes.last?.name).write(into: &writer)
          }
        }
      }
    }
  }
}
