public import Addresses
public import Basics
import Synchronization

/// The online users and their sessions. The hub is sharded by user; each shard is a mutex that is never held while
/// calling out. The only lock that is taken under another is that of `users`, under that of `addresses`.
///
/// The hub decides about recipients, never about state: everything durable has been committed before it comes here.
///
///     let isOnline = !parley.hub.onlineSessions(of: user.id).isEmpty
public final class Hub: Sendable {
  struct Online: Sendable {
    var contactSnapshot: ContactSnapshot
    var onlineSessions: [OnlineSession]
    /// The lingering sessions, at most `Limits.lingeringMax`.
    var lingering: [Lingering] = []

    var isEmpty: Bool { onlineSessions.isEmpty && lingering.isEmpty }
    /// The presences that are shown to those who may see them.
    var presences: [Presence] { onlineSessions.compactMap(\.presence) + lingering.compactMap(\.onlineSession.presence) }
  }

  /// An app session whose client has lost its connection. It receives nothing and does not suppress pushes, but is
  /// still shown: until its client reconnects, or `unregister` ends it.
  struct Lingering: Sendable {
    let onlineSession: OnlineSession
    let since: Timestamp
  }

  private final class Shard: Sendable {
    let users = Mutex<[UserID: Online]>([:])
    let addresses = Mutex<[BareJID: UserID]>([:])
    /// The times at which users were last available, while the store has an older one or none: of users who are
    /// connected but not available, and of those whose last session has ended until that is committed.
    let lastSeen = Mutex<[UserID: Timestamp]>([:])
  }

  private let shards: [Shard] = (0..<16).map { _ in Shard() }

  /// The links of components, by domain, and the service that has those to other servers.
  private struct Links {
    var components: [String: any LiveSession] = [:]
    var federation: (any FederationService)?
  }
  private let links = Mutex(Links())

  private let guests: GuestRegistry
  let realms: RealmTable
  public let privileges = PrivilegeRegistry()
  public let introduction = Introduction()
  public let remotePresences = RemotePresences()
  let typing = Typing()
  private let clock: any Clock

  init(guests: GuestRegistry, realms: RealmTable, clock: any Clock) {
    self.guests = guests
    self.realms = realms
    self.clock = clock
  }

  private func shard(_ user: UserID) -> Shard { shards[Int(truncatingIfNeeded: user.number & 15)] }
  private func shard(_ address: BareJID) -> Shard { shards[address.hashValue & 15] }

  func online(_ user: UserID) -> Online? { shard(user).users.withLock { $0[user] } }

  // MARK: Reads

  public func onlineSessions(of user: UserID) -> [OnlineSession] { online(user)?.onlineSessions ?? [] }
  /// Returns the sessions of a user, or of all users for nil, including lingering ones.
  public func allSessions(of user: UserID?) -> [OnlineSession] {
    (user.map { online($0).map { [$0] } ?? [] } ?? allOnline()).flatMap { online in
      online.onlineSessions + online.lingering.map(\.onlineSession)
    }
  }
  /// Returns the sessions of a user; for a remote user, the link to their server from that of `other`, if there is one.
  func onlineSessions(of party: Party, seenFrom other: Party) -> [OnlineSession] {
    guard party.realm.isRemote else { return onlineSessions(of: party.id) }
    return link(from: other.address, to: party.address)
      .map { [OnlineSession(session: $0, door: .remote, resource: "")] } ?? []
  }
  public func contactSnapshot(of user: UserID) -> ContactSnapshot? { online(user)?.contactSnapshot }
  /// Returns the id of an online user by address; `nil` if they are not online.
  public func user(at address: BareJID) -> UserID? { shard(address).addresses.withLock { $0[address] } }
  /// Returns an online user by address, if they are of the party's home. Those of another realm of this server are
  /// reached as on another server.
  func online(at address: BareJID, near party: Party) -> Online? {
    guard let other = user(at: address).flatMap({ online($0) }),
      other.contactSnapshot.user.realm == realms.home(of: party.realm)
    else { return nil }
    return other
  }
  public func isOnline(_ user: UserID) -> Bool { !presences(of: user).isEmpty }
  /// Returns the presences of the user's sessions, including lingering ones.
  public func presences(of user: UserID) -> [Presence] { online(user)?.presences ?? [] }

