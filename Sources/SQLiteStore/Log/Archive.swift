import Basics
import Dialogs

/// The archives (XEP-0313). A user's is their feed, one dialog, or the whispers of one room, as far as archived for
/// that user; a room's is its archived entries.
extension Reader {
  func archive(of log: LogAccess, _ query: ArchiveQuery) throws -> ArchivePage {
    let user = log.user
    if let positions = query.positions {
      let statement = query.includesHidden ? Query.archivedOrHidden : .archived
      return try exactly(positions) { try connection(statement, user, $0.number) }
    }
    // A resource of the other side only makes sense with that side.
    let resource = query.with == nil ? nil : query.withResource
    if let text = query.text {
      var scopes = ["u\(user.number)"]
      if let dialog = query.with {
        switch try part(of: user, in: dialog) {
        case nil: return ArchivePage(entries: [], complete: true)
        case .archived?: scopes.append("d\(dialog.number)")
        case .whispers?: scopes.append("w\(dialog.number)")
        }
      }
      // There is no word in the query, so no message matches.
      guard let expression = try searchText().expression(text, scopes: scopes) else {
        return ArchivePage(entries: [], complete: true)
      }
      return try page(connection(query.backwards ? .searchBackwards : .search, user), query) {
        try $0.bind(resource, expression)
      }
    }
    guard let dialog = query.with else {
      return try page(connection(query.backwards ? .archiveBackwards : .archive, user), query) { try $0.bind(resource) }
    }
    switch try part(of: user, in: dialog) {
    case nil: return ArchivePage(entries: [], complete: true)
    case .archived(let flag)?:
      return try page(connection(query.backwards ? .dialogArchiveBackwards : .dialogArchive, user), query) {
        try $0.bind(resource, dialog, flag.rawValue)
      }
    case .whispers?:
      return try page(connection(query.backwards ? .whisperArchiveBackwards : .whisperArchive, user), query) {
        try $0.bind(resource, dialog)
      }
    }
  }

  func archive(of messages: MessageAccess, _ query: ArchiveQuery) throws -> ArchivePage {
    let (room, viewer) = (messages.dialog, messages.viewer)
    if let positions = query.positions {
      let isWhole = query.includesHidden
      return try exactly(isWhole ? positions : positions.filter { $0 > messages.behind }) {
        try connection(.archivedInRoom, room, $0.number, isWhole ? nil : viewer)
      }
    }
    var query = query
    query.after = max(query.after, messages.behind)
    if let text = query.text {
      guard let expression = try searchText().expression(text, scopes: ["d\(room.number)"]) else {
        return ArchivePage(entries: [], complete: true)
      }
      return try page(connection(query.backwards ? .roomSearchBackwards : .roomSearch, room), query) {
        try $0.bind(expression, viewer)
      }
    }
    return try page(connection(query.backwards ? .dialogArchiveBackwards : .dialogArchive, viewer), query) {
      try $0.bind(nil as String?, room, EntryFlags.firstArchived.rawValue)
    }
  }

  /// Returns a page. Bounds and limit are the next parameters of `statement`; `bindRest` binds those behind them.
  private func page(
    _ statement: Prepared, _ query: ArchiveQuery, _ bindRest: (Prepared) throws -> Prepared
  ) throws -> ArchivePage {
    var after = query.after
    var before = query.before
    if let start = query.start { after = max(after, try firstPosition(since: start).previous) }
    if let end = query.end { before = min(before, try firstPosition(since: end + .milliseconds(1))) }

    // One more than asked for shows whether anything follows.
    let limit = bound(query.limit)
    var entries = try entries(bindRest(statement.bind(after, before, limit + 1)), query.bytesMax)
    // So does the one that is behind the bound of bytes.
    let last = entries.last
    let isComplete =
      Int64(entries.count) <= limit && entries.byteCount - (last?.byteCount ?? 0) < query.bytesMax
    if !isComplete { entries.removeLast() }
    if query.backwards { entries.reverse() }
    return ArchivePage(entries: entries, complete: isComplete)
  }

  private func exactly(_ positions: [Position], _ find: (Position) throws -> Prepared) throws -> ArchivePage {
    let entries = try Set(positions).sorted().compactMap { position in
      try find(position).first { try entry($0) }
    }
    return ArchivePage(entries: entries, complete: true)
  }

  private enum Part {
    case archived(EntryFlags)
    /// The dialog is a room.
    case whispers
  }

  /// Returns the part of a dialog that is in a user's archive; `nil` if they are no member.
  private func part(of user: UserID, in dialog: DialogID) throws -> Part? {
    try connection(.members, dialog).first { row in
      if row.int(2) == Self.roomKind { return .whispers }
      if row.int(0) == user.number { return .archived(.firstArchived) }
      if row.int(1) == user.number { return .archived(.secondArchived) }
      return nil
    }
  }

  /// Returns the position where the entries of `time` and later begin. Time never decreases with position, so a binary
  /// search finds it; no index of times is kept.
  private func firstPosition(since time: Timestamp) throws -> Position {
    var low: Int64 = 1
    var high = try head().position.number + 1
    while low < high {
      let middle = low + (high - low) / 2
      let next = try connection(.nextPayload, middle).first { (position: $0.int(0), time: $0.int(1)) }
      if let next, next.time < time.milliseconds { low = next.position + 1 } else { high = middle }
    }
    return Position(low)
  }
}

