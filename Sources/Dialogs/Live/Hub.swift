public import Addresses
public import Basics
public import ServerMetrics
import Synchronization

/// The online users and their sessions. The hub is sharded by user; each shard is a mutex that is never held while
/// calling out. The only locks that are taken under another are that of `users`, under that of `addresses`, and those of
/// `viewers` and of `memory`, under that of `users`; under that of `memory` its bound's is taken.
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
    /// The network in which what is kept for the user counts; `nil` if it is too little to count (`countMemory`).
    var countedIn: String?

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

  final class Shard: Sendable {
    let users = Mutex<[UserID: Online]>([:])
    let addresses = Mutex<[BareJID: UserID]>([:])
    let lastSeen = Mutex(LastSeen())
    /// The users of `users` who see the presence of contacts at a domain elsewhere, by domain. So a domain that goes or
    /// returns costs by those whom it concerns, not by all who are online. It has at most one entry for each remote
    /// subscription of an online user (`Limits.contactsMax`), and is changed under the lock of `users` only.
    let viewers = Mutex<[String: Set<UserID>]>([:])

    /// Notes at which of these domains a user has subscriptions now: none without a snapshot.
    func note(_ user: UserID, at domains: [String], in snapshot: ContactSnapshot?) {
      viewers.withLock { viewers in
        for domain in domains {
          if snapshot?.own.remoteSubscriptions[domain] != nil {
            viewers[domain, default: []].insert(user)
          } else {
            viewers[domain]?.remove(user)
            if viewers[domain]?.isEmpty == true { viewers[domain] = nil }
          }
        }
      }
    }
  }

  private let shards: [Shard] = (0..<16).map { _ in Shard() }

  /// The links of components, by domain, and the service that has those to other servers.
  struct Links {
    var components: [String: any LiveSession] = [:]
    var federation: (any FederationService)?
  }
  let links = Mutex(Links())

  let guests: GuestRegistry
  let realms: RealmTable
  public let contactGroups: ContactGroupRegistry
  public let privileges = PrivilegeRegistry()
  public let introduction = Introduction()
  public let remotePresences: RemotePresences
  let typing = Typing()
  let bookmarkLists = BookmarkLists()
  let newDomains = NewDomains()
  /// The memory of what is kept for users who are online.
  let memory: OnlineMemory
  let clock: any Clock

  init(
    guests: GuestRegistry, realms: RealmTable, contactGroups: ContactGroupRegistry, remotePresences: RemotePresences,
    memory: OnlineMemory, clock: any Clock
  ) {
    self.memory = memory
    self.guests = guests
    self.remotePresences = remotePresences
    self.contactGroups = contactGroups
    self.realms = realms
    self.clock = clock
  }

  func shard(_ user: UserID) -> Shard { shards[Int(truncatingIfNeeded: user.number & 15)] }
  func shard(_ address: BareJID) -> Shard { shards[address.hashValue & 15] }

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

  static func first(of presences: [Presence]) -> Presence? {
    presences.max { ($0.priority, $0.time.milliseconds) < ($1.priority, $1.time.milliseconds) }
  }

  /// Returns the time at which a user was last available, as those who saw them were told.
  public func lastSeen(of user: User) -> Timestamp? {
    shard(user.id).lastSeen.withLock { $0[user.id]?.time } ?? user.lastSeenAt
  }

  /// Returns the status of the unavailable presence with which a user has left.
  ///
  /// - Parameter stored: the one in the store, which may be older.
  public func lastStatus(of user: UserID, stored: String?) -> String? {
    guard let known = lastPresence(of: user) else { return stored }
    return known.status
  }

  /// Returns how a user was last available, as far as this process knows.
  func lastPresence(of user: UserID) -> LastPresence? { shard(user).lastSeen.withLock { $0[user] } }

  /// Notes that the store has the time at which a user was last available.
  func lastSeenWasStored(_ time: Timestamp, of user: UserID) {
    shard(user).lastSeen.withLock { $0.wasStored(time, of: user) }
  }

  func setLastPresence(_ presence: LastPresence?, of user: UserID) {
    shard(user).lastSeen.withLock { $0[user] = presence }
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

  /// The sessions of clients for metrics, each counted once. A shard's lock, which deliveries take, is held for the copying of
  /// references only.
  public var sessionCounts: (users: Int, byKind: [SessionKind: Int], lagging: [ClientDoor: Int]) {
    var users = 0
    // By number: a dictionary would be asked once for each session.
    var byKind = [Int](repeating: 0, count: SessionKind.allCases.count)
    var lagging = [Int](repeating: 0, count: ClientDoor.allCases.count)
    for shard in shards {
      let online = shard.users.withLock { $0.values.map { ($0.onlineSessions, $0.lingering.count) } }
      for (onlineSessions, lingering) in online {
        users += onlineSessions.isEmpty ? 0 : 1
        // By index: a copy would count the references of all that a session has.
        for index in onlineSessions.indices {
          byKind[onlineSessions[index].kind.rawValue] += 1
          guard onlineSessions[index].isConnected, onlineSessions[index].session.leavesUnread else { continue }
          lagging[(onlineSessions[index].door == .app ? ClientDoor.app : .xmpp).rawValue] += 1
        }
        byKind[SessionKind.appNone.rawValue] += lingering
      }
    }
    return (users, Self.named(byKind), Self.named(lagging))
  }

  private static func named<S: Series>(_ counts: [Int]) -> [S: Int] {
    Dictionary(uniqueKeysWithValues: S.allCases.map { ($0, counts[$0.rawValue]) })
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
    let users = users(in: realm)
    batch.spread(.realm(realm), to: users.count) { batch in
      for user in users {
        for onlineSession in onlineSessions(of: user) where onlineSession.isAvailable {
          batch.add(.signal(.announcement(announcement), .direct), to: onlineSession.session)
          count += 1
        }
      }
    }
    batch.send()
    return count
  }
  // MARK: Links (see Links.swift)

  func link(domain: String) -> (any LiveSession)? { links.withLock { $0.components[domain] } }

  /// The service that connects this server to others; `nil` if it does not federate.
  public var federation: (any FederationService)? { links.withLock { $0.federation } }
  /// Returns the reason why nothing of the rooms of this server is for a user; `nil` if it is.
  public func refusalOfRooms(to party: Party) -> Problem? {
    guard realms.isFederated(party.realm), federation?.rooms == .off else { return nil }
    return Problem.roomsNotFederated
  }
  /// Sets the service that connects this server to others: at start, before any session opens. The service has the core, and the core has the
  /// service until it is set to `nil`.
  public func setFederation(_ service: (any FederationService)?) { links.withLock { $0.federation = service } }

  func links(to domain: String) -> (component: (any LiveSession)?, federation: (any FederationService)?) {
    links.withLock { ($0.components[domain], $0.federation) }
  }

  func withComponents<Result>(_ body: (inout [String: any LiveSession]) -> Result) -> Result {
    links.withLock { body(&$0.components) }
  }

  func allOnline() -> [Online] { shards.flatMap { shard in shard.users.withLock { Array($0.values) } } }

  /// Returns the online users who see the presence of contacts at a domain elsewhere.
  func viewers(at domain: String) -> [UserID] {
    shards.flatMap { shard in shard.viewers.withLock { Array($0[domain] ?? []) } }
  }

  // MARK: Registering and unregistering

  /// Registers a session. Returns the session that held its resource, if any.
  func register(_ onlineSession: OnlineSession, contactSnapshot: ContactSnapshot?) -> (any LiveSession)? {
    let party = onlineSession.session.party
    let shard = self.shard(party.id)
    let replaced: (any LiveSession)? = shard.users.withLock { users in
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
      shard.note(party.id, at: Array(contactSnapshot.own.remoteSubscriptions.keys), in: contactSnapshot)
      return nil
    }
    self.shard(party.address).addresses.withLock { $0[party.address] = party.id }
    countMemory(of: party.id)
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
      $0.doorBytes = 0
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
  /// loss. Does nothing if it is not registered, or its client has reconnected. Returns the number of deliveries as
  /// `setPresence` does.
  @discardableResult
  public func unregister(_ session: any LiveSession, time: Timestamp) -> Int {
    let party = session.party
    let shard = self.shard(party.id)
    let gone: (onlineSession: OnlineSession, online: Online, last: Bool, lingered: Bool, time: Timestamp)? =
      shard.users.withLock { users in
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
        if online.isEmpty {
          if let network = online.countedIn { memory.set(0, of: party.id, in: network) }
          shard.note(party.id, at: Array(online.contactSnapshot.own.remoteSubscriptions.keys), in: nil)
        }
        return (onlineSession, online, online.isEmpty, hasLingered, time)
      }
    guard let gone else { return 0 }
    if gone.last {
      // Checked under the lock: a registering session sets its address after `users`.
      self.shard(party.address).addresses.withLock { addresses in
        if online(party.id) == nil { addresses[party.address] = nil }
      }
      if let network = gone.online.countedIn { holdMemory(of: network) }
    } else {
      countMemory(of: party.id)
    }
    let wasAvailable = gone.onlineSession.isAvailable
    endTyping(of: party.address, resource: gone.onlineSession.resource)
    guard wasAvailable || !gone.onlineSession.directed.addresses.isEmpty else { return 0 }
    // The loss of one that has lingered is in the store already.
    if wasAvailable, gone.online.presences.isEmpty, !(gone.last && gone.lingered) {
      setLastPresence(LastPresence(time: gone.time), of: party.id)
    }
    let unavailable = Presence(
      from: party, resource: gone.onlineSession.resource, availability: .offline, time: gone.time)
    var batch = LaneBatch()
    if wasAvailable { broadcast(unavailable, isNews: true, online: gone.online, into: &batch) }
    directedEnd(
      unavailable, gone.onlineSession.directed.addresses, contactSnapshot: gone.online.contactSnapshot, into: &batch)
    let count = batch.fanOutCount
    batch.send()
    return count
  }

  // MARK: Contact snapshots

  /// Replaces the contact snapshot of an online user.
  ///
  /// - Parameter item: the roster item that the new snapshot has, has changed or has no longer; `nil` if all are the same.
  func setContactSnapshot(_ user: UserID, item: BareJID? = nil, _ make: (ContactSnapshot) -> ContactSnapshot) {
    guard let old = contactSnapshot(of: user) else { return }
    let new = make(old)
    let shard = self.shard(user)
    shard.users.withLock { users in
      guard users[user] != nil else { return }
      users[user]?.contactSnapshot = new
      if let item { shard.note(user, at: [item.domain], in: new) }
    }
    countMemory(of: user)
  }

  // MARK: Closing

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

extension OnlineSession {
  fileprivate var kind: SessionKind {
    switch (door, isConnected ? transport : .none) {
    case (.app, .webSocket): .appWebSocket
    case (.app, .events): .appEvents
    case (.app, .poll): .appPoll
    case (.app, _): .appNone
    case (_, .tcp): .xmppTCP
    case (_, .webSocket): .xmppWebSocket
    case (_, .bosh): .xmppBOSH
    case (.xmpp, _), (.remote, _): .xmppNone
    }
  }
}
