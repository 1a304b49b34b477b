/// An invitation to a room that may still be declined.
struct RoomInvitation {
  let room: DialogID
  let user: UserID
  let inviter: UserID
  /// The position of its entry, or that of a later invitation before which this one was to be removed and was kept.
  let position: Position
}

extension RoomInvitation: Record {
  enum Field: String, CaseIterable, Sendable {
    case room, user, inviter, position
  }
  static let kind = "invitations"
  static let key: [Field] = [.room, .user, .inviter]
  var fields: [FieldValue] {
    [room.field, user.field, inviter.field, position.field]
  }
  init(_ fields: inout FieldReader) throws {
    try self.init(room: fields.next(), user: fields.next(), inviter: fields.next(), position: fields.next())
  }
}

extension RecordReader {
  /// Returns whether there is an invitation to this room that may still be declined.
  public func isInvited(_ user: UserID, by inviter: UserID, to room: DialogID) throws -> Bool {
    try count(RoomInvitation.self, .equal(.room, room), .equal(.user, user), .equal(.inviter, inviter)) > 0
  }
}

extension StoreWriter {
  /// Stores an invitation, whose entry is at this position. A room keeps its newest `Limits.invitationsMax`, and one for
  /// each member who has any: otherwise a room to which somebody else has added a user would count as one of the user's own
  /// choice as soon as so many others are invited (`membershipCount`).
  public func putInvitation(of user: UserID, by inviter: UserID, to room: DialogID, at position: Position) throws {
    try put(RoomInvitation(room: room, user: user, inviter: inviter, position: position))
    // There may be as many more as members: they are not counted for each invitation.
    let most = Limits.invitationsMax
    guard try count(RoomInvitation.self, .equal(.room, room), limit: most + 1) > most else { return }
    let old = try records(
      RoomInvitation.self, .equal(.room, room), by: .position, limit: Limits.invitationsLookedAtMax)
    for invitation in old {
      guard try member(invitation.user, of: .server(room, .rules))?.affiliation.isMember == true,
        try count(RoomInvitation.self, .equal(.room, room), .equal(.user, invitation.user), limit: 2) == 1
      else {
        try remove(invitation)
        return
      }
      // It is not looked at again before all others.
      try put(
        RoomInvitation(room: room, user: invitation.user, inviter: invitation.inviter, position: position))
    }
  }
}

extension RecordWriter {
  /// Removes an invitation that was declined.
  public func removeInvitation(of user: UserID, by inviter: UserID, to room: DialogID) throws {
    try remove(RoomInvitation.self, .equal(.room, room), .equal(.user, user), .equal(.inviter, inviter))
  }
}
