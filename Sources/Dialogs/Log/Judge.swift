import Addresses
import Basics
import ServerMetrics

/// Decides the outcome of posts. Theory:
///
/// A post is judged against the state after all earlier posts, inside the transaction that will contain its entries. A
/// refusal is a `Problem` that is thrown before anything of the post is written, so that it does not affect the batch. Only
/// the body of a `WriteTransaction` may fail after it has written: this aborts the transaction (`WorkFailed`), and the
/// committer tries the other posts without it.
///
/// Dialog rows and marks change many times in a batch and are written once, by `finish`.
struct Judge {
  let realms: RealmTable
  let hub: Hub
  /// The policy and store of files; `nil` if uploads are off.
  let blobs: (policy: BlobPolicy, store: any BlobStore)?
  let retention: RetentionState
  let pushes: PushRegistry
  let guests: GuestRegistry
  let hooks: HookRegistry
  let privileges: PrivilegeRegistry
  let pubsub: PubsubServices
  /// The time for which an unanswered call rings.
  let callRinging: Duration
  /// The time after which a row of the outbox is given up.
  let giveUp: Duration
  let metrics: Metrics
  let sending: SendingBudgets
  let audienceSizes: AudienceSizes
  let fanOutLoad: FanOutLoad
  private(set) var head: Position
  /// The time of the present post: now, or the original time of a message that is imported.
  private(set) var time: Timestamp
  /// The time of the clock, which can be set back.
  private(set) var now: Timestamp
  /// The time of the last entry.
  private(set) var lastTime: Timestamp
  /// The position and time of the last entry of a conversation, and the head for which they were read.
  private var lastSaid: (head: Position, position: Position, time: Timestamp)?
  private var effects: [Effect] = []
  private var transaction: (any StoreWriter)?

  /// The maximum bytes of all caches.
  let cacheBytesMax: Int
  /// The maximum bytes of all presences in rooms.
  let presencesInRoomsBytesMax: Int
  var users = ByteCache<SeenAddress, CachedUser?> { seen, user in
    seen.address.description.heldBytes + (user?.party.heldBytes ?? 0)
  }
  var strangers: StrangerCounts
  /// The contact groups that this batch has changed, with their members; `nil` for a deleted group. The hub gets them
  /// after the batch.
  var sharedContacts: [Int64: SharedContacts?] = [:]
  var forwardedReports = ForwardedReportCounts()
  var blocks = ByteCache<UserID, BlockList> { _, list in list.heldBytes }
  var rosterSizes = ByteCache<UserID, RosterSize> { _, _ in 0 }
  /// The bytes of the requests to users that wait for an answer (`Contact.requestBytes`).
  var requestBytes = ByteCache<UserID, Int> { _, _ in 0 }
  /// The amount of published content, by owner and creator of the nodes.
  var publishedSizes: [PublishedSize.Key: PublishedSize] = [:]
  /// The use of file storage by users who have requested a slot.
  var blobUses: [UserID: KeptBlobUse] = [:]
  /// The numbers of messages that users have deleted for themselves, and starred.
  var hiddenCounts: [UserID: RowCount] = [:]
  var starCounts: [UserID: RowCount] = [:]
  var preferences = ByteCache<UserID, ArchivePreferences?> { _, wish in wish?.heldBytes ?? 0 }
  var dialogs = ByteCache<Pair, DialogState> { _, state in state.heldBytes }
  private var dirty: [DialogState] = []
  private var handled: [StreamNonce: UInt32] = [:]
  /// The bytes that the batch stores for each account; they are counted after the commit.
  private var storing: [SendingAccount: Int64] = [:]
  private var written: Position
  var rooms = RoomCache()
  var nodePeople = NodePeopleCache()
  var owedPushes = OwedPushes()
  /// The rows for which the author of the present post is charged (`Limits.rowsPerStanza`).
  private var chargedRows = 0
  /// The number of people and rooms that the effects of the present post look at (`Limits.looksPerStanza`).
  private var looks = 0
  /// The number of rows that this batch has changed and people that it has looked at to end rooms (`Limits.endedRowsAtOnce`).
  var endedRows: Int64 = 0
  /// The bytes that posts have stored beside entries so far (`countBeside`).
  private var storedBeside: Int64 = 0
  /// The piece of the present post that a further post will do; `nil` if there is none.
  private var begun: Post.Begun?
  /// The time of the committer's thread that posts have taken. A stored property, since a computed one would copy the whole judge at
  /// each post.
  private(set) var judgingTime: JudgingTime
  /// The stanzas to charge for rows and time of the batch's posts. They are charged after the commit, since a failed batch is judged
  /// again.
  private var charges: [(budget: SendingBudget, stanzas: Int)] = []
  /// The times of the posts of the batch that are charged in sums, and the sums of the batches before it.
  private var times: [(budget: SendingBudget, time: Duration)] = []
  private var summedTimes = SummedTimes()
  var keptContacts = KeptContacts()
  /// The numbers of rows in the outbox; `nil` until they are needed.
  var outbox: OutboxLedger?
  /// The pairs for which no row waits any more (`Limits.outboxPairsEmptiedMax`).
  var emptiedPairs: Set<DomainPair> = []
  /// The positions through which another server has taken rows, of pairs whose rows could not all be removed in one post (`take`). A
  /// failed batch does not reset them, since the rows were taken nevertheless.
  var takenThrough: [DomainPair: Position] = [:]
  /// The sessions that came online in this batch; the hub registers them after it.
  private var arriving: [OnlineSession] = []
  /// Whether several bookmarks are being changed, so that the list is announced once, after all of them.
  var isGathering = false
  /// The users whose contact snapshots this batch changes, and whether it changes contact groups; the hub gets the changes
  /// after the batch.
  private var changedSnapshots: Set<UserID> = []
  private var hasChangedGroups = false

