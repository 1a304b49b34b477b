import Dialogs

/// The messages of a dialog by the hash of their id, to recognise repeats, and to find the targets of markers, corrections
/// and reactions. `OriginGenerations` has the last ones, and `OriginFilter` recognises new ids.
extension Reader {
  /// Returns the hash of an author's id. The salt prevents others from choosing ids that collide.
  func originHash(_ id: UnsafeRawBufferPointer, by author: UserID) throws -> Int32 {
    var digest = try salt()
    withUnsafeBytes(of: author.number.littleEndian) { digest.combine($0) }
    digest.combine(id)
    return Int32(truncatingIfNeeded: Int64(bitPattern: digest.finish()))
  }
}

extension Writer {
  func find(
    _ id: String, by author: UserID, in dialog: DialogID
  ) throws -> (position: Position, bodyHash: UInt64)? {
    arena.begin(id.utf8.count)
    guard let text = arena.place(id) else { return nil }
    let hash = try originHash(text.bytes, by: author)
    func check(_ position: Int64) throws -> (position: Position, bodyHash: UInt64)? {
      try connection(.isNamed, position, author, text)
        .first { (Position(position), UInt64(bitPattern: $0.int(0))) }
    }
    if let found = try origins.first(dialog.number, hash, check) { return found }
    if filter.wanted != nil { try readFilter() }
    guard filter.mayHave(OriginFilter.Key(dialog: dialog.number, hash: hash)) else { return nil }
    let older = try connection(.originsOf, dialog, hash).all { $0.int(0) }
    for position in older { if let found = try check(position) { return found } }
    return nil
  }

  /// Adds the hashes of a message: of the id that identifies repeats, and of its stanza's id, which markers refer to.
  func insertOrigins(_ entry: Entry, _ key: RepeatKey, stanzaID: String?) throws {
    try forEachOrigin(of: entry.author.id, key.id, stanzaID) {
      origins.add(entry.dialog.number, $0, entry.position.number)
    }
  }

  /// Removes the hashes of a message that is erased.
  func removeOrigins(
    of author: UserID, _ id: String, stanzaID: String?, in dialog: DialogID, at position: Position
  ) throws {
    try forEachOrigin(of: author, id, stanzaID) { hash in
      origins.remove(dialog.number, hash, position.number)
      try connection(.deleteOrigin, dialog, hash, position).run()
    }
  }

  private func forEachOrigin(
    of author: UserID, _ id: String, _ other: String?, _ body: (Int32) throws -> Void
  ) throws {
    var id = id
    try body(try id.withUTF8 { try originHash(UnsafeRawBufferPointer($0), by: author) })
    guard var other, other != id else { return }
    try body(try other.withUTF8 { try originHash(UnsafeRawBufferPointer($0), by: author) })
  }

  /// Notes that the log has reached this position, and moves gathered hashes to the table, a slice at a time.
  func moveOrigins(_ position: Position) throws {
    origins.passed(position.number)
    guard let slice = origins.next() else { return }
    for row in slice.rows {
      try connection(.insertOrigin, row.dialog, row.hash, row.position).run()
      filter.add(OriginFilter.Key(dialog: row.dialog, hash: row.hash))
    }
    if let end = slice.end { try connection(.setOriginsEnd, end).run() }
  }

  /// Reads a few more rows of the table into the filter.
  private func readFilter() throws {
    guard let after = filter.wanted else { return }
    let rows = StoreLimits.filterRows
    let keys = try connection(.originsBehind, after.dialog, after.hash, rows)
      .all { OriginFilter.Key(dialog: $0.int(0), hash: Int32(truncatingIfNeeded: $0.int(1))) }
    filter.read(keys, isLast: keys.count < rows)
  }

  /// Returns the position up to which the table is complete.
  func originsEnd() throws -> Int64 { try connection(.originsEnd).first { $0.int(0) } ?? 0 }

  /// Returns the hashes that the table lacks, from the messages themselves.
  func loadOrigins(behind end: Int64) throws -> OriginGenerations {
    var origins = OriginGenerations(start: end, span: freshSpan, slice: max(1, freshSpan / StoreLimits.freshSlices))
    try connection(.namedBehind, end).forEach { row in
      let position = row.int(0)
      origins.passed(position)
      guard !row.isNull(5), let id = row.textOrNil(4) ?? row.textOrNil(3) else { return }
      try forEachOrigin(of: UserID(row.int(2)), id, row.textOrNil(3)) { origins.add(row.int(1), $0, position) }
    }
    origins.settle()
    return origins
  }
}

extension Query {
  fileprivate static let isNamed = Query(
    "SELECT key_hash FROM payloads WHERE position = ?1 AND author = ?2 AND (stanza_id = ?3 OR key_id = ?3)")
  static let originsOf = Query(
    """
    SELECT position FROM origins WHERE dialog = ?1 AND hash = ?2
    ORDER BY position DESC LIMIT \(StoreLimits.sameHashMax)
    """)
  /// A page may end within the rows of one hash, since one of them is enough for the filter.
  static let originsBehind = Query(
    "SELECT dialog, hash FROM origins WHERE (dialog, hash) > (?1, ?2) ORDER BY dialog, hash LIMIT ?3")
  /// "Or ignore": both ids of one message may have the same hash, and a slice may have been written before the server
  /// was killed.
  fileprivate static let insertOrigin = Query(
    "INSERT OR IGNORE INTO origins (dialog, hash, position) VALUES (?1, ?2, ?3)")
  fileprivate static let deleteOrigin = Query(
    "DELETE FROM origins WHERE dialog = ?1 AND hash = ?2 AND position = ?3")
  fileprivate static let originsEnd = Query("SELECT origins FROM log")
  fileprivate static let setOriginsEnd = Query("UPDATE log SET origins = ?1")
  fileprivate static let namedBehind = Query(
    "SELECT position, dialog, author, stanza_id, key_id, key_hash FROM payloads WHERE position > ?1 ORDER BY position")
}
