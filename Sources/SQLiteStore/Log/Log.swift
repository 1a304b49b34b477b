import Basics
import Dialogs

/// Reading the log: dialogs, marks, history, the feed.
extension Reader {
  /// Returns the end of the log: the last payload, or a later position in `log`, which has positions that were issued without
  /// an entry, or whose entry was erased.
  func head() throws -> (position: Position, time: Timestamp) {
    let noted = try connection(.notedHead).first { ($0.int(0), $0.int(1)) } ?? (0, 0)
    let last = try connection(.lastPayload).first { ($0.int(0), $0.int(1)) } ?? (0, 0)
    return (Position(max(noted.0, last.0)), Timestamp(milliseconds: max(noted.1, last.1)))
  }

  func lastDialog() throws -> DialogID {
    DialogID(try connection(.lastDialog).first { $0.int(0) } ?? 0)
  }

  /// Returns the last position before a time. Time never decreases with position, so a binary search finds it among a
  /// million entries with some twenty reads, without an index.
  func position(before time: Timestamp) throws -> Position {
    func nearest(_ position: Int64) throws -> (position: Int64, time: Int64)? {
      try connection(.payloadUpTo, position).first { ($0.int(0), $0.int(1)) }
    }
    var low: Int64 = 0
    var high = try head().position.number
    while low < high {
      let middle = low + (high - low + 1) / 2
      if let found = try nearest(middle), found.time >= time.milliseconds { high = middle - 1 } else { low = middle }
    }
    return Position(try nearest(low)?.position ?? 0)
  }

  func endOfConversations() throws -> (position: Position, time: Timestamp) {
    let last = try connection(.endOfConversations).first { ($0.int(0), $0.int(1)) } ?? (0, 0)
    return (Position(last.0), Timestamp(milliseconds: last.1))
  }

  func hasConversation(behind position: Position) throws -> Bool {
    try connection(.conversationBehind, position).first { $0.int(0) } == 1
  }

  // MARK: Dialogs and marks

  func dialog(_ id: DialogID) throws -> Dialog? {
    try connection(.dialog, id).first { try dialog($0) }
  }

  func dialog(between a: UserID, and b: UserID) throws -> Dialog? {
    try connection(.dialogBetween, min(a, b).number, max(a, b).number).first { try dialog($0) }
  }

  /// Returns the dialog of whispers of two users in a room, which no other method returns.
  func whispers(between a: UserID, and b: UserID, in room: DialogID) throws -> Dialog? {
    try connection(.whispersBetween, room, min(a, b).number, max(a, b).number)
      .first { try dialog($0) }
  }

  /// The value of `dialogs.kind` for a room, beside `Dialog.Kind`. Dialogs of lower kinds have marks and are in lists.
  static let roomKind: Int64 = 2
  /// The value for a destroyed room whose members' marks are not removed yet (`Room.isEnding`), so that lists and counts of all
  /// dialogs of a user exclude it without a further read.
  static let endingKind: Int64 = 4
  /// The value for a room that everybody has left (`Room.isAbandoned`).
  static let abandonedKind: Int64 = 5
  static func isRoom(kind: Int64) -> Bool { kind == roomKind || kind >= endingKind }

  private func dialog(_ row: Prepared) throws -> Dialog {
    guard let kind = Dialog.Kind(rawValue: UInt8(clamping: row.int(1))) else {
      throw StoreFailure.corrupt("dialog \(row.int(0)) is of an unknown kind")
    }
    return Dialog(
      id: DialogID(row.int(0)), kind: kind, first: try known(UserID(row.int(2))),
      second: try known(UserID(row.int(3))), sequence: row.int(4), ordinal: row.int(5),
      last: Position(row.int(6)), shown: Position(row.int(8)), createdAt: Timestamp(milliseconds: row.int(7)))
  }

  func dialogs(of log: LogAccess, before: Position, limit: Int) throws -> [DialogView] {
    let user = log.user
    // The list is read first, since reading more within the statement would keep its sorted rows in memory.
    let found = try connection(.dialogsOf, user, before, bound(limit)).all {
      (dialog: try dialog($0), mark: mark($0, from: 9, user), settings: try Self.settings($0, 18))
    }
    return try found.map { dialog, mark, settings in
      DialogView(
        dialog: dialog, mark: mark, settings: settings,
        lastMessage: try dialog.messages(for: user).flatMap { try last(of: $0, shown: dialog.shown) })
    }
  }

  func mark(_ user: UserID, in dialog: DialogID) throws -> Mark? {
    try connection(.mark, user, dialog).first { mark($0, from: 0, user) }
  }

