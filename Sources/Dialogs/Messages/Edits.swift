/// Reads the earlier versions of messages.
public protocol EditReader {
  /// Returns the corrections of a message behind a position, ascending. A retracted message has none.
  func edits(of message: EditAccess, after: Position, limit: Int) throws -> [Entry]
}
