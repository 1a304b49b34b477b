import Addresses
import Dialogs
import XMLStream
import XMPP

/// Setting a room up, configuring and destroying it (XEP-0045 10).
enum RoomOwnership {
  static func form(_ turn: Turn, _ query: Element) throws(StanzaError) {
    _ = try OwnerQuery(get: query)
    current(turn) { (settings, owners, admins) in
      let form = ConfigurationForm.form(
        of: settings, owners: owners, admins: admins, isFederated: turn.session.parley.hub.federation != nil)
      turn.reply { writer in
        writer.element(.mucOwner) { form.write(into: &$0) }
      }
    }
  }

  static func change(_ turn: Turn, _ query: Element) throws(StanzaError) {
    let room = RoomReference.address(turn.room)
    switch try OwnerQuery(set: query) {
    case .form: throw StanzaError(.badRequest)
    case .cancel:
      turn.postToRoom(.abandon(room)) { _ in turn.reply() }
    case .destroy(let destruction):
      turn.postToRoom(
        .destroy(
          room, reason: destruction.reason, alternate: destruction.alternate, password: destruction.password)
      ) { _ in turn.reply() }
    case .submit(let form): submit(turn, form)
    }
  }

  private static func submit(_ turn: Turn, _ form: DataForm) {
    current(turn) { (settings, owners, admins) throws(StanzaError) in
      let draft = try ConfigurationForm.read(form, of: settings, owners: owners, admins: admins)
      turn.postToRoom(.configure(.address(turn.room), draft)) { receipt in
        let session = turn.session
        // The session in which the room was being set up; another one of its owner may have sent the form.
        if let joinedRoom = session.rooms[turn.room], joinedRoom.room == nil, let room = receipt.room {
          session.rooms.founded(room.name, at: receipt.position, place: session.cursor.log.position)
          RoomInbound.readOn(room.name.address, session)
        }
        turn.reply()
      }
    }
  }

  /// Reads the present settings and people. Whether a room is being set up is the core's knowledge: the owner's session
  /// need not be the one in which it is. Such a room has its initial settings, and nobody else can enter from here on.
  private static func current(
    _ turn: Turn, _ then: @escaping (RoomSettings, [BareJID], [BareJID]) throws(StanzaError) -> Void
  ) {
    turn.occupancy { (room, occupancy) throws(StanzaError) in
      if room.name.isBeingSetUp {
        return turn.postToRoom(.prepare(.address(turn.room))) { _ in
          do throws(StanzaError) { try then(room.settings, [turn.party.address], []) } catch { turn.fail(error) }
        }
      }
      guard occupancy.affiliation == .owner, let members = occupancy.access.readable?.members else {
        throw StanzaError(inRoom: .notOwner)
      }
      turn.fetch { reader in
        try reader.members(of: members.only([.owner, .admin]), after: nil, limit: Limits.membersMax)
      } reply: { (members) throws(StanzaError) in
        try then(
          room.settings, members.filter { $0.affiliation == .owner }.map(\.party.address),
          members.filter { $0.affiliation == .admin }.map(\.party.address))
      }
    }
  }
}
