import Addresses
import Basics
import Dialogs

/// A group or public dialog in the operators' view.
package struct DialogRow: Codable, Hashable, Sendable {
  /// The address that XMPP clients join.
  package let jid: String
  /// The dialog's id for apps.
  package let id: String
  package let name: String?
  /// `group` or `public`.
  package let type: String
  /// Whether the dialog is listed for all users.
  package let listed: Bool
  package let members: Int
  package let createdAt: String

  init(_ room: Room, in context: AdminContext) {
    jid = room.address.description
    id = context.parley.dialogID(room.id, in: room.name.realm).description
    name = room.settings.name
    type = room.settings.isMembersOnly ? "group" : "public"
    listed = room.settings.isListed
    members = room.memberCount
    createdAt = room.createdAt.description
  }
}

/// A member of a dialog, or a banned user, in the operators' view.
package struct DialogMemberRow: Codable, Hashable, Sendable {
  package let jid: String
  /// A `DialogRole`; `none` for a user who has just been removed.
  package let role: String
  package let nick: String?
  /// The time of the join; nil for banned users.
  package let since: String?

  init(_ member: Member) {
    jid = member.party.address.description
    role = DialogRole(member.affiliation)?.rawValue ?? "none"
    nick = member.nick
    since = member.affiliation.isMember ? member.joinedAt.description : nil
  }
}

/// The names of roles in commands, tables and JSON.
package enum DialogRole: String, Codable, Hashable, Sendable, CaseIterable {
  case owner, admin, member, watcher, banned

  /// Creates the role; nil for no affiliation.
  init?(_ affiliation: Affiliation) {
    switch affiliation {
    case .owner: self = .owner
    case .admin: self = .admin
    case .member: self = .member
    case .watcher: self = .watcher
    case .outcast: self = .banned
    case .none: return nil
    }
  }

  var affiliation: Affiliation {
    switch self {
    case .owner: .owner
    case .admin: .admin
    case .member: .member
    case .watcher: .watcher
    case .banned: .outcast
    }
  }
}

extension AdminContext {
  /// Returns a dialog that is not deleted, by its address, by the localpart of an address of the first domain, or by
  /// its id for apps.
  func dialog(_ text: String) async throws(Problem) -> Room {
    let parley = parley
    var address: BareJID?
    if text.contains("@") {
      address = try Self.dialogAddress(text)
      if let address, realm == nil, parley.realm(rooms: address.domain) == nil {
        throw Problem(.foreign, "domain-not-served", "\(address.domain) has no dialogs here.", field: "dialog")
      }
    } else if let realm = realm ?? parley.realms.first {
      address = try? BareJID(local: text, domain: realm.rooms)
    }
    let room = try await parley.read { [address] reader -> Room? in
      if let id = PublicID(text) {
        for realm in parley.realms {
          guard let number = parley.dialog(of: id, in: realm.id) else { continue }
          if let room = try reader.room(number), room.name.realm == realm.id { return room }
        }
      }
      return try address.flatMap { try reader.room(at: $0) }
    }
    guard let room, !room.isDestroyed, realm.map({ $0.id == room.name.realm }) ?? true else {
      throw Problem(.missing, "dialog-unknown", "There is no dialog \(Line.safe(text)).", field: "dialog")
    }
    return room
  }

  /// Parses an address that has a localpart.
  static func dialogAddress(_ text: String) throws(Problem) -> BareJID {
    let address: BareJID
    do { address = try BareJID(text) } catch {
      throw Problem(
        .malformed, "dialog-malformed", "\(Line.safe(text)) is not the address of a dialog: \(error).", field: "dialog")
    }
    guard address.local != nil else {
      throw Problem(.malformed, "dialog-malformed", "\(address) has no name before the @.", field: "dialog")
    }
    return address
  }

  /// Returns the owner in whose name an operator's changes are made: every change has an author, and the owner may make
  /// all of them.
  func owner(of room: Room) async throws(Problem) -> Party {
    let owner = try await parley.read {
      try $0.members(of: .server(room.id, .administration).only([.owner]), after: nil, limit: 1).first?.party
    }
    guard let owner else {
      throw Problem(
        .conflict, "dialog-ownerless", "\(room.address) has no owner in whose name this can be done.", field: "dialog")
    }
    return owner
  }

  /// Returns a user's membership or ban; nil if they have none.
  func member(_ user: User, of room: Room) async throws(Problem) -> Member? {
    let member = try await parley.read { try $0.member(user.id, of: .server(room.id, .administration)) }
    return member.flatMap { $0.affiliation == .none ? nil : $0 }
  }

  /// Changes a user's affiliation in the owner's name, and returns the result.
  func change(
    _ user: User, of room: Room, to affiliation: Affiliation, nick: String? = nil, reason: String?
  ) async throws(Problem) -> DialogMemberRow? {
    let draft = MemberDraft(
      address: user.address, affiliation: affiliation, nick: nick, reason: reason, keepsRoom: true)
    try await parley.post(.room(.members(.dialog(room.id), [draft])), by: owner(of: room), isFromBackend: true)
    return try await member(user, of: room).map(DialogMemberRow.init)
  }
}
