public import Addresses
import Basics
public import Dialogs
import HTTPPort
import NIOCore
import Peers
import Synchronization
import XMPP

/// The links to other servers, by pair of domains, and their common limits: the admitted domains, the number of links, and
/// the streams that are opened at once. It passes stanzas from streams to the links of their pairs.
///
///     let federation = Federation(listener, options: options)
///     try await federation.start()
///     await federation.stop()
public final class Federation: FederationService, FederationStreamOwner {
  let door: DoorContext
  let options: FederationOptions
  let mounted: [MountedLoop]
  /// The realms by the domains that this server speaks for.
  private let homes: [String: Realm]
  let servers: ServerStreams
  let group: any EventLoopGroup
  let boundsByNetwork: Bool
  /// The memory of connections that are not verified or logged in.
  let memory: MemoryBound
  let all: OpenConnections
  let proxies: ProxyProtocol?
  /// The listener for streams of other servers, once there is a port.
  let port = Mutex<ServerListener?>(nil)
  let policy: DomainPolicy
  let blocklists: Blocklists
  let zonePosts = ZonePosts()
  /// The tasks that follow block lists and forward reports, until the server stops.
  private let background = Mutex<[Task<Void, Never>]>([])
  /// The remote users whose servers declare them anonymous.
  private let anonymous = Mutex<Set<BareJID>>([])
  private let limits: LinkLimits
  private let state: Mutex<State>

  private struct State {
    var links: [DomainPair: FederationLink] = [:]
    var slots: OpeningSlots<FederationLink>
    var spare = SpareLinks<FederationLink>()
    /// The index of the loop for the next link.
    var next = 0
  }

  /// Creates the service.
  ///
  /// - Parameter servers: Opens streams to other servers and accepts theirs.
  init(
    _ listener: XMPPListener, options: FederationOptions, policy: DomainPolicy, servers: ServerStreams,
    limits: LinkLimits = LinkLimits()
  ) {
    self.limits = limits
    state = Mutex(State(slots: OpeningSlots(max: limits.opening, perZoneMax: limits.openingPerZone)))
    door = listener.door
    self.options = options
    self.policy = policy
    self.servers = servers
    mounted = listener.mounted
    group = listener.group
    boundsByNetwork = listener.boundsByNetwork
    memory = listener.memory
    all = listener.all
    proxies = listener.proxies
    homes = Self.homes(listener.door, options)
    blocklists = Self.blocklists(listener, options)
  }

  private static func blocklists(_ listener: XMPPListener, _ options: FederationOptions) -> Blocklists {
    let (door, home) = (listener.door, listener.door.parley.realms[0])
    return Blocklists(
      options.blocklists, of: home.domain, door.parley, on: listener.mounted[0].lane, logger: door.logger
    ) { type, payload, service in
      guard let server = BareJID(parsing: home.domain) else { return nil }
      return await door.questions.ask(
        type, payload, of: service, from: Party(id: UserID(0), realm: home.id, address: server),
        within: FederationLimits.blocklistAnswer, door.parley.hub)
    }
  }

  /// Returns the domains that the server speaks for, each with its realm.
  static func homes(_ door: DoorContext, _ options: FederationOptions) -> [String: Realm] {
    let parley = door.parley
    var homes: [String: Realm] = [:]
    for realm in parley.realms {
      homes[realm.domain] = realm
      homes[realm.rooms] = realm
      if let pubsub = parley.options.pubsub(realm.domain) { homes[pubsub] = realm }
      if let uploads = door.options.uploads[realm.domain] { homes[uploads] = realm }
    }
    if options.reachesComponents {
      for (domain, component) in door.options.components {
        homes[domain] = parley.realms.first { $0.domain == component.home }
      }
    }
    return homes
  }

  /// Connects the core with other servers, and begins to send waiting rows.
  public func start() async throws(Problem) {
    try await rulesChanged()
    try await blocklists.load()
    door.parley.hub.setFederation(self)
    if !options.blocklists.isEmpty { run { [blocklists] in await blocklists.run() } }
    if options.forwardsReports { run { [timer = reportForwarding.timer] in await timer.run() } }
    let now = door.parley.clock.now
    let (stored, pairs, head) = try await door.parley.read { reader in
      (try reader.records(DomainPairState.self), try reader.outboxPairs(), try reader.head().position)
    }
    let useless = restore(stored, waiting: Set(pairs.map(\.pair)), at: now)
    if !useless.isEmpty { run { [parley = door.parley] in await Self.forget(useless, before: now, parley) } }
    for known in pairs {
      let wait = known.nextAttemptAt.map { $0.milliseconds - now.milliseconds } ?? 0
      guard let link = link(of: known.pair, failures: known.failures) else { continue }
      link.run { $0.owe(through: head) }
      link.mounted.loop.scheduleTask(in: .milliseconds(max(0, wait))) { link.driver.handle(.owed) }
    }
  }

