import Dialogs

/// The data that lists of dialogs are made from.
extension Reader {
  func dialogSummaries(of user: UserID) throws -> [DialogSummary] {
    try connection(.dialogSummaries, user).all { row in
      DialogSummary(
        dialog: DialogID(row.int(0)), isRoom: row.int(1) == Self.roomKind, shown: Position(row.int(2)),
        unread: row.int(3), mentions: row.int(4), displayed: Position(row.int(5)),
        settings: try Self.settings(row, 6))
    }
  }
}

extension Query {
  /// It reads the user's rows and a row of each dialog, about a microsecond each: an index in the order of lists would cost
  /// every message two more rows per member. Mentions are counted only in unread dialogs, since a message with a mention
  /// is unread.
  static let dialogSummaries = Query(
    """
    SELECT s.dialog, s.kind, s.shown, s.unread,
      CASE WHEN s.unread > 0 THEN \(mentionsShare(in: "s")) ELSE 0 END, s.displayed, s.settings
    FROM (
      SELECT m.dialog, d.kind, d.shown,
        \(unreadCount) AS unread,
        m.displayed_ordinal, m.displayed, m.settings
      FROM members m CROSS JOIN dialogs d ON d.id = m.dialog
      WHERE m.user = ?1 AND (d.kind > 0 OR d.sequence > 0) AND d.kind < \(Reader.endingKind) AND \(isListed("m", "d"))
    ) s
    """)
}
