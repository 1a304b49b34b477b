import Addresses
public import Basics
import Dispatch
public import Logging
public import ServerMetrics
import Synchronization
import Tracing

/// Parley is the core's interface for the doors, the services and the command line: one log, its committer and
/// readers, and the hub of sessions. The functions of a feature are in a struct of the feature's name that holds a
/// `Parley`, such as `Calls(parley)`; a service with a state of its own, such as `Accounts`, is created beside it.
public final class Parley: Sendable {
  public let store: any Store
  public let hub: Hub
  public let clock: any Clock
  public let options: Options
  public let registries: Registries
  /// The counters and histograms of the server.
  public var metrics: Metrics { registries.metrics }
  /// The spans of requests and stanzas; `nil` if the server does not trace.
  public var traces: Traces? { registries.traces }
  /// The budgets of all accounts.
  public var sending: SendingBudgets { registries.sending }
  /// The files of users; `nil` if this server accepts none.
  public let blobs: Blobs?
  /// The served realms, the default one first.
  public let realms: [Realm]
  /// The pubsub services of the served realms.
  public let pubsub: PubsubServices
  package let realmTable: RealmTable
  package let logger: Logger
  private let remoteDomains: Set<String>
  private let inbox: Inbox
  private let committer: Committer
  /// The queue of messages that a backend checks before they are committed; `nil` if none does.
  private let beforeSend: BeforeSendQueue?
  private let readers: SharedThreads<ReadOwner>
  private let phaseCell = Atomic(ServerPhase.starting)

  /// Opens the log and creates new realms.
  public init(
    store: any Store, clock: any Clock, options: Options, metrics: Metrics = Metrics(), logger: Logger
  ) throws {
    let realms = try Self.realms(options, store)
    // Realms that are no longer served keep their users, and their ids stay valid.
    let served = options.domains.compactMap { domain in realms.first { $0.domain == domain } }
    let realmTable = RealmTable(
      served + realms.filter { !served.contains($0) }, components: Set(options.remotes.map(\.domain)),
      services: options.pubsub)
    self.realmTable = realmTable
    self.realms = served
    remoteDomains = Set(options.remotes.map(\.domain))
    self.store = store
    self.clock = clock
    self.options = options
    self.logger = logger
    var retention = options.retention
    retention.files = retention.files ?? options.blobs?.policy.lifetime
    registries = try store.read { [retention] in
      try Registries($0, served, options: options, retention: retention, metrics: metrics, logger: logger)
    }
    pubsub = PubsubServices(options, realms, registries.administrators)
    let networks = options.networks
    hub = Hub(
      guests: registries.guests, realms: realmTable, contactGroups: registries.contactGroups,
      remotePresences: RemotePresences(bound: options.remotePresencesBytesMax),
      memory: OnlineMemory(options.memory.online) { networks.name(of: $0) }, clock: clock)
    let inbox = Inbox(metrics: metrics, bytesMax: options.inboxBytesMax, networks: networks)
    self.inbox = inbox
    let threads = max(2, options.threads)
    readers = SharedThreads(
      label: "parley.reader", count: min(threads, Limits.readersMax),
      loan: ThreadLoan(
        jobMax: Limits.lentReadMax, pause: Limits.readLoanPause, clock: options.judgingClocks.wall))
    blobs = options.blobs.map { policy, files in
      Blobs(
        policy: policy, store: files, secret: realmTable.all.first?.key ?? [],
        threads: min(threads, Limits.blobThreadsMax), uploadsMax: options.uploadsMax, logger: logger)
    }
    let commitLoop = try CommitLoop(
      store: store, hub: hub, registries: registries, clock: clock, realms: realmTable, options: options,
      inbox: inbox, logger: logger)
    let committer = Committer(inbox: inbox, commitLoop: commitLoop)
    self.committer = committer
    beforeSend = options.beforeSend.map { BeforeSendQueue($0, inbox: inbox, metrics: metrics) { committer.wake() } }
    // After a crash all rooms are empty, and the contents of some ended rooms may not have been removed completely.
    if try store.read({ try !$0.temporaryRooms(after: DialogID(0), limit: 1).isEmpty }) {
      submitSurely(Post(author: Self.nobody, intent: .room(.endEmpty(after: DialogID(0))), completion: .none))
    }
  }

