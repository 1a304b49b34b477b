import Addresses

/// The actions of others at a user's nodes, and of all at a service's (XEP-0060 6.1, 6.2, 7, 8.6 to 8.9). Theory:
///
/// Access is checked again whenever something is sent or read (`NodeConfiguration.denial`), so that a subscription
/// alone gives no access. A subscription without access is ended all the same (XEP-0163 7), when the node, the contact
/// or the affiliation changes: otherwise a subscriber would wait for nothing, or get notifications again later without
/// the owner's intent.
extension Judge {
  mutating func visit(_ post: Post, _ visit: NodeVisit) throws {
    let owner = try host(visit, of: post)
    switch visit.act {
    case .subscribe(let address, let isPaused):
      try subscribe(post, address, isPaused, to: visit.node, of: owner)
    case .unsubscribe(let address):
      let (node, people) = try subscribed(post, address, to: visit.node, of: owner)
      guard people.subscription(of: address) != nil else { throw Problem.notSubscribed }
      try removeSubscription(of: address, in: node.name, of: owner.id)
      settle(post)
    case .pause(let address, let isPaused):
      let (node, people) = try subscribed(post, address, to: visit.node, of: owner)
      guard var subscription = people.subscription(of: address) else { throw Problem.notSubscribed }
      subscription.isPaused = isPaused ?? subscription.isPaused
      try setSubscription(subscription, in: node.name, of: owner.id)
      settle(post)
    case .publish(let draft): try publish(post, draft, to: visit.node, of: owner)
    case .retract(let item, let notifies): try retract(post, item, from: visit.node, of: owner, notifies)
    }
  }

  /// Returns the node's owner. One who blocks the visitor appears not to exist (XEP-0191 3.3).
  private mutating func host(_ visit: NodeVisit, of post: Post) throws -> Party {
    if visit.owner == post.author.address { return post.author }
    if let service = pubsub.service(at: visit.owner, for: post.author) { return service }
    let owner = try reachable(visit.owner, for: post.author)
    if try isBlocked(post.author, resource: visit.resource, by: owner) { throw Problem.unreachable }
    return owner
  }

  private func relation(
    of address: BareJID, to node: Node, _ people: NodePeople, of owner: Party
  ) throws -> NodeRelation {
    let contact = try node.configuration.asksContacts ? writer.contact(of: owner.id, address) : nil
    var relation = people.relation(of: address, contact)
    if address == owner.address { relation.affiliation = .owner }
    return relation
  }

  // MARK: Subscribing

  private mutating func subscribed(
    _ post: Post, _ address: JID, to name: String, of owner: Party
  ) throws -> (Node, NodePeople) {
    guard address.isAt(post.author.address) else { throw Problem.notYours }
    let node = try find(name, of: owner)
    return (node, try people(of: node.name, of: owner.id))
  }

  private mutating func subscribe(
    _ post: Post, _ address: JID, _ isPaused: Bool?, to name: String, of owner: Party
  ) throws {
    let (node, people) = try subscribed(post, address, to: name, of: owner)
    let author = post.author
    var subscription = NodeSubscription(address: address, state: .subscribed)
    let known = people.subscription(of: address)
    if let known { subscription = known }
    if author.id != owner.id {
      switch node.configuration.denial(to: try relation(of: author.address, to: node, people, of: owner)) {
      case nil: subscription.state = .subscribed
      case .notSubscribed?:
        if known != nil { throw Problem.subscriptionPending }
        subscription.state = .pending
      case let denial?: throw denial.problem
      }
    }
    subscription.isPaused = isPaused ?? subscription.isPaused
    if known == nil {
      guard people.subscriptions.count < Limits.nodePeopleMax,
        people.subscriptions.count(where: { $0.address.isAt(author.address) }) < Limits.subscriptionsPerNodeMax,
        try writer.subscriptionCount(of: author.address) < Limits.subscriptionsPerUserMax
      else { throw Problem.tooManySubscriptions }
    }
    // A user who is already subscribed is told so (6.1.6).
    if subscription != known { try setSubscription(subscription, in: node.name, of: owner.id) }
    if subscription.state == .pending {
      let stored = people.affiliations.filter { $0.value == .owner }.keys.sorted { $0.description < $1.description }
      for asked in owner.id.isService ? stored : [owner.address] {
        try inform(.requested(address), of: node, by: owner, recipient: JID(asked))
      }
    } else if known?.state != .subscribed {
      try tellLast(lastItem(of: node), of: node, by: owner, to: address)
    }
    var receipt = Receipt(position: head)
    receipt.isRepeat = subscription == known
    receipt.value = subscription
    settle(post, receipt)
  }

