import Addresses
import Basics
import Dialogs
import NIOCore
import ServerMetrics
import XMLStream
import XMPP

/// A bound resource. It is confined to its event loop, and reached from elsewhere through its `SessionHandle` only.
///
/// A session with stream management outlives its connection (XEP-0198): it is then *suspended*, stays available, and
/// keeps its stanzas until the client comes back or the time is up.
///
/// It sends what follows from the log (`StreamCursor`). Nothing is queued per message, so a slow client costs no
/// memory. A client is slow if it leaves bytes unread or stanzas unacknowledged (XEP-0198): its session lags, and is
/// kept.
final class XMPPSession {
  let door: DoorContext
  let loopContext: LoopContext
  let party: Party
  let jid: FullJID
  let handle: SessionHandle
  weak var outlet: (any SessionOutlet)?
  var management: ResumptionMachine<Sent>
  var nonce: StreamNonce?
  /// The unacknowledged stanzas that are still in the store; `nil` unless the session is from before a restart and its
  /// client has not come back. `management` counts them as acknowledged meanwhile.
  var stored: StoredStanzas?
  private var slots: [ObjectIdentifier: Any] = [:]

  /// The presence that was last broadcast; `nil` if unavailable.
  var presence: Presence? {
    didSet {
      avatarSaid = nil
      // What others showed before is not shown to a client that is unavailable, nor behind what it gets when it comes again.
      if presence == nil { held = DeferredSignals() }
    }
  }
  /// The avatar that the presence names; `nil` before the presence was searched for it.
  var avatarSaid: AvatarHash.Said?

  private var posts = PostsInFlight()
  /// The memory of the client's stanza that is being handled.
  private var stanzaBytes = 0
  private var isRunningWaiting = false
  private var unsent: [Post] = []
  /// The client's requests to the store that wait for those under way, and for the client to read the answers.
  private var lookups: [() -> Void] = []
  private var lookupsUnderWay = 0
  private var attending: ((Result<Receipt, Problem>) -> Void)?
  var announcedHandled: UInt32 = 0

  /// The session's place in the log. Nothing is sent before it is registered.
  var cursor = StreamCursor(at: .end, replayed: .end)
  /// The messages from before the client came that it has not been sent because it reads its archive itself; `nil` if it
  /// has been sent those of them that no archive has.
  var untold: Untold?
  /// Whether a page of them is being read.
  var isReadingUnarchived = false
  struct Untold {
    let positions: ClosedRange<Position>
    /// Whether the archive counts as read, so that no other client is sent these messages either (XEP-0386 3.2).
    let isRead: Bool
  }
  /// The rooms that the session is an occupant of.
  var rooms = JoinedRooms()
  var roomsElsewhere = RoomsElsewhere()
  /// The session that takes over this one, from the request to resume until the handover.
  var successor: Successor?
  var suspendedAt: NIODeadline?
  /// The time since when a client with push enabled has left a request for acknowledgement unanswered; `isDeaf` if that
  /// is too long.
  var deafSince: NIODeadline?
  var isDeaf = false
  /// The time at which the client has closed its stream: the session ends once nothing that it has sent is under way.
  private var closedAt: NIODeadline?
  var isClosing: Bool { closedAt != nil }
  var isEnded = false

  /// The memory of the stanzas that the client has not acknowledged, and the bytes from which it is counted before the next tick.
  var unacknowledged: MemoryBound.Holder?
  var countedAgainFrom = DoorLimits.unacknowledgedBytesUncounted
  /// The bytes of the entries that wait for an acknowledgement (`Sent.entryBytes`).
  var entryBytes = 0
  /// The bytes of what the session keeps beside, as the core was last notified of them.
  var countedDoorBytes = 0

  var confirmation = DeliveryConfirmation()
  /// The server's unanswered requests to the client, oldest first.
  var questions: [(id: String, answered: (XMPPSession, Stanza) -> Void)] = []

  /// Stanzas to be sent as the client reads earlier ones.
  var paced: [() -> Void] = []

  /// The budget of the user, which the user's other sessions share, or of the domain or component of a user elsewhere.
  private(set) lazy var sending = parley.budget(of: party, from: handle.peer)
  /// The owners of the reads for what the client asks for, and of those that follow from what others do. A component that asks in a
  /// user's name has the user's turn, and the user is not charged.
  private lazy var asking: ReadOwner =
    impersonated?.behalf == nil ? parley.readOwner(party, from: handle.peer) : .user(party.id)
  private lazy var following = parley.readOwner(party, from: handle.peer, for: .followed)
  /// The reason for the reads of what the session has missed. The domain of a person elsewhere is not charged for what others say in
  /// rooms.
  var missed: ReadReason { party.realm.isRemote ? .followed : .missed }
  /// The places of missed entries, as far as the last page has found them; `nil` while the session is suspended.
  var missedPlaces: FeedPlaces?
  /// The requests of others that the client was sent and has not answered.
  private var unanswered = 0
  /// The acknowledgements and requests for them that the client is not charged for.
  var freeManagement = FreeManagement()

  init(door: DoorContext, loopContext: LoopContext, party: Party, jid: FullJID, peer: String? = nil) {
    self.door = door
    self.loopContext = loopContext
    self.party = party
    self.jid = jid
    handle = SessionHandle(party: party, loopContext: loopContext, peer: peer)
    management = ResumptionMachine()
    handle.stands(self)
  }

