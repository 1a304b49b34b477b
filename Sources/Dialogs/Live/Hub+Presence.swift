public import Addresses
import Basics
import Synchronization

/// Presence is shown to those who may see it (RFC 6121 4).
extension Hub {
  /// Returns the reason why a client's presence for all who may see it is refused: it is kept as long as it is shown, and is longer than
  /// `Limits.presenceBytesMax`. Returns `nil` if it is not refused, as an unavailable one.
  public func problem(announcing presence: Presence) -> Problem? {
    presence.isAvailable && presence.byteCount > Limits.presenceBytesMax ? Problem.presenceTooLong : nil
  }

  /// Sets the availability of a session (RFC 6121 4.2 to 4.5): subscribers and the user's own resources are told; an
  /// initial presence is answered with those of the contacts' and the user's other resources. Returns the number of
  /// deliveries, to contacts elsewhere and questions for their presence included, or of the contacts who were looked for if
  /// these are more, if they are many (`Limits.fanOutMin`), for `SendingBudget.owe`; otherwise 0.
  @discardableResult
  public func setPresence(_ presence: Presence, of session: any LiveSession) -> Int {
    let party = session.party
    let change: (before: OnlineSession, online: Online)? = shard(party.id).users.withLock { users in
      guard let index = users[party.id]?.onlineSessions.firstIndex(where: { $0.session === session }) else {
        return nil
      }
      let before = users[party.id]!.onlineSessions[index]  // found just above
      users[party.id]!.onlineSessions[index].presence = presence.isAvailable ? presence : nil
      users[party.id]!.onlineSessions[index].isReturning = false
      if !presence.isAvailable { users[party.id]!.onlineSessions[index].directed = DirectedPresences() }
      return (before, users[party.id]!)
    }
    guard let change else { return 0 }
    countMemory(of: party.id)
    // An unavailable presence of an unavailable session is not relayed.
    if !presence.isAvailable && !change.before.isAvailable && change.before.directed.addresses.isEmpty { return 0 }
    if presence.isAvailable {
      if !change.before.isAvailable { setLastPresence(nil, of: party.id) }
    } else if change.before.isAvailable {
      if change.online.presences.isEmpty {
        setLastPresence(LastPresence(time: presence.time, status: presence.status), of: party.id)
      }
      endTyping(of: party.address, resource: presence.resource)
    }
    var batch = LaneBatch()
    if presence.isAvailable || change.before.isAvailable {
      let isNews = !presence.isAvailable || !change.before.isAvailable
      // A reconnected client with its previous presence was never shown as away.
      let isKnown = change.before.isReturning && change.before.presence?.isLike(presence) == true
      if !isKnown { broadcast(presence, isNews: isNews, online: change.online, into: &batch) }
      if !presence.isAvailable { batch.add(.signal(.presence(presence), .direct), to: session) }
    }
    if !presence.isAvailable {
      directedEnd(
        presence, change.before.directed.addresses, contactSnapshot: change.online.contactSnapshot, into: &batch)
    } else if !change.before.isAvailable || change.before.isReturning {
      probe(for: session, online: change.online, into: &batch)
    }
    let count = batch.fanOutCount
    batch.send()
    return count
  }

  /// Sends the presences of contacts to a session that has just become available (RFC 6121 4.3).
  private func probe(for session: any LiveSession, online: Online, into batch: inout LaneBatch) {
    let contactSnapshot = online.contactSnapshot
    let (seen, elsewhere) = (contactSnapshot.subscriptions, contactSnapshot.own.remoteSubscriptions)
    batch.spread(.user(contactSnapshot.user.id), to: seen.count + Self.count(elsewhere)) { batch in
      for contact in seen {
        guard let other = self.online(contact), !areApart(contactSnapshot, other.contactSnapshot) else { continue }
        for presence in other.presences { batch.add(.signal(.presence(presence), .direct), to: session) }
      }
      let own = online.onlineSessions.first { $0.session === session }?.presence
      for presence in online.presences where presence !== own {
        batch.add(.signal(.presence(presence), .direct), to: session)
      }
      // Those elsewhere of whom nothing is known are asked.
      for (domain, contacts) in elsewhere {
        let unknown = contacts.filter { contact in
          let presences = remotePresences.presences(of: contact, toldTo: session.party.address)
          if shuns(contactSnapshot, JID(contact)) { return false }
          for presence in presences { batch.add(.signal(.presence(presence), .direct), to: session) }
          return presences.isEmpty
        }
        probe(unknown, at: domain, for: session.party, contactSnapshot: contactSnapshot, into: &batch)
      }
    }
  }

  private static func count(_ domains: [String: [BareJID]]) -> Int { domains.values.reduce(0) { $0 + $1.count } }

