// The life of a link, as a value without IO. Theory:
//
// A link stands for a pair of domains for as long as it is used; streams come and go below it. It has at most one
// stream that it writes to. It opens one only when there is something to send:
//
//     idle    -owed, live-> queued       a slot is asked for: few streams are opened at once
//     queued  -slot-> opening            DNS, TCP, TLS, negotiation, proof of identity
//     queued  -live stanzas fail-> idle  if no rows or presence wait and no stream was lost: no stream is needed
//     queued, backing off -yield-> idle  if no rows wait and no stream was lost, since there are too many links
//     opening -opened-> open
//     opening -failed-> backing off      5 s, 10, 20, ... 10 min, a fifth more or less
//     open    -closed-> queued           if rows wait; backing off if this happens again and again; otherwise idle
//     open    -lost-> queued             the other server may have crashed
//     open    -ended-> queued            if rows wait; otherwise idle: this server has closed it in order
//     open    -idle for long-> idle
//     backing off -time is over, theirs, retry-> queued if rows wait or the last stream was lost, otherwise idle
//     any     -denied-> idle             the operator refuses the domain: waiting rows are returned
//     any     -stop-> stopped            an open stream stays until everything written has been taken
//     any     -opened-> open             the other server opened one that takes stanzas both ways (XEP-0288)
//
// If both servers open a stream at the same time, there are two, as between servers without XEP-0288 (RFC 6120 4.5), and
// each server writes to the one that it saw open first. Neither is closed: the other server may be writing to it already.
//
// Two kinds of stanzas are sent. *Rows* of the outbox are kept until the other server has taken them, so they only need
// the link to try again. *Live* stanzas (presence, IQs, chat states) are not stored: they wait for a stream that is
// being opened, only as long as a person would wait, and fail at once while the link backs off. Presence waits for up to
// some minutes: after a restart all users show theirs at once, and a domain may wait that long for a slot.
//
// A failure is *final* if no later attempt can succeed (there is no such domain): the rows that wait are returned to
// their authors, and so are later ones until the back-off is over.
//
// Users of the other domain are shown as offline after some minutes of failed attempts to open a stream, and at once if
// their server announces that it shuts down. A repeated announcement counts only after as many minutes, since each is sent
// to all who see these users; then the users are shown as offline, or asked for their presence if there is a stream. A link
// that is idle for want of stanzas changes nothing. After a lost stream the link tries to open a new one, even with nothing
// to send, and then asks for presence again, since a server that has crashed does not announce who has left.

import NIOCore

struct LinkMachine: Equatable, Sendable {
  enum Phase: Equatable, Sendable {
    /// There is no stream, and nothing to send.
    case idle
    /// The link waits for a slot to open a stream.
    case queued
    case opening
    case open(since: NIODeadline)
    /// The last attempt failed: the next one is at this time.
    case backingOff(until: NIODeadline, OpenFailure)
    /// The server stops, and there is no stream any more.
    case stopped
  }

  enum Event: Equatable, Sendable {
    /// A row waits in the outbox.
    case owed
    /// A live stanza waits to be sent.
    case live
    /// A presence stanza or a presence probe was added to those that wait for a stream.
    case presence
    /// The link has got a slot to open a stream.
    case slot
    /// There is a stream that may be written to.
    case opened
    case failed(OpenFailure)
    /// The stream has ended, because the other server closed it or by an error of either.
    case closed
    /// The connection broke: the other server may have crashed, and its users may be offline.
    case lost
    /// The stream has ended because this server closed it in order.
    case ended
    /// The operator refuses the domain; the sender of this event returns the waiting rows.
    case denied
    /// There are too many links: this one becomes idle if it can (`canYield`).
    case yield
    /// The other server has announced that it shuts down (RFC 6120 4.9.3.20 `system-shutdown`, 4.9.3.5 `host-gone`).
    case left
    /// The other domain has opened a stream, so its server can be reached.
    case theirs
    /// An operator requests an attempt.
    case retry
    /// A stanza was sent or received.
    case used
    /// The other server has taken all rows.
    case settled
    /// `deadline` has come.
    case tick
    case stop
  }

