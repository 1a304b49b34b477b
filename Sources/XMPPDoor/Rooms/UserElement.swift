import Addresses
import XMLStream
import XMPP

/// What a client says to a room in `<x xmlns='…muc#user'/>`: mediated invitations and their refusal (XEP-0045 7.8.2, 7.9).
/// Everything else there is the room's to say (17.3 rule 6) and ignored.
enum UserElement: Hashable, Sendable {
  case invite([Asked])
  case decline(Declined)

  /// Somebody to be asked into the room.
  struct Asked: Hashable, Sendable {
    /// As the client wrote it: a full address reaches the one session that is talked with (7.9), an occupant's address is of
    /// somebody in another room.
    let to: JID
    let reason: String?
    /// A chat between two goes on in the room (7.9).
    let isContinued: Bool
    /// Of that chat.
    let thread: String?
  }

  /// An invitation is refused.
  struct Declined: Hashable, Sendable {
    /// Who had invited.
    let to: JID
    let reason: String?
  }

  /// Nil: the element says neither, as in a private message (7.5).
  /// - Throws: `bad-request` for an invitation or refusal without addressee, or both at once; `jid-malformed` for an
  ///   addressee that is none; `policy-violation` for more than `DoorLimits.invitationsMax` invitations.
  static func read(_ element: Element) throws(StanzaError) -> UserElement? {
    var asked: [Asked] = []
    var declined: Declined?
    for child in element.children {
      if child.is(.mucUserInvite) {
        guard asked.count < DoorLimits.invitationsMax else {
          throw StanzaError(.policyViolation, "one message invites at most \(DoorLimits.invitationsMax) people")
        }
        let continued = child.first(.mucUserContinue)
        asked.append(
          Asked(
            to: try child.requiredJID("to"), reason: RoomReason.read(.mucUserReason, of: child),
            isContinued: continued != nil, thread: continued?["thread"]))
      } else if child.is(.mucUserDecline) {
        guard declined == nil else { throw StanzaError(.badRequest, "one message declines one invitation") }
        declined = Declined(to: try child.requiredJID("to"), reason: RoomReason.read(.mucUserReason, of: child))
      }
    }
    guard let declined else { return asked.isEmpty ? nil : .invite(asked) }
    guard asked.isEmpty else { throw StanzaError(.badRequest, "a message invites or declines") }
    return .decline(declined)
  }
}
