import Addresses

/// The amount of what is published in the nodes that count together. The judge keeps it, so that a publication reads none of the
/// other nodes.
struct PublishedSize: Hashable, Sendable {
  var nodes: Int
  /// The bytes of all items of these nodes.
  var bytes: Int

  /// The nodes that count together: those of an account, or those that a user has created at a service.
  struct Key: Hashable, Sendable {
    let owner: UserID
    /// The creator of nodes of a service; `nil` for those of an account.
    let creator: BareJID?
  }
}

extension Judge {
  /// Returns the size of all nodes of an owner that have this creator, which is read once and then kept.
  mutating func published(by owner: UserID, creator: BareJID?) throws -> PublishedSize {
    let key = PublishedSize.Key(owner: owner, creator: creator)
    if let known = publishedSizes[key] { return known }
    let found = try writer.published(by: owner, creator: creator)
    charge(rows: found.nodes)
    let size = PublishedSize(nodes: found.nodes, bytes: found.bytes)
    publishedSizes[key] = size
    return size
  }

  /// Inserts a node, or replaces its configuration and counts.
  mutating func store(_ node: Node) throws {
    try resize(node, nodes: 1, bytes: node.byteCount)
    try writer.put(node)
  }

  /// Removes a node with its items, affiliations and subscriptions.
  mutating func removeNode(_ node: Node) throws {
    try resize(node, nodes: 0, bytes: 0)
    try writer.removeNode(node.name, of: node.owner)
    nodePeople.forget(node.name, of: node.owner)
  }

  /// Changes the kept size, if there is one, by what a node is about to count beside what it counts as stored.
  private mutating func resize(_ node: Node, nodes: Int, bytes: Int) throws {
    let key = PublishedSize.Key(owner: node.owner, creator: node.creator)
    guard let known = publishedSizes[key] else { return }
    let stored = try writer.node(node.name, of: node.owner)
    publishedSizes[key] = PublishedSize(
      nodes: known.nodes + nodes - (stored == nil ? 0 : 1), bytes: known.bytes + bytes - (stored?.byteCount ?? 0))
  }
}
