import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0163: every account is a service of publish-subscribe. Who publishes is
/// the account; who hears of it are its own sessions and, as far as the node's
/// access model says, those who see its presence, where their client is
/// interested (`+notify`, XEP-0060 9.2).
///
/// What a node is and what may be done with it is decided in `Dialogs.Judge`;
/// who is told, in the hub. Here it is read and written.
struct PEP: Feature {
  static let xep = XEP(
    163, "1.2.2", "Personal Eventing Protocol",
    note:
      "subscribed is who sees the presence (no explicit subscriptions, 5); no replyto addresses (4.3.1)"
  )

  func register(in table: inout FeatureTable) {
    for target in [FeatureTable.Target.account, .server] {
      table.identify(.init(category: "pubsub", type: "pep", name: nil), on: target)
      table.advertise("\(NS.pubsub)", on: [target])
      // XEP-0223 5: also of the server, where older clients look.
      for feature in Self.features { table.advertise("\(NS.pubsub)#\(feature)", on: [target]) }
    }
    table.advertise("\(NS.pubsub)#pubsub-on-a-jid", on: [.account])

    table.iq(.get, .pubsub, to: [.account, .user]) { (turn, pubsub) throws(StanzaError) in
      guard case .items(let request) = try PubsubRequest(pubsub, isSet: false) else { return }
      Self.items(turn, request)
    }
    table.iq(.set, .pubsub, to: [.account]) { (turn, pubsub) throws(StanzaError) in
      try Self.change(turn, try PubsubRequest(pubsub, isSet: true))
    }
    table.iq(.get, .pubsubOwner, to: [.account]) { (turn, pubsub) throws(StanzaError) in
      Self.configuration(turn, try OwnerRequest(pubsub, isSet: false))
    }
    table.iq(.set, .pubsubOwner, to: [.account]) { (turn, pubsub) throws(StanzaError) in
      try Self.own(turn, try OwnerRequest(pubsub, isSet: true))
    }
    // 2.2; XEP-0060 7.1.3.1, 8.2.3.2 and alike: other users' nodes are theirs.
    table.iq(.set, .pubsub, to: [.user]) { (_, pubsub) throws(StanzaError) in
      _ = try PubsubRequest(pubsub, isSet: true)
      throw StanzaError(.forbidden)
    }
    let forbidden: FeatureTable.IQHandler = { (_, _) throws(StanzaError) in throw StanzaError(.forbidden) }
    table.iq(.get, .pubsubOwner, to: [.user], forbidden)
    table.iq(.set, .pubsubOwner, to: [.user], forbidden)
  }

  /// XEP-0060 10.
  private static let features = [
    "access-open", "access-presence", "access-roster", "access-whitelist", "auto-create", "auto-subscribe",
    "config-node", "config-node-max", "create-and-configure", "create-nodes", "delete-items", "delete-nodes",
    "filtered-notifications", "instant-nodes", "item-ids", "last-published", "meta-data", "multi-items",
    "persistent-items", "presence-notifications", "presence-subscribe", "publish", "publish-node-full",
    "publish-options", "purge-nodes", "retract-items", "retrieve-default", "retrieve-items",
  ]

  // MARK: Who may read

  /// An account as somebody else sees it.
  private struct Sight {
    let owner: UserID
    let isOwn: Bool
    /// What the owner keeps about whoever looks.
    let contact: Contact?

    /// Whether they are told at all that there is such an account (XEP-0030 8).
    var isShared: Bool { isOwn || contact?.subscription.from == true }

    func denial(of configuration: NodeConfiguration) -> NodeConfiguration.Denial? {
      isOwn ? nil : configuration.denial(to: contact)
    }
  }

  /// nil: no such user, or none that the viewer may notice (XEP-0191 3.3).
  private static func sight(
    of address: BareJID, for viewer: Party, at jid: FullJID, _ reader: any StoreReader
  ) throws -> Sight? {
    guard let user = try reader.user(address), user.state == .active else { return nil }
    if user.id == viewer.id { return Sight(owner: user.id, isOwn: true, contact: nil) }
    if try reader.blocks(of: user.id).contains(where: { $0.matches(jid.jid) }) { return nil }
    return Sight(owner: user.id, isOwn: false, contact: try reader.contact(of: user.id, viewer.address))
  }

  /// A node, or the view of one, that somebody wants to read.
  private enum Found {
    case absent
    case missing(isShared: Bool)
    case denied(NodeConfiguration.Denial, isShared: Bool)
    case node(Node)

    func get() throws(StanzaError) -> Node {
      switch self {
      // RFC 6121 8.5.1.
      case .absent: throw StanzaError(.serviceUnavailable)
      case .missing: throw StanzaError(.itemNotFound, "there is no such node")
      case .denied(let denial, _): throw StanzaError(denial)
      case .node(let node): return node
      }
    }
  }

