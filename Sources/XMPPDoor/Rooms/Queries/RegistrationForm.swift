import Dialogs
import XMLStream
import XMPP

/// The registration as a member of an open room, with a nick (XEP-0045 7.10, 16.5.1). The nick is the only field:
/// people's names and addresses are in their profiles, if they wish.
enum RegistrationForm {
  private static let nick = "muc#register_roomnick"
  private static let registered = Name("registered", NS.register)
  private static let remove = Name("remove", NS.register)

  // MARK: Offering

  /// Writes the answer to a user who is not registered.
  /// - Parameter nick: the suggested nick.
  static func write(suggesting nick: String?, into writer: inout ElementWriter) {
    writer.element(.register) { writer in
      writer.element("instructions") { $0.text(instructions) }
      DataForm(
        .form, formType: "\(NS.mucRegister)", title: "Registration", instructions: [instructions],
        fields: [
          DataForm.Field(
            Self.nick, .textSingle, label: "Nickname", isRequired: true, values: nick.map { [$0] } ?? [])
        ]
      ).write(into: &writer)
    }
  }

  private static let instructions = "Your nickname in this room will be reserved for you."

  /// Writes the answer to a user who is registered (7.10).
  static func write(registered nick: String?, into writer: inout ElementWriter) {
    writer.element(.register) { writer in
      writer.element(registered)
      if let nick { writer.element("username") { $0.text(nick) } }
    }
  }

  // MARK: Reading

  enum Request: Hashable, Sendable {
    case register(nick: String)
    /// Ends the membership (XEP-0077 3.2).
    case remove
    /// Changes nothing (XEP-0004 3.1).
    case cancel
  }

  /// Reads a request.
  /// - Throws: `bad-request` for no form, one of another type, or one without nick (7.10, XEP-0077 3.2);
  ///   `not-acceptable` for several nicks; `jid-malformed` for an invalid one.
  static func read(_ query: Element) throws(StanzaError) -> Request {
    if query.first(remove) != nil {
      var children = query.children.makeIterator()
      _ = children.next()
      guard children.next() == nil else { throw StanzaError(.badRequest, "<remove/> stands alone") }
      return .remove
    }
    guard let form = try query.payload(DataForm.self) else {
      throw StanzaError(.badRequest, "a registration is a form")
    }
    switch form.kind {
    case .cancel: return .cancel
    case .form, .result: throw StanzaError(.badRequest, "the form is neither submitted nor cancelled")
    case .submit: break
    }
    if let type = form.formType, type != "\(NS.mucRegister)" {
      throw StanzaError(.badRequest, "the form is no registration with a room")
    }
    guard let nick = try form.single(nick), !nick.isEmpty else {
      throw StanzaError(.badRequest, "the field '\(Self.nick)' is missing")
    }
    return .register(nick: try RoomNick.read(nick))
  }
}
