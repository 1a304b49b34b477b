import Addresses
import XMLStream
import XMPP

/// The element `<x xmlns='…muc#user'/>` from a client: mediated invitations and their refusal (XEP-0045 7.8.2, 7.9).
/// Everything else in it is the room's to send (17.3 rule 6) and ignored.
enum UserElement: Hashable, Sendable {
  case invite([Asked])
  case decline(Declined)

  /// A person to invite.
  struct Asked: Hashable, Sendable {
    /// The address as the client wrote it: a full address reaches the one session of a chat (7.9), an occupant's
    /// address to an occupant of another room.
    let to: JID
    let reason: String?
    /// Whether a chat between two continues in the room (7.9).
    let isContinued: Bool
    /// The thread of that chat.
    let thread: String?
  }

  /// The refusal of an invitation.
  struct Declined: Hashable, Sendable {
    /// The inviter.
    let to: JID
    let reason: String?
  }

  /// Reads the element; `nil` if it is neither, as in a private message (7.5).
  /// - Throws: `bad-request` for an invitation or refusal without addressee, or both at once; `jid-malformed` for an
  ///   invalid addressee; `policy-violation` for more than `DoorLimits.invitationsMax` invitations.
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
