public import Addresses
public import Basics

/// Links to other servers. Theory:
///
/// Beside the sessions of local users the hub knows links: a live session that represents all users of one remote
/// domain: a component (XEP-0114), or another server as it is reached from one domain of this one (`DomainPair`).
/// Deliveries to such a user go to the link, in the order of the log like all others; their stanzas come from it as posts
/// of a remote author and as signals. Their roster, presence and blocks are stored by their own server: here is only the
/// side of the local user.
extension Hub {
  /// Returns the link that takes what is sent from a domain of this server to an address: that of a component of the
  /// same home, or of a server elsewhere, which is made at its first use. `nil` for a local address, and if there is no
  /// way.
  public func link(from local: String, to address: BareJID) -> (any LiveSession)? {
    link(toDomain: address.domain) { local }
  }

  func link(from local: BareJID, to address: BareJID) -> (any LiveSession)? {
    link(toDomain: address.domain) { local.domain }
  }

  /// Returns the link that takes what a party says. Who is elsewhere reaches the components of the home that knows them.
  func link(from party: Party, to address: BareJID) -> (any LiveSession)? {
    if let link = link(from: party.address, to: address) { return link }
    guard party.realm.isRemote, let component = links(to: address.domain).component,
      realms.home(of: component.party.realm) == realms.home(of: party.realm)
    else { return nil }
    return component
  }

  private func link(toDomain domain: String, from local: () -> String) -> (any LiveSession)? {
    let (component, federation) = links(to: domain)
    guard let federation else { return component }
    let local = local()
    let home = realms.home(ofDomain: local)
    if let component, realms.home(of: component.party.realm) == home { return component }
    guard let home, realms.home(ofDomain: domain) != home else { return nil }
    return federation.link(DomainPair(local: local, remote: domain))
  }

  /// Returns the reason why users of a realm cannot communicate with a domain elsewhere; `nil` if they can.
  func refusal(of domain: String, from realm: RealmID) -> Problem? {
    guard let federation, let home = realms.realm(realms.home(of: realm)) else { return .notFederated(domain) }
    return federation.refusal(of: domain, from: home.domain)
  }

  /// Returns the links of a realm's components with a privilege (XEP-0356).
  func links(of realm: RealmID, where test: (Privileges) -> Bool) -> [any LiveSession] {
    let holders = privileges.holders(in: realm, where: test)
    if holders.isEmpty { return [] }
    return withComponents { links in links.values.filter { holders.contains($0.party.realm) } }
  }

  /// Registers the link of a component. Returns `false` if there already is one, which stays.
  public func attach(_ link: any LiveSession, domain: String) -> Bool {
    withComponents { links in
      if links[domain] != nil { return false }
      links[domain] = link
      return true
    }
  }

  /// Removes the link of a component: those who see the presence of its users are told that they are offline.
  public func detach(_ link: any LiveSession, domain: String, time: Timestamp) {
    let wasThere = withComponents { links in
      guard links[domain] === link else { return false }
      links[domain] = nil
      return true
    }
    if !wasThere { return }
    var departure = Departure(
      domain: domain, realm: link.party.realm, local: nil, time: time, stamp: .max, contacts: [],
      viewers: viewers(at: domain))
    while !departure.isOver { _ = goOn(&departure) }
  }

  /// Begins to show to the users of a domain of this server that all their contacts at a domain elsewhere are offline: the other
  /// server cannot be reached, or has said that it goes. A link that is only idle is not gone. `Parley.goOn` does it. Returns `nil` if
  /// there is no such pair.
  ///
  /// - Parameter isFirst: whether it is the first time since the link exists. Then contacts without a record are shown as offline, too:
  ///   a session that was restored after a restart may show what its client knew before.
  public func departure(of pair: DomainPair, isFirst: Bool, time: Timestamp) -> Departure? {
    guard let realm = realms.home(ofDomain: pair.local).flatMap({ realms.federated(of: $0) }) else { return nil }
    let known = remotePresences.contacts(at: pair.remote)
    return Departure(
      domain: pair.remote, realm: realm.id, local: pair.local, time: time, stamp: known.stamp,
      contacts: known.addresses, viewers: isFirst ? viewers(at: pair.remote) : [])
  }

  /// Does the next piece. Returns the number of its deliveries.
  func goOn(_ departure: inout Departure) -> Int {
    var ended: [(session: any LiveSession, presence: Presence)] = []
    var looks = 0
    func show(_ presence: Presence, to viewer: UserID?) {
      guard let online = viewer.flatMap({ self.online($0) }), departure.concerns(online, of: realms),
        online.contactSnapshot.contact(presence.from.address)?.subscription.to == true
      else { return }
      for onlineSession in online.onlineSessions where onlineSession.isAvailable {
        ended.append((session: onlineSession.session, presence: presence))
      }
    }
    while looks + ended.count < Limits.departureStep {
      looks += 1
      if let viewer = departure.viewer, let contact = departure.unshown.popLast() {
        // Contacts with a record come later, or have shown themselves since the beginning.
        if departure.local != nil, remotePresences.hasRecord(of: contact, toldTo: viewer.address) { continue }
        show(departure.presence(of: contact, ""), to: viewer.id)
      } else if let next = departure.viewers.popLast() {
        guard let online = online(next), departure.concerns(online, of: realms) else { continue }
        departure.viewer = online.contactSnapshot.user
        departure.unshown = online.contactSnapshot.remoteSubscriptions(at: departure.domain)
      } else if let local = departure.local, let contact = departure.contacts.popLast() {
        let told = remotePresences.end(
          contact, toldAt: local, through: departure.stamp, most: Limits.departureStep)
        // The rest of those who see them follow in a further step.
        if told.count >= Limits.departureStep { departure.contacts.append(contact) }
        looks += told.count
        for (viewer, resource) in told {
          show(departure.presence(of: contact, resource), to: user(at: viewer))
        }
      } else {
        break
      }
    }
    var batch = LaneBatch()
    batch.spread(.realm(departure.realm), to: ended.count) { batch in
      for (session, presence) in ended { batch.add(.signal(.presence(presence), .direct), to: session) }
    }
    batch.send()
    return ended.count
  }

