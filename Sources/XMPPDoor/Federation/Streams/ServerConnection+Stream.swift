import Dialogs
import NIOCore
import Peers
import XMLStream
import XMPP

/// The stream as links see it: stanzas are counted in both directions (XEP-0198). It is not resumed, since rows that were
/// not taken are still in the outbox.
extension ServerConnection: FederationStream {
  var acknowledges: Bool { management.isEnabled }

  var status: FederationLinkStatus.Stream {
    let isBidirectional = receiving?.isBidirectional ?? initiating?.isBidirectional ?? false
    return FederationLinkStatus.Stream(
      direction: isBidirectional ? .both : initiating == nil ? .incoming : .outgoing, since: since, address: peer,
      tls: tlsVersion, verified: proof?.rawValue ?? "dialback", acknowledges: acknowledges)
  }

  func write(_ body: (inout ElementWriter) -> Void) -> Bool {
    guard !isOver, !isClosed, !isClosing else { return true }
    let limits = receiving?.peerLimits ?? initiating?.peerLimits
    let max = limits?.maxBytes ?? .max
    guard append(upTo: max, body) else { return false }
    wroteAt = .now()
    if !management.sending(true, byteCount: 0) {
      close(StreamError(.policyViolation, "\(FederationStreamLimits.unacknowledgedMax) stanzas are not acknowledged"))
    }
    return true
  }

  func setPaused(_ isPaused: Bool) {
    isPausedByOwner = isPaused
    if !isPaused { goOn() }
  }

  func close(_ error: StreamError?) {
    if let error {
      perform(receiving?.fail(error, id: DoorContext.randomID()) ?? initiating?.fail(error) ?? .nothing)
    } else {
      isClosing = true
      perform(receiving?.close() ?? initiating?.close() ?? .nothing)
    }
  }

  // MARK: Acknowledging what came

  func handled() {
    guard let first = arrivals.indices.first(where: { !arrivals[$0].isDone }) else { return }
    arrivals[first].isDone = true
    settle()
  }

  /// Counts a stanza that the owner handles.
  func arrived() { arrivals.append((management.isEnabled ? management.inbound.began() : 0, false)) }

  /// Counts a stanza that has been handled, after those received before it.
  func dropped() {
    arrivals.append((management.isEnabled ? management.inbound.began() : 0, true))
    settle()
  }

  private func settle() {
    while let first = arrivals.first, first.isDone {
      arrivals.removeFirst()
      management.inbound.finished(first.number)
    }
    guard acknowledges, !isAcknowledgementDue else { return }
    // One acknowledgement for all stanzas that are handled together.
    isAcknowledgementDue = true
    let me = NIOLoopBound(self, eventLoop: loopContext.loop)
    loopContext.loop.execute {
      me.value.isAcknowledgementDue = false
      me.value.acknowledge()
      me.value.flush()
    }
  }

  private func acknowledge() {
    // Nothing follows the closing tag (RFC 6120 4.4).
    guard !isClosing else { return }
    let count = management.inbound.durable
    append { StreamManagement.writeAcknowledgement(count, into: &$0) }
  }

  // MARK: Acknowledgements of what was written

  /// Begins to count stanzas.
  func manage() {
    if !management.isEnabled {
      _ = management.enable(resume: false, max: nil, policy: ResumptionPolicy(allowsResumption: false), id: "")
    }
  }

  func request() {
    guard !isClosing else { return }
    append { StreamManagement.writeRequest(into: &$0) }
    freeManagement.asked()
    askedAt = askedAt ?? .now()
  }

  func manage(_ element: ManagementElement) {
    switch element {
    case .request: acknowledge()
    case .acknowledge(let handled):
      askedAt = nil
      switch management.acknowledged(handled) {
      case .released(let count):
        if count > 0, let first = pairs.first { owner?.acknowledged(count, of: first, on: self) }
        // The next request is sent with the next stanzas; stanzas written meanwhile need one now.
        flush()
      case .tooHigh(let error): close(error)
      }
    case .enable, .resume: break
    }
  }
}
