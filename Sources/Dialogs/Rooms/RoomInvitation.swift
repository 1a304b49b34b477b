/// An invitation to a room that may still be declined.
struct RoomInvitation {
  let room: DialogID
  let user: UserID
  let inviter: UserID
  /// The position of its entry.
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

extension RecordWriter {
  /// Stores an invitation, whose entry is at this position. A room keeps its newest `Limits.invitationsMax`.
  public func putInvitation(of user: UserID, by inviter: UserID, to room: DialogID, at position: Position) throws {
    try put(RoomInvitation(room: room, user: user, inviter: inviter, position: position))
    let surplus = try count(RoomInvitation.self, .equal(.room, room)) - Limits.invitationsMax
    guard surplus > 0 else { return }
    let old = try records(RoomInvitation.self, .equal(.room, room), by: .position, limit: surplus)
    for invitation in old { try remove(invitation) }
  }

  /// Removes an invitation that was declined.
  public func removeInvitation(of user: UserID, by inviter: UserID, to room: DialogID) throws {
    try remove(RoomInvitation.self, .equal(.room, room), .equal(.user, user), .equal(.inviter, inviter))
  }
}