  struct CachedUser {
    let party: Party
    let state: User.State
    /// The user's setting, once it was read for a message to them.
    var messagesFrom: Visibility?
  }
  /// An address as the users of one home see it.
  struct SeenAddress: Hashable {
    let address: BareJID
    let home: RealmID
  }
  /// A pair of users; `room` is set for their private messages in a room.
  struct Pair: Hashable {
    let low: UserID
    let high: UserID
    var room: DialogID?
    init(_ a: UserID, _ b: UserID, room: DialogID? = nil) {
      low = min(a, b)
      high = max(a, b)
      self.room = room
    }
  }

  /// A dialog with its members' marks, shared by all posts of a batch.
  final class DialogState {
    var dialog: Dialog
    var first: Mark
    var second: Mark
    var isDirty = false
    var firstDirty = false
    var secondDirty = false
    init(_ dialog: Dialog, _ first: Mark, _ second: Mark) {
      self.dialog = dialog
      self.first = first
      self.second = second
    }
    func mark(of user: UserID) -> Mark { dialog.first.id == user ? first : second }
    /// The bytes of the object in memory.
    var heldBytes: Int {
      MemoryLayout<Dialog>.stride + 2 * MemoryLayout<Mark>.stride + Limits.textHeaderBytes
        + dialog.first.heldBytes + dialog.second.heldBytes
    }
  }

  init(
    realms: RealmTable, hub: Hub, registries: Parley.Registries, options: Parley.Options, head: Position,
    time: Timestamp
  ) {
    guests = registries.guests
    hooks = registries.hooks
    pushes = registries.pushes
    retention = registries.retention
    metrics = registries.metrics
    sending = registries.sending
    audienceSizes = registries.audienceSizes
    fanOutLoad = registries.fanOutLoad
    strangers = StrangerCounts(registries.knownDomains)
    privileges = hub.privileges
    pubsub = PubsubServices(options, realms.all, registries.administrators)
    callRinging = options.callRinging
    giveUp = options.giveUp
    judgingTime = JudgingTime(options.judgingClocks)
    blobs = options.blobs
    cacheBytesMax = options.cacheBytesMax
    presencesInRoomsBytesMax = options.presencesInRoomsBytesMax
    self.realms = realms
    self.hub = hub
    self.head = head
    self.time = time
    now = time
    lastTime = time
    self.written = head
  }

  // MARK: The batch

  struct Place {
    let head: Position
    let time: Timestamp
    let lastTime: Timestamp
  }
  var mark: Place { Place(head: head, time: time, lastTime: lastTime) }

  /// Begins a batch in a transaction, which is held until `finish` or `rollBack`. Time never decreases with position,
  /// whatever the clock does.
  mutating func begin(_ transaction: any StoreWriter, now: Timestamp) {
    self.transaction = transaction
    self.now = now
    judgingTime.batchBegins()
    endedRows = 0
    time = max(time, now)
  }

  /// The transaction of the batch that has begun.
  var writer: any StoreWriter {
    guard let transaction else { preconditionFailure("a post is judged outside a batch") }
    return transaction
  }

  mutating func finish() throws {
    try writeDialogs()
    try forgetEmptiedPairs()
    try writePushes()
    for (stream, number) in handled { try writer.setHandled(stream, number, at: time) }
    handled.removeAll(keepingCapacity: true)
    if head > written {
      try writer.setHead(head, time: lastTime)
      written = head
    }
    transaction = nil
  }

  private mutating func writeDialogs() throws {
    for state in dirty {
      if state.isDirty { try writer.update(state.dialog) }
      if state.firstDirty { try writer.put(state.first, superseded: .zero) }
      if state.secondDirty { try writer.put(state.second, superseded: .zero) }
      state.isDirty = false
      state.firstDirty = false
      state.secondDirty = false
    }
    dirty.removeAll(keepingCapacity: true)
    try rooms.finish(writer)
  }