  /// Returns all realms of the store, after it has created those of the options that are new.
  private static func realms(_ options: Options, _ store: any Store) throws -> [Realm] {
    let (domains, rooms) = (options.domains, options.rooms)
    precondition(!domains.isEmpty, "a server without a domain")
    var realms = try store.read { try $0.realms() }
    for domain in domains where !realms.contains(where: { $0.domain == domain }) {
      let epoch = UInt32.random(in: 1 ... .max)
      realms.append(
        try store.write {
          try $0.insertRealm(domain: domain, rooms: rooms(domain), key: .random(count: 32), epoch: epoch)
        })
    }
    for remote in options.remotes {
      guard let home = realms.first(where: { $0.domain == remote.home && !$0.id.isRemote }) else { continue }
      if let known = realms.first(where: { $0.domain == remote.domain }) {
        guard known.id.isRemote, known.key == home.key else { throw taken(remote.domain) }
      } else {
        realms.append(try store.write { try $0.insertRealm(remote: remote.domain, home: home) })
      }
    }
    for domain in domains where realms.contains(where: { $0.domain == domain && $0.id.isRemote }) {
      throw taken(domain)
    }
    for home in realms.filter({ domains.contains($0.domain) })
    where !realms.contains(where: { $0.domain == home.federatedDomain }) {
      realms.append(try store.write { try $0.insertRealm(remote: home.federatedDomain, home: home) })
    }
    for realm in realms where domains.contains(realm.domain) && realm.rooms != rooms(realm.domain) {
      try store.write { try $0.setRooms(rooms(realm.domain), of: realm.id) }
    }
    return try store.read { try $0.realms() }
  }

  private static func taken(_ domain: String) -> Problem {
    Problem(
      .conflict, "domain-taken",
      "\(domain) was a domain with users of its own, or a component of another domain: what they said would be lost.")
  }

  // MARK: Realms and ids

  /// Returns the remote realms that are attached to a realm, by domain.
  public func remotes(of realm: RealmID) -> [Realm] {
    realmTable.remotes(of: realm).filter { remoteDomains.contains($0.domain) }.sorted { $0.domain < $1.domain }
  }

  /// Returns the remote realm of the users at this domain, if users of `realm` can reach it: a component's, or the
  /// federated one if the domain is remote and federation admits it.
  public func remote(domain: String, reachedFrom realm: RealmID) -> Realm? {
    if !remoteDomains.contains(domain), hub.federation == nil { return nil }
    guard let found = realmTable.realm(domain: domain, reachedFrom: realm), found.id.isRemote,
      realmTable.isComponent(found) || hub.refusal(of: domain, from: realm) == nil
    else { return nil }
    return found
  }

  public func remote(domain: String) -> Realm? {
    remoteDomains.contains(domain) ? realmTable.realm(domain: domain) : nil
  }

  /// Replaces the privileges of components, by domain; all other components have none.
  public func grant(_ privileges: [String: Privileges]) {
    var byRealm: [RealmID: Privileges] = [:]
    for (domain, granted) in privileges {
      if let realm = remote(domain: domain) { byRealm[realm.id] = granted }
    }
    hub.privileges.set(byRealm, home: home(of:))
  }
  public var privileges: PrivilegeRegistry { hub.privileges }

  /// Returns the local realm whose users a remote one reaches.
  public func home(of remote: RealmID) -> RealmID { realmTable.home(of: remote) }

  public func realm(domain: String) -> Realm? { realms.first { $0.domain == domain } }