  /// Creates a session that impersonates a user while one request is answered (XEP-0356).
  init(door: DoorContext, loopContext: LoopContext, impersonated: ImpersonatedSession) {
    self.door = door
    self.loopContext = loopContext
    self.impersonated = impersonated
    party = impersonated.party
    jid = impersonated.jid
    handle = SessionHandle(party: party, loopContext: loopContext)
    management = ResumptionMachine()
    handle.stands(self)
  }

  /// The impersonation; `nil` for a client's session.
  private(set) var impersonated: ImpersonatedSession?
  /// The address that answers are sent to.
  var answered: String { impersonated?.answered ?? jid.description }

  /// Creates a session that continues with the state of a former session of the stream.
  init(door: DoorContext, loopContext: LoopContext, handle: SessionHandle, resuming state: SessionState) {
    self.door = door
    self.loopContext = loopContext
    party = handle.party
    jid = state.jid
    self.handle = handle
    let machine = ResumptionMachine(restoring: state.management.snapshot)
    management = machine
    entryBytes = machine.outbound.items.reduce(0) { $0 + $1.item.entryBytes }
    nonce = state.nonce
    presence = state.presence
    cursor = state.cursor
    confirmation = state.confirmation
    untold = state.untold
    rooms = state.rooms
    roomsElsewhere = state.roomsElsewhere.resumed
    announcedHandled = state.management.handled
    held = state.held
    self[JingleSessions.open] = state.calls
    if let nonce { _ = door.suspended.put(handle, under: nonce) }
    countUnacknowledged()
  }

  /// `<message to='…'`, the beginning of most stanzas from rooms.
  private(set) lazy var messageStart = Self.messageStart(jid.description)
  /// The same, addressed to the account.
  var accountMessageStart: ByteBuffer { Self.messageStart(jid.bare.description) }

  static func messageStart(_ to: String) -> ByteBuffer {
    var writer = StreamFraming.writer()
    writer.open(.message)
    writer.attribute("to", to)
    return writer.buffer
  }

  /// Returns whether a domain is that of the upload service for the user's domain.
  func isUploads(_ domain: String) -> Bool { door.options.uploads[party.address.domain] == domain }
  /// Returns whether a domain is that of the rooms of the user's realm.
  func isRooms(_ domain: String) -> Bool { parley.realm(rooms: domain)?.id == parley.home(of: party.realm) }

  /// Returns whether an address is that of the pubsub service of the user's realm.
  func isPubsub(_ address: JID) -> Bool {
    address.isDomain && parley.pubsub.service(at: address.bare, for: party) != nil
  }

  /// Returns whether a domain is a remote one that the user's realm may reach.
  func isRemote(_ domain: String) -> Bool { parley.remote(domain: domain, reachedFrom: party.realm) != nil }

  /// Returns whether a child of a message is removed, since no client may send it.
  ///
  /// - Parameters:
  ///   - domain: the user's domain, which the caller has at hand.
  ///   - rooms: the domain of the room to whose occupants the message is; `nil` if it is to a user.
  func strips(_ child: Element, _ domain: String, rooms: String? = nil) -> Bool {
    StanzaIDs.isStripped(child, domain: domain) || StanzaIDs.isInvitation(child)
      || rooms.map { StanzaIDs.isRoomsDelay(child, rooms: $0) } ?? false
      || party.realm.isRemote && StanzaIDs.isForged(child, sender: domain, door)
  }

  var parley: Parley { door.parley }
  var contactSnapshot: ContactSnapshot? { parley.hub.contactSnapshot(of: party.id) ?? impersonated?.contactSnapshot }
  var isAvailable: Bool { presence != nil }

  /// The typed state of a feature in this session.
  subscript<Value>(_ slot: Slot<Value>) -> Value {
    get { slots[ObjectIdentifier(slot)] as? Value ?? slot.initial }
    set { slots[ObjectIdentifier(slot)] = newValue }
  }

  // MARK: Beginning

  /// Registers with the hub, at one exact position of the log. The credential must still be valid there.
  ///
  /// - Parameter holding: whether nothing is sent before `resumeReading`, and offline messages are left to the archive
  ///   (XEP-0386 3.2).
  func goOnline(
    holding: Bool = false, by access: Access?, over transport: OnlineSession.Transport,
    _ then: @escaping (Problem?) -> Void
  ) {
    attending = { [self] result in
      switch result {
      case .success(let receipt):
        cursor = StreamCursor(
          at: receipt.position, holding ? .behind : .following, replayed: receipt.delivered)
        confirmation.begin(at: receipt.delivered)
        if holding { readsArchive(isRead: true) }
        then(nil)
      case .failure(let problem): then(problem)
      }
    }
    var onlineSession = OnlineSession(session: handle, door: .xmpp, resource: jid.resource)
    onlineSession.access = access
    onlineSession.transport = transport
    let post = Post(author: party, intent: .goOnline(onlineSession), completion: .session(handle, token: 0))
    if !parley.submit(post) {
      attending = nil
      then(.overloaded)
    }
  }