  func mark(_ row: Prepared, from column: Int32, _ user: UserID) -> Mark {
    Mark(
      dialog: DialogID(row.int(column)), user: user, delivered: Position(row.int(column + 1)),
      displayed: Position(row.int(column + 2)), displayedOrdinal: row.int(column + 3), own: row.int(column + 4),
      ownAtDisplayed: row.int(column + 5), position: Position(row.int(column + 6)), hidden: row.int(column + 7),
      retracted: row.int(column + 8))
  }

  func unread(of user: UserID) throws -> Int64 {
    try connection(.unread, user).first { $0.int(0) } ?? 0
  }

  // MARK: Entries

  func shown(in dialog: DialogID) throws -> Position {
    Position(try connection(.shown, dialog).first { $0.int(0) } ?? 0)
  }

  /// Returns the entries of a statement's rows, up to the one by which they exceed so many bytes.
  func entries(_ statement: Prepared, _ bytesMax: Int) throws -> [Entry] {
    var (entries, bytes): ([Entry], Int) = ([], 0)
    try statement.forEachWhile { row in
      let next = try entry(row)
      entries.append(next)
      defer { bytes += next.byteCount }
      return bytes < bytesMax
    }
    return entries
  }

  func entry(_ position: Position, in messages: MessageAccess) throws -> Entry? {
    guard position > messages.behind else { return nil }
    var statement = try connection(messages.viewer == nil ? .entry : .ownEntry, position, messages.dialog)
    if let viewer = messages.viewer { statement = try statement.bind(viewer) }
    return try statement.first { try entry($0) }
  }

  func entries(of messages: MessageAccess, at positions: ClosedRange<Position>, limit: Int) throws -> [Entry] {
    let first = max(positions.lowerBound, messages.behind.next)
    let statement = try connection(
      .entriesBetween, messages.dialog, first, positions.upperBound, bound(limit), messages.viewer)
    return try statement.all { try entry($0) }
  }

  func hasEntry(at position: Position, in dialog: DialogID?) throws -> Bool {
    try connection(.hasEntry, position, dialog).first { _ in true } ?? false
  }

  func counting(
    in dialog: DialogID, upTo position: Position, by author: UserID, looksMax: Int
  ) throws -> (all: Int64, own: Int64) {
    guard
      let members = try connection(.pair, dialog).first({
        (first: $0.int(0), second: $0.int(1), isRoom: Self.isRoom(kind: $0.int(2)))
      }),
      let counts = try connection(.counted, dialog, position)
        .first({ (all: $0.int(0), first: $0.int(1)) })
    else { return (0, 0) }
    if members.isRoom { return (counts.all, try ownCounting(in: dialog, upTo: position, by: author, looksMax)) }
    switch author.number {
    case members.first: return (counts.all, counts.first)
    case members.second: return (counts.all, counts.all - counts.first)
    default: return (counts.all, 0)
    }
  }

  func ordinal(in dialog: DialogID, upTo position: Position) throws -> Int64 {
    try connection(.counted, dialog, position).first { $0.int(0) } ?? 0
  }

  /// Returns the number of an author's counting entries up to a position. It counts from the last message that the member has
  /// read, or from where they joined, where the number is known. If that is too far away, it counts from the end of the room, where
  /// the number is known as well. It is the number that marks use: for a member who left and came back it excludes their earlier
  /// messages, and for positions before they joined subtracts them.
  private func ownCounting(
    in room: DialogID, upTo position: Position, by author: UserID, _ looksMax: Int
  ) throws -> Int64 {
    let known =
      try connection(.knownOwn, author, room)
      .first({ (place: $0.int(0), own: $0.int(1), all: $0.int(2)) }) ?? (place: 0, own: 0, all: 0)
    let end = position.number
    func count(_ low: Int64, _ high: Int64) throws -> (own: Int64, isWhole: Bool) {
      let found = try connection(.ownBetween, room, low, high, author, Int64(looksMax)).first {
        (looks: $0.int(0), own: $0.int(1))
      }
      return (found?.own ?? 0, (found?.looks ?? 0) < Int64(looksMax))
    }
    let between = try count(min(known.place, end), max(known.place, end))
    if between.isWhole { return end >= known.place ? known.own + between.own : known.own - between.own }
    return known.all - (try count(end, .max).own)
  }

  func bound(_ limit: Int) -> Int64 { Int64(min(max(0, limit), StoreLimits.rowsMax)) }
}