  /// Returns the federated realm of a served one: the realm of all remote users whom its users know, by their whole
  /// addresses. Each home has its own, so that two apps on one server share nothing.
  public func federatedRealm(of home: RealmID) -> Realm {
    guard let realm = realmTable.federated(of: home) else { preconditionFailure("a realm that is not served") }
    return realm
  }

  public func entryID(_ position: Position, in realm: RealmID) -> PublicID {
    realmTable.entryID(position, in: realm)
  }
  /// Returns the position; `nil` if the id is invalid, or of another realm or epoch.
  public func position(of id: PublicID, in realm: RealmID) -> Position? { realmTable.position(of: id, in: realm) }
  public func dialogID(_ dialog: DialogID, in realm: RealmID) -> PublicID {
    realmTable.dialogID(dialog, in: realm)
  }
  public func dialog(of id: PublicID, in realm: RealmID) -> DialogID? { realmTable.dialog(of: id, in: realm) }
  public func cursor(_ position: Position, in realm: RealmID) -> String {
    realmTable.cursor(position, in: realm).description
  }
  /// Returns the position; `nil` if the cursor is invalid or of another epoch: then the follower must start again.
  public func position(ofCursor text: String, in realm: RealmID) -> Position? {
    PublicID(text).flatMap { realmTable.position(ofCursor: $0, in: realm) }
  }

  public func realm(rooms domain: String) -> Realm? { realms.first { $0.rooms == domain } }
  /// Returns the occupant id (XEP-0421), which is stable, opaque, and valid in one room.
  public func occupantID(of user: UserID, in room: RoomName) -> String {
    realmTable.occupantID(of: user, in: room)
  }

  /// Returns the cursor of a page of a room's member list that ends with the user.
  public func memberCursor(_ user: UserID, in room: RoomName) -> String {
    realmTable.memberCursor(user, in: room).description
  }
  /// Returns the user of a cursor; `nil` if it is not one of this room's list.
  public func user(ofMemberCursor text: String, in room: RoomName) -> UserID? {
    PublicID(text).flatMap { realmTable.user(ofMemberCursor: $0, in: room) }
  }

  /// Returns whether the user is a guest (`GuestPolicy`).
  public func isGuest(_ user: UserID) -> Bool { registries.guests.contains(user) }

  /// Returns whether a user of the remote domain whom a local user knows has written since the start.
  public func isKnown(domain: String) -> Bool { registries.knownDomains.contains(domain) }

  // MARK: Writing

  /// Queues a post; never blocks.
  ///
  /// - Parameter isFromBackend: whether the post is the backend's own, for which `BeforeSendHook` is not called.
  /// - Returns: `false` if the inbox is full or closed, or if too many posts of the author wait for the hook: then nothing was queued,
  ///   and the completion is not called.
  public func submit(_ post: Post, isFromBackend: Bool = false) -> Bool {
    var post = registries.traces?.begin(post) ?? post
    // The posts of a backend are not charged to its users.
    if !isFromBackend { post = charged(post) }
    let isQueued = queue(post, isFromBackend: isFromBackend)
    if !isQueued { post.charge?.giveBack(now: clock.now) }
    if isQueued, !isFromBackend { chargePeople(post) }
    return isQueued
  }

  /// Charges a stanza that changes many people once for each of them: each change is an entry, and for a new member also a
  /// bookmark and an invitation. Requests of the app that name many people are charged before they are posted.
  private func chargePeople(_ post: Post) {
    guard case .room(let intent) = post.intent, intent.peopleChanged > 1, case .session = post.completion else {
      return
    }
    let now = clock.now
    sending.budget(ofAuthor: post.author, from: post.peer, in: realmTable, now: now)
      .owe(stanzas: intent.peopleChanged - 1, now: now)
  }

