import Dialogs

/// One page of what a user's clients follow, read at one moment: what concerns the
/// user, and what is said in the groups that they are in.
struct FeedPage: Sendable {
  /// Ascending.
  let entries: [Entry]
  /// Dialogs as they are now, where an entry is about one: entries that come live
  /// bring their own.
  let rooms: [DialogID: Room]

  /// Blocks: for `Parley.read`.
  static func read(
    _ user: UserID, after: Position, limit: Int, _ reader: any StoreReader
  ) throws -> FeedPage {
    let memberships = try reader.memberships(of: user).map { (room: $0.room.dialog, since: $0.since) }
    let entries = try reader.feed(of: user, rooms: memberships, after: after, limit: limit)
    var rooms: [DialogID: Room] = [:]
    for entry in entries {
      let wanted: DialogID
      switch entry.fact {
      case .room(let change) where change.room == nil: wanted = entry.dialog
      case .invitation(let invitation) where invitation.name == nil: wanted = invitation.room.dialog
      case .message, .marker, .contact, .blocks, .profile, .dialogOpened, .room, .invitation: continue
      }
      if rooms[wanted] == nil { rooms[wanted] = try reader.room(wanted) }
    }
    return FeedPage(entries: entries, rooms: rooms)
  }
}
