// The state machine of a call, as pure functions: a call and a user's move result in a call, nothing, or an error.

import Basics

/// A change of a call. Stored: never renumber.
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

/// A user's move of an existing call.
public enum CallMove: Hashable, Sendable {
  case heard
  case accept
  /// Ends the call: before the answer the callee rejects or the caller retracts, later either hangs up. The reason is
  /// `nil` for the usual one.
  case end(Call.Reason?)
}

extension Call {
  /// Returns the call after a move; `nil` if it changes nothing, or the call is over.
  ///
  /// - Parameters:
  ///   - user: one of the two users.
  ///   - resource: the resource of their device.
  ///   - isApp: whether the device is an app's.
  /// - Throws: `.forbidden` if only the other user may do so, `.conflict` if it is too late.
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
        // The same device has answered again.
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

  // The valid reasons, the usual one first: clients send more than make sense.
  private static let ofCallees: [Reason] = [.rejected, .busy, .incompatible, .failed, .crossed]
  private static let ofCallers: [Reason] = [.cancelled, .timeout, .failed, .crossed]
  private static let ofBoth: [Reason] = [.hungUp, .failed, .incompatible, .replaced]

  private static func suited(_ reason: Reason?, _ reasons: [Reason]) -> Reason {
    reason.flatMap { reasons.contains($0) ? $0 : nil } ?? reasons[0]
  }

  /// Returns the call after its time is over; `nil` if it is not, or the call has ended.
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

/// The outcome of starting a call, given the existing ones.
enum CallOpening: Hashable, Sendable {
  case rings
  /// The call ends at once, for this reason.
  case ends(Call.Reason)
  /// The call rings, and replaces this one.
  case instead(Call, Call.Reason)
  /// The other user is already calling: the caller may answer that call.
  case answersOther

  /// Returns the outcome of a call.
  ///
  /// - Parameters:
  ///   - name: the new call's name, if it is from an XMPP client.
  ///   - isApp: whether an app calls.
  ///   - calls: the callee's calls that have not ended.
  ///   - isThere: returns whether the device at this side of a call is connected.
  static func of(
    name: String?, isApp: Bool, caller: UserID, callee: UserID, among calls: [Call], isThere: (Call.CallParty) -> Bool
  ) -> CallOpening {
    var instead: CallOpening?
    // One caller with several ringing calls does not make the callee busy for others, nor for themselves.
    var othersRinging: Set<UserID> = []
    for call in calls {
      let isBetween = call.has(caller)
      switch call.state {
      case .ended: continue
      case .ringing where isBetween && call.caller.party.id == callee:
        // Both called at once. Apps answer the existing call; among XMPP calls the lower name stands, which two XMPP
        // clients settle between themselves.
        if isApp { return .answersOther }
        guard call.caller.isApp, let name else { continue }
        if name.utf8.lexicographicallyPrecedes(call.name.utf8) {
          instead = .instead(call, .crossed)
        } else {
          return .ends(.crossed)
        }
      case .ringing:
        if call.callee.party.id == callee, !isBetween { othersRinging.insert(call.caller.party.id) }
      case .accepted where isBetween:
        // A user who calls the other side of an accepted call has lost the connection, or has changed the device.
        instead = .instead(call, .replaced)
      case .accepted:
        // XMPP clients answer themselves that they are busy.
        let callParty = call.callParty(of: callee)
        if callParty.isApp, isThere(callParty) { return .ends(.busy) }
      }
    }
    if let instead { return instead }
    return othersRinging.count >= Limits.callsRingingMax ? .ends(.busy) : .rings
  }
}

extension Problem {
  public static let callUnknown = Problem(
    .missing, "call-unknown", "There is no such call among yours.", field: "callId")
  static let callEnded = Problem(.conflict, "call-ended", "This call has ended.")
  static let callAnswered = Problem(.conflict, "call-answered", "Another device has answered this call.")
  static let callNotYours = Problem(.forbidden, "not-the-callee", "Only who is called can answer.")
}
