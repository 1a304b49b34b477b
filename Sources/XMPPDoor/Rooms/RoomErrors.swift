import Addresses
import Dialogs
import XMLStream
import XMPP

/// Maps the core's problems in a room to the conditions that XEP-0045 names. Other problems have their default error.
extension StanzaError {
  init(inRoom problem: Problem) {
    switch problem.code {
    case Problem.roomUnknown.code, Problem.roomLocked.code: self.init(.itemNotFound, problem.text)  // 7.2.4, 10.1
    case Problem.roomDestroyed.code: self.init(.gone, problem.text)  // 10.9
    case Problem.roomBanned.code: self.init(.forbidden, problem.text, type: .auth)  // 7.2.7
    case Problem.roomMembersOnly.code: self.init(.registrationRequired, problem.text, type: .auth)  // 7.2.6
    case Problem.roomMembersElsewhere.code:
      self.init(.registrationRequired, problem.text, type: .auth)  // 7.2.6
    case Problem.roomNotFederated.code, Problem.roomsNotFederated.code: self.init(.notAllowed, problem.text)
    case Problem.roomOwnerElsewhere.code:
      self.init(.notAcceptable, "the field '\(ConfigurationForm.Key.acceptsRemote)' is 0: \(problem.text)")  // 10.1.3
    case Problem.roomPassword.code: self.init(.notAuthorized, problem.text, type: .auth)  // 7.2.5
    case Problem.nickTaken.code: self.init(.conflict, problem.text)  // 7.2.8
    case Problem.roomFull.code: self.init(.serviceUnavailable, problem.text, type: .wait)  // 7.2.9
    case Problem.nickMissing.code, Problem.nickInvalid.code: self.init(.jidMalformed, problem.text)  // 7.2.1
    case Problem.notOccupant.code: self.init(.notAcceptable, problem.text)  // 7.4
    case Problem.noVoice.code: self.init(.forbidden, problem.text, type: .auth)  // 7.4
    case Problem.notModerator.code, Problem.notAdmin.code, Problem.notOwner.code:
      self.init(.forbidden, problem.text, type: .auth)  // 8.1, 9.5, 10.2
    case Problem.outranked.code: self.init(.notAllowed, problem.text)  // 8.2, 9.7
    // 10.1.3.
    case Problem.roomKept.code:
      self.init(.notAcceptable, "the field 'muc#roomconfig_persistentroom' is 0: \(problem.text)")
    case Problem.lastOwner.code: self.init(.conflict, problem.text)  // 10.4
    case Problem.occupantUnknown.code: self.init(.itemNotFound, problem.text)  // 7.5
    case Problem.noWhispers.code: self.init(.notAcceptable, problem.text)  // 7.5
    case Problem.unreachable.code: self.init(.itemNotFound, problem.text)
    case Problem.guestLimited.code: self.init(.notAllowed, problem.text)  // 7.2: room creation is restricted
    default: self.init(problem)
    }
  }
}

extension Turn {
  func fail(inRoom problem: Problem) { fail(inRoom: StanzaError(inRoom: problem), code: problem.code) }

  /// Answers with an error. For a message or presence, which others may answer too, it names the room as its author.
  func fail(inRoom error: StanzaError, code: String? = nil) {
    guard stanza.mayBeAnswered, stanza.kind != .iq else { return fail(error, code: code) }
    log(error, code: code)
    let by = room.description
    guard stanza.kind == .presence else {
      return session.send(counted: true) {
        error.writeReply(to: stanza, into: &$0, to: session.jid.description, by: by)
      }
    }
    // 7.2.5 to 7.2.10: clients recognise an error of the room by `<x/>`.
    session.send { writer in
      stanza.openReply(type: "error", into: &writer, to: session.jid.description)
      writer.element(.mucJoin)
      error.write(into: &writer, by: by)
      writer.close()
    }
  }

  /// Posts an intent about a room; a refusal is answered as the XEP says.
  func postToRoom(_ intent: RoomIntent, numbered: Bool = false, then: @escaping (Receipt) -> Void = { _ in }) {
    session.post(.room(intent), numbered: numbered) { [self] result in
      switch result {
      case .success(let receipt): then(receipt)
      case .failure(let problem): fail(inRoom: problem)
      }
    }
  }
}
