import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0486: a room's picture is in its vCard; name and description come from its settings.
struct RoomVCard: Feature {
  static let xep = XEP(
    486, "0.1.0", "MUC Avatars", note: "Changes are announced by status 104, without presence of the room itself.")

  func register(in table: inout FeatureTable) {
    table.iq(.get, VCard.vCard, to: [.room], Self.get)
    table.iq(.set, VCard.vCard, to: [.room], Self.set)
  }

  private static func get(_ turn: Turn, _ query: Element) throws(StanzaError) {
    turn.occupancy { (room, _) in
      turn.fetch { reader in
        VCard.encoded(
          VCard.Stored(profile: Profile(displayName: room.settings.name), avatar: try reader.avatar(of: room)))
      } reply: { (card) throws(StanzaError) in
        turn.reply { $0.raw(card) }
      }
    }
  }

  /// Returns an occupant's vCard: their presence shows the hash of a picture (XEP-0398 4), so the picture must be
  /// available at that address. The server answers as for the account; in a semi-anonymous room with the picture alone,
  /// since all else would reveal the user.
  static func getOfOccupant(_ turn: Turn, in room: BareJID, _ nick: String) {
    turn.post(.room(.face(.address(room), nick: nick))) { result in
      switch result {
      case .success(let receipt):
        guard let face = receipt.value as? OccupantFace else { return turn.fail(StanzaError(.internalServerError)) }
        VCard.answer(turn, of: face.party.address, isWhole: face.isKnown)
      // A user who blocks the requester looks like one without a picture: another error would reveal the user.
      case .failure(let problem) where problem.code == Problem.unreachable.code:
        turn.fail(StanzaError(.serviceUnavailable))
      case .failure(let problem): turn.fail(inRoom: problem)
      }
    }
  }

  private static func set(_ turn: Turn, _ vCard: Element) throws(StanzaError) {
    let profile = try VCard.read(vCard)
    turn.postToRoom(.configure(.address(turn.room), SettingsDraft(avatar: profile.avatar) { _ in })) { _ in turn.reply()
    }
  }
}
