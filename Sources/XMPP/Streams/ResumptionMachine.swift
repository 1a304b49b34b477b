// Stream management (XEP-0198 1.6.3): enabling it, acknowledging both ways, resuming a session on a new stream.
//
// Theory. One machine belongs to one session, not to one stream: when the connection breaks, the machine stays with the
// suspended session, and when the client comes back on a new stream, the former session's machine is asked (`resume`)
// and takes over. Its states are few: off; on; on and resumable under an id. Its memory is two counters and a queue
// (`AcknowledgementQueue.swift`); the caller keeps suspended sessions and decides for how long, and under which id they
// are found.
//
//   <enable/>   -> enable     -> <enabled/>, or <failed/>
//   <r/>        -> inbound.durable is the answer, at once
//   <a/>        -> acknowledged -> released stanzas, or the end of the stream
//   <resume/>   -> the caller looks the id up; resume on the machine found -> <resumed/> and what is to be sent again

public import XMLStream

/// A client's element of stream management.
public enum ManagementElement: Sendable, Equatable {
  /// Start counting (XEP-0198 3). `max` is the time for which the client would like to be able to resume, in seconds.
  case enable(resume: Bool, max: UInt32?)
  /// Take over a former session (XEP-0198 5).
  case resume(previous: String, handled: UInt32)
  /// `<r/>`.
  case request
  /// `<a/>`.
  case acknowledge(UInt32)

  /// Reads an element; `nil` if it is none of these.
  /// - Throws: `bad-request` for a missing or invalid attribute.
  public init?(_ element: Element) throws(StanzaError) {
    if element.is(.smRequest) {
      self = .request
    } else if element.is(.smAcknowledge) {
      self = .acknowledge(try Self.handled(element))
    } else if element.is(.smEnable) {
      let max = try element.unsigned("max")
      self = .enable(resume: try element.boolean("resume") ?? false, max: max == 0 ? nil : max)
    } else if element.is(.smResume) {
      let previous = try element.requiredNonEmpty("previd")
      guard previous.utf8.count <= XMPPLimits.resumptionIDBytesMax else {
        throw StanzaError(.badRequest, "the attribute 'previd' is too long")
      }
      self = .resume(previous: previous, handled: try Self.handled(element))
    } else {
      return nil
    }
  }

  private static func handled(_ element: Element) throws(StanzaError) -> UInt32 {
    guard let handled = try element.unsigned("h") else {
      throw StanzaError(.badRequest, "<\(element.local)/> lacks the attribute 'h'")
    }
    return handled
  }
}

public struct ResumptionPolicy: Sendable, Equatable {
  /// Whether sessions can be resumed at all.
  public var allowsResumption: Bool
  /// The time for which a suspended session waits, in seconds.
  public var secondsMax: UInt32
  /// The address to reconnect to first (XEP-0198 3); `nil` for any.
  public var location: String?

  public init(
    allowsResumption: Bool = true, secondsMax: UInt32 = XMPPLimits.resumptionSecondsMax, location: String? = nil
  ) {
    self.allowsResumption = allowsResumption
    self.secondsMax = secondsMax
    self.location = location
  }
}

/// The answer to `<enable/>`.
public enum EnableDecision: Sendable, Equatable {
  case enabled(Resumable?)
  /// Send `<failed/>` with this condition.
  case failed(StanzaError.Condition)
  /// A second request: `<failed/>` with `unexpected-request` and then this stream error (XEP-0198 3 asks for both).
  case misused(StreamError)

  public struct Resumable: Sendable, Equatable {
    public let id: String
    /// The time for which the session can be resumed, in seconds.
    public let max: UInt32
    public let location: String?
  }

  /// Writes the answer.
  public func write(into writer: inout ElementWriter) {
    switch self {
    case .enabled(let resumable): StreamManagement.writeEnabled(resumable, into: &writer)
    case .failed(let condition): StreamManagement.writeFailed(condition, into: &writer)
    case .misused: StreamManagement.writeFailed(.unexpectedRequest, into: &writer)
    }
  }
}

/// The answer to `<resume/>`.
public enum ResumeDecision: Sendable, Equatable {
  /// Send `<resumed/>` with this `h`; then send the machine's `outbound` again, `replay` stanzas, before anything else.
  case resumed(handled: UInt32, replay: Int)
  /// Send `<failed/>` with this condition and, if known, `h`; the client may bind instead.
  case failed(StanzaError.Condition, handled: UInt32?)
  /// End the new stream, since the client's `h` was never reached; the former session is unchanged.
  case close(StreamError)
}

