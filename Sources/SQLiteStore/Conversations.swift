import Addresses
import Dialogs

/// What a user's clients want to know of all their dialogs and rooms at once.
extension Reader {
  func displayed(by user: UserID, limit: Int) throws -> [DisplayedMark] {
    try connection(.displayed).bind(1, user.number).bind(2, bound(limit)).all { row in
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

  func conversations(of user: UserID, _ query: ConversationQuery) throws -> ConversationPage {
    var page = ConversationPage(conversations: [], complete: true, total: 0, unreadConversations: 0, unread: 0)
    let limit = bound(query.limit)
    let statement = try connection(
      query.withMessages
        ? query.oldest ? .oldestConversationsWhole : .conversationsWhole
        : query.oldest ? .oldestConversations : .conversations)
    // One more than asked for tells whether anything follows. The counts are there also where nothing else is.
    let found = try statement.bind(1, user.number).bind(2, query.after.number).bind(3, query.before.number)
      .bind(4, limit + 1).bind(5, query.unreadOnly ? 1 : 0)
      .all { row -> Conversation? in
        page.total = row.int(Self.behind + 0)
        page.unreadConversations = row.int(Self.behind + 1)
        page.unread = row.int(Self.behind + 2)
        return row.isNull(Self.behind + 3) ? nil : try conversation(row, of: user)
      }
    page.conversations = found.compactMap { $0 }
    page.complete = Int64(page.conversations.count) <= limit
    if !page.complete { page.conversations.removeLast() }
    if query.oldest { page.conversations.reverse() }
    return page
  }

  /// The first column behind those of a payload.
  private static let behind = Int32(payloadColumns.split(separator: ",").count)

  private func conversation(_ row: Prepared, of user: UserID) throws -> Conversation {
    let (last, activity) = (Position(row.int(Self.behind + 8)), Position(row.int(Self.behind + 9)))
    let dialog = DialogID(row.int(Self.behind + 3))
    let isRoom = row.int(Self.behind + 4) == Self.roomKind
    let chat: BareJID
    let realm: RealmID
    if isRoom {
      let room = try known(dialog)
      (chat, realm) = (room.address, room.realm)
    } else {
      let peer = try known(
        UserID(row.int(Self.behind + 5) == user.number ? row.int(Self.behind + 6) : row.int(Self.behind + 5)))
      (chat, realm) = (peer.address, peer.realm)
    }
    let seal = try seal(realm)
    return Conversation(
      chat: chat, room: isRoom ? dialog : nil, unread: row.int(Self.behind + 7), last: last,
      lastID: seal.seal(last.number),
      activity: activity, activityID: seal.seal(activity.number), message: row.isNull(0) ? nil : try entry(row))
  }
}

extension Query {
  /// A look at each dialog of the user.
  fileprivate static let displayed = Query(
    """
    SELECT m.displayed, m.position, d.id, d.kind, d.first, d.second
    FROM members m CROSS JOIN dialogs d ON d.id = m.dialog
    WHERE m.user = ?1 AND m.displayed > 0 ORDER BY m.position DESC LIMIT ?2
    """)

  /// Three looks at each dialog of the user, in one statement, so that page and counts are of one moment. `kept`: the
  /// flag that says whether an entry is in this user's archive (a room's: in the room's).
  private static func conversations(_ order: String, withMessages: Bool) -> Query {
    func last(_ flags: String) -> String {
      """
      (SELECT e.position FROM entries e WHERE e.dialog = l.dialog AND \(flags) ORDER BY e.position DESC LIMIT 1)
      """
    }
    let none = Array(repeating: "NULL", count: Reader.payloadColumns.split(separator: ",").count).joined(
      separator: ", ")
    return Query(
      """
      WITH listed AS (
        SELECT d.id AS dialog, d.kind AS kind, d.first AS first, d.second AS second,
          max(0, (d.ordinal - m.displayed_ordinal) - (\(own) - m.own_at_displayed)) AS unread,
          CASE WHEN d.second = ?1 AND d.first <> ?1 THEN \(EntryFlags.secondArchived.rawValue)
            ELSE \(EntryFlags.firstArchived.rawValue) END AS kept
        FROM members m CROSS JOIN dialogs d ON d.id = m.dialog WHERE m.user = ?1
      ), looked AS (
        SELECT l.dialog, l.kind, l.first, l.second, l.unread,
          \(last("e.flags & l.kept")) AS last,
          \(last("e.flags & l.kept AND e.flags & \(EntryFlags.shown.rawValue)")) AS said
        FROM listed l
      ), everything AS MATERIALIZED (
        SELECT dialog, kind, first, second, unread, last, said, coalesce(said, last) AS activity
        FROM looked WHERE last IS NOT NULL
      ), counts AS (
        SELECT count(*) AS total, coalesce(sum(unread > 0), 0) AS unread_conversations, coalesce(sum(unread), 0) AS unread
        FROM everything
      ), page AS (
        SELECT * FROM everything WHERE activity > ?2 AND activity < ?3 AND (?5 = 0 OR unread > 0)
        ORDER BY activity \(order) LIMIT ?4
      )
      SELECT \(withMessages ? payload : none), c.total, c.unread_conversations, c.unread,
        g.dialog, g.kind, g.first, g.second, g.unread, g.last, g.activity
      FROM counts c LEFT JOIN page g \(withMessages ? "LEFT JOIN payloads p ON p.position = g.said" : "")
      ORDER BY g.activity \(order)
      """)
  }
  private static let payload = Reader.payloadColumns
  fileprivate static let conversationsWhole = conversations("DESC", withMessages: true)
  fileprivate static let oldestConversationsWhole = conversations("ASC", withMessages: true)
  fileprivate static let conversations = conversations("DESC", withMessages: false)
  fileprivate static let oldestConversations = conversations("ASC", withMessages: false)
}
