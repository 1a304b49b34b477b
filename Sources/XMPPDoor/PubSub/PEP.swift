import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0163: every account is a publish-subscribe service. Its publisher is the account; its events go to the account's
/// own sessions and, as far as the node's access model allows, to those who see its presence, if their client is
/// interested (`+notify`, XEP-0060 9.2).
///
/// The rules of nodes are in `Dialogs.Judge`, the routing of events is in the hub. This file reads and writes the XML.
struct PEP: Feature {
  static let xep = XEP(
    163, "1.2.2", "Personal Eventing Protocol",
    note: "No replyto addresses (4.3.1). Directed presence does not subscribe.")

  func register(in table: inout FeatureTable) {
    for target in [FeatureTable.Target.account, .server] {
      table.identify(.init(category: "pubsub", type: "pep", name: nil), on: target)
      table.advertise("\(NS.pubsub)", on: [target])
      // XEP-0223 5: also on the server, where older clients look.
      for feature in Self.features { table.advertise("\(NS.pubsub)#\(feature)", on: [target]) }
    }
    table.advertise("\(NS.pubsub)#pubsub-on-a-jid", on: [.account])

    table.iq(.get, .pubsub, to: [.account, .user]) { (turn, pubsub) throws(StanzaError) in
      try Self.read(turn, try PubsubRequest(pubsub, isSet: false))
    }
    table.iq(.set, .pubsub, to: [.account]) { (turn, pubsub) throws(StanzaError) in
      try Self.change(turn, try PubsubRequest(pubsub, isSet: true))
    }
    table.iq(.set, .pubsub, to: [.user]) { (turn, pubsub) throws(StanzaError) in
      try Self.visit(turn, try PubsubRequest(pubsub, isSet: true))
    }
    table.iq(.get, .pubsubOwner, to: [.account]) { (turn, pubsub) throws(StanzaError) in
      try Self.look(turn, try OwnerRequest(pubsub, isSet: false))
    }
    table.iq(.set, .pubsubOwner, to: [.account]) { (turn, pubsub) throws(StanzaError) in
      try Self.own(turn, try OwnerRequest(pubsub, isSet: true))
    }
    // XEP-0060 8.2.3.2 and others: a node belongs to its account.
    let forbidden: FeatureTable.IQHandler = { (_, _) throws(StanzaError) in throw StanzaError(.forbidden) }
    table.iq(.get, .pubsubOwner, to: [.user], forbidden)
    table.iq(.set, .pubsubOwner, to: [.user], forbidden)
    table.read(.dataForm) { form, draft in draft.answer = AuthorizationForm(form) }
  }

  /// The features of XEP-0060 10.
  static let features = [
    "access-authorize", "access-open", "access-presence", "access-roster", "access-whitelist", "auto-create",
    "auto-subscribe", "config-node", "config-node-max", "create-and-configure", "create-nodes", "delete-items",
    "delete-nodes", "filtered-notifications", "instant-nodes", "item-ids", "last-published", "manage-subscriptions",
    "member-affiliation", "meta-data", "modify-affiliations", "multi-items", "outcast-affiliation",
    "persistent-items", "presence-notifications", "presence-subscribe", "publish", "publish-node-full",
    "publish-only-affiliation", "publish-options", "publisher-affiliation", "purge-nodes", "retract-items",
    "retrieve-affiliations",
    "retrieve-default", "retrieve-default-sub", "retrieve-items", "retrieve-subscriptions", "rsm", "subscribe",
    "subscription-notifications", "subscription-options",
  ]

  static func read(_ turn: Turn, _ request: PubsubRequest) throws(StanzaError) {
    switch request {
    case .items(let request): items(turn, request)
    case .subscriptions(let node): subscriptions(turn, node)
    case .affiliations(let node): affiliations(turn, node)
    case .options(let node, let address, _): try options(turn, node, address)
    case .defaultOptions(let node): defaultOptions(turn, node)
    case .publish, .retract, .create, .subscribe, .unsubscribe: throw StanzaError(.badRequest)
    }
  }

  // MARK: Items

