import Addresses
import Dialogs
import XMLStream
import XMPP

/// Explicit subscriptions and affiliations (XEP-0060 5.6, 5.7, 6.1 to 6.4, 8.6 to 8.9).
extension PEP {
  // MARK: Subscribers

  /// Subscribes to a node (6.1).
  static func subscribe(_ turn: Turn, _ request: SubscribeRequest) throws(StanzaError) {
    let address = request.address
    // 6.1.3.1.
    guard address.isAt(turn.party.address) else { throw StanzaError(.badRequest, pubsub: "invalid-jid") }
    let isPaused = try request.options.flatMap { form throws(StanzaError) in try SubscriptionForm.isPaused(form) }
    turn.visit(request.node, .subscribe(address, isPaused: isPaused)) { receipt, writer in
      guard let subscription = receipt.value as? NodeSubscription else { return }
      writer.element(.pubsub) { writer in
        write(subscription, to: request.node, into: &writer)
        if request.options != nil {
          writer.element("options") { SubscriptionForm.form(subscription.isPaused, .result).write(into: &$0) }
        }
      }
    }
  }

  /// Ends or changes a subscription (6.2, 6.3).
  static func change(_ turn: Turn, _ node: String, _ address: JID, _ act: NodeVisit.Act) throws(StanzaError) {
    guard address.isAt(turn.party.address) else { throw StanzaError(.forbidden) }
    turn.visit(node, act) { _, _ in }
  }

  private static func write(
    _ subscription: NodeSubscription, to node: String?, into writer: inout ElementWriter
  ) {
    write(subscription.address, subscription.state, to: node, into: &writer)
  }

  static func write(
    _ address: JID, _ state: NodeSubscription.State?, to node: String?, into writer: inout ElementWriter
  ) {
    writer.element("subscription") { writer in
      writer.attribute("node", node)
      writer.attribute("jid", address.description)
      writer.attribute("subscription", text(state))
    }
  }

  private static func text(_ state: NodeSubscription.State?) -> StaticString {
    switch state {
    case .subscribed: "subscribed"
    case .pending: "pending"
    case nil: "none"
    }
  }

  /// Returns the viewer's subscriptions at an account (5.6).
  static func subscriptions(_ turn: Turn, _ node: String?) {
    look(turn) { sight, _ in
      sight.subscriptions.filter { node == nil || $0.node == node }.map { ($0.node, $0.subscription) }
    } write: { subscriptions, writer in
      writer.element("subscriptions") { writer in
        writer.attribute("node", node)
        for (node, subscription) in subscriptions { write(subscription, to: node, into: &writer) }
      }
    }
  }

  /// Returns the viewer's affiliations at an account (5.7).
  static func affiliations(_ turn: Turn, _ node: String?) {
    look(turn) { sight, reader in
      let all: [(String, NodeAffiliation?)] =
        sight.isOwn
        ? try reader.nodes(of: sight.owner).map { ($0.name, nil) }
        : sight.affiliations.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
      return all.filter { node == nil || $0.0 == node }
    } write: { affiliations, writer in
      writer.element("affiliations") { writer in
        writer.attribute("node", node)
        for (node, affiliation) in affiliations {
          writer.element("affiliation") { writer in
            writer.attribute("node", node)
            writer.attribute("affiliation", affiliation.map(text) ?? "owner")
          }
        }
      }
    }
  }

  /// Returns the options of a subscription (6.3.2).
  static func options(_ turn: Turn, _ node: String, _ address: JID) throws(StanzaError) {
    guard address.isAt(turn.party.address) else { throw StanzaError(.forbidden) }
    let owner = turn.host
    let (viewer, jid, services) = (turn.party, turn.jid, turn.parley.pubsub)
    turn.fetch { reader -> (isThere: Bool, isNode: Bool, NodeSubscription?) in
      guard let sight = try NodeAccess(of: owner, for: viewer, at: jid, reader, services) else {
        return (false, false, nil)
      }
      return (true, try sight.node(node, reader) != nil, sight.subscription(to: node, address))
    } reply: { (found) throws(StanzaError) in
      guard found.isThere else { throw StanzaError(.serviceUnavailable) }
      guard found.isNode else { throw .noNode }
      guard let subscription = found.2 else { throw .notSubscribed(.modify) }
      turn.reply { writer in
        writer.element(.pubsub) { writer in
          writer.element("options") { writer in
            writer.attribute("node", node)
            writer.attribute("jid", address.description)
            SubscriptionForm.form(subscription.isPaused, .form).write(into: &writer)
          }
        }
      }
    }
  }

