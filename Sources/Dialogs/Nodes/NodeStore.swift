public import Addresses

/// Reads nodes (XEP-0060).
public protocol NodeReader {
  func node(_ name: String, of owner: UserID) throws -> Node?
  /// Returns the owner's nodes by name; a page of them begins behind the name `after`.
  func nodes(of owner: UserID, after: String?, limit: Int) throws -> [Node]
  /// Returns the number of the owner's nodes that this user has created, or that have no creator, and the bytes of all
  /// their items.
  func published(by owner: UserID, creator: BareJID?) throws -> (nodes: Int, bytes: Int)
  func item(_ id: String, in node: String, of owner: UserID) throws -> NodeItem?
  /// Returns the ids of all items of a node, in their order: it reads an index alone, and no item.
  func itemIDs(in node: String, of owner: UserID) throws -> [String]
  /// Returns the ids of the newest items of a node, the newest first, without reading what the items contain.
  func itemIDs(newestIn node: String, of owner: UserID, limit: Int) throws -> [String]
  /// Returns the newest or oldest items published between two positions, both exclusive; either way in the order of
  /// publication.
  func items(
    in node: String, of owner: UserID, after: Position, before: Position, newest: Bool, limit: Int
  ) throws -> [NodeItem]
  func people(of node: String, of owner: UserID) throws -> NodePeople
  /// Returns a user's affiliations with the nodes of another, by node.
  func affiliations(of address: BareJID, with owner: UserID) throws -> [String: NodeAffiliation]
  /// Returns a user's subscriptions to the nodes of another, by node and address.
  func subscriptions(of address: BareJID, with owner: UserID) throws -> [(node: String, NodeSubscription)]
  /// Returns the number of a user's subscriptions to any node.
  func subscriptionCount(of address: BareJID) throws -> Int
  /// Returns the subscribers who wait for an answer, by node and address: at all nodes of the owner, or at those of a
  /// service whose affiliation `owner` this user has.
  func pendingSubscriptions(of owner: UserID, ownedBy user: BareJID?, limit: Int) throws -> [(node: String, JID)]
}

extension NodeReader {
  /// Returns the nodes of an account, at most `Limits.nodesPerUserMax` beside those of its profile.
  public func nodes(of owner: UserID) throws -> [Node] { try nodes(of: owner, after: nil, limit: .max) }
}

/// Changes nodes (XEP-0060).
public protocol NodeWriter {
  /// Inserts a node, or replaces its configuration and counts.
  func put(_ node: Node) throws
  /// Inserts or replaces an item.
  func put(_ item: NodeItem, in node: String, of owner: UserID) throws
  func removeItem(_ id: String, in node: String, of owner: UserID) throws
  /// Removes the oldest items of a node. Returns the positions at which they were published, in any order.
  func removeItems(in node: String, of owner: UserID, oldest count: Int) throws -> [Position]
  /// Removes a node with its items, affiliations and subscriptions.
  func removeNode(_ name: String, of owner: UserID) throws
  /// Sets an affiliation; `nil` removes it.
  func setAffiliation(_ affiliation: NodeAffiliation?, of address: BareJID, in node: String, of owner: UserID) throws
  /// Inserts or replaces a subscription.
  func put(_ subscription: NodeSubscription, in node: String, of owner: UserID) throws
  func removeSubscription(of address: JID, in node: String, of owner: UserID) throws
}