  /// Returns the presence that represents the user: highest priority, then latest.
  public func presence(of user: UserID) -> Presence? { Self.first(of: presences(of: user)) }

  /// Returns the same for a user elsewhere, as they have shown themselves to one here.
  public func presence(of contact: BareJID, toldTo viewer: BareJID) -> Presence? {
    Self.first(of: remotePresences.presences(of: contact, toldTo: viewer))
  }

  private static func first(of presences: [Presence]) -> Presence? {
    presences.max { ($0.priority, $0.time.milliseconds) < ($1.priority, $1.time.milliseconds) }
  }

  /// Returns the time at which a user was last available, as those who saw them were told.
  public func lastSeen(of user: User) -> Timestamp? {
    shard(user.id).lastSeen.withLock { $0[user.id] } ?? user.lastSeenAt
  }

  /// Forgets the time at which a user was last available, up to one that the store has now.
  func forgetLastSeen(of user: UserID, until time: Timestamp) {
    shard(user).lastSeen.withLock { lastSeen in
      if let known = lastSeen[user], known <= time { lastSeen[user] = nil }
    }
  }

  private func setLastSeen(_ time: Timestamp?, of user: UserID) {
    shard(user).lastSeen.withLock { $0[user] = time }
  }

  public var counts: (users: Int, sessions: Int) {
    var users = 0
    var sessions = 0
    for shard in shards {
      shard.users.withLock {
        users += $0.values.count { !$0.onlineSessions.isEmpty }
        for online in $0.values { sessions += online.onlineSessions.count }
      }
    }
    return (users, sessions)
  }

  public var sessions: [any LiveSession] {
    shards.flatMap { shard in shard.users.withLock { $0.values.flatMap { $0.onlineSessions.map(\.session) } } }
  }

  /// Returns the online users of a realm.
  public func users(in realm: RealmID) -> [UserID] {
    shards.flatMap { shard in
      shard.users.withLock { users in
        users.values.filter { $0.contactSnapshot.user.realm == realm && !$0.presences.isEmpty }
          .map(\.contactSnapshot.user.id)
      }
    }
  }

  /// Sends an announcement to every available session of a realm. Returns their number.
  @discardableResult
  func announce(_ announcement: Announcement, in realm: RealmID) -> Int {
    var batch = LaneBatch()
    var count = 0
    for user in users(in: realm) {
      for onlineSession in onlineSessions(of: user) where onlineSession.isAvailable {
        batch.add(.signal(.announcement(announcement), .direct), to: onlineSession.session)
        count += 1
      }
    }
    batch.send()
    return count
  }
  // MARK: Links (see Links.swift)

  func link(domain: String) -> (any LiveSession)? { links.withLock { $0.components[domain] } }

  /// The service that connects this server to others; `nil` if it does not federate.
  public var federation: (any FederationService)? { links.withLock { $0.federation } }
  /// Sets the service that connects this server to others; called once, at start, before any session opens.
  public func setFederation(_ service: any FederationService) { links.withLock { $0.federation = service } }

  func links(to domain: String) -> (component: (any LiveSession)?, federation: (any FederationService)?) {
    links.withLock { ($0.components[domain], $0.federation) }
  }

  func withComponents<Result>(_ body: (inout [String: any LiveSession]) -> Result) -> Result {
    links.withLock { body(&$0.components) }
  }

  func allOnline() -> [Online] { shards.flatMap { shard in shard.users.withLock { Array($0.values) } } }

  // MARK: Registering and unregistering