  private static func find(
    _ name: String, of address: BareJID, for viewer: Party, at jid: FullJID, _ reader: any StoreReader
  ) throws -> Found {
    guard let sight = try sight(of: address, for: viewer, at: jid, reader) else { return .absent }
    let node =
      try name == Bookmark.listNode ? BookmarkStorage.node(of: sight.owner, reader) : reader.node(name, of: sight.owner)
    guard let node else { return .missing(isShared: sight.isShared) }
    return sight.denial(of: node.configuration).map { .denied($0, isShared: sight.isShared) } ?? .node(node)
  }

  // MARK: Items

  /// 6.5.
  private static func items(_ turn: Turn, _ request: ItemsRequest) {
    let address = turn.to?.bare ?? turn.party.address
    let (viewer, jid) = (turn.party, turn.jid)
    turn.fetch { reader -> (Found, [NodeItem]) in
      let found = try find(request.node, of: address, for: viewer, at: jid, reader)
      guard case .node(let node) = found else { return (found, []) }
      return (found, try items(of: node, request, reader))
    } reply: { (found, items) throws(StanzaError) in
      let node = try found.get()
      guard node.configuration.persistsItems else { throw .unsupported("persistent-items") }
      turn.reply { write(items, of: node, request, into: &$0) }
    }
  }

  private static func items(of node: Node, _ request: ItemsRequest, _ reader: any StoreReader) throws -> [NodeItem] {
    if node.name == Bookmark.listNode {
      return try Bookmark.list(of: node.owner, reader).map { [$0] } ?? []
    }
    if request.ids.isEmpty {
      return try reader.items(
        in: node.name, of: node.owner, newest: true, limit: request.max ?? Dialogs.Limits.itemsPerNodeMax)
    }
    // 6.5.9.12: what is not there is left out.
    return try request.ids.compactMap {
      try reader.item(Bookmarks.id($0, in: node.name), in: node.name, of: node.owner)
    }
  }

  /// The newest that fit (6.5.4).
  static func write(_ items: [NodeItem], of node: Node, _ request: ItemsRequest, into writer: inout ElementWriter) {
    var bytes = 0
    var count = 0
    for item in items.reversed() {
      bytes += item.content.byteCount + DoorLimits.itemOverheadBytes
      if bytes > DoorLimits.itemsBytesMax, count > 0 { break }
      count += 1
    }
    let given = items.suffix(count)
    writer.open(.pubsub)
    writer.open("items")
    writer.attribute("node", node.name)
    for item in given { NodeWriter.write(item, into: &writer) }
    writer.close()
    if count < items.count {
      ResultSetPage(first: given.first?.id, last: given.last?.id, count: items.count).write(into: &writer)
    }
    writer.close()
  }

  // MARK: Publishing

  private static func change(_ turn: Turn, _ request: PubsubRequest) throws(StanzaError) {
    switch request {
    case .items: throw StanzaError(.badRequest)
    case .publish(let request): try publish(turn, request)
    case .retract(let node, let item, let notifies):
      turn.postToNode(.retract(node: node, item: Bookmarks.id(item, in: node), notifies: notifies))
    case .create(let name, let form):
      let options = try form.map { form throws(StanzaError) in try NodeForm.options(form) } ?? []
      let node = name ?? House.randomID()
      turn.postToNode(.create(node: node, options)) { writer in
        // 8.1.1: a name that the client does not know yet.
        guard name == nil else { return }
        writer.open(.pubsub)
        writer.open("create")
        writer.attribute("node", node)
        writer.close()
        writer.close()
      }
    }
  }

  /// 7.1.
  private static func publish(_ turn: Turn, _ request: PublishRequest) throws(StanzaError) {
    if request.node == Bookmark.listNode { return try BookmarkStorage.publish(turn, request) }
    var item: NodePublication.Item?
    if let published = request.item {
      if request.node == Bookmark.node {
        let bookmark = try BookmarkElement.read(published.payload, id: published.id ?? "")
        item = NodePublication.Item(id: bookmark.address.description, content: .bookmark(bookmark))
      } else {
        let payload = published.payload?.serialised(defaultNamespace: "") ?? []
        item = NodePublication.Item(id: published.id ?? House.randomID(), content: .opaque(payload))
      }
    }
    let id = item?.id
    turn.postToNode(
      .publish(NodePublication(node: request.node, item: item, conditions: request.conditions))
    ) { writePublished(request.node, id, into: &$0) }
  }

  /// 7.1.2. The id is told also where the client said it: Gajim wants it.
  static func writePublished(_ node: String, _ id: String?, into writer: inout ElementWriter) {
    writer.open(.pubsub)
    writer.open("publish")
    writer.attribute("node", node)
    if let id {
      writer.open("item")
      writer.attribute("id", id)
      writer.close()
    }
    writer.close()
    writer.close()
  }