extension Query {
  private static let payload = Reader.payloadColumns
  private static let ofResource = """
    (?5 IS NULL OR CASE WHEN p.author = ?1 THEN p.to_resource ELSE coalesce(p.nick, p.from_resource) END = ?5)
    """
  private static func archiveOfUser(_ order: String) -> Query {
    Query(
      """
      SELECT \(payload) FROM feed f CROSS JOIN payloads p ON p.position = f.position
      WHERE f.user = ?1 AND f.position > ?2 AND f.position < ?3
        AND f.traits & \(FeedRow.Traits.archived.rawValue) AND \(ofResource)
        AND \(isSeen(by: "?1", "f.position", in: "p.dialog"))
      ORDER BY f.position \(order) LIMIT ?4
      """)
  }
  private static func ofDialog(_ order: String) -> Query {
    Query(
      """
      SELECT \(payload) FROM entries e CROSS JOIN payloads p ON p.position = e.position
      WHERE e.dialog = ?6 AND e.position > ?2 AND e.position < ?3 AND e.flags & ?7 AND \(ofResource)
        AND \(isSeen(by: "?1", "e.position", in: "?6"))
      ORDER BY e.position \(order) LIMIT ?4
      """)
  }
  /// Returns a query that reads only the user's whispers in the room.
  private static func whispered(_ order: String) -> Query {
    func part(_ member: String, _ flag: EntryFlags) -> String {
      """
      SELECT e.position AS position FROM dialogs d CROSS JOIN entries e ON e.dialog = d.id
      WHERE d.kind = \(Dialog.Kind.whispered.rawValue) AND d.via = ?6 AND d.\(member) = ?1
        AND e.position > ?2 AND e.position < ?3 AND e.flags & \(flag.rawValue)
      """
    }
    return Query(
      """
      SELECT \(payload) FROM (
        \(part("first", .firstArchived)) UNION ALL \(part("second", .secondArchived))
      ) w CROSS JOIN payloads p ON p.position = w.position
      WHERE \(ofResource) AND \(isSeen(by: "?1", "w.position", in: "p.dialog"))
      ORDER BY w.position \(order) LIMIT ?4
      """)
  }
  /// The index answers in the order of positions, so a page ends the search.
  private static func searched(_ order: String) -> Query {
    Query(
      """
      SELECT \(payload) FROM search i CROSS JOIN feed f ON f.user = ?1 AND f.position = i.rowid
      CROSS JOIN payloads p ON p.position = i.rowid
      WHERE i.search MATCH ?6 AND i.rowid > ?2 AND i.rowid < ?3
        AND f.traits & \(FeedRow.Traits.archived.rawValue) AND \(ofResource)
        AND \(isSeen(by: "?1", "i.rowid", in: "p.dialog"))
      ORDER BY i.rowid \(order) LIMIT ?4
      """)
  }
  private static func searchedRoom(_ order: String) -> Query {
    Query(
      """
      SELECT \(payload) FROM search i CROSS JOIN entries e ON e.dialog = ?1 AND e.position = i.rowid
      CROSS JOIN payloads p ON p.position = i.rowid
      WHERE i.search MATCH ?5 AND i.rowid > ?2 AND i.rowid < ?3
        AND e.flags & \(EntryFlags.firstArchived.rawValue) AND \(isSeen(by: "?6", "i.rowid", in: "?1"))
      ORDER BY i.rowid \(order) LIMIT ?4
      """)
  }
  fileprivate static let search = searched("ASC")
  fileprivate static let searchBackwards = searched("DESC")
  fileprivate static let roomSearch = searchedRoom("ASC")
  fileprivate static let roomSearchBackwards = searchedRoom("DESC")
  fileprivate static let whisperArchive = whispered("ASC")
  fileprivate static let whisperArchiveBackwards = whispered("DESC")
  fileprivate static let archive = archiveOfUser("ASC")
  fileprivate static let archiveBackwards = archiveOfUser("DESC")
  fileprivate static let dialogArchive = ofDialog("ASC")
  fileprivate static let dialogArchiveBackwards = ofDialog("DESC")
  private static let oneArchived = """
    SELECT \(payload) FROM feed f CROSS JOIN payloads p ON p.position = f.position
    WHERE f.user = ?1 AND f.position = ?2 AND f.traits & \(FeedRow.Traits.archived.rawValue)
    """
  fileprivate static let archived = Query(oneArchived + " AND " + isSeen(by: "?1", "f.position", in: "p.dialog"))
  fileprivate static let archivedOrHidden = Query(oneArchived)
  fileprivate static let archivedInRoom = Query(
    """
    SELECT \(payload) FROM entries e CROSS JOIN payloads p ON p.position = e.position
    WHERE e.dialog = ?1 AND e.position = ?2 AND e.flags & \(EntryFlags.firstArchived.rawValue)
      AND \(isSeen(by: "?3", "e.position", in: "?1"))
    """)
  fileprivate static let members = Query("SELECT first, second, kind FROM dialogs WHERE id = ?1")
  fileprivate static let nextPayload = Query(
    "SELECT position, time FROM payloads WHERE position >= ?1 ORDER BY position LIMIT 1")
}
