import Addresses

/// The affiliations and subscriptions of nodes that the committer has read: thousands of rows are not read for each publication.
///
/// The judge makes all changes of them, and changes them here too. A batch that fails drops what it has read or changed.
struct NodePeopleCache {
  private struct Key: Hashable {
    let owner: UserID
    let node: String
  }

  private var known: [Key: NodePeople] = [:]
  /// The bytes of `known`, about.
  private var byteCount = 0
  /// The nodes whose people the batch has read or changed.
  private var touched: Set<Key> = []

  /// Returns the people of a node; `nil` if they have not been read.
  func people(of node: String, of owner: UserID) -> NodePeople? { known[Key(owner: owner, node: node)] }

  mutating func remember(_ people: NodePeople, of node: String, of owner: UserID) {
    set(people, Key(owner: owner, node: node))
  }

  /// Changes the people of a node, if they have been read.
  mutating func change(_ node: String, of owner: UserID, _ body: (inout NodePeople) -> Void) {
    let key = Key(owner: owner, node: node)
    // Removed, so that the change is made in place.
    guard var people = known.removeValue(forKey: key) else { return }
    byteCount -= bytes(people, key)
    body(&people)
    set(people, key)
  }

  /// Drops the people of a node that was deleted.
  mutating func forget(_ node: String, of owner: UserID) { drop(Key(owner: owner, node: node)) }

  /// Drops everything, as something else has changed the rows.
  mutating func forget() {
    known = [:]
    byteCount = 0
  }

  /// Keeps what the batch has read and changed, as it is durable.
  mutating func settled() {
    touched.removeAll(keepingCapacity: true)
    if byteCount > Limits.cachedNodePeopleBytesMax { forget() }
  }

  mutating func rollBack() {
    for key in touched { drop(key) }
    touched = []
  }

  private mutating func set(_ people: NodePeople, _ key: Key) {
    known[key] = people
    byteCount += bytes(people, key)
    touched.insert(key)
  }

  private mutating func drop(_ key: Key) {
    if let people = known.removeValue(forKey: key) { byteCount -= bytes(people, key) }
  }

  private func bytes(_ people: NodePeople, _ key: Key) -> Int {
    people.addressBytes + (people.count + 1) * Limits.nodePersonBytes + key.node.utf8.count
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