  /// Returns the default options (6.4), which are the same for all nodes.
  static func defaultOptions(_ turn: Turn, _ node: String?) {
    turn.reply { writer in
      writer.element(.pubsub) { writer in
        writer.element("default") { writer in
          writer.attribute("node", node)
          SubscriptionForm.form(false, .result).write(into: &writer)
        }
      }
    }
  }

  private static func look<Value: Sendable>(
    _ turn: Turn, _ read: @escaping @Sendable (NodeAccess, any StoreReader) throws -> Value,
    write: @escaping (Value, inout ElementWriter) -> Void
  ) {
    let owner = turn.host
    let (viewer, jid, services) = (turn.party, turn.jid, turn.parley.pubsub)
    turn.fetch {
      try NodeAccess(of: owner, for: viewer, at: jid, $0, services).map { [reader = $0] in try read($0, reader) }
    } reply: { (found) throws(StanzaError) in
      guard let found, !turn.hidesAccount else { throw StanzaError(.serviceUnavailable) }
      turn.reply { writer in
        writer.element(.pubsub) { write(found, &$0) }
      }
    }
  }

  // MARK: Owners

  /// Reads a node's subscribers and affiliations for its owner (8.8.1, 8.9.1).
  static func people(
    _ turn: Turn, of node: String, _ write: @escaping (NodePeople, inout ElementWriter) -> Void
  ) {
    let (owner, viewer, jid, services) = (turn.host, turn.party, turn.jid, turn.parley.pubsub)
    turn.fetch { reader -> (FoundNode, NodePeople)? in
      guard let found = try FoundNode.owned(node, of: owner, for: viewer, at: jid, reader, services) else { return nil }
      guard case .node(let known) = found else { return (found, NodePeople()) }
      return (found, try reader.people(of: node, of: known.owner))
    } reply: { (read) throws(StanzaError) in
      guard let (found, people) = read else { throw StanzaError(.forbidden) }
      _ = try found.get()
      turn.reply { writer in
        writer.element(.pubsubOwner) { write(people, &$0) }
      }
    }
  }

  /// Returns the subscribers (8.8.1.2), without pending ones.
  static func subscribers(_ turn: Turn, of node: String) {
    people(turn, of: node) { people, writer in
      writer.element("subscriptions") { writer in
        writer.attribute("node", node)
        for subscription in people.subscriptions where subscription.state == .subscribed {
          write(subscription, to: nil, into: &writer)
        }
      }
    }
  }

  static func affiliates(_ turn: Turn, of node: String) {
    let owner = turn.party.address
    let isAtService = turn.isAtService
    people(turn, of: node) { people, writer in
      writer.element("affiliations") { writer in
        writer.attribute("node", node)
        if !isAtService { write(owner, "owner", into: &writer) }
        for (address, affiliation) in people.affiliations.sorted(by: { $0.key.description < $1.key.description }) {
          write(address, text(affiliation), into: &writer)
        }
      }
    }
  }

  private static func write(_ address: BareJID, _ affiliation: StaticString, into writer: inout ElementWriter) {
    writer.element("affiliation") { writer in
      writer.attribute("jid", address.description)
      writer.attribute("affiliation", affiliation)
    }
  }

  static func text(_ affiliation: NodeAffiliation) -> StaticString {
    switch affiliation {
    case .member: "member"
    case .publisher: "publisher"
    case .outcast: "outcast"
    case .owner: "owner"
    case .publishOnly: "publish-only"
    }
  }

