import Dialogs
import XMLStream
import XMPP

/// Affiliations as XEP-0045 5.2 spells them.
extension Affiliation {
  /// The name of the affiliation. A watcher is a member, and is told apart by the role.
  var text: StaticString {
    switch self {
    case .outcast: "outcast"
    case .none: "none"
    case .watcher, .member: "member"
    case .admin: "admin"
    case .owner: "owner"
    }
  }

  /// Reads a name; `nil` if it is unknown. It never gives a watcher.
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

  /// Returns the attribute of an `<item/>`; `nil` if it is absent.
  /// - Throws: `bad-request` for an unknown affiliation.
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

  /// Reads a name; `nil` if it is unknown.
  init?(text: String) {
    switch text {
    case "none": self = .none
    case "visitor": self = .visitor
    case "participant": self = .participant
    case "moderator": self = .moderator
    default: return nil
    }
  }

  /// Returns the attribute of an `<item/>`; `nil` if it is absent.
  /// - Throws: `bad-request` for an unknown role.
  static func read(_ item: Element) throws(StanzaError) -> Role? {
    guard let text = item["role"] else { return nil }
    guard let value = Role(text: text) else {
      throw StanzaError(.badRequest, "the attribute 'role' of <item/> is no role")
    }
    return value
  }
}
