/// What a message said before.
public protocol EditReader {
  /// The corrections of a message behind a position, ascending. Of what was taken back there are none.
  func edits(of message: Position, after: Position, limit: Int) throws -> [Entry]
}