/// The state of a former session that cannot be resumed.
public enum FormerSession: Sendable, Equatable {
  /// No session of this user had the id; another user's counts as none, so that ids cannot be probed.
  case unknown
  /// It timed out, or ended with the server, after it had handled this many of the client's stanzas.
  case expired(handled: UInt32)
  /// Resumption is switched off.
  case unsupported
}

public struct ResumptionMachine<Item: Sendable>: Sendable {
  /// The stanzas sent to the client.
  @inlinable public var outbound: AcknowledgementQueue<Item> { queue }
  @usableFromInline var queue: AcknowledgementQueue<Item>
  /// The stanzas received from the client.
  public var inbound: InboundCounter
  /// Whether stanzas are counted.
  public internal(set) var isEnabled = false
  /// The id under which the session can be resumed; `nil` if it cannot.
  public private(set) var id: String?
  /// The seconds for which the session waits after its connection broke.
  public private(set) var resumptionSeconds: UInt32 = 0
  @usableFromInline var isRequestOutstanding = false
  /// The time at which `isOverdue` first saw the outstanding request, in nanoseconds.
  @usableFromInline var awaitedSince: UInt64?

  /// Creates a machine with stream management disabled.
  public init(
    itemsMax: Int = XMPPLimits.unacknowledgedItemsMax, bytesMax: Int = XMPPLimits.unacknowledgedBytesKept
  ) {
    queue = AcknowledgementQueue(itemsMax: itemsMax, bytesMax: bytesMax)
    inbound = InboundCounter()
  }

  /// The state that outlives a restart of the server.
  public struct Snapshot: Sendable {
    public var id: String
    public var resumptionSeconds: UInt32
    /// `AcknowledgementQueue.acknowledged`, not wrapped.
    public var acknowledgedTotal: UInt64
    /// `InboundCounter.durableTotal`.
    public var handledTotal: UInt64
    /// The unacknowledged items, oldest first.
    public var items: [(item: Item, byteCount: Int)]

    public init(
      id: String, resumptionSeconds: UInt32, acknowledgedTotal: UInt64, handledTotal: UInt64,
      items: [(item: Item, byteCount: Int)]
    ) {
      self.id = id
      self.resumptionSeconds = resumptionSeconds
      self.acknowledgedTotal = acknowledgedTotal
      self.handledTotal = handledTotal
      self.items = items
    }
  }

  /// The state to keep over a restart; `nil` if the session cannot be resumed.
  public var snapshot: Snapshot? {
    guard let id else { return nil }
    return Snapshot(
      id: id, resumptionSeconds: resumptionSeconds, acknowledgedTotal: queue.acknowledgedTotal,
      handledTotal: inbound.durableTotal, items: queue.items)
  }

  /// Creates the machine of a suspended session from before a restart. Items beyond a bound are left out at the end: a
  /// server with larger bounds kept such a queue.
  public init(
    restoring snapshot: Snapshot, itemsMax: Int = XMPPLimits.unacknowledgedItemsMax,
    bytesMax: Int = XMPPLimits.unacknowledgedBytesKept
  ) {
    queue = AcknowledgementQueue(
      acknowledgedTotal: snapshot.acknowledgedTotal, itemsMax: itemsMax, bytesMax: bytesMax)
    inbound = InboundCounter(handledTotal: snapshot.handledTotal)
    isEnabled = true
    id = snapshot.id
    resumptionSeconds = snapshot.resumptionSeconds
    for (item, byteCount) in snapshot.items where !queue.append(item, byteCount: byteCount) { break }
  }

  /// Handles `<enable/>` on a bound stream. Counting starts, both ways, at zero.
  ///
  /// - Parameters:
  ///   - max: the client's wish, in seconds.
  ///   - id: a fresh id, random and never reused, asked for only if the session will be resumable.
  public mutating func enable(
    resume: Bool, max: UInt32?, policy: ResumptionPolicy, id: @autoclosure () -> String
  ) -> EnableDecision {
    guard !isEnabled else {
      return .misused(StreamError(.policyViolation, "stream management is enabled"))
    }
    isEnabled = true
    guard resume, policy.allowsResumption else { return .enabled(nil) }
    let id = id()
    self.id = id
    resumptionSeconds = min(max ?? policy.secondsMax, policy.secondsMax)
    return .enabled(EnableDecision.Resumable(id: id, max: resumptionSeconds, location: policy.location))
  }

  /// Counts a stanza about to be sent. Nothing is kept before stream management is enabled.
  ///
  /// - Returns: `false` at a bound: the stanza must not be sent.
  @inlinable public mutating func sending(_ item: @autoclosure () -> Item, byteCount: Int) -> Bool {
    guard isEnabled else { return true }
    return queue.append(item(), byteCount: byteCount)
  }