  mutating func rollBack(to place: Place) {
    head = place.head
    time = place.time
    lastTime = place.lastTime
    written = place.head
    lastSaid = nil
    transaction = nil
    effects = []
    users.removeAll()
    blocks.removeAll()
    rosterSizes.removeAll()
    requestBytes.removeAll()
    publishedSizes = [:]
    blobUses = [:]
    hiddenCounts = [:]
    starCounts = [:]
    preferences.removeAll()
    dialogs.removeAll()
    dirty = []
    handled = [:]
    storing = [:]
    arriving = []
    rooms.rollBack()
    nodePeople.rollBack()
    owedPushes.batchEnded()
    chargedRows = 0
    looks = 0
    begun = nil
    charges = []
    times = []
    keptContacts = KeptContacts()
    outbox = nil
    isGathering = false
    changedSnapshots = []
    hasChangedGroups = false
    sharedContacts = [:]
    strangers.rollBack()
    forwardedReports.rollBack()
    fanOutLoad.batchEnded()
  }

  mutating func take() -> [Effect] {
    if publishedSizes.count > Limits.cachedUsersMax { publishedSizes = [:] }
    if blobUses.count > Limits.cachedUsersMax { blobUses = [:] }
    if hiddenCounts.count > Limits.cachedUsersMax { hiddenCounts = [:] }
    if starCounts.count > Limits.cachedUsersMax { starCounts = [:] }
    if hasEmptiedMany { emptiedPairs = [] }
    rooms.settled()
    nodePeople.settled()
    boundCaches()
    owedPushes.batchEnded()
    for (budget, stanzas) in charges { budget.owe(stanzas: stanzas, now: now) }
    charges.removeAll(keepingCapacity: true)
    for (budget, time) in times {
      let stanzas = summedTimes.add(time, of: budget.account)
      if stanzas > 0 { budget.owe(stanzas: stanzas, now: now) }
    }
    times.removeAll(keepingCapacity: true)
    sending.noteStored(storing, at: now)
    storing.removeAll(keepingCapacity: true)
    arriving.removeAll(keepingCapacity: true)
    changedSnapshots.removeAll(keepingCapacity: true)
    // Kept contacts may have been read without the changed groups, which the hub has from now on.
    if hasChangedGroups { keptContacts = KeptContacts() }
    hasChangedGroups = false
    sharedContacts.removeAll(keepingCapacity: true)
    strangers.settled()
    forwardedReports.settled()
    fanOutLoad.batchEnded()
    defer { effects = [] }
    return effects
  }

  // MARK: One post

  mutating func judge(_ post: Post) throws {
    do {
      if case .room(let intent) = post.intent, !intent.isTakenInDebt { try post.charge?.checkRoom(now: now) }
      try decideCounting(identified(onBehalf(post)))
      post.charge?.chargeRoom(now: now)
    } catch let problem as Problem {
      begun = nil
      effects.append(.settled(post, .failure(problem)))
    }
    var stanzas = max(chargedRows / Limits.rowsPerStanza, judgingTime.postEnded(looks: looks))
    let isPiece = begun != nil || post.begun != nil
    if isPiece, case .room = post.intent { stanzas = min(stanzas, Limits.chargedPieceMax) }
    if let begun {
      // The original post, so that a post in a user's name keeps its place among the posts of the component.
      effects.append(.rest(Post(post, begun: begun)))
      self.begun = nil
    } else if let inbound = post.inbound {
      // Only the last piece counts, so that after a crash the client repeats a stanza that was done in part.
      handled[inbound.stream] = inbound.number
    }
    chargedRows = 0
    looks = 0
    // The pieces of a request are charged together.
    let summed: Duration = isPiece ? .zero : judgingTime.summed
    guard stanzas > 0 || summed > .zero, !post.isFromBackend, !post.intent.isOfServer else { return }
    let budget = sendingBudget(of: post)
    if stanzas > 0 { charges.append((budget, stanzas)) }
    let rest = summed - Limits.stanzaTime * stanzas
    if rest > .zero { times.append((budget, rest)) }
  }

  /// Charges the author of the present post for rows beyond those of an ordinary post.
  mutating func charge(rows: Int) { chargedRows += rows }

  /// Counts the bytes of a message, which the caller stores next. Throws if its author may store no more today.
  ///
  /// - Parameters:
  ///   - reference: what the message does to an earlier one.
  ///   - mentions: the number of its mentions, each of which is a row.
  ///   - isNeeded: whether it may be stored beyond the limit, whatever it refers to (`StoredContent.needed`).
  mutating func stores(
    _ content: Content, _ envelope: Envelope, _ reference: Reference? = nil, mentions: Int = 0,
    isNeeded: Bool = false, by author: Party, _ post: Post
  ) throws {
    if post.isFromBackend { return }
    let rows = content.attachments.reduce(Int64(mentions) * Limits.storedMessageBytes) { $0 + $1.storedBytes }
    let bytes = content.storedBytes + envelope.storedBytes + rows
    let accounts = sending.storing(author, in: realms)
    try sending.checkStored(
      bytes, of: accounts, beside: storing, isNeeded: isNeeded || reference?.kind.storedContent == .needed, at: now)
    for account in accounts { storing[account, default: 0] += bytes }
  }

