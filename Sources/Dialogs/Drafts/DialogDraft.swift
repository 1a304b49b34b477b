public import Basics

/// A user's draft of a message in a dialog, private and shared by all their clients.
public struct DialogDraft: Hashable, Sendable {
  /// The text, at most `Limits.textCharactersMax` characters.
  public var text: String
  /// The message to reply to.
  public var replyTo: Position?
  public var updatedAt: Timestamp
  /// The position of the entry that announces the draft.
  public var position: Position

  public init(text: String, replyTo: Position? = nil, updatedAt: Timestamp, position: Position) {
    self.text = text
    self.replyTo = replyTo
    self.updatedAt = updatedAt
    self.position = position
  }
}