  /// Sends a presence to everyone who may see it: subscribers' available sessions and the user's own (RFC 6121 4.2.2,
  /// 4.4.2, 4.5.2).
  ///
  /// - Parameter isNews: whether the session became available or unavailable.
  func broadcast(_ presence: Presence, isNews: Bool, online: Online, into batch: inout LaneBatch) {
    let contactSnapshot = online.contactSnapshot
    let (subscribers, elsewhere) = (contactSnapshot.subscribers, contactSnapshot.remoteSubscribers)
    batch.spread(.user(contactSnapshot.user.id), to: subscribers.count + Self.count(elsewhere)) { batch in
      for subscriber in subscribers {
        guard let other = self.online(subscriber), !areApart(contactSnapshot, other.contactSnapshot) else { continue }
        for onlineSession in other.onlineSessions where onlineSession.isAvailable {
          batch.add(.signal(.presence(presence), .direct), to: onlineSession.session)
        }
      }
      show(presence, to: elsewhere, contactSnapshot: contactSnapshot, into: &batch)
    }
    for onlineSession in online.onlineSessions where onlineSession.isAvailable {
      batch.add(.signal(.presence(presence), .direct), to: onlineSession.session)
    }
    // Each component gets it once, independently of the number of recipients among its users (XEP-0356 7).
    let isSeen = !subscribers.isEmpty
    for link in links(of: contactSnapshot.user.realm, where: { $0.presence.covers(isNews: isNews, isSeen: isSeen) })
    where !contactSnapshot.blocks(JID(link.party.address)) {
      batch.add(.signal(.shown(presence, to: [link.party.address]), .direct), to: link)
    }
  }

  func directedEnd(
    _ presence: Presence, _ targets: [BareJID], contactSnapshot: ContactSnapshot, into batch: inout LaneBatch
  ) {
    // Subscribers have received the broadcast.
    let others = targets.filter { contactSnapshot.contact($0)?.subscription.from != true }
    if others.isEmpty { return }
    batch.spread(.user(contactSnapshot.user.id), to: others.count) { batch in
      show(
        presence, to: Dictionary(grouping: others, by: \.domain), contactSnapshot: contactSnapshot, into: &batch)
      for address in others {
        guard let other = online(at: address, near: presence.from),
          !shuns(other.contactSnapshot, JID(contactSnapshot.user.address))
        else { continue }
        for onlineSession in other.onlineSessions where onlineSession.isAvailable {
          batch.add(.signal(.presence(presence), .direct), to: onlineSession.session)
        }
      }
    }
  }

  /// Sends directed presence (RFC 6121 4.6) to one user, who is remembered until it ends.
  public func direct(_ presence: Presence, of session: any LiveSession, to address: BareJID, resource: String?) {
    // Guests show their presence only in rooms.
    guard guests.may(.messages, session.party.id) else { return }
    update(session) { $0.directed.sent(isAvailable: presence.isAvailable, to: address) }
    countMemory(of: session.party.id)
    var batch = LaneBatch()
    let other = online(at: address, near: session.party)
    if other == nil, let link = link(from: session.party.address, to: address) {
      batch.add(.signal(.shown(presence, to: [address]), .direct), to: link)
      return batch.send()
    }
    guard let other, !shuns(other.contactSnapshot, JID(session.party.address)) else { return }
    for onlineSession in other.onlineSessions {
      if let resource {
        if onlineSession.resource == resource {
          batch.add(.signal(.presence(presence), .direct), to: onlineSession.session)
        }
      } else if onlineSession.isAvailable {
        batch.add(.signal(.presence(presence), .direct), to: onlineSession.session)
      }
    }
    batch.send()
  }

  /// Sends all presences of `user` (or their end) to one other user, because of a new subscription, its end, a block or
  /// an unblock.
  func showPresence(of user: UserID, to viewer: BareJID, available: Bool, time: Timestamp) {
    guard let online = online(user) else { return }
    let party = online.contactSnapshot.user.party
    let other = self.online(at: viewer, near: party)
    let link = other == nil ? link(from: party.address, to: viewer) : nil
    guard other != nil || link != nil else { return }
    // If one blocks the other, only the end is sent.
    if available,
      other.map({ areApart(online.contactSnapshot, $0.contactSnapshot) }) ?? shuns(online.contactSnapshot, JID(viewer))
    {
      return
    }
    var batch = LaneBatch()
    for presence in online.presences {
      let shown =
        available
        ? presence
        : Presence(from: presence.from, resource: presence.resource, availability: .offline, time: time)
      if let link { batch.add(.signal(.shown(shown, to: [viewer]), .direct), to: link) }
      for target in other?.onlineSessions ?? [] where target.isAvailable {
        batch.add(.signal(.presence(shown), .direct), to: target.session)
      }
    }
    batch.send()
  }
}

extension Problem {
  static let presenceTooLong = Problem(
    .tooLarge, "presence-too-long",
    "A presence for all who may see it has at most \(Limits.presenceBytesMax) bytes. Announce a shorter one.")
}
