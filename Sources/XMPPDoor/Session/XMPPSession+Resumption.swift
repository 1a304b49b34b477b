import Addresses
import Dialogs
import NIOCore
import ServerMetrics
import XMLStream
import XMPP

/// Stream management (XEP-0198) of a bound session: acknowledgements, waiting without a connection, and the handover to
/// the session that resumes it.
extension XMPPSession {
  /// Handles an element of stream management on the bound stream.
  func manage(_ element: ManagementElement) -> StreamError? {
    switch element {
    case .enable(let resume, let max):
      let decision = enable(resume: resume, max: max)
      outlet?.write { decision.write(into: &$0) }
      if case .misused(let error) = decision { return error }
    case .resume:
      outlet?.write { StreamManagement.writeFailed(.unexpectedRequest, into: &$0) }
    case .request:
      announcedHandled = management.inbound.durable
      outlet?.write { StreamManagement.writeAcknowledgement(announcedHandled, into: &$0) }
    case .acknowledge(let handled):
      var last = Position.zero
      let outcome = management.acknowledged(handled) { item in
        last = max(last, confirmed(by: item))
        entryBytes -= item.entryBytes
      }
      if case .tooHigh(let error) = outcome { return error }
      heard()
      if unacknowledged != nil { countUnacknowledged() }
      if !isInactive { releaseHeld() }
      confirmed(last)
      if !isUnread, !owesHalf { resumeReading() }
      // A client that acknowledges only on request would otherwise wait for stanzas that wait for it.
      if !cursor.isCaughtUp || held.count > 0 && !isInactive, management.requestIsDue() { requestAcknowledgement() }
    }
    return nil
  }

  /// Writes a request for acknowledgement (XEP-0198 4), whose answer the client is not charged for.
  func requestAcknowledgement() {
    guard let outlet else { return }
    freeManagement.asked()
    outlet.write { StreamManagement.writeRequest(into: &$0) }
  }

