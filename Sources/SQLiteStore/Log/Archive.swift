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
    var query = query
    let part: Part?
    if let dialog = query.with {
      part = try self.part(of: user, in: dialog)
      switch part {
      case nil: return ArchivePage(entries: [], complete: true)
      case .archived?: query.after = max(query.after, try cleared(dialog, by: user))
      case .whispers?:
        guard let range = try whispers(of: user, in: dialog) else { return ArchivePage(entries: [], complete: true) }
        query.after = max(query.after, range.lowerBound.previous)
        query.before = min(query.before, range.upperBound.next)
      }
    } else {
      part = nil
    }
    // A resource is only used together with the other side.
    let resource = query.with == nil ? nil : query.withResource
    let isBack = query.backwards
    if let text = query.text {
      let owner = "u\(user.number)"
      let scope =
        switch (part, query.with) {
        case (.archived?, let dialog?): SearchScope(owner, and: "d\(dialog.number)")
        case (.whispers?, let dialog?): SearchScope(owner, and: "w\(dialog.number)")
        case (nil, _), (_, nil): SearchScope(anyOf: [owner])
        }
      return try page(query, with: text, in: scope) { try connection(.archivedWith, user, $0, resource) }
    }
    if case .archived(let flag)? = part, let dialog = query.with {
      return try page(query) {
        try connection(isBack ? .passDialogBackwards : .passDialog, dialog, $0, $1, $2)
      } read: {
        try connection(isBack ? .dialogArchiveBackwards : .dialogArchive, user, $0, $1, $2)
          .bind(resource, dialog, flag.rawValue)
      }
    }
    return try page(query) {
      try connection(isBack ? .passFeedBackwards : .passFeed, user, $0, $1, $2)
    } read: {
      try connection(isBack ? .archiveBackwards : .archive, user, $0, $1, $2).bind(resource, query.with)
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
    if let viewer { query.after = max(query.after, try cleared(room, by: viewer)) }
    if let text = query.text {
      return try page(query, with: text, in: SearchScope(anyOf: ["d\(room.number)"])) {
        try connection(.archivedInRoom, room, $0, viewer)
      }
    }
    return try page(of: messages, .firstArchived, query)
  }

  func replay(of log: LogAccess, _ query: ArchiveQuery) throws -> ArchivePage { try page(of: log, .replay, query) }

  func unarchived(of log: LogAccess, _ query: ArchiveQuery) throws -> ArchivePage {
    try page(of: log, .unarchived, query)
  }

  /// Returns a page of those entries of a user's feed that a statement returns.
  private func page(of log: LogAccess, _ statement: Query, _ query: ArchiveQuery) throws -> ArchivePage {
    var own = ArchiveQuery(limit: query.limit)
    own.after = query.after
    own.before = query.before
    own.bytesMax = query.bytesMax
    own.looksMax = query.looksMax
    return try page(own) {
      try connection(.passFeed, log.user, $0, $1, $2)
    } read: {
      try connection(statement, log.user, $0, $1, $2)
    }
  }

  func history(of messages: MessageAccess, _ query: ArchiveQuery) throws -> ArchivePage {
    var own = ArchiveQuery(limit: query.limit)
    own.after = max(query.after, messages.behind)
    if let viewer = messages.viewer { own.after = max(own.after, try cleared(messages.dialog, by: viewer)) }
    own.before = query.before
    own.bytesMax = query.bytesMax
    own.looksMax = query.looksMax
    own.backwards = query.backwards
    return try page(of: messages, .shown, own)
  }

  /// Returns a page of those entries of a dialog or room that have a flag.
  private func page(of messages: MessageAccess, _ flag: EntryFlags, _ query: ArchiveQuery) throws -> ArchivePage {
    let (dialog, isBack) = (messages.dialog, query.backwards)
    return try page(query) {
      try connection(isBack ? .passDialogBackwards : .passDialog, dialog, $0, $1, $2)
    } read: {
      try connection(isBack ? .dialogArchiveBackwards : .dialogArchive, messages.viewer, $0, $1, $2)
        .bind(nil as String?, dialog, flag.rawValue)
    }
  }

  /// Returns a page. Any number of rows may not belong to it, so the range is read in pieces: the first has some more rows
  /// than the page has entries, each further one several times as many, and all together at most `ArchiveQuery.looksMax`.
  ///
  /// - Parameters:
  ///   - pass: skips so many rows between two positions, in the direction of the page, and returns the next one.
  ///   - read: returns the entries of the page between two positions, up to a limit.
  private func page(
    _ query: ArchiveQuery, pass: (Position, Position, Int64) throws -> Prepared,
    read: (Position, Position, Int64) throws -> Prepared
  ) throws -> ArchivePage {
    var (after, before) = try range(of: query)
    let limit = Int(bound(query.limit))
    var page = ArchivePage(entries: [], complete: false)
    var looks = max(1, query.looksMax)
    var piece = limit * 2 + StoreLimits.archivePieceRows
    while true {
      let rows = min(piece, looks)
      let end = try pass(after, before, Int64(rows - 1)).first { Position($0.int(0)) }
      let (first, last) = (after, before)
      if let end {
        if query.backwards { after = end.previous } else { before = end.next }
      }
      // One more entry than requested shows whether any follow.
      page.entries += try entries(
        read(after, before, Int64(limit + 1 - page.entries.count)), query.bytesMax - page.entries.byteCount)
      // So does an entry behind the bound of bytes.
      let bytes = page.entries.byteCount - (page.entries.last?.byteCount ?? 0)
      if page.entries.count > limit || !page.entries.isEmpty && bytes >= query.bytesMax {
        page.entries.removeLast()
        break
      }
      page.complete = end == nil
      looks -= rows
      guard let end else { break }
      if looks == 0 {
        page.next = end
        break
      }
      (after, before) = query.backwards ? (first, end) : (end, last)
      piece *= StoreLimits.archivePieceGrowth
    }
    if query.backwards { page.entries.reverse() }
    return page
  }

  /// Returns the positions that bound a query.
  private func range(of query: ArchiveQuery) throws -> (after: Position, before: Position) {
    var (after, before) = (query.after, query.before)
    if let start = query.start { after = max(after, try firstPosition(since: start).previous) }
    if let end = query.end { before = min(before, try firstPosition(since: end + .milliseconds(1))) }
    return (after, before)
  }

  /// Returns a page of the messages with these words: each candidate of the index is looked up in the archive.
  ///
  /// - Parameter find: finds the entry at a position; none if it is not in the archive.
  private func page(
    _ query: ArchiveQuery, with text: String, in scope: SearchScope, find: (Position) throws -> Prepared
  ) throws -> ArchivePage {
    let phrases = try searchText().phrases(of: text)
    var (after, before) = try range(of: query)
    let limit = Int(bound(query.limit))
    let looksMax = max(1, min(query.looksMax, Limits.searchLooksMax))
    var page = ArchivePage(entries: [], complete: false)
    var (looks, indexLooks, bytes, isFull) = (0, 0, 0, false)
    pages: while true {
      let batch = min(max(limit * 2, StoreLimits.archivePieceRows), looksMax - looks)
      let found = try search(
        phrases, in: scope, after: after, before: before, backwards: query.backwards, limit: batch,
        looksMax: Limits.searchIndexLooksMax - indexLooks)
      indexLooks += found.looks
      looks += found.candidates.count
      for candidate in found.candidates {
        if query.backwards { before = candidate.position } else { after = candidate.position }
        guard let entry = try find(candidate.position).first({ try self.entry($0) }) else { continue }
        // More entries follow.
        isFull = page.entries.count == limit || !page.entries.isEmpty && bytes >= query.bytesMax
        if isFull { break pages }
        page.entries.append(entry)
        bytes += entry.byteCount
      }
      page.next = found.next
      if found.next != nil { break }
      page.complete = found.candidates.count < batch
      if page.complete { break }
      if looks >= looksMax || indexLooks >= Limits.searchIndexLooksMax {
        page.next = query.backwards ? before : after
        break
      }
    }
    if query.backwards { page.entries.reverse() }
    return page
  }

  /// Returns the positions of a user's first and last whispers in a room; `nil` if there are none. It reads two rows of each of
  /// the dialogs.
  private func whispers(of user: UserID, in room: DialogID) throws -> ClosedRange<Position>? {
    try connection(.whispersOf, user, room).first { row in
      guard let first = row.intOrNil(0), let last = row.intOrNil(1) else { return nil }
      return Position(first)...Position(last)
    }
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

  /// Returns the part of a dialog that is in a user's archive; `nil` if they are not a member.
  private func part(of user: UserID, in dialog: DialogID) throws -> Part? {
    try connection(.members, dialog).first { row in
      if Self.isRoom(kind: row.int(2)) { return .whispers }
      if row.int(0) == user.number { return .archived(.firstArchived) }
      if row.int(1) == user.number { return .archived(.secondArchived) }
      return nil
    }
  }

  /// Returns the first position with `time` or later. Time never decreases with position, so a binary search finds it
  /// without an index.
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
  private static let ofResource = isOf(resource: "?5")
  private static func isOf(resource: String) -> String {
    """
    (\(resource) IS NULL
      OR CASE WHEN p.author = ?1 THEN p.to_resource ELSE coalesce(p.nick, p.from_resource) END = \(resource))
    """
  }
  /// Returns a query of a user's archive, or of their whispers in the room `?6`.
  private static func archiveOfUser(_ order: String) -> Query {
    Query(
      """
      SELECT \(payload) FROM feed f CROSS JOIN payloads p ON p.position = f.position
      WHERE f.user = ?1 AND f.position > ?2 AND f.position < ?3
        AND f.traits & \(FeedRow.Traits.archived.rawValue) AND (?6 IS NULL OR p.via = ?6) AND \(ofResource)
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
  /// Returns a query of the messages for clients without archive that have exactly one of these traits.
  private static func replayed(_ traits: FeedRow.Traits) -> Query {
    Query(
      """
      SELECT \(payload) FROM feed f CROSS JOIN payloads p ON p.position = f.position
      WHERE f.user = ?1 AND f.position > ?2 AND f.position < ?3
        AND f.traits & \(traits.rawValue) = \(FeedRow.Traits.replayed.rawValue)
        AND \(isSeen(by: "?1", "f.position", in: "p.dialog"))
      ORDER BY f.position LIMIT ?4
      """)
  }
  fileprivate static let replay = replayed(.replayed)
  fileprivate static let unarchived = replayed([.replayed, .archived])
  private static func whisperEnds(_ member: String) -> String {
    func end(_ order: String) -> String {
      "(SELECT e.position FROM entries e WHERE e.dialog = d.id ORDER BY e.position \(order) LIMIT 1)"
    }
    return """
      SELECT \(end("ASC")) AS first, \(end("DESC")) AS last FROM dialogs d
      WHERE d.kind = \(Dialog.Kind.whispered.rawValue) AND d.via = ?2 AND d.\(member) = ?1
      """
  }
  static let whispersOf = Query(
    """
    SELECT min(w.first), max(w.last) FROM (\(whisperEnds("first")) UNION ALL \(whisperEnds("second"))) w
    """)
  /// Returns a query that skips rows in the direction of a page, and reads only their keys.
  private static func pass(_ rows: String, _ position: String, _ order: String) -> Query {
    Query(
      """
      SELECT \(position) FROM \(rows) ?1 AND \(position) > ?2 AND \(position) < ?3
      ORDER BY \(position) \(order) LIMIT 1 OFFSET ?4
      """)
  }
  static let passFeed = pass("feed WHERE user =", "position", "ASC")
  static let passFeedBackwards = pass("feed WHERE user =", "position", "DESC")
  static let passDialog = pass("entries WHERE dialog =", "position", "ASC")
  static let passDialogBackwards = pass("entries WHERE dialog =", "position", "DESC")
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
  fileprivate static let archivedWith = Query(
    oneArchived + " AND " + isOf(resource: "?3") + " AND " + isSeen(by: "?1", "f.position", in: "p.dialog"))
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