  /// Charges a post to the author's account if it is delivered to everybody in a large room or to all of the author's
  /// contacts, or lists everybody in a large room. A remote user's post is refused if this user has caused too many deliveries:
  /// a charge would slow the streams of all users of the domain.
  private func charged(_ post: Post) -> Post {
    let count: Int
    var place: (address: BareJID, load: RoomLoad)?
    switch post.intent {
    case .room(let intent):
      if let list = intent.list {
        // Only the author gets the list.
        count = min(list.atMost, registries.audienceSizes.count(in: list.room))
        break
      }
      guard let spread = intent.spread, let large = registries.audienceSizes.large(spread.room) else { return post }
      count = large.count * spread.times
      // Posts in a user's name count for that user in the lanes, so that one user of a gateway does not delay the others.
      let author = post.behalf?.user ?? post.author.address
      place = (large.address, RoomLoad(load: registries.fanOutLoad, room: large.dialog, author: author))
    case .node(_, at: let host):
      // XMPP clients name their account.
      if let host, host != post.author.address { return post }
      count = hub.subscriberCountMax(of: post.author.id, nil)
    case .profile: count = hub.subscriberCountMax(of: post.author.id, nil)
    case .message, .marker, .contact, .removeContact, .subscription, .befriend, .link, .contactGroup, .redeem, .block,
      .report, .unblock, .remoteProfile, .openDialog, .settings, .perUser, .draft, .scheduledMessage, .call, .visit,
      .archivePreferences, .setPrivateXML, .blob, .push, .goOnline, .handOver, .outbox, .signal, .confirm, .leave,
      .endTyping, .imported, .refused, .erase, .work:
      return post
    }
    if count < Limits.fanOutMin { return post }
    let now = clock.now
    let budget = sending.budget(ofAuthor: post.author, from: post.peer, in: realmTable, now: now)
    // Joins have their own rate.
    let isJoin = if case .room(.enter(_, let entering)) = post.intent { entering.isJoin } else { false }
    // Acts that a room accepts even in debt do not wait for it either: a moderator may have to repeat them.
    let isTakenInDebt = if case .room(let intent) = post.intent { intent.isTakenInDebt } else { false }
    var room: (budget: SendingBudget, load: RoomLoad)?
    if let place, !isJoin, !budget.isUnlimited, !sending.isUnlimited(post.author, in: realmTable) {
      room = (sending.budget(of: SendingAccount.room(place.address), now: now), place.load)
    }
    guard post.author.realm.isRemote, post.behalf == nil, !sending.isUnlimited(post.author, in: realmTable) else {
      // Only users wait for a room: if a domain or a component did, users outside the room would wait, too.
      if let room, !isTakenInDebt, case .user = budget.account {
        budget.wait(for: room.budget, isHeldUp: room.load.isHeldUp, now: now)
      }
      return Post(post, charge: DeliveryCharge(count, to: budget, in: room?.budget, room?.load, now: now))
    }
    let own = sending.budget(of: SendingAccount.user(post.author), now: now)
    if !isJoin {
      do throws(Problem) { try own.take(now: now, waitsForRooms: !isTakenInDebt) } catch {
        return Post(post, .refused(error))
      }
    }
    if let room, !isTakenInDebt { own.wait(for: room.budget, isHeldUp: room.load.isHeldUp, now: now) }
    return Post(post, charge: DeliveryCharge(count, to: budget, own, in: room?.budget, room?.load, now: now))
  }

  private func queue(_ post: Post, isFromBackend: Bool) -> Bool {
    if let beforeSend, !inbox.isClosed, let taken = beforeSend.take(post, isFromBackend: isFromBackend, in: self) {
      return taken
    }
    switch inbox.append(post, canWait: canWait(post)) {
    case .queued(let wake):
      if wake { committer.wake() }
      return true
    case .full, .closed: return false
    }
  }

  /// Returns whether a post is for a remote user, or about rows that another server has taken: its commit can wait for other
  /// posts (`Committer`).
  private func canWait(_ post: Post) -> Bool {
    guard hub.federation != nil else { return false }
    if case .message(let draft) = post.intent { return realmTable.home(ofDomain: draft.to.domain) == nil }
    if case .outbox(.taken) = post.intent { return true }
    return false
  }