  /// Enables stream management: stanzas are counted from here on.
  func enable(resume: Bool, max: UInt32?) -> EnableDecision {
    let nonce = StreamNonce(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    let id = PublicID(high: nonce.high, low: nonce.low).description
    // A guest who comes again is another user: there is no session to resume.
    let resume = resume && !parley.isGuest(party.id)
    let decision = management.enable(resume: resume, max: max, policy: door.resumption, id: id)
    if case .enabled(_?) = decision, door.suspended.put(handle, under: nonce) { self.nonce = nonce }
    return decision
  }

  /// The new session that takes over this one.
  struct Successor {
    let handle: SessionHandle
    /// Called once with the state or a refusal; `nil` if the session has ended meanwhile.
    let take: (Result<SessionState, Refusal>?) -> Void
    /// Whether the log has come to the handover.
    var isDue = false
  }

  /// Hands the session over to another handle, perhaps on another loop; called on the former session's loop. The
  /// committer moves it at one position of the log: entries before it are still delivered here, and kept for the
  /// client; entries behind it are delivered to the new handle, which waits for the state. So deliveries on two loops
  /// cannot overtake each other, and every post of this session has its outcome before its stanzas are counted
  /// (XEP-0198 5).
  func handOver(
    handled: UInt32, to new: SessionHandle, _ take: @escaping (Result<SessionState, Refusal>?) -> Void
  ) {
    if isClosing { return take(nil) }
    if let stored {
      return unarchive(stored) { [self] isWhole in
        if isEnded { return take(nil) }
        if isWhole { return handOver(handled: handled, to: new, take) }
        let durable = management.inbound.durable
        end()
        take(.failure(Refusal(decision: ResumptionMachine<Sent>.refuse(.expired(handled: durable)))))
      }
    }
    // A resumed client is active (XEP-0352 5.1), and gets the deferred signals with the rest.
    isInactive = false
    var last = Position.zero
    let decision = management.resume(handled: handled) { last = max(last, confirmed(by: $0)) }
    guard case .resumed = decision, state != nil else {
      // The former stream stays valid; it can be resumed again.
      if let nonce { _ = door.suspended.put(handle, under: nonce) }
      return take(.failure(Refusal(decision: decision)))
    }
    management.forget { $0.isGone }
    successor = Successor(handle: new, take: take)
    paced = []
    let old = outlet
    outlet = nil
    loopContext.add(suspended: self)
    old?.fail(StreamError(.conflict, "the session was resumed on another stream"))
    releaseHeld()
    confirmed(last)
    enqueue(Post(author: party, intent: .handOver(from: handle, to: new), completion: .none, from: handle.peer))
    resumeWaiting()
  }

  /// Reads the stanzas of a session from before a restart, now that its client is back, and removes the session from the
  /// store: it must not come back after a crash, since the client goes on with it here. Calls `then` with `false` if not
  /// all can be read.
  private func unarchive(_ stored: StoredStanzas, then: @escaping (Bool) -> Void) {
    guard let nonce else { return then(false) }
    let bound = NIOLoopBound((session: self, then: then), eventLoop: loopContext.loop)
    let (parley, lane, user) = (parley, loopContext.lane, party.id)
    @Sendable func done(_ isWhole: Bool) {
      let (session, then) = bound.value
      parley.metrics.sessionsArchived.add(isWhole ? .resumed : .unreadable)
      if !isWhole {
        session.door.refusals.note(
          "a resumption", "stanzas-unreadable", isFault: false, ["session": session.jid.description])
      }
      then(isWhole)
    }
    parley.fetch(for: .user(user), on: lane) { reader in
      try stored.read(of: nonce, to: user, reader)
    } then: { result in
      guard case .success(let stanzas?) = result, bound.value.session.takeIn(stanzas, stored) else {
        return done(false)
      }
      // When many clients come back at once, the inbox may be full: that must not end a session.
      parley.whenRoom {
        parley.work(on: lane, keepingCaches: true) { writer in
          try writer.removeSuspended(nonce)
          return true
        } then: { result in
          if case .success = result { done(true) } else { done(false) }
        }
      }
    }
  }

  /// Takes in the stanzas that were read from the store. Returns `false` if they are more than may wait, or if the session
  /// has ended meanwhile.
  private func takeIn(_ stanzas: [Sent], _ stored: StoredStanzas) -> Bool {
    guard !isEnded, let waiting = management.snapshot,
      let machine = stored.machine(with: stanzas, before: waiting)
    else { return false }
    management = machine
    entryBytes = machine.outbound.items.reduce(0) { $0 + $1.item.entryBytes }
    self.stored = nil
    return true
  }

  /// Gives the state to the successor and ends silently. It is called when everything before the handover has been
  /// delivered, and waits until the client's requests are answered too.
  func surrender() {
    guard let successor, !isEnded, !loopContext.isStopping else { return }
    guard isSettled else {
      self.successor?.isDue = true
      return
    }
    guard let state else { return end() }
    self.successor = nil
    isEnded = true
    forgetUnacknowledged()
    handle.moved(to: successor.handle)
    loopContext.remove(suspended: self)
    successor.take(.success(state))
  }

  /// Returns the position up to which a client that has this stanza has all messages to the user; `.zero` if unknown.
  private func confirmed(by item: Sent) -> Position {
    guard case .entry(let entry, let form) = item, confirms(entry, form) else { return .zero }
    return entry.position
  }

  struct Refusal: Error { let decision: ResumeDecision }

  /// Sends everything unacknowledged again, in order, before anything new.
  func replay(_ items: [Sent]) {
    for item in items {
      switch item {
      case .bytes(let buffer): outlet?.write { $0.raw(buffer) }
      case .result(let entry, let result): outlet?.write { Archive.write(entry, result, for: self, into: &$0) }
      case .entry(let entry, let form): Outbound.resend(entry, form, to: self)
      }
    }
  }

  // MARK: Waiting

  /// Waits without a connection.
  func suspend() {
    suspendedAt = .now()
    missedPlaces = nil
    loopContext.add(suspended: self)
    lost()
    submitUnsent()
  }

  /// The state that the session continues with elsewhere, also in the next process; `nil` if it cannot be resumed.
  var state: SessionState? {
    guard let nonce, !isEnded, let snapshot = management.snapshot else { return nil }
    var (cursor, rooms) = (cursor, rooms)
    cursor.interrupt()
    rooms.interrupt()
    return SessionState(
      jid: jid, nonce: nonce, presence: presence, cursor: cursor, confirmation: confirmation, untold: untold,
      rooms: rooms, roomsElsewhere: roomsElsewhere,
      management: SessionState.Management(snapshot: snapshot, handled: management.inbound.durable),
      calls: self[JingleSessions.open], held: held)
  }

  /// The time for which the session can be resumed, in seconds: longer for a device that push can wake.
  var resumptionSeconds: Int64 {
    let usual = Int64(management.resumptionSeconds)
    guard parley.registries.pushes.has(party.id, resource: jid.resource) else { return usual }
    return max(usual, Int64(door.options.pushResumptionSeconds))
  }

  /// The seconds until a suspended session ends; counted from now for a connected one.
  var resumptionSecondsLeft: Int64 {
    let all = resumptionSeconds
    guard let suspendedAt else { return all }
    return max(0, all - (NIODeadline.now() - suspendedAt).nanoseconds / 1_000_000_000)
  }
}