  // MARK: Owning

  /// 8.2, 8.3.
  private static func configuration(_ turn: Turn, _ request: OwnerRequest) {
    guard case .configuration(let name) = request else {
      return turn.reply { writeForm(NodeConfiguration(), node: nil, "default", into: &$0) }
    }
    let (owner, viewer, jid) = (turn.party.address, turn.party, turn.jid)
    turn.fetch {
      try find(name, of: owner, for: viewer, at: jid, $0)
    } reply: { (found) throws(StanzaError) in
      let node = try found.get()
      turn.reply { writeForm(node.configuration, node: name, "configure", into: &$0) }
    }
  }

  private static func writeForm(
    _ configuration: NodeConfiguration, node: String?, _ name: StaticString, into writer: inout ElementWriter
  ) {
    writer.open(.pubsubOwner)
    writer.open(name)
    writer.attribute("node", node)
    NodeForm.form(of: configuration).write(into: &writer)
    writer.close()
    writer.close()
  }

  private static func own(_ turn: Turn, _ request: OwnerRequest) throws(StanzaError) {
    switch request {
    case .configuration, .defaults: throw StanzaError(.badRequest)
    case .configure(let node, let form):
      turn.postToNode(.configure(node: node, try NodeForm.options(form)))
    // 8.2.4: the configuration stays as it is.
    case .cancel: turn.reply()
    case .purge(let node): turn.postToNode(.purge(node: node))
    case .delete(let node): turn.postToNode(.delete(node: node))
    }
  }

  // MARK: Discovery

  /// A node as a node of disco#info (XEP-0060 5.3, 5.4).
  static func info(_ turn: Turn, _ name: String) {
    let address = turn.to?.bare ?? turn.party.address
    let (viewer, jid) = (turn.party, turn.jid)
    turn.fetch {
      try find(name, of: address, for: viewer, at: jid, $0)
    } reply: { (found) throws(StanzaError) in
      let node: Node
      switch found {
      case .node(let readable): node = readable
      // What must not be read looks as if it were not there (XEP-0030 8).
      case .missing(true), .denied(_, true): throw StanzaError(.itemNotFound, "there is no such node")
      case .absent, .missing, .denied: throw StanzaError(.serviceUnavailable)
      }
      let capabilities = Capabilities(
        identities: [.init(category: "pubsub", type: "leaf", name: node.configuration.title)],
        features: ["\(NS.pubsub)", "\(NS.discoInfo)"],
        forms: [NodeForm.metadata(of: node, owner: address.description)])
      turn.reply { Disco.write(capabilities, node: name, into: &$0) }
    }
  }

  /// The nodes of an account that the viewer may read (6.2).
  static func nodes(
    of address: BareJID, for viewer: Party, at jid: FullJID, _ reader: any StoreReader
  ) throws -> [Node] {
    guard let sight = try sight(of: address, for: viewer, at: jid, reader) else { return [] }
    return try reader.nodes(of: sight.owner).filter { sight.denial(of: $0.configuration) == nil }
  }

  /// The items of a node by their ids (XEP-0060 5.5).
  static func itemNames(_ turn: Turn, _ name: String) {
    let address = turn.to?.bare ?? turn.party.address
    let (viewer, jid) = (turn.party, turn.jid)
    turn.fetch { reader -> [String]? in
      guard case .node(let node) = try find(name, of: address, for: viewer, at: jid, reader) else { return nil }
      return try reader.items(in: node.name, of: node.owner, newest: true, limit: Dialogs.Limits.itemsPerNodeMax).map(
        \.id)
    } reply: { (ids) throws(StanzaError) in
      guard let ids else { throw StanzaError(.itemNotFound, "there is no such node") }
      turn.reply { writer in
        writer.open(.discoItems)
        writer.attribute("node", name)
        for id in ids {
          writer.open(.discoItem)
          writer.attribute("jid", address.description)
          writer.attribute("name", id)
          writer.close()
        }
        writer.close()
      }
    }
  }

  // MARK: The last items

  /// The client has become available, and not been told the last items since:
  /// they come once, not with each presence (4.3.3).
  private static let waits = Slot(false)

  /// The client has become available, or has gone.
  static func became(isAvailable: Bool, _ session: XMPPSession) { session[waits] = isAvailable }