  enum Action: Equatable, Sendable {
    /// Requests a slot to open a stream.
    case queue
    /// Returns the slot, or stops waiting for it.
    case withdraw
    case open
    /// Writes waiting rows and stanzas.
    case send
    case close
    /// Answers all waiting live stanzas with an error.
    case refuse(OpenFailure)
    /// Answers all waiting live stanzas except presence with an error.
    case refuseRequests(OpenFailure)
    /// Returns the rows that wait to their authors.
    case bounce(OpenFailure)
    /// Records a failed attempt; the next one is after this time.
    case record(failures: Int, next: TimeAmount, OpenFailure)
    /// Records that the attempts have ended.
    case recover
    /// Shows the people of the other domain as offline.
    case absent
    /// Requests the presence of the other domain's users again.
    case present
  }

  private(set) var phase = Phase.idle
  /// The attempts that have failed since the last one that succeeded.
  private(set) var failures: Int
  private var lastFailure: OpenFailure?
  /// The number of streams in a row that ended soon after they were opened.
  private var flaps = 0
  /// Whether rows wait.
  private(set) var hasRows = false
  /// The time at which waiting live stanzas fail, except presence.
  private var liveUntil: NIODeadline?
  /// The time at which all waiting live stanzas fail, including presence; `nil` if no presence waits.
  private var presenceUntil: NIODeadline?
  /// The beginning of the attempts that have not succeeded yet.
  private var triedSince: NIODeadline?
  /// Whether the people of the other domain have been shown as offline.
  private var isAbsent = false
  /// The time at which these users were last shown as offline.
  private var absentAt: NIODeadline?
  /// The time at which an announced shutdown takes effect that came too soon after `absentAt`.
  private var leavesAt: NIODeadline?
  /// Whether the last stream was lost, so that the known presence of these users may be outdated.
  private var asksAnew = false
  private var usedAt: NIODeadline
  /// Whether the server stops, and only waits until everything written has been taken.
  private var isStopping = false
  private let idle: TimeAmount
  private let absence: TimeAmount

  /// Creates the machine of a link without a stream.
  ///
  /// - Parameters:
  ///   - failures: The attempts that failed before the server was restarted.
  ///   - idle: The time without a stanza after which a stream is closed.
  ///   - absence: The time without a stream, although tried, after which everybody of the domain is shown as offline.
  init(failures: Int = 0, idle: TimeAmount, absence: TimeAmount, at now: NIODeadline) {
    self.failures = failures
    self.idle = idle
    self.absence = absence
    usedAt = now
  }

  private var waitsLive: Bool { liveUntil != nil || presenceUntil != nil }

  var isOpen: Bool { if case .open = phase { true } else { false } }

  /// Whether the link waits for a stream that only live stanzas need, or backs off without any. If it becomes idle, it forgets only
  /// the length of its next back-off.
  var canYield: Bool {
    switch phase {
    case .queued, .backingOff: !hasRows && !asksAnew
    case .idle, .opening, .open, .stopped: false
    }
  }

  /// The failure with which live stanzas are refused at once; `nil` if they are sent, or wait for a stream.
  var refusal: OpenFailure? {
    switch phase {
    case .backingOff(_, let failure): failure
    case .stopped: Self.stopping
    case .idle, .queued, .opening, .open: nil
    }
  }

  /// The next time at which `tick` has something to do.
  var deadline: NIODeadline? {
    var times: [NIODeadline] = []
    switch phase {
    case .open: if !hasRows { times.append(usedAt + idle) }
    case .backingOff(let until, _): times.append(until)
    case .stopped: return nil
    case .idle, .queued, .opening: break
    }
    if let liveUntil { times.append(liveUntil) }
    if let presenceUntil { times.append(presenceUntil) }
    if let triedSince, !isAbsent { times.append(triedSince + absence) }
    if let leavesAt { times.append(leavesAt) }
    return times.min()
  }