  /// Whether a backend checks messages before they are committed.
  public var asksBeforeMessages: Bool { beforeSend != nil }

  public var isFull: Bool { inbox.isFull }
  /// The phase of the server, set by the code that runs it.
  public var phase: ServerPhase { phaseCell.load(ordering: .relaxed) }
  public func setPhase(_ phase: ServerPhase) {
    phaseCell.store(phase, ordering: .relaxed)
    if phase == .stopping { refusePosts(from: ContinuousClock.now + Limits.stopDrain) }
  }
  /// Makes the committer refuse posts that it would judge later than this time; none of them is acknowledged.
  package func refusePosts(from time: ContinuousClock.Instant) { inbox.refuse(from: time) }
  /// The number of posts that the committer has taken since the start.
  var takenPosts: Int { inbox.taken }
  /// The number of posts that wait to be committed.
  public var waitingPosts: Int { inbox.count }
  var isClosed: Bool { inbox.isClosed }
  /// Runs `body`, on any thread, once the inbox is half empty.
  ///
  /// - Parameter author: the author of a post that was not queued, possibly because the before-send hook has no room.
  public func whenRoom(for author: UserID? = nil, _ body: @escaping @Sendable () -> Void) {
    guard let author, let beforeSend else { return inbox.whenRoom(body) }
    beforeSend.whenRoom(for: author) { [inbox] in inbox.whenRoom(body) }
  }

  /// Posts and waits for the commit.
  ///
  /// - Parameter isUncounted: whether the post is exempt from the limit of stored bytes, as for a deletion by the server.
  ///   Otherwise it is treated as the author's own.
  @discardableResult
  public func post(
    _ intent: Intent, by author: Party, isFromBackend: Bool = false, isUncounted: Bool = false
  ) async throws(Problem) -> Receipt {
    // The network of the request that this is a part of.
    let network = ReadOwner.current?.networkName
    let result: Result<Receipt, Problem> = await withCheckedContinuation { continuation in
      let post = Post(
        author: author, intent: intent, completion: .callback { continuation.resume(returning: $0) },
        isFromBackend: isFromBackend || isUncounted, from: network)
      if !submit(post, isFromBackend: isFromBackend) { continuation.resume(returning: .failure(.overloaded)) }
    }
    return try result.get()
  }

  /// Writes in order with the log, on the committer's thread.
  ///
  /// - Parameters:
  ///   - keepingCaches: see `WriteTransaction.keepsCaches`.
  ///   - user: the user whose earlier posts must be committed first, since the work may disable or delete them.
  public func work<Value: Sendable>(
    keepingCaches: Bool = false, behind user: UserID? = nil,
    _ body: @escaping @Sendable (any StoreWriter) throws -> Value
  ) async throws(Problem) -> Value {
    try await perform(WriteTransaction(keepsCaches: keepingCaches, behind: user) { try body($0) })
  }

  /// Writes one piece of retention. It changes entries and marks of one dialog and no other cached data, and is durable
  /// only with the next commit of other posts.
  func work<Value: Sendable>(
    agingIn dialog: DialogID, _ body: @escaping @Sendable (any StoreWriter) throws -> Value
  ) async throws(Problem) -> Value {
    try await perform(WriteTransaction(agingIn: dialog) { try body($0) })
  }

  private func perform<Value: Sendable>(_ work: WriteTransaction) async throws(Problem) -> Value {
    guard let value = try await post(.work(work), by: Self.nobody).value as? Value else {
      throw Problem.storage
    }
    return value
  }

  /// Writes in order with the log, and passes the outcome to `then` on the lane.
  public func work<Value: Sendable>(
    on lane: Lane, keepingCaches: Bool = false, _ body: @escaping @Sendable (any StoreWriter) throws -> Value,
    then: @escaping @Sendable (Result<Value, Problem>) -> Void
  ) {
    let post = Post(
      author: Self.nobody, intent: .work(WriteTransaction(keepsCaches: keepingCaches) { try body($0) }),
      completion: .callback { result in
        let outcome = result.flatMap { receipt -> Result<Value, Problem> in
          (receipt.value as? Value).map { .success($0) } ?? .failure(.storage)
        }
        lane.run { then(outcome) }
      })
    if !submit(post) { lane.run { then(.failure(.overloaded)) } }
  }

