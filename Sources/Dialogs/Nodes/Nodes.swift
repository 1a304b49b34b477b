import Addresses

/// Personal publish-subscribe nodes (XEP-0163, XEP-0060 6 to 8). Theory:
///
/// A node belongs to its author: intents name no owner, so that no one can write to another user's node. The actions of
/// others are visits (`NodeVisits.swift`). The node's configuration decides who may read; the doors check it
/// (`NodeConfiguration.denial`) for readers, the hub for recipients.
///
/// An item is a row that is overwritten, and an entry in the self dialog that tells when. The entry of an overwritten
/// or removed item is erased, like that of a superseded mark: the log contains one entry per item, and one for each
/// removal. A node that keeps no items leaves nothing: its publications are signals.
extension Judge {
  mutating func node(_ post: Post, _ intent: NodeIntent) throws {
    switch intent {
    case .publish(let draft): try publish(post, draft)
    case .retract(let node, let item, let notifies):
      try retract(post, item, from: node, notifies: notifies)
    case .purge(let node): try purge(post, node)
    case .delete(let node): try delete(post, node)
    case .create(let node, let options): try create(post, node, options)
    case .configure(let node, let options): try configure(post, node, options)
    case .affiliate(let node, let changes): try affiliate(post, node, changes)
    case .subscribers(let node, let changes): try setSubscribers(post, node, changes)
    case .bookmarks(let draft): try setBookmarks(post, draft)
    }
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
    if let item = draft.item {
      // The complete item is checked: its profile fields must be valid before anything is written.
      try Self.check(item, in: node.name)
      try check(item, of: owner)
      try put(item.stored, in: &node, of: owner)
      try follow(node.name, item.content, by: post)
    } else if node.configuration.persistsItems {
      throw Problem.itemRequired
    } else {
      try writer.put(node)
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
  mutating func put(
    _ item: NodePublication.Item, in node: inout Node, of owner: Party, publisher: BareJID? = nil,
    isMirror: Bool = false
  ) throws {
    var item = item
    let old = try writer.item(item.id, in: node.name, of: owner.id)
    if case .bookmark(let bookmark) = item.content, old == nil {
      item.content = .bookmark(try adopting(bookmark, of: owner))
    }
    if !isMirror { try check(item, in: node) }
    let configuration = node.configuration
    guard configuration.persistsItems else {
      try writer.put(node)
      let event = NodeItem(id: item.id, content: item.content, position: head, time: time, publisher: publisher)
      return try tell(.published(event), of: node, by: owner)
    }
    let surplus = old == nil ? max(0, node.itemCount + 1 - configuration.capacity) : 0
    if surplus > 0, configuration.whenFull == .reject, !isMirror { throw Problem.nodeFull }
    let oldest =
      surplus > 0 ? try writer.items(in: node.name, of: owner.id, newest: false, limit: surplus) : []
    let freed = (old?.content.byteCount ?? 0) + oldest.reduce(0) { $0 + $1.content.byteCount }
    let growth = item.content.byteCount - freed
    let most = publisher == nil ? Limits.publishedBytesMax : Limits.publishedWithOthersBytesMax
    if growth > 0, !isMirror, try writer.published(by: owner.id).bytes + growth > most {
      throw Problem.publishedTooMuch
    }

    if let old { try erase(old, of: owner) }
    for item in oldest {
      try writer.removeItem(item.id, in: node.name, of: owner.id)
      try erase(item, of: owner)
    }
    let entry = try insertOwn(
      .node(NodeChange(node: node.name, item: item.id, act: .published)), of: owner, at: nextPosition())
    let stored = NodeItem(
      id: item.id, content: item.content, position: entry.position, time: entry.time, publisher: publisher)
    try writer.put(stored, in: node.name, of: owner.id)
    node.itemCount += (old == nil ? 1 : 0) - oldest.count
    node.byteCount += growth
    try writer.put(node)
    tell(.entry(entry, author: nil))
    try tell(.published(stored), of: node, by: owner)
    if configuration.whenFull == .retractOldest, configuration.notifiesRetract {
      for item in oldest { try tell(.retracted(item.id), of: node, by: owner) }
    }
    if case .bookmark(let bookmark) = item.content { try follow(bookmark, of: owner) }
  }

  private func check(_ item: NodePublication.Item, in node: Node) throws(Problem) {
    guard !item.id.isEmpty, item.id.utf8.count <= Limits.itemIDBytesMax else {
      throw Problem(.malformed, "item-id-invalid", "An item's id has 1 to \(Limits.itemIDBytesMax) bytes.")
    }
    guard item.content.byteCount <= Limits.itemBytesMax else { throw Problem.payloadTooBig }
    switch item.content {
    case .opaque: if node.name == Bookmark.node { throw Problem.payloadInvalid }
    case .bookmark(let bookmark):
      guard node.name == Bookmark.node, bookmark.address.description == item.id else { throw Problem.payloadInvalid }
    case .displayed: guard node.name == Displayed.node else { throw Problem.payloadInvalid }
    case .bookmarks: throw Problem.payloadInvalid
    case .nickname, .avatar, .avatarMetadata, .card: break
    }
    try Self.check(item, in: node.name)
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
    try writer.put(node)
    let entry = try insertOwn(
      .node(NodeChange(node: node.name, item: item.id, act: .retracted)), of: owner, at: nextPosition())
    tell(.entry(entry, author: nil))
    // XEP-0060 7.2.2.1; 16.4.4 `notify_retract`.
    if notifies || node.configuration.notifiesRetract {
      try tell(.retracted(item.id), of: node, by: owner)
    } else {
      try tellList(of: node, by: owner)
    }
  }

  /// Erases the entry that published an item.
  mutating func erase(_ item: NodeItem, of owner: Party) throws {
    try writer.erase(item.position, in: dialog(of: owner, and: owner).state.dialog.id)
  }

  private mutating func purge(_ post: Post, _ name: String) throws {
    var node = try find(name, of: post.author)
    guard node.configuration.persistsItems else { throw Problem.nodeTransient }
    try clear(&node, of: post.author)
    try writer.put(node)
    try record(NodeChange(node: name, item: nil, act: .purged), of: post.author)
    try tell(.purged, of: node, by: post.author)
    try follow(name, nil, by: post)
    settle(post)
  }

  private mutating func clear(_ node: inout Node, of owner: Party) throws {
    for item in try writer.items(in: node.name, of: owner.id, newest: true, limit: Limits.itemsPerNodeMax) {
      try erase(item, of: owner)
    }
    try writer.removeItems(in: node.name, of: owner.id)
    node.itemCount = 0
    node.byteCount = 0
  }

  private mutating func record(_ change: NodeChange, of owner: Party) throws {
    tell(.entry(try insertOwn(.node(change), of: owner, at: nextPosition()), author: nil))
  }

  // MARK: Nodes

  private mutating func create(
    _ post: Post, _ name: String, _ options: [NodeOption]
  ) throws {
    if try writer.node(try Self.name(name), of: post.author.id) != nil { throw Problem.nodeTaken }
    try writer.put(newNode(name, of: post.author, options))
    settle(post)
  }

  private mutating func configure(
    _ post: Post, _ name: String, _ options: [NodeOption]
  ) throws {
    // A view exists without having been created.
    var node =
      try name == Displayed.node && writer.node(name, of: post.author.id) == nil
      ? newNode(name, of: post.author, []) : find(name, of: post.author)
    let was = node.configuration
    for option in options { option.apply(to: &node.configuration) }
    try check(node)
    var receipt = Receipt(position: head)
    receipt.isRepeat = node.configuration == was
    if receipt.isRepeat { return settle(post, receipt) }
    let surplus = node.itemCount - node.configuration.capacity
    if surplus > 0 {
      for item in try writer.items(in: name, of: post.author.id, newest: false, limit: surplus) {
        try writer.removeItem(item.id, in: name, of: post.author.id)
        try erase(item, of: post.author)
        node.itemCount -= 1
        node.byteCount -= item.content.byteCount
      }
    }
    try writer.put(node)
    if node.configuration.access != was.access || node.configuration.groups != was.groups {
      try review(node, of: post.author, try writer.people(of: name, of: post.author.id))
    }
    if node.configuration.notifiesConfiguration { try tell(.configured, of: node, by: post.author) }
    settle(post, receipt)
  }

  private mutating func delete(_ post: Post, _ name: String) throws {
    var node = try find(name, of: post.author)
    try clear(&node, of: post.author)
    let people = try writer.people(of: name, of: post.author.id)
    try writer.removeNode(name, of: post.author.id)
    try record(NodeChange(node: name, item: nil, act: .deleted), of: post.author)
    if node.configuration.notifiesDelete {
      try tell(.deleted, of: node, by: post.author, people: people)
    } else {
      try tellList(of: node, by: post.author)
    }
    try follow(name, nil, by: post)
    settle(post)
  }

  func find(_ name: String, of owner: Party) throws -> Node {
    guard let node = try writer.node(try Self.name(name), of: owner.id) else { throw Problem.nodeUnknown }
    return node
  }

  /// Returns a new node, without storing it.
  func newNode(
    _ name: String, of owner: Party, _ options: [NodeOption]
  ) throws -> Node {
    var configuration = NodeConfiguration.standard(for: name)
    for option in options { option.apply(to: &configuration) }
    let node = Node(owner: owner.id, name: name, configuration: configuration, createdAt: time)
    try check(node)
    if try writer.published(by: owner.id).nodes >= Limits.nodesPerUserMax {
      throw Problem(.tooLarge, "too-many-nodes", "One user has at most \(Limits.nodesPerUserMax) nodes.")
    }
    return node
  }

  /// Returns the name of a node that can be written to.
  private static func name(_ name: String) throws(Problem) -> String {
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
      let people = try people ?? writer.people(of: node.name, of: owner.id)
      let event = NodeEvent(
        owner: owner, node: node.name, kind: kind, configuration: node.configuration, people: people)
      // Only the owner reads a whitelisted node without affiliations.
      let isAlone = node.configuration.access == .whitelist && people.isEmpty
      tell(.node(event, isAlone ? nil : try contactSnapshot(of: owner)))
    }
    try tellList(of: node, by: owner)
  }

  /// Returns the contacts and blocks of an owner who is not online; `nil` if they are, as the hub has them.
  func contactSnapshot(of owner: Party) throws -> ContactSnapshot? {
    guard hub.contactSnapshot(of: owner.id) == nil, let user = try writer.user(owner.id) else { return nil }
    let contacts = try writer.contacts(of: owner.id).map { ($0.address, $0) }
    return ContactSnapshot(
      user: user, contacts: Dictionary(contacts, uniquingKeysWith: { $1 }), blocks: try writer.blocks(of: owner.id),
      rosterVersion: .zero)
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
      guard draft.name.utf8.count <= Limits.nodeNameBytesMax else {
        throw Problem(.malformed, "name-too-long", "A name has at most \(Limits.nodeNameBytesMax) bytes.")
      }
      guard draft.bytes?.count ?? 0 <= Limits.privateXMLBytesMax else {
        throw Problem(.tooLarge, "private-data-too-large", "This has at most \(Limits.privateXMLBytesMax) bytes.")
      }
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
  public static let payloadInvalid = Problem(
    .malformed, "payload-invalid", "This is not what the items of this node look like.")
  public static let publishedTooMuch = Problem(
    .tooLarge, "published-too-much", "One user publishes at most \(Limits.publishedBytesMax) bytes altogether.")
  public static let payloadTooBig = Problem(
    .tooLarge, "payload-too-big", "An item has at most \(Limits.itemBytesMax) bytes.")
}