  /// Registers a session. Returns the session that held its resource, if any.
  func register(_ onlineSession: OnlineSession, contactSnapshot: ContactSnapshot?) -> (any LiveSession)? {
    let party = onlineSession.session.party
    let replaced: (any LiveSession)? = shard(party.id).users.withLock { users in
      if var online = users[party.id] {
        var onlineSession = onlineSession
        func isSame(_ other: OnlineSession) -> Bool {
          other.door == onlineSession.door && other.resource == onlineSession.resource
        }
        let index = online.onlineSessions.firstIndex(where: isSame)
        let old = index.map { online.onlineSessions[$0].session }
        if onlineSession.door == .app {
          // A reconnected client is shown with its previous presence, until it sends one.
          onlineSession.presence =
            index.flatMap { online.onlineSessions[$0].presence }
            ?? online.lingering.first { isSame($0.onlineSession) }?.onlineSession.presence
          onlineSession.isReturning = onlineSession.isAvailable
          online.lingering.removeAll { isSame($0.onlineSession) }
        }
        if let index {
          online.onlineSessions[index] = onlineSession
        } else {
          online.onlineSessions.append(onlineSession)
        }
        users[party.id] = online
        return old
      }
      guard let contactSnapshot else { return nil }
      users[party.id] = Online(contactSnapshot: contactSnapshot, onlineSessions: [onlineSession])
      return nil
    }
    shard(party.address).addresses.withLock { $0[party.address] = party.id }
    return replaced
  }

  /// Changes the record of a session; does nothing if it is not registered.
  public func update(_ session: any LiveSession, _ change: (inout OnlineSession) -> Void) {
    shard(session.party.id).users.withLock { users in
      guard let index = users[session.party.id]?.onlineSessions.firstIndex(where: { $0.session === session }) else {
        return
      }
      change(&users[session.party.id]!.onlineSessions[index])  // found just above
    }
  }

  /// Replaces the session object of an online session: resumption (XEP-0198 5) broadcasts nothing. The session becomes
  /// connected and active (XEP-0352 5.1). Does nothing if the old session is not registered.
  func replace(_ old: any LiveSession, with new: any LiveSession) {
    update(old) {
      $0.session = new
      $0.isConnected = true
      $0.isInactive = false
    }
  }

  /// Lets an app session linger whose client has lost its connection and may reconnect: no one is told of the loss.
  ///
  /// - Returns: `false` if the session is not available, or too many linger: then it must be unregistered now.
  ///   Otherwise `unregister` ends it if the client does not reconnect.
  public func linger(_ session: any LiveSession, time: Timestamp) -> Bool {
    shard(session.party.id).users.withLock { users in
      guard var online = users[session.party.id], online.lingering.count < Limits.lingeringMax,
        let index = online.onlineSessions.firstIndex(where: { $0.session === session }),
        online.onlineSessions[index].isAvailable
      else { return false }
      var onlineSession = online.onlineSessions.remove(at: index)
      onlineSession.isConnected = false
      online.lingering.append(Lingering(onlineSession: onlineSession, since: time))
      users[session.party.id] = online
      return true
    }
  }

  /// Removes a session and, if it was available, tells everyone who saw it. The time of a lingering one is that of its
  /// loss. Does nothing if it is not registered, or its client has reconnected.
  public func unregister(_ session: any LiveSession, time: Timestamp) {
    let party = session.party
    let gone: (onlineSession: OnlineSession, online: Online, last: Bool, lingered: Bool, time: Timestamp)? =
      shard(party.id).users.withLock { users in
        guard var online = users[party.id] else { return nil }
        var time = time
        var hasLingered = false
        let onlineSession: OnlineSession
        if let index = online.onlineSessions.firstIndex(where: { $0.session === session }) {
          onlineSession = online.onlineSessions.remove(at: index)
        } else if let index = online.lingering.firstIndex(where: { $0.onlineSession.session === session }) {
          let lingered = online.lingering.remove(at: index)
          (onlineSession, time) = (lingered.onlineSession, lingered.since)
          hasLingered = true
        } else {
          return nil
        }
        users[party.id] = online.isEmpty ? nil : online
        return (onlineSession, online, online.isEmpty, hasLingered, time)
      }
    guard let gone else { return }
    if gone.last {
      // Checked under the lock: a registering session sets its address after `users`.
      shard(party.address).addresses.withLock { addresses in
        if online(party.id) == nil { addresses[party.address] = nil }
      }
    }
    let wasAvailable = gone.onlineSession.isAvailable
    endTyping(of: party.address, resource: gone.onlineSession.resource)
    guard wasAvailable || !gone.onlineSession.directed.isEmpty else { return }
    // The loss of one that has lingered is in the store already.
    if wasAvailable, gone.online.presences.isEmpty, !(gone.last && gone.lingered) {
      setLastSeen(gone.time, of: party.id)
    }
    let unavailable = Presence(
      from: party, resource: gone.onlineSession.resource, availability: .offline, time: gone.time)
    var batch = LaneBatch()
    if wasAvailable { broadcast(unavailable, isNews: true, online: gone.online, into: &batch) }
    directedEnd(unavailable, gone.onlineSession.directed, contactSnapshot: gone.online.contactSnapshot, into: &batch)
    batch.send()
  }

