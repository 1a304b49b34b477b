import Dialogs

/// The mentions in messages.
extension Reader {
  func mentions(of user: UserID, in dialog: DialogID?) throws -> Int64 {
    guard let dialog else { return try connection(.unreadMentions, user).first { $0.int(0) } ?? 0 }
    return try connection(.unreadMentionsIn, user, dialog).first { $0.int(0) } ?? 0
  }
}

extension Writer {
  func setMentioned(_ users: [UserID], by position: Position, in dialog: DialogID) throws {
    let found = try connection(.countingOrdinal, dialog, position).first { $0.int(0) }
    guard let ordinal = found else { return }
    try connection(.deleteMentions, dialog, ordinal).run()
    let insert = try connection(.insertMention)
    for user in users { try insert.bind(dialog, ordinal, user).run() }
  }
}

extension FactCoding {
  /// Encodes mentions; `nil` if there are none.
  static func encode(_ mentions: [Mention]) -> [UInt8]? {
    if mentions.isEmpty { return nil }
    var out = ByteWriter()
    out.write(version)
    out.write(mentions) {
      $0.write($1.party.id.number)
      switch $1.name {
      case .address: $0.write(Int64(1))
      case .nick(let nick):
        $0.write(Int64(2))
        $0.write(nick)
      case .unnamed: $0.write(Int64(3))
      }
      $0.write($1.place) {
        $0.write(Int64($1.lowerBound))
        $0.write(Int64($1.upperBound))
      }
    }
    return out.bytes
  }

  /// Decodes mentions.
  static func decode(mentions bytes: [UInt8]?, party: (UserID) throws -> Party) throws -> [Mention] {
    guard let bytes else { return [] }
    var from = ByteReader(bytes)
    guard try from.int() == version else { throw damaged }
    let mentions = try from.list {
      (from: inout ByteReader) throws(StoreFailure) -> (user: UserID, name: Mention.Name, place: Range<Int>?) in
      (user: UserID(try from.int()), name: try name(&from), place: try from.optional(place))
    }
    return try mentions.map { Mention(party: try party($0.user), name: $0.name, place: $0.place) }
  }

  private static func name(_ from: inout ByteReader) throws(StoreFailure) -> Mention.Name {
    switch try from.int() {
    case 1: .address
    case 2: .nick(try from.text())
    case 3: .unnamed
    default: throw damaged
    }
  }

  private static func place(_ from: inout ByteReader) throws(StoreFailure) -> Range<Int> {
    let (begin, end) = (Int(clamping: try from.int()), Int(clamping: try from.int()))
    guard begin <= end else { throw damaged }
    return begin..<end
  }
}

extension Query {
  /// Reads a row of each dialog of the user, as for `unread`, and its unread mentions.
  fileprivate static let unreadMentions = Query(
    """
    SELECT coalesce(sum(\(mentionsShare(in: "m"))), 0)
    FROM members m CROSS JOIN dialogs d ON d.id = m.dialog WHERE m.user = ?1 AND d.kind < \(Reader.endingKind)
    """)
  fileprivate static let unreadMentionsIn = Query(
    """
    SELECT \(countMentions(in: "m", "\(Limits.mentionsCountedMax - 1)"))
    FROM members m WHERE m.user = ?1 AND m.dialog = ?2
    """)
  /// The expression of a dialog's unread mentions, in queries of all dialogs of the user `?1`. Each dialog with mentions gets the
  /// same share of `Limits.mentionLooksMax`, which the engine computes once for a query, at the first of them.
  static func mentionsShare(in row: String) -> String {
    countMentions(
      in: row,
      """
      (SELECT max(1, min(\(Limits.mentionsCountedMax), \(Limits.mentionLooksMax) / max(1, count(*)))) - 1
        FROM members x WHERE x.user = ?1 AND EXISTS (
          SELECT 1 FROM mentions y WHERE y.user = ?1 AND y.dialog = x.dialog AND y.ordinal > x.displayed_ordinal))
      """)
  }
  /// - Parameters:
  ///   - row: the name of the row with the columns `dialog` and `displayed_ordinal`.
  ///   - offset: the number of mentions before the last one that is counted.
  private static func countMentions(in row: String, _ offset: String) -> String {
    func unread(_ name: String) -> String {
      "\(name).user = ?1 AND \(name).dialog = \(row).dialog AND \(name).ordinal > \(row).displayed_ordinal"
    }
    return """
      CASE WHEN EXISTS (SELECT 1 FROM mentions e WHERE \(unread("e"))) THEN (
        SELECT count(*) FROM mentions n WHERE \(unread("n")) AND n.ordinal <= coalesce((
          SELECT b.ordinal FROM mentions b WHERE \(unread("b")) ORDER BY b.ordinal LIMIT 1 OFFSET \(offset)
        ), \(Int64.max))
      ) ELSE 0 END
      """
  }
  fileprivate static let countingOrdinal = Query(
    """
    SELECT ordinal FROM entries WHERE dialog = ?1 AND position = ?2 AND flags & \(EntryFlags.counts.rawValue)
    """)
  static let deleteMentions = Query("DELETE FROM mentions WHERE dialog = ?1 AND ordinal = ?2")
  fileprivate static let insertMention = Query("INSERT INTO mentions (dialog, ordinal, user) VALUES (?1, ?2, ?3)")
}
