import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// A bound resource. Confined to its event loop; reached from elsewhere through
/// its `SessionHandle` only.
///
/// It lives longer than its connection when stream management lets it
/// (XEP-0198): then it is *suspended*, stays available, and keeps what it would
/// have sent until the client comes back or the time is up.
///
/// What it sends follows the log (`StreamCursor`). Nothing is queued per message, so a
/// slow reader costs no memory. Slow is who leaves bytes unread, and who leaves
/// stanzas unacknowledged (XEP-0198): a client that acknowledges late lags, and
/// keeps its session.
final class XMPPSession {
  let door: DoorContext
  let wheel: LoopWheel
  let party: Party
  let jid: FullJID
  let handle: SessionHandle
  weak var connection: XMPPConnection?
  var management: ResumptionMachine<Sent>
  var nonce: StreamNonce?
  private var slots: [ObjectIdentifier: Any] = [:]

  /// What was last broadcast; nil: not available.
  var presence: Presence?

  private var posts = PostsInFlight()
  private var unsent: [Post] = []
  /// What the client asks of the store: so much is under way, the rest waits for it, and for the client to take the answers.
  private var lookups: [() -> Void] = []
  private var lookupsUnderWay = 0
  private var attending: ((Result<Receipt, Problem>) -> Void)?
  var announcedHandled: UInt32 = 0

  /// The session's place in the log. Nothing is told before it attends.
  var cursor = StreamCursor(at: .end, replayed: .end)
  /// The rooms it is in.
  var rooms = RoomSeats()
  /// The session that takes over this one, from the request to resume until the handover.
  var heir: Heir?
  var suspendedAt: NIODeadline?
  /// Since when a connected client that owes acknowledgements has given none.
  var owesSince: NIODeadline?
  /// Since when a client that push services can wake leaves a request for acknowledgement unanswered, and whether that has
  /// been too long.
  var deafSince: NIODeadline?
  var isDeaf = false
  var isEnded = false

  var confirmation = DeliveryConfirmation()
  /// What the server has asked the client, oldest first.
  var questions: [(id: String, answered: (XMPPSession, Stanza) -> Void)] = []

  /// What is sent by and by, as the client takes it.
  var paced: [() -> Void] = []

  init(door: DoorContext, wheel: LoopWheel, party: Party, jid: FullJID) {
    self.door = door
    self.wheel = wheel
    self.party = party
    self.jid = jid
    handle = SessionHandle(party: party, wheel: wheel)
    management = ResumptionMachine()
    handle.stands(self)
  }

  /// Stands in for somebody while what was asked is answered.
  init(door: DoorContext, wheel: LoopWheel, impersonated: ImpersonatedSession) {
    self.door = door
    self.wheel = wheel
    self.impersonated = impersonated
    party = impersonated.party
    jid = impersonated.jid
    handle = SessionHandle(party: party, wheel: wheel)
    management = ResumptionMachine()
    handle.stands(self)
  }

  /// nil: it is a client's.
  private(set) var impersonated: ImpersonatedSession?
  /// Whom answers are for.
  var answered: String { impersonated?.answered ?? jid.description }

  /// Takes over what a former session of the stream surrendered.
  init(door: DoorContext, wheel: LoopWheel, handle: SessionHandle, resuming state: SessionState) {
    self.door = door
    self.wheel = wheel
    party = handle.party
    jid = state.jid
    self.handle = handle
    management = ResumptionMachine(restoring: state.management.snapshot)
    nonce = state.nonce
    presence = state.presence
    cursor = state.cursor
    confirmation = state.confirmation
    rooms = state.rooms
    announcedHandled = state.management.handled
    if let nonce { _ = door.suspended.put(handle, under: nonce) }
  }

  /// `<message to='…'`, of which most of what a room says is made.
  private(set) lazy var messageStart = Self.messageStart(jid.description)
  /// The same, to the account.
  var accountMessageStart: ByteBuffer { Self.messageStart(jid.bare.description) }

  private static func messageStart(_ to: String) -> ByteBuffer {
    var writer = StreamFraming.writer()
    writer.open(.message)
    writer.attribute("to", to)
    return writer.buffer
  }

