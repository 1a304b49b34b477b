/// The decision that people of a room with one of these affiliations may be listed.
public struct MemberAccess: Hashable, Sendable {
  public let room: DialogID
  public let among: Set<Affiliation>

  private static let everybody = Set(Affiliation.allCases).subtracting([.none])
  fileprivate static let members = everybody.subtracting([.outcast])

  fileprivate init(_ room: DialogID, among: Set<Affiliation>) {
    self.room = room
    self.among = among
  }

  /// Returns the access of the server itself to everyone with an affiliation.
  public static func server(_ room: DialogID, _: ServerReason) -> MemberAccess {
    MemberAccess(room, among: everybody)
  }

  /// Returns the access of the rules to all rows of a room, also those of former members: a page looks at no more rows than it has.
  static func rows(of room: DialogID) -> MemberAccess { MemberAccess(room, among: Set(Affiliation.allCases)) }

  /// Returns the access to those of them with one of `affiliations`.
  public func only(_ affiliations: Set<Affiliation>) -> MemberAccess {
    MemberAccess(room, among: among.intersection(affiliations))
  }
}

extension RoomAccess {
  /// The access to the owners, for a user who may know of the room; otherwise `nil`.
  public var owners: MemberAccess? { room?.owners }
}

extension RoomView {
  public var owners: MemberAccess { room.owners }
}

extension Room {
  fileprivate var owners: MemberAccess { MemberAccess(id, among: [.owner]) }
}

extension ReadableRoom {
  /// The access to the owners by address, as contacts of the room (XEP-0045 6.4); `nil` if the user may not know
  /// addresses.
  public var contacts: MemberAccess? { member != nil && showsPeople ? room.owners : nil }

  /// The access to all members; admins also see who is banned. Where `showsPeople` is false they are named by occupant
  /// ids and nicks.
  public var members: MemberAccess {
    let members = MemberAccess.members
    return MemberAccess(
      room.id, among: member?.affiliation.seesOutcasts == true ? members.union([.outcast]) : members)
  }

  /// Returns the access to the list of one affiliation by address (XEP-0045 9.5, 9.8, 10.5, 10.8); `nil` if the user
  /// may not read it. In a semi-anonymous room only owners may list owners and admins.
  public func list(_ affiliation: Affiliation) -> MemberAccess? {
    let own = member?.affiliation ?? .none
    let among: Set<Affiliation> = affiliation == .member ? [.member, .watcher] : [affiliation]
    let isTheirs =
      affiliation >= .admin && !room.settings.showsAddresses
      ? own == .owner : room.settings.readable(by: own, isThere: role > .none).isSuperset(of: among)
    return isTheirs ? MemberAccess(room.id, among: among) : nil
  }
}

extension StoreReader {
  /// Returns a user's affiliation with a room as far as the viewer may know it; one's own is always known.
  public func affiliation(of user: UserID, in room: DialogID, for viewer: Party) throws -> Affiliation {
    let access =
      user == viewer.id ? .server(room, .rules) : try access(to: room, for: viewer).readable?.members
    return try access.flatMap { try member(user, of: $0) }?.affiliation ?? .none
  }
}
