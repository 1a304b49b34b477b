/// What a user has begun to write in a dialog and not sent: their own, the same in all their clients.
public struct DialogDraft: Hashable, Sendable {
  /// At most `Limits.textCharactersMax` characters.
  public var text: String
  /// The message that it will answer.
  public var replyTo: Position?
  public var updatedAt: Timestamp
  /// Of the entry that tells of it.
  public var position: Position

  public init(text: String, replyTo: Position? = nil, updatedAt: Timestamp, position: Position) {
    self.text = text
    self.replyTo = replyTo
    self.updatedAt = updatedAt
    self.position = position
  }
}
