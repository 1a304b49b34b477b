public import Addresses

/// The lasting affiliation of a user with a node, set by its owner (XEP-0060 4.1). Most users have none. Stored: never
/// renumber.
public enum NodeAffiliation: UInt8, Sendable, CaseIterable {
  /// May read, whatever the access model is: the whitelist.
  case member = 1
  /// May read and publish.
  case publisher = 2
  /// Has no access.
  case outcast = 3
  /// May do everything. The user of an account is the owner of its nodes without a stored affiliation.
  case owner = 4
  /// May publish, and not read.
  case publishOnly = 5
}

/// An explicit subscription to a node (XEP-0060 6.1), beside the implicit ones of interested users who see the owner's
/// presence.
public struct NodeSubscription: Hashable, Sendable {
  /// The state of a subscription (XEP-0060 4.2). Stored: never renumber.
  public enum State: UInt8, Sendable {
    /// The owner has not answered yet.
    case pending = 1
    case subscribed = 2
  }
  /// The subscribed user, or one of their sessions.
  public let address: JID
  public var state: State
  /// Whether notifications are suspended (`pubsub#deliver`, 16.4.2).
  public var isPaused: Bool

  public init(address: JID, state: State, isPaused: Bool = false) {
    self.address = address
    self.state = state
    self.isPaused = isPaused
  }
}

/// The affiliations and subscriptions of a node.
public struct NodePeople: Hashable, Sendable {
  public private(set) var affiliations: [BareJID: NodeAffiliation]
  /// The subscriptions, ordered by the octets of their addresses.
  public private(set) var subscriptions: [NodeSubscription]
  /// The users with subscriptions that are not pending, with the number of these.
  private var subscribers: [BareJID: Int] = [:]
  /// The octets of all addresses.
  private(set) var addressBytes = 0

  public init(affiliations: [BareJID: NodeAffiliation] = [:], subscriptions: [NodeSubscription] = []) {
    self.affiliations = affiliations
    self.subscriptions = subscriptions
    for address in affiliations.keys { addressBytes += address.description.utf8.count }
    for subscription in subscriptions { note(subscription, 1) }
  }

  public var isEmpty: Bool { affiliations.isEmpty && subscriptions.isEmpty }
  var count: Int { affiliations.count + subscriptions.count }

  /// Returns about how many bytes the rows of these people have at a node of this name. An index has addresses and name again.
  func storedBytes(at node: String) -> Int {
    2 * (addressBytes + count * node.utf8.count) + count * Limits.nodePersonBytes
  }

  /// Sets an affiliation; `nil` removes it.
  mutating func set(_ affiliation: NodeAffiliation?, of address: BareJID) {
    let bytes = address.description.utf8.count
    if affiliations[address] != nil { addressBytes -= bytes }
    affiliations[address] = affiliation
    if affiliation != nil { addressBytes += bytes }
  }

  func subscription(of address: JID) -> NodeSubscription? {
    let place = place(of: address)
    guard place < subscriptions.count, subscriptions[place].address == address else { return nil }
    return subscriptions[place]
  }

  /// Inserts or replaces a subscription.
  mutating func set(_ subscription: NodeSubscription) {
    removeSubscription(of: subscription.address)
    subscriptions.insert(subscription, at: place(of: subscription.address))
    note(subscription, 1)
  }

  mutating func removeSubscription(of address: JID) {
    guard let known = subscription(of: address) else { return }
    subscriptions.remove(at: place(of: address))
    note(known, -1)
  }

  /// Returns the index of the first subscription that is not before an address.
  private func place(of address: JID) -> Int {
    var (low, high) = (0, subscriptions.count)
    while low < high {
      let middle = (low + high) / 2
      let other = subscriptions[middle].address.description
      if other.utf8.lexicographicallyPrecedes(address.description.utf8) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func note(_ subscription: NodeSubscription, _ difference: Int) {
    addressBytes += difference * subscription.address.description.utf8.count
    guard subscription.state == .subscribed else { return }
    let left = subscribers[subscription.address.bare, default: 0] + difference
    subscribers[subscription.address.bare] = left == 0 ? nil : left
  }

  /// Returns the relation of a user to the node.
  ///
  /// - Parameter contact: the owner's contact for them.
  public func relation(of address: BareJID, _ contact: Contact?) -> NodeRelation {
    NodeRelation(
      contact: contact, affiliation: affiliations[address],
      isSubscribed: subscribers[address] != nil)
  }
}

/// The relation of a user to a node, which decides their access to it (XEP-0060 4.5).
public struct NodeRelation: Sendable {
  /// The owner's contact for them; `nil` if there is none.
  public var contact: Contact?
  public var affiliation: NodeAffiliation?
  /// Whether they have an explicit subscription that is not pending.
  public var isSubscribed: Bool

  public init(contact: Contact? = nil, affiliation: NodeAffiliation? = nil, isSubscribed: Bool = false) {
    self.contact = contact
    self.affiliation = affiliation
    self.isSubscribed = isSubscribed
  }
}

extension NodeConfiguration {
  /// The reason why a user may not read a node (XEP-0060 6.1.3, 6.5.9).
  public enum Denial: Error, Hashable, Sendable {
    case noSubscription, notInGroup, notListed
    /// The owner has to allow the subscription first.
    case notSubscribed
    case outcast, publishOnly
  }

  /// Whether access depends on the owner's contacts.
  var asksContacts: Bool { access == .presence || access == .roster }

  public func denial(to relation: NodeRelation) -> Denial? {
    switch relation.affiliation {
    case .outcast: return .outcast
    case .publishOnly: return .publishOnly
    case .owner, .member, .publisher: return nil
    case nil: break
    }
    let contact = relation.contact
    let seesPresence = contact?.subscription.from == true
    switch access {
    case .open: return nil
    case .presence: return seesPresence ? nil : .noSubscription
    case .roster:
      guard seesPresence, let contact else { return .noSubscription }
      return contact.groups.contains { groups.contains($0) } ? nil : .notInGroup
    case .authorize: return relation.isSubscribed ? nil : .notSubscribed
    case .whitelist: return .notListed
    }
  }

  /// Returns whether a user may publish (XEP-0060 7.1, 16.4.4).
  public func lets(_ relation: NodeRelation) -> Bool {
    switch (relation.affiliation, publishers) {
    case (.outcast, _): false
    case (.owner, _), (.publisher, _), (.publishOnly, _), (_, .open): true
    case (_, .subscribers): relation.isSubscribed && denial(to: relation) == nil
    case (_, .publishers): false
    }
  }
}

/// An action at another user's node, or a subscription to one's own or a service's. It is authorised by the post's
/// author.
public struct NodeVisit: Sendable {
  public enum Act: Sendable {
    /// `isPaused` is `nil` to leave it unchanged. `Receipt.value` is the `NodeSubscription`.
    case subscribe(JID, isPaused: Bool?)
    case unsubscribe(JID)
    /// `nil` leaves it unchanged.
    case pause(JID, Bool?)
    case publish(NodePublication)
    /// Removes an item of the author's own.
    case retract(item: String, notifies: Bool)
  }
  public var owner: BareJID
  public var node: String
  /// The resource of the author's session: block lists contain resources, too.
  public var resource: String?
  public var act: Act

  public init(owner: BareJID, node: String, resource: String?, _ act: Act) {
    self.owner = owner
    self.node = node
    self.resource = resource
    self.act = act
  }
}