  /// Refuses the present post if its content counts and its author may store no more today. Its bytes are counted afterwards
  /// (`decideCounting`).
  func checkStores(by author: Party, _ post: Post) throws(Problem) {
    if post.isFromBackend { return }
    try sending.checkStored(
      Limits.storedMessageBytes, of: sending.storing(author, in: realms), beside: storing, at: now)
  }

  /// Counts bytes that the present post stores beside its entries (`decideCounting`). A negative number counts as 0.
  mutating func countBeside(_ bytes: Int) { storedBeside += Int64(max(0, bytes)) }

  /// Decides a post, and counts for its author the growth of the log, in whichever dialog, and the bytes stored beside it. For a
  /// replaced entry only the difference counts. A post that exceeds the limit is stored nevertheless, since its bytes are known only
  /// afterwards; they are fewer than those of a stanza.
  private mutating func decideCounting(_ post: Post) throws {
    let stored = post.isFromBackend ? .uncounted : post.intent.storedContent
    if stored == .uncounted { return try decide(post) }
    // Only the first piece of a request can be refused; later ones are only counted.
    if post.begun == nil {
      try sending.checkStored(
        Limits.storedMessageBytes, of: sending.storing(post.author, in: realms), beside: storing,
        isNeeded: stored == .needed, at: now)
    }
    let (before, beside) = (writer.growth, storedBeside)
    try decide(post)
    let entries = writer.growth.entries - before.entries
    let grown = entries * Limits.storedMessageBytes + writer.growth.bytes - before.bytes
    let bytes = max(0, grown) + storedBeside - beside
    if bytes == 0 { return }
    for account in sending.storing(post.author, in: realms) { storing[account, default: 0] += bytes }
  }

  private mutating func decide(_ post: Post) throws {
    try checkGuest(post)
    switch post.intent {
    case .message(let draft): try message(post, draft)
    case .marker(let draft): try marker(post, draft)
    case .contact(let address, let name, let groups, let subscription):
      try setContact(post, address, name: name, groups: groups, subscription)
    case .removeContact(let address): try removeContact(post, address)
    case .subscription(let act, let address, let stanza):
      try subscription(post, act, to: address, stanza: stanza)
    case .befriend(let address, let name): try befriend(post, address, name: name)
    case .link(let address, let name, let groups, let mutual):
      try link(post, address, name: name, groups: groups, mutual: mutual)
    case .contactGroup(let intent): try contactGroup(post, intent)
    case .redeem(let token, let address, let stanza):
      try redeem(post, token, from: address, stanza: stanza)
    case .block(let patterns, let reports): try block(post, patterns, reports)
    case .unblock(let patterns): try unblock(post, patterns)
    case .report(let report): try self.report(post, report)
    case .profile(let draft): try profile(post, draft)
    case .remoteProfile(let draft, let client): try remoteProfile(post, draft, to: client)
    case .openDialog(let address): try openDialog(post, address)
    case .settings(let dialog, let draft): try settings(post, of: dialog, draft)
    case .perUser(let dialog, let intent): try perUser(post, in: dialog, intent)
    case .draft(let dialog, let text, let replyTo): try draft(post, dialog, text, replyTo)
    case .scheduledMessage(let intent): try scheduledMessage(post, intent)
    case .call(let intent): try call(post, intent)
    case .room(let intent): try room(post, intent)
    case .node(let intent, let address): try node(post, intent, at: address)
    case .visit(let act): try visit(post, act)
    case .archivePreferences(let preferences): try setArchivePreferences(post, preferences)
    case .setPrivateXML(let drafts): try setPrivateXML(post, drafts)
    case .blob(let intent): try blob(post, intent)
    case .push(let intent): try push(post, intent)
    case .goOnline(let onlineSession): try goOnline(post, onlineSession)
    case .handOver(let old, let new):
      replace(from: old.id, to: new, of: post.author.id)
      tell(.handedOver(from: old, to: new))
      settle(post)
    case .outbox(let intent): try outbox(post, intent)
    case .signal(let signal, let target):
      try checkCustom(signal, to: target, from: post.author)
      if case .user(let address, _) = target, let problem = hub.problem(reaching: address, by: post.author) {
        throw problem
      }
      effects.append(.signal(signal, session(of: post), post.author, target))
      settle(post)
    case .confirm(let position):
      try writer.setDelivered(position, for: post.author.id)
      settle(post)
    case .leave(let time, let status):
      try writer.setLastSeen(time, for: post.author.id)
      try writer.setValue(
        of: post.author.id, node: ValueKey.lastStatus, item: ValueKey.bytes,
        status.map { Array(Self.cut($0, Limits.statusBytesMax).utf8) })
      settle(post)
    case .endTyping:
      effects.append(.typingOverdue)
      settle(post)
    case .imported(let intent): try imported(post, intent)
    case .refused(let problem): throw problem
    case .erase(let task, let place): try erase(post, task, at: place)
    case .work(let work):
      var receipt = Receipt(position: head)
      // The transaction's body must find the changes of earlier posts in the store.
      if work.dialog == nil { try rooms.finish(writer) } else { try writeDialogs() }
      if !work.keepsCaches { try writePushes() }
      let posts: [Post]
      let written = writer.changedRows
      do {
        (receipt.value, posts) = try work.body(writer)
      } catch let problem as Problem {
        throw failure(problem, since: written)
      } catch is StoreConflict {
        throw failure(
          Problem(.conflict, "name-taken", "This name is in use, or belonged to something that was deleted."),
          since: written)
      }
      if !work.keepsCaches {
        users.removeAll()
        blocks.removeAll()
        preferences.removeAll()
        rooms.forget()
        nodePeople.forget()
        publishedSizes = [:]
        keptContacts = KeptContacts()
        owedPushes.settings = [:]
        outbox = nil
      }
      if let changed = work.dialog {
        if let dialog = try writer.dialog(changed) { dialogs[Pair(dialog.first.id, dialog.second.id)] = nil }
        rooms.forgetMarks(in: changed)
      }
      for following in posts { try judge(following) }
      receipt.position = head
      settle(post, receipt)
    }
  }

