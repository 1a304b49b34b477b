import Dialogs
import JSON

/// Renders calls.
extension Rendering {
  func call(_ call: Dialogs.Call) -> CallBody {
    CallBody(
      id: parley.entryID(call.id, in: realm).description, dialogId: id(call.dialog), callerId: call.caller.party.name,
      kind: call.kind.wire, state: call.state.wire, reason: call.reason?.wire, media: call.media?.wire,
      createdAt: call.rangAt, ringingAt: call.heardAt,
      startedAt: call.acceptedAt, endedAt: call.endedAt,
      participants: [participant(call.caller, .caller), participant(call.callee, .callee)])
  }

  /// Returns the call in the receipt of a post.
  func call(_ receipt: Receipt) throws(Problem) -> CallBody {
    guard let call = receipt.value as? Dialogs.Call else {
      throw Problem(.internal, "outcome-missing", "The call was changed, but it cannot be shown.")
    }
    return self.call(call)
  }

  func signal(_ signal: CallSignal) -> CallSignalBody {
    CallSignalBody(
      callId: parley.entryID(signal.call, in: realm).description, dialogId: id(signal.dialog),
      senderId: signal.sender.name, action: signal.body.action.wire, sdp: signal.body.sdp,
      candidate: signal.body.candidate.map { RawObject(trusted: $0) },
      info: signal.body.info.map { RawObject(trusted: $0) })
  }

  private func participant(
    _ callParty: Dialogs.Call.CallParty, _ role: CallBody.Participant.Role
  ) -> CallBody.Participant {
    CallBody.Participant(
      userId: callParty.party.name, role: role,
      deviceId: callParty.isApp ? callParty.resource.map { OpenSession.device(ofResource: $0) } : nil)
  }
}

extension Dialogs.Call.Kind {
  fileprivate var wire: CallBody.Kind {
    switch self {
    case .audio: .audio
    case .video: .video
    }
  }
}

extension Dialogs.Call.State {
  fileprivate var wire: CallBody.State {
    switch self {
    case .ringing: .ringing
    case .accepted: .accepted
    case .ended: .ended
    }
  }
}

extension Dialogs.Call.Reason {
  fileprivate var wire: CallBody.Reason {
    switch self {
    case .rejected: .rejected
    case .cancelled: .cancelled
    case .busy: .busy
    case .timeout: .timeout
    case .hungUp: .ended
    case .failed: .failed
    case .replaced: .replaced
    case .crossed: .crossed
    case .incompatible: .incompatible
    }
  }
}

extension Dialogs.Call.Media {
  fileprivate var wire: CallBody.Media {
    switch self {
    case .sdp: .sdp
    case .jingle: .jingle
    }
  }
}

extension CallSignal.Action {
  fileprivate var wire: CallSignalBody.Action {
    switch self {
    case .offer: .offer
    case .answer: .answer
    case .candidate: .candidate
    case .info: .info
    }
  }
}