  /// Follows the log from the position at which somebody elsewhere has entered their first room; a registered session
  /// follows it already.
  func follow(from position: Position) {
    guard cursor.log.position == .end else { return }
    cursor = StreamCursor(at: position, replay: .over, replayed: position)
  }

  /// Registers a session restored after a restart; an expired account ends it.
  func goOnline(as onlineSession: OnlineSession) {
    attending = { [self] result in if case .failure = result { end() } }
    let post = Post(author: party, intent: .goOnline(onlineSession), completion: .session(handle, token: 0))
    if !parley.submit(post) { end() }
  }

  /// Ends sessions that the same installation has left behind under another tag (XEP-0386 3.2); one under the same tag
  /// is replaced.
  func replaceOthers(named resource: String) {
    for other in parley.hub.onlineSessions(of: party.id)
    where other.session !== handle && other.door == .xmpp && other.resource != jid.resource
      && (other.resource == resource || other.resource.hasSuffix("/" + resource))
    {
      other.session.lane.deliver(.signal(.closed(.replaced), .direct), to: other.session)
    }
  }

  func attach(_ outlet: any SessionOutlet) {
    self.outlet = outlet
    suspendedAt = nil
    loopContext.remove(suspended: self)
  }

  // MARK: Stanzas from the client

  func received(_ stanza: Stanza) {
    // Work of an earlier stanza may let the connection read on: this one is behind all that waits nonetheless.
    let isRunning = posts.isRunning
    posts.isRunning = false
    defer { posts.isRunning = isRunning }
    guard let traces = parley.traces else { return handle(stanza) }
    traces.receiving("xmpp \(stanza.kind)", stanza: stanza.id) { handle(stanza) }
  }

  private func handle(_ stanza: Stanza) {
    // RFC 6120 8.1.2.1: a client sends only from its own address.
    if let from = stanza.element["from"], from != jid.description, !isMine(from) {
      outlet?.fail(StreamError(.invalidFrom))
      return
    }
    // What somebody elsewhere makes wait is bounded by the link, and holds up nobody else of it.
    stanzaBytes = party.realm.isRemote ? 0 : stanza.element.heldBytes
    defer { stanzaBytes = 0 }
    let before = management.inbound.receivedTotal
    do throws(StanzaError) {
      try stanza.validate()
      let to = try stanza.to()
      let turn = Turn(session: self, stanza: stanza, to: to)
      switch stanza.kind {
      case .message: try Inbound.message(turn)
      case .presence:
        management.handledUnlessPost()
        try Inbound.presence(turn)
      case .iq:
        management.handledUnlessPost()
        if stanza.iqType?.isRequest == true {
          let stanzas = AddressCost.stanzas(of: stanza.element)
          if stanzas > 0 { sending.owe(stanzas: stanzas, now: parley.clock.now) }
        }
        try Inbound.iq(turn)
      }
    } catch {
      // The stanza is counted once, however far it got.
      if management.inbound.receivedTotal == before { management.handledUnlessPost() }
      Turn(session: self, stanza: stanza, to: nil).fail(error)
    }
  }

  /// The bytes of the stanzas that were written to the client.
  private var writtenBytes = 0
  private var isAnswering = false

  /// Runs work that answers a request, and charges whoever asks for the bytes that it writes. Work within it is charged with it.
  func answering<Failure: Error>(_ work: () throws(Failure) -> Void) throws(Failure) {
    if isAnswering { return try work() }
    isAnswering = true
    let before = writtenBytes
    defer {
      isAnswering = false
      charge(bytes: writtenBytes - before)
    }
    try work()
  }

  /// Charges whoever asks for what is written for one request: so many items, and so many bytes. People elsewhere have the budget of
  /// their domain and its zone, or of their component.
  func charge(items: Int = 0, bytes: Int = 0) {
    charge(stanzas: items / DoorLimits.rosterItemsPerStanza + bytes / DoorLimits.answerBytesPerStanza)
  }

  /// Charges whoever asks for as much work as so many stanzas take. A user in whose name a component asks is not charged.
  func charge(stanzas: Int) {
    if stanzas > 0, impersonated?.behalf == nil { sending.owe(stanzas: stanzas, now: parley.clock.now) }
  }

  /// Charges the user for what a presence has cost, as `Hub.setPresence` returns it. It counts as several of the elements that are
  /// handled at once.
  func charge(deliveries count: Int) {
    if count == 0 { return }
    outlet?.handled(elements: count / DoorLimits.contactsPerElement)
    sending.owe(deliveries: count, now: parley.clock.now)
  }

  /// Returns whether a stanza is the answer to a request of others, of which there are no more than requests. It is not
  /// charged: whoever asks a client often would use up what its user may send.
  func answersRequest(_ stanza: Stanza) -> Bool {
    guard unanswered > 0, let type = stanza.iqType, !type.isRequest else { return false }
    unanswered -= 1
    return true
  }

  /// Returns whether an address as written is this session's, full or bare.
  private func isMine(_ text: String) -> Bool {
    guard let from = JID(parsing: text) else { return false }
    return from == jid.jid || from == JID(party.address)
  }

