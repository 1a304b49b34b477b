import Dialogs
import XMLStream
import XMPP

/// The versions of a member list before and after a change (XEP-0463 5.2), as opaque strings.
struct MemberListVersion: Hashable, Sendable {
  /// The version before; `nil` if the whole list is sent, or none of it.
  var since: String?
  /// The version after.
  var until: String

  init(since: String? = nil, until: String) {
    self.since = since
    self.until = until
  }

  /// Creates opaque versions that are valid for this log only, as the versions of rosters are.
  init(since: Position?, until: Position, in room: RoomName, _ parley: Parley) {
    self.init(
      since: since.map { parley.cursor($0, in: room.realm) }, until: parley.cursor(until, in: room.realm))
  }

  /// Writes `<mav/>` into an open `<x xmlns='…muc#user'/>`.
  func write(into writer: inout ElementWriter) {
    writer.element(.mucAffiliations) { writer in
      writer.attribute("since", since)
      writer.attribute("until", until)
    }
  }
}

/// The member list that a client has kept (XEP-0463 5.1).
enum KnownMemberList: Hashable, Sendable {
  /// The client wants the whole list.
  case nothing
  case until(String)

  /// Reads the element; `nil` if the client does not keep the list.
  init?(_ join: Element) {
    guard let element = join.first(.mucAffiliations) else { return nil }
    // A string that is too long to be this server's counts as an unknown version: the whole list is sent.
    if let since = element["since"], !since.isEmpty, since.utf8.count <= XMPPLimits.resultSetAnchorBytesMax {
      self = .until(since)
    } else {
      self = .nothing
    }
  }

  /// Returns the request for the core; an unknown version requests the whole list.
  func request(in realm: RealmID, _ parley: Parley) -> MemberListRequest {
    guard case .until(let version) = self, let since = parley.position(ofCursor: version, in: realm) else {
      return .whole
    }
    return .since(since)
  }
}

/// A part of a member list in one message: a long one takes several, each of which leads from the version before it to
/// the next (XEP-0463 5.2.1).
struct MemberListPart: Hashable {
  let since: Position?
  let until: Position
  let members: [Member]

  /// Splits a list into parts.
  ///
  /// - Parameters:
  ///   - members: the members in the order of their versions.
  ///   - since: the client's version; `nil` if it has none.
  static func parts(
    of members: [Member], since: Position?, until: Position, itemsMax: Int = DoorLimits.memberListItemsMax
  ) -> [MemberListPart] {
    var parts: [MemberListPart] = []
    var known = since
    var rest = members[...]
    while rest.count > itemsMax {
      let version = rest[rest.startIndex + itemsMax - 1].version
      // A client that has a version has every member of that version.
      let part = rest.prefix { $0.version <= version }
      if part.count == rest.count { break }
      parts.append(MemberListPart(since: known, until: version, members: Array(part)))
      known = version
      rest = rest.dropFirst(part.count)
    }
    return parts + [MemberListPart(since: known, until: until, members: Array(rest))]
  }
}
