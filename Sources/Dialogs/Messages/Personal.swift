// Changes of messages for one user alone. Theory:
//
// Deleting a message for oneself is a row, clearing a dialog one value in the user's row of it: the log is unchanged,
// as it belongs to everyone. Everything that returns messages to one user (lists, search, the XMPP archive, replays)
// leaves out the hidden ones; live events of them are dropped before they are sent. Writing a message that no one has
// hidden costs nothing: none of this is read.
//
// The user's sessions learn of it by an entry in the user's `self` dialog, in order with everything else.

public enum PersonalIntent: Hashable, Sendable {
  /// Deletes a message for the author alone.
  case hide(PublicID)
  /// Deletes all current messages of the dialog; `leaves` also removes the dialog from the list until its next message.
  case clear(leaves: Bool)
  case star(PublicID, Bool)
  /// Reports a message to the operators; `reason` is a URN, as in a `Report`. `Receipt.isRepeat` tells that it was
  /// reported before.
  case flag(PublicID, reason: String, text: String)
}

/// A user's personal change, as an entry.
public struct PersonalChange: Hashable, Sendable {
  public enum Change: Hashable, Sendable {
    case hidden
    /// The dialog was cleared up to `target`; `.zero` if it was empty.
    case cleared(leaves: Bool)
    case starred(Bool)
  }
  public let change: Change
  public let dialog: DialogID
  /// The position of the message.
  public let target: Position
  public init(_ change: Change, in dialog: DialogID, target: Position) {
    self.change = change
    self.dialog = dialog
    self.target = target
  }
}

public struct Star: Hashable, Sendable {
  public let dialog: DialogID
  public let message: Position
  public init(dialog: DialogID, message: Position) {
    self.dialog = dialog
    self.message = message
  }
}

public protocol PersonalReader {
  /// Returns whether the user has deleted the message for themselves.
  func isHidden(_ message: Position, in dialog: DialogID, for user: UserID) throws -> Bool
  /// Returns whether the user has deleted any message for themselves.
  func hasHidden(_ user: UserID) throws -> Bool
  /// Returns the users who have deleted the message for themselves.
  func hidden(from message: Position, in dialog: DialogID) throws -> [UserID]
  /// Returns how many messages the user has deleted one by one, in all dialogs.
  func hiddenCount(of user: UserID) throws -> Int
  /// Returns how many of these, in a dialog behind a position, counted as unread (`Mark.hidden`).
  func hiddenCount(of user: UserID, in dialog: DialogID, after: Position) throws -> Int64
  /// Returns whether a report of the user names the message.
  func hasFlagged(_ message: PublicID, by user: UserID, in realm: RealmID) throws -> Bool
}

public protocol PersonalWriter {
  /// Hides a message for a user.
  ///
  /// - Parameter counts: whether it counted as unread for the user.
  func hide(_ message: Position, in dialog: DialogID, for user: UserID, counts: Bool) throws
  /// Hides everything up to a position; `leaves` also removes the dialog from lists until something is shown behind it.
  func clear(_ dialog: DialogID, upTo: Position, leaves: Bool, for user: UserID) throws
  /// Removes the user's mention by a hidden message, which counts no more.
  func removeMention(of user: UserID, by message: Position, in dialog: DialogID) throws
}

/// A star under its user.
struct StarRow {
  let user: UserID
  let star: Star
}

extension StarRow: Record {
  enum Field: String, CaseIterable, Sendable {
    case user, position, dialog
  }
  static let kind = "stars"
  static let key: [Field] = [.user, .position]
  var fields: [FieldValue] {
    [user.field, star.message.field, star.dialog.field]
  }
  init(_ fields: inout FieldReader) throws {
    user = try fields.next()
    let message: Position = try fields.next()
    star = try Star(dialog: fields.next(), message: message)
  }
}

extension RecordReader {
  /// Returns the user's stars, those of the newest messages first.
  public func stars(of user: UserID, before: Position, limit: Int) throws -> [Star] {
    try records(StarRow.self, .equal(.user, user), .below(.position, before), isDescending: true, limit: limit)
      .map(\.star)
  }
  public func starCount(of user: UserID) throws -> Int { try count(StarRow.self, .equal(.user, user)) }
  public func isStarred(_ message: Position, by user: UserID) throws -> Bool {
    try count(StarRow.self, .equal(.user, user), .equal(.position, message)) > 0
  }
}

extension RecordWriter {
  public func setStar(_ isStarred: Bool, _ message: Position, in dialog: DialogID, for user: UserID) throws {
    if isStarred {
      try put(StarRow(user: user, star: Star(dialog: dialog, message: message)))
    } else {
      try remove(StarRow.self, .equal(.user, user), .equal(.position, message))
    }
  }
}
