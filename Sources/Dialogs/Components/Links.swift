public import Addresses
public import Basics

/// Links to other servers. Theory:
///
/// Beside the sessions of local users the hub knows links: a live session that represents all users of one remote
/// domain, today a component (XEP-0114). Deliveries to such a user go to the link, in the order of the log like all
/// others; their stanzas come from it as posts of a remote author and as signals. Their roster, presence and blocks are
/// stored by their own server: here is only the side of the local user.
extension Hub {
  func link(to address: BareJID) -> (any LiveSession)? { link(domain: address.domain) }

  /// Returns the links of a realm's components with a privilege (XEP-0356).
  func links(of realm: RealmID, where test: (Privileges) -> Bool) -> [any LiveSession] {
    let holders = privileges.holders(in: realm, where: test)
    if holders.isEmpty { return [] }
    return withLinks { links in links.values.filter { holders.contains($0.party.realm) } }
  }

  /// Registers the link to a domain. Returns `false` if there already is one, which stays.
  public func attach(_ link: any LiveSession, domain: String) -> Bool {
    withLinks { links in
      if links[domain] != nil { return false }
      links[domain] = link
      return true
    }
  }

  /// Removes a link: those who see the presence of its users are told that they are offline.
  public func detach(_ link: any LiveSession, domain: String, time: Timestamp) {
    let wasThere = withLinks { links in
      guard links[domain] === link else { return false }
      links[domain] = nil
      return true
    }
    guard wasThere else { return }
    var batch = LaneBatch()
    for online in allOnline() {
      for address in online.contactSnapshot.remoteSubscriptions where address.domain == domain {
        let gone = Presence(
          from: Party(remote: address, realm: link.party.realm), resource: "", availability: .offline, time: time)
        for onlineSession in online.onlineSessions where onlineSession.isAvailable {
          batch.add(.signal(.presence(gone), .direct), to: onlineSession.session)
        }
      }
    }
    batch.send()
  }

  // MARK: To other servers

  func show(_ presence: Presence, to viewers: [BareJID], contactSnapshot: ContactSnapshot, into batch: inout LaneBatch)
  {
    for viewer in viewers {
      guard let link = link(to: viewer), contactSnapshot.blocks.isEmpty || !contactSnapshot.blocks(JID(viewer)) else {
        continue
      }
      batch.add(.signal(.shown(presence, to: viewer), .direct), to: link)
    }
  }

  /// Sends presence probes (RFC 6121 4.3), which the remote server answers.
  func probe(_ contacts: [BareJID], for party: Party, contactSnapshot: ContactSnapshot, into batch: inout LaneBatch) {
    for contact in contacts {
      guard let link = link(to: contact), contactSnapshot.blocks.isEmpty || !contactSnapshot.blocks(JID(contact)) else {
        continue
      }
      let probe = RelayedStanza(
        name: .presence("probe"), from: party, fromResource: nil, to: contact, toResource: nil, id: nil, extras: [])
      batch.add(.signal(.stanza(probe), .direct), to: link)
    }
  }

  // MARK: From other servers

  /// Delivers the presence of a remote user to a local user: to their available resources, or to the addressed one. App
  /// sessions get presences of contacts only.
  public func present(_ presence: Presence, to address: BareJID) {
    let from = presence.from.address
    if !presence.isAvailable { endTyping(of: from, resource: presence.resource) }
    guard let user = user(at: address), let online = online(user) else { return }
    let full = presence.resource.isEmpty ? JID(from) : (try? JID("\(from)/\(presence.resource)")) ?? JID(from)
    if !online.contactSnapshot.blocks.isEmpty, online.contactSnapshot.blocks(full) { return }
    let isContact = online.contactSnapshot.contacts[from]?.subscription.to == true
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
        batch.add(.signal(.shown(presence, to: link.party.address), .direct), to: link)
      }
    }
    batch.send()
  }

  /// Answers a probe that a server sends for one of its users (RFC 6121 4.3.2), if the subscription allows it.
  public func answerProbe(from address: BareJID, to: BareJID, time: Timestamp) {
    guard let user = user(at: to), sessions(of: to, seenBy: JID(address)) != nil else { return }
    showPresence(of: user, to: address, available: true, time: time)
  }
}