  /// Returns the error of failed work. If it has written nothing, it is refused like any post, without undoing the batch:
  /// clients can make work fail as often as they like, for example by revoking an unknown id.
  private func failure(_ problem: Problem, since written: Int64) -> any Error {
    if writer.changedRows == written { return problem }
    return WorkFailed(problem: problem)
  }

  // MARK: Functions shared by the rules

  /// Returns the user's app sessions, after all earlier posts.
  func appSessions(of user: UserID) -> [OnlineSession] {
    let here = hub.onlineSessions(of: user).filter { $0.door == .app }
    return here + arriving.filter { $0.door == .app && $0.session.party.id == user }
  }

  func session(of post: Post) -> SessionID? {
    guard case .session(let session, _) = post.completion else { return nil }
    return session.id
  }

  /// Marks the end of a post's effects, even if nobody waits for its outcome: the committer looks at them to refund its
  /// charge, and must not attribute them to the next post.
  mutating func settle(_ post: Post, _ receipt: Receipt? = nil) {
    effects.append(.settled(post, .success(receipt ?? Receipt(position: head))))
  }

  /// Leaves a piece of the present request to a further post, so that others do not wait for all of it. That post is in the next
  /// batch, before all that its author has posted meanwhile (RFC 6120 10.1). The last piece has the outcome. A refused piece is the last
  /// one; earlier pieces are not undone. The weight of the present post must be that of a whole batch (`Intent.weight`). A post of the
  /// server itself has no account, so other posts of the server may come between its pieces.
  mutating func leave(_ begun: Post.Begun) { self.begun = begun }

  /// Refuses a post although it has changed something.
  mutating func refuse(_ post: Post, _ problem: Problem) { effects.append(.settled(post, .failure(problem))) }

  mutating func tell(_ item: Effect) {
    switch item {
    case .contactSnapshot(let user, let item, let change):
      changedSnapshots.insert(user)
      if item == nil { keptContacts.change(user, change) } else { keptContacts.drop(user) }
    case .contactGroup, .contactNamed:
      hasChangedGroups = true
      keptContacts = KeptContacts()
      if case .contactNamed(_, let groups, _) = item {
        looks += Limits.looksPerPlace * hub.viewerCountMax(of: groups)
      }
    case .node(let event, let contactSnapshot): looks += hub.looks(for: event, contactSnapshot)
    case .profile(let party, _, by: _, let contactSnapshot):
      looks += hub.subscriberCountMax(of: party.id, contactSnapshot)
    // This includes the end of the session, when the number of rooms is not known (`CommitLoop.timeOfEnd`).
    case .followed(let memberships, _): looks += 2 * Limits.looksPerPlace * memberships.count
    case .room(.sessionMoved): looks += Limits.looksPerPlace
    case .settled, .entry, .arrived, .handedOver, .signal, .presence, .contactGroupPresences, .closed, .later, .rest,
      .pushing, .alerts, .owed, .calls, .reports, .outbox, .room, .vacated, .typingOverdue:
      break
    }
    effects.append(item)
  }

  mutating func nextPosition() -> Position {
    head = head.next
    lastTime = time
    return head
  }

  /// Judges `body` with an earlier time, but not before that of the last entry: time never decreases with position.
  mutating func at<Value>(_ past: Timestamp, _ body: (inout Judge) throws -> Value) throws -> Value {
    let now = time
    time = past
    defer { time = now }
    return try body(&self)
  }

  /// Prepares the log for an entry with an earlier time: the entries behind the last one of a conversation, such as those of
  /// contacts, get this time, since time never decreases with position. If they are many, `Parley.makeWay` must precede.
  ///
  /// - Returns: `nil`, or, if that is not possible, the time of a newer entry of a conversation.
  mutating func makeWay(for past: Timestamp) throws -> Timestamp? {
    if past >= lastTime { return nil }
    let last: (head: Position, position: Position, time: Timestamp)
    if let lastSaid, lastSaid.head == head {
      last = lastSaid
    } else {
      let end = try writer.endOfConversations()
      last = (head, end.position, end.time)
      lastSaid = last
    }
    if past < last.time { return last.time }
    // Entries up to `start` are not later. A binary search finds it with some twenty reads.
    let start = try max(last.position, writer.position(before: past + .milliseconds(1)))
    try writer.setTimes(behind: start, through: head, to: past)
    lastTime = past
    return nil
  }