  /// Returns the item that new subscribers get (XEP-0163 4.3.4), if there is one.
  private func lastItem(of node: Node) throws -> NodeItem? {
    guard node.configuration.notifies, node.configuration.sendLast != .never else { return nil }
    return try writer.items(in: node.name, of: node.owner, newest: true, limit: 1).last
  }

  /// Sends the last item to a new subscriber.
  private mutating func tellLast(
    _ item: NodeItem?, of node: Node, by owner: Party, to address: JID
  ) throws {
    guard let item else { return }
    try inform(.published(item), of: node, by: owner, recipient: address, isLast: true)
  }

  private mutating func inform(
    _ kind: NodeEvent.Kind, of node: Node, by owner: Party, recipient: JID, isLast: Bool = false
  ) throws {
    let event = NodeEvent(
      owner: owner, node: node.name, kind: kind, configuration: node.configuration, isLast: isLast,
      recipient: recipient)
    tell(.node(event, try contactSnapshot(of: owner)))
  }

  // MARK: Publishing

  /// Publishes in another user's node, or in one of a service.
  mutating func publish(
    _ post: Post, _ draft: NodePublication, to name: String, of owner: Party
  ) throws {
    var (node, relation, people) = try writable(name, of: owner, by: post.author)
    guard draft.conditions.allSatisfy({ $0.isMet(by: node.configuration) }) else { throw Problem.preconditionNotMet }
    guard let item = draft.item else {
      if node.configuration.persistsItems { throw Problem.itemRequired }
      try tell(.published(nil), of: node, by: owner, people: people)
      return settle(post)
    }
    // An item can only be overwritten by its publisher, and by an owner.
    if relation.affiliation != .owner, let old = try writer.item(item.id, in: name, of: owner.id),
      old.publisher != post.author.address
    {
      throw Problem.notYours
    }
    try put(item, in: &node, of: owner, publisher: post.author.address, people: people)
    settle(post)
  }

  mutating func retract(
    _ post: Post, _ id: String, from name: String, of owner: Party, _ notifies: Bool
  ) throws {
    var (node, relation, _) = try writable(name, of: owner, by: post.author)
    let item = try writer.item(id, in: name, of: owner.id)
    if relation.affiliation == .owner {
      guard node.configuration.persistsItems else { throw Problem.nodeTransient }
      if item == nil { throw Problem.itemUnknown }
    }
    guard let item, relation.affiliation == .owner || item.publisher == post.author.address else {
      throw Problem.notYours
    }
    try remove(item, from: &node, of: owner, notifies: notifies)
    settle(post)
  }

  /// Returns a node in which the author may publish. At another user's account only those who may publish learn whether
  /// it exists, and views are written by their owner only; at a service everybody learns it (7.1.3.3).
  private mutating func writable(
    _ name: String, of owner: Party, by author: Party
  ) throws -> (Node, NodeRelation, NodePeople) {
    let found = Node.isView(name) ? nil : try writer.node(name, of: owner.id)
    guard let node = found else { throw owner.id.isService ? Problem.nodeUnknown : Problem.notYours }
    let people = try people(of: name, of: owner.id)
    var relation = try relation(of: author.address, to: node, people, of: owner)
    if pubsub.isAdmin(author, of: owner.id) { relation.affiliation = .owner }
    guard node.configuration.lets(relation) else { throw Problem.notYours }
    return (node, relation, people)
  }

  // MARK: Owning

