import Basics
import Dialogs

/// The log as hooks read it, and the outbox events.
extension Reader {
  func log(for _: ServerReason, after: Position, limit: Int) throws -> [Entry] {
    try connection(.logAfter, after, bound(limit)).all { try entry($0) }
  }

  func entry(at position: Position, for _: ServerReason) throws -> Entry? {
    try connection(.entryAt, position).first { try entry($0) }
  }

  func lastOutboxEvent() throws -> Int64 { try connection(.lastOutboxEvent).first { $0.int(0) } ?? 0 }
}

extension Writer {
  func removeOutboxEvents(in realm: RealmID, upTo id: Int64) throws {
    try connection(.deleteOutboxEvents, realm, id).run()
  }
}

extension Query {
  fileprivate static let logAfter = Query(
    "SELECT \(Reader.payloadColumns) FROM payloads p WHERE p.position > ?1 ORDER BY p.position LIMIT ?2")
  fileprivate static let entryAt = Query("SELECT \(Reader.payloadColumns) FROM payloads p WHERE p.position = ?1")

  /// The last id is read from the sequence, since the last row may have been deleted.
  fileprivate static let lastOutboxEvent = Query("SELECT seq FROM sqlite_sequence WHERE name = 'occurrences'")
  fileprivate static let deleteOutboxEvents = Query(
    """
    DELETE FROM occurrences WHERE realm = ?1 AND id <= ?2
      AND NOT EXISTS (SELECT 1 FROM hook_failures f WHERE f.occurrence = occurrences.id)
    """)
}