  /// Returns items (6.5).
  private static func items(_ turn: Turn, _ request: ItemsRequest) {
    let address = turn.host
    let (viewer, jid, services) = (turn.party, turn.jid, turn.parley.pubsub)
    turn.fetch { reader -> (FoundNode, ByteBuffer?) in
      let found = try FoundNode(request.node, of: address, for: viewer, at: jid, reader, services)
      guard case .node(let node) = found, var page = try ItemsPage(request, of: node, reader) else {
        return (found, nil)
      }
      page.items = try VCard4.completed(page.items, of: node.owner, for: viewer, reader)
      // Pictures and vCards take milliseconds to write, which an event loop does not have.
      var writer = ElementWriter()
      page.write(of: node, owner: address.description, into: &writer)
      return (found, writer.buffer)
    } reply: { (found, page) throws(StanzaError) in
      let node = try found.get()
      guard node.configuration.persistsItems else { throw .unsupported("persistent-items") }
      guard let page else { throw StanzaError(.itemNotFound, "the page begins at no item of this node") }
      turn.reply { $0.raw(page) }
    }
  }

  // MARK: Publishing

  static func change(_ turn: Turn, _ request: PubsubRequest) throws(StanzaError) {
    switch request {
    case .publish(let request): try publish(turn, request)
    case .retract(let node, let item, let notifies):
      turn.postToNode(.retract(node: node, item: Bookmarks.id(item, in: node), notifies: notifies))
    case .create(let name, let form):
      let options = try form.map { form throws(StanzaError) in try NodeForm.options(form) } ?? []
      let node = name ?? DoorContext.randomID()
      turn.postToNode(.create(node: node, options)) { writer in
        // 8.1.1: a name that the client does not know yet.
        guard name == nil else { return }
        writer.element(.pubsub) { writer in
          writer.element("create") { $0.attribute("node", node) }
        }
      }
    case .subscribe, .unsubscribe, .options, .items, .subscriptions, .affiliations, .defaultOptions:
      try subscribing(turn, request)
    }
  }

  /// Carries out a request at another user's account.
  private static func visit(_ turn: Turn, _ request: PubsubRequest) throws(StanzaError) {
    switch request {
    case .publish(let request):
      let publication = request.opaque
      turn.visit(request.node, .publish(publication)) { writePublished(request.node, publication.item?.id, into: &$1) }
    case .retract(let node, let item, let notifies):
      turn.visit(node, .retract(item: item, notifies: notifies)) { _, _ in }
    // 8.1.3: users create nodes at their own account only.
    case .create: throw StanzaError(.forbidden)
    case .subscribe, .unsubscribe, .options, .items, .subscriptions, .affiliations, .defaultOptions:
      try subscribing(turn, request)
    }
  }

  private static func subscribing(_ turn: Turn, _ request: PubsubRequest) throws(StanzaError) {
    switch request {
    case .subscribe(let request): try subscribe(turn, request)
    case .unsubscribe(let node, let address): try change(turn, node, address, .unsubscribe(address))
    case .options(let node, let address, let form?):
      try change(turn, node, address, .pause(address, SubscriptionForm.isPaused(form)))
    case .options(_, _, nil), .items, .publish, .retract, .create, .subscriptions, .affiliations, .defaultOptions:
      throw StanzaError(.badRequest)
    }
  }

  /// Publishes an item (7.1).
  private static func publish(_ turn: Turn, _ request: PublishRequest) throws(StanzaError) {
    if request.node == Bookmark.listNode { return try BookmarkStorage.publish(turn, request) }
    let item = try request.item.map { published throws(StanzaError) in try self.item(published, in: request.node) }
    let id = item?.id
    turn.postToNode(
      .publish(NodePublication(node: request.node, item: item, conditions: request.conditions))
    ) { writePublished(request.node, id, into: &$0) }
  }

  /// Returns an item as its node holds it.
  static func item(_ published: PublishRequest.Item, in node: String) throws(StanzaError) -> NodePublication.Item {
    if node == Bookmark.node {
      let bookmark = try BookmarkElement.read(published.payload, id: published.id ?? "")
      return NodePublication.Item(id: bookmark.address.description, content: .bookmark(bookmark))
    }
    if node == Displayed.node, let displayed = DisplayedElement.read(published.payload) {
      return NodePublication.Item(id: published.id ?? "", content: .displayed(displayed))
    }
    if let view = ProfileNode(rawValue: node) { return try ProfileItem.read(published, in: view) }
    let payload = published.payload?.serialised(defaultNamespace: "") ?? []
    return NodePublication.Item(id: published.id ?? DoorContext.randomID(), content: .opaque(payload))
  }

  /// Writes the answer to a publication (7.1.2). The id is included even if the client chose it: Gajim needs it.
  static func writePublished(_ node: String, _ id: String?, into writer: inout ElementWriter) {
    writer.element(.pubsub) { writer in
      writer.element("publish") { writer in
        writer.attribute("node", node)
        if let id { writer.element("item") { $0.attribute("id", id) } }
      }
    }
  }

