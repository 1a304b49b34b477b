/// Reads the earlier versions of messages.
public protocol EditReader {
  /// Returns the corrections of a message behind a position, ascending. A retracted message has none. The list ends with the first
  /// one that is behind so many bytes of them (`Entry.byteCount`).
  func edits(of message: EditAccess, after: Position, limit: Int, bytesMax: Int) throws -> [Entry]
}

extension EditReader {
  public func edits(of message: EditAccess, after: Position, limit: Int) throws -> [Entry] {
    try edits(of: message, after: after, limit: limit, bytesMax: .max)
  }
}
