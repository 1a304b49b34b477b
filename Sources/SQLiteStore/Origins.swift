import Dialogs
import GRDB

/// Which messages of a dialog have an id with a given hash: by it repeats are recognised, and what markers, corrections and
/// reactions name is found.
///
/// Theory. Everything else that a message writes goes to the end of something, so that the messages of one commit share pages.
/// A hash goes anywhere in its dialog's range: where dialogs are long, that is a page read and written for each message, into
/// the write-ahead log and again at the checkpoint, and was two fifths of all that was written. So new rows gather in a small
/// table of the same shape (`fresh_origins`), whose few pages every commit shares, and move on to `origins` in slices: a run of
/// neighbours, taken in turn, whose rows fall on the same pages there. A row is in exactly one of the two. For one hash those in
/// the small table are the newer ones, since a slice takes all of a hash.
struct OriginSlices {
  /// The next slice begins behind this key.
  fileprivate var dialog = Int64.min
  fileprivate var hash = Int64.min
  /// Rows in the small table, nearly: a commit that was rolled back makes it wrong until all slices have had their turn and the
  /// rows are counted anew.
  fileprivate var count: Int64?
  var freshMax = StoreLimits.freshOriginsMax
  var length = StoreLimits.originsSlice
}

extension Reader {
  func find(
    _ id: String, by author: UserID, in dialog: DialogID
  ) throws -> (position: Position, bodyHash: UInt64)? {
    arena.begin(id.utf8.count)
    guard let bytes = arena.place(id) else { return nil }
    let hash = try originHash(bytes, by: author)
    // Nearly every id is new: that is one statement, and no payload is looked at.
    let isKnown = try connection(.hasOrigin).bind(1, dialog.number).bind(2, hash).first { _ in true } ?? false
    guard isKnown else { return nil }
    return try find(.findFresh, bytes, hash, by: author, in: dialog)
      ?? find(.find, bytes, hash, by: author, in: dialog)
  }

  private func find(
    _ query: Query, _ id: UnsafeRawBufferPointer, _ hash: Int64, by author: UserID, in dialog: DialogID
  ) throws -> (position: Position, bodyHash: UInt64)? {
    try connection(query).bind(1, dialog.number).bind(2, hash).bind(3, author.number).bind(4, text: id)
      .first { (Position($0.int(0)), UInt64(bitPattern: $0.int(1))) }
  }

  /// Which of a dialog's origins an author's id is among. The salt keeps others
  /// from choosing ids that fall together.
  func originHash(_ id: UnsafeRawBufferPointer, by author: UserID) throws -> Int64 {
    var digest = try salt()
    withUnsafeBytes(of: author.number.littleEndian) { digest.combine($0) }
    digest.combine(id)
    return Int64(Int32(truncatingIfNeeded: Int64(bitPattern: digest.finish())))
  }
}

extension Writer {
  /// A message is found by the id that makes repeats recognisable and by its
  /// stanza's id, which is what markers name.
  func insertOrigins(_ entry: Entry, _ key: RepeatKey, stanzaID: String?) throws {
    try forEachOrigin(of: entry.author.id, key.id, stanzaID) { hash in
      try connection(.insertOrigin).bind(1, entry.dialog.number).bind(2, hash).bind(3, entry.position.number).run()
      try originAdded()
    }
  }

  /// Those of a message that goes.
  func removeOrigins(
    of author: UserID, _ id: String, stanzaID: String?, in dialog: DialogID, at position: Position
  ) throws {
    try forEachOrigin(of: author, id, stanzaID) { hash in
      for query in [Query.deleteFreshOrigin, .deleteOrigin] {
        try connection(query).bind(1, dialog.number).bind(2, hash).bind(3, position.number).run()
      }
    }
  }

  private func forEachOrigin(
    of author: UserID, _ id: String, _ other: String?, _ body: (Int64) throws -> Void
  ) throws {
    var id = id
    try body(try id.withUTF8 { try originHash(UnsafeRawBufferPointer($0), by: author) })
    guard var other, other != id else { return }
    try body(try other.withUTF8 { try originHash(UnsafeRawBufferPointer($0), by: author) })
  }

  private func originAdded() throws {
    let count = try slices.count ?? countFreshOrigins()
    slices.count = count + 1
    if count >= slices.freshMax { try moveOrigins() }
  }

  private func countFreshOrigins() throws -> Int64 {
    try connection(.countFreshOrigins).first { $0.int(0) } ?? 0
  }

  /// One slice goes to where it stays.
  private func moveOrigins() throws {
    let end = try connection(.endOfOrigins).bind(1, slices.dialog).bind(2, slices.hash)
      .bind(3, slices.length - 1).first { (dialog: $0.int(0), hash: $0.int(1)) }
    let (dialog, hash) = end ?? (.max, .max)
    for query in [Query.moveOrigins, .clearOrigins] {
      try connection(query).bind(1, slices.dialog).bind(2, slices.hash).bind(3, dialog).bind(4, hash).run()
    }
    if let end {
      (slices.dialog, slices.hash) = end
      slices.count = slices.count.map { max(0, $0 - slices.length) }
    } else {
      // The first slice has its turn again.
      (slices.dialog, slices.hash) = (.min, .min)
      slices.count = try countFreshOrigins()
    }
  }
}

extension Query {
  private static func find(in table: String) -> Query {
    Query(
      """
      SELECT p.position, p.key_hash FROM (
        SELECT position FROM \(table) WHERE dialog = ?1 AND hash = ?2
        ORDER BY position DESC LIMIT \(StoreLimits.sameHashMax)
      ) o CROSS JOIN payloads p ON p.position = o.position
      WHERE p.author = ?3 AND (p.stanza_id = ?4 OR p.key_id = ?4) ORDER BY o.position DESC LIMIT 1
      """)
  }
  fileprivate static let hasOrigin = Query(
    """
    SELECT 1 FROM fresh_origins WHERE dialog = ?1 AND hash = ?2
    UNION ALL SELECT 1 FROM origins WHERE dialog = ?1 AND hash = ?2 LIMIT 1
    """)
  fileprivate static let findFresh = find(in: "fresh_origins")
  fileprivate static let find = find(in: "origins")
  /// "Or ignore": both ids of one message may have the same hash.
  fileprivate static let insertOrigin = Query(
    "INSERT OR IGNORE INTO fresh_origins (dialog, hash, position) VALUES (?1, ?2, ?3)")
  fileprivate static let deleteFreshOrigin = Query(
    "DELETE FROM fresh_origins WHERE dialog = ?1 AND hash = ?2 AND position = ?3")
  fileprivate static let deleteOrigin = Query(
    "DELETE FROM origins WHERE dialog = ?1 AND hash = ?2 AND position = ?3")
  fileprivate static let countFreshOrigins = Query("SELECT count(*) FROM fresh_origins")
  /// Of a slice: whole hashes only, so that a hash's newer rows never go before its older ones.
  fileprivate static let endOfOrigins = Query(
    """
    SELECT dialog, hash FROM fresh_origins WHERE (dialog, hash) > (?1, ?2)
    ORDER BY dialog, hash LIMIT 1 OFFSET ?3
    """)
  static let moveOrigins = Query(
    """
    INSERT OR IGNORE INTO origins (dialog, hash, position)
    SELECT dialog, hash, position FROM fresh_origins
    WHERE (dialog, hash) > (?1, ?2) AND (dialog, hash) <= (?3, ?4) ORDER BY dialog, hash, position
    """)
  static let clearOrigins = Query(
    "DELETE FROM fresh_origins WHERE (dialog, hash) > (?1, ?2) AND (dialog, hash) <= (?3, ?4)")
}