  // MARK: To other servers

  /// Shows a presence to users elsewhere, who are given by domain: each link gets it with a list of addresses.
  func show(
    _ presence: Presence, to viewers: [String: [BareJID]], contactSnapshot: ContactSnapshot,
    into batch: inout LaneBatch
  ) {
    for (domain, addresses) in viewers {
      guard let link = link(toDomain: domain, from: { presence.from.address.domain }) else { continue }
      batch.add(unblocked(addresses, contactSnapshot), behind: link) { .shown(presence, to: $0) }
    }
  }

  /// Sends presence probes to contacts at one domain (RFC 6121 4.3), which the remote server answers.
  func probe(
    _ contacts: [BareJID], at domain: String, for party: Party, contactSnapshot: ContactSnapshot,
    into batch: inout LaneBatch
  ) {
    if contacts.isEmpty { return }
    guard let link = link(toDomain: domain, from: { party.address.domain }) else { return }
    batch.add(unblocked(contacts, contactSnapshot), behind: link) { .probes(party, of: $0) }
  }

  private func unblocked(_ addresses: [BareJID], _ contactSnapshot: ContactSnapshot) -> [BareJID] {
    contactSnapshot.blocks.isEmpty ? addresses : addresses.filter { !contactSnapshot.blocks(JID($0)) }
  }

  // MARK: From other servers

  /// Delivers the presence of a remote user to a local user: to their available resources, or to the addressed one. App
  /// sessions get presences of contacts only.
  ///
  /// - Returns: whether it is kept: the available presence of a contact on another server.
  @discardableResult
  public func present(_ presence: Presence, to address: BareJID) -> Bool {
    let from = presence.from.address
    if !presence.isAvailable { endTyping(of: from, resource: presence.resource) }
    let isKept = presence.toResource == nil && realms.realm(presence.from.realm)?.isFederated == true
    guard let online = online(at: address, near: presence.from) else {
      if isKept { remotePresences.note(presence, to: address, begins: false) }
      return false
    }
    if !online.contactSnapshot.blocks.isEmpty, online.contactSnapshot.blocks(from.jid(normal: presence.resource)) {
      return false
    }
    let isContact = online.contactSnapshot.contact(from)?.subscription.to == true
    let hasRecord = isKept && remotePresences.note(presence, to: address, begins: isContact)
    var batch = LaneBatch()
    for onlineSession in online.onlineSessions {
      let isMeant =
        switch onlineSession.door {
        case .app: isContact && presence.toResource == nil
        case .xmpp: presence.toResource.map { $0 == onlineSession.resource } ?? onlineSession.isAvailable
        case .remote: false
        }
      if isMeant { batch.add(.signal(.presence(presence), .direct), to: onlineSession.session) }
    }
    if isContact, presence.toResource == nil {
      for link in links(of: online.contactSnapshot.user.realm, where: { $0.presence == .contacts })
      where link.party.realm != presence.from.realm {
        batch.add(.signal(.shown(presence, to: [link.party.address]), .direct), to: link)
      }
    }
    batch.send()
    return hasRecord
  }

  /// Answers a probe that a server sends for one of its users (RFC 6121 4.3.2), if the subscription allows it.
  public func answerProbe(from address: BareJID, to: BareJID, time: Timestamp) {
    guard let user = user(at: to), sessions(of: to, seenBy: JID(address)) != nil else { return }
    showPresence(of: user, to: address, available: true, time: time)
  }
}

/// The work that remains to show users here that their contacts at a domain elsewhere are offline. It is done in pieces
/// (`Limits.departureStep`). A contact who shows a presence meanwhile has a newer record, and is left as they are.
public struct Departure: Sendable {
  let domain: String
  /// The realm of the contacts.
  let realm: RealmID
  /// The domain of those to whom it is shown; `nil` for all of the home, by the link of a component, whose users have no records.
  let local: String?
  let time: Timestamp
  /// The newest record of the beginning.
  let stamp: Int
  /// The contacts whose records are still to be ended.
  var contacts: [BareJID]
  /// The users who are still to be shown those of their contacts as offline who have no record. They come first: a record that is still
  /// to be ended shows it to all who see its contact, also to those who come online meanwhile.
  var viewers: [UserID]
  /// The user whose contacts are being shown, and these contacts.
  var viewer: User?
  var unshown: [BareJID] = []

  public var isOver: Bool { contacts.isEmpty && viewers.isEmpty && unshown.isEmpty }

  func concerns(_ online: Hub.Online, of realms: RealmTable) -> Bool {
    let user = online.contactSnapshot.user
    return user.realm == realms.home(of: realm) && local.map { user.address.hasDomain($0) } != false
  }

  func presence(of contact: BareJID, _ resource: String) -> Presence {
    Presence(from: Party(remote: contact, realm: realm), resource: resource, availability: .offline, time: time)
  }
}

extension Parley {
  /// Does the next piece of showing the people of a domain elsewhere as offline, and charges the domain for the deliveries.
  public func goOn(_ departure: inout Departure) {
    let (count, now) = (hub.goOn(&departure), clock.now)
    if count > 0 { sending.budget(of: .domain(departure.domain), now: now).owe(deliveries: count, now: now) }
  }
}
