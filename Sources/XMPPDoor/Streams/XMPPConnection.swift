import Accounts
import Addresses
import Basics
import Dialogs
import HTTPPort
import Logging
import NIOCore
import ServerMetrics
import XMLStream
import XMPP

/// One stream on its transport: reads and writes elements, and carries out the outputs of the stream machine. A bound
/// session lives in an `XMPPSession`, which outlives its connection when it can be resumed.
///
/// Reading pauses while an answer to the machine is under way, and while the session has its maximum of posts in
/// flight: the transport then pushes back. It also pauses while the client does not read: the transport then takes no
/// more, and the output gathers here, where it is counted. And it pauses while the user has sent as much as one may.
///
/// One read of the socket may hold a thousand requests with large answers. So the output is sent as soon as it is much
/// (`DoorLimits.gatheredBytesMax`), and the rest of the input is processed in a turn of its own, once the transport takes more. So it is
/// behind many elements, of this connection or of all together (`LaneTurns`).
final class XMPPConnection: SessionOutlet {
  let door: DoorContext
  let loopContext: LoopContext
  private let framing: StreamFraming
  let peer: String
  private let onLoginEnded: @Sendable (_ user: String?) -> Bool
  /// The memory of the stream before its login.
  private let memory: MemoryBound.Holder
  private var hasTLS: Bool
  /// The memory of the output that a logged-in client does not read, and its owner: the user, from the login on.
  private var unread: MemoryBound.Holder?
  /// The memory of a logged-in client's unfinished stanza and of input that waits.
  private var unfinished: MemoryBound.Holder?
  /// The time of the tick that has found the stanza unfinished, or since which the client is read again.
  private var unfinishedSince: NIODeadline?
  /// The bytes that were sent since unread output was last counted.
  private var sentUncounted = 0
  private var owner: String
  /// The bytes that the transport held at the last look, and the time since which it has not written them.
  private var (waiting, waitingSince) = (0, NIODeadline?.none)
  private var transport: (any StreamTransport)?
  var machine: StreamMachine
  var binder: BindMachine
  private var reading: Reading
  private var writer: ElementWriter?
  /// The end of each element in the gathered bytes, for a transport that frames elements.
  private var ends: [Int] = []
  var session: XMPPSession? {
    // Another connection of a user in debt is not read either. What was read up to the login is charged.
    didSet { charge(stanzas: 0) }
  }
  /// The user whose keys were looked up last: binding need not look the user up again.
  var known: Party?
  /// The proof of the account's password, until the login is over.
  private var proof: Proof?
  /// The attempt whose keys the machine has been given; its proof is checked when it comes.
  private var proving: LoginAttempt?
  private var clientRandom: ClientRandom?
  /// The credential that the last attempt to authenticate proves, if it succeeds.
  var access: Access?
  /// The app passwords whose keys were given to the machine, in its order.
  private var appPasswords: [Int64] = []
  /// The token that is sent with the success (XEP-0484).
  var issued: Accounts.IssuedToken?

  /// The input that came while reading was paused: bytes of a document, or elements that came framed.
  private var backlog = ByteBuffer()
  private var events: [ReaderEvent] = []
  /// The bytes that these take.
  private var eventBytes = 0
  private var pauses: ReadingPauses = []
  /// The number of answers that the machine waits for: one may be part of another.
  private var waits = 0
  private var wantsRead = false
  private var isProcessing = false
  /// The bytes that came and are not charged to the user yet.
  private var uncharged = 0
  /// The elements and frames that came before there was a session.
  private var beforeSession = 0
  /// The events of the reader that were handled since others were last served.
  private var handledAtOnce = 0
  private var restart = Restart.no
  var isOver = false
  /// The state of registration before authentication (`Registration.swift`).
  var registration: RegistrationMachine
  var isRegistering = false
  private var hasEndedLogin = false
  /// Whether the transport takes more. The transport reports changes; asking it would cost more than all other work for
  /// one of a thousand occupants.
  private(set) var isWritable = true
  /// Whether the transport is given output: what it reports meanwhile is handled in the next turn, since whoever has made
  /// the output may be in the middle of other work.
  private var isSending = false
  /// Whether the connection is about to be closed, as its client reads nothing: nothing more is gathered.
  private var isGivenUp = false
  /// Whether the server has closed the transport, and whether the client has done so while its input waits for a turn.
  private var (isClosed, hasLeft) = (false, false)
  var deadline: NIODeadline
  private var heard: NIODeadline
  private var isAsked = false

  /// The fate of the reader after the current element: unchanged, replaced, kept with the bounds of an authenticated
  /// stream, or replaced with the rest of the input dropped.
  private enum Restart { case no, fresh, wider, dropRest }