  // MARK: Contact snapshots

  /// Replaces the contact snapshot of an online user.
  func setContactSnapshot(_ user: UserID, _ make: (ContactSnapshot) -> ContactSnapshot) {
    guard let old = contactSnapshot(of: user) else { return }
    let new = make(old)
    shard(user).users.withLock { $0[user]?.contactSnapshot = new }
  }

  // MARK: Presence

  /// Sets the availability of a session (RFC 6121 4.2 to 4.5): subscribers and the user's own resources are told; an
  /// initial presence is answered with those of the contacts' and the user's other resources.
  public func setPresence(_ presence: Presence, of session: any LiveSession) {
    let party = session.party
    let change: (before: OnlineSession, online: Online)? = shard(party.id).users.withLock { users in
      guard let index = users[party.id]?.onlineSessions.firstIndex(where: { $0.session === session }) else {
        return nil
      }
      let before = users[party.id]!.onlineSessions[index]  // found just above
      users[party.id]!.onlineSessions[index].presence = presence.isAvailable ? presence : nil
      users[party.id]!.onlineSessions[index].isReturning = false
      if !presence.isAvailable { users[party.id]!.onlineSessions[index].directed = [] }
      return (before, users[party.id]!)
    }
    guard let change else { return }
    // An unavailable presence of an unavailable session is not relayed.
    if !presence.isAvailable && !change.before.isAvailable && change.before.directed.isEmpty { return }
    if presence.isAvailable {
      if !change.before.isAvailable { setLastSeen(nil, of: party.id) }
    } else if change.before.isAvailable {
      if change.online.presences.isEmpty { setLastSeen(presence.time, of: party.id) }
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
      directedEnd(presence, change.before.directed, contactSnapshot: change.online.contactSnapshot, into: &batch)
    } else if !change.before.isAvailable || change.before.isReturning {
      probe(for: session, online: change.online, into: &batch)
    }
    batch.send()
  }

  /// Sends the presences of contacts to a session that has just become available (RFC 6121 4.3).
  private func probe(for session: any LiveSession, online: Online, into batch: inout LaneBatch) {
    for contact in online.contactSnapshot.subscriptions {
      guard let other = self.online(contact), !areApart(online.contactSnapshot, other.contactSnapshot) else { continue }
      for presence in other.presences { batch.add(.signal(.presence(presence), .direct), to: session) }
    }
    let own = online.onlineSessions.first { $0.session === session }?.presence
    for presence in online.presences where presence !== own {
      batch.add(.signal(.presence(presence), .direct), to: session)
    }
    // Those elsewhere of whom nothing is known are asked.
    let unknown = online.contactSnapshot.remoteSubscriptions.filter { contact in
      let presences = remotePresences.presences(of: contact, toldTo: session.party.address)
      if shuns(online.contactSnapshot, JID(contact)) { return false }
      for presence in presences { batch.add(.signal(.presence(presence), .direct), to: session) }
      return presences.isEmpty
    }
    probe(unknown, for: session.party, contactSnapshot: online.contactSnapshot, into: &batch)
  }

