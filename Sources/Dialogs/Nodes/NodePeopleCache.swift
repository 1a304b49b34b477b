import Addresses

/// The affiliations and subscriptions of nodes that the committer has read: thousands of rows are not read for each publication.
///
/// The judge makes all changes of them, and changes them here too. A batch that fails drops what it has read or changed.
struct NodePeopleCache {
  private struct Key: Hashable {
    let owner: UserID
    let node: String
  }

  private var known = ByteCache<Key, NodePeople> { key, people in
    people.addressBytes + people.count * Limits.nodePersonBytes + key.node.heldBytes
  }
  /// The nodes whose people the batch has read or changed.
  private var touched: Set<Key> = []

  /// Returns the people of a node; `nil` if they have not been read.
  func people(of node: String, of owner: UserID) -> NodePeople? { known[Key(owner: owner, node: node)] }

  /// The bytes of all that is remembered, about.
  var bytes: Int { known.bytes }

  mutating func remember(_ people: NodePeople, of node: String, of owner: UserID) {
    set(people, Key(owner: owner, node: node))
  }

  /// Changes the people of a node, if they have been read.
  mutating func change(_ node: String, of owner: UserID, _ body: (inout NodePeople) -> Void) {
    let key = Key(owner: owner, node: node)
    // Removed, so that the change is made in place.
    guard var people = known.removeValue(forKey: key) else { return }
    body(&people)
    set(people, key)
  }

  /// Drops the people of a node that was deleted.
  mutating func forget(_ node: String, of owner: UserID) { known[Key(owner: owner, node: node)] = nil }

  /// Drops everything, as something else has changed the rows, or there are too many bytes.
  mutating func forget() { known.removeAll() }

  /// Keeps what the batch has read and changed, as it is durable.
  mutating func settled() { touched.removeAll(keepingCapacity: true) }

  mutating func rollBack() {
    for key in touched { known[key] = nil }
    touched = []
  }

  private mutating func set(_ people: NodePeople, _ key: Key) {
    known[key] = people
    touched.insert(key)
  }
}

extension Judge {
  /// Returns the affiliations and subscriptions of a node.
  mutating func people(of node: String, of owner: UserID) throws -> NodePeople {
    if let known = nodePeople.people(of: node, of: owner) { return known }
    let found = try writer.people(of: node, of: owner)
    charge(rows: found.count)
    nodePeople.remember(found, of: node, of: owner)
    return found
  }

  /// Sets an affiliation; `nil` removes it.
  mutating func setAffiliation(
    _ affiliation: NodeAffiliation?, of address: BareJID, in node: String, of owner: UserID
  ) throws {
    try writer.setAffiliation(affiliation, of: address, in: node, of: owner)
    nodePeople.change(node, of: owner) { $0.set(affiliation, of: address) }
  }

  mutating func setSubscription(_ subscription: NodeSubscription, in node: String, of owner: UserID) throws {
    try writer.put(subscription, in: node, of: owner)
    nodePeople.change(node, of: owner) { $0.set(subscription) }
  }

  mutating func removeSubscription(of address: JID, in node: String, of owner: UserID) throws {
    try writer.removeSubscription(of: address, in: node, of: owner)
    nodePeople.change(node, of: owner) { $0.removeSubscription(of: address) }
  }
}