  /// Queues a post, behind earlier stanzas that wait for posts. `numbered` means that it is the stanza just received,
  /// which counts as handled once it is committed.
  func post(_ intent: Intent, numbered: Bool = false, then: ((Result<Receipt, Problem>) -> Void)?) {
    let number: UInt64? = numbered && management.isEnabled ? management.inbound.began() : nil
    let outcome: ((Result<Receipt, Problem>) -> Void)?
    if numbered, let posted = outlet?.posting() {
      outcome = { result in
        then?(result)
        posted()
      }
    } else {
      outcome = then
    }
    guard posts.hasWaiting else { return post(intent, number: number, then: outcome) }
    posts.waitToPost(bytes: stanzaBytes) { [self] in post(intent, number: number, then: outcome) }
    if posts.isWaitingFull { outlet?.pause(.posts) }
  }

  private func post(_ intent: Intent, number: UInt64?, then: ((Result<Receipt, Problem>) -> Void)?) {
    var inbound: Post.Inbound?
    if let number, let nonce {
      inbound = Post.Inbound(stream: nonce, number: UInt32(truncatingIfNeeded: number))
    }
    let token = posts.add(number: number, then: then)
    let behalf = impersonated?.behalf
    submit(
      Post(
        author: behalf == nil ? party : impersonated?.link.party ?? party, intent: intent, inbound: inbound,
        completion: .session(handle, token: token), behalf: behalf))
    if posts.isFull { outlet?.pause(.posts) }
  }

  /// Submits a post behind everything that the client has sent.
  func enqueue(_ post: Post) {
    guard posts.hasWaiting else { return submit(post) }
    posts.waitToPost { [self] in submit(post) }
  }

  private func submit(_ post: Post) {
    guard !unsent.isEmpty || !parley.submit(post) else { return }
    // The inbox is full: wait in order, and do not read on.
    unsent.append(post)
    if unsent.count == 1 { submitWhenRoom() }
  }

  /// Submits what waits to be posted when the session ends: what the client has said is said, though it did not wait for
  /// what it sent before.
  private func postWaiting() {
    for post in posts.takeWaitingPosts() { post() }
  }

  private func submitWhenRoom() {
    outlet?.pause(.posts)
    let handle = handle
    parley.whenRoom(for: unsent.first?.author.id) { handle.reach { $0?.submitUnsent() } }
  }

  func submitUnsent() {
    while let post = unsent.first {
      guard parley.submit(post) else { return submitWhenRoom() }
      unsent.removeFirst()
    }
  }

  /// Whether the session has nothing to do any more: it is in no room and in no call, and everything is answered.
  var isIdle: Bool {
    rooms.isEmpty && self[JingleSessions.open].isEmpty && posts.isEmpty && unsent.isEmpty && hasAnswered
      && paced.isEmpty
  }

  /// Whether so much of what somebody elsewhere sends to rooms waits that the link is not read (`LinkWork`).
  var hasTooMuchWaiting: Bool { posts.count >= DoorLimits.linkWaitingMax / 2 || !unsent.isEmpty }

  /// Whether the outcome of a post is awaited.
  var isPosting: Bool { !posts.isEmpty }

  /// Runs work once all posts so far are done: at once if there are none.
  func afterPosts(_ run: @escaping () -> Void) {
    if posts.isEmpty, !posts.hasWaiting { return run() }
    posts.wait(bytes: stanzaBytes, run)
    if posts.isWaitingFull { outlet?.pause(.posts) }
  }

  /// Reads from the store behind all posts so far.
  ///
  /// - Parameter reason: The reason for the read, which decides whether its user is charged if it takes long.
  func fetch<Value: Sendable>(
    as kind: ReadKind = .other, for reason: ReadReason = .asked,
    _ body: @escaping @Sendable (any StoreReader) throws -> Value, then: @escaping (Result<Value, Problem>) -> Void
  ) {
    let owner =
      switch reason {
      case .asked: asking
      case .missed: parley.readOwner(party, from: handle.peer, for: .missed)
      case .followed: following
      }
    lookUp { [self] in
      let back = NIOLoopBound((session: self, then: then), eventLoop: loopContext.loop)
      parley.fetch(as: kind, for: owner, on: loopContext.lane, body) { result in
        let (session, then) = back.value
        session.lookedUp { then(result) }
      }
    }
  }