  /// Sends a presence to everyone who may see it: subscribers' available sessions and the user's own (RFC 6121 4.2.2,
  /// 4.4.2, 4.5.2).
  ///
  /// - Parameter isNews: whether the session became available or unavailable.
  private func broadcast(_ presence: Presence, isNews: Bool, online: Online, into batch: inout LaneBatch) {
    let contactSnapshot = online.contactSnapshot
    for subscriber in contactSnapshot.subscribers {
      guard let other = self.online(subscriber), !areApart(contactSnapshot, other.contactSnapshot) else { continue }
      for onlineSession in other.onlineSessions where onlineSession.isAvailable {
        batch.add(.signal(.presence(presence), .direct), to: onlineSession.session)
      }
    }
    for onlineSession in online.onlineSessions where onlineSession.isAvailable {
      batch.add(.signal(.presence(presence), .direct), to: onlineSession.session)
    }
    show(presence, to: contactSnapshot.remoteSubscribers, contactSnapshot: contactSnapshot, into: &batch)
    // Each component gets it once, independently of the number of recipients among its users (XEP-0356 7).
    let isSeen = !contactSnapshot.subscribers.isEmpty
    for link in links(of: contactSnapshot.user.realm, where: { $0.presence.covers(isNews: isNews, isSeen: isSeen) })
    where !contactSnapshot.blocks(JID(link.party.address)) {
      batch.add(.signal(.shown(presence, to: link.party.address), .direct), to: link)
    }
  }

  private func directedEnd(
    _ presence: Presence, _ targets: [BareJID], contactSnapshot: ContactSnapshot, into batch: inout LaneBatch
  ) {
    show(
      presence, to: targets.filter { contactSnapshot.contacts[$0]?.subscription.from != true },
      contactSnapshot: contactSnapshot, into: &batch)
    for address in targets {
      guard let other = online(at: address, near: presence.from) else { continue }
      // Subscribers have received the broadcast.
      if contactSnapshot.contacts[address]?.subscription.from == true { continue }
      if shuns(other.contactSnapshot, JID(contactSnapshot.user.address)) { continue }
      for onlineSession in other.onlineSessions where onlineSession.isAvailable {
        batch.add(.signal(.presence(presence), .direct), to: onlineSession.session)
      }
    }
  }

  /// Sends directed presence (RFC 6121 4.6) to one user, who is remembered until it ends.
  public func direct(_ presence: Presence, of session: any LiveSession, to address: BareJID, resource: String?) {
    // Guests show their presence only in rooms.
    guard guests.may(.messages, session.party.id) else { return }
    update(session) { onlineSession in
      onlineSession.directed.removeAll { $0 == address }
      if presence.isAvailable {
        if onlineSession.directed.count >= Limits.directedMax { onlineSession.directed.removeFirst() }
        onlineSession.directed.append(address)
      }
    }
    var batch = LaneBatch()
    let other = online(at: address, near: session.party)
    if other == nil, let link = link(from: session.party.address, to: address) {
      batch.add(.signal(.shown(presence, to: address), .direct), to: link)
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
      if let link { batch.add(.signal(.shown(shown, to: viewer), .direct), to: link) }
      for target in other?.onlineSessions ?? [] where target.isAvailable {
        batch.add(.signal(.presence(shown), .direct), to: target.session)
      }
    }
    batch.send()
  }

  private func shuns(_ contactSnapshot: ContactSnapshot, _ jid: JID) -> Bool {
    !contactSnapshot.blocks.isEmpty && contactSnapshot.blocks(jid)
  }
  /// Returns whether one of them blocks the other.
  private func areApart(_ one: ContactSnapshot, _ other: ContactSnapshot) -> Bool {
    shuns(one, JID(other.user.address)) || shuns(other, JID(one.user.address))
  }

  // MARK: Signals

