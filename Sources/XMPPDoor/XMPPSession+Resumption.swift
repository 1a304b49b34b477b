import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Stream management (XEP-0198) of a bound session: acknowledgements, waiting without a connection, and what goes over to the
/// session that resumes it.
extension XMPPSession {
  /// Carries out what the client says of stream management on the bound stream.
  func manage(_ element: ManagementElement) -> StreamError? {
    switch element {
    case .enable(let resume, let max):
      let decision = enable(resume: resume, max: max)
      connection?.write { decision.write(into: &$0) }
      if case .misused(let error) = decision { return error }
    case .resume:
      connection?.write { StreamManagement.writeFailed(.unexpectedRequest, into: &$0) }
    case .request:
      announcedHandled = management.inbound.durable
      connection?.write { StreamManagement.writeAcknowledgement(announcedHandled, into: &$0) }
    case .acknowledge(let handled):
      var last = Position.zero
      let outcome = management.acknowledged(handled) { item in
        if case .entry(let entry, _) = item, entry.author.id != party.id { last = max(last, entry.position) }
      }
      if case .tooHigh(let error) = outcome { return error }
      owesSince = nil
      heard()
      confirmed(last)
      if !isUnread, !owes(DoorLimits.unacknowledgedMax / 2) { resumeReading() }
    }
    return nil
  }

  /// Counts stanzas from here on.
  func enable(resume: Bool, max: UInt32?) -> EnableDecision {
    let nonce = StreamNonce(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    let id = PublicID(high: nonce.high, low: nonce.low).description
    // A guest who comes again is another one: there is nobody to go on with.
    let resume = resume && !parley.isGuest(party.id)
    let decision = management.enable(resume: resume, max: max, policy: house.resumption, id: id)
    if case .enabled(_?) = decision, house.suspended.put(handle, under: nonce) { self.nonce = nonce }
    return decision
  }

  /// On the former session's loop: hands over and ends, telling nobody.
  func surrender(handled: UInt32, to heir: SessionHandle) -> Result<SessionState, Refusal> {
    // Who comes back is active (XEP-0352 5.1), and is told what waits with the rest.
    isInactive = false
    let decision = management.resume(handled: handled)
    guard case .resumed = decision, let state else {
      // Its stream goes on; it can be resumed again.
      if let nonce { _ = house.suspended.put(handle, under: nonce) }
      return .failure(Refusal(decision: decision))
    }
    if !rooms.isEmpty {
      parley.submitSurely(
        Post(author: party, intent: .room(.reseat(from: self.handle.id, to: heir)), completion: .none))
    }
    isEnded = true
    paced = []
    handle.moved(to: heir)
    wheel.remove(suspended: self)
    let old = connection
    connection = nil
    old?.fail(StreamError(.conflict, "the session was resumed on another stream"))
    return .success(state)
  }

  struct Refusal: Error { let decision: ResumeDecision }

  /// Everything unacknowledged again, in order, before anything new.
  func replay(_ items: [Sent]) {
    for item in items {
      switch item {
      case .bytes(let buffer): connection?.write { $0.raw(buffer) }
      case .entry(let entry, let form): Outbound.resend(entry, form, to: self)
      }
    }
  }

  // MARK: Waiting

  /// Waits without a connection.
  func suspend() {
    suspendedAt = .now()
    wheel.add(suspended: self)
    lost()
    submitUnsent()
  }

  /// What a session goes on with elsewhere, also in the next process; nil: it cannot
  /// be resumed.
  var state: SessionState? {
    guard let nonce, !isEnded, let snapshot = management.snapshot else { return nil }
    return SessionState(
      jid: jid, nonce: nonce, presence: presence, readsArchive: readsArchive, hasReplayed: hasReplayed,
      missed: pace.missed, toldUpTo: intake.told, confirmedUpTo: intake.confirmed, rooms: rooms,
      management: SessionState.Management(snapshot: snapshot, handled: management.inbound.durable))
  }

  /// Whose device can be woken may be away for longer.
  var resumptionSeconds: Int64 {
    let usual = Int64(management.resumptionSeconds)
    guard parley.pushes.has(party.id, resource: jid.resource) else { return usual }
    return max(usual, Int64(house.options.pushResumptionSeconds))
  }

  /// Seconds until a suspended session ends; from now for a connected one.
  var resumptionSecondsLeft: Int64 {
    let all = resumptionSeconds
    guard let suspendedAt else { return all }
    return max(0, all - (NIODeadline.now() - suspendedAt).nanoseconds / 1_000_000_000)
  }
}
