import Addresses
import Basics
import Dialogs
import Logging
import NIOCore
import Peers
import ServerMetrics
import XMLStream
import XMPP

/// Does the work of a link on its event loop: passes events to `LinkMachine`, performs its actions, and writes rows of the
/// outbox and live stanzas to the stream, in their order.
final class LinkDriver {
  unowned let link: FederationLink
  var machine: LinkMachine
  /// All streams that are verified for the pair, and the one among them that is written to, which is on this loop.
  var streams: [FederationStreamHandle] = []
  private var stream: (any FederationStream)?

  private var cursor = OutboxCursor(at: .zero)
  var ledger = RowLedger(.none)
  private var taken = TakenRows()
  private var takenThrough = Position.zero
  /// The last row to be sent; later live stanzas are sent behind it.
  private var owedThrough = Position.zero
  private var overdue = OverdueRows()
  var queue: LiveQueue
  /// The requests of local users whose answers are awaited.
  private var requests: OpenRequests

  /// The posts and requests of the users behind the link.
  private(set) var work: LinkWork?
  private var isPaused = false
  /// Whether a stream has shown a valid certificate of a domain that no local user knows. It is stored when one writes to the domain.
  private var hasUnstoredCertificate = false
  /// Whether the users of the other domain have been shown as offline since the link was created.
  private var hasShownAbsence = false
  /// The time at which the opening of a stream began.
  private var openingSince: NIODeadline?
  /// A row that was written and not yet taken, with the time of its commit, to measure the delay.
  private var timed: (position: Position, committed: Timestamp)?
  private var traced = TracedRows()
  private var heardAt: NIODeadline?
  /// Whether answers to stanzas of this tick of the loop must still be flushed.
  private var isFlushDue = false
  /// Whether more live stanzas waited than are written at once, and others must still be written.
  private(set) var isRestDue = false
  private var timer: (at: NIODeadline, task: Scheduled<Void>)?
  /// The promise that the server's stop waits for, and whether the streams were notified.
  var stopping: EventLoopPromise<Void>?
  var isShutDown = false

  var pair: DomainPair { link.pair }
  var parley: Parley { link.door.parley }
  private var metrics: Metrics { parley.metrics }

  /// Creates the driver of a link that has no stream yet.
  init(_ link: FederationLink, failures: Int) {
    self.link = link
    let options = link.federation.options
    machine = LinkMachine(
      failures: failures, idle: .seconds(Int64(options.idleSeconds)), absence: .seconds(Int64(options.absentSeconds)),
      at: .now())
    let memory = link.door.parley.options.memory.links
    (queue, requests) = (LiveQueue(to: link.pair.remote, memory), OpenRequests(memory))
    let place = (domain: link.pair.remote, posts: link.federation.zonePosts)
    work = LinkWork(link, of: place) { [weak self] in self?.goOn() }
  }

  // MARK: Deliveries

  func receive(_ delivery: Delivery) {
    // An outcome belongs to this link's own post; another link may have used the same number.
    let isOwn = if case .outcome = delivery { true } else { false }
    if link.isRetired, isIdle, !isOwn { return link.federation.passOn(delivery, from: link) }
    switch delivery {
    // Rows for a denied domain are being returned.
    case .owed where !link.isAdmitted: break
    case .owed(let row):
      if case .entry(let entry) = row.item { RemoteCalls.ended(entry, by: link) }
      owe(through: row.position)
      handle(.owed)
      if hasUnstoredCertificate { noteCertificate(isKnown: true) }
      // Waiting stanzas are written first, and the row is read again later.
      if stream != nil, cursor.arrived(row.position, lags: lags || !queue.isEmpty) { write(row) }
    case .signal(let signal, _):
      switch signal {
      case .shown(let presence, let addresses):
        for address in addresses {
          send(.presence(presence, to: address))
          RemoteCards.shown(presence, to: address, by: link)
        }
      case .probes(let user, let addresses):
        for address in addresses { send(.stanza(RelayedStanza(probing: address, for: user))) }
      case .stanza(let stanza): send(.stanza(stanza))
      case .node(let event): link.notify(event)
      case .call(let signal): RemoteCalls.handle(signal, by: link)
      case .presence, .profile, .contactNamed, .occupant, .notice, .announcement, .undelivered, .closed: break
      }
    case .outcome(let token, let result):
      if token != TakenRows.token {
        work?.settled(token, result)
      } else {
        taken.posted()
        postTaken()
        schedule()
      }
    case .entry, .handedOver: break
    }
  }

