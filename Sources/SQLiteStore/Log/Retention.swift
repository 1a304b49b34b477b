import Basics
import Dialogs

/// The deletion of entries by their age, and legal holds.
extension Reader {
  func agingDialogs(after: DialogID, limit: Int, onlyOwn: Bool) throws -> [AgingDialog] {
    try connection(onlyOwn ? .ownAgingDialogs : .agingDialogs, after, bound(limit)).all { row in
      AgingDialog(
        id: DialogID(row.int(0)), realm: RealmID(row.int(1)), isOfRoom: row.int(2) >= Self.roomKind,
        days: row.intOrNil(4).map { Int(clamping: $0) }, oldest: row.intOrNil(3).map { Position($0) })
    }
  }

  func agingMembers(after: (dialog: DialogID, user: UserID), limit: Int) throws -> [AgingMember] {
    try connection(.agingMembers, after.dialog, after.user, bound(limit)).all { row in
      AgingMember(
        dialog: DialogID(row.int(0)), user: UserID(row.int(1)), days: Int(clamping: row.int(2)),
        oldest: row.intOrNil(3).map { Position($0) })
    }
  }

  func expiring(in dialog: DialogID, through end: Position) throws -> Int {
    try connection(.expiringCount, dialog, end).first { Int($0.int(0)) } ?? 0
  }

  func expired(in messages: MessageAccess) throws -> Position {
    Position(try connection(.expiredOfDialog, messages.dialog).first { $0.int(0) } ?? 0)
  }

  func expired(in log: LogAccess) throws -> Position {
    Position(try connection(.expiredOfUser, log.user).first { $0.int(0) } ?? 0)
  }

  func isHeld(_ dialog: DialogID) throws -> Bool {
    try connection(.isHeld, dialog).first { $0.int(0) } == 1
  }
}

extension Writer {
  /// The row of `entries` of the last deleted entry is kept as the base from which the next one counts: in a private dialog
  /// with its counts, in a room without its author, whose messages are counted by row.
  ///
  /// Unread messages that are deleted count as read. That costs no write for each member, since queries ignore positions
  /// before `expired_ordinal`. For a member who has not read so far, the numbers that are subtracted (their own messages, and
  /// those they have deleted for themselves) are reset as well.
  ///
  /// Changes of a message are deleted before it, so that a piece that ends between them leaves a message without changes,
  /// and never a change without its message.
  func expire(
    _ dialog: DialogID, through end: Position, limit: Int, within span: Duration, endingFiles time: Timestamp?
  ) throws -> ExpiredPiece {
    let began = ContinuousClock.now
    var piece = ExpiredPiece()
    guard try !isHeld(dialog) else {
      piece.isHeld = true
      return piece
    }
    let found = try connection(.expiringDialog, dialog).first {
      (
        expired: Position($0.int(0)), isRoom: Self.isRoom(kind: $0.int(1)), first: UserID($0.int(2)),
        second: UserID($0.int(3)), own: $0.int(4)
      )
    }
    guard let found else { return piece }
    let held = Set(try connection(.heldUsers).all { $0.int(0) })
    let rows = try connection(.expiring, dialog, end, bound(limit)).all {
      (
        position: Position($0.int(0)), flags: EntryFlags(rawValue: $0.int(1)), ordinal: $0.int(2), own: $0.int(3),
        kind: $0.int(4), author: $0.int(5)
      )
    }
    var own = found.own
    var last: (position: Position, ordinal: Int64)?
    var left = Int(bound(limit))
    var isCut = false
    for row in rows {
      if try held.contains(row.author) || !held.isEmpty && isChangedByHeld(row.position) {
        piece.isHeld = true
        break
      }
      if last != nil, ContinuousClock.now - began >= span { isCut = true }
      if !isCut {
        let changes = try removeChanges(of: row.position, in: dialog, limit: left, endingFiles: time)
        left -= changes
        isCut = left <= 0
      }
      if isCut { break }
      left -= 1
      if row.flags.contains(.counts) {
        let author = found.isRoom ? UserID(row.own) : row.own > own ? found.first : found.second
        try connection(.passOwn, author, dialog, row.ordinal).run()
      }
      own = row.own
      if row.kind == Int64(Fact.Kind.room.rawValue) { try removeFeed(ofChangeAt: row.position, in: dialog) }
      if row.kind == Int64(Fact.Kind.call.rawValue) { try connection(.deleteEndedCall, row.position).run() }
      try removeTraces(of: row.position, in: dialog, endingFiles: time)
      _ = try remove(row.position, in: dialog)
      if row.flags.contains(.shown) { piece.messages += 1 }
      last = (row.position, row.ordinal)
    }
    piece.isMore = (isCut || rows.count == Int(bound(limit))) && !piece.isHeld
    guard let last else { return piece }
    let users: (UserID, UserID)? = found.isRoom ? nil : (found.first, found.second)
    try moveBase(of: dialog, between: users, from: found.expired, to: last.position, last.ordinal)
    return piece
  }

