import XMLStream
import XMPP

/// Which member list a change leads from and to (XEP-0463 5.2), in opaque strings.
struct MemberListVersion: Hashable, Sendable {
  /// The list before; nil: all of it is said, or none of it.
  var since: String?
  /// The list afterwards.
  var until: String

  /// Writes `<mav/>` into an open `<x xmlns='…muc#user'/>`.
  func write(into writer: inout ElementWriter) {
    writer.open(.mucAffiliations)
    writer.attribute("since", since)
    writer.attribute("until", until)
    writer.close()
  }
}

/// The member list that a client has kept (XEP-0463 5.1).
enum KnownMemberList: Hashable, Sendable {
  /// It wants all of it.
  case nothing
  case until(String)

  /// Nil: the client does not keep the list.
  init?(_ join: Element) {
    guard let element = join.first(.mucAffiliations) else { return nil }
    // What is too long to be ours is a version we do not know: then all is said.
    if let since = element["since"], !since.isEmpty, since.utf8.count <= XMPPLimits.resultSetAnchorBytesMax {
      self = .until(since)
    } else {
      self = .nothing
    }
  }
}
