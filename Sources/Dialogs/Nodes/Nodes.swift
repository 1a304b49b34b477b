import Addresses

/// Publish-subscribe nodes (XEP-0163, XEP-0060 6 to 8). Theory:
///
/// A node belongs to an account or to a service (`PubsubServices`). An intent concerns the author's own account unless it
/// names a service, so that no one can write to another user's node; at a service `owned` checks the author's
/// affiliation. The actions of others at accounts are visits (`NodeVisits.swift`). The node's configuration decides who
/// may read; the doors check it (`NodeConfiguration.denial`) for readers, the hub for recipients.
///
/// An item is a row that is overwritten, and an entry in the self dialog that tells when. The entry of an overwritten
/// or removed item is erased, like that of a superseded mark: the log contains one entry per item, and one for each
/// removal. A node that keeps no items leaves nothing: its publications are signals.
extension Judge {
  mutating func node(_ post: Post, _ intent: NodeIntent, at address: BareJID?) throws {
    let owner = try owner(at: address, for: post.author)
    let isOwn = owner.id == post.author.id
    switch intent {
    case .publish(let draft) where isOwn: try publish(post, draft)
    case .publish(let draft): try publish(post, draft, to: draft.node, of: owner)
    case .retract(let node, let item, let notifies) where isOwn:
      try retract(post, item, from: node, notifies: notifies)
    case .retract(let node, let item, let notifies): try retract(post, item, from: node, of: owner, notifies)
    case .purge(let node): try purge(post, node, of: owner)
    case .delete(let node): try delete(post, node, of: owner)
    case .create(let node, let options): try create(post, node, of: owner, options)
    case .configure(let node, let options): try configure(post, node, of: owner, options)
    case .affiliate(let node, let changes): try affiliate(post, node, of: owner, changes)
    case .subscribers(let node, let changes): try setSubscribers(post, node, of: owner, changes)
    case .bookmarks(let draft):
      guard isOwn else { throw Problem.nodePersonal }
      try setBookmarks(post, draft)
    case .bookmarkChanges(let changes):
      guard isOwn else { throw Problem.nodePersonal }
      try changeBookmarks(post, changes)
    case .eraseEntries(let positions, let dialog):
      try eraseEntries(positions, in: dialog)
      settle(post)
    case .tellBookmarks:
      guard isOwn else { throw Problem.nodePersonal }
      try tellBookmarks(post)
    }
  }

  private func owner(at address: BareJID?, for author: Party) throws -> Party {
    guard let address, address != author.address else { return author }
    guard let service = pubsub.service(at: address, for: author) else { throw Problem.notYours }
    return service
  }

  // MARK: Items

  private mutating func publish(_ post: Post, _ draft: NodePublication) throws {
    if draft.node == Displayed.node, let item = draft.item {
      return try publishDisplayed(post, draft, item)
    }
    let owner = post.author
    var node: Node
    if let known = try writer.node(try Self.name(draft.node), of: owner.id) {
      guard draft.conditions.allSatisfy({ $0.isMet(by: known.configuration) }) else {
        throw Problem.preconditionNotMet
      }
      node = known
    } else {
      node = try newNode(draft.node, of: owner, draft.conditions)
    }
    if case .avatar(let avatar)? = draft.item?.content, avatar.bytes.isEmpty {
      // A picture without bytes removes those before it, and is not kept itself.
      if node.itemCount > 0 { return try purge(post, node.name, of: owner) }
    } else if let item = draft.item {
      // The complete item is checked: its profile fields must be valid before anything is written.
      try Self.check(item, in: node.name)
      try check(item, of: owner)
      try put(item.stored, in: &node, of: owner)
      try follow(node.name, item.content, by: post)
    } else if node.configuration.persistsItems {
      throw Problem.itemRequired
    } else {
      try store(node)
      try tell(.published(nil), of: node, by: owner)
    }
    settle(post)
  }