/// The value of `entries.flags`. It is stored: never renumber the bits.
struct EntryFlags: OptionSet {
  let rawValue: Int64
  /// The entry is a message with a sequence.
  static let shown = EntryFlags(rawValue: 1)
  /// The entry makes the dialog unread.
  static let counts = EntryFlags(rawValue: 2)
  /// The entry is in the archive of the member with the lower number, or of the other; the first also means the room's
  /// archive.
  static let firstArchived = EntryFlags(rawValue: 4)
  static let secondArchived = EntryFlags(rawValue: 8)
  /// The payload is deleted; the row is kept for its counts.
  static let erased = EntryFlags(rawValue: 16)
}

extension Query {
  fileprivate static let lastDialog = Query("SELECT max(id) FROM dialogs")
  fileprivate static let notedHead = Query("SELECT position, time FROM log")
  fileprivate static let payloadUpTo = Query(
    "SELECT position, time FROM payloads WHERE position <= ?1 ORDER BY position DESC LIMIT 1")
  fileprivate static let lastPayload = Query("SELECT position, time FROM payloads ORDER BY position DESC LIMIT 1")
  private static let kindsOfConversations = Fact.Kind.allCases.filter(\.isOfConversation).map { "\($0.rawValue)" }
    .joined(separator: ", ")
  /// Excludes the first entry of a room, the notice that it was created.
  private static let isOfConversation = """
    p.kind IN (\(kindsOfConversations)) AND (p.kind <> \(Fact.Kind.room.rawValue) OR EXISTS (
      SELECT 1 FROM entries e WHERE e.dialog = p.dialog AND e.position < p.position))
    """
  fileprivate static let endOfConversations = Query(
    "SELECT p.position, p.time FROM payloads p WHERE \(isOfConversation) ORDER BY p.position DESC LIMIT 1")
  /// It reads from the position on, up to the first such entry.
  fileprivate static let conversationBehind = Query(
    "SELECT EXISTS (SELECT 1 FROM payloads p WHERE p.position > ?1 AND \(isOfConversation))")