  /// Restores the stored state of pairs. Returns the pairs whose stored state is obsolete, in whole or in part.
  private func restore(_ stored: [DomainPairState], waiting: Set<DomainPair>, at now: Timestamp) -> [DomainPair] {
    var useless: [DomainPair] = []
    for state in stored {
      if let time = state.verifiedAt, now < time + PeerLimits.certificateRemembered {
        useless += policy.verified(state.pair, at: time, isKnown: true).dropped
      } else if state.verifiedAt != nil || !waiting.contains(state.pair) {
        useless.append(state.pair)
      }
    }
    return useless
  }

  /// Deletes old certificates of pairs from the store, and pairs for which nothing waits, a bounded number in each commit.
  private static func forget(_ pairs: [DomainPair], before now: Timestamp, _ parley: Parley) async {
    let most = PeerLimits.certificatesForgottenAtOnce
    for start in stride(from: 0, to: pairs.count, by: most) {
      let some = Array(pairs[start..<min(pairs.count, start + most)])
      do throws(Problem) {
        try await parley.post(.outbox(.unverified(some, before: now)), by: Parley.nobody)
      } catch {
        // Old certificates that could not be deleted are found again at the next start.
        return
      }
    }
  }

  private func run(_ body: @escaping @Sendable () async -> Void) {
    background.withLock { $0.append(Task { await body() }) }
  }

  private var reportForwarding: ReportForwarding {
    let door = door
    let destination = ReportDestination(door.parley.realms) { payload, domain, from in
      await door.questions.ask(
        .get, payload, of: domain, from: from, within: FederationLimits.reportAnswer, door.parley.hub)
    }
    return ReportForwarding(door.parley) { await destination.find($0) }
  }

  /// Ends all streams. Returns when other servers have acknowledged everything written, or after a timeout.
  public func stop() async {
    background.withLock { for task in $0 { task.cancel() } }
    await port.withLock { $0 }?.stopAccepting()
    for end in existing().map({ $0.stop(within: limits.drain) }) { try? await end.get() }
  }

  // MARK: FederationService

  public func refusal(of domain: String, from local: String) -> Problem? {
    if policy.admits(domain) { return nil }
    return Problem(
      .foreign, "domain-not-allowed", "This server does not communicate with \(domain): its operators have decided so.")
  }

  public func isListed(_ address: BareJID) -> Bool { blocklists.isListed(address) }
  public func isAnonymous(_ address: BareJID) -> Bool { anonymous.withLock { $0.contains(address) } }

  /// Notes whether a remote user's server declares their account anonymous (XEP-0489).
  func note(_ address: BareJID, isAnonymous: Bool) {
    anonymous.withLock { anonymous in
      if !isAnonymous {
        anonymous.remove(address)
      } else {
        if anonymous.count >= FederationLimits.anonymousMax { anonymous = [] }
        anonymous.insert(address)
      }
    }
  }

  public var rooms: RemoteRoomPolicy { options.rooms }
  public var strangers: StrangerPolicy { options.strangers }
  public var forwardsReports: Bool { options.forwardsReports }

  public func link(_ pair: DomainPair) -> (any LiveSession)? { link(of: pair) }
  public func hasLink(_ pair: DomainPair) -> Bool { existing(pair) != nil }

  /// Returns the link of a pair, and creates it if needed; `nil` if the domain is refused, or there are too many links.
  ///
  /// - Parameters:
  ///   - loop: The loop of a new link; any if it is `nil`.
  ///   - failures: The attempts that failed before the server was restarted.
  func link(of pair: DomainPair, near loop: (any EventLoop)? = nil, failures: Int = 0) -> FederationLink? {
    if let link = existing(pair) { return link.isAdmitted ? link : nil }
    guard let home = homes[pair.local], pair.local != pair.remote, policy.admits(pair.remote),
      let remote = BareJID(parsing: pair.remote), remote.local == nil, let local = BareJID(parsing: pair.local)
    else { return nil }
    let (found, yielding) = state.withLock { state -> (FederationLink?, [FederationLink]) in
      if let link = state.links[pair] { return (link, []) }
      let yielding = makeRoom(&state)
      guard state.links.count < limits.links else { return (nil, yielding) }
      let place = mounted.first { $0.loop === loop } ?? mounted[state.next % mounted.count]
      state.next += 1
      let link = FederationLink(
        pair, (local, remote), home: home, door: door, on: place, failures: failures, self)
      state.links[pair] = link
      return (link, yielding)
    }
    for link in yielding { link.lane.run { link.driver.handle(.yield) } }
    return found
  }