  /// The state of the stream's reader. Between stanzas a stream has no buffers: the loop has some for whichever stream is
  /// read next.
  private enum Reading {
    /// The transport frames elements and reads them itself.
    case framed
    case between(HibernatedReader)
    case within(LoopContext.Reader)
  }

  private struct Proof {
    let used: SCRAMKeys
    /// The hashes for which the user has keys.
    let hashes: [SCRAMHash]
  }

  /// - Parameters:
  ///   - memory: what counts the bytes that the stream holds before its login.
  ///   - onLoginEnded: called with the user's address when the client has logged in, or with nil if the stream ends before. Returns
  ///     `false` if the user may not have the connection; then it is called again when the stream ends.
  init(
    door: DoorContext, loopContext: LoopContext, framing: StreamFraming, isSecured: Bool, peer: String,
    memory: MemoryBound.Holder, onLoginEnded: @escaping @Sendable (_ user: String?) -> Bool
  ) {
    self.door = door
    self.loopContext = loopContext
    self.framing = framing
    self.peer = peer
    owner = peer
    self.onLoginEnded = onLoginEnded
    self.memory = memory
    // The TLS of a WebSocket and of BOSH is counted by the HTTP port.
    hasTLS = isSecured && framing == .document
    machine = StreamMachine(policy: framing == .document ? door.streams : door.webStreams, isSecured: isSecured)
    binder = BindMachine(policy: door.binding)
    registration = RegistrationMachine(
      isOpen: door.options.allowsRegistration, needsProof: door.accounts.options.registration.needsProof)
    reading = framing == .document ? .between(HibernatedReader()) : .framed
    heard = .now()
    deadline = .now() + DoorLimits.negotiation
  }

  var loop: any EventLoop { loopContext.loop }
  var metrics: Metrics { door.parley.metrics }
  /// The mechanism of the attempt to log in that is under way.
  private var mechanism = LoginMechanism.unknown
  var transportKind: OnlineSession.Transport { transport?.kind ?? .none }

  // MARK: The transport's events

  func opened(over transport: any StreamTransport) {
    self.transport = transport
    loopContext.add(self)
    countMemory()
  }

  func failed(_ error: any Error) {
    door.logger.debug("connection failed", metadata: ["peer": "\(peer)", "error": "\(error)"])
  }

  /// Notes that TLS is up, from the first byte or behind STARTTLS.
  func secured(channelBindings: [ChannelBinding]) {
    if machine.phase == .securing { deadline = .now() + DoorLimits.negotiation }
    machine.secured(channelBindings: channelBindings)
  }

  func writabilityChanged(_ isWritable: Bool) {
    self.isWritable = isWritable
    session?.handle.setLeavesUnread(!isWritable)
    countUnread()
    guard isWritable else { return pause(.output) }
    // A client that reads is alive.
    heard = .now()
    isAsked = false
    if isSending { waitForTurn() } else { goOnWriting() }
  }

  /// Goes on with what has waited for the client to read, or for a turn, and then with its input.
  private func goOnWriting() {
    flush()
    countMemory()
    guard isWritable else { return }
    if pauses.contains(.output) { session?.resumeReading() } else { session?.resumeAnswers() }
    flush()
    guard isWritable else { return }
    pauses.remove(.output)
    goOn()
  }

  /// Goes on with the input, and with what waits for the client to read, in a turn of its own. The loop does its other work
  /// before, however fast the client reads. Where networks do not take turns, users do.
  private func waitForTurn() {
    guard !pauses.contains(.turn) else { return }
    pause(.turn)
    let me = NIOLoopBound(self, eventLoop: loop)
    let network = door.parley.options.networks.name(of: peer) ?? (session == nil ? nil : owner)
    loopContext.lane.turns.wait(self, in: network) {
      let connection = me.value
      connection.pauses.remove(.turn)
      // Otherwise the transport reports when it takes more.
      if !connection.isOver, connection.isWritable { connection.goOnWriting() }
      if connection.hasLeft { connection.lost() }
    }
  }

  /// Returns whether more may be read now; if not, `StreamTransport.read` is called later.
  func mayRead() -> Bool {
    handledAtOnce = 0
    if pauses.isEmpty { return true }
    wantsRead = true
    return false
  }

  /// Notes a sign of life, which need not be part of the stream.
  func noteLife() {
    heard = .now()
    isAsked = false
  }

  /// Takes bytes of a document, cut anywhere.
  func received(_ bytes: ByteBuffer) {
    var bytes = bytes
    noteLife()
    uncharged += bytes.readableBytes
    defer { countMemory() }
    if loopContext.lane.turns.isOver { waitForTurn() }
    if !pauses.isEmpty || backlog.readableBytes > 0 {
      backlog.writeBuffer(&bytes)
      return
    }
    process(&bytes)
    if bytes.readableBytes > 0 { backlog.writeBuffer(&bytes) }
  }