  /// Removes what is noted about the entries up to a position, and counts from there.
  ///
  /// - Parameter users: The two of a private dialog; `nil` for a room.
  private func moveBase(
    of dialog: DialogID, between users: (UserID, UserID)?, from expired: Position, to end: Position, _ ordinal: Int64
  ) throws {
    for (user, hidden) in try connection(.hiddenBetween, dialog, expired, end)
      .all({ (UserID($0.int(0)), $0.int(1)) })
    { try connection(.passHidden, user, dialog, hidden).run() }
    for query in [Query.deleteHiddenBetween, .deleteStarsBetween] {
      try connection(query, dialog, expired, end).run()
    }
    try connection(.deletePinsUpTo, dialog, end).run()
    for query in [Query.deleteMentionsUpTo, .deleteRetractedUpTo] { try connection(query, dialog, ordinal).run() }
    try connection(.deleteEntriesBefore, dialog, end).run()
    try connection(.makeBase, dialog, end, users == nil).run()
    try connection(.setExpired, dialog, end, ordinal).run()
    guard let users else { return }
    for position in try connection(.markersUpTo, dialog, end, users.0, users.1).all({ Position($0.int(0)) }) {
      try erase(position, in: dialog)
    }
  }

  func age(_ dialog: DialogID, through end: Position, for user: UserID) throws {
    guard let last = try connection(.lastUpTo, dialog, end).first({ Position($0.int(0)) }) else { return }
    let counts = try counting(in: dialog, upTo: last, by: user, looksMax: Limits.ownLooksMax)
    try connection(.hideUpTo, user, dialog, last).run()
    for query in [Query.unhide, .unstar] { try connection(query, user, dialog, last).run() }
    let hidden = try hiddenCount(of: user, in: dialog, after: last)
    try connection(.countAsRead, user, dialog, counts.all, counts.own, hidden).run()
    // Set last, since the counts are computed from its former value.
    try connection(.setAged, user, dialog, last).run()
  }

  /// Deletes the changes of a message, of any age: its edits, reactions, retractions and pins. Returns their number.
  private func removeChanges(
    of message: Position, in dialog: DialogID, limit: Int, endingFiles time: Timestamp?
  ) throws -> Int {
    let changes = try connection(.changesOf, message, Int64(limit)).all { Position($0.int(0)) }
    for change in changes {
      try removeTraces(of: change, in: dialog, endingFiles: time)
      try erase(change, in: dialog)
      try connection(.deleteChange, message, change).run()
    }
    return changes.count
  }

  private func isChangedByHeld(_ message: Position) throws -> Bool {
    try connection(.isChangedByHeld, message).first { $0.int(0) } == 1
  }
}

