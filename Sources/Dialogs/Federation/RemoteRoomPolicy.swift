/// The users of other servers who may be in rooms of this server. Theory:
///
/// Two decisions come before the room's own ones (members, passwords, bans): the operator's, which is this policy, and
/// that of the room's owners (`RoomSettings.acceptsRemote`). They hold for whoever is *elsewhere*, not for users of
/// components, and wherever somebody would come to belong to a room: entering, being made a member or invited,
/// registering, and reading. What was allowed before stays in the list of members, and counts again when it is allowed
/// again.
public enum RemoteRoomPolicy: String, Hashable, Sendable, CaseIterable {
  /// All whom the room admits.
  case open
  /// Members of the room.
  case members
  /// Nobody.
  case off
}

extension FederationService {
  public var rooms: RemoteRoomPolicy { .open }
}

extension Judge {
  /// Checks that somebody may belong to a room if they are elsewhere.
  ///
  /// - Parameter affiliation: theirs, or the one that they are to get.
  func checkRemote(_ party: Party, _ affiliation: Affiliation, in room: Room) throws(Problem) {
    guard isElsewhere(party) else { return }
    switch hub.federation?.rooms ?? .open {
    case .off: throw Problem.roomsNotFederated
    case .members where !affiliation.isMember: throw Problem.roomMembersElsewhere
    case .members, .open: break
    }
    if !room.settings.acceptsRemote { throw Problem.roomNotFederated }
    try checkListed(party, affiliation)
  }

  /// Checks that an owner who is elsewhere does not close the room to themselves.
  func checkStays(_ owner: Party, _ settings: RoomSettings, was: RoomSettings) throws(Problem) {
    if isElsewhere(owner), was.acceptsRemote, !settings.acceptsRemote { throw Problem.roomOwnerElsewhere }
  }
}

extension Problem {
  /// The operator's decision.
  public static let roomsNotFederated = Problem(
    .forbidden, "rooms-not-federated", "Rooms of this server are for users of this server.")
  /// The operator's decision.
  public static let roomMembersElsewhere = Problem(
    .forbidden, "room-members-elsewhere",
    "Users of other servers enter this room as members only. Ask one of its admins to make you one.")
  /// The owners' decision.
  public static let roomNotFederated = Problem(
    .forbidden, "room-not-federated", "This room is for users of its own server.")
  public static let roomOwnerElsewhere = Problem(
    .conflict, "room-owner-elsewhere",
    "You are a user of another server yourself. Only an owner of this server can close the room to other servers.",
    field: "acceptsRemote")
}