  /// Notes the bytes of frames, whose elements follow.
  func counted(_ bytes: Int) { uncharged += bytes }

  /// Takes a frame that is no part of the stream, such as a ping. It counts as a stanza: it has few bytes, or none.
  func receivedControl(_ bytes: Int) {
    noteLife()
    uncharged += bytes
    if session == nil, isOneTooMany() { return }
    charge(stanzas: 1)
  }

  /// Takes an element that came in a frame of its own, within `limits`.
  func received(_ event: ReaderEvent) {
    noteLife()
    events.append(event)
    eventBytes += Self.bytes(of: event)
    if loopContext.lane.turns.isOver { waitForTurn() }
    drainEvents()
    countMemory()
  }

  /// The current bounds of an element.
  var limits: ReaderLimits { machine.user == nil ? .unauthenticated : .authenticated }

  private func drainEvents() {
    guard !isProcessing else { return }
    isProcessing = true
    defer { isProcessing = false }
    while !events.isEmpty, pauses.isEmpty, !isOver, machine.phase != .closed {
      let event = events.removeFirst()
      eventBytes -= Self.bytes(of: event)
      _ = handle(event)
    }
    if events.isEmpty { charge(stanzas: 0) }
    if isOver || machine.phase == .closed { (events, eventBytes) = ([], 0) }
  }

  /// Returns the memory that an event takes which waits for an earlier answer.
  private static func bytes(of event: ReaderEvent) -> Int {
    if case .element(let element) = event { return DoorLimits.eventBytes + element.heldBytes }
    return DoorLimits.eventBytes
  }

  // MARK: Reading

  func pause(_ why: ReadingPauses) {
    if why == .machine { waits += 1 }
    pauses.insert(why)
  }

  func unpause(_ why: ReadingPauses) {
    if why == .machine { waits -= 1 }
    guard pauses.contains(why), why != .machine || waits == 0 else { return }
    pauses.remove(why)
    goOn()
  }

  /// Processes the input that waits, and reads on, if nothing pauses any more.
  private func goOn() {
    // Inside `process` its loop continues by itself.
    guard pauses.isEmpty, !isProcessing, !isOver else { return }
    if backlog.readableBytes > 0 {
      var bytes = backlog
      backlog = ByteBuffer()
      process(&bytes)
      if bytes.readableBytes > 0 { backlog.writeBuffer(&bytes) }
      flush()
    }
    if !events.isEmpty {
      drainEvents()
      flush()
    }
    countMemory()
    if pauses.isEmpty, wantsRead {
      wantsRead = false
      transport?.read()
    }
  }

  private func process(_ bytes: inout ByteBuffer) {
    isProcessing = true
    defer { isProcessing = false }
    while bytes.readableBytes > 0, pauses.isEmpty, !isOver, machine.phase != .closed {
      let reader = takeReader()
      let read = bytes.withUnsafeReadableBytes { raw in
        reader.reader.feed(raw) { event in handle(event) }
      }
      bytes.moveReaderIndex(forwardBy: read)
      switch restart {
      case .no: keep(reader)
      case .fresh: beginAgain(reader)
      case .wider:
        reader.reader.limits = limits
        keep(reader)
      case .dropRest:
        // Input sent in the clear behind <starttls/> must be ignored (RFC 6120 5.4.3.3).
        beginAgain(reader)
        bytes.clear()
        backlog.clear()
      }
      restart = .no
    }
    charge(stanzas: 0)
    if isOver || machine.phase == .closed { bytes.clear() }
  }

  /// Counts an element or a frame of a client that has no session yet, for which nobody is charged. Returns whether it is one
  /// too many; the stream has then ended.
  private func isOneTooMany() -> Bool {
    beforeSession += 1
    guard beforeSession > DoorLimits.elementsBeforeSessionMax else { return false }
    fail(StreamError(.policyViolation, "too many elements before a resource is bound"))
    return true
  }

  /// Charges the user for an element, whatever it is, as for a stanza, unless it is free.
  private func charge(for output: StreamOutput) {
    guard let session else { return }
    switch output {
    case .stanza(let stanza):
      session.freeManagement.stanzaCame()
      charge(stanzas: session.answersRequest(stanza) ? 0 : 1)
    case .management(let element):
      if !session.freeManagement.takes(element, of: session.management.outbound) { charge(stanzas: 1) }
    case .nothing, .open, .refuse, .startTLS, .refuseTLS, .challenge, .needCredentials, .verifyPassword, .needUpgrades,
      .upgrade, .taskData, .storeUpgrade, .verifyToken, .verifyBearer, .needGuest, .authenticated, .admitted,
      .authenticationFailed, .bind, .reply, .managementFailed, .element, .close, .finish:
      charge(stanzas: 1)
    }
  }

