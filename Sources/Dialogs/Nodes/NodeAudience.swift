import Addresses

/// Finds the recipients of a node's notifications (XEP-0163 4).
extension Hub {
  /// Routes an event to the owner's available sessions, and to those of contacts who may read the node, if the client
  /// is interested; and to explicit subscribers. No session gets it twice.
  ///
  /// - Parameter contactSnapshot: the owner's, if they are not online, as publishing needs no session. A service has
  ///   none: it has no contacts and blocks nobody.
  /// - Returns: the numbers of the contacts and of the explicit subscribers whom it may be for; 0 if they are few
  ///   (`Limits.fanOutMin`).
  func route(
    _ event: NodeEvent, contactSnapshot: ContactSnapshot?, into batch: inout LaneBatch
  ) -> (contacts: Int, subscribers: Int) {
    let contactSnapshot = self.contactSnapshot(of: event.owner.id) ?? contactSnapshot
    if let recipient = event.recipient {
      var told: Set<SessionID> = []
      add(event, to: recipient, contactSnapshot, &told, into: &batch)
      return (0, 0)
    }
    let people = event.people
    var contacts = 0
    var told: Set<SessionID> = []
    add(event, to: onlineSessions(of: event.owner.id), &told, into: &batch)
    if let contactSnapshot, event.isForContacts {
      contacts = contactSnapshot.subscriberCountMax
      // Other contacts are not looked at: a roster may have thousands who have agreed to nothing.
      batch.spread(.user(event.owner.id), to: contacts) { batch in
        for user in contactSnapshot.subscribers {
          guard let other = online(user) else { continue }
          let address = other.contactSnapshot.user.address
          guard event.configuration.denial(to: people.relation(of: address, contactSnapshot.contact(address))) == nil,
            !isBlocked(other.contactSnapshot, contactSnapshot, event.owner)
          else { continue }
          add(event, to: other.onlineSessions, &told, into: &batch)
        }
        for addresses in contactSnapshot.remoteSubscribers.values {
          for address in addresses { addElsewhere(event, to: address, contactSnapshot, into: &batch) }
        }
      }
    }
    batch.spread(.user(event.owner.id), to: people.subscriptions.count) { batch in
      for subscription in people.subscriptions where !subscription.isPaused {
        // A pending subscriber is notified only when the node is deleted (XEP-0060 8.4.2).
        if subscription.state == .pending, event.kind != .deleted { continue }
        let address = subscription.address.bare
        if address != event.owner.address, event.kind != .deleted || subscription.state == .subscribed {
          let relation = people.relation(of: address, contactSnapshot?.contact(address))
          if event.configuration.denial(to: relation) != nil { continue }
        }
        add(event, to: subscription.address, contactSnapshot, &told, into: &batch)
      }
    }
    func many(_ count: Int) -> Int { count < Limits.fanOutMin ? 0 : count }
    return (many(contacts), many(people.subscriptions.count))
  }

  /// Returns the number of people at whom `route` looks, at most.
  func looks(for event: NodeEvent, _ contactSnapshot: ContactSnapshot?) -> Int {
    if event.recipient != nil { return 0 }
    let contacts = event.isForContacts ? subscriberCountMax(of: event.owner.id, contactSnapshot) : 0
    return contacts + event.people.subscriptions.count
  }

  /// Returns `ContactSnapshot.subscriberCountMax` of a user.
  ///
  /// - Parameter contactSnapshot: the user's, if they are not online.
  func subscriberCountMax(of user: UserID, _ contactSnapshot: ContactSnapshot?) -> Int {
    (self.contactSnapshot(of: user) ?? contactSnapshot)?.subscriberCountMax ?? 0
  }

  /// Adds the clients of a contact elsewhere that want to be notified, as far as the contact shows itself to the owner.
  private func addElsewhere(
    _ event: NodeEvent, to address: BareJID, _ contactSnapshot: ContactSnapshot, into batch: inout LaneBatch
  ) {
    guard let contact = contactSnapshot.contact(address), contact.peer == nil, contact.subscription.to,
      !contactSnapshot.blocks(JID(address))
    else { return }
    let resources = remotePresences.interested(in: event.node, of: event.owner.address, at: contact.address)
    guard !resources.isEmpty,
      event.configuration.denial(to: event.people.relation(of: contact.address, contact)) == nil,
      let link = link(from: event.owner.address, to: contact.address)
    else { return }
    for resource in resources where !resource.isEmpty {
      let address = contact.address.jid(normal: resource)
      batch.add(.signal(.node(NodeEvent(event, for: address)), .direct), to: link)
    }
  }

  private func isBlocked(_ one: ContactSnapshot, _ other: ContactSnapshot?, _ owner: Party) -> Bool {
    other?.blocks(JID(one.user.address)) == true || one.blocks(JID(owner.address))
  }

  private func add(
    _ event: NodeEvent, to onlineSessions: [OnlineSession], _ told: inout Set<SessionID>, into batch: inout LaneBatch
  ) {
    for onlineSession in onlineSessions
    where onlineSession.door == .xmpp && onlineSession.isAvailable && onlineSession.interests.contains(event.node) {
      told.insert(onlineSession.session.id)
      batch.add(.signal(.node(event), .direct), to: onlineSession.session)
    }
  }

  /// Adds the sessions of one address, interested or not: one session, or all that take messages, as for a headline to
  /// an account (RFC 6121 8.5.2.1.1). A user with a session that was told by its interest is not told again (XEP-0163
  /// 4.3.2).
  private func add(
    _ event: NodeEvent, to address: JID, _ contactSnapshot: ContactSnapshot?, _ told: inout Set<SessionID>,
    into batch: inout LaneBatch
  ) {
    guard let other = online(at: address.bare, near: event.owner) else { return }
    if other.contactSnapshot.user.id != event.owner.id {
      if isBlocked(other.contactSnapshot, contactSnapshot, event.owner) || contactSnapshot?.blocks(address) == true {
        return
      }
    }
    let sessions = other.onlineSessions.filter { $0.door == .xmpp }
    if let resource = address.resource {
      for onlineSession in sessions
      where onlineSession.resource == resource && told.insert(onlineSession.session.id).inserted {
        batch.add(.signal(.node(event), .direct), to: onlineSession.session)
      }
    } else if !sessions.contains(where: { told.contains($0.session.id) }) {
      for onlineSession in sessions {
        guard let presence = onlineSession.presence, presence.priority >= 0 else { continue }
        told.insert(onlineSession.session.id)
        batch.add(.signal(.node(event), .account), to: onlineSession.session)
      }
    }
  }

  /// Returns whether one of the user's own sessions is interested in a node.
  func isAnyInterested(in node: String, of user: UserID) -> Bool {
    onlineSessions(of: user).contains { $0.isAvailable && $0.interests.contains(node) }
  }
}

extension NodeEvent {
  /// Whether contacts may be notified, and not the owner and explicit subscribers alone.
  var isForContacts: Bool {
    recipient == nil && (configuration.access != .whitelist || !people.affiliations.isEmpty)
  }
}
