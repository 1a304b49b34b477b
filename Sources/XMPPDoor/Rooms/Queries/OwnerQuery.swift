import Addresses
import XMLStream
import XMPP

/// A request that only owners may make of a room (XEP-0045 10.1, 10.2, 10.9, 19.4).
enum OwnerQuery: Equatable, Sendable {
  /// Requests the configuration form.
  case form
  /// Submits the configuration; an empty form accepts the present one (10.1.2).
  case submit(DataForm)
  /// Changes nothing; a room that is still being set up is abandoned (10.1.3).
  case cancel
  case destroy(Destruction)

  /// The destruction of a room (10.9).
  struct Destruction: Hashable, Sendable {
    /// The room to go to instead.
    var alternate: BareJID?
    /// The password of that room.
    var password: String?
    var reason: String?
  }

  /// Reads an IQ of type `get`.
  /// - Throws: `bad-request` for a query with content: lists are requested by `muc#admin`.
  init(get query: Element) throws(StanzaError) {
    guard query.children.isEmpty else { throw StanzaError(.badRequest, "a request for the form is empty") }
    self = .form
  }

  /// Reads an IQ of type `set`.
  /// - Throws: `bad-request` unless it has one child, a form that is submitted or cancelled or `<destroy/>`;
  ///   `jid-malformed` for an invalid alternate address.
  init(set query: Element) throws(StanzaError) {
    var children = query.children.makeIterator()
    guard let child = children.next(), children.next() == nil else {
      throw StanzaError(.badRequest, "<query/> has one child")
    }
    if child.is(.dataForm) {
      let form = try DataForm(child)
      switch form.kind {
      case .submit: self = .submit(form)
      case .cancel: self = .cancel
      case .form, .result: throw StanzaError(.badRequest, "the form is neither submitted nor cancelled")
      }
    } else if child.is(.mucOwnerDestroy) {
      self = .destroy(
        Destruction(
          alternate: try child.jid("jid")?.bare, password: Self.password(child),
          reason: RoomReason.read(.mucOwnerReason, of: child)))
    } else {
      throw StanzaError(.badRequest, "<query/> holds neither a form nor <destroy/>")
    }
  }

  private static func password(_ destroy: Element) -> String? {
    guard let password = destroy.first(.mucOwnerPassword)?.text, !password.isEmpty else { return nil }
    return password
  }
}