  /// Whether the user has sent as much as one may. A user without a session counts as one, since nobody is charged yet.
  var isInDebt: Bool { session == nil ? machine.user != nil : pauses.contains(.sending) }

  /// Charges what was read to the user, and reads no more while the user has sent as much as one may.
  func charge(stanzas: Int) {
    guard stanzas > 0 || uncharged > 0, let budget = session?.sending else { return }
    let time = budget.charge(stanzas: stanzas, bytes: uncharged, now: door.parley.clock.now)
    uncharged = 0
    if let time, !pauses.contains(.sending) {
      pause(.sending)
      let (me, loop) = (NIOLoopBound(self, eventLoop: loop), loop)
      budget.endPause(after: time, door.parley.clock) { time, body in
        loop.scheduleTask(in: TimeAmount(time)) { body() }
      } end: {
        me.value.unpause(.sending)
      }
    }
  }

  /// Counts what the stream holds: everything until its login is over, and then what is unfinished.
  private func countMemory() {
    // The reader is in use. What it keeps is counted once it has read all.
    if isProcessing { return }
    guard !hasEndedLogin else { return countUnfinished() }
    var bytes = (hasTLS ? DoorLimits.streamTLSBytes : DoorLimits.streamBytes) + backlog.capacity
    // A writer whose bytes are sent at once is the loop's.
    bytes += isWritable ? gatheredBytes : gatheredMemory
    if case .within(let reader) = reading { bytes += reader.reader.heldBytes }
    bytes += eventBytes
    if let transport { bytes += MemoryBound.grown(transport.heldBytes) }
    memory.hold(bytes)
  }

  /// Counts an unfinished stanza of a logged-in client and the input that waits, with those of the user's other sessions.
  private func countUnfinished() {
    var bytes = 0
    // The connection may end while its reader is in use.
    if !isOver {
      bytes = backlog.capacity + eventBytes
      if case .within(let reader) = reading { bytes += reader.reader.heldBytes }
    }
    guard bytes > DoorLimits.unfinishedUncounted else {
      unfinished?.release()
      return unfinished = nil
    }
    let (me, loop) = (NIOLoopBound(self, eventLoop: loop), loop)
    let holder =
      unfinished ?? door.parley.options.memory.unfinished.enter(owner) { loop.execute { me.value.giveUnfinishedUp() } }
    unfinished = holder
    holder.hold(bytes)
  }

  /// Closes the connection for others. Its session can be resumed.
  private func giveUnfinishedUp() {
    // The stanza may be complete meanwhile.
    guard unfinished != nil else { return }
    fail(.unfinishedStanzas)
    drop()
  }

  /// Returns whether the stanza that is being read may still be completed. The time in which nothing is read does not count.
  private func isStanzaInTime(_ now: NIODeadline) -> Bool {
    guard case .within = reading else { return true }
    guard let since = unfinishedSince, pauses.isEmpty else {
      unfinishedSince = now
      return true
    }
    return now < since + DoorLimits.stanzaTime
  }

  /// Counts what waits for a logged-in client, from when it does not read until it has read nearly everything. It counts as well where
  /// the transport takes more still, at each tick and after each `MemoryBound.shareBytes` that were sent.
  private func countUnread(isExact: Bool = false) {
    sentUncounted = 0
    guard !isOver, hasEndedLogin, let transport,
      !isWritable || isExact && transport.heldBytes >= MemoryBound.shareBytes
    else {
      unread?.release()
      return unread = nil
    }
    let (me, loop) = (NIOLoopBound(self, eventLoop: loop), loop)
    let holder =
      unread ?? door.parley.options.memory.unread.enter(owner) { loop.execute { me.value.giveUnreadUp() } }
    unread = holder
    let tlsBytes = hasTLS ? DoorLimits.unreadTLSBytes : 0
    holder.hold(gatheredMemory + MemoryBound.waiting(transport.heldBytes) + tlsBytes)
  }

  /// Closes the connection of a client that does not read, for others. Its session can be resumed.
  private func giveUnreadUp() {
    // The client may have read since the tick that has counted it.
    if unread != nil { countUnread(isExact: true) }
    if unread != nil { drop() }
  }

  /// Lets a client that reads slowly count as one that has begun to be slow only now, for a while: those that read nothing
  /// are closed before it.
  private func noteReading(_ now: NIODeadline) {
    guard !isWritable, let transport else { return (waiting, waitingSince) = (0, nil) }
    // The transport gets nothing more until it has written nearly everything.
    let (before, since) = (waiting, waitingSince ?? now)
    (waiting, waitingSince) = (transport.heldBytes, since)
    if before - waiting >= DoorLimits.readLeast, now < since + DoorLimits.slowReading {
      unread?.release()
      unread = nil
    }
  }

