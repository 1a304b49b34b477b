import Dialogs

/// The per-user changes of messages: hidden and starred messages, and cleared dialogs.
extension Reader {
  func isHidden(_ message: Position, in dialog: DialogID, for user: UserID) throws -> Bool {
    try connection(.isHidden, user, message, dialog).first { $0.int(0) }
      == 1
  }

  /// Returns the position up to which the user has cleared a dialog; reads for this user begin behind it.
  func cleared(_ dialog: DialogID, by user: UserID) throws -> Position {
    Position(try connection(.cleared, user, dialog).first { $0.int(0) } ?? 0)
  }

  func hasHidden(_ user: UserID) throws -> Bool {
    try connection(.hasHidden, user).first { $0.int(0) } == 1
  }

  func hidden(from message: Position, in dialog: DialogID) throws -> [UserID] {
    try connection(.hiddenFrom, message, dialog).all { UserID($0.int(0)) }
  }

  func hiddenCount(of user: UserID) throws -> Int {
    try connection(.hiddenCount, user).first { Int($0.int(0)) } ?? 0
  }

  func hiddenCount(of user: UserID, in dialog: DialogID, after: Position) throws -> Int64 {
    try connection(.hiddenBehind, user, dialog, after)
      .first { $0.int(0) } ?? 0
  }

  func hasFlagged(_ message: PublicID, by user: UserID, in realm: RealmID) throws -> Bool {
    try connection(.hasFlagged, realm, user, message.description)
      .first { _ in true } ?? false
  }
}

extension Writer {
  func hide(_ message: Position, in dialog: DialogID, for user: UserID, counts: Bool) throws {
    try connection(.hide, user, message, dialog, counts)
      .run()
  }

  /// Removes the rows of messages that were deleted one by one before, which are no longer needed.
  func clear(_ dialog: DialogID, upTo: Position, leaves: Bool, for user: UserID) throws {
    try connection(.clear, user, dialog, upTo, leaves)
      .run()
    try connection(.unhide, user, dialog, upTo).run()
    try connection(.unstar, user, dialog, upTo).run()
  }

  func removeMention(of user: UserID, by message: Position, in dialog: DialogID) throws {
    try connection(.removeMention, dialog, message, user).run()
  }
}

extension Query {
  /// Returns the condition that the user has not deleted the entry for themselves. It reads a short table and a row that is
  /// read anyway; for former members another short table. The three parameters are SQL expressions.
  static func isSeen(by user: String, _ position: String, in dialog: String) -> String {
    """
    (NOT EXISTS (SELECT 1 FROM hidden h WHERE h.user = \(user) AND h.position = \(position))
      AND \(position) > \(cleared(by: user, in: dialog)))
    """
  }

  private static func cleared(by user: String, in dialog: String) -> String {
    """
    coalesce((SELECT c.cleared FROM members c WHERE c.user = \(user) AND c.dialog = \(dialog)),
      (SELECT c.position FROM cleared_rooms c WHERE c.user = \(user) AND c.dialog = \(dialog)), 0)
    """
  }
  fileprivate static let cleared = Query("SELECT \(cleared(by: "?1", in: "?2"))")

  /// Returns the condition on a row of `members` and its row of `dialogs` that the dialog is in the user's lists: it has a shown entry
  /// behind the position that the user has cleared, which is known without reading entries. Before the first shown entry,
  /// `dialogs.shown` is the position of the first entry, which is not shown.
  static func isListed(_ row: String, _ dialog: String) -> String {
    """
    (\(row).left_list = 0 OR
      \(dialog).sequence > 0 AND \(dialog).shown > max(\(row).cleared, \(dialog).expired))
    """
  }

  fileprivate static let isHidden = Query("SELECT NOT \(isSeen(by: "?1", "?2", in: "?3"))")
  fileprivate static let hasHidden = Query(
    """
    SELECT EXISTS (SELECT 1 FROM hidden WHERE user = ?1)
      OR EXISTS (SELECT 1 FROM members WHERE user = ?1 AND cleared > 0)
      OR EXISTS (SELECT 1 FROM cleared_rooms WHERE user = ?1)
    """)
  fileprivate static let hiddenFrom = Query(
    """
    SELECT user FROM hidden WHERE position = ?1
    UNION SELECT user FROM members WHERE dialog = ?2 AND cleared > 0 AND cleared >= ?1
    UNION SELECT user FROM cleared_rooms WHERE dialog = ?2 AND position >= ?1
    """)
  fileprivate static let hiddenCount = Query("SELECT count(*) FROM hidden WHERE user = ?1")
  fileprivate static let hiddenBehind = Query(
    "SELECT count(*) FROM hidden WHERE user = ?1 AND position > ?3 AND dialog = ?2 AND counts = 1")
  fileprivate static let hide = Query(
    "INSERT OR IGNORE INTO hidden (user, position, dialog, counts) VALUES (?1, ?2, ?3, ?4)")
  static let unhide = Query("DELETE FROM hidden WHERE user = ?1 AND position <= ?3 AND dialog = ?2")
  static let unstar = Query("DELETE FROM stars WHERE user = ?1 AND position <= ?3 AND dialog = ?2")
  fileprivate static let clear = Query(
    "UPDATE members SET cleared = max(cleared, ?3), left_list = ?4 WHERE user = ?1 AND dialog = ?2")
  fileprivate static let removeMention = Query(
    """
    DELETE FROM mentions WHERE dialog = ?1 AND user = ?3
      AND ordinal = (SELECT e.ordinal FROM entries e WHERE e.dialog = ?1 AND e.position = ?2
        AND e.flags & \(EntryFlags.counts.rawValue))
    """)
  fileprivate static let hasFlagged = Query(
    """
    SELECT 1 FROM reports r CROSS JOIN report_messages m ON m.report = r.id
    WHERE r.realm = ?1 AND r.reporter = ?2 AND m.message = ?3 LIMIT 1
    """)
}