  /// Returns the pause after so many failures in a row. `random` is between 0 and 1.
  static func pause(after failures: Int, random: Double) -> TimeAmount {
    let doubled = FederationLimits.retryFirst.nanoseconds << min(max(0, failures - 1), 20)
    let pause = Double(min(doubled, FederationLimits.retryMax.nanoseconds))
    return .nanoseconds(Int64(pause * (1 + FederationLimits.retrySpread * (2 * random - 1))))
  }

  /// Handles an event. `random` is between 0 and 1; it is evaluated only for a back-off, as each call enters the kernel.
  mutating func handle(_ event: Event, at now: NIODeadline, random: @autoclosure () -> Double) -> [Action] {
    if phase == .stopped { return event == .live || event == .presence ? [.refuse(Self.stopping)] : [] }
    switch event {
    case .owed: return owed(at: now)
    case .live, .presence:
      if let refusal { return [.refuse(refusal)] }
      if isOpen { return [.send] }
      if event == .presence {
        presenceUntil = presenceUntil ?? now + FederationLimits.presenceWaitingTime
      } else if liveUntil == nil {
        liveUntil = now + FederationLimits.waitingTime
      }
      return phase == .idle ? queue(at: now) : []
    case .slot:
      // A repeated notice of the slot that the link has already.
      guard phase == .queued else { return [] }
      phase = .opening
      return [.open]
    case .opened: return opened(at: now)
    case .failed(let failure):
      guard phase == .opening else { return [] }
      return backOff(failure, at: now, random())
    case .closed: return closed(isLost: false, at: now, random())
    case .lost: return closed(isLost: true, at: now, random())
    case .ended:
      guard isOpen else { return [] }
      return isStopping ? stopped() : awake(at: now)
    case .denied:
      // A stream that opens later no longer belongs to the link, so nothing else returns the slot.
      let actions: [Action] = phase == .queued || phase == .opening ? [.withdraw] : []
      (phase, hasRows, liveUntil, presenceUntil, triedSince, asksAnew) = (.idle, false, nil, nil, nil, false)
      return actions
    case .yield: return canYield ? yielded(Self.crowded) : []
    case .left:
      if isAbsent { return [] }
      if let absentAt, now < absentAt + absence {
        leavesAt = absentAt + absence
        return []
      }
      return absent(at: now)
    case .theirs, .retry:
      guard case .backingOff = phase else { return [] }
      return awake(at: now)
    case .used:
      usedAt = now
      return []
    case .settled:
      hasRows = false
      flaps = 0
      usedAt = now
      return []
    case .tick: return tick(at: now)
    case .stop:
      isStopping = true
      return isOpen ? [] : stopped()
    }
  }

  private mutating func absent(at now: NIODeadline) -> [Action] {
    (isAbsent, absentAt, leavesAt) = (true, now, nil)
    return [.absent]
  }

  private mutating func owed(at now: NIODeadline) -> [Action] {
    if case .backingOff(_, let failure) = phase, failure.isFinal { return [.bounce(failure)] }
    hasRows = true
    switch phase {
    case .idle: return queue(at: now)
    case .open: return [.send]
    case .queued, .opening, .backingOff, .stopped: return []
    }
  }

  private mutating func stopped() -> [Action] {
    let actions: [Action] =
      (phase == .queued ? [.withdraw] : []) + (waitsLive ? [.refuse(Self.stopping)] : [])
    (phase, liveUntil, presenceUntil) = (.stopped, nil, nil)
    return actions
  }

  /// Stops waiting for a stream, and refuses waiting live stanzas. The link counts as idle, not as unreachable.
  private mutating func yielded(_ failure: OpenFailure) -> [Action] {
    // The slot is returned first, since a handler of the refusal may queue again.
    let actions: [Action] = (phase == .queued ? [.withdraw] : []) + (waitsLive ? [.refuse(failure)] : [])
    (phase, liveUntil, presenceUntil) = (.idle, nil, nil)
    if failures == 0 { triedSince = nil }
    return actions
  }