  private func takeReader() -> LoopContext.Reader {
    switch reading {
    case .between(let stream):
      let reader = loopContext.takeReader()
      reader.reader.wake(stream, limits: limits)
      return reader
    case .within(let reader): return reader
    case .framed: preconditionFailure("a document is read from a transport that frames elements")
    }
  }

  private func keep(_ reader: LoopContext.Reader) {
    guard reader.reader.isIdle else { return reading = .within(reader) }
    reading = .between(reader.reader.hibernate())
    loopContext.give(reader)
  }

  /// Expects a new header.
  private func beginAgain(_ reader: LoopContext.Reader) {
    reading = .between(HibernatedReader())
    loopContext.give(reader)
  }

  private func handle(_ event: consuming ReaderEvent) -> ReaderVerdict {
    unfinishedSince = nil
    switch event {
    case .opened(let header): perform(machine.opened(header, id: DoorContext.randomID()))
    case .element(let element):
      if session == nil, isOneTooMany() { break }
      let output = machine.isProofDue ? proved(element) : machine.received(element)
      charge(for: output)
      perform(output)
    case .closed: perform(machine.closed())
    case .whitespace: break
    case .violation(let violation):
      perform(machine.violated(violation, id: DoorContext.randomID()))
    }
    sendMuch()
    handled(elements: 1)
    return restart == .no && pauses.isEmpty && !isOver && machine.phase != .closed ? .proceed : .stop
  }

  func handled(elements count: Int) {
    handledAtOnce += count
    let isLoopBusy = loopContext.lane.turns.worked(count)
    if handledAtOnce < DoorLimits.elementsAtOnce, !isLoopBusy { return }
    handledAtOnce = 0
    waitForTurn()
  }

  // MARK: The machine's outputs

  func perform(_ output: StreamOutput) {
    switch output {
    case .nothing: break
    case .open(let response, let features):
      write { response.write(framing: framing, into: &$0) }
      write { framing.writeFeatures(features, into: &$0) }
    case .refuse(let response, let error):
      if let response { write { response.write(framing: framing, into: &$0) } }
      write { error.write(into: &$0) }
      writeClose()
      closeConnection()
    case .startTLS: startTLS()
    case .refuseTLS:
      write { $0.element(.failureTLS) }
      writeClose()
      closeConnection()
    case .challenge(let bytes):
      write { $0.element(Name("challenge", machine.saslProfile.namespace)) { $0.text(Base64.encode(bytes)) } }
    case .needCredentials(let username, let mechanism, let attempt):
      self.mechanism = LoginMechanism(mechanism)
      needCredentials(username, mechanism, attempt)
    case .verifyPassword(let username, let password, let attempt):
      mechanism = .plain
      verify(username, password, attempt)
    case .needUpgrades(let mechanisms, _, let attempt):
      // Without the proof of an account's only password there is nothing to upgrade.
      let hashes = proof?.hashes ?? SCRAMHash.allCases
      let upgrades = mechanisms.filter { !hashes.contains($0.hash) }.map {
        SCRAMUpgrade(mechanism: $0, salt: SCRAMKeys.randomSalt(), iterations: AccountLimits.scramIterations)
      }
      perform(machine.answered(.upgrades(upgrades), attempt: attempt))
    case .upgrade(let mechanism, let data):
      write { SCRAMUpgrade.writeContinue(mechanism, data: data, into: &$0) }
    case .taskData(let upgrade):
      write { upgrade.write(into: &$0) }
    case .storeUpgrade(let upgrade, let salted, _, let attempt):
      store(upgrade, salted, attempt)
    case .verifyToken(let proof, let attempt):
      mechanism = .fast
      verify(proof, attempt)
    case .verifyBearer(let token, let attempt):
      mechanism = .oauthBearer
      verify(bearer: token, attempt)
    case .needGuest(let attempt):
      mechanism = .anonymous
      makeGuest(attempt)
    case .authenticated(let user, let data):
      guard endLogin(of: user) else { return refuseLogin(.core) }
      write { writer in
        writer.element(.success) { if let data { $0.text(Base64.encode(data)) } }
      }
      authenticated(user)
      guard framing == .document else { break }
      // An answer that comes later finds no reader at work that would see it.
      if isProcessing { restart = .fresh } else { reading = .between(HibernatedReader()) }
    case .admitted(let user, let data, let request):
      guard endLogin(of: user) else { return refuseLogin(.extensible) }
      authenticated(user)
      if framing == .document {
        if isProcessing {
          restart = .wider
        } else if case .within(let reader) = reading {
          reader.reader.limits = limits
        }
      }
      admit(user, data, request)
    case .authenticationFailed(let failure, _):
      metrics.logins.add(Both(mechanism, .failure))
      mechanism = .unknown
      write { failure.write(machine.saslProfile, into: &$0) }
    case .bind(let request): bind(request)
    case .reply(let error, let stanza):
      write { error.writeReply(to: stanza, into: &$0) }
    case .management(let element): manage(element)
    case .managementFailed(let condition):
      write { StreamManagement.writeFailed(condition, into: &$0) }
    case .stanza(let stanza):
      metrics.stanzas.add(StanzaFlow(stanza.kind))
      if let session { session.received(stanza) } else { register(stanza) }
    case .element(let element):
      guard let session, door.table.received(element, session) else { return perform(machine.notUnderstood(element)) }
    case .close:
      writeClose()
      deadline = .now() + DoorLimits.closing
    case .finish(let closing):
      session?.streamEnded(byClient: machine.wasClosedByPeer)
      if closing { writeClose() }
      closeConnection()
    }
  }