  /// Writes an item, and notifies interested clients. Refuses before it writes.
  ///
  /// - Parameters:
  ///   - publisher: the publisher; `nil` for the owner.
  ///   - isMirror: whether the server writes what the user has set elsewhere, where its bounds were checked: it is not
  ///     refused.
  ///   - people: the node's affiliations and subscriptions; `nil` to read them.
  mutating func put(
    _ item: NodePublication.Item, in node: inout Node, of owner: Party, publisher: BareJID? = nil,
    isMirror: Bool = false, people: NodePeople? = nil
  ) throws {
    var item = item
    let old = try writer.item(item.id, in: node.name, of: owner.id)
    if case .bookmark(let bookmark) = item.content, old == nil {
      item.content = .bookmark(try adopting(bookmark, of: owner))
    }
    if !isMirror { try Self.check(stored: item, in: node.name) }
    let configuration = node.configuration
    guard configuration.persistsItems else {
      try store(node)
      let event = NodeItem(id: item.id, content: item.content, position: head, time: time, publisher: publisher)
      return try tell(.published(event), of: node, by: owner, people: people)
    }
    let surplus = old == nil ? max(0, node.itemCount + 1 - node.capacity) : 0
    if surplus > 0, configuration.whenFull == .reject, !isMirror { throw Problem.nodeFull }
    let oldest =
      surplus > 0 ? try writer.items(in: node.name, of: owner.id, newest: false, limit: surplus) : []
    let freed = (old?.content.byteCount ?? 0) + oldest.reduce(0) { $0 + $1.content.byteCount }
    let growth = item.content.byteCount - freed
    let isOthers = publisher != node.creator
    let most = isOthers ? Limits.publishedWithOthersBytesMax : Limits.publishedBytesMax
    if growth > 0, !isMirror, try published(by: owner.id, creator: node.creator).bytes + growth > most {
      throw Problem.publishedTooMuch
    }

    if let old { try erase(old, of: owner) }
    for item in oldest {
      try writer.removeItem(item.id, in: node.name, of: owner.id)
      try erase(item, of: owner)
    }
    let position = try record(NodeChange(node: node.name, item: item.id, act: .published), of: owner)
    let stored = NodeItem(id: item.id, content: item.content, position: position, time: time, publisher: publisher)
    try writer.put(stored, in: node.name, of: owner.id)
    node.itemCount += (old == nil ? 1 : 0) - oldest.count
    node.byteCount += growth
    try store(node)
    try tell(.published(stored), of: node, by: owner, people: people)
    if configuration.whenFull == .retractOldest, configuration.notifiesRetract {
      for item in oldest { try tell(.retracted(item.id), of: node, by: owner, people: people) }
    }
    if case .bookmark(let bookmark) = item.content { try follow(bookmark, of: owner) }
  }

  /// Checks an item as it is stored.
  static func check(stored item: NodePublication.Item, in name: String) throws(Problem) {
    guard !item.id.isEmpty, item.id.utf8.count <= Limits.itemIDBytesMax else {
      throw Problem(.malformed, "item-id-invalid", "An item's id has 1 to \(Limits.itemIDBytesMax) bytes.")
    }
    guard item.content.byteCount <= Limits.itemBytesMax else { throw Problem.payloadTooBig }
    switch item.content {
    case .opaque: if name == Bookmark.node { throw Problem.payloadInvalid }
    case .bookmark(let bookmark):
      guard name == Bookmark.node, bookmark.address.description == item.id else { throw Problem.payloadInvalid }
    case .displayed: guard name == Displayed.node else { throw Problem.payloadInvalid }
    case .bookmarks: throw Problem.payloadInvalid
    case .nickname, .avatar, .avatarMetadata, .card: break
    }
    try check(item, in: name)
  }

  private mutating func retract(
    _ post: Post, _ id: String, from name: String, notifies: Bool
  ) throws {
    var node = try find(name, of: post.author)
    guard node.configuration.persistsItems else { throw Problem.nodeTransient }
    guard let item = try writer.item(id, in: name, of: post.author.id) else { throw Problem.itemUnknown }
    try remove(item, from: &node, of: post.author, notifies: notifies)
    if name == Bookmark.node { try unbookmarked(id, by: post) }
    try follow(name, nil, by: post)
    settle(post)
  }

  mutating func remove(
    _ item: NodeItem, from node: inout Node, of owner: Party, notifies: Bool
  ) throws {
    try writer.removeItem(item.id, in: node.name, of: owner.id)
    try erase(item, of: owner)
    node.itemCount -= 1
    node.byteCount -= item.content.byteCount
    try store(node)
    try record(NodeChange(node: node.name, item: item.id, act: .retracted), of: owner)
    // XEP-0060 7.2.2.1; 16.4.4 `notify_retract`.
    if notifies || node.configuration.notifiesRetract {
      try tell(.retracted(item.id), of: node, by: owner)
    } else {
      try tellList(of: node, by: owner)
    }
  }

  /// Erases the entry that published an item.
  mutating func erase(_ item: NodeItem, of owner: Party) throws {
    if owner.id.isService { return }
    try writer.erase(item.position, in: dialog(of: owner, and: owner).state.dialog.id)
  }