  private static let dialogColumns = """
    d.id, d.kind, d.first, d.second, d.sequence, d.ordinal, d.last, d.created, d.shown
    """
  /// In a private dialog the members' own counts are in the dialog's row, which each message writes anyway, so the members'
  /// rows are not written. A room's row cannot have the counts of all members, so there the author's row is written.
  static let own = """
    CASE d.first WHEN m.user THEN d.first_own WHEN 0 THEN m.own ELSE d.second_own END
    """
  /// The expression of `Mark.unread`, in queries of all dialogs of the user `?1`.
  static let unreadCount = """
    max(0, (d.ordinal - \(displayedOrdinal)) - (\(own) - m.own_at_displayed) - m.hidden - \(retractedShare))
    """
  /// Messages that were deleted by age count as read, without a write for each member (`Writer.expire`).
  private static let displayedOrdinal = "max(m.displayed_ordinal, d.expired_ordinal)"
  /// The expression of `Mark.retracted`. It costs a comparison with the dialog's row, which is read anyway, and a read of
  /// each retracted message behind the mark, if any, so that a retraction writes no member's row. It excludes messages that
  /// the member has also deleted for themselves, which count in `Mark.hidden`. It reads the oldest
  /// `Limits.retractedCountedMax` of them.
  private static let retractedCount = countRetracted("\(Limits.retractedCountedMax - 1)")
  /// The expression of `Mark.retracted` where all dialogs of the user `?1` are read. Each dialog gets the same share of
  /// `Limits.retractedLooksMax`, which the engine computes once for a query, at the first dialog that needs it.
  private static let retractedShare = countRetracted(
    """
    (SELECT max(1, min(\(Limits.retractedCountedMax), \(Limits.retractedLooksMax) / max(1, count(*)))) - 1
      FROM members x CROSS JOIN dialogs y ON y.id = x.dialog
      WHERE x.user = ?1 AND y.retracted_ordinal > max(x.displayed_ordinal, y.expired_ordinal))
    """)
  /// - Parameter offset: the number of retracted messages to read before the last one.
  private static func countRetracted(_ offset: String) -> String {
    """
    CASE WHEN d.retracted_ordinal > \(displayedOrdinal) THEN (
      SELECT count(*) FROM retracted t
      WHERE t.dialog = m.dialog AND t.ordinal > \(displayedOrdinal) AND t.ordinal <= coalesce((
        SELECT b.ordinal FROM retracted b WHERE b.dialog = m.dialog AND b.ordinal > \(displayedOrdinal)
        ORDER BY b.ordinal LIMIT 1 OFFSET \(offset)), d.retracted_ordinal)
      AND t.author <> m.user AND (
        m.hidden = 0 OR NOT EXISTS (
          SELECT 1 FROM hidden h WHERE h.user = m.user AND h.position = t.position AND h.counts = 1))
    ) ELSE 0 END
    """
  }
  static let markColumns = """
    m.dialog, m.delivered, m.displayed, \(displayedOrdinal), \(own), m.own_at_displayed, m.position, m.hidden,
    \(retractedCount)
    """
  fileprivate static let dialog = Query(
    "SELECT \(dialogColumns) FROM dialogs d WHERE d.id = ?1 AND d.kind < \(Reader.roomKind)")
  fileprivate static let dialogBetween = Query(
    "SELECT \(dialogColumns) FROM dialogs d WHERE d.first = ?1 AND d.second = ?2 AND d.kind < \(Reader.roomKind)")
  fileprivate static let whispersBetween = Query(
    """
    SELECT \(dialogColumns) FROM dialogs d
    WHERE d.kind = \(Dialog.Kind.whispered.rawValue) AND d.via = ?1 AND d.first = ?2 AND d.second = ?3
    """)
  fileprivate static let pair = Query("SELECT first, second, kind FROM dialogs WHERE id = ?1")
  /// The query reads one row of each dialog of the user, about a microsecond each: an index in the order of lists would
  /// cost every message two more rows per member.
  fileprivate static let dialogsOf = Query(
    """
    SELECT \(dialogColumns), \(markColumns), m.settings FROM (
      SELECT n.user AS user, n.dialog AS dialog, e.shown AS shown
      FROM members n CROSS JOIN dialogs e ON e.id = n.dialog
      WHERE n.user = ?1 AND e.shown < ?2 AND (e.kind = 1 OR e.kind = 0 AND e.sequence > 0) AND \(isListed("n", "e"))
      ORDER BY e.shown DESC LIMIT ?3
    ) l CROSS JOIN dialogs d ON d.id = l.dialog CROSS JOIN members m ON m.user = l.user AND m.dialog = l.dialog
    ORDER BY l.shown DESC
    """)
  fileprivate static let mark = Query(
    "SELECT \(markColumns) FROM members m CROSS JOIN dialogs d ON d.id = m.dialog WHERE m.user = ?1 AND m.dialog = ?2")
  fileprivate static let unread = Query(
    """
    SELECT coalesce(sum(\(unreadCount)), 0)
    FROM members m CROSS JOIN dialogs d ON d.id = m.dialog WHERE m.user = ?1 AND d.kind < \(Reader.endingKind)
    """)

  private static let payload = Reader.payloadColumns
  fileprivate static let shown = Query("SELECT shown FROM dialogs WHERE id = ?1")
  fileprivate static let entry = Query(
    "SELECT \(payload) FROM payloads p WHERE p.position = ?1 AND p.dialog = ?2")
  fileprivate static let ownEntry = Query(
    """
    SELECT \(payload) FROM payloads p WHERE p.position = ?1 AND p.dialog = ?2
      AND \(isSeen(by: "?3", "p.position", in: "?2"))
    """)
  fileprivate static let entriesBetween = Query(
    """
    SELECT \(payload) FROM entries e CROSS JOIN payloads p ON p.position = e.position
    WHERE e.dialog = ?1 AND e.position >= ?2 AND e.position <= ?3
      AND (?5 IS NULL OR \(isSeen(by: "?5", "e.position", in: "?1")))
    ORDER BY e.position LIMIT ?4
    """)
  fileprivate static let hasEntry = Query(
    "SELECT 1 FROM payloads WHERE position = ?1 AND (?2 IS NULL OR dialog = ?2)")
  fileprivate static let counted = Query(
    "SELECT ordinal, own FROM entries WHERE dialog = ?1 AND position <= ?2 ORDER BY position DESC LIMIT 1")
  fileprivate static let knownOwn = Query(
    """
    SELECT max(CASE m.displayed WHEN 0 THEN a.since ELSE m.displayed END, m.aged), m.own_at_displayed, m.own
    FROM members m CROSS JOIN affiliations a ON a.room = m.dialog AND a.user = m.user
    WHERE m.user = ?1 AND m.dialog = ?2
    """)
  fileprivate static let ownBetween = Query(
    """
    SELECT count(*), coalesce(sum(own = ?4), 0) FROM (
      SELECT own FROM entries WHERE dialog = ?1 AND position > ?2 AND position <= ?3 ORDER BY position LIMIT ?5)
    """)
}