  /// Notes that rows up to a position wait, from now on or since before a restart.
  func owe(through position: Position) {
    owedThrough = max(owedThrough, position)
    overdue.owed(through: position, at: .now())
    schedule()
  }

  /// Sends a live stanza, at once or behind those before it; refuses it while no stream can be opened.
  func send(_ item: LiveQueue.Item) {
    if let refusal = machine.refusal { return refuse([item], StanzaError(refusal, to: pair.remote)) }
    if stream?.isClosing == false, queue.isEmpty, cursor.state == .following {
      write(item)
      handle(.used)
    } else if queue.append(item, after: owedThrough) {
      handle(item.isPresence ? .presence : .live)
    } else {
      refuse([item], StanzaError(.remoteServerTimeout, "Too much waits for \(pair.remote)."))
    }
  }

  func flush() {
    if ledger.needsBarrier(at: .now()) { writeBarrier() }
    stream?.flush()
    schedule()
  }

  // MARK: Writing

  private var lags: Bool {
    ledger.count >= FederationLimits.rowsUntakenMax || stream?.isWritable != true || stream?.isClosing != false
  }

  /// Writes waiting rows and stanzas, while the stream is writable.
  private func writeOn() {
    guard let stream, !lags, !isRestDue else { return }
    if cursor.state == .following {
      writeLive(before: nil)
      return
    }
    guard cursor.read() else { return }
    let (pair, after, link, handle) = (pair, cursor.position, link, stream.handle)
    parley.fetch(for: .network(pair.remote), on: link.lane) { reader in
      try reader.outbox(of: pair, after: after, limit: FederationLimits.rowsAtOnce)
    } then: {
      link.driver.write($0, to: handle)
    }
  }

  private func write(_ page: Result<[OutboxRow], Problem>, to handle: FederationStreamHandle) {
    guard let stream, stream.handle === handle else { return }
    // Rows that cannot be read stay in the outbox, and are read again for the next stream.
    guard case .success(let rows) = page else { return stream.close(StreamError(.internalServerError)) }
    var last: Position?
    for row in rows {
      if lags || !write(row) { break }
      last = row.position
    }
    // The store omits rows whose entry is gone, so only an empty page is certainly the last.
    cursor.told(through: last, isLast: rows.isEmpty)
    settle()
    writeOn()
    flush()
  }

  /// Reports to the machine if all rows have been taken.
  private func settle() {
    if ledger.count == 0, cursor.state == .following { self.handle(.settled) }
  }

  /// Writes the live stanzas before a row, or all if it is `nil`, up to a number at once. The others follow when the loop has
  /// served other links.
  ///
  /// - Returns: Whether all were written.
  @discardableResult private func writeLive(before row: Position?) -> Bool {
    for item in queue.take(before: row, most: FederationLimits.liveAtOnce) { write(item) }
    guard queue.isWaiting(before: row) else { return true }
    if !isRestDue {
      isRestDue = true
      let link = link
      link.lane.runLater { link.driver.writeRest() }
    }
    return false
  }

  /// Continues with live stanzas after the loop has served other links. A stream that has begun to write them writes all of them,
  /// even if it lags.
  private func writeRest() {
    isRestDue = false
    if stream?.isClosing == false, cursor.state == .following { writeLive(before: nil) } else { writeOn() }
    flush()
    stopOn()
  }

  private func write(_ item: LiveQueue.Item) {
    guard let stream else { return }
    guard stream.write({ item.write(into: &$0) }) else {
      return refuse([item], StanzaError(.remoteServerNotFound, "\(pair.remote) accepts no stanza of this length."))
    }
    ledger.wrote()
    if let flow = item.flow { metrics.federationStanzas.add(flow) }
    if case .stanza(let stanza) = item { requests.sent(stanza) }
  }

  /// Writes a row behind the live stanzas before it. Returns `false` if these were too many to be written at once.
  @discardableResult private func write(_ row: OutboxRow) -> Bool {
    guard let stream, writeLive(before: row.position) else { return false }
    switch OutboxRendering.write(row, at: parley.clock.now, parley.hub, to: stream) {
    case .written:
      metrics.federationStanzas.add(row.item.flow)
      if timed == nil {
        timed = (row.position, row.expiresAt + .seconds(-link.federation.options.giveUpSeconds))
      }
      if let traces = parley.traces { traced.wrote(row.position, to: pair.remote, traces) }
      took(ledger.wrote(row.position, at: .now()))
    case .nothing: took(ledger.skipped(row.position, at: .now()))
    case .tooLong:
      took(ledger.skipped(row.position, at: .now()))
      let failure = FederationFailure(.modify, "policy-violation", "\(pair.remote) accepts no message of this length.")
      post(.bounce(pair, positions: row.position...row.position, failure))
    }
    if ledger.needsBarrier(at: .now()) { writeBarrier() }
    return true
  }