  mutating func affiliate(
    _ post: Post, _ name: String, of owner: Party, _ changes: [BareJID: NodeAffiliation?]
  ) throws {
    let node = try owned(name, of: owner, by: post.author)
    // A user's rooms, and what they have read, are private.
    if node.name == Bookmark.node || node.name == Displayed.node,
      changes.values.contains(where: { $0 != nil && $0 != .outcast })
    {
      throw Problem(.malformed, "option-invalid", "This node is its owner's alone.")
    }
    var people = try people(of: name, of: owner.id)
    let refused = try unchangeable(changes, people, of: owner).merging(nobodys(changes, people, of: owner)) { $1 }
    let changes = changes.filter { refused[$0.key] == nil && $0.key != owner.address }
    let stored = people.storedBytes(at: name)
    for (address, affiliation) in changes { people.set(affiliation, of: address) }
    guard people.affiliations.count <= Limits.nodePeopleMax else {
      throw Problem(.tooLarge, "too-many-affiliations", "A node has at most \(Limits.nodePeopleMax) affiliations.")
    }
    charge(rows: changes.count)
    countBeside(people.storedBytes(at: name) - stored)
    for (address, affiliation) in changes {
      try setAffiliation(affiliation, of: address, in: name, of: owner.id)
    }
    try review(node, of: owner, people, people.subscriptions.filter { changes.keys.contains($0.address.bare) })
    var receipt = Receipt(position: head)
    receipt.value = refused
    settle(post, receipt)
  }

  /// Returns the changes that would give something to an address of this server without an account, by address with the
  /// present affiliation.
  private mutating func nobodys(
    _ changes: [BareJID: NodeAffiliation?], _ people: NodePeople, of owner: Party
  ) throws -> [BareJID: NodeAffiliation?] {
    var refused: [BareJID: NodeAffiliation?] = [:]
    for (address, affiliation) in changes where affiliation != nil && affiliation != .outcast {
      if try isNobodys(address, of: owner.realm) {
        refused.updateValue(people.affiliations[address], forKey: address)
      }
    }
    return refused
  }

  /// Returns the changes that would leave an account with another owner of its nodes, or a service's node without one, by
  /// address with the present affiliation (8.9.2.4).
  private func unchangeable(
    _ changes: [BareJID: NodeAffiliation?], _ people: NodePeople, of owner: Party
  ) -> [BareJID: NodeAffiliation?] {
    let now = people.affiliations
    guard owner.id.isService else {
      let refused = changes.filter { ($0.key == owner.address) != ($0.value == .owner) }.keys
      return refused.reduce(into: [:]) { $0.updateValue($1 == owner.address ? .owner : now[$1], forKey: $1) }
    }
    let remain = now.contains { $0.value == .owner && changes[$0.key].map { $0 == .owner } ?? true }
    if remain || changes.contains(where: { $0.value == .owner }) { return [:] }
    return changes.filter { now[$0.key] == .owner }.mapValues { _ in .owner }
  }

  mutating func setSubscribers(
    _ post: Post, _ name: String, of owner: Party, _ changes: [JID: NodeSubscription.State?]
  ) throws {
    let node = try owned(name, of: owner, by: post.author)
    let people = try people(of: name, of: owner.id)
    let last = try changes.values.contains(where: { $0 == .subscribed }) ? lastItem(of: node) : nil
    var refused: [JID: NodeSubscription.State?] = [:]
    // Sorted, so that the order does not depend on hashes.
    for (address, state) in changes.sorted(by: { $0.key.description < $1.key.description }) {
      guard var known = people.subscription(of: address) else {
        if state != nil { refused[address] = .some(nil) }
        continue
      }
      if state == known.state { continue }
      switch state {
      case nil: try end(known, to: node, of: owner)
      case .subscribed?:
        known.state = .subscribed
        if node.configuration.asksContacts { charge(rows: 1) }
        let relation = try relation(of: address.bare, to: node, people, of: owner)
        // The owner's approval satisfies the access model `authorize`, and no other.
        if let denial = node.configuration.denial(to: relation), denial != .notSubscribed {
          refused[address] = .pending
        } else {
          try begin(known, to: node, of: owner, last)
        }
      case .pending?: refused[address] = known.state
      }
    }
    var receipt = Receipt(position: head)
    receipt.value = refused
    settle(post, receipt)
  }

