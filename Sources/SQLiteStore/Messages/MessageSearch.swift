import Dialogs

/// The candidates of a search for messages, newest first.
extension Reader {
  func messages(
    with text: String, of log: LogAccess, in dialog: DialogID?, before: Position, limit: Int
  ) throws -> [MessageCandidate] {
    let words = try searchText()
    if let dialog {
      return try search(words.expression(text, anyOf: ["d\(dialog.number)"]), before: before, limit: limit)
    }
    var found = try search(words.expression(text, anyOf: ["u\(log.user.number)"]), before: before, limit: limit)
    let rooms = log.rooms.map(\.room).sorted()
    // Each scope is a look at the index; an expression of all of them would be as long as the user has rooms.
    for start in stride(from: 0, to: rooms.count, by: StoreLimits.searchScopesMax) {
      let scopes = rooms[start..<min(start + StoreLimits.searchScopesMax, rooms.count)].map { "d\($0.number)" }
      merge(try search(words.expression(text, anyOf: scopes), before: before, limit: limit), into: &found, limit)
    }
    return found
  }

  private func search(_ expression: String?, before: Position, limit: Int) throws -> [MessageCandidate] {
    // There is no word in the query, so no message matches.
    guard let expression else { return [] }
    return try connection(.searchCandidates, expression, before, bound(limit))
      .all { try Self.candidate($0) }
  }

  func messages(
    of kind: Content.Kind, of log: LogAccess, in dialog: DialogID?, before: Position, limit: Int
  ) throws -> [MessageCandidate] {
    if let dialog { return try media(kind, in: dialog, after: .zero, before: before, limit: limit) }
    // A look at each dialog for its newest; only those among the first `limit` of these can have any of the newest.
    let heads = try connection(.mediaHeads, log.user, kind.rawValue, before)
      .all { (dialog: DialogID($0.int(0)), newest: $0.intOrNil(1) ?? 0) }
      .filter { $0.newest > 0 }.sorted { $0.newest > $1.newest }
    var found: [MessageCandidate] = []
    for head in heads.prefix(limit) {
      let least = found.count < limit ? Position.zero : found[limit - 1].position
      if head.newest < least.number { break }
      merge(try media(kind, in: head.dialog, after: least, before: before, limit: limit), into: &found, limit)
    }
    return found
  }

  private func media(
    _ kind: Content.Kind, in dialog: DialogID, after: Position, before: Position, limit: Int
  ) throws -> [MessageCandidate] {
    try connection(.media, dialog, kind.rawValue, after, before, bound(limit)).all { try Self.candidate($0) }
  }

  /// Merges two lists, newest first; none is in both.
  private func merge(_ more: [MessageCandidate], into found: inout [MessageCandidate], _ limit: Int) {
    if more.isEmpty { return }
    found = Array((found + more).sorted { $0.position > $1.position }.prefix(limit))
  }

  private static func candidate(_ row: Prepared) throws(StoreFailure) -> MessageCandidate {
    guard let kind = Content.Kind(rawValue: UInt8(clamping: row.int(3))) else { throw FactCoding.damaged }
    return MessageCandidate(
      position: Position(row.int(0)), dialog: DialogID(row.int(1)), author: UserID(row.int(2)), kind: kind)
  }
}

extension Query {
  /// The index answers in the order of positions, so a page ends the search.
  fileprivate static let searchCandidates = Query(
    """
    SELECT p.position, p.dialog, p.author, p.content_kind
    FROM search i CROSS JOIN payloads p ON p.position = i.rowid
    WHERE i.search MATCH ?1 AND i.rowid < ?2 ORDER BY i.rowid DESC LIMIT ?3
    """)

  /// The condition as the index has it, so that the engine can use it. A list would make a table of its numbers for
  /// each message that is written, and a range of the column would be taken for the part to search.
  private static let isIndexed = "p.content_kind - 3 BETWEEN 0 AND 7"
  static let mediaHeads = Query(
    """
    SELECT m.dialog, (
      SELECT p.position FROM payloads p INDEXED BY payloads_media
      WHERE p.dialog = m.dialog AND p.content_kind = ?2 AND \(isIndexed) AND p.position < ?3
      ORDER BY p.position DESC LIMIT 1)
    FROM members m WHERE m.user = ?1
    """)
  static let media = Query(
    """
    SELECT p.position, p.dialog, p.author, p.content_kind FROM payloads p INDEXED BY payloads_media
    WHERE p.dialog = ?1 AND p.content_kind = ?2 AND \(isIndexed) AND p.position > ?3 AND p.position < ?4
    ORDER BY p.position DESC LIMIT ?5
    """)
}