  /// Returns the stored user at an address, as users of a realm see it.
  mutating func user(_ address: BareJID, seenFrom realm: RealmID) throws -> CachedUser? {
    let seen = SeenAddress(address: address, home: realms.home(of: realm))
    if let known = users[seen] { return known }
    let found = try writer.user(address, seenFrom: seen.home).map { CachedUser(party: $0.party, state: $0.state) }
    users[seen] = .some(found)
    return found
  }

  /// Returns the active user at `address` whom `author` may reach. A remote user may not be stored yet: `known` stores
  /// them once the post can no longer be refused.
  mutating func reachable(_ address: BareJID, for author: Party) throws -> Party {
    let realm = try realm(of: address, reachedFrom: author.realm)
    if realm.id.isRemote {
      if isComponent(realm), hub.link(from: author.address, to: address) == nil {
        throw Problem(.unreachable, "server-absent", "\(address.domain) is not connected. Try again later.")
      }
      return try user(address, seenFrom: author.realm)?.party ?? Party(remote: address, realm: realm.id)
    }
    guard let user = try user(address, seenFrom: author.realm), user.state == .active else { throw Problem.unreachable }
    return user.party
  }

  /// Returns the realm of the users at an address, if those of `origin` may communicate with it.
  ///
  /// - Parameter isEnding: whether a relation is ended, which is allowed even if the domain is no longer admitted.
  func realm(of address: BareJID, reachedFrom origin: RealmID, isEnding: Bool = false) throws -> Realm {
    let domain = address.domain
    // Two remote users communicate through their own servers.
    guard let realm = realms.realm(domain: domain, reachedFrom: origin), !(realm.id.isRemote && origin.isRemote) else {
      throw Problem.notFederated(domain)
    }
    if realm.id.isRemote, !isComponent(realm), !(isEnding && hub.federation != nil),
      let refusal = hub.refusal(of: domain, from: origin)
    {
      throw refusal
    }
    return realm
  }

  /// Returns whether a remote realm is reached by a component's link. The realm of a former component is reached like any
  /// other remote domain, or not at all without federation.
  func isComponent(_ realm: Realm) -> Bool {
    !realm.isFederated && (realms.isComponent(realm) || hub.federation == nil)
  }

  /// Returns the post of a remote user under their stored id, if there is one. Throws if their domain is not admitted.
  private mutating func identified(_ post: Post) throws -> Post {
    let author = post.author
    guard author.realm.isRemote else { return post }
    if realms.isFederated(author.realm), !post.intent.isLeaving,
      let refusal = hub.refusal(of: author.address.domain, from: author.realm)
    {
      throw refusal
    }
    guard author.isProvisional, let known = try user(author.address, seenFrom: author.realm) else { return post }
    return Post(post, from: known.party)
  }

  /// Returns the stored user, and stores a new remote user: with their first accepted act, or that of a local user towards
  /// them.
  ///
  /// - Parameter host: the local user whose act it is; `nil` if it is the remote user's own.
  mutating func known(_ party: Party, metBy host: Party? = nil) throws -> Party {
    guard party.isProvisional else { return party }
    if let known = try user(party.address, seenFrom: party.realm) { return known.party }
    let home = realms.home(of: party.realm)
    if realms.isFederated(party.realm) { try count(party, in: home, metBy: host) }
    let made = try writer.insertUser(party.address, in: party.realm, profile: Profile(), createdAt: time).party
    users[SeenAddress(address: party.address, home: home)] = CachedUser(party: made, state: .active)
    return made
  }

  private mutating func count(_ stranger: Party, in home: RealmID, metBy host: Party?) throws {
    guard let host else {
      try limited { judge in try judge.strangers.count(stranger.address, home: home, at: judge.time) }
      return metrics.strangers.add(.heard)
    }
    let created = try writer.user(host.id)?.createdAt ?? time
    let isYoung = time.milliseconds - created.milliseconds < 86_400_000
    try strangers.count(
      host: host.id, atMost: isYoung ? Limits.addressesPerYoungAccount : Limits.addressesPerAccount, at: time)
  }

  mutating func blockList(of user: UserID) throws -> BlockList {
    if let known = blocks[user] { return known }
    let found = BlockList(try writer.rankedBlocks(of: user))
    blocks[user] = found
    return found
  }

  /// Remembers a block list whose changes have been written.
  mutating func remember(_ list: BlockList, of user: UserID) { blocks[user] = list }