  private func startTLS() {
    let isStarting = transport?.startTLS {
      write { $0.element(.proceedTLS) }
      flush()
    }
    guard isStarting == true else { return perform(.refuseTLS) }
    hasTLS = true
    deadline = .now() + DoorLimits.negotiation
    restart = .dropRest
  }

  private func needCredentials(_ username: String, _ mechanism: SCRAMMechanism, _ attempt: Int) {
    let nonce = DoorContext.randomID()
    guard let address = account(username) else { return }
    guard let proving = self.attempt(at: address) else {
      return perform(machine.answered(.credentials(.unavailable, nonce: nonce), attempt: attempt))
    }
    self.proving = proving
    proof = nil
    answerLater({ try Accounts.allCredentials(of: address, $0) }) { connection, result in
      let answer: CredentialsAnswer
      switch result {
      case .failure: answer = .unavailable
      case .success((let user, let keys, let others)):
        if let user {
          connection.known = Party(id: user.id, realm: user.realm, address: user.address)
          if let used = keys.first(where: { $0.hash == mechanism.hash }) {
            connection.access = Access(.password, since: connection.door.parley.clock.now, salt: used.salt)
            // Keys made by an upgrade have a salt of their own, which app passwords do not share (decision 0010).
            connection.proof = others.isEmpty ? Proof(used: used, hashes: keys.map(\.hash)) : nil
            let others = others.filter { $0.keys.hash == mechanism.hash }
            connection.appPasswords = others.map(\.password)
            answer = .found(
              SCRAMCredentials(
                salt: used.salt, iterations: used.iterations, storedKey: used.storedKey, serverKey: used.serverKey,
                alternatives: others.map {
                  SCRAMKeyPair(storedKey: $0.keys.storedKey, serverKey: $0.keys.serverKey)
                }),
              user.state == .active ? .active : .disabled)
          } else {
            answer = .unusable
          }
        } else {
          answer = .unknown
        }
      }
      connection.perform(connection.machine.answered(.credentials(answer, nonce: nonce), attempt: attempt))
    }
  }

  private func verify(_ username: String, _ password: Password, _ attempt: Int) {
    guard let address = account(username) else { return }
    guard let proving = self.attempt(at: address) else {
      return perform(machine.answered(.password(.unavailable), attempt: attempt))
    }
    let (accounts, peer) = (door.accounts, peer)
    let me = NIOLoopBound(self, eventLoop: loop)
    answerLater({ try Accounts.allCredentials(of: address, $0) }) { connection, result in
      guard case .success((let user, let keys, let others)) = result else {
        return connection.perform(connection.machine.answered(.password(.unavailable), attempt: attempt))
      }
      // An unknown user costs the same derivation.
      let key = accounts.verifier(keys, of: address)
      let same = others.filter { $0.keys.hash == key.hash }
      connection.pause(.machine)
      accounts.derive(for: .network(peer), on: connection.loopContext.lane) {
        var match: Int?
        do throws(Problem) {
          try accounts.look(proving, paced: [.login(LoginPlace(proving))]) {
            match = SCRAMKeys.match(password: password.text, among: [key] + same.map(\.keys))
            guard match != nil, let user else { return .wrong }
            return user.state == .active ? .right : .void
          }
        } catch {
          return Result<Int?, Problem>.failure(error)
        }
        return .success(match)
      } then: { result in
        let connection = me.value
        guard !connection.isOver else { return }
        guard case .success(let match) = result else {
          connection.perform(connection.machine.answered(.password(.unavailable), attempt: attempt))
          connection.unpause(.machine)
          return connection.flush()
        }
        let source: Access.Source = match.flatMap { $0 > 0 ? .appPassword(same[$0 - 1].password) : nil } ?? .password
        connection.access = Access(source, since: accounts.parley.clock.now, salt: key.salt)
        let answer: PasswordAnswer =
          if match != nil, let user { .right(user.state == .active ? .active : .disabled) } else { .wrong }
        connection.perform(connection.machine.answered(.password(answer), attempt: attempt))
        connection.unpause(.machine)
        connection.flush()
      }
    }
  }