  // MARK: Owning

  static func look(_ turn: Turn, _ request: OwnerRequest) throws(StanzaError) {
    switch request {
    case .configuration(let node): configuration(turn, node)
    case .defaults: defaults(turn)
    case .subscribers(let node): subscribers(turn, of: node)
    case .affiliates(let node): affiliates(turn, of: node)
    case .configure, .cancel, .purge, .delete, .setSubscribers, .affiliate: throw StanzaError(.badRequest)
    }
  }

  /// Answers with the form of a node that is yet to be created (8.3).
  private static func defaults(_ turn: Turn) {
    let isAtService = turn.isAtService
    turn.afterPosts {
      let configuration = isAtService ? NodeConfiguration.atService : NodeConfiguration()
      turn.reply {
        writeForm(
          configuration, groups: offeredGroups(turn), node: nil, "default", isAtService: isAtService, into: &$0)
      }
    }
  }

  /// Returns the groups of contacts that a form offers for `pubsub#roster_groups_allowed`.
  private static func offeredGroups(_ turn: Turn) -> Set<String> {
    turn.session.contactSnapshot?.groupNames(
      limit: DoorLimits.rosterGroupsOffered, contacts: DoorLimits.rosterGroupContacts) ?? []
  }

  /// Returns the configuration form (8.2).
  private static func configuration(_ turn: Turn, _ name: String) {
    let (owner, viewer, jid, services) = (turn.host, turn.party, turn.jid, turn.parley.pubsub)
    turn.fetch { reader -> FoundNode? in
      try FoundNode.owned(name, of: owner, for: viewer, at: jid, reader, services)
    } reply: { (found) throws(StanzaError) in
      // 8.2.3.2.
      guard let node = try found?.get() else { throw StanzaError(.forbidden) }
      turn.reply {
        writeForm(
          node.configuration, groups: offeredGroups(turn), node: name, "configure", isAtService: node.owner.isService,
          into: &$0)
      }
    }
  }

  private static func writeForm(
    _ configuration: NodeConfiguration, groups: Set<String> = [], node: String?, _ name: StaticString,
    isAtService: Bool, into writer: inout ElementWriter
  ) {
    writer.element(.pubsubOwner) { writer in
      writer.element(name) { writer in
        writer.attribute("node", node)
        NodeForm.form(of: configuration, groups: groups, isAtService: isAtService).write(into: &writer)
      }
    }
  }

  static func own(_ turn: Turn, _ request: OwnerRequest) throws(StanzaError) {
    switch request {
    case .configuration, .defaults, .subscribers, .affiliates: throw StanzaError(.badRequest)
    case .configure(let node, let form):
      turn.postToNode(.configure(node: node, try NodeForm.options(form)))
    // 8.2.4: the configuration stays as it is.
    case .cancel: turn.reply()
    case .purge(let node): turn.postToNode(.purge(node: node))
    case .delete(let node): turn.postToNode(.delete(node: node))
    case .setSubscribers(let node, let changes): setSubscribers(turn, node, changes)
    case .affiliate(let node, let changes): affiliate(turn, node, changes)
    }
  }

  // MARK: Discovery

  /// Answers disco#info about a node (XEP-0060 5.3, 5.4).
  static func info(_ turn: Turn, _ name: String) {
    let address = turn.host
    let (viewer, jid, services) = (turn.party, turn.jid, turn.parley.pubsub)
    turn.fetch { reader -> (FoundNode, NodePeople) in
      let found = try FoundNode(name, of: address, for: viewer, at: jid, reader, services)
      guard case .node(let node) = found else { return (found, NodePeople()) }
      return (found, try reader.people(of: node.name, of: node.owner))
    } reply: { (found, people) throws(StanzaError) in
      let node: Node
      switch found {
      case .node(let readable): node = readable
      // A node that must not be read looks as if it did not exist (XEP-0030 8).
      case .missing(true), .denied(_, true): throw .noNode
      case .absent, .missing, .denied: throw StanzaError(.serviceUnavailable)
      }
      let capabilities = Capabilities(
        identities: [.init(category: "pubsub", type: "leaf", name: node.configuration.title)],
        features: ["\(NS.pubsub)", "\(NS.discoInfo)"],
        forms: [NodeForm.metadata(of: node, at: address, people)])
      turn.reply { Disco.write(capabilities, node: name, into: &$0) }
    }
  }