  func `await`<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(Problem) -> Value, then: @escaping (Result<Value, Problem>) -> Void
  ) {
    lookUp { [self] in
      let back = NIOLoopBound((session: self, then: then), eventLoop: loopContext.loop)
      let loop = loopContext.loop
      let owner = asking
      Task {
        let result = await ReadOwner.$current.withValue(owner) { () async -> Result<Value, Problem> in
          do throws(Problem) { return .success(try await body()) } catch { return .failure(error) }
        }
        loop.execute {
          let (session, then) = back.value
          session.lookedUp { then(result) }
        }
      }
    }
  }

  /// Goes on with the work for a request when whoever asks may send the next one: what has been asked for already must not go on for
  /// as long as it likes while nothing else is read.
  func behindDebt(_ run: @escaping () -> Void) {
    let isCharged = impersonated?.behalf == nil
    guard isCharged, let pause = sending.charge(stanzas: 0, bytes: 0, now: parley.clock.now) else { return run() }
    self.await { () throws(Problem) in
      _ = try? await Task.sleep(for: pause)
    } then: { (_: Result<Void, Problem>) in
      run()
    }
  }

  /// Starts a lookup behind all posts so far, and when its turn has come; the client is not read meanwhile.
  private func lookUp(_ start: @escaping () -> Void) {
    afterPosts { [self] in
      lookups.append(start)
      continueLookups()
      if !lookups.isEmpty { outlet?.pause(.lookups) }
    }
  }

  private func lookedUp(_ then: () -> Void) {
    lookupsUnderWay -= 1
    guard !isEnded else { return }
    posts.begin()
    then()
    posts.ran()
    resumeWaiting()
    flush()
    continueLookups()
    progressed()
  }

  /// Hands the session over or ends it, if that only waits for what the client has sent.
  private func progressed() {
    if successor?.isDue == true { surrender() }
    if isClosing, isSettled { end() }
  }

  /// Whether nothing that the client has sent is under way.
  var isSettled: Bool { posts.isDone && hasAnswered }

  /// Whether no lookup for the client is pending.
  var hasAnswered: Bool { lookupsUnderWay == 0 && lookups.isEmpty }

  /// Starts waiting lookups, when an earlier one is answered or the client reads again.
  func continueLookups() {
    while lookupsUnderWay < DoorLimits.lookupsMax, isClosing || !isUnread, !lookups.isEmpty {
      lookupsUnderWay += 1
      lookups.removeFirst()()
    }
    if lookups.isEmpty { outlet?.unpause(.lookups) }
  }

  // MARK: Deliveries

  func receive(_ delivery: Delivery) {
    switch delivery {
    case .entry(let entry, let form): receive(entry, form)
    case .signal(let signal, let form): receive(signal, form)
    case .outcome(let token, let result): settle(token, result)
    case .handedOver: surrender()
    case .owed: break
    }
  }

  private func settle(_ token: UInt64, _ result: Result<Receipt, Problem>) {
    if token == 0 { return attended(result) }
    guard let done = posts.settle() else { return }
    if let number = done.number { management.inbound.finished(number) }
    if let then = done.then {
      posts.begin()
      then(result)
      posts.ran()
    }
    runWaiting()
  }

  /// Runs the work behind posts whose turn has come, as long as the client takes the answers: hundreds may have waited for one
  /// post. What then still waits goes on with `resumeReading` or `resumeAnswers`, and at once if there is no connection.
  private func runWaiting() {
    guard !isEnded, !isRunningWaiting, !posts.isRunning else { return }
    isRunningWaiting = true
    while posts.isNextDue, outlet?.takesMore() != false {
      let next = posts.next()
      next()
      posts.ran()
    }
    isRunningWaiting = false
    if posts.hasRoom, !posts.isWaitingFull, unsent.isEmpty { outlet?.unpause(.posts) }
    progressed()
  }

  /// Goes on with work that is due and has waited for the client to take earlier answers.
  func resumeWaiting() {
    if posts.isNextDue { runWaiting() }
  }

  private func attended(_ result: Result<Receipt, Problem>) {
    let then = attending
    attending = nil
    then?(result)
  }

  private func receive(_ entry: Entry, _ form: Form) {
    // A client that lags misses nothing by an entry without a message: otherwise each of thousands of occupants would read a page of the
    // log for it. The cursor moves over it all the same, so that whoever comes back does not read all of them.
    let isTaken = cursor.arrived(entry, form, lags: lags && (form != .room || RoomOutbound.isSaid(entry)))
    if isTaken { goOn(with: entry, form) }
  }

  /// Processes an entry that the log cursor has come to: it is sent, unless another cursor sends it.
  func goOn(with entry: Entry, _ form: Form) {
    if isReplayable(entry), !cursor.tells(entry.position, form, isAvailable: isAvailable) { return }
    if let room = entry.room, !rooms.arrived(entry, form, in: room) { return }
    tell(entry, form)
  }

  /// Returns whether a replay sends this entry: a message to the user from another one (`StoreReader.replay`).
  private func isReplayable(_ entry: Entry) -> Bool {
    switch entry.fact {
    case .message(let message): message.traits.contains(.replayed) && entry.room == nil && entry.author.id != party.id
    case .invitation, .undelivered: true
    case .marker, .contact, .contactGroup, .blocks, .profile, .dialogOpened, .room, .node, .settings, .perUser, .draft,
      .scheduledMessage, .call, .notification:
      false
    }
  }

  /// Returns whether a client that has this entry has all messages to the user before it: room messages and copies come
  /// in another order.
  func confirms(_ entry: Entry, _ form: Form) -> Bool {
    form == .direct && isReplayable(entry) && cursor.isInOrder(entry.position)
  }

  /// Whether the client takes in no more at the moment.
  var lags: Bool {
    isUnread || owes(DoorLimits.unacknowledgedMax) || entryBytes >= DoorLimits.unacknowledgedEntryBytesMax
      || management.outbound.byteCount > DoorLimits.unacknowledgedBytesOfOthers
  }

  /// Whether so much waits for the client that what others send is not added, unless the log has it. Without stream management that is
  /// what the client leaves unread.
  var isFull: Bool {
    management.outbound.byteCount > DoorLimits.unacknowledgedBytesOfOthers
      || owes(DoorLimits.unacknowledgedStanzasOfOthers)
      || isUnread && (outlet?.gatheredBytes ?? 0) > DoorLimits.waitingBytesMax
  }

  /// Whether the client has to acknowledge more before a session that lags goes on.
  var owesHalf: Bool {
    isFull || owes(DoorLimits.unacknowledgedMax / 2) || entryBytes >= DoorLimits.unacknowledgedEntryBytesMax / 2
  }

  /// Whether more waits for the client than paced stanzas may add to.
  var isBehind: Bool {
    isUnread || owesHalf
      || management.outbound.byteCount > DoorLimits.unacknowledgedBytesPaced
  }

  /// Runs work once the client has read what it was sent so far; at once, if it has.
  func whenTaken(_ run: @escaping () -> Void) {
    if !isBehind { return run() }
    // A client that does not even read what it must get is sent nothing more that it can request itself.
    guard paced.count < DoorLimits.waitingTurnsMax else { return }
    paced.append(run)
    if management.isEnabled { askForSign() }
  }

  /// Whether the client reads no more at the moment. One that has closed its stream is sent nothing more.
  var isUnread: Bool { isClosing || outlet?.isWritable == false }

  func owes(_ count: Int) -> Bool { management.outbound.count >= count }

  func tell(_ entry: Entry, _ form: Form, delayed: Bool = false) {
    if isInactive { releaseHeld() }
    Outbound.entry(entry, form, delayed: delayed, to: self)
    if confirms(entry, form) { confirmation.tell(entry.position) }
  }

  /// Whether the client is inactive (XEP-0352).
  var isInactive = false {
    didSet {
      if !isInactive { releaseHeld() }
      if isInactive != oldValue { parley.hub.update(handle) { [isInactive] in $0.isInactive = isInactive } }
    }
  }
  private(set) var held = DeferredSignals()

  /// Sends the signals that wait, as far as there is room for them.
  func releaseHeld() {
    while held.count > 0, !isFull, let (signal, form) = held.releaseFirst() {
      if !misses(signal) { tell(signal, form) }
    }
  }

  private func receive(_ signal: Signal, _ form: Form) {
    if misses(signal) { return }
    if isInactive || isFull, held.hold(signal, form, all: isFull) { return }
    releaseHeld()
    if isFull { receiveWithoutRoom(signal, form) } else { tell(signal, form) }
  }

  /// Takes a signal for which there is no room. Presence waits, without what its sender has written. A request is answered with an error,
  /// and other stanzas that nothing stores are lost, as if the client were not there. What the server says to the client itself is small.
  private func receiveWithoutRoom(_ signal: Signal, _ form: Form) {
    if held.hold(signal, form, all: true) { return }
    switch signal {
    case .presence(let presence): _ = held.hold(.presence(presence.shortened), form, all: true)
    case .occupant(let presence) where form != .roomOwn:
      _ = held.hold(.occupant(presence.shortened), form, all: true)
    case .stanza(let stanza):
      if case .iq(let type) = stanza.name, type == "result" || type == "error" {
        answerWithoutRoom(stanza, form)
      } else {
        refuse(stanza)
      }
    case .notice, .node: break
    case .occupant, .call, .contactNamed, .announcement, .undelivered, .profile, .shown, .probes, .closed:
      withoutRoom { tell(signal, form) }
    }
  }
  /// Whether what is sent is lost if it exceeds the bound, since it is not the client that has asked for it.
  private var isWithoutRoom = false

  private func withoutRoom(_ send: () -> Void) {
    isWithoutRoom = true
    send()
    isWithoutRoom = false
  }

  /// Takes the answer of somebody else to a request of the client, which would wait for it in vain. For answers there is room beside that
  /// for what others send; in the place of one that is too large for it, the client gets an error. Anybody can send answers that nobody has
  /// asked for, so that beyond this room they are lost as well.
  private func answerWithoutRoom(_ stanza: RelayedStanza, _ form: Form) {
    let waiting = management.isEnabled ? management.outbound.byteCount : outlet?.gatheredBytes ?? 0
    guard !owes(DoorLimits.unacknowledgedStanzasWithAnswers), waiting < XMPPLimits.unacknowledgedBytesKept,
      (stanza.id?.utf8.count ?? 0) <= Limits.stanzaIDBytesMax
    else { return }
    if waiting + stanza.byteCount <= XMPPLimits.unacknowledgedBytesMax {
      return withoutRoom { tell(.stanza(stanza), form) }
    }
    var writer = ElementWriter()
    StanzaError(.resourceConstraint, "too much waits for this client").write(into: &writer)
    let error = RelayedStanza(
      name: .iq("error"), from: stanza.from, fromResource: stanza.fromResource, room: stanza.room,
      server: stanza.server, to: stanza.to, toResource: stanza.toResource, id: stanza.id,
      extras: Array(writer.buffer.readableBytesView))
    withoutRoom { tell(.stanza(error), form) }
  }

  /// Answers a request that the client is not sent, as the client would: with an error (RFC 6120 8.2.3).
  private func refuse(_ stanza: RelayedStanza) {
    guard case .iq(let type) = stanza.name, type == "get" || type == "set" else { return }
    let error = StanzaError(.resourceConstraint, "too much waits for this client")
    var writer = ElementWriter()
    writer.element(.iq) { writer in
      writer.attribute("type", IQType.error.text)
      writer.attribute("id", stanza.id)
      writer.attribute("to", Outbound.address(stanza.sender, stanza.fromResource))
      error.write(into: &writer)
    }
    guard let element = try? Element(parsing: writer.buffer.readableBytesView), let answer = Stanza(element),
      let to = try? answer.to()
    else { return }
    try? Inbound.iq(Turn(session: self, stanza: answer, to: to))
  }

  /// Returns whether a signal comes from a room elsewhere of which the client misses something (`RoomsElsewhere`).
  private func misses(_ signal: Signal) -> Bool {
    switch signal {
    case .presence(let presence): return misses(presence.from, isGroupchat: false)
    case .stanza(let stanza):
      guard case .message(.groupchat) = stanza.name else { return false }
      return misses(stanza.from, isGroupchat: true)
    case .occupant, .notice, .node, .call, .contactNamed, .announcement, .undelivered, .profile, .shown, .probes,
      .closed:
      return false
    }
  }

  private func misses(_ sender: Party, isGroupchat: Bool) -> Bool {
    guard sender.realm.isRemote else { return false }
    let isTooMuch =
      suspendedAt == nil
      ? isFull
      : management.outbound.byteCount > DoorLimits.waitingBytesOfRoomsElsewhere
        || owes(DoorLimits.waitingStanzasOfRoomsElsewhere)
    switch roomsElsewhere.waits(from: sender.address, isGroupchat: isGroupchat, isTooMuch: isTooMuch) {
    case .kept: return false
    case .dropped: return true
    case .ended(let occupant):
      withoutRoom { RoomOutbound.lost(occupant, self) }
      return true
    }
  }

  private func tell(_ signal: Signal, _ form: Form) {
    switch signal {
    case .presence(let presence): Outbound.presence(presence, to: self)
    case .stanza(let stanza):
      if case .iq(let type) = stanza.name, type == "get" || type == "set" { unanswered += 1 }
      Outbound.relayed(stanza, form, to: self)
    case .call(let signal): JingleSessions.told(signal, self)
    case .contactNamed(let party, let version): Roster.push(nameOf: party, at: version, to: self)
    case .profile, .shown, .probes: break
    case .occupant(let presence):
      RoomOutbound.presence(presence, form, to: self)
      if form == .roomOwn {
        let wasIn = rooms[presence.room.address] != nil
        rooms.told(presence)
        if wasIn, rooms[presence.room.address] == nil { outlet?.left(presence.room.address) }
        // It would be about occupants of whom the client knows nothing any more.
        if !presence.isAvailable, presence.newNick == nil { held.forget(presence.room.dialog) }
      }
    case .notice(let notice): RoomOutbound.notice(notice, form, to: self)
    case .node(let event): NodeWriter.send(event, form, to: self)
    case .announcement(let announcement): Announcements.tell(announcement, to: self)
    case .undelivered(let stanza, let failure):
      send { UndeliveredStanzas.write(stanza, failure, to: jid.description, into: &$0) }
    case .closed(let reason): close(reason)
    }
  }

  func batchEnded() {
    acknowledge()
    flush()
  }

  private func acknowledge() {
    guard management.isEnabled, outlet != nil, management.inbound.durable != announcedHandled else { return }
    announcedHandled = management.inbound.durable
    outlet?.write { StreamManagement.writeAcknowledgement(announcedHandled, into: &$0) }
  }

  // MARK: Sending

  /// Writes one stanza. Under stream management it is kept until acknowledged, as `kept` or, if that is `nil`, as its
  /// bytes.
  func send(counted: Bool = true, as kept: Sent? = nil, _ body: (inout ElementWriter) -> Void) {
    guard management.isEnabled, counted else { return write(body) }
    let item: Sent
    if let kept {
      item = kept
    } else {
      var writer = StreamFraming.writer()
      body(&writer)
      item = .bytes(writer.buffer)
    }
    let byteCount = item.byteCount
    guard management.sending(item, byteCount: byteCount) else { return overflow() }
    entryBytes += item.entryBytes
    if byteCount > 0, management.outbound.byteCount >= countedAgainFrom { countUnacknowledged() }
    switch item {
    case .bytes(let buffer): write { $0.raw(buffer) }
    case .entry, .result: write(body)
    }
  }

  private func write(_ body: (inout ElementWriter) -> Void) {
    outlet?.write { writeCounted(&$0, body) }
  }

  /// Writes, and counts the bytes.
  private func writeCounted(_ writer: inout ElementWriter, _ body: (inout ElementWriter) -> Void) {
    let start = writer.buffer.writerIndex
    body(&writer)
    writtenBytes += writer.buffer.writerIndex - start
  }

  /// Answers a request. An impersonated session ends with it.
  func answer(_ error: StanzaError? = nil, _ body: (inout ElementWriter) -> Void) {
    guard let impersonated else { return send(counted: true, body) }
    guard !isEnded else { return }
    isEnded = true
    impersonated.answer(error) { writeCounted(&$0, body) }
    impersonated.link.work?.ended(self)
    handle.ended()
  }

  /// Ends the session of a client that asks for much and acknowledges nothing: what it misses is in the archive. What others send ends
  /// nobody's session.
  private func overflow() {
    guard !isEnded, !isWithoutRoom else { return }
    outlet?.fail(StreamError(.policyViolation, "too many stanzas are unacknowledged"))
    end()
  }

  func flush() {
    guard let outlet else { return }
    if management.requestIsDue() { requestAcknowledgement() }
    outlet.flush()
  }

  // MARK: Time

  func tick(_ now: NIODeadline) {
    if let suspendedAt, successor == nil, now >= suspendedAt + .seconds(resumptionSeconds) { return end() }
    if let closedAt, now >= closedAt + DoorLimits.closedWork { return end() }
    countUnacknowledged()
    countDoorBytes()
    if let outlet {
      listen(now, outlet)
      if !management.isEnabled {
        if confirmation.isOwed { askForSign() }
        if let (id, kind) = confirmation.tick() { askToConfirm(id, kind) }
      }
      // Below the bound of stanzas a slow network may still carry what lies before the request.
      let isFull = owes(DoorLimits.unacknowledgedMax)
      let bound = UInt64((isFull ? DoorLimits.answer : DoorLimits.silence).nanoseconds)
      // The answer to a request may stand behind stanzas that are not read yet.
      let isHeldBack = management.isEnabled && sending.mayHoldInput(now: parley.clock.now)
      if management.isOverdue(
        at: now.uptimeNanoseconds, bound: bound, isUnread: isUnread && !isFull || isHeldBack)
      {
        // RFC 6120 4.9.3.4.
        outlet.fail(StreamError(.connectionTimeout, "a request for acknowledgement was not answered"))
      }
    }
    postConfirmation()
  }

  // MARK: The end

  func connectionLost() {
    outlet = nil
    resumeWaiting()
    guard !isEnded, !isClosing, successor == nil else { return }
    if nonce != nil, management.id != nil { suspend() } else { end() }
  }

  /// Handles the end of the stream: after the client has closed it, nothing is left to resume. What the client has sent
  /// before is done first, as a stanza may wait for an earlier one. The closing tag of a stream that was closed here, since
  /// the client resumes on another one, ends nothing.
  func streamEnded(byClient: Bool) {
    guard byClient, !isEnded, successor == nil else { return }
    closedAt = .now()
    // A closing client reads on until our closing tag (RFC 6120 4.4), so everything sent has arrived. Under stream
    // management the client has acknowledged it itself.
    if !management.isEnabled, cursor.isCaughtUp { confirmed(confirmation.told) }
    if isSettled, !posts.isRunning { return end() }
    if let nonce { door.suspended.remove(nonce, handle) }
    nonce = nil
    outlet = nil
    // Its connection is gone soon: the loop ends the session if it is not done in time, and at a stop.
    loopContext.add(suspended: self)
    continueLookups()
    resumeWaiting()
  }

  /// Drops the session silently, since it continues in the next process.
  func abandon() {
    isEnded = true
    postWaiting()
    postConfirmation()
    loopContext.remove(suspended: self)
    handle.ended()
    outlet = nil
  }

  private func close(_ reason: CloseReason) {
    let error: StreamError
    switch reason {
    case .replaced: error = StreamError(.conflict, "another session took this resource")
    case .revoked: error = StreamError(.notAuthorized, "the account or its login was closed")
    // RFC 6120 4.9.3.16: the credential that secured the stream is no longer valid.
    case .passwordChanged: error = StreamError(.reset, "the account has another password")
    case .ended: error = StreamError(.reset, "an operator ended this session")
    case .shutdown: error = StreamError(.systemShutdown)
    case .tooSlow: error = StreamError(.policyViolation, "the client does not read")
    case .tooLarge:
      error = StreamError(.resourceConstraint, "the contacts, presences and rooms of this user take too much memory")
    }
    let outlet = outlet
    end()
    outlet?.fail(error)
  }

  /// Ends the session.
  ///
  /// - Parameter isLost: whether the rooms it is in are told that it was lost for a technical reason.
  func end(isLost: Bool = false) {
    guard !isEnded else { return }
    isEnded = true
    postWaiting()
    postConfirmation()
    JingleSessions.lost(self)
    forgetUnacknowledged()
    if let nonce { door.suspended.remove(nonce, handle) }
    loopContext.remove(suspended: self)
    // What found the inbox full comes first: it may be what enters a room.
    let vacate = Intent.room(.vacate(handle.id, isLost: isLost))
    var last = unsent + [Post(author: party, intent: vacate, completion: .none, from: handle.peer)]
    if let post = outlet?.ending() { last.append(post) }
    unsent = []
    if party.realm.isRemote {
      parley.submitSurely(last)
    } else {
      let now = parley.clock.now
      parley.unregister(handle, at: now)
      oweMissed()
      parley.submitSurely(last)
      parley.leave(party, at: now)
    }
    presence = nil
    handle.ended()
    successor?.take(nil)
    successor = nil
    posts = PostsInFlight()
    lookups = []
    questions = []
    paced = []
    slots = [:]
  }
}

/// A typed place for a feature's state in a session.
final class Slot<Value: Sendable>: Sendable {
  let initial: Value
  init(_ initial: Value) { self.initial = initial }
}

extension ResumptionMachine {
  /// Counts a stanza that is handled once it has been dispatched.
  mutating func handledUnlessPost() {
    if isEnabled { inbound.handled() }
  }
}