  private mutating func begin(
    _ subscription: NodeSubscription, to node: Node, of owner: Party, _ last: NodeItem?
  ) throws {
    charge(rows: 1)
    try setSubscription(subscription, in: node.name, of: owner.id)
    try inform(.subscription(.subscribed), of: node, by: owner, recipient: subscription.address)
    try tellLast(last, of: node, by: owner, to: subscription.address)
  }

  private mutating func end(
    _ subscription: NodeSubscription, to node: Node, of owner: Party
  ) throws {
    charge(rows: 1)
    try removeSubscription(of: subscription.address, in: node.name, of: owner.id)
    try inform(.subscription(nil), of: node, by: owner, recipient: subscription.address)
  }

  // MARK: Consequences of changes

  /// Ends subscriptions of users who may not read any more, and grants pending ones that need no permission now (8.6,
  /// XEP-0163 7).
  ///
  /// - Parameter subscriptions: those of the node that the change concerns.
  mutating func review(
    _ node: Node, of owner: Party, _ people: NodePeople, _ subscriptions: [NodeSubscription]
  ) throws {
    if node.configuration.asksContacts { charge(rows: subscriptions.count) }
    let last = try subscriptions.contains(where: { $0.state == .pending }) ? lastItem(of: node) : nil
    for var subscription in subscriptions {
      let address = subscription.address.bare
      if address == owner.address { continue }
      switch node.configuration.denial(to: try relation(of: address, to: node, people, of: owner)) {
      case nil:
        guard subscription.state == .pending else { continue }
        subscription.state = .subscribed
        try begin(subscription, to: node, of: owner, last)
      case .notSubscribed?: continue
      case .some: try end(subscription, to: node, of: owner)
      }
    }
  }

  /// Reviews a contact's subscriptions after the owner has changed the contact.
  mutating func reviewSubscriptions(of address: BareJID, with owner: Party) throws {
    let rows = try writer.subscriptions(of: address, with: owner.id)
    if rows.isEmpty { return }
    let affiliations = try writer.affiliations(of: address, with: owner.id)
    for (name, found) in Dictionary(grouping: rows, by: { $0.node }).sorted(by: { $0.key < $1.key }) {
      guard let node = try writer.node(name, of: owner.id) else { continue }
      // The others at the node are not concerned, and may be a thousand.
      let subscriptions = found.map { $0.1 }
      let people = NodePeople(
        affiliations: affiliations[name].map { [address: $0] } ?? [:], subscriptions: subscriptions)
      try review(node, of: owner, people, subscriptions)
    }
  }
}

extension NodeConfiguration.Denial {
  /// The problem, named as in XEP-0060 16.3.
  public var problem: Problem {
    switch self {
    case .noSubscription: Problem(.forbidden, "presence-subscription-required", "You do not see the owner's presence.")
    case .notInGroup: Problem(.forbidden, "not-in-roster-group", "The owner has you in no group that may read this.")
    case .notListed: Problem(.forbidden, "closed-node", "You are not on the list of this node.")
    case .notSubscribed: Problem(.forbidden, "not-subscribed", "The owner has to let you subscribe first.")
    case .outcast: Problem(.forbidden, "outcast", "The owner has shut you out of this node.")
    case .publishOnly: Problem(.forbidden, "publish-only", "You may publish in this node, and not read it.")
    }
  }
}

extension Problem {
  /// The problem also if the node does not exist: users without access do not learn of it.
  public static let notYours = Problem(.forbidden, "not-yours", "This is not yours to change.")
  public static let subscriptionPending = Problem(
    .forbidden, "pending-subscription", "The owner has not answered yet.")
  public static let notSubscribed = Problem(.missing, "no-subscription", "There is no such subscription.")
  public static let tooManySubscriptions = Problem(
    .tooLarge, "too-many-subscriptions", "There are as many subscriptions as there may be.")
}
