import Dialogs

/// The messages that a search covers: those of several owners in the index (`Writer.indexMessages`).
struct SearchScope {
  /// The engine's expression for these owners.
  let expression: String
  /// The expression for messages that are read one by one. Every row that it finds is a message of the scope, or of a superset that
  /// the reader checks, so a number of rows bounds the search.
  let readExpression: String
  let ownerCount: Int

  /// Creates the scope of the messages of any of these owners.
  init(anyOf owners: [String]) {
    expression = "(" + owners.map { Self.term($0) }.joined(separator: " OR ") + ")"
    readExpression = expression
    ownerCount = owners.count
  }

  /// Creates the scope of the messages that two owners have in common; the second one has fewer messages.
  init(_ owner: String, and narrower: String) {
    expression = Self.term(owner) + " AND " + Self.term(narrower)
    readExpression = Self.term(narrower)
    ownerCount = 2
  }

  private static func term(_ owner: String) -> String { "scope:\"\(owner)\"" }
}

/// The candidates of a search for messages, newest first.
extension Reader {
  func messages(
    with text: String, of log: LogAccess, in dialog: DialogID?, before: Position, limit: Int, looksMax: Int
  ) throws -> MessageCandidates {
    let phrases = try searchText().phrases(of: text)
    if let dialog {
      let scope = SearchScope(anyOf: ["d\(dialog.number)"])
      return try search(phrases, in: scope, before: before, limit: limit, looksMax: looksMax)
    }
    var scopes = [SearchScope(anyOf: ["u\(log.user.number)"])]
    let rooms = log.rooms.map(\.room).sorted()
    // Each scope is one look at the index. An expression of all scopes would grow with the user's rooms.
    for start in stride(from: 0, to: rooms.count, by: StoreLimits.searchScopesMax) {
      let group = rooms[start..<min(start + StoreLimits.searchScopesMax, rooms.count)]
      scopes.append(SearchScope(anyOf: group.map { "d\($0.number)" }))
    }
    var found = MessageCandidates()
    for scope in scopes {
      let more = try search(
        phrases, in: scope, before: before, limit: limit, looksMax: looksMax - found.looks, share: scopes.count)
      found.looks += more.looks
      // Candidates may be missing behind the first position at which one of the searches has ended.
      if let next = more.next { found.next = max(found.next ?? next, next) }
      merge(more.candidates, into: &found.candidates, limit)
    }
    if let next = found.next { found.candidates.removeAll { $0.position < next } }
    // Some may have been omitted, so the caller continues behind the last one.
    if found.candidates.count >= limit { found.next = nil }
    return found
  }

  /// Returns the messages with all phrases between two positions, in ascending or descending order. The index is searched first. If it
  /// finds none within its looks, messages are read one by one, which always makes progress, however rarely the words occur together.
  ///
  /// - Parameter share: The number of searches that share the bound of messages read one by one.
  func search(
    _ phrases: [[UInt64]], in scope: SearchScope, after: Position = .zero, before: Position, backwards: Bool = true,
    limit: Int, looksMax: Int, share: Int = 1
  ) throws -> MessageCandidates {
    var found = MessageCandidates()
    // Without a word in the query no message matches.
    if phrases.isEmpty { return found }
    // Finding the beginning of each word's and owner's list is fast and does not count.
    let free = (scope.ownerCount + phrases.reduce(0) { $0 + $1.count }) * StoreLimits.searchTermLooks
    let meter = SearchMeter(looksMax > 0 ? looksMax + free : 0)
    let expression = scope.expression + " AND " + SearchText.expression(phrases)
    do {
      try connection.metered(by: meter) {
        try connection(backwards ? .searchBackwards : .search, expression, after, before, bound(limit)).forEach { row in
          meter.rowCame()
          found.candidates.append(try Self.candidate(row))
        }
      }
      found.looks = max(0, meter.looks - free)
      return found
    } catch let failure as StoreFailure where failure.isInterruption {
      found.looks = max(0, meter.looks - free)
    }
    if found.candidates.count >= limit { return found }
    let last = found.candidates.last?.position
    let first = backwards ? after : last ?? after
    let end = backwards ? last ?? before : before
    let words = try searchText()
    let rowsMax = max(StoreLimits.searchReadMin, StoreLimits.searchReadMax / share)
    let bytesMax = StoreLimits.searchReadBytesMax / share
    var (rows, bytes, isMore) = (0, 0, false)
    let statement = try connection(
      backwards ? .readBackwards : .read, scope.readExpression, first, end, bound(rowsMax))
    try statement.forEachWhile { row in
      let (candidate, text) = (try Self.candidate(row), row.text(4))
      rows += 1
      bytes += text.utf8.count
      if words.contains(phrases, in: text) { found.candidates.append(candidate) }
      found.next = candidate.position
      isMore = rows == rowsMax || bytes >= bytesMax || found.candidates.count >= limit
      return !isMore
    }
    if !isMore { found.next = nil }
    return found
  }

  func messages(
    of kind: Content.Kind, of log: LogAccess, in dialog: DialogID?, before: Position, limit: Int
  ) throws -> [MessageCandidate] {
    if let dialog { return try media(kind, in: dialog, after: .zero, before: before, limit: limit) }
    // The newest entry of each dialog: only the dialogs with the first `limit` of these can have any of the newest entries.
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

  /// Merges two disjoint lists, newest first.
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
  /// Returns a query of the index. It returns rows in the order of positions, so that a limit ends it.
  private static func ofIndex(_ order: String, withText: Bool = false) -> Query {
    Query(
      """
      SELECT p.position, p.dialog, p.author, p.content_kind\(withText ? ", " + SearchSchema.text : "")
      FROM search i CROSS JOIN payloads p ON p.position = i.rowid
      \(withText ? "LEFT JOIN states s ON s.position = p.position" : "")
      WHERE i.search MATCH ?1 AND i.rowid > ?2 AND i.rowid < ?3 ORDER BY i.rowid \(order) LIMIT ?4
      """)
  }
  fileprivate static let search = ofIndex("ASC")
  fileprivate static let searchBackwards = ofIndex("DESC")
  fileprivate static let read = ofIndex("ASC", withText: true)
  fileprivate static let readBackwards = ofIndex("DESC", withText: true)

  /// The condition as in the index, so that the engine can use the index. With a list the engine would build a table of its
  /// numbers for each message that is written; a range of the column itself would be used as the key of the search.
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