  /// The author of administrative work, which belongs to no user.
  package static let nobody = Party(id: UserID(0), realm: RealmID(0), address: BareJID.nowhere)

  // MARK: Reading

  /// Returns the budget to which an author's stanzas and requests are charged: that of the user, or of a remote user's domain or
  /// component.
  ///
  /// - Parameter peer: The address of the client (`LiveSession.peer`); `nil` if it is not known.
  public func budget(of author: Party, from peer: String?) -> SendingBudget {
    sending.budget(ofAuthor: author, from: peer, in: realmTable, now: clock.now)
  }

  /// Returns the owner of a user's reads. Reads are served in rotation by owner within a network, or within a zone for remote users,
  /// and by network or zone. A slow read is charged to the budget of the reader's posts (`Limits.readStanzaTime`).
  ///
  /// - Parameters:
  ///   - peer: The address of the client as `LiveSession.peer` has it; `nil` if it is not known.
  ///   - reason: The reason for the reads, which decides whether they are charged.
  public func readOwner(_ reader: Party, from peer: String?, for reason: ReadReason = .asked) -> ReadOwner {
    let network =
      reader.realm.isRemote
      ? SendingAccount(of: reader, in: realmTable).shareName : options.networks.name(of: peer)
    return .user(
      reader.id, in: network, chargedTo: reason == .followed ? nil : budget(of: reader, from: peer),
      isForMissed: reason == .missed)
  }

  /// Reads on one of the reading threads.
  ///
  /// - Parameter owner: the owner in the rotation of reads; `nil` for the task's owner.
  public func read<Value: Sendable>(
    as kind: ReadKind = .other, for owner: ReadOwner? = nil,
    _ body: @escaping @Sendable (any StoreReader) throws -> Value
  ) async throws(Problem) -> Value {
    let asked = ContinuousClock.now
    let context = traces == nil ? nil : ServiceContext.current
    let owner = owner ?? ReadOwner.current
    let result: Result<Value, Problem> = await withCheckedContinuation { continuation in
      readers.run(for: owner, in: owner?.network) { [self] in
        continuation.resume(returning: reading(body, kind, for: owner, since: asked, in: context))
      }
    }
    return try result.get()
  }

  /// Reads as `read`, and passes the outcome to `then` on the lane.
  ///
  /// - Parameter owner: the owner in the rotation of reads; `nil` for the task's owner.
  public func fetch<Value: Sendable>(
    as kind: ReadKind = .other, for owner: ReadOwner? = nil, on lane: Lane,
    _ body: @escaping @Sendable (any StoreReader) throws -> Value,
    then: @escaping @Sendable (Result<Value, Problem>) -> Void
  ) {
    let asked = ContinuousClock.now
    let context = traces == nil ? nil : ServiceContext.current
    let owner = owner ?? ReadOwner.current
    readers.run(for: owner, in: owner?.network) { [self] in
      let result = reading(body, kind, for: owner, since: asked, in: context)
      guard let context else { return lane.run { then(result) } }
      lane.run { ServiceContext.$current.withValue(context) { then(result) } }
    }
  }