  private mutating func purge(_ post: Post, _ name: String, of owner: Party) throws {
    var node = try owned(name, of: owner, by: post.author)
    guard node.configuration.persistsItems else { throw Problem.nodeTransient }
    try purge(&node, of: owner)
    try follow(name, nil, by: post)
    settle(post)
  }

  /// Removes all items of a node at once: there is one event, and the entries that published them are erased in pieces.
  mutating func purge(_ node: inout Node, of owner: Party) throws {
    try clear(&node, of: owner)
    try store(node)
    try record(NodeChange(node: node.name, item: nil, act: .purged), of: owner)
    try tell(.purged, of: node, by: owner)
  }

  private mutating func clear(_ node: inout Node, of owner: Party) throws {
    try removeItems(of: node, of: owner, oldest: .max)
    node.itemCount = 0
    node.byteCount = 0
  }

  /// Removes the items beyond the node's capacity.
  private mutating func removeSurplus(_ count: Int, from node: inout Node, of owner: Party) throws {
    let kept = node.itemCount - count
    // The bytes of the removed or of the kept ones are counted, whichever are fewer.
    let items = try writer.items(in: node.name, of: owner.id, newest: count > kept, limit: min(count, kept))
    charge(rows: items.count)
    let bytes = items.reduce(0) { $0 + $1.content.byteCount }
    node.byteCount = count > kept ? bytes : node.byteCount - bytes
    node.itemCount = kept
    try removeItems(of: node, of: owner, oldest: count)
  }

  /// Removes a node's oldest items at once, without reading what they contain, and erases the entries that published them.
  private mutating func removeItems(of node: Node, of owner: Party, oldest count: Int) throws {
    let positions = try writer.removeItems(in: node.name, of: owner.id, oldest: count)
    charge(rows: positions.count)
    if positions.isEmpty || owner.id.isService { return }
    try eraseEntries(positions[...], in: dialog(of: owner, and: owner).state.dialog.id)
  }

  /// Erases entries of removed items, `Limits.erasedEntriesAtOnce` in this post and the others in later ones. Nobody reads
  /// the items meanwhile. If the process ends before, those entries stay in the log, and say that there were such items.
  private mutating func eraseEntries(_ positions: ArraySlice<Position>, in dialog: DialogID) throws {
    for position in positions.prefix(Limits.erasedEntriesAtOnce) { try writer.erase(position, in: dialog) }
    let rest = positions.dropFirst(Limits.erasedEntriesAtOnce)
    if rest.isEmpty { return }
    tell(.later(Post(author: Parley.nobody, intent: .node(.eraseEntries(rest, in: dialog)), completion: .none)))
  }

  /// Writes the entry of a change in the owner's self dialog, and returns its position. A service has no such dialog: the
  /// change takes a position alone, which orders the node's items.
  @discardableResult
  private mutating func record(_ change: NodeChange, of owner: Party) throws -> Position {
    let position = nextPosition()
    if !owner.id.isService { tell(.entry(try insertOwn(.node(change), of: owner, at: position), author: nil)) }
    return position
  }

  // MARK: Nodes

  private mutating func create(
    _ post: Post, _ name: String, of owner: Party, _ options: [NodeOption]
  ) throws {
    guard owner.id.isService else {
      if try writer.node(try Self.name(name), of: owner.id) != nil { throw Problem.nodeTaken }
      try store(newNode(name, of: owner, options))
      return settle(post)
    }
    let creator = post.author.address
    guard pubsub.mayCreate(post.author) else { throw Problem.nodeCreation }
    if try writer.node(try Self.name(name), of: owner.id) != nil { throw Problem.nodeTaken }
    try store(newNode(name, of: owner, options, creator: creator))
    try setAffiliation(.owner, of: creator, in: name, of: owner.id)
    settle(post)
  }

  private mutating func configure(
    _ post: Post, _ name: String, of owner: Party, _ options: [NodeOption]
  ) throws {
    // A view exists without having been created.
    var node =
      try name == Displayed.node && writer.node(name, of: owner.id) == nil
      ? newNode(name, of: owner, []) : owned(name, of: owner, by: post.author)
    let was = node.configuration
    for option in options { option.apply(to: &node.configuration) }
    try check(node)
    var receipt = Receipt(position: head)
    receipt.isRepeat = node.configuration == was
    if receipt.isRepeat { return settle(post, receipt) }
    let surplus = node.itemCount - node.capacity
    if surplus > 0 { try removeSurplus(surplus, from: &node, of: owner) }
    try store(node)
    if node.configuration.access != was.access || node.configuration.groups != was.groups {
      let people = try people(of: name, of: owner.id)
      try review(node, of: owner, people, people.subscriptions)
    }
    if node.configuration.notifiesConfiguration { try tell(.configured, of: node, by: owner) }
    settle(post, receipt)
  }

