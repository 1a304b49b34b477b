import Dialogs
import XMLStream
import XMPP

/// Affiliations as XEP-0045 5.2 spells them.
extension Affiliation {
  /// A watcher is a member, whose role says the rest.
  var text: StaticString {
    switch self {
    case .outcast: "outcast"
    case .none: "none"
    case .watcher, .member: "member"
    case .admin: "admin"
    case .owner: "owner"
    }
  }

  /// Nil for what is none. Nobody becomes a watcher this way.
  init?(text: String) {
    switch text {
    case "outcast": self = .outcast
    case "none": self = .none
    case "member": self = .member
    case "admin": self = .admin
    case "owner": self = .owner
    default: return nil
    }
  }

  /// The attribute of an `<item/>`; nil when it is absent.
  /// - Throws: `bad-request` for what is none.
  static func read(_ item: Element) throws(StanzaError) -> Affiliation? {
    guard let text = item["affiliation"] else { return nil }
    guard let value = Affiliation(text: text) else {
      throw StanzaError(.badRequest, "the attribute 'affiliation' of <item/> is no affiliation")
    }
    return value
  }
}

/// Roles as XEP-0045 5.1 spells them.
extension Role {
  var text: StaticString {
    switch self {
    case .none: "none"
    case .visitor: "visitor"
    case .participant: "participant"
    case .moderator: "moderator"
    }
  }

  /// Nil for what is none.
  init?(text: String) {
    switch text {
    case "none": self = .none
    case "visitor": self = .visitor
    case "participant": self = .participant
    case "moderator": self = .moderator
    default: return nil
    }
  }

  /// The attribute of an `<item/>`; nil when it is absent.
  /// - Throws: `bad-request` for what is none.
  static func read(_ item: Element) throws(StanzaError) -> Role? {
    guard let text = item["role"] else { return nil }
    guard let value = Role(text: text) else {
      throw StanzaError(.badRequest, "the attribute 'role' of <item/> is no role")
    }
    return value
  }
}
