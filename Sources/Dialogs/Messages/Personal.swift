// What a user does with messages for themselves alone. Theory:
//
// Deleting a message for oneself is a row, clearing a dialog one value in the user's row of it: the log stays as it is, for it is
// everybody's. Whatever shows messages to one user (lists, search, the archive of XMPP, what is replayed) leaves out what is
// hidden from them; what is told live of it is dropped where it is told. A message that nobody has hidden costs nothing when it is
// written: nothing of this is looked at.
//
// The user's sessions learn of it by an entry in the user's own record, in order with everything else.

public enum PersonalIntent: Hashable, Sendable {
  /// Deletes a message for the author alone.
  case hide(PublicID)
  /// Deletes everything there is in the dialog so far; `leaves`: and takes the dialog from the list until something is said.
  case clear(leaves: Bool)
  case star(PublicID, Bool)
  /// Reports a message to the operators: `reason` is a URN, as of a `Report`. `Receipt.isRepeat`: it was already.
  case flag(PublicID, reason: String, text: String)
}

/// What a user did, as an entry of theirs.
public struct PersonalChange: Hashable, Sendable {
  public enum Change: Hashable, Sendable {
    case hidden
    /// Up to `target`; `.zero`: there was nothing.
    case cleared(leaves: Bool)
    case starred(Bool)
  }
  public let change: Change
  public let dialog: DialogID
  /// The message.
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
  /// Whether the user has deleted it for themselves.
  func isHidden(_ message: Position, in dialog: DialogID, for user: UserID) throws -> Bool
  /// Whether the user has deleted anything for themselves.
  func hasHidden(_ user: UserID) throws -> Bool
  /// Who has deleted it for themselves.
  func hidden(from message: Position, in dialog: DialogID) throws -> [UserID]
  /// How many messages the user has deleted one by one, anywhere.
  func hiddenCount(of user: UserID) throws -> Int
  /// How many of these in a dialog behind a position make it unread (`Mark.hidden`).
  func hiddenCount(of user: UserID, in dialog: DialogID, after: Position) throws -> Int64
  /// As `history(of:after:before:limit:ascending:)`, without what the user has deleted for themselves.
  func history(
    of dialog: DialogID, for user: UserID, after: Position, before: Position, limit: Int, ascending: Bool
  ) throws -> [Entry]
  /// The newest message first.
  func stars(of user: UserID, before: Position, limit: Int) throws -> [Star]
  func starCount(of user: UserID) throws -> Int
  func isStarred(_ message: Position, by user: UserID) throws -> Bool
  /// Whether a report of theirs names the message.
  func hasFlagged(_ message: PublicID, by user: UserID, in realm: RealmID) throws -> Bool
}

public protocol PersonalWriter {
  /// - Parameter counts: it makes the dialog unread for the user.
  func hide(_ message: Position, in dialog: DialogID, for user: UserID, counts: Bool) throws
  /// Everything up to a position; `leaves`: the dialog is in no list until something is shown behind it.
  func clear(_ dialog: DialogID, upTo: Position, leaves: Bool, for user: UserID) throws
  func setStar(_ isStarred: Bool, _ message: Position, in dialog: DialogID, for user: UserID) throws
  /// The user looks at this message no more: what mentions them there counts no more.
  func removeMention(of user: UserID, by message: Position, in dialog: DialogID) throws
}