  /// Writes a ping to the other domain, whose answer shows that the rows before it were taken (XEP-0199).
  private func writeBarrier() {
    guard let stream else { return }
    let id = DoorContext.randomID()
    let isWritten = stream.write { writer in
      writer.element(.iq) { writer in
        writer.attribute("type", "get" as StaticString)
        writer.attribute("from", pair.local)
        writer.attribute("to", pair.remote)
        writer.attribute("id", id)
        writer.element(.ping)
      }
    }
    if isWritten { ledger.wroteBarrier(id, at: .now()) }
  }

  private func took(_ position: Position?) {
    guard let position else { return }
    takenThrough = max(takenThrough, position)
    traced.took(through: position)
    if let timed, position >= timed.position {
      metrics.takenSeconds.observe(
        .milliseconds(max(0, parley.clock.now.milliseconds - timed.committed.milliseconds)))
      self.timed = nil
    }
    taken.took(position, isLast: ledger.count == 0, at: .now())
    postTaken()
    settle()
    stopOn()
  }

  private func postTaken() {
    guard let position = taken.post(at: .now()) else { return }
    post(.taken(pair, through: position), completion: .session(link, token: TakenRows.token))
  }

  /// Returns all waiting rows to their authors, except those that were taken.
  func bounce(_ failure: FederationFailure) {
    if takenThrough > .zero { post(.taken(pair, through: takenThrough)) }
    post(.bounce(pair, positions: Position.zero...Position.end, failure))
  }

  func post(_ intent: OutboxIntent, completion: Post.Completion = .none) {
    parley.submitSurely(Post(author: Parley.nobody, intent: .outbox(intent), completion: completion))
  }

  // MARK: Streams

  /// Takes a stream that is verified for the pair.
  func opened(_ handle: FederationStreamHandle, mayWrite: Bool, isCertified: Bool) {
    heardAt = .now()
    guard !streams.contains(where: { $0 === handle }) else { return }
    streams.append(handle)
    if isCertified { noteCertificate(isKnown: machine.hasRows || parley.isKnown(domain: pair.remote)) }
    // A stream on another loop was opened by the other server, and is only read.
    guard mayWrite, handle.loop.inEventLoop, let opened = handle.stream else { return self.handle(.theirs) }
    // Both servers have opened a stream. This one stays open for stanzas of the other server.
    guard stream == nil else { return }
    stream = opened
    metrics.federationConnects.add(.opened)
    if let openingSince { metrics.federationHandshake.observe(.nanoseconds((.now() - openingSince).nanoseconds)) }
    openingSince = nil
    cursor = OutboxCursor(at: takenThrough)
    ledger = RowLedger(opened.acknowledges ? .acknowledgements : .barriers, unanswered: ledger.unanswered)
    link.federation.endSlot(of: link)
    self.handle(.opened)
    work?.resumeReading()
    flush()
  }

  /// Notes a valid certificate of the domain.
  ///
  /// - Parameter isKnown: Whether local users write to the domain, or know a user of it: then the certificate is stored.
  private func noteCertificate(isKnown: Bool) {
    hasUnstoredCertificate = !isKnown
    let now = parley.clock.now
    let noted = link.federation.policy.verified(pair, at: now, isKnown: isKnown)
    if noted.isNews { post(.verified(pair)) }
    if !noted.dropped.isEmpty { post(.unverified(noted.dropped, before: now)) }
  }

  func closed(_ handle: FederationStreamHandle, isLost: Bool) {
    streams.removeAll { $0 === handle }
    if streams.isEmpty { hasUnstoredCertificate = false }
    if stream?.handle === handle { ended(isLost ? .lost : .closed) }
    noteUse()
    stopOn()
  }

  /// Handles the end of the stream that this link writes to.
  private func ended(_ event: LinkMachine.Event) {
    let isWanted = stream?.isClosing == true
    letGo()
    handle(isWanted ? .ended : event)
    if queue.hasRequests { handle(.live) }
    if queue.hasPresence { handle(.presence) }
  }