  private mutating func delete(_ post: Post, _ name: String, of owner: Party) throws {
    var node = try owned(name, of: owner, by: post.author)
    try clear(&node, of: owner)
    let people = try people(of: name, of: owner.id)
    charge(rows: people.count)
    try removeNode(node)
    try record(NodeChange(node: name, item: nil, act: .deleted), of: owner)
    if node.configuration.notifiesDelete {
      try tell(.deleted, of: node, by: owner, people: people)
    } else {
      try tellList(of: node, by: owner)
    }
    try follow(name, nil, by: post)
    settle(post)
  }

  func find(_ name: String, of owner: Party) throws -> Node {
    guard let node = try writer.node(try Self.name(name), of: owner.id) else { throw Problem.nodeUnknown }
    return node
  }

  /// Returns a node about which the author decides: each node of their account, and those of a service that they own.
  mutating func owned(_ name: String, of owner: Party, by author: Party) throws -> Node {
    let node = try find(name, of: owner)
    if owner.id == author.id || pubsub.isAdmin(author, of: owner.id) { return node }
    // Not those of the author with all nodes of the service, which may be thousands.
    guard try people(of: name, of: owner.id).affiliations[author.address] == .owner else { throw Problem.notYours }
    return node
  }

  /// Returns a new node, without storing it.
  mutating func newNode(
    _ name: String, of owner: Party, _ options: [NodeOption], creator: BareJID? = nil
  ) throws -> Node {
    if owner.id.isService, Node.isView(name) { throw Problem.nodePersonal }
    var configuration = NodeConfiguration.standard(for: name, of: owner.id)
    for option in options { option.apply(to: &configuration) }
    let node = Node(owner: owner.id, name: name, configuration: configuration, createdAt: time, creator: creator)
    try check(node)
    if try published(by: owner.id, creator: creator).nodes >= Limits.nodesPerUserMax {
      throw Problem(.tooLarge, "too-many-nodes", "One user has at most \(Limits.nodesPerUserMax) nodes.")
    }
    return node
  }

  /// Returns the name of a node that can be written to.
  static func name(_ name: String) throws(Problem) -> String {
    guard !name.isEmpty, name.utf8.count <= Limits.nodeNameBytesMax else {
      throw Problem(.malformed, "node-name-invalid", "A node's name has 1 to \(Limits.nodeNameBytesMax) bytes.")
    }
    if name == Bookmark.listNode {
      throw Problem(.forbidden, "node-is-view", "This node only shows what stands in \(Bookmark.node).")
    }
    return name
  }

  private func check(_ node: Node) throws(Problem) {
    let configuration = node.configuration
    // A user's rooms, and what they have read, are private.
    let isOwners = node.name == Bookmark.node || node.name == Displayed.node
    if isOwners,
      configuration.access != .whitelist || !configuration.persistsItems || configuration.publishers != .publishers
    {
      throw Problem(.malformed, "option-invalid", "This node is kept, and its owner's alone.")
    }
    if node.owner.isService {
      // There is no presence that they could refer to.
      if configuration.access == .presence || configuration.access == .roster { throw Problem.accessModelUnsupported }
      if configuration.sendLast == .onPresence {
        throw Problem(.malformed, "option-invalid", "A service sends the last item on subscription, or never.")
      }
    }
    // The profile that others see is stored.
    if ProfileNode(rawValue: node.name) != nil, !configuration.persistsItems {
      throw Problem(.malformed, "option-invalid", "The items of this node are kept.")
    }
    if let max = configuration.itemsMax, max < 1 {
      throw Problem(.malformed, "option-invalid", "A node has at least one item, or keeps none.")
    }
    guard configuration.groups.count <= Limits.groupsPerContactMax,
      configuration.groups.allSatisfy({ $0.utf8.count <= Limits.groupBytesMax })
    else { throw Problem(.malformed, "option-invalid", "These are too many or too long groups.") }
    for text in [configuration.title, configuration.about, configuration.type] {
      if let text, text.utf8.count > Limits.statusBytesMax {
        throw Problem(.malformed, "option-invalid", "A text has at most \(Limits.statusBytesMax) bytes.")
      }
    }
  }

  // MARK: Notifications