  /// Forgets the links that have been idle longest, if there are too many. Returns links that must become idle. They are asked some
  /// hundreds at a time, as finding them looks at all zones, and before the limit is reached, as each answers on its own loop.
  private func makeRoom(_ state: inout State) -> [FederationLink] {
    let count = state.links.count
    if count >= limits.links {
      for _ in 0..<limits.retiredAtOnce {
        guard let link = state.spare.takeIdle() else { break }
        state.links[link.pair] = nil
        link.retire()
      }
    }
    guard count >= limits.links - limits.links / FederationLimits.linksSpareShare,
      state.spare.idleCount < limits.retiredAtOnce
    else { return [] }
    return state.spare.takeWaiting(limits.retiredAtOnce)
  }

  /// Notes whether a link is in use from now on.
  func note(_ link: FederationLink, _ use: LinkUse) {
    let zone = DomainZone.of(link.pair.remote)
    state.withLock { state in
      if state.links[link.pair] === link { state.spare.note(link, of: zone, use) }
    }
  }

  /// Passes a delivery for a forgotten link on to the current one of its pair.
  func passOn(_ delivery: Delivery, from retired: FederationLink) {
    guard let link = link(of: retired.pair) else { return }
    link.lane.deliver(delivery, to: link)
  }

  // MARK: Slots to open streams in

  func queue(_ link: FederationLink) {
    let domain = link.pair.remote
    let (zone, isKnown) = (DomainZone.of(domain), isServed(domain) || door.parley.isKnown(domain: domain))
    let isGranted = state.withLock { $0.slots.request(link, of: zone, isKnown: isKnown) }
    if isGranted { link.lane.run { link.driver.slotGranted() } }
  }

  /// Takes the slot from a link, or removes the link from the queue for one.
  func endSlot(of link: FederationLink) {
    if let next = state.withLock({ $0.slots.end(link) }) { next.lane.run { next.driver.slotGranted() } }
  }

  /// Returns whether a link has a slot to open a stream in.
  func hasSlot(_ link: FederationLink) -> Bool { state.withLock { $0.slots.hasSlot(link) } }

  func open(_ link: FederationLink) {
    open(link.pair, on: link.mounted, for: self) { failure in link.lane.run { link.driver.failed(failure) } }
  }

  /// Opens a stream to another server, or to another realm of this process.
  func open(
    _ pair: DomainPair, on mounted: MountedLoop, for owner: any FederationStreamOwner,
    failed: @escaping @Sendable (OpenFailure) -> Void
  ) {
    if isServed(pair.remote) {
      LoopbackOpener { [self] in link(of: $0) }.open(pair, on: mounted, for: owner, failed: failed)
    } else {
      servers.open(pair, on: mounted, for: owner, failed: failed)
    }
  }

  // MARK: FederationStreamOwner

  func opened(_ stream: any FederationStream, for pair: DomainPair, mayWrite: Bool, isCertified: Bool) {
    let handle = stream.handle
    guard let link = link(of: pair, near: handle.loop) else { return stream.close(StreamError(.resourceConstraint)) }
    link.run { $0.opened(handle, mayWrite: mayWrite, isCertified: isCertified) }
  }

  func received(_ stanza: Stanza, of pair: DomainPair, on stream: any FederationStream) {
    let handle = stream.handle
    guard let link = link(of: pair, near: handle.loop) else { return stream.close(StreamError(.policyViolation)) }
    link.run { $0.received(stanza, on: handle) }
  }

  func acknowledged(_ count: Int, of pair: DomainPair, on stream: any FederationStream) {
    let handle = stream.handle
    existing(pair)?.run { $0.acknowledged(count, on: handle) }
  }

  func writable(_ stream: any FederationStream, of pair: DomainPair) {
    let handle = stream.handle
    existing(pair)?.run { $0.writable(handle) }
  }

  func left(_ pairs: [DomainPair]) {
    for pair in pairs { existing(pair)?.run { $0.handle(.left) } }
  }

  func closed(_ stream: any FederationStream, of pairs: [DomainPair], isLost: Bool) {
    let handle = stream.handle
    for pair in pairs { existing(pair)?.run { $0.closed(handle, isLost: isLost) } }
  }

  // MARK: For operators

  /// Whether this server speaks for a domain.
  func isServed(_ domain: String) -> Bool { homes[domain] != nil }

  func existing() -> [FederationLink] { state.withLock { Array($0.links.values) } }

  /// Changes the rules, and ends the links with domains that are no longer admitted.
  func change(_ body: (inout DomainRules) -> Void) {
    policy.change(body)
    for link in existing() {
      let isAdmitted = policy.admits(link.pair.remote)
      if link.setAdmitted(isAdmitted), !isAdmitted { link.run { $0.deny() } }
    }
  }

  private func existing(_ pair: DomainPair) -> FederationLink? { state.withLock { $0.links[pair] } }
}
