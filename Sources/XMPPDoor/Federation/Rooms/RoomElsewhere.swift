import Addresses
import JSON
import XMLStream
import XMPP

/// The meaning of a message between a local user and a remote room, by its payload (XEP-0045). Remote rooms are not
/// dialogs, so apps are notified only of invitations.
enum RoomElsewhere: Equatable {
  /// A private message between occupants (7.5).
  case whisper
  /// An invitation that the room passes on (7.8.2), with inviter and reason as the JSON object of its content.
  case invitation(String)

  /// Reads a message that a remote room may have sent; `nil` for any other.
  init?(_ stanza: Stanza, from sender: JID) {
    guard let mark = stanza.element.first(.mucUser) else { return nil }
    if sender.resource != nil {
      self = .whisper
    } else if let invite = mark.first(.mucUserInvite) {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("inviter", invite["from"].flatMap { try? JID($0) }?.bare.description)
      writer.member("reason", RoomReason.read(.mucUserReason, of: invite))
      writer.endObject()
      self = .invitation(writer.text)
    } else {
      return nil
    }
  }

  /// Returns whether a message of a local user is a private one to an occupant.
  static func isWhisper(_ stanza: Stanza, with occupant: JID) -> Bool {
    occupant.resource != nil && stanza.element.first(.mucUser) != nil
  }
}
