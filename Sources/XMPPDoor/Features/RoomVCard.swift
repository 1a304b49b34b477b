import Dialogs
import XMLStream
import XMPP

/// XEP-0486: a room's picture is in its vCard; name and description come from
/// what the room is meant to be.
struct RoomVCard: Feature {
  static let xep = XEP(
    486, "0.1.0", "MUC Avatars", note: "changes are told by status 104; no presence of the room itself")

  func register(in table: inout FeatureTable) {
    table.iq(.get, VCard.vCard, to: [.room], Self.get)
    table.iq(.set, VCard.vCard, to: [.room], Self.set)
  }

  private static func get(_ turn: Turn, _ query: Element) throws(StanzaError) {
    turn.occupancy { (room, _) in
      turn.fetch { reader in
        VCard.Stored(profile: Profile(displayName: room.settings.name), avatar: try reader.avatar(of: room))
      } reply: { (stored) throws(StanzaError) in
        turn.reply { VCard.write(stored, into: &$0) }
      }
    }
  }

  private static func set(_ turn: Turn, _ vCard: Element) throws(StanzaError) {
    let profile = try VCard.read(vCard)
    turn.postToRoom(.configure(.address(turn.room), SettingsDraft(avatar: profile.avatar) { _ in })) { _ in turn.reply()
    }
  }
}