extension Query {
  /// It reads one row of each dialog. Whispers belong to the realm of their room, and have its age.
  private static func agingDialogs(where condition: String) -> Query {
    Query(
      """
      SELECT d.id, coalesce(r.realm, u.realm), d.kind,
        (SELECT e.position FROM entries e WHERE e.dialog = d.id AND e.position > d.expired ORDER BY e.position LIMIT 1),
        \(days)
      FROM dialogs d LEFT JOIN rooms r ON r.dialog = iif(d.kind = \(Reader.roomKind), d.id, d.via)
        LEFT JOIN users u ON u.id = d.first
      WHERE d.id > ?1 AND coalesce(r.realm, u.realm) IS NOT NULL AND \(condition) ORDER BY d.id LIMIT ?2
      """)
  }
  /// The days of a room; for a private dialog the maximum that its users have chosen, if all of them have. The dialog of
  /// notes to oneself has one user.
  private static let days = """
    iif(r.dialog IS NOT NULL, r.retention_days,
      (SELECT iif(count(*) = iif(d.first = d.second, 1, 2), max(m.retention_days), NULL) FROM members m
        WHERE m.dialog = d.id AND m.user IN (d.first, d.second) AND m.retention_days IS NOT NULL))
    """
  fileprivate static let agingDialogs = agingDialogs(where: "TRUE")
  /// The dialogs with an age of their own, found by indexes: they are few on servers that keep everything.
  fileprivate static let ownAgingDialogs = agingDialogs(
    where: """
      d.id IN (SELECT dialog FROM rooms WHERE retention_days IS NOT NULL
        UNION ALL SELECT w.id FROM rooms o CROSS JOIN dialogs w
          ON w.kind = \(Dialog.Kind.whispered.rawValue) AND w.via = o.dialog WHERE o.retention_days IS NOT NULL
        UNION SELECT dialog FROM members WHERE retention_days IS NOT NULL)
      """)
  fileprivate static let agingMembers = Query(
    """
    SELECT m.dialog, m.user, m.retention_days, (SELECT e.position FROM entries e
      WHERE e.dialog = m.dialog AND e.position > max(m.cleared, d.expired) ORDER BY e.position LIMIT 1)
    FROM members m CROSS JOIN dialogs d ON d.id = m.dialog
    WHERE m.retention_days IS NOT NULL AND (m.dialog, m.user) > (?1, ?2) ORDER BY m.dialog, m.user LIMIT ?3
    """)
  fileprivate static let lastUpTo = Query(
    "SELECT position FROM entries WHERE dialog = ?1 AND position <= ?2 ORDER BY position DESC LIMIT 1")
  fileprivate static let hideUpTo = Query(
    "UPDATE members SET cleared = max(cleared, ?3) WHERE user = ?1 AND dialog = ?2")
  fileprivate static let countAsRead = Query(
    """
    UPDATE members SET displayed_ordinal = ?3, own_at_displayed = ?4, hidden = ?5
    WHERE user = ?1 AND dialog = ?2 AND displayed_ordinal < ?3
    """)
  fileprivate static let setAged = Query("UPDATE members SET aged = max(aged, ?3) WHERE user = ?1 AND dialog = ?2")
  /// A destroyed room keeps its last entry, the notice of its end.
  private static func expiring(_ columns: String, _ rest: String) -> Query {
    Query(
      """
      SELECT \(columns)
      FROM dialogs d LEFT JOIN rooms r ON r.dialog = d.id CROSS JOIN entries e ON e.dialog = d.id
        LEFT JOIN payloads p ON p.position = e.position
      WHERE d.id = ?1 AND e.position > d.expired AND e.position <= ?2
        AND (e.position < d.last OR coalesce(r.destroyed, 0) = 0) \(rest)
      """)
  }
  fileprivate static let expiring = expiring(
    "e.position, e.flags, e.ordinal, e.own, coalesce(p.kind, 0), coalesce(p.author, 0)",
    "ORDER BY e.position LIMIT ?3")
  fileprivate static let expiringCount = expiring("count(*)", "AND e.flags & \(EntryFlags.shown.rawValue)")
  fileprivate static let expiringDialog = Query(
    """
    SELECT d.expired, d.kind, d.first, d.second, coalesce((SELECT e.own FROM entries e
      WHERE e.dialog = d.id AND e.position <= d.expired ORDER BY e.position DESC LIMIT 1), 0)
    FROM dialogs d WHERE d.id = ?1
    """)
  fileprivate static let expiredOfDialog = Query("SELECT expired FROM dialogs WHERE id = ?1")
  /// Reads a row of each dialog of the user, and of their whispers in each room.
  fileprivate static let expiredOfUser = Query(
    """
    SELECT max(at) FROM (
      SELECT max(d.expired, m.aged) AS at FROM members m CROSS JOIN dialogs d ON d.id = m.dialog WHERE m.user = ?1
      UNION ALL SELECT w.expired FROM members m CROSS JOIN dialogs w
        ON w.kind = \(Dialog.Kind.whispered.rawValue) AND w.via = m.dialog AND w.first = ?1 WHERE m.user = ?1
      UNION ALL SELECT w.expired FROM members m CROSS JOIN dialogs w
        ON w.kind = \(Dialog.Kind.whispered.rawValue) AND w.via = m.dialog AND w.second = ?1 WHERE m.user = ?1)
    """)
  /// The condition that there is a hold on the dialog `d`, on a user of it, or, for whispers, on its room.
  static let isDialogHeld = """
    (EXISTS (SELECT 1 FROM holds h WHERE h.user = 0 AND h.dialog IN (d.id, d.via))
      OR EXISTS (SELECT 1 FROM holds h WHERE h.user > 0 AND (h.user IN (d.first, d.second)
        OR EXISTS (SELECT 1 FROM members m WHERE m.user = h.user AND m.dialog = d.id))))
    """
  fileprivate static let isHeld = Query("SELECT \(isDialogHeld) FROM dialogs d WHERE d.id = ?1")
  fileprivate static let heldUsers = Query("SELECT user FROM holds WHERE user > 0")
  fileprivate static let passOwn = Query(
    """
    UPDATE members SET own_at_displayed = own_at_displayed + 1
    WHERE user = ?1 AND dialog = ?2 AND displayed_ordinal < ?3
    """)
  fileprivate static let hiddenBetween = Query(
    """
    SELECT h.user, e.ordinal FROM hidden h CROSS JOIN entries e ON e.dialog = ?1 AND e.position = h.position
    WHERE h.position > ?2 AND h.position <= ?3 AND h.dialog = ?1 AND h.counts = 1
    """)
  fileprivate static let passHidden = Query(
    """
    UPDATE members SET hidden = hidden - 1 WHERE user = ?1 AND dialog = ?2 AND hidden > 0 AND displayed_ordinal < ?3
    """)
  fileprivate static let changesOf = Query("SELECT position FROM changes WHERE target = ?1 ORDER BY position LIMIT ?2")
  fileprivate static let deleteChange = Query("DELETE FROM changes WHERE target = ?1 AND position = ?2")
  fileprivate static let isChangedByHeld = Query(
    """
    SELECT EXISTS (SELECT 1 FROM changes c CROSS JOIN payloads p ON p.position = c.position
      CROSS JOIN holds h ON h.user = p.author WHERE c.target = ?1)
    """)
  /// The markers of a private dialog whose messages are all deleted. A room's markers are in no archive, and meaningless
  /// without the message.
  fileprivate static let markersUpTo = Query(
    """
    SELECT position FROM members
    WHERE user IN (?3, ?4) AND dialog = ?1 AND position > ?2 AND max(delivered, displayed) <= ?2
    """)
  fileprivate static let deleteHiddenBetween = Query(
    "DELETE FROM hidden WHERE position > ?2 AND position <= ?3 AND dialog = ?1")
  fileprivate static let deleteStarsBetween = Query(
    "DELETE FROM stars WHERE position > ?2 AND position <= ?3 AND dialog = ?1")
  fileprivate static let deletePinsUpTo = Query("DELETE FROM pins WHERE dialog = ?1 AND position <= ?2")
  fileprivate static let deleteMentionsUpTo = Query("DELETE FROM mentions WHERE dialog = ?1 AND ordinal <= ?2")
  fileprivate static let deleteRetractedUpTo = Query("DELETE FROM retracted WHERE dialog = ?1 AND ordinal <= ?2")
  fileprivate static let deleteEndedCall = Query("DELETE FROM calls WHERE position = ?1 AND due IS NULL")
  fileprivate static let deleteEntriesBefore = Query("DELETE FROM entries WHERE dialog = ?1 AND position < ?2")
  fileprivate static let makeBase = Query(
    """
    UPDATE entries SET flags = \(EntryFlags.erased.rawValue), own = iif(?3, 0, own) WHERE dialog = ?1 AND position = ?2
    """)
  fileprivate static let setExpired = Query("UPDATE dialogs SET expired = ?2, expired_ordinal = ?3 WHERE id = ?1")
}