  /// The client has sent a presence, or said what it is interested in.
  static func announced(by session: XMPPSession) {
    guard session[waits], let interests = session.attendance?.interests, !interests.isEmpty else { return }
    session[waits] = false
    let (viewer, jid) = (session.party, session.jid)
    session.fetch { reader -> [NodeEvent] in
      var events = try lastItems(
        of: viewer, for: viewer, at: jid, interests, on: [.onPresence], within: DoorLimits.itemsBytesMax, reader)
      if interests.contains(Bookmark.listNode), let list = try Bookmark.list(of: viewer.id, reader) {
        events.append(
          NodeEvent(
            owner: viewer, node: Bookmark.listNode, kind: .published(list), configuration: Bookmark.listConfiguration,
            isLast: true))
      }
      return events
    } then: { result in
      // Who is not told can still ask.
      guard case .success(let events) = result, session.isAvailable, let card = session.card else { return }
      for event in events { NodeWriter.send(event, to: session) }
      let contacts = card.contacts.values.compactMap { publisher($0, card, session) }
      tellLast(of: contacts.sorted { $0.id < $1.id }[...], interests, on: [.onPresence], session)
    }
  }

  /// A contact lets the user see their presence from now on: a new subscriber.
  static func subscribed(to contact: Contact, _ session: XMPPSession) {
    guard session.isAvailable, let interests = session.attendance?.interests, !interests.isEmpty,
      let card = session.card, let publisher = publisher(contact, card, session)
    else { return }
    tellLast(of: [publisher], interests, on: [.onSubscription, .onPresence], session)
  }

  /// nil: nobody whose items the user is told.
  private static func publisher(_ contact: Contact, _ card: Card, _ session: XMPPSession) -> Party? {
    guard contact.subscription.to, let peer = contact.peer, !card.blocks(JID(contact.address)) else { return nil }
    return Party(id: peer, realm: session.party.realm, address: contact.address)
  }

  /// The last items of contacts, there or not: of a few contacts at a time, and on
  /// as the client takes them. Somebody with many contacts neither waits for the
  /// store at once nor is sent more than stream management holds.
  private static func tellLast(
    of contacts: ArraySlice<Party>, _ interests: Set<String>, on occasions: Set<NodeConfiguration.SendLast>,
    _ session: XMPPSession
  ) {
    if contacts.isEmpty { return }
    let (viewer, jid) = (session.party, session.jid)
    session.fetch { reader -> (events: [NodeEvent], looked: Int) in
      var events: [NodeEvent] = []
      var bytes = 0
      var looked = 0
      for contact in contacts.prefix(DoorLimits.lastItemsContacts) {
        let found = try lastItems(
          of: contact, for: viewer, at: jid, interests, on: occasions, within: DoorLimits.contactItemsBytesMax, reader)
        events += found
        looked += 1
        bytes += found.reduce(0) { $0 + $1.byteCount }
        if bytes >= DoorLimits.lastItemsBytesMax { break }
      }
      return (events, looked)
    } then: { result in
      guard case .success(let page) = result, session.isAvailable else { return }
      for event in page.events { NodeWriter.send(event, to: session) }
      let rest = contacts.dropFirst(page.looked)
      if !rest.isEmpty { session.whenTaken { tellLast(of: rest, interests, on: occasions, session) } }
    }
  }

  /// 4.3.4: of each node of an account that the viewer may read the last item.
  ///
  /// - Parameter bound: bytes; a client can ask for what is left out.
  private static func lastItems(
    of owner: Party, for viewer: Party, at jid: FullJID, _ interests: Set<String>,
    on occasions: Set<NodeConfiguration.SendLast>, within bound: Int, _ reader: any StoreReader
  ) throws -> [NodeEvent] {
    let nodes = try reader.nodes(of: owner.id).filter {
      interests.contains($0.name) && occasions.contains($0.configuration.sendLast) && $0.configuration.notifies
    }
    guard !nodes.isEmpty, let sight = try sight(of: owner.address, for: viewer, at: jid, reader) else { return [] }
    var events: [NodeEvent] = []
    var bytes = 0
    for node in nodes where sight.denial(of: node.configuration) == nil {
      guard let item = try reader.items(in: node.name, of: owner.id, newest: true, limit: 1).last else { continue }
      let event = NodeEvent(
        owner: owner, node: node.name, kind: .published(item), configuration: node.configuration, isLast: true)
      bytes += event.byteCount
      if bytes > bound { break }
      events.append(event)
    }
    return events
  }
}

extension NodeEvent {
  /// About what it weighs as a stanza.
  fileprivate var byteCount: Int {
    guard case .published(let item?) = kind else { return DoorLimits.itemOverheadBytes }
    return item.content.byteCount + DoorLimits.itemOverheadBytes
  }
}

extension Turn {
  /// A post about one of the account's nodes; success is answered with `content`,
  /// a refusal as XEP-0060 says.
  func postToNode(_ intent: NodeIntent, _ content: @escaping (inout ElementWriter) -> Void = { _ in }) {
    post(.node(intent)) { [self] result in
      switch result {
      case .success: reply(content)
      case .failure(let problem): fail(StanzaError(publishing: problem))
      }
    }
  }
}