  /// Relays a signal. Returns `false` if no session could take it (RFC 6121 8.5: then the caller refuses an IQ, or
  /// bounces a message).
  @discardableResult
  public func signal(_ signal: Signal, from session: (any LiveSession)?, party: Party, to target: SignalTarget) -> Bool
  {
    guard mayPass(signal, from: party, to: target) else { return false }
    var batch = LaneBatch()
    let taken = route(signal, from: session?.id, party: party, to: target, into: &batch)
    batch.send()
    return taken
  }

  /// Returns whether the party may send the signal: guests cannot send relayed stanzas to users, except IQ results and
  /// errors.
  private func mayPass(_ signal: Signal, from party: Party, to target: SignalTarget) -> Bool {
    guard case .user(let address, _) = target, address != party.address, !guests.may(.messages, party.id) else {
      return true
    }
    if case .stanza(let stanza) = signal, case .iq(let type) = stanza.name {
      return type == "result" || type == "error"
    }
    return false
  }

  func route(
    _ signal: Signal, from session: SessionID?, party: Party, to target: SignalTarget, into batch: inout LaneBatch
  ) -> Bool {
    guard case .stanza(let stanza) = signal, let isTyping = stanza.typing, case .user(let address, _) = target else {
      return relay(signal, from: session, party: party, to: target, into: &batch)
    }
    switch note(stanza, isTyping, to: address) {
    case .everyone:
      let taken = relay(signal, from: session, party: party, to: target, into: &batch)
      // Who has blocked the author meanwhile may have seen the beginning.
      if !taken, !isTyping { tellApps(stanza, of: address, into: &batch) }
      return taken
    case .clients:
      return relay(.stanza(stanza.withoutTyping()), from: session, party: party, to: target, into: &batch)
    case .apps:
      let other = online(at: address, near: party)
      if let other, !shuns(other.contactSnapshot, JID(party.address)) { tellApps(stanza, of: address, into: &batch) }
      return true
    case .no: return true
    }
  }

  private func relay(
    _ signal: Signal, from session: SessionID?, party: Party, to target: SignalTarget, into batch: inout LaneBatch
  ) -> Bool {
    var taken = false
    switch target {
    case .subscribers: return tellSubscribers(signal, from: session, of: party, into: &batch)
    case .user(let address, let resource):
      let other = online(at: address, near: party)
      if other == nil, let link = link(from: party.address, to: address) {
        batch.add(.signal(signal, .direct), to: link)
        if case .stanza(let stanza) = signal { copy(stanza, session, into: &batch) }
        return true
      }
      if let other, shuns(other.contactSnapshot, JID(party.address)) { return false }
      guard case .stanza(let stanza) = signal else {
        for onlineSession in other?.onlineSessions ?? [] {
          // A call signal is for one device.
          if case .call = signal, onlineSession.door != .app || onlineSession.resource != resource { continue }
          batch.add(.signal(signal, .direct), to: onlineSession.session)
          taken = true
        }
        return taken
      }
      switch stanza.name {
      case .iq:
        guard let resource,
          let onlineSession = other?.onlineSessions.first(where: { $0.door == .xmpp && $0.resource == resource })
        else { return false }
        batch.add(.signal(signal, .direct), to: onlineSession.session)
        taken = true
      case .presence:
        for onlineSession in other?.onlineSessions ?? [] where onlineSession.door == .xmpp {
          guard resource.map({ $0 == onlineSession.resource }) ?? onlineSession.isAvailable else { continue }
          batch.add(.signal(signal, .direct), to: onlineSession.session)
          taken = true
        }
      case .message(let type):
        let kind = Routing.Kind(type)
        let copies = !stanza.isPrivate && kind == .conversation
        Routing.recipients(
          other?.onlineSessions ?? [], resource: resource, kind: kind, copies: copies, except: session
        ) { receiver, form in
          batch.add(.signal(signal, form), to: receiver)
          taken = true
        }
        if address != party.address { copy(stanza, session, into: &batch) }
      }
    }
    return taken
  }