  /// Returns the nodes of an account that the viewer may read (6.2).
  static func nodes(
    of address: BareJID, for viewer: Party, at jid: FullJID, _ reader: any StoreReader, _ services: PubsubServices
  ) throws -> [Node] {
    guard let sight = try NodeAccess(of: address, for: viewer, at: jid, reader, services) else { return [] }
    return try reader.nodes(of: sight.owner).filter { sight.denial(of: $0) == nil }
  }

  /// Returns the items of a node by their ids (XEP-0060 5.5).
  static func itemNames(_ turn: Turn, _ name: String) {
    let address = turn.host
    let (viewer, jid, services) = (turn.party, turn.jid, turn.parley.pubsub)
    turn.fetch { reader -> [String]? in
      guard case .node(let node) = try FoundNode(name, of: address, for: viewer, at: jid, reader, services) else {
        return nil
      }
      return try ItemsPage.ids(of: node, reader)
    } reply: { (ids) throws(StanzaError) in
      guard let ids else { throw .noNode }
      turn.reply { writer in
        writer.element(.discoItems) { writer in
          writer.attribute("node", name)
          for id in ids {
            writer.element(.discoItem) { writer in
              writer.attribute("jid", address.description)
              writer.attribute("name", id)
            }
          }
        }
      }
    }
  }

  // MARK: The last items

  /// Whether the client has become available and not yet been sent the last items: they are sent once, not with each
  /// presence (4.3.3).
  private static let waits = Slot(false)

  /// Handles a client that becomes available or unavailable.
  static func became(isAvailable: Bool, _ session: XMPPSession) {
    session[waits] = isAvailable
    if isAvailable { tellPending(session) }
  }

  /// Sends the last items, when the client has sent a presence or stated its interests. The user is charged for the contacts, all of whom
  /// are looked at.
  static func announced(by session: XMPPSession) {
    guard session[waits], let interests = session.onlineSession?.interests, !interests.isEmpty else { return }
    session[waits] = false
    let (viewer, jid, services) = (session.party, session.jid, session.parley.pubsub)
    session.fetch { reader -> [NodeEvent] in
      var events = try lastItems(
        of: viewer, for: viewer, at: jid, interests, on: [.onPresence], within: DoorLimits.itemsBytesMax, reader,
        services)
      if interests.contains(Bookmark.listNode), let list = try Bookmark.list(of: viewer.id, reader) {
        events.append(
          NodeEvent(
            owner: viewer, node: Bookmark.listNode, kind: .published(list), configuration: Bookmark.listConfiguration,
            isLast: true))
      }
      return events
    } then: { result in
      // If this fails, the client can still request them.
      guard case .success(let events) = result, session.isAvailable, let contactSnapshot = session.contactSnapshot
      else { return }
      session.charge(items: contactSnapshot.contactCountMax)
      session.answering {
        for event in events { NodeWriter.send(event, .direct, to: session) }
      }
      let contacts = contactSnapshot.contacts.compactMap { publisher($0, contactSnapshot, session) }
      tellLast(of: contacts.sorted { $0.id < $1.id }[...], interests, on: [.onPresence], session)
    }
  }

  /// Sends the last items of contacts to whose presence the user has just been subscribed.
  static func subscribed(to contacts: [Contact], _ session: XMPPSession) {
    guard session.isAvailable, let interests = session.onlineSession?.interests, !interests.isEmpty,
      let contactSnapshot = session.contactSnapshot
    else { return }
    let publishers = contacts.compactMap { publisher($0, contactSnapshot, session) }
    tellLast(of: publishers[...], interests, on: [.onSubscription, .onPresence], session)
  }

  /// Returns the contact as a publisher; `nil` if the user gets no items of theirs.
  private static func publisher(
    _ contact: Contact, _ contactSnapshot: ContactSnapshot, _ session: XMPPSession
  ) -> Party? {
    guard contact.subscription.to, let peer = contact.peer, !contactSnapshot.blocks(JID(contact.address)) else {
      return nil
    }
    return Party(id: peer, realm: session.party.realm, address: contact.address)
  }