  private mutating func queue(at now: NIODeadline) -> [Action] {
    phase = .queued
    if triedSince == nil { triedSince = now }
    return [.queue]
  }

  private mutating func opened(at now: NIODeadline) -> [Action] {
    if isOpen { return [] }
    let actions: [Action] =
      (phase == .queued ? [.withdraw] : []) + (failures > 0 ? [.recover] : []) + [.send]
      + (isAbsent || asksAnew ? [.present] : [])
    phase = .open(since: now)
    (failures, lastFailure, liveUntil, triedSince, isAbsent, usedAt) = (0, nil, nil, nil, false, now)
    (asksAnew, presenceUntil) = (false, nil)
    return actions
  }

  private mutating func backOff(_ failure: OpenFailure, at now: NIODeadline, _ random: Double) -> [Action] {
    failures += 1
    var failure = failure
    if failure.isFinalIfRepeated, failure == lastFailure {
      failure = OpenFailure(isFinal: true, reason: failure.reason)
    } else {
      lastFailure = failure
    }
    let pause = Self.pause(after: failures, random: random)
    let waits = waitsLive
    phase = .backingOff(until: now + pause, failure)
    (liveUntil, presenceUntil) = (nil, nil)
    defer { if failure.isFinal { hasRows = false } }
    return (waits ? [.refuse(failure)] : [])
      + (failure.isFinal && hasRows ? [.bounce(failure)] : [])
      + [.record(failures: failures, next: pause, failure)]
  }

  private mutating func closed(isLost: Bool, at now: NIODeadline, _ random: Double) -> [Action] {
    guard case .open(let since) = phase else { return [] }
    asksAnew = isLost
    if isStopping { return stopped() }
    flaps = now - since >= FederationLimits.settled ? 1 : flaps + 1
    if flaps > 1 {
      failures = flaps - 2
      triedSince = now
      return backOff(OpenFailure(isFinal: false, reason: "it closes streams that were just opened"), at: now, random)
    }
    phase = .idle
    return hasRows || asksAnew ? queue(at: now) : []
  }

  private mutating func awake(at now: NIODeadline) -> [Action] {
    phase = .idle
    return hasRows || asksAnew ? queue(at: now) : []
  }

  private mutating func tick(at now: NIODeadline) -> [Action] {
    var actions: [Action] = []
    let isPresenceLate = presenceUntil.map { $0 <= now } ?? false
    if isPresenceLate || liveUntil.map({ $0 <= now }) ?? false {
      if presenceUntil != nil, !isPresenceLate {
        liveUntil = nil
        actions.append(.refuseRequests(Self.unanswered))
      } else if phase == .queued, canYield {
        actions += yielded(Self.unanswered)
      } else {
        (liveUntil, presenceUntil) = (nil, nil)
        actions.append(.refuse(Self.unanswered))
      }
    }
    if let triedSince, !isAbsent, triedSince + absence <= now {
      asksAnew = false
      actions += absent(at: now)
    }
    if let leavesAt, leavesAt <= now {
      self.leavesAt = nil
      actions += isOpen ? [.present] : absent(at: now)
    }
    switch phase {
    case .backingOff(let until, _) where until <= now: actions += awake(at: now)
    case .open where !hasRows && usedAt + idle <= now:
      phase = .idle
      actions.append(.close)
    case .idle, .queued, .opening, .open, .backingOff, .stopped: break
    }
    return actions
  }

  private static let stopping = OpenFailure(isFinal: false, reason: "this server is being stopped")
  private static let crowded = OpenFailure(isFinal: false, reason: "there are too many links")
  private static let unanswered = OpenFailure(isFinal: false, reason: "it does not answer")
}