  /// Changes affiliations (8.9.2). Impossible changes are answered with the present affiliation; the others are carried
  /// out (8.9.2.4).
  static func affiliate(_ turn: Turn, _ node: String, _ changes: [BareJID: NodeAffiliation?]) {
    turn.post(.node(.affiliate(node: node, changes), at: turn.host)) { result in
      switch result {
      case .failure(let problem): turn.fail(StanzaError(publishing: problem))
      case .success(let receipt):
        guard let refused = receipt.value as? [BareJID: NodeAffiliation?], !refused.isEmpty else {
          return turn.reply()
        }
        turn.refuse(.pubsubOwner) { writer in
          writer.element("affiliations") { writer in
            writer.attribute("node", node)
            for (address, affiliation) in refused.sorted(by: { $0.key.description < $1.key.description }) {
              write(address, affiliation.map(text) ?? "none", into: &writer)
            }
          }
        }
      }
    }
  }

  /// Changes subscriptions (8.8.2). Impossible changes are answered with the present state; the others are carried out
  /// (8.8.2.4).
  static func setSubscribers(_ turn: Turn, _ node: String, _ changes: [JID: NodeSubscription.State?]) {
    turn.post(.node(.subscribers(node: node, changes), at: turn.host)) { result in
      switch result {
      case .failure(let problem): turn.fail(StanzaError(publishing: problem))
      case .success(let receipt):
        guard let refused = receipt.value as? [JID: NodeSubscription.State?], !refused.isEmpty else {
          return turn.reply()
        }
        turn.refuse(.pubsubOwner) { writer in
          writer.element("subscriptions") { writer in
            writer.attribute("node", node)
            for (address, state) in refused.sorted(by: { $0.key.description < $1.key.description }) {
              write(address, state, to: nil, into: &writer)
            }
          }
        }
      }
    }
  }

  // MARK: Pending requests (8.6)

  /// Carries out the owner's answer to a request.
  static func answer(_ turn: Turn, _ answer: AuthorizationForm) {
    guard case .decided(let node, let address, let isAllowed) = answer else { return }
    turn.post(.node(.subscribers(node: node, [address: isAllowed ? .subscribed : nil]), at: turn.host)) { result in
      if case .failure(let problem) = result { turn.fail(StanzaError(publishing: problem)) }
    }
  }

  /// Sends pending requests again to a session that becomes available, as with subscriptions to presence.
  static func tellPending(_ session: XMPPSession) {
    let asked = session.party
    let service = session.parley.pubsub.service(of: asked.realm)
    session.fetch { reader in
      let limit = DoorLimits.pendingSubscriptionsTold
      let own = try reader.pendingSubscriptions(of: asked.id, ownedBy: nil, limit: limit).map { (asked, $0.node, $0.1) }
      guard let service else { return own }
      return try own
        + reader.pendingSubscriptions(of: service.id, ownedBy: asked.address, limit: limit).map {
          (service, $0.node, $0.1)
        }
    } then: { (result: Result<[(Party, String, JID)], Problem>) in
      guard case .success(let pending) = result, session.isAvailable else { return }
      for (owner, node, address) in pending {
        let event = NodeEvent(
          owner: owner, node: node, kind: .requested(address), configuration: NodeConfiguration(),
          recipient: JID(asked.address))
        NodeWriter.send(event, .account, to: session)
      }
    }
  }
}

extension Turn {
  /// Posts an action at a node of the addressed account.
  func visit(
    _ node: String, _ act: NodeVisit.Act, _ content: @escaping (Receipt, inout ElementWriter) -> Void
  ) {
    let visit = NodeVisit(owner: host, node: node, resource: jid.resource, act)
    post(.visit(visit)) { [self] result in
      switch result {
      case .success(let receipt): reply { content(receipt, &$0) }
      case .failure(let problem):
        // 6.3.4.2 has another type than 6.2.3.2.
        if case .pause = act, problem.code == Problem.notSubscribed.code { return fail(.notSubscribed(.modify)) }
        fail(StanzaError(publishing: problem))
      }
    }
  }

  /// Answers `not-acceptable` with the changes that were not carried out.
  fileprivate func refuse(_ name: Name, _ content: (inout ElementWriter) -> Void) {
    session.send { writer in
      stanza.openReply(type: IQType.error.text, into: &writer, to: session.jid.description)
      writer.element(name) { content(&$0) }
      StanzaError(.notAcceptable).write(into: &writer)
      writer.close()
    }
  }
}
