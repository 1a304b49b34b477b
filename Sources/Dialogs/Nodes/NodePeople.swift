public import Addresses

/// What the owner of a node says somebody else is to it, for good (XEP-0060 4.1).
/// Most have none. Stored: never renumber.
public enum NodeAffiliation: UInt8, Sendable, CaseIterable {
  /// May read, whatever the access model says: the white list.
  case member = 1
  /// May read and publish.
  case publisher = 2
  /// May nothing.
  case outcast = 3
}

/// Somebody who has asked to be told of a node (XEP-0060 6.1), beside those who
/// are told because they see the owner's presence and are interested.
public struct NodeSubscription: Hashable, Sendable {
  /// XEP-0060 4.2. Stored: never renumber.
  public enum State: UInt8, Sendable {
    /// The owner has not answered yet.
    case pending = 1
    case subscribed = 2
  }
  /// Whom to tell: a user, or one of their sessions.
  public let address: JID
  public var state: State
  /// Told nothing for the time being (`pubsub#deliver`, 16.4.2).
  public var isPaused: Bool

  public init(address: JID, state: State, isPaused: Bool = false) {
    self.address = address
    self.state = state
    self.isPaused = isPaused
  }
}

/// Whom a node knows by address.
public struct NodePeople: Hashable, Sendable {
  public var affiliations: [BareJID: NodeAffiliation]
  /// By address.
  public let subscriptions: [NodeSubscription]
  /// Users with a subscription that is not pending.
  private let subscribers: Set<BareJID>

  public init(affiliations: [BareJID: NodeAffiliation] = [:], subscriptions: [NodeSubscription] = []) {
    self.affiliations = affiliations
    self.subscriptions = subscriptions
    subscribers = Set(subscriptions.lazy.filter { $0.state == .subscribed }.map(\.address.bare))
  }

  public var isEmpty: Bool { affiliations.isEmpty && subscriptions.isEmpty }

  /// - Parameter contact: what the owner keeps about them.
  public func standing(of address: BareJID, _ contact: Contact?) -> NodeStanding {
    NodeStanding(
      contact: contact, affiliation: affiliations[address],
      isSubscribed: subscribers.contains(address))
  }
}

/// What somebody who is not the owner is to a node: all that decides what they
/// may do there.
public struct NodeStanding: Sendable {
  /// What the owner keeps about them; nil: nothing.
  public var contact: Contact?
  public var affiliation: NodeAffiliation?
  /// By an explicit subscription, which is not pending.
  public var isSubscribed: Bool

  public init(contact: Contact? = nil, affiliation: NodeAffiliation? = nil, isSubscribed: Bool = false) {
    self.contact = contact
    self.affiliation = affiliation
    self.isSubscribed = isSubscribed
  }
}

extension NodeConfiguration {
  /// Why somebody may not read a node (XEP-0060 6.1.3, 6.5.9).
  public enum Denial: Error, Hashable, Sendable {
    case noSubscription, notInGroup, notListed
    /// The owner has to allow it first.
    case notSubscribed
    case outcast
  }

  public func denial(to standing: NodeStanding) -> Denial? {
    switch standing.affiliation {
    case .outcast: return .outcast
    case .member, .publisher: return nil
    case nil: break
    }
    let contact = standing.contact
    let seesPresence = contact?.subscription.from == true
    switch access {
    case .open: return nil
    case .presence: return seesPresence ? nil : .noSubscription
    case .roster:
      guard seesPresence, let contact else { return .noSubscription }
      return contact.groups.contains { groups.contains($0) } ? nil : .notInGroup
    case .authorize: return standing.isSubscribed ? nil : .notSubscribed
    case .whitelist: return .notListed
    }
  }

  /// Whether somebody who is not the owner may publish (XEP-0060 7.1, 16.4.4).
  public func lets(_ standing: NodeStanding) -> Bool {
    switch (standing.affiliation, publishers) {
    case (.outcast, _): false
    case (.publisher, _), (_, .open): true
    case (_, .subscribers): standing.isSubscribed && denial(to: standing) == nil
    case (_, .publishers): false
    }
  }
}

/// What somebody does at a node of somebody else, or, as far as it is
/// subscribing, at their own. Authorisation is by the author of the post.
public struct NodeVisit: Sendable {
  public enum Act: Sendable {
    /// `isPaused`: nil leaves it as it is. `Receipt.value`: the `NodeSubscription`.
    case subscribe(JID, isPaused: Bool?)
    case unsubscribe(JID)
    case pause(JID, Bool)
    case publish(NodePublication)
    /// An item of one's own.
    case retract(item: String, notifies: Bool)
  }
  public var owner: BareJID
  public var node: String
  /// Of the author's session: block lists name resources, too.
  public var resource: String?
  public var act: Act

  public init(owner: BareJID, node: String, resource: String?, _ act: Act) {
    self.owner = owner
    self.node = node
    self.resource = resource
    self.act = act
  }
}