  /// Sends a signal to everyone who may see the author's presence, and to the author's other sessions.
  ///
  /// - Parameter contactSnapshot: the author's, if they are not online, as a profile can change without a session.
  /// - Returns: `false` if there is no recipient.
  @discardableResult
  func tellSubscribers(
    _ signal: Signal, from session: SessionID?, of party: Party, contactSnapshot: ContactSnapshot? = nil,
    into batch: inout LaneBatch
  ) -> Bool {
    guard let contactSnapshot = self.contactSnapshot(of: party.id) ?? contactSnapshot else { return false }
    var taken = false
    for user in contactSnapshot.subscribers + [party.id] {
      guard let other = online(user), user == party.id || !areApart(contactSnapshot, other.contactSnapshot) else {
        continue
      }
      for onlineSession in other.onlineSessions where onlineSession.session.id != session {
        batch.add(.signal(signal, .direct), to: onlineSession.session)
        taken = true
      }
    }
    return taken
  }

  // MARK: Typing

  /// Records a chat state in a private dialog; that of an XMPP client only if there is an app session to show it.
  private func note(_ stanza: RelayedStanza, _ isTyping: Bool, to address: BareJID) -> Typing.Audience {
    if !stanza.isTypingOfApp {
      let isShown = isTyping ? !appSessions(at: address, near: stanza.from).isEmpty : !typing.isEmpty
      if !isShown { return .everyone }
    }
    return typing.note(stanza, isTyping, at: .user(address), now: clock.now)
  }

  private func appSessions(at address: BareJID, near party: Party) -> [OnlineSession] {
    online(at: address, near: party)?.onlineSessions.filter { $0.door == .app } ?? []
  }

  private func tellApps(_ stanza: RelayedStanza, of address: BareJID, into batch: inout LaneBatch) {
    for onlineSession in appSessions(at: address, near: stanza.from) {
      batch.add(.signal(.stanza(stanza), .feed), to: onlineSession.session)
    }
  }

  /// Ends a user's typing in private dialogs that a session began.
  func endTyping(of author: BareJID, resource: String) {
    if typing.isEmpty { return }
    var batch = LaneBatch()
    for record in typing.take(of: author, resource: resource) { end(record, into: &batch) }
    batch.send()
  }

  /// Tells the other user of a private dialog that typing has ended, as far as it is the core's to tell (`Typing`).
  func end(_ record: Typing.Record, into batch: inout LaneBatch) {
    guard case .user(let address) = record.place else { return }
    let ended = record.ended
    let target = SignalTarget.user(address, resource: nil)
    if record.isOfApp, relay(.stanza(ended), from: nil, party: ended.from, to: target, into: &batch) { return }
    // Who has blocked the author meanwhile has seen the beginning.
    tellApps(ended, of: address, into: &batch)
  }

  /// Copies a relayed message to the author's other sessions.
  private func copy(_ stanza: RelayedStanza, _ session: SessionID?, into batch: inout LaneBatch) {
    guard case .message(let type) = stanza.name, !stanza.isPrivate, Routing.Kind(type) == .conversation else { return }
    Routing.copies(onlineSessions(of: stanza.from.id), copies: true, except: session) { receiver, form in
      // App sessions are not told what their own user does elsewhere.
      if form == .carbonSent { batch.add(.signal(.stanza(stanza), form), to: receiver) }
    }
  }

  /// Ends sessions of a user: all, or those a predicate picks, lingering ones included.
  public func close(_ user: UserID, _ reason: CloseReason, where picks: (OnlineSession) -> Bool = { _ in true }) {
    var batch = LaneBatch()
    close(user, reason, where: picks, into: &batch)
    batch.send()
  }

  func close(
    _ user: UserID, _ reason: CloseReason, where picks: (OnlineSession) -> Bool = { _ in true },
    into batch: inout LaneBatch
  ) {
    guard let online = online(user) else { return }
    for onlineSession in online.onlineSessions + online.lingering.map(\.onlineSession) where picks(onlineSession) {
      batch.add(.signal(.closed(reason), .direct), to: onlineSession.session)
    }
  }
}