  private func reading<Value>(
    _ body: (any StoreReader) throws -> Value, _ kind: ReadKind, for owner: ReadOwner?,
    since asked: ContinuousClock.Instant, in context: ServiceContext?
  ) -> Result<Value, Problem> {
    let span = context.flatMap { traces?.start("read \(kind)", .internal, in: $0) }
    // Two system calls of some 200 ns, against ten microseconds or more for a read; messages need no read.
    let began = owner?.budget == nil ? nil : options.judgingClocks.thread()
    defer {
      if let began, let budget = owner?.budget {
        let taken = options.judgingClocks.thread() - began
        let stanzas = JudgingTime.stanzas(taking: taken, each: Limits.readStanzaTime)
        if stanzas > 0, owner?.isForMissed == true {
          budget.oweMissed(stanzas: stanzas, now: clock.now)
        } else if stanzas > 0 {
          budget.owe(stanzas: stanzas, now: clock.now)
        }
      }
      span?.end()
      metrics.readSeconds.observe(since: asked, kind)
    }
    do {
      return .success(try store.read(body))
    } catch let problem as Problem {
      return .failure(problem)
    } catch {
      logger.error("a read failed", metadata: ["error": "\(error)"])
      return .failure(
        Problem(.internal, "storage-failed", "The server could not read from its storage."))
    }
  }

  /// Writes one consistent copy of the store into a file while the server runs. It occupies a thread as long as the disk
  /// needs; if `cancellation` is set, it fails.
  public func copy(to path: String, until cancellation: Cancellation) async throws(Problem) {
    let result: Result<Void, Problem> = await withCheckedContinuation { continuation in
      DispatchQueue(label: "parley.copy", qos: .utility).async { [self] in
        do {
          try store.copy(to: path, until: cancellation)
          continuation.resume(returning: .success(()))
        } catch let problem as Problem {
          continuation.resume(returning: .failure(problem))
        } catch {
          continuation.resume(
            returning: .failure(
              Problem(.internal, "backup-failed", "The copy could not be written.", reason: "\(error)")))
        }
      }
    }
    try result.get()
  }

  // MARK: Life

  /// Stops accepting posts, and returns when all accepted ones are committed and delivered, or refused because the time is over
  /// (`Limits.stopDrain`).
  public func stop() async {
    await beforeSend?.emptied()
    inbox.close()
    await committer.drain()
  }

  // MARK: Sessions

  /// Removes a session from the hub (`Hub.unregister`), and charges its user for notifying others of its end.
  public func unregister(_ session: any LiveSession, at time: Timestamp) {
    let count = hub.unregister(session, time: time)
    if count == 0 { return }
    sending.budget(of: session.party, from: session.peer, now: time).owe(deliveries: count, now: time)
  }

  /// Ends a session: it leaves its rooms, and gets no more deliveries.
  ///
  /// - Parameter isLost: whether the others see that it was lost for a technical reason.
  public func vacate(_ party: Party, session: SessionID, isLost: Bool = false) {
    submitSurely(Post(author: party, intent: .room(.vacate(session, isLost: isLost)), completion: .none))
  }

  /// Records the time and status with which the user has left, if the ended session was the last one.
  public func leave(_ party: Party, session: SessionID, at time: Timestamp) {
    vacate(party, session: session)
    leave(party, at: time)
  }

  /// Does the same for a session that lingers (`Hub.linger`) and keeps its rooms for a moment.
  public func leave(_ party: Party, at time: Timestamp) {
    guard hub.onlineSessions(of: party.id).allSatisfy(\.isUnseen) else { return }
    let hub = hub
    submitSurely(
      Post(
        author: party, intent: .leave(time, status: hub.lastPresence(of: party.id)?.status),
        completion: .callback { _ in hub.lastSeenWasStored(time, of: party.id) })
    )
  }

  /// Queues a post now, or as soon as there is room.
  public func submitSurely(_ post: Post) { submitSurely([post]) }

  /// Queues posts in their order, each now or as soon as there is room.
  public func submitSurely(_ posts: [Post]) {
    for (index, post) in posts.enumerated() {
      if submit(post) { continue }
      if isClosed { return }
      let left = Array(posts[index...])
      return whenRoom(for: post.author.id) { [self] in submitSurely(left) }
    }
  }
}

extension BareJID {
  /// An address that never exists (RFC 2606 2: `.invalid`).
  static let nowhere: BareJID = {
    guard let jid = BareJID(parsing: "nobody.invalid") else { preconditionFailure("a constant JID") }
    return jid
  }()
}
