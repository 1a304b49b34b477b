import Dialogs
import XMLStream
import XMPP

/// Registers a user as a member of an open room, with a nick (XEP-0045 7.10).
enum RoomRegistration {
  static func offer(_ turn: Turn, _ query: Element) throws(StanzaError) {
    turn.occupancy { (room, occupancy) throws(StanzaError) in
      if occupancy.affiliation == .outcast { throw StanzaError(.notAllowed) }
      let isMember = occupancy.affiliation.isMember
      // 7.10: in a members-only room admins add members.
      if !isMember, room.settings.isMembersOnly {
        throw StanzaError(.notAllowed, "members are made by the room's admins")
      }
      turn.reply { writer in
        let member = occupancy.access.readable?.member
        if let member, member.isNickRegistered {
          RegistrationForm.write(registered: member.nick, into: &writer)
        } else {
          RegistrationForm.write(suggesting: occupancy.nick ?? member?.nick, into: &writer)
        }
      }
    }
  }

  static func register(_ turn: Turn, _ query: Element) throws(StanzaError) {
    let room = RoomReference.address(turn.room)
    switch try RegistrationForm.read(query) {
    case .cancel: turn.reply()
    case .register(let nick): turn.postToRoom(.register(room, nick: nick)) { _ in turn.reply() }
    case .remove:
      let own = MemberDraft(address: turn.party.address, affiliation: Affiliation.none)
      turn.postToRoom(.members(room, [own])) { _ in turn.reply() }
    }
  }
}