  /// Stores an upgrade (XEP-0480); the success is sent when the keys are durable.
  private func store(_ upgrade: SCRAMUpgrade, _ salted: SaltedPassword, _ attempt: Int) {
    guard let user = known?.id, let proved = proof?.used,
      let keys = try? SCRAMKeys.keys(
        saltedPassword: salted.bytes, salt: upgrade.salt, iterations: upgrade.iterations, hash: upgrade.mechanism.hash)
    else { return perform(machine.answered(.upgrade(.unavailable), attempt: attempt)) }
    pause(.machine)
    let me = NIOLoopBound(self, eventLoop: loop)
    let (accounts, loop) = (door.accounts, loop)
    Task {
      let answer: UpgradeAnswer
      do throws(Problem) {
        answer = try await accounts.add(keys, to: user, proved: proved) ? .stored : .outdated
      } catch {
        answer = .unavailable
      }
      loop.execute {
        let connection = me.value
        guard !connection.isOver else { return }
        connection.perform(connection.machine.answered(.upgrade(answer), attempt: attempt))
        connection.unpause(.machine)
        connection.flush()
      }
    }
  }

  /// Returns the attempt to log in as a user; `nil` after too many wrong passwords from this network.
  private func attempt(at user: BareJID) -> LoginAttempt? {
    let attempt = LoginAttempt(of: user, from: peer, device: machine.agentID)
    do throws(Problem) { try door.accounts.checkLook(attempt) } catch { return nil }
    return attempt
  }

  /// Hands the machine the client's proof of a password, and counts it as a failed login if it is wrong.
  private func proved(_ element: Element) -> StreamOutput {
    guard let proving else { return machine.received(element) }
    self.proving = nil
    var output = StreamOutput.nothing
    do throws(Problem) {
      try door.accounts.look(proving) {
        output = machine.received(element)
        switch output {
        case .needUpgrades, .authenticated, .admitted: return .right
        case .authenticationFailed(_, .password): return .wrong
        // The mechanism failed before a password was checked.
        case .nothing, .open, .refuse, .startTLS, .refuseTLS, .challenge, .needCredentials, .verifyPassword, .upgrade,
          .taskData, .storeUpgrade, .verifyToken, .verifyBearer, .needGuest, .authenticationFailed, .bind, .reply,
          .management, .managementFailed, .stanza, .element, .close, .finish:
          return .void
        }
      }
      return output
    } catch {
      return machine.proofRefused()
    }
  }

  func account(_ username: String) -> BareJID? {
    guard let domain = machine.domain, let address = try? BareJID(local: username, domain: domain) else {
      // The machine has prepared the name, so this cannot fail; refuse anyway.
      closeConnection()
      return nil
    }
    return address
  }

  /// Reads from the store while the stream waits.
  func answerLater<Value: Sendable>(
    _ body: @escaping @Sendable (any StoreReader) throws -> Value,
    then: @escaping (XMPPConnection, Result<Value, Problem>) -> Void
  ) {
    pause(.machine)
    let me = NIOLoopBound((connection: self, then: then), eventLoop: loop)
    door.parley.fetch(for: .network(peer), on: loopContext.lane, body) { result in
      let (connection, then) = me.value
      guard !connection.isOver else { return }
      then(connection, result)
      connection.unpause(.machine)
      connection.flush()
    }
  }

  private func authenticated(_ user: BareJID) {
    door.logger.debug("authenticated", metadata: ["user": "\(user)", "peer": "\(peer)"])
    metrics.logins.add(Both(mechanism, .success))
    owner = "\(user)"
    if machine.password > 0 { access?.source = .appPassword(appPasswords[machine.password - 1]) }
    if case .appPassword(let id)? = access?.source { door.accounts.noteUse(ofAppPassword: id, of: user) }
    proof = nil
    deadline = .now() + DoorLimits.negotiation
  }

  /// Ends the login, of a user or without one. Returns `false` if the user may not have the connection; then it goes on.
  @discardableResult
  private func endLogin(of user: BareJID?) -> Bool {
    if hasEndedLogin { return true }
    guard onLoginEnded(user.map { "\($0)" }) else { return false }
    hasEndedLogin = true
    memory.release()
    return true
  }

  /// Refuses a client whose network has as many connections as it may have, and ends the stream. Nothing behind it is processed.
  private func refuseLogin(_ profile: SASLProfile) {
    metrics.logins.add(Both(mechanism, .failure))
    machine.disconnected()
    write { SASLFailure(.temporaryAuthFailure, LoggedInConnections.problem.text).write(profile, into: &$0) }
    writeClose()
    closeConnection()
  }