  /// Whether the upload service of the user's domain lives at this one.
  func isUploads(_ domain: String) -> Bool { door.options.uploads[party.address.domain] == domain }
  /// Whether rooms of the user's realm live at this domain.
  func isRooms(_ domain: String) -> Bool { parley.realm(rooms: domain)?.id == party.realm }

  /// Whether users of another server, to which there may be a link, live at this domain.
  func isRemote(_ domain: String) -> Bool { parley.remote(domain: domain, reachedFrom: party.realm) != nil }

  var parley: Parley { door.parley }
  var contactSnapshot: ContactSnapshot? { parley.hub.contactSnapshot(of: party.id) ?? impersonated?.contactSnapshot }
  var isSuspended: Bool { connection == nil }
  var isAvailable: Bool { presence != nil }

  /// Typed state of a feature in this session.
  subscript<Value>(_ slot: Slot<Value>) -> Value {
    get { slots[ObjectIdentifier(slot)] as? Value ?? slot.initial }
    set { slots[ObjectIdentifier(slot)] = newValue }
  }

  // MARK: Beginning

  /// Registers with the hub, at one exact position of the log. What it came in by must still stand there.
  ///
  /// - Parameter holding: nothing is told before `resumeReading`, and what came while nobody was there is left to the archive
  ///   (XEP-0386 3.2).
  func goOnline(holding: Bool = false, by access: Access?, _ then: @escaping (Problem?) -> Void) {
    attending = { [self] result in
      switch result {
      case .success(let receipt):
        cursor = StreamCursor(
          at: receipt.position, holding ? .behind : .following, replayed: receipt.delivered)
        confirmation.begin(at: receipt.delivered)
        if holding {
          cursor.readsArchive()
          confirmed(receipt.position)
        }
        then(nil)
      case .failure(let problem): then(problem)
      }
    }
    var onlineSession = OnlineSession(session: handle, door: .xmpp, resource: jid.resource)
    onlineSession.access = access
    let post = Post(author: party, intent: .goOnline(onlineSession), completion: .session(handle, token: 0))
    if !parley.submit(post) {
      attending = nil
      then(.overloaded)
    }
  }

  /// A session of before a restart is back; an expired account ends it.
  func goOnline(as onlineSession: OnlineSession) {
    attending = { [self] result in if case .failure = result { end() } }
    let post = Post(author: party, intent: .goOnline(onlineSession), completion: .session(handle, token: 0))
    if !parley.submit(post) { end() }
  }

  /// Ends what the same installation has left behind under another tag (XEP-0386 3.2); under the same one it is replaced.
  func replaceOthers(named resource: String) {
    for other in parley.hub.onlineSessions(of: party.id)
    where other.session !== handle && other.door == .xmpp && other.resource != jid.resource
      && (other.resource == resource || other.resource.hasSuffix("/" + resource))
    {
      other.session.lane.deliver(.signal(.closed(.replaced), .direct), to: other.session)
    }
  }

  func attach(_ connection: XMPPConnection) {
    self.connection = connection
    suspendedAt = nil
    wheel.remove(suspended: self)
  }

  // MARK: Stanzas from the client

