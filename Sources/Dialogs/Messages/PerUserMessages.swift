// Changes of messages for one user alone. Theory:
//
// Deleting a message for oneself is a row, clearing a dialog one value in the user's row of it: the log is unchanged,
// as it belongs to everyone. Everything that returns messages to one user (lists, search, the XMPP archive, replays)
// leaves out the hidden ones; live events of them are dropped before they are sent. Writing a message that no one has
// hidden costs nothing: none of this is read.
//
// The user's sessions learn of it by an entry in the user's `self` dialog, in order with everything else.

/// A request to change messages or a dialog for the author alone.
public enum PerUserMessageIntent: Hashable, Sendable {
  /// Deletes a message for the author alone.
  case hide(PublicID)
  /// Deletes all current messages of the dialog; `leaves` also removes the dialog from the list until its next message.
  case clear(leaves: Bool)
  case star(PublicID, Bool)
  /// Reports a message to the operators; `reason` is a URN, as in a `Report`. `Receipt.isRepeat` tells that it was
  /// reported before.
  case flag(PublicID, reason: String, text: String, consent: Report.Consent = [])
}

/// A change of messages or a dialog for one user alone, as an entry in the user's `self` dialog.
public struct PerUserMessageChange: Equatable, Sendable {
  public enum Change: Hashable, Sendable {
    case hidden
    /// The dialog was cleared up to `target`; `.zero` if it was empty.
    case cleared(leaves: Bool)
    case starred(Bool)
    /// A message to a user elsewhere begins to wait visibly, or has been taken after that (`MessageState.delivery`).
    case delivery
  }
  public let change: Change
  public let dialog: DialogID
  /// The position of the message.
  public let target: Position
  /// For `delivery`, the message with its new state; `nil` if the entry was read from the log: then the message must be
  /// read.
  public let outcome: Entry?
  public init(_ change: Change, in dialog: DialogID, target: Position, outcome: Entry? = nil) {
    self.change = change
    self.dialog = dialog
    self.target = target
    self.outcome = outcome
  }

  public static func == (one: Self, other: Self) -> Bool {
    (one.change, one.dialog, one.target) == (other.change, other.dialog, other.target)
  }
}

/// Reads from a store what users have hidden, cleared and reported.
public protocol PerUserMessageReader {
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

/// Stores what users hide and clear.
public protocol PerUserMessageWriter {
  /// Hides a message for a user.
  ///
  /// - Parameter counts: whether it counted as unread for the user.
  func hide(_ message: Position, in dialog: DialogID, for user: UserID, counts: Bool) throws
  /// Hides everything up to a position; `leaves` also removes the dialog from lists until something is shown behind it.
  func clear(_ dialog: DialogID, upTo: Position, leaves: Bool, for user: UserID) throws
  /// Removes the user's mention by a hidden message, which counts no more.
  func removeMention(of user: UserID, by message: Position, in dialog: DialogID) throws
}
