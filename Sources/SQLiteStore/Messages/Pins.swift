import Dialogs

/// The pinned messages of a dialog, and the earlier versions of messages.
extension Reader {
  func pins(of messages: MessageAccess) throws -> [Position] {
    try connection(.pins, messages.dialog).all { Position($0.int(0)) }.filter { $0 > messages.behind }
  }

  func edits(of access: EditAccess, after: Position, limit: Int, bytesMax: Int) throws -> [Entry] {
    try entries(connection(.edits, access.message, after, bound(limit)), bytesMax)
  }
}

extension Writer {
  func setPinned(_ at: Position?, message: Position, in dialog: DialogID) throws {
    if let at {
      try connection(.putPin, dialog, message, at).run()
    } else {
      try connection(.deletePin, dialog, message).run()
    }
  }
}

extension Query {
  fileprivate static let pins = Query(
    "SELECT position FROM pins WHERE dialog = ?1 ORDER BY pinned DESC LIMIT \(Limits.pinsMax)")
  fileprivate static let putPin = Query(
    "INSERT OR REPLACE INTO pins (dialog, position, pinned) VALUES (?1, ?2, ?3)")
  fileprivate static let deletePin = Query("DELETE FROM pins WHERE dialog = ?1 AND position = ?2")
  fileprivate static let edits = Query(
    """
    SELECT \(Reader.payloadColumns) FROM changes c CROSS JOIN payloads p ON p.position = c.position
    WHERE c.target = ?1 AND c.edit = 1 AND c.position > ?2 ORDER BY c.position LIMIT ?3
    """)
}