  func received(_ stanza: Stanza) {
    // RFC 6120 8.1.2.1: a client speaks for itself alone.
    if let from = stanza.element["from"], from != jid.description, !isMine(from) {
      connection?.fail(StreamError(.invalidFrom))
      return
    }
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
        try Inbound.iq(turn)
      }
    } catch {
      // Once, however far it got.
      if management.inbound.receivedTotal == before { management.handledUnlessPost() }
      Turn(session: self, stanza: stanza, to: nil).fail(error)
    }
  }

  /// Whether an address as written is this session's, full or bare.
  private func isMine(_ text: String) -> Bool {
    guard let from = JID(parsing: text) else { return false }
    return from == jid.jid || from == JID(party.address)
  }

  /// Queues a post; `numbered`: it is the stanza just received, done when it is
  /// committed.
  func post(_ intent: Intent, numbered: Bool = false, then: ((Result<Receipt, Problem>) -> Void)?) {
    var inbound: Post.Inbound?
    var number: UInt64?
    if numbered, management.isEnabled {
      let total = management.inbound.began()
      number = total
      if let nonce { inbound = Post.Inbound(stream: nonce, number: UInt32(truncatingIfNeeded: total)) }
    }
    let token = posts.add(number: number, then: then)
    let behalf = impersonated?.behalf
    enqueue(
      Post(
        author: behalf == nil ? party : impersonated?.link.party ?? party, intent: intent, inbound: inbound,
        completion: .session(handle, token: token), behalf: behalf))
    if posts.isFull { connection?.pause(.posts) }
  }

  /// Submits a post behind everything that the session has posted.
  func enqueue(_ post: Post) {
    guard !unsent.isEmpty || !parley.submit(post) else { return }
    // The inbox is full: wait in order, and do not read on.
    unsent.append(post)
    if unsent.count == 1 { submitWhenRoom() }
  }

  private func submitWhenRoom() {
    connection?.pause(.posts)
    let handle = handle
    parley.whenRoom { handle.reach { $0?.submitUnsent() } }
  }

  func submitUnsent() {
    while let post = unsent.first {
      guard parley.submit(post) else { return submitWhenRoom() }
      unsent.removeFirst()
    }
  }

  /// Runs once all posts so far are done: at once when there are none.
  func afterPosts(_ run: @escaping () -> Void) {
    if posts.isEmpty { return run() }
    posts.wait(run)
    if posts.isWaitingFull { connection?.pause(.posts) }
  }

  func fetch<Value: Sendable>(
    _ body: @escaping @Sendable (any StoreReader) throws -> Value, then: @escaping (Result<Value, Problem>) -> Void
  ) {
    lookUp { [self] in
      let back = NIOLoopBound((session: self, then: then), eventLoop: wheel.loop)
      parley.fetch(on: wheel.lane, body) { result in
        let (session, then) = back.value
        session.lookedUp { then(result) }
      }
    }
  }

  func `await`<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(Problem) -> Value, then: @escaping (Result<Value, Problem>) -> Void
  ) {
    lookUp { [self] in
      let back = NIOLoopBound((session: self, then: then), eventLoop: wheel.loop)
      let loop = wheel.loop
      Task {
        let result: Result<Value, Problem>
        do throws(Problem) { result = .success(try await body()) } catch { result = .failure(error) }
        loop.execute {
          let (session, then) = back.value
          session.lookedUp { then(result) }
        }
      }
    }
  }

  /// Behind all posts so far, and when its turn has come: no more is read of the client meanwhile.
  private func lookUp(_ start: @escaping () -> Void) {
    afterPosts { [self] in
      lookups.append(start)
      continueLookups()
      if !lookups.isEmpty { connection?.pause(.lookups) }
    }
  }

  private func lookedUp(_ then: () -> Void) {
    lookupsUnderWay -= 1
    guard !isEnded else { return }
    then()
    flush()
    continueLookups()
    if heir?.isDue == true { surrender() }
  }

  /// Nothing that the client has asked for is being looked up.
  var hasAnswered: Bool { lookupsUnderWay == 0 && lookups.isEmpty }

  /// One of those before is answered, or the client reads again.
  func continueLookups() {
    while lookupsUnderWay < DoorLimits.lookupsMax, !isUnread, !lookups.isEmpty {
      lookupsUnderWay += 1
      lookups.removeFirst()()
    }
    if lookups.isEmpty { connection?.unpause(.lookups) }
  }

  // MARK: Deliveries

  func receive(_ delivery: Delivery) {
    switch delivery {
    case .entry(let entry, let form): receive(entry, form)
    case .signal(let signal, let form): receive(signal, form)
    case .outcome(let token, let result): settle(token, result)
    case .handedOver: surrender()
    }
  }

  private func settle(_ token: UInt64, _ result: Result<Receipt, Problem>) {
    if token == 0 { return attended(result) }
    guard let done = posts.settle() else { return }
    if let number = done.number { management.inbound.finished(number) }
    if let then = done.then { then(result) }
    while let next = posts.next(settled: token) {
      next()
      posts.ran()
    }
    if posts.hasRoom, unsent.isEmpty { connection?.unpause(.posts) }
  }

  private func attended(_ result: Result<Receipt, Problem>) {
    let then = attending
    attending = nil
    then?(result)
  }

  private func receive(_ entry: Entry, _ form: Form) {
    if cursor.arrived(entry, form, lags: lags) { goOn(with: entry, form) }
  }

  /// The log cursor has come to an entry: it is told, where no other cursor does that.
  func goOn(with entry: Entry, _ form: Form) {
    if isReplayable(entry), !cursor.tells(entry.position, form, isAvailable: isAvailable) { return }
    if let room = entry.room, !rooms.arrived(entry, form, in: room) { return }
    tell(entry, form)
  }

  /// Whether a replay tells this entry: a message to the user, by somebody else (`StoreReader.replay`).
  private func isReplayable(_ entry: Entry) -> Bool {
    switch entry.fact {
    case .message(let message): message.traits.contains(.replayed) && entry.room == nil && entry.author.id != party.id
    case .invitation: true
    default: false
    }
  }

  /// Whether a client that has this entry has all messages to the user before it: what rooms say, and what is copied, comes in
  /// another order.
  func confirms(_ entry: Entry, _ form: Form) -> Bool {
    guard form == .direct, case .message = entry.fact else { return false }
    return isReplayable(entry) && cursor.isInOrder(entry.position)
  }

  /// The client takes in no more at the moment.
  var lags: Bool { isUnread || owes(DoorLimits.unacknowledgedMax) }

  /// More waits for the client than what is sent by and by may add to.
  var isBehind: Bool {
    isUnread || owes(DoorLimits.unacknowledgedMax / 2)
      || management.outbound.byteCount > DoorLimits.unacknowledgedBytesPaced
  }

  /// Goes on once the client has taken what it was sent so far; now, where it has.
  func whenTaken(_ run: @escaping () -> Void) {
    if !isBehind { return run() }
    // Who does not even take what is due is told no more of what it can ask for.
    guard paced.count < DoorLimits.waitingTurnsMax else { return }
    paced.append(run)
    if management.isEnabled { askForSign() }
  }

  var isUnread: Bool { connection?.isWritable == false }

  func owes(_ count: Int) -> Bool { management.outbound.count >= count }

  func tell(_ entry: Entry, _ form: Form, delayed: Bool = false) {
    if isInactive { releaseHeld() }
    Outbound.entry(entry, form, delayed: delayed, to: self)
    if confirms(entry, form) { confirmation.tell(entry.position) }
  }

  /// Nobody looks at the client (XEP-0352).
  var isInactive = false {
    didSet {
      if !isInactive { releaseHeld() }
      if isInactive != oldValue { parley.hub.update(handle) { [isInactive] in $0.isInactive = isInactive } }
    }
  }
  private var held = DeferredSignals()

  private func releaseHeld() {
    for (signal, form) in held.release() { tell(signal, form) }
  }

  private func receive(_ signal: Signal, _ form: Form) {
    if isInactive {
      if held.hold(signal, form) { return }
      releaseHeld()
    }
    tell(signal, form)
  }

  private func tell(_ signal: Signal, _ form: Form) {
    switch signal {
    case .presence(let presence):
      // A client that does not read loses presence it will be told again; it
      // never loses that somebody went.
      if presence.isAvailable, isUnread, let connection, connection.gatheredBytes > DoorLimits.waitingBytesMax {
        return
      }
      Outbound.presence(presence, to: self)
    case .stanza(let stanza): Outbound.relayed(stanza, form, to: self)
    case .profile, .shown, .call: break
    case .occupant(let presence):
      RoomOutbound.presence(presence, form, to: self)
      if form == .roomOwn { rooms.told(presence) }
    case .notice(let notice): RoomOutbound.notice(notice, form, to: self)
    case .node(let event): NodeWriter.send(event, form, to: self)
    case .announcement(let announcement): Announcements.tell(announcement, to: self)
    case .closed(let reason): close(reason)
    }
  }

  func batchEnded() {
    acknowledge()
    flush()
  }

  private func acknowledge() {
    guard management.isEnabled, connection != nil, management.inbound.durable != announcedHandled else { return }
    announcedHandled = management.inbound.durable
    connection?.write { StreamManagement.writeAcknowledgement(announcedHandled, into: &$0) }
  }

  // MARK: Sending

  /// Writes one stanza. Under stream management it is kept until acknowledged;
  /// `kept` says as what, nil: as its bytes.
  func send(counted: Bool = true, as kept: Sent? = nil, _ body: (inout ElementWriter) -> Void) {
    guard management.isEnabled, counted else {
      connection?.write(body)
      return
    }
    let item: Sent
    if let kept {
      item = kept
    } else {
      var writer = StreamFraming.writer()
      body(&writer)
      item = .bytes(writer.buffer)
    }
    guard management.sending(item, byteCount: item.byteCount) else { return overflow() }
    guard let connection else { return }
    switch item {
    case .bytes(let buffer): connection.write { $0.raw(buffer) }
    case .entry: connection.write(body)
    }
  }

  /// Answers a request. Who stands in for somebody has done so then.
  func answer(_ error: StanzaError? = nil, _ body: (inout ElementWriter) -> Void) {
    guard let impersonated else { return send(counted: true, body) }
    guard !isEnded else { return }
    isEnded = true
    impersonated.answer(error, body)
    impersonated.link.ended(self)
    handle.ended()
  }

  /// The client acknowledges nothing: what it misses is in the archive.
  private func overflow() {
    guard !isEnded else { return }
    if let connection {
      connection.fail(StreamError(.policyViolation, "too many stanzas are unacknowledged"))
    }
    end()
  }

  func flush() {
    guard let connection else { return }
    if management.requestIsDue() { connection.write { StreamManagement.writeRequest(into: &$0) } }
    connection.flush()
  }

  // MARK: Time

  func tick(_ now: NIODeadline) {
    if let suspendedAt, heir == nil, now >= suspendedAt + .seconds(resumptionSeconds) { return end() }
    if let connection {
      listen(now, connection)
      if !management.isEnabled, confirmation.isOwed { ping() }
      if owes(DoorLimits.unacknowledgedMax) {
        let since = owesSince ?? now
        owesSince = since
        if now >= since + DoorLimits.answer {
          connection.fail(StreamError(.policyViolation, "stanzas are not acknowledged"))
        }
      }
    }
    postConfirmation()
  }

  // MARK: The end

  func connectionLost() {
    connection = nil
    guard !isEnded, heir == nil else { return }
    if nonce != nil, management.id != nil { suspend() } else { end() }
  }

  /// The client closed its stream: nothing is left to resume.
  func streamEnded(byClient: Bool) {
    guard byClient else { return }
    // Who closes reads on until our closing tag (RFC 6120 4.4): what was told
    // has arrived. Under stream management the client has said so itself.
    if !management.isEnabled, cursor.isCaughtUp { confirmed(confirmation.told) }
    end()
  }

  /// The process ends and the session goes on in the next one: nobody is told.
  func abandon() {
    isEnded = true
    postConfirmation()
    wheel.remove(suspended: self)
    handle.ended()
    connection = nil
  }

  private func close(_ reason: CloseReason) {
    let error: StreamError
    switch reason {
    case .replaced: error = StreamError(.conflict, "another session took this resource")
    case .revoked: error = StreamError(.notAuthorized, "the account or its login was closed")
    // RFC 6120 4.9.3.16: what the stream was secured by counts no more.
    case .passwordChanged: error = StreamError(.reset, "the account has another password")
    case .ended: error = StreamError(.reset, "an operator ended this session")
    case .shutdown: error = StreamError(.systemShutdown)
    case .tooSlow: error = StreamError(.policyViolation, "the client does not read")
    }
    let connection = connection
    end()
    connection?.fail(error)
  }

  func end() {
    guard !isEnded else { return }
    isEnded = true
    for hook in door.table.ended { hook(self) }
    postConfirmation()
    if let nonce { door.suspended.remove(nonce, handle) }
    wheel.remove(suspended: self)
    parley.hub.unregister(handle, time: parley.clock.now)
    oweMissed()
    parley.leave(party, session: handle.id)
    presence = nil
    handle.ended()
    heir?.take(nil)
    heir = nil
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
  /// Counts a stanza that is done when it has been dispatched.
  mutating func handledUnlessPost() {
    if isEnabled { inbound.handled() }
  }
}