  /// Stops writing to the stream. Rows that it has not acknowledged are written to the next one.
  func letGo() {
    stream = nil
    traced.lost()
    ledger = RowLedger(.none, unanswered: ledger.unanswered)
    refuse(
      requests.takeAll().map { .stanza($0) },
      StanzaError(.remoteServerTimeout, "The stream to \(pair.remote) has ended."))
  }

  /// Opens a stream, unless the link has returned the slot meanwhile.
  func slotGranted() {
    if link.federation.hasSlot(link) { handle(.slot) }
  }

  func failed(_ failure: OpenFailure) {
    metrics.federationConnects.add(.failed)
    openingSince = nil
    // A queued link has returned the slot of this attempt already, when the other server opened a stream.
    if machine.phase != .queued { link.federation.endSlot(of: link) }
    handle(.failed(failure))
  }

  func acknowledged(_ count: Int, on handle: FederationStreamHandle) {
    guard stream?.handle === handle else { return }
    took(ledger.acknowledged(count))
    writeOn()
    flush()
  }

  func writable(_ handle: FederationStreamHandle) {
    guard stream?.handle === handle else { return }
    writeOn()
    work?.resumeReading()
    flush()
  }

  // MARK: Stanzas of the other domain

  /// Handles a stanza of the pair, and notifies its stream when the handling is complete.
  func received(_ stanza: Stanza, on handle: FederationStreamHandle) {
    heardAt = .now()
    metrics.federationStanzas.add(StanzaFlow(stanza.kind))
    self.handle(.used)
    if let work, let returned = ReturnedMessage(stanza, in: link.realm) {
      let held = work.hold()
      work.afterPosts(of: returned.sender.id) { self.report(returned, stanza, held) }
    } else if !takes(stanza) {
      RemoteInbound.received(stanza, from: link)
    }
    work?.afterAll { handle.run { $0.handled() } }
    if work?.isFull == true { setPaused(true) }
    flushSoon()
  }

  /// Flushes once for all stanzas that are read in this tick of the loop, with the answers to residents.
  private func flushSoon() {
    guard !isFlushDue else { return }
    isFlushDue = true
    let link = link
    link.mounted.loop.execute {
      link.driver.isFlushDue = false
      link.driver.flush()
    }
  }

  /// Reports that a message was returned. An error about a message that was never in the outbox is passed on.
  ///
  /// - Parameter held: The number of its post, for which acknowledgements wait (`LinkWork.hold`).
  private func report(_ returned: ReturnedMessage, _ stanza: Stanza, _ held: Int) {
    let link = link
    let completion = Post.Completion.callback { result in
      link.lane.run {
        let isKnown = if case .success(let receipt) = result { !receipt.isRepeat } else { false }
        if !isKnown { RemoteInbound.received(stanza, from: link) }
        // Passing it on may have posted by the link.
        link.work?.afterPosts { link.work?.release(held) }
      }
    }
    parley.submitSurely(Post(author: returned.sender, intent: .outbox(returned.report), completion: completion))
  }

  /// Handles the answer to a barrier, and notes answers to requests of users.
  private func takes(_ stanza: Stanza) -> Bool {
    guard stanza.kind == .iq, stanza.iqType?.isRequest == false, let id = stanza.id, let from = try? stanza.from(),
      let to = try? stanza.to()
    else { return false }
    requests.answered(id, from: from, to: to)
    guard from.isDomain, to.isDomain, ledger.awaits(id) else { return false }
    took(ledger.answered(id))
    writeOn()
    return true
  }

  private func setPaused(_ isPaused: Bool) {
    guard isPaused != self.isPaused else { return }
    self.isPaused = isPaused
    for stream in streams { stream.run { $0.setPaused(isPaused) } }
  }

  private func goOn() {
    if work?.isFull == false { setPaused(false) }
  }

  /// Whether the link can be forgotten: it has no stream, and nothing to send.
  var isIdle: Bool {
    machine.phase == .idle && queue.isEmpty && !machine.hasRows && isWithoutStreams
  }

  private var isWithoutStreams: Bool { streams.isEmpty && work?.residents.isEmpty != false }

  private func noteUse() {
    link.note(isIdle ? .idle : machine.canYield && isWithoutStreams ? .waiting : .busy)
  }

  /// Whether entries of the log may be written for residents. Without a stream the first entry opens one, and later ones
  /// wait for it.
  var isWritable: Bool { stream.map { $0.isWritable && !$0.isClosing } ?? (machine.phase == .idle) }

  // MARK: The machine

  func handle(_ event: LinkMachine.Event) {
    for action in machine.handle(event, at: .now(), random: .random(in: 0...1)) { perform(action) }
    noteUse()
    schedule()
  }

