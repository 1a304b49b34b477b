import Dialogs
import XMLStream
import XMPP

/// Which member list a change leads from and to (XEP-0463 5.2), in opaque strings.
struct MemberListVersion: Hashable, Sendable {
  /// The list before; nil: all of it is said, or none of it.
  var since: String?
  /// The list afterwards.
  var until: String

  init(since: String? = nil, until: String) {
    self.since = since
    self.until = until
  }

  /// Opaque, and of this log only, as the versions of rosters are.
  init(since: Position?, until: Position, in room: RoomName, _ parley: Parley) {
    self.init(
      since: since.map { parley.cursor($0, in: room.realm) }, until: parley.cursor(until, in: room.realm))
  }

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

  /// What is no version of ours is as good as none.
  func request(in realm: RealmID, _ parley: Parley) -> MemberListRequest {
    guard case .until(let version) = self, let since = parley.position(ofCursor: version, in: realm) else {
      return .whole
    }
    return .since(since)
  }
}

/// What one message says of a member list: a long one takes several, each of which leads from the version before it to the
/// next (XEP-0463 5.2.1).
struct MemberListPart: Hashable {
  let since: Position?
  let until: Position
  let members: [Member]

  /// - Parameters:
  ///   - members: by version.
  ///   - since: what the client has; nil: nothing.
  static func parts(
    of members: [Member], since: Position?, until: Position, itemsMax: Int = DoorLimits.memberListItemsMax
  ) -> [MemberListPart] {
    var parts: [MemberListPart] = []
    var known = since
    var rest = members[...]
    while rest.count > itemsMax {
      let version = rest[rest.startIndex + itemsMax - 1].version
      // A client that has heard of a version has heard all of it.
      let part = rest.prefix { $0.version <= version }
      if part.count == rest.count { break }
      parts.append(MemberListPart(since: known, until: version, members: Array(part)))
      known = version
      rest = rest.dropFirst(part.count)
    }
    return parts + [MemberListPart(since: known, until: until, members: Array(rest))]
  }
}