  /// Notifies the clients that follow a node.
  ///
  /// - Parameter people: the node's affiliations and subscriptions; `nil` to read them.
  mutating func tell(
    _ kind: NodeEvent.Kind, of node: Node, by owner: Party, people: NodePeople? = nil
  ) throws {
    if node.configuration.notifies {
      let people = if let people { people } else { try self.people(of: node.name, of: owner.id) }
      let event = NodeEvent(
        owner: owner, node: node.name, kind: kind, configuration: node.configuration, people: people)
      // Only the owner reads a whitelisted node without affiliations.
      let isAlone = node.configuration.access == .whitelist && people.isEmpty
      tell(.node(event, isAlone ? nil : try contactSnapshot(of: owner)))
    }
    try tellList(of: node, by: owner)
  }

  /// Returns the contacts and blocks of an owner who is not online; `nil` if they are, as the hub has them, and for a
  /// service.
  mutating func contactSnapshot(of owner: Party) throws -> ContactSnapshot? {
    if owner.id.isService || hub.contactSnapshot(of: owner.id) != nil { return nil }
    if let known = keptContacts[owner.id] { return known }
    guard let user = try writer.user(owner.id) else { return nil }
    let found = try ContactSnapshot(of: user, in: hub.contactGroups, writer)
    charge(rows: found.own.reduce(0) { count, _ in count + 1 })
    keptContacts.keep(found)
    return found
  }

  /// Announces the whole list of bookmarks (XEP-0048 3.2), to clients that know only the list.
  private mutating func tellList(of node: Node, by owner: Party) throws {
    guard node.name == Bookmark.node else { return }
    try tellBookmarks(of: owner)
  }

  // MARK: Private XML

  mutating func setPrivateXML(_ post: Post, _ drafts: [PrivateXMLDraft]) throws {
    let owner = post.author.id
    var count = try writer.valueCount(of: owner, node: ValueKey.privateXML)
    var named: Set<String> = []
    for draft in drafts where named.insert(draft.name).inserted {
      try Self.check(draft)
      let isThere = try writer.value(of: owner, node: ValueKey.privateXML, item: draft.name) != nil
      if draft.bytes != nil, !isThere { count += 1 }
      if draft.bytes == nil, isThere { count -= 1 }
    }
    guard count <= Limits.privateXMLMax else {
      throw Problem(.tooLarge, "too-much-private-data", "At most \(Limits.privateXMLMax) elements are kept.")
    }
    for draft in drafts { try writer.setValue(of: owner, node: ValueKey.privateXML, item: draft.name, draft.bytes) }
    settle(post)
  }

  static func check(_ draft: PrivateXMLDraft) throws(Problem) {
    guard draft.name.utf8.count <= Limits.nodeNameBytesMax else {
      throw Problem(.malformed, "name-too-long", "A name has at most \(Limits.nodeNameBytesMax) bytes.")
    }
    guard draft.bytes?.count ?? 0 <= Limits.privateXMLBytesMax else {
      throw Problem(.tooLarge, "private-data-too-large", "This has at most \(Limits.privateXMLBytesMax) bytes.")
    }
  }
}

/// The refusals of nodes. The door maps their codes to the errors of XEP-0060.
extension Problem {
  public static let nodeUnknown = Problem(.missing, "node-unknown", "There is no such node.")
  public static let itemUnknown = Problem(.missing, "item-unknown", "There is no such item.")
  public static let nodeTaken = Problem(.conflict, "node-taken", "There is such a node already.")
  public static let preconditionNotMet = Problem(
    .conflict, "precondition-not-met", "The node is configured otherwise.")
  public static let nodeFull = Problem(.conflict, "node-full", "The node has as many items as it takes.")
  public static let nodeTransient = Problem(.unsupported, "node-transient", "The node keeps no items.")
  public static let itemRequired = Problem(.malformed, "item-required", "The node keeps items: publish one.")
  public static let nodePersonal = Problem(
    .forbidden, "node-personal", "Nodes of this name belong to accounts, not to a service.")
  public static let nodeCreation = Problem(.forbidden, "node-creation", "You may not create nodes at this service.")
  public static let accessModelUnsupported = Problem(
    .malformed, "access-model-unsupported", "A service has no presence and no contacts that could give access.")
  public static let payloadInvalid = Problem(
    .malformed, "payload-invalid", "This is not what the items of this node look like.")
  public static let publishedTooMuch = Problem(
    .tooLarge, "published-too-much", "One user publishes at most \(Limits.publishedBytesMax) bytes altogether.")
  public static let payloadTooBig = Problem(
    .tooLarge, "payload-too-big", "An item has at most \(Limits.itemBytesMax) bytes.")
}
