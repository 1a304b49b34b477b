public import Basics

/// Reads what the retention of messages needs.
public protocol RetentionReader {
  /// Returns the dialogs of all kinds behind a number, ascending, with their oldest entries; or only those with an age of
  /// their own.
  func agingDialogs(after: DialogID, limit: Int, onlyOwn: Bool) throws -> [AgingDialog]
  /// Returns the members behind one of a dialog who want an age of their own (`DialogSettings.retentionDays`), by dialog
  /// and user.
  func agingMembers(after: (dialog: DialogID, user: UserID), limit: Int) throws -> [AgingMember]
  /// Returns the number of messages that `expire` would remove up to a position. One by a held user at which it would
  /// stop is not looked for.
  func expiring(in dialog: DialogID, through end: Position) throws -> Int
  /// Returns the position up to which the entries of a dialog are gone (`expire`).
  func expired(in messages: MessageAccess) throws -> Position
  /// Returns the last such position among a user's private dialogs, rooms, and whispers in these, or up to which entries
  /// are gone for the user alone (`age`).
  func expired(in log: LogAccess) throws -> Position
  /// Returns whether nothing of a dialog may go: it is held, or one of its users or members is (`Hold`). For whispers
  /// also if their room is held.
  func isHeld(_ dialog: DialogID) throws -> Bool
}

/// Removes messages by their age.
public protocol RetentionWriter {
  /// Removes the oldest entries of a dialog up to a position, with everything that belongs to them: payload, state,
  /// edits, reactions, retractions and pins (`Reference.changes`), in private dialogs markers, words of the search index,
  /// rows of feeds, mentions, stars, and references to files, of which those of the authors end at `endingFiles` if
  /// nothing else refers to them. What counted as unread counts no more. A held dialog is left as it is; in another room
  /// the entries before the first one that is a held user's, or changed by one, are removed. The last entry of a destroyed
  /// room stays.
  ///
  /// - Parameters:
  ///   - limit: the most entries, what changes others included.
  ///   - span: the time after which no further entry is begun.
  func expire(
    _ dialog: DialogID, through end: Position, limit: Int, within span: Duration, endingFiles: Timestamp?
  ) throws -> ExpiredPiece
  /// Hides from a member the entries of a dialog up to a position, as `clear` does. They count as read; what the member has
  /// displayed stays as it is.
  func age(_ dialog: DialogID, through end: Position, for user: UserID) throws
}

/// A dialog as retention sees it.
public struct AgingDialog: Hashable, Sendable {
  public let id: DialogID
  /// The realm of the room, or of one of the users.
  public let realm: RealmID
  /// Whether it is a room, or the whispers of two of its occupants.
  public let isOfRoom: Bool
  /// The room's own age of messages, in days (`RoomSettings.retentionDays`); of a private dialog the longest that its
  /// users want, if all of them want one (`DialogSettings.retentionDays`).
  public let days: Int?
  /// The first entry that is not gone; `nil` if there is none.
  public let oldest: Position?

  public init(id: DialogID, realm: RealmID, isOfRoom: Bool, days: Int? = nil, oldest: Position?) {
    self.days = days
    self.id = id
    self.realm = realm
    self.isOfRoom = isOfRoom
    self.oldest = oldest
  }
}

/// A member of a dialog who wants an age of their own.
public struct AgingMember: Hashable, Sendable {
  public let dialog: DialogID
  public let user: UserID
  public let days: Int
  /// The first entry that is gone neither for everybody nor for the member; `nil` if there is none.
  public let oldest: Position?

  public init(dialog: DialogID, user: UserID, days: Int, oldest: Position?) {
    self.dialog = dialog
    self.user = user
    self.days = days
    self.oldest = oldest
  }
}

/// The outcome of one piece of an expiry.
public struct ExpiredPiece: Hashable, Sendable {
  /// The removed entries that were shown as messages.
  public var messages = 0
  /// Whether there may be more to remove.
  public var isMore = false
  /// Whether a hold has stopped it.
  public var isHeld = false

  public init() {}
}
