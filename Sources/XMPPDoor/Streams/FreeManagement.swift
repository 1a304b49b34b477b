import XMPP

/// The elements of stream management (XEP-0198 4) that a peer may send without being charged for them as for stanzas: one
/// request for each of its stanzas, one acknowledgement for each request that it was sent, and any that acknowledges something
/// new. A peer that asks behind each stanza, or acknowledges each that it gets, is therefore no slower for it, and others
/// cannot use up what it may send by writing to it.
struct FreeManagement {
  private var answers = 0
  private var mayAsk = false

  /// Notes a request for acknowledgement that the peer was sent.
  mutating func asked() { answers = min(answers + 1, DoorLimits.freeAnswersMax) }

  /// Notes a stanza of the peer.
  mutating func stanzaCame() { mayAsk = true }

  /// Returns whether the peer may send an element without being charged; if so, the element uses this up.
  ///
  /// - Parameter sent: the stanzas that the peer has not acknowledged yet.
  mutating func takes(_ element: ManagementElement, of sent: AcknowledgementQueue<some Sendable>) -> Bool {
    switch element {
    case .request:
      defer { mayAsk = false }
      return mayAsk
    case .acknowledge(let handled):
      let new = handled &- sent.acknowledged
      if new > 0, Int(new) <= sent.count { return true }
      guard answers > 0 else { return false }
      answers -= 1
      return true
    case .enable, .resume: return false
    }
  }
}