  /// Returns the user's preferences; `nil` if none were set.
  mutating func archivePreferences(of user: UserID) throws -> ArchivePreferences? {
    if let known = preferences[user] { return known }
    let found = try ArchivePreferences.of(user, writer)
    preferences[user] = .some(found)
    return found
  }

  mutating func remember(_ wish: ArchivePreferences?, of user: UserID) { preferences[user] = .some(wish) }

  /// Checks blocks in both directions (XEP-0191 3.3): the blocker gets an error about the block, the blocked user one as for an
  /// unreachable user.
  mutating func checkBlocks(_ author: Party, resource: String?, _ peer: Party) throws {
    if author.id == peer.id { return }
    if !author.realm.isRemote, try blockList(of: author.id).blocks(JID(peer.address)) {
      throw Problem(.blocked, "you-block-this-user", "You have blocked this user. Unblock them to write.")
    }
    if try isBlocked(author, resource: resource, by: peer) { throw Problem.unreachable }
  }

  mutating func isBlocked(_ author: Party, resource: String?, by peer: Party) throws -> Bool {
    // The block list of a remote user is at their own server.
    if peer.realm.isRemote { return false }
    let theirs = try blockList(of: peer.id)
    if theirs.isEmpty { return false }
    return theirs.blocks(author.address.jid(normal: resource))
  }

  mutating func dialog(of a: Party, and b: Party) throws -> (state: DialogState, isNew: Bool) {
    let pair = Pair(a.id, b.id)
    if let state = dialogs[pair] { return (state, false) }
    var isNew = false
    let dialog: Dialog
    if let stored = try writer.dialog(between: pair.low, and: pair.high) {
      dialog = stored
    } else {
      let (first, second) = a.id < b.id ? (a, b) : (b, a)
      dialog = try writer.insert(
        dialog: a.id == b.id ? .own : .privately, first: first, second: second, createdAt: time)
      isNew = true
    }
    let first = try writer.mark(pair.low, in: dialog.id)
    let second = try writer.mark(pair.high, in: dialog.id)
    let state = DialogState(
      dialog, first ?? Mark(dialog: dialog.id, user: pair.low), second ?? Mark(dialog: dialog.id, user: pair.high))
    if isNew && a.id != b.id {
      // Lists of dialogs need the members' rows.
      try writer.put(state.first, superseded: .zero)
      try writer.put(state.second, superseded: .zero)
    }
    dialogs[pair] = state
    if isNew && a.id != b.id {
      try begin(dialog.id, at: b.address, for: a)
      try begin(dialog.id, at: a.address, for: b)
    }
    return (state, isNew)
  }

  /// Returns the dialog of two users; `nil` if there is none yet.
  mutating func storedDialog(of a: Party, and b: Party) throws -> DialogState? {
    if a.isProvisional || b.isProvisional { return nil }
    let pair = Pair(a.id, b.id)
    guard try dialogs[pair] != nil || writer.dialog(between: pair.low, and: pair.high) != nil else { return nil }
    return try dialog(of: a, and: b).state
  }

  /// Returns the dialog of two occupants' private messages; it has no marks, so that nothing in it counts as unread.
  mutating func whispers(
    of a: Party, and b: Party, in room: RoomName
  ) throws -> DialogState {
    let pair = Pair(a.id, b.id, room: room.dialog)
    if let state = dialogs[pair] { return state }
    let dialog =
      try writer.whispers(between: pair.low, and: pair.high, in: room.dialog)
      ?? writer.insertWhispers(between: a, and: b, in: room, createdAt: time)
    let state = DialogState(
      dialog, Mark(dialog: dialog.id, user: pair.low), Mark(dialog: dialog.id, user: pair.high))
    dialogs[pair] = state
    return state
  }

  /// Returns whether a user has written something in their dialog with another.
  func hasWritten(_ user: UserID, to other: UserID) throws -> Bool {
    if let state = dialogs[Pair(user, other)] { return state.mark(of: user).own > 0 }
    guard let dialog = try writer.dialog(between: min(user, other), and: max(user, other)) else { return false }
    return (try writer.mark(user, in: dialog.id)?.own ?? 0) > 0
  }

  mutating func touch(_ state: DialogState) {
    if !state.isDirty && !state.firstDirty && !state.secondDirty { dirty.append(state) }
    state.isDirty = true
  }

  mutating func setMark(_ mark: Mark, in state: DialogState) {
    touch(state)
    if state.dialog.first.id == mark.user {
      state.first = mark
      state.firstDirty = true
    } else {
      state.second = mark
      state.secondDirty = true
    }
  }

  /// Writes an entry in a user's `self` dialog: contact, block list, profile.
  ///
  /// - Parameter feeds: the feed rows of the users whom it concerns; `nil` for only its owner.
  mutating func insertOwn(
    _ fact: Fact, of owner: Party, at position: Position, traits: FeedRow.Traits = [], isSemiAnonymous: Bool = false,
    isInFeed: Bool = true, feeds: [FeedRow]? = nil, key: RepeatKey? = nil
  ) throws -> Entry {
    let (state, _) = try dialog(of: owner, and: owner)
    let entry = Entry(
      position: position, time: time, dialog: state.dialog.id, author: owner, place: .peer(owner), fact: fact,
      id: realms.entryID(position, in: owner.realm), isSemiAnonymous: isSemiAnonymous)
    try writer.insert(entry, feeds: feeds ?? (isInFeed ? FeedRow.rows(of: owner, traits) : []), key: key)
    state.dialog.end(at: position)
    touch(state)
    return entry
  }

