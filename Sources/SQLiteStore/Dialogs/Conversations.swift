import Addresses
import Dialogs

/// The summary of all dialogs and rooms of a user for their clients.
extension Reader {
  func displayed(by user: UserID, limit: Int) throws -> [DisplayedMark] {
    try connection(.displayed, user, bound(limit)).all { row in
      let position = Position(row.int(1))
      if row.int(3) == Self.roomKind {
        let room = try known(DialogID(row.int(2)))
        return DisplayedMark(
          chat: room.address, isRoom: true, id: try seal(room.realm).seal(row.int(0)), position: position)
      }
      let peer = try known(UserID(row.int(4) == user.number ? row.int(5) : row.int(4)))
      return DisplayedMark(
        chat: peer.address, isRoom: false, id: try seal(peer.realm).seal(row.int(0)), position: position)
    }
  }

  /// Reads all conversations for the counts, but details only for the page. It is one transaction, so page and counts
  /// belong together.
  func conversations(of log: LogAccess, _ query: ConversationQuery) throws -> ConversationPage {
    let user = log.user
    var page = ConversationPage(conversations: [], complete: true, total: 0, unreadConversations: 0, unread: 0)
    var wanted: [ConversationSummary] = []
    for summary in try summaries(of: user) {
      page.total += 1
      page.unread += summary.unread
      if summary.unread > 0 { page.unreadConversations += 1 }
      guard summary.activity > query.after.number, summary.activity < query.before.number,
        summary.unread > 0 || !query.unreadOnly
      else { continue }
      wanted.append(summary)
    }
    wanted.sort { query.oldest ? $0.activity < $1.activity : $0.activity > $1.activity }
    let limit = Int(bound(query.limit))
    page.complete = wanted.count <= limit
    page.conversations = try wanted.prefix(limit).map { try conversation($0) }
    if query.oldest { page.conversations.reverse() }
    return page
  }

  /// The counters of a conversation, by which a list is filtered and ordered.
  private struct ConversationSummary {
    let dialog: DialogID
    let isRoom: Bool
    /// The peer of a private dialog.
    let peer: UserID
    let unread: Int64
    let last: Int64
    /// The last shown entry; `nil` if there is none.
    let said: Int64?
    var activity: Int64 { said ?? last }
  }

  private func summaries(of user: UserID) throws -> [ConversationSummary] {
    var looks = Limits.archiveLooksMax
    return try connection(.summaries, user).all { row -> ConversationSummary? in
      let (dialog, flag) = (DialogID(row.int(0)), row.int(5))
      let found = try lastKept(in: dialog, flag, for: user, before: .end, &looks)
      // Usually the last entry is shown, and no second read is needed.
      var said = found
      if found?.isShown != true {
        let behind = min(Position(found?.position ?? .max), Position(row.int(6)).next)
        said = try lastKept(in: dialog, flag, for: user, before: behind, shown: true, &looks)
      }
      // If the last entry of the archive is too far from the end, the last message is used instead.
      guard let last = found ?? said else { return nil }
      return ConversationSummary(
        dialog: dialog, isRoom: row.int(1) == Self.roomKind,
        peer: UserID(row.int(2) == user.number ? row.int(3) : row.int(2)), unread: row.int(4), last: last.position,
        said: said?.position)
    }.compactMap { $0 }
  }

  /// Returns the last entry of a dialog before a position that is in the user's archive and that they have not deleted for themselves.
  ///
  /// - Parameters:
  ///   - flag: the flag of entries in this archive.
  ///   - shown: whether it must be shown.
  ///   - looks: the number of rows that may still be examined.
  private func lastKept(
    in dialog: DialogID, _ flag: Int64, for user: UserID, before: Position, shown: Bool = false, _ looks: inout Int
  ) throws -> (position: Int64, isShown: Bool)? {
    let most = max(Limits.inboxLooksMin, min(Limits.inboxLooksMax, looks))
    var found: (position: Int64, isShown: Bool)?
    var count = 0
    try connection(.lastEntries, dialog, flag, user, before, Int64(most)).forEachWhile { row in
      count += 1
      let isShown = row.int(1) == 1
      if row.int(2) == 1, isShown || !shown { found = (row.int(0), isShown) }
      return found == nil
    }
    looks -= count
    return found
  }

  private func conversation(_ summary: ConversationSummary) throws -> Conversation {
    let chat: BareJID
    let realm: RealmID
    if summary.isRoom {
      let room = try known(summary.dialog)
      (chat, realm) = (room.address, room.realm)
    } else {
      let peer = try known(summary.peer)
      (chat, realm) = (peer.address, peer.realm)
    }
    let seal = try seal(realm)
    let lastID = seal.seal(summary.last)
    return Conversation(
      chat: chat, dialog: summary.dialog, isRoom: summary.isRoom, unread: summary.unread,
      last: Position(summary.last), lastID: lastID, activity: Position(summary.activity),
      activityID: summary.activity == summary.last ? lastID : seal.seal(summary.activity),
      said: summary.said.map { Position($0) })
  }
}

extension Query {
  /// Reads a row of each dialog of the user.
  fileprivate static let displayed = Query(
    """
    SELECT m.displayed, m.position, d.id, d.kind, d.first, d.second
    FROM members m CROSS JOIN dialogs d ON d.id = m.dialog
    WHERE m.user = ?1 AND m.displayed > 0 AND d.kind < \(Reader.endingKind) ORDER BY m.position DESC LIMIT ?2
    """)

  /// The flag of entries in this user's archive (for a room, in the room's).
  private static let kept = """
    CASE WHEN d.second = ?1 AND d.first <> ?1 THEN \(EntryFlags.secondArchived.rawValue)
      ELSE \(EntryFlags.firstArchived.rawValue) END
    """
  /// Reads a row of each dialog of the user.
  fileprivate static let summaries = Query(
    """
    SELECT d.id, d.kind, d.first, d.second,
      \(unreadCount),
      \(kept), d.shown
    FROM members m CROSS JOIN dialogs d ON d.id = m.dialog WHERE m.user = ?1 AND d.kind < \(Reader.endingKind)
    """)
  /// Returns the newest entries first, whether each is shown, and whether the user has it in the archive and has not deleted it. The
  /// read of a dialog ends at the first such entry.
  fileprivate static let lastEntries = Query(
    """
    SELECT e.position, e.flags & \(EntryFlags.shown.rawValue) <> 0,
      CASE WHEN e.flags & ?2 THEN \(isSeen(by: "?3", "e.position", in: "?1")) ELSE 0 END
    FROM entries e WHERE e.dialog = ?1 AND e.position < ?4 ORDER BY e.position DESC LIMIT ?5
    """)
}
