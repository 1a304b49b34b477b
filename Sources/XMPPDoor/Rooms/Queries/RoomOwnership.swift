import Addresses
import Dialogs
import XMLStream
import XMPP

/// Setting a room up, configuring and destroying it (XEP-0045 10).
enum RoomOwnership {
  static func form(_ turn: Turn, _ query: Element) throws(StanzaError) {
    _ = try OwnerQuery(get: query)
    prepared(turn) {
      current(turn) { (settings, owners, admins) in
        let form = ConfigurationForm.form(
          of: settings, owners: owners, admins: admins, isFederated: turn.session.parley.hub.federation != nil)
        turn.reply { writer in
          writer.element(.mucOwner) { form.write(into: &$0) }
        }
      }
    }
  }

  static func change(_ turn: Turn, _ query: Element) throws(StanzaError) {
    let room = RoomReference.address(turn.room)
    switch try OwnerQuery(set: query) {
    case .form: throw StanzaError(.badRequest)
    case .cancel:
      turn.postToRoom(.abandon(room)) { _ in
        RoomOutbound.abandoned(turn.room, turn.session)
        turn.reply()
      }
    case .destroy(let destruction):
      turn.postToRoom(
        .destroy(
          room, reason: destruction.reason, alternate: destruction.alternate, password: destruction.password)
      ) { _ in turn.reply() }
    case .submit(let form): prepared(turn) { submit(turn, form) }
    }
  }

  private static func submit(_ turn: Turn, _ form: DataForm) {
    current(turn) { (settings, owners, admins) throws(StanzaError) in
      let isNew = turn.session.rooms[turn.room]?.room == nil
      var draft = try ConfigurationForm.read(form, of: settings, owners: owners, admins: admins)
      if isNew {
        let change = draft.apply
        draft.apply = { settings in
          settings = .instant
          change(&settings)
        }
      }
      turn.postToRoom(.configure(.address(turn.room), draft)) { receipt in
        let session = turn.session
        if isNew, session.rooms[turn.room]?.room == nil, let room = receipt.room {
          session.rooms.founded(room.name, at: receipt.position, place: session.cursor.log.position)
          RoomInbound.readOn(room.name.address, session)
        }
        turn.reply()
      }
    }
  }

  /// Goes on once nobody else can enter, if the room is being set up.
  private static func prepared(_ turn: Turn, _ then: @escaping () -> Void) {
    guard let joinedRoom = turn.session.rooms[turn.room], joinedRoom.room == nil else { return then() }
    turn.postToRoom(.prepare(.address(turn.room))) { _ in then() }
  }

  /// Reads the present settings and people; a room that is being set up has its initial ones.
  private static func current(
    _ turn: Turn, _ then: @escaping (RoomSettings, [BareJID], [BareJID]) throws(StanzaError) -> Void
  ) {
    if let joinedRoom = turn.session.rooms[turn.room], joinedRoom.room == nil {
      do throws(StanzaError) { try then(.instant, [turn.party.address], []) } catch { turn.fail(error) }
      return
    }
    turn.occupancy { (room, occupancy) throws(StanzaError) in
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
