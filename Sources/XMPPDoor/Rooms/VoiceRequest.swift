import Addresses
import Dialogs
import XMPP

/// A request for voice, and its grant (XEP-0045 7.13, 8.6, 16.5.2).
enum VoiceRequest: Hashable, Sendable {
  /// An occupant without voice requests it.
  case request
  /// A moderator's answer: with `isGranted`, the occupant becomes participant; otherwise nothing happens.
  case answer(nick: String, isGranted: Bool)

  private enum Key {
    static let role = "muc#role"
    static let address = "muc#jid"
    static let nick = "muc#roomnick"
    static let allow = "muc#request_allow"
  }

  /// Reads a form in a message to the room; `nil` for a form of another type, or a cancelled one, by which the
  /// moderator skips the request.
  ///
  /// - Throws: `bad-request` for another role than participant, which cannot be requested, or an answer without nick;
  ///   `not-acceptable` for an answer that is neither yes nor no; `jid-malformed` for an invalid nick.
  static func read(_ form: DataForm) throws(StanzaError) -> VoiceRequest? {
    guard form.formType == "\(NS.mucRequest)", form.kind == .submit else { return nil }
    if let role = try form.single(Key.role), role != "\(Role.participant.text)" {
      throw StanzaError(.badRequest, "the field '\(Key.role)' is not 'participant'")
    }
    guard form[Key.allow] != nil else {
      guard form.value(Key.role) != nil else { throw StanzaError(.badRequest, "the field '\(Key.role)' is missing") }
      return .request
    }
    guard let nick = try form.single(Key.nick) else {
      throw StanzaError(.badRequest, "the field '\(Key.nick)' is missing")
    }
    return .answer(nick: try RoomNick.read(nick), isGranted: try form.boolean(Key.allow) ?? false)
  }

  /// Returns the form for moderators (8.6).
  static func form(nick: String, address: BareJID) -> DataForm {
    DataForm(
      .form, formType: "\(NS.mucRequest)", title: "Voice request",
      instructions: ["Somebody asks to be allowed to write in this room."],
      fields: [
        DataForm.Field(
          Key.role, .listSingle, label: "Requested role", values: ["\(Role.participant.text)"],
          options: [DataForm.Option("\(Role.participant.text)")]),
        DataForm.Field(Key.address, .jidSingle, address.description, label: "Address"),
        DataForm.Field(Key.nick, .textSingle, nick, label: "Nickname"),
        DataForm.Field(Key.allow, false, label: "May write"),
      ])
  }
}
