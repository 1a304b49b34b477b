// How a call goes on. Pure: a call and what somebody does make a call, nothing, or a refusal.

/// What becomes of a call. Stored: never renumber.
public enum CallAct: UInt8, Sendable, CaseIterable {
  /// XEP-0353 `<propose/>`.
  case ring = 1
  /// A device of the callee's rings: `<ringing/>`.
  case heard = 2
  /// `<proceed/>`.
  case accept = 3
  /// `<reject/>`.
  case reject = 4
  /// `<retract/>`.
  case retract = 5
  /// `<finish/>`.
  case finish = 6
}

/// What somebody does with a call that is there.
public enum CallMove: Hashable, Sendable {
  case heard
  case accept
  /// Whatever ends it: before it was answered the callee rejects it and the caller takes it back, later either hangs up. nil:
  /// for no reason but that.
  case end(Call.Reason?)
}

extension Call {
  /// Whether what somebody does changes the call, and how it is then.
  ///
  /// - Parameters:
  ///   - user: one of the two.
  ///   - resource: their device.
  ///   - isApp: it is an app's.
  /// - Returns: nil: it changes nothing; it was so, or is over.
  /// - Throws: `.forbidden` where it is the other's to do, `.conflict` where it is too late.
  func after(
    _ move: CallMove, by user: UserID, resource: String?, isApp: Bool, at time: Timestamp
  ) throws(Problem) -> (call: Call, act: CallAct)? {
    let isCallee = callee.party.id == user
    var next = self
    switch move {
    case .heard:
      guard isCallee else { throw Problem.callNotYours }
      guard state == .ringing, heardAt == nil else { return nil }
      next.heardAt = time
      return (next, .heard)
    case .accept:
      guard isCallee else { throw Problem.callNotYours }
      switch state {
      case .ended: throw Problem.callEnded
      case .accepted:
        // The same device once more.
        if callee.isApp == isApp, callee.resource == resource { return nil }
        throw Problem.callAnswered
      case .ringing:
        next.state = .accepted
        next.acceptedAt = time
        next.callee.resource = resource
        next.callee.isApp = isApp
        next.due = time + Limits.callMax
        return (next, .accept)
      }
    case .end(let reason):
      switch state {
      case .ended: return nil
      case .ringing:
        next.end(Self.suited(reason, isCallee ? Self.ofCallees : Self.ofCallers), at: time)
        return (next, isCallee ? .reject : .retract)
      case .accepted:
        next.end(Self.suited(reason, Self.ofBoth), at: time)
        return (next, .finish)
      }
    }
  }

  // What can be a reason, the usual one first: clients say more than makes sense.
  private static let ofCallees: [Reason] = [.rejected, .busy, .incompatible, .failed, .crossed]
  private static let ofCallers: [Reason] = [.cancelled, .timeout, .failed, .crossed]
  private static let ofBoth: [Reason] = [.hungUp, .failed, .incompatible, .replaced]

  private static func suited(_ reason: Reason?, _ reasons: [Reason]) -> Reason {
    reason.flatMap { reasons.contains($0) ? $0 : nil } ?? reasons[0]
  }

  /// The call when its time is over; nil: it is not, or has ended.
  func expired(at time: Timestamp) -> (call: Call, act: CallAct)? {
    guard let due, !(time < due) else { return nil }
    var next = self
    switch state {
    case .ended: return nil
    case .ringing:
      next.end(.timeout, at: time)
      return (next, .retract)
    case .accepted:
      next.end(.failed, at: time)
      return (next, .finish)
    }
  }

  private mutating func end(_ reason: Reason, at time: Timestamp) {
    state = .ended
    self.reason = reason
    endedAt = time
    due = nil
  }
}

/// What a new call is to those that there are.
enum CallOpening: Hashable, Sendable {
  case rings
  /// It ends at once, for this reason.
  case ends(Call.Reason)
  /// It rings, and takes the place of this one.
  case instead(Call, Call.Reason)
  /// The other has called already: they may answer that.
  case answersOther

  /// - Parameters:
  ///   - name: of the new call, where XMPP named it.
  ///   - isApp: an app calls.
  ///   - calls: those of the callee that have not ended.
  ///   - isThere: whether the device at this end of a call is connected.
  static func of(
    name: String?, isApp: Bool, caller: UserID, callee: UserID, among calls: [Call], isThere: (Call.CallParty) -> Bool
  ) -> CallOpening {
    var instead: CallOpening?
    var ringing = 0
    for call in calls {
      let isBetween = call.has(caller)
      switch call.state {
      case .ended: continue
      case .ringing where isBetween && call.caller.party.id == callee:
        // Both called at once. Apps answer what is there; XMPP clients know the lower name to stand, and settle it between
        // themselves where both are such.
        if isApp { return .answersOther }
        guard call.caller.isApp, let name else { continue }
        if name.utf8.lexicographicallyPrecedes(call.name.utf8) {
          instead = .instead(call, .crossed)
        } else {
          return .ends(.crossed)
        }
      case .ringing: if call.callee.party.id == callee { ringing += 1 }
      case .accepted where isBetween:
        // Who calls whom they talk to has lost them, or has changed the device.
        instead = .instead(call, .replaced)
      case .accepted:
        // XMPP clients say themselves that they are busy.
        let callParty = call.callParty(of: callee)
        if callParty.isApp, isThere(callParty) { return .ends(.busy) }
      }
    }
    if let instead { return instead }
    return ringing >= Limits.callsRingingMax ? .ends(.busy) : .rings
  }
}

extension Problem {
  public static let callUnknown = Problem(
    .missing, "call-unknown", "There is no such call among yours.", field: "callId")
  static let callEnded = Problem(.conflict, "call-ended", "This call has ended.")
  static let callAnswered = Problem(.conflict, "call-answered", "Another device has answered this call.")
  static let callNotYours = Problem(.forbidden, "not-the-callee", "Only who is called can answer.")
}