  // MARK: Writing

  /// Gathers one element, as it stands in a document; `flush` sends it.
  func write(_ body: (inout ElementWriter) -> Void) {
    guard !isOver else { return }
    if gatheredBytes > DoorLimits.unreadBytesMax, !makeRoom() { return }
    var writer = writer.take() ?? loopContext.takeWriter()
    let start = writer.buffer.writerIndex
    body(&writer)
    if let kind = StanzaFlow(written: writer.buffer, from: start) { metrics.stanzas.add(kind) }
    if framing != .document, writer.buffer.writerIndex > ends.last ?? 0 { ends.append(writer.buffer.writerIndex) }
    self.writer = writer
  }

  private func writeClose() { write { framing.writeClose(into: &$0) } }

  var gatheredBytes: Int { writer?.buffer.readableBytes ?? 0 }
  private var gatheredMemory: Int { writer?.buffer.capacity ?? 0 }

  func flush() {
    guard let transport else { return }
    if !isWritable, gatheredBytes > 0 {
      pause(.output)
      countUnread()
      if gatheredBytes > DoorLimits.unreadBytesMax { drop() }
      return
    }
    guard let writer = writer.take() else { return }
    if writer.buffer.readableBytes > 0 {
      sentUncounted += writer.buffer.readableBytes
      isSending = true
      transport.send(writer.buffer, ends: ends)
      isSending = false
      ends.removeAll(keepingCapacity: true)
    }
    loopContext.give(consume writer)
    if sentUncounted >= MemoryBound.shareBytes { countUnread(isExact: true) }
  }

  /// Sends what was gathered if it is much. What follows has a turn of its own.
  private func sendMuch() {
    guard gatheredBytes > DoorLimits.gatheredBytesMax else { return }
    flush()
    waitForTurn()
  }

  func takesMore() -> Bool {
    sendMuch()
    return isWritable && !pauses.contains(.turn)
  }

  /// Sends what a single event has made, if it is very much. Returns `false` if the client does not read: its connection is
  /// closed, but not under whoever writes.
  private func makeRoom() -> Bool {
    if isWritable {
      flush()
      return true
    }
    if !isGivenUp {
      isGivenUp = true
      let me = NIOLoopBound(self, eventLoop: loop)
      loop.execute { me.value.drop() }
    }
    return false
  }

  func fail(_ error: StreamError) { perform(machine.fail(error, id: DoorContext.randomID())) }

  func closeConnection() {
    flush()
    isClosed = true
    transport?.close()
  }

  func drop() {
    isClosed = true
    transport?.drop()
  }

  /// Closes the connection for a newcomer, unless the client has logged in. There is no stream error: a client that reads
  /// nothing would hold the connection until it is closed anyway.
  func giveWay() {
    if !hasEndedLogin { drop() }
  }

  /// Closes the connection for its memory, unless the client has logged in. The stream error is sent if the client reads.
  func giveMemoryUp() {
    guard !hasEndedLogin else { return }
    fail(StreamError(.resourceConstraint, "the streams before login take too much memory"))
    drop()
  }

  // MARK: Time

  func tick(_ now: NIODeadline) {
    switch machine.deadline {
    case .negotiation, .closing:
      if now >= deadline { perform(machine.expired(id: DoorContext.randomID())) }
    case .idle:
      guard isStanzaInTime(now) else {
        fail(.lateStanza)
        break
      }
      session?.tick(now)
      if isAsked, now >= heard + DoorLimits.silence + DoorLimits.answer {
        // The client is gone: no stream error would reach it; the session may be resumed.
        drop()
      } else if !isAsked, now >= heard + DoorLimits.silence {
        isAsked = true
        session?.askForSign()
      } else if backlog.readableBytes == 0 {
        backlog = ByteBuffer()
      }
    case nil: break
    }
    noteReading(now)
    flush()
    countMemory()
    countUnread(isExact: true)
    transport?.tick(now)
  }

  /// Handles the loss of the transport. If the client has closed it, and what it has sent before waits for nothing but a turn, such as a
  /// last message and the end of the stream, that is handled first.
  func lost() {
    guard !isOver else { return }
    if pauses == .turn, !isClosed, !isProcessing, backlog.readableBytes > 0 || !events.isEmpty { return hasLeft = true }
    isOver = true
    machine.disconnected()
    loopContext.remove(self)
    endLogin(of: nil)
    proof = nil
    let session = session
    self.session = nil
    transport = nil
    countUnread()
    countUnfinished()
    session?.connectionLost()
  }
}

extension SCRAMMechanism {
  /// The hash of the mechanism's keys.
  var hash: SCRAMHash {
    switch self {
    case .sha1: .sha1
    case .sha256: .sha256
    case .sha512: .sha512
    }
  }
}