  private func perform(_ action: LinkMachine.Action) {
    let log = link.door.logger
    switch action {
    case .queue: link.federation.queue(link)
    case .withdraw: link.federation.endSlot(of: link)
    case .open:
      openingSince = .now()
      link.federation.open(link)
    case .send: writeOn()
    case .close:
      letGo()
      close(nil)
    case .refuse(let failure): refuse(queue.take(before: nil), StanzaError(failure, to: pair.remote))
    case .refuseRequests(let failure): refuse(queue.takeRequests(), StanzaError(failure, to: pair.remote))
    case .bounce(let failure):
      log.info("returned to their authors", metadata: ["pair": "\(pair)", "reason": "\(failure.reason)"])
      bounce(.notFound(pair.remote))
    case .record(let failures, let next, let failure):
      log.info("no stream", metadata: ["pair": "\(pair)", "reason": "\(failure.reason)", "failures": "\(failures)"])
      guard machine.hasRows else { return }
      let time = parley.clock.now + .nanoseconds(next.nanoseconds)
      post(.attempted(pair, failures: failures, next: time, reason: failure.reason))
    case .recover: post(.attempted(pair, failures: 0, next: nil, reason: nil))
    case .absent:
      if let departure = parley.hub.departure(of: pair, isFirst: !hasShownAbsence, time: parley.clock.now) {
        goOn(departure)
      }
      hasShownAbsence = true
      work?.residents.end()
    case .present: goOn(parley.hub.beginReturn(of: pair))
    }
  }

  /// Requests the presence of the other domain's users again, one piece in a task of the loop.
  private func goOn(_ back: DomainReturn) {
    var back = back
    parley.hub.goOn(&back)
    if back.isOver { return }
    let link = link
    let next = back
    link.mounted.loop.execute { link.driver.goOn(next) }
  }

  /// Shows the other domain's users as offline, one piece in a task of the loop, so that others are served in between.
  private func goOn(_ departure: Departure) {
    var departure = departure
    parley.goOn(&departure)
    if departure.isOver { return }
    let link = link
    let next = departure
    link.mounted.loop.execute { link.driver.goOn(next) }
  }

  private func schedule() {
    var due = NIODeadline.distantFuture
    if let deadline = machine.deadline { due = min(due, deadline) }
    if let deadline = ledger.deadline { due = min(due, deadline) }
    if let deadline = taken.deadline { due = min(due, deadline) }
    if let deadline = overdue.deadline { due = min(due, deadline) }
    guard due < .distantFuture else { return }
    if let timer, timer.at <= due { return }
    timer?.task.cancel()
    let link = link
    let task = link.mounted.loop.scheduleTask(deadline: due) { link.driver.tick() }
    timer = (due, task)
  }

  private func tick() {
    timer = nil
    switch ledger.expire(at: .now(), heardAt: heardAt) {
    case .patience: break
    case .taken(let position):
      link.door.logger.warning("a domain answers no pings", metadata: ["pair": "\(pair)"])
      took(position)
    case .dead:
      link.door.logger.info("a stream is dead", metadata: ["pair": "\(pair)"])
      let dead = stream
      ended(.lost)
      dead?.close(StreamError(.connectionTimeout))
    }
    postTaken()
    if let position = overdue.look(taken: takenThrough, at: .now()) { post(.overdue(pair, through: position)) }
    handle(.tick)
    flush()
  }

  // MARK: What fails

  /// Answers stanzas that cannot be sent with errors, as the other server would: requests, and messages by users.
  func refuse(_ items: [LiveQueue.Item], _ error: StanzaError) {
    for case .stanza(let stanza) in items {
      guard let reply = StanzaBytes.stanza({ Outbound.write(stanza, into: &$0) }), reply.mayBeAnswered,
        reply.kind == .iq || (reply.kind == .message && reply.messageType != .headline && reply.body != nil),
        let answer = StanzaBytes.stanza({ error.writeReply(to: reply, into: &$0) })
      else { continue }
      RemoteInbound.received(answer, from: link)
    }
  }
}

extension StanzaError {
  /// The answer to a stanza that cannot be sent. It does not contain the failure's reason, which may name addresses, ports
  /// and routes, and is only for the log and administrators.
  init(_ failure: OpenFailure, to domain: String) {
    self =
      failure.isFinal
      ? StanzaError(.remoteServerNotFound, "\(domain) cannot be reached.")
      : StanzaError(.remoteServerTimeout, "\(domain) cannot be reached at the moment.")
  }
}