  func sendingBudget(of post: Post) -> SendingBudget {
    sending.budget(ofAuthor: post.author, from: post.peer, in: realms, now: now)
  }

  private mutating func goOnline(_ post: Post, _ onlineSession: OnlineSession) throws {
    guard let user = try writer.user(post.author.id), user.state == .active else {
      throw Problem(.forbidden, "account-disabled", "This account is disabled.")
    }
    // The credential may have been revoked meanwhile. This check is in the order of the log, so that no session opens
    // after a revocation.
    guard try onlineSession.access?.stands(for: user.id, writer) ?? true else {
      throw Problem(.unauthenticated, "access-revoked", "The login was revoked meanwhile.")
    }
    let present = hub.onlineSessions(of: user.id)
    let replaces = present.contains { $0.door == onlineSession.door && $0.resource == onlineSession.resource }
    if present.count >= Limits.sessionsPerUserMax && !replaces {
      throw Problem(
        .overloaded, "too-many-sessions",
        "This user has \(Limits.sessionsPerUserMax) sessions already; close one first.")
    }
    if user.profile.displayName != nil || user.profile.avatarHash != nil { try show(user, post.author) }
    let contactSnapshot = try contactSnapshot(of: user)
    var onlineSession = onlineSession
    onlineSession.since = time
    let followed = try onlineSession.door == .app ? memberships(of: user.id) : []
    onlineSession.followedCount = followed.count
    tell(.arrived(onlineSession, contactSnapshot))
    // The hub notes the domains of remote contacts.
    if present.isEmpty { looks += contactSnapshot.own.remoteSubscriptions.count }
    arriving.append(onlineSession)
    var receipt = Receipt(position: head)
    if onlineSession.door == .app {
      // A session that only waits for events learns only that there are some.
      let memberships =
        onlineSession.isUnseen
        ? followed.map { RoomCache.Membership(room: $0.room, seesAddresses: false) } : followed
      tell(.followed(memberships, onlineSession.session))
      receipt.deliveries = try come(onlineSession, toRoomsBehind: DialogID(0), charging: sendingBudget(of: post))
    }
    receipt.position = head
    receipt.user = user
    receipt.delivered = user.delivered
    settle(post, receipt)
  }

  /// Returns the contacts of a user who comes online: from the hub if the user has another session, or from those kept since the last
  /// one, so that thousands of contacts are not read for each session.
  private mutating func contactSnapshot(of user: User) throws -> ContactSnapshot {
    if !hasChangedGroups, !changedSnapshots.contains(user.id), let known = hub.contactSnapshot(of: user.id) {
      return known
    }
    if let kept = keptContacts[user.id] { return kept.with(user: user) }
    let found = try ContactSnapshot(of: user, in: hub.contactGroups, writer)
    keptContacts.keep(found)
    return found
  }

  private mutating func openDialog(_ post: Post, _ address: BareJID) throws {
    var peer = try reachable(address, for: post.author)
    if try isBlocked(post.author, resource: nil, by: peer) { throw Problem.unreachable }
    peer = try known(peer, metBy: post.author)
    let (state, isNew) = try dialog(of: post.author, and: peer)
    var receipt = Receipt(position: head)
    if isNew {
      // A user who refuses the author's messages is not shown the dialog either, which would show the author's name.
      let isHeard = try mayWrite(post.author, to: peer)
      let position = nextPosition()
      let entry = Entry(
        position: position, time: time, dialog: state.dialog.id, author: post.author, place: .peer(peer),
        fact: .dialogOpened, id: realms.entryID(position, in: post.author.realm))
      var feeds = [FeedRow(user: post.author.id, traits: [])]
      if peer.id != post.author.id, isHeard { feeds += FeedRow.rows(of: peer, [.inbound]) }
      try writer.insert(entry, feeds: feeds, key: nil)
      if !isHeard { try writer.clear(state.dialog.id, upTo: .zero, leaves: true, for: peer.id) }
      state.dialog.end(at: position)
      touch(state)
      tell(.entry(entry, author: session(of: post)))
      receipt.entry = entry
    } else if state.dialog.sequence == 0 {
      // The dialog may have begun with an entry that is not shown, and not be in lists.
      try writer.clear(state.dialog.id, upTo: .zero, leaves: false, for: post.author.id)
    }
    receipt.position = head
    receipt.isRepeat = !isNew
    receipt.dialog = state.dialog
    settle(post, receipt)
  }
}

/// A `WriteTransaction` failed after it had written; the batch is rolled back.
struct WorkFailed: Error {
  let problem: Problem
}