  /// Handles `<a/>`. Released items are handed over, oldest first.
  @inlinable public mutating func acknowledged(
    _ h: UInt32, released: (Item) -> Void = { _ in }
  ) -> AcknowledgementQueue<Item>.Outcome {
    isRequestOutstanding = false
    awaitedSince = nil
    let outcome = queue.acknowledge(through: h, released: released)
    if queue.isEmpty { queue.shrink() }
    return outcome
  }

  /// Returns whether to send `<r/>` behind what was just sent: if something waits and no request is under way. A caller
  /// that gets `true` sends it.
  @inlinable public mutating func requestIsDue() -> Bool {
    guard isEnabled, !queue.isEmpty, !isRequestOutstanding else { return false }
    isRequestOutstanding = true
    return true
  }

  /// Returns whether the peer has left a request unanswered for too long: it may withhold the answer for nothing but a
  /// timeout (XEP-0198 4), however few stanzas wait. It is called every few seconds; the time counts from the first call
  /// that finds the request.
  ///
  /// - Parameters:
  ///   - now: the time of a monotonic clock, in nanoseconds.
  ///   - bound: the time that the peer has, in nanoseconds.
  ///   - isUnread: whether the peer has not read what was sent before the request. Its time begins when it has.
  public mutating func isOverdue(at now: UInt64, bound: UInt64, isUnread: Bool) -> Bool {
    guard isRequestOutstanding, !isUnread else {
      awaitedSince = nil
      return false
    }
    let since = awaitedSince ?? now
    awaitedSince = since
    return now >= since && now - since >= bound
  }

  /// Handles `<resume/>` with this machine's id on a new stream. The counters continue (XEP-0198 5).
  public mutating func resume(handled h: UInt32, released: (Item) -> Void = { _ in }) -> ResumeDecision {
    guard id != nil else { return .failed(.itemNotFound, handled: nil) }
    switch queue.acknowledge(through: h, released: released) {
    case .tooHigh(let error): return .close(error)
    case .released:
      isRequestOutstanding = false
      awaitedSince = nil
      return .resumed(handled: inbound.durable, replay: queue.count)
    }
  }

  /// Removes items that cannot be sent again, after `resume`: the peer has named the last item that it received, and counts on
  /// from there.
  public mutating func forget(where isGone: (Item) -> Bool) { queue.forget(where: isGone) }

  /// Returns the answer to `<resume/>` without a machine to ask.
  public static func refuse(_ former: FormerSession) -> ResumeDecision {
    switch former {
    case .unknown: .failed(.itemNotFound, handled: nil)
    case .expired(let handled): .failed(.itemNotFound, handled: handled)
    case .unsupported: .failed(.featureNotImplemented, handled: nil)
    }
  }
}

/// Writes the server's elements of stream management.
public enum StreamManagement {
  /// Writes `<enabled/>` (XEP-0198 3).
  public static func writeEnabled(_ resumable: EnableDecision.Resumable?, into writer: inout ElementWriter) {
    writer.element(.smEnabled) { writer in
      if let resumable {
        writer.attribute("id", resumable.id)
        writer.attribute("resume", "true" as StaticString)
        writer.attribute("max", resumable.max)
        writer.attribute("location", resumable.location)
      }
    }
  }

  /// Writes `<failed/>` (XEP-0198 5, 6).
  public static func writeFailed(
    _ condition: StanzaError.Condition, handled: UInt32? = nil, into writer: inout ElementWriter
  ) {
    writer.element(.smFailed) { writer in
      if let handled { writer.attribute("h", handled) }
      writer.element(Name(condition.text, NS.stanzas))
    }
  }

  /// Writes `<resumed/>` (XEP-0198 5).
  public static func writeResumed(previous: String, handled: UInt32, into writer: inout ElementWriter) {
    writer.element(.smResumed) { writer in
      writer.attribute("h", handled)
      writer.attribute("previd", previous)
    }
  }

  /// Writes `<a/>` (XEP-0198 4). It is sent with every commit, so it bypasses the writer's bookkeeping.
  public static func writeAcknowledgement(_ handled: UInt32, into writer: inout ElementWriter) {
    writer.raw("<a xmlns='urn:xmpp:sm:3' h='")
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 10) { digits in
      var rest = handled
      var start = 10
      repeat {
        start -= 1
        digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      writer.raw(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(digits)[start...]))
    }
    writer.raw("'/>")
  }

  /// Writes `<r/>` (XEP-0198 4).
  public static func writeRequest(into writer: inout ElementWriter) {
    writer.raw("<r xmlns='urn:xmpp:sm:3'/>")
  }
}