  /// Sends the last items of contacts, online or not: a few contacts at a time, as the client takes them. A user with
  /// many contacts neither occupies the store nor is sent more than stream management holds.
  private static func tellLast(
    of contacts: ArraySlice<Party>, _ interests: Set<String>, on occasions: Set<NodeConfiguration.SendLast>,
    _ session: XMPPSession
  ) {
    if contacts.isEmpty { return }
    let (viewer, jid, services) = (session.party, session.jid, session.parley.pubsub)
    // A session that comes reads as much of a user's contacts as these have published.
    session.fetch(for: .followed) { reader -> (events: [NodeEvent], looked: Int) in
      var events: [NodeEvent] = []
      var bytes = 0
      var looked = 0
      for contact in contacts.prefix(DoorLimits.lastItemsContacts) {
        let found = try lastItems(
          of: contact, for: viewer, at: jid, interests, on: occasions, within: DoorLimits.contactItemsBytesMax, reader,
          services)
        events += found
        looked += 1
        bytes += found.reduce(0) { $0 + $1.byteCount }
        if bytes >= DoorLimits.lastItemsBytesMax { break }
      }
      return (events, looked)
    } then: { result in
      guard case .success(let page) = result, session.isAvailable else { return }
      session.answering {
        for event in page.events { NodeWriter.send(event, .direct, to: session) }
      }
      let rest = contacts.dropFirst(page.looked)
      if !rest.isEmpty { session.whenTaken { tellLast(of: rest, interests, on: occasions, session) } }
    }
  }

  /// Sends the last items of an account to the client of a contact elsewhere.
  static func tellLast(of owner: BareJID, to address: FullJID, _ interests: Set<String>, by link: any RemoteLink) {
    let viewer = Party(remote: address.bare, realm: link.realm)
    let services = link.parley.pubsub
    let back = NIOLoopBound(link, eventLoop: link.loopContext.loop)
    link.parley.fetch(for: .network(address.bare.domain), on: link.loopContext.lane) { reader -> [NodeEvent] in
      guard let user = try reader.user(owner) else { return [] }
      return try lastItems(
        of: user.party, for: viewer, at: address, interests, on: [.onPresence], within: DoorLimits.contactItemsBytesMax,
        reader, services)
    } then: { (result: Result<[NodeEvent], Problem>) in
      guard case .success(let events) = result, !events.isEmpty else { return }
      let link = back.value
      for event in events { link.write { NodeWriter.write(event, to: address.jid, into: &$0) } }
      link.flush()
    }
  }

  /// Returns the last item of each node of an account that the viewer may read (4.3.4).
  ///
  /// - Parameter bound: the most bytes; the client can request the rest.
  private static func lastItems(
    of owner: Party, for viewer: Party, at jid: FullJID, _ interests: Set<String>,
    on occasions: Set<NodeConfiguration.SendLast>, within bound: Int, _ reader: any StoreReader,
    _ services: PubsubServices
  ) throws -> [NodeEvent] {
    let nodes = try reader.nodes(of: owner.id).filter {
      interests.contains($0.name) && occasions.contains($0.configuration.sendLast) && $0.configuration.notifies
    }
    guard !nodes.isEmpty, let sight = try NodeAccess(of: owner.address, for: viewer, at: jid, reader, services) else {
      return []
    }
    var events: [NodeEvent] = []
    var bytes = 0
    for node in nodes where sight.denial(of: node) == nil {
      guard let item = try reader.items(in: node.name, of: owner.id, newest: true, limit: 1).last else { continue }
      let event = NodeEvent(
        owner: owner, node: node.name, kind: .published(item), configuration: node.configuration, isLast: true)
      bytes += event.byteCount
      if bytes > bound { break }
      // It is encoded here, on a reader's thread: a vCard or a picture takes an event loop milliseconds.
      _ = NodeWriter.tail(of: event)
      events.append(event)
    }
    return events
  }
}

extension NodeEvent {
  /// The estimated size as a stanza.
  fileprivate var byteCount: Int {
    guard case .published(let item?) = kind else { return DoorLimits.itemOverheadBytes }
    return item.byteCount
  }
}

extension Turn {
  /// The account or the service whose nodes a request is about.
  var host: BareJID { to?.bare ?? party.address }
  var isAtService: Bool { parley.pubsub.service(at: host, for: party) != nil }

  /// Posts a change of a node of the user's account, or of the addressed service; success is answered with `content`, a
  /// refusal as XEP-0060 defines it.
  func postToNode(_ intent: NodeIntent, _ content: @escaping (inout ElementWriter) -> Void = { _ in }) {
    post(.node(intent, at: host)) { [self] result in
      switch result {
      case .success: reply(content)
      case .failure(let problem): fail(StanzaError(publishing: problem))
      }
    }
  }
}
