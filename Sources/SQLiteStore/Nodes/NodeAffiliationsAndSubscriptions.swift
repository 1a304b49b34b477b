import Addresses
import Dialogs

/// The affiliations and subscriptions of others to a user's nodes.
extension Reader {
  func people(of node: String, of owner: UserID) throws -> NodePeople {
    let affiliations = try connection(.affiliationsOfNode, owner, node).all { row in
      (try Self.jid(row.text(0)).bare, try Self.affiliation(row.int(1)))
    }
    return NodePeople(
      affiliations: Dictionary(affiliations, uniquingKeysWith: { $1 }),
      subscriptions: try connection(.subscriptionsToNode, owner, node).all { row in
        try Self.subscription(row, from: 0)
      })
  }

  func affiliations(of address: BareJID, with owner: UserID) throws -> [String: NodeAffiliation] {
    let found = try connection(.affiliationsOfUser, address.description, owner).all { row in
      (row.text(0), try Self.affiliation(row.int(1)))
    }
    return Dictionary(found, uniquingKeysWith: { $1 })
  }

  func subscriptions(of address: BareJID, with owner: UserID) throws -> [(node: String, NodeSubscription)] {
    try connection(.subscriptionsOfUser, address.description, owner).all { row in
      (row.text(0), try Self.subscription(row, from: 1))
    }
  }

  func subscriptionCount(of address: BareJID) throws -> Int {
    try connection(.subscriptionCount, address.description).first { Int($0.int(0)) } ?? 0
  }

  func pendingSubscriptions(
    of owner: UserID, ownedBy user: BareJID?, limit: Int
  ) throws -> [(node: String, JID)] {
    let found =
      try user.map { try connection(.pendingSubscriptionsOfOwner, owner, bound(limit), $0.description) }
      ?? connection(.pendingSubscriptions, owner, bound(limit))
    return try found.all { row in
      (row.text(0), try Self.jid(row.text(1)))
    }
  }

  private static func affiliation(_ number: Int64) throws(StoreFailure) -> NodeAffiliation {
    guard let affiliation = NodeAffiliation(rawValue: UInt8(clamping: number)) else {
      throw .corrupt("an affiliation with a node is unknown")
    }
    return affiliation
  }

  private static func subscription(_ row: Prepared, from column: Int32) throws(StoreFailure) -> NodeSubscription {
    guard let state = NodeSubscription.State(rawValue: UInt8(clamping: row.int(column + 1))) else {
      throw .corrupt("the state of a subscription to a node is unknown")
    }
    return NodeSubscription(address: try jid(row.text(column)), state: state, isPaused: row.int(column + 2) != 0)
  }

  private static func jid(_ text: String) throws(StoreFailure) -> JID {
    guard let jid = JID(stored: text) else { throw .corrupt("a subscriber of a node is no address") }
    return jid
  }
}

extension Writer {
  func setAffiliation(
    _ affiliation: NodeAffiliation?, of address: BareJID, in node: String, of owner: UserID
  ) throws {
    guard let affiliation else {
      try connection(.deleteAffiliation, owner, node, address.description).run()
      return
    }
    try connection(.putAffiliation, owner, node, address.description, affiliation.rawValue).run()
  }

  func put(_ subscription: NodeSubscription, in node: String, of owner: UserID) throws {
    try connection(
      .putSubscription, owner, node, subscription.address.description, subscription.address.bare.description,
      subscription.state.rawValue, subscription.isPaused
    ).run()
  }

  func removeSubscription(of address: JID, in node: String, of owner: UserID) throws {
    try connection(.deleteSubscription, owner, node, address.description).run()
  }

  func removePeople(of node: String, of owner: UserID) throws {
    for query in [Query.deleteAffiliationsOfNode, .deleteSubscriptionsToNode] {
      try connection(query, owner, node).run()
    }
  }
}

extension Query {
  fileprivate static let affiliationsOfNode = Query(
    "SELECT address, affiliation FROM node_affiliations WHERE user = ?1 AND node = ?2")
  fileprivate static let affiliationsOfUser = Query(
    "SELECT node, affiliation FROM node_affiliations WHERE address = ?1 AND user = ?2")
  fileprivate static let putAffiliation = Query(
    """
    INSERT INTO node_affiliations (user, node, address, affiliation) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (user, node, address) DO UPDATE SET affiliation = excluded.affiliation
    """)
  fileprivate static let deleteAffiliation = Query(
    "DELETE FROM node_affiliations WHERE user = ?1 AND node = ?2 AND address = ?3")
  fileprivate static let deleteAffiliationsOfNode = Query(
    "DELETE FROM node_affiliations WHERE user = ?1 AND node = ?2")

  fileprivate static let subscriptionsToNode = Query(
    "SELECT jid, state, paused FROM node_subscriptions WHERE user = ?1 AND node = ?2 ORDER BY jid")
  fileprivate static let subscriptionsOfUser = Query(
    "SELECT node, jid, state, paused FROM node_subscriptions WHERE address = ?1 AND user = ?2 ORDER BY node, jid")
  fileprivate static let subscriptionCount = Query("SELECT count(*) FROM node_subscriptions WHERE address = ?1")
  fileprivate static let pendingSubscriptions = Query(
    "SELECT node, jid FROM node_subscriptions WHERE user = ?1 AND state = 1 ORDER BY node, jid LIMIT ?2")
  // The query finds the nodes that the user owns, which are few, and then their subscriptions.
  fileprivate static let pendingSubscriptionsOfOwner = Query(
    """
    SELECT s.node, s.jid FROM node_affiliations a
    CROSS JOIN node_subscriptions s ON s.user = a.user AND s.node = a.node AND s.state = 1
    WHERE a.address = ?3 AND a.user = ?1 AND a.affiliation = 4 ORDER BY s.node, s.jid LIMIT ?2
    """)
  fileprivate static let putSubscription = Query(
    """
    INSERT INTO node_subscriptions (user, node, jid, address, state, paused) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (user, node, jid) DO UPDATE SET state = excluded.state, paused = excluded.paused
    """)
  fileprivate static let deleteSubscription = Query(
    "DELETE FROM node_subscriptions WHERE user = ?1 AND node = ?2 AND jid = ?3")
  fileprivate static let deleteSubscriptionsToNode = Query(
    "DELETE FROM node_subscriptions WHERE user = ?1 AND node = ?2")
}
