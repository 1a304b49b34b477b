import Addresses
import Basics
import Dialogs

/// The scheduled messages of users.
extension Reader {
  func scheduled(_ id: Int64, of user: UserID) throws -> ScheduledMessage? {
    try connection(.scheduled, user, id).first { try scheduled($0) }
  }

  func scheduled(of user: UserID) throws -> [ScheduledMessage] {
    try connection(.scheduledOf, user).all { try scheduled($0) }
  }

  func scheduledCount(of user: UserID) throws -> Int {
    Int(try connection(.scheduledCount, user).first { $0.int(0) } ?? 0)
  }

  func dueAuthors(at time: Timestamp, limit: Int) throws -> [UserID] {
    try connection(.dueAuthors, time, bound(limit)).all { UserID($0.int(0)) }
  }

  func nextDue(after time: Timestamp) throws -> Timestamp? {
    try connection(.nextDue, time).first { Timestamp(milliseconds: $0.int(0)) }
  }

  private func scheduled(_ row: Prepared) throws -> ScheduledMessage {
    var scheduled = ScheduledMessage(
      id: row.int(1), author: try known(UserID(row.int(0))), dialog: DialogID(row.int(2)),
      createdAt: Timestamp(milliseconds: row.int(3)), due: Timestamp(milliseconds: row.int(4)),
      content: Content(kind: .text),
      key: RepeatKey(rule: .app, id: row.text(5), bodyHash: UInt64(bitPattern: row.int(6))),
      failure: row.textOrNil(8).map { ScheduledMessage.Failure(code: $0, text: row.text(9)) },
      position: Position(row.int(10)))
    try FactCoding.decode(row.bytes(7), into: &scheduled)
    return scheduled
  }
}

extension Writer {
  func put(_ scheduled: ScheduledMessage) throws {
    try connection(
      .putScheduled, scheduled.author.id, scheduled.id, scheduled.dialog, scheduled.createdAt, scheduled.due,
      scheduled.key.id
    ).bind(
      scheduled.key.bodyHash, FactCoding.encode(scheduled), scheduled.failure?.code, scheduled.failure?.text,
      scheduled.position
    ).run()
  }

  func removeScheduled(_ id: Int64, of user: UserID) throws {
    try connection(.deleteScheduled, user, id).run()
  }
}

extension FactCoding {
  /// Encodes the content of a scheduled message.
  static func encode(_ scheduled: ScheduledMessage) -> [UInt8] {
    var out = ByteWriter()
    out.write(version)
    let content = scheduled.content
    out.write(Int64(content.kind.rawValue))
    out.write(content.text)
    out.write(content.fields) { $0.write($1) }
    out.write(encode(content.attachments)) { $0.write($1) }
    out.write(scheduled.replyTo) { $0.write($1.description) }
    out.write(scheduled.mentions) {
      $0.write($1.address.description)
      $0.write($1.begin) { $0.write(Int64($1)) }
      $0.write($1.end) { $0.write(Int64($1)) }
    }
    return out.bytes
  }

  static func decode(_ bytes: [UInt8], into scheduled: inout ScheduledMessage) throws(StoreFailure) {
    var from = ByteReader(bytes)
    guard try from.int() == version, let kind = Content.Kind(rawValue: UInt8(clamping: try from.int())) else {
      throw damaged
    }
    let words = try from.text()
    let fields = try from.optional(text)
    let attachments = try from.optional { from throws(StoreFailure) in try from.array() }
    scheduled.content = Content(
      kind: kind, text: words, fields: fields, attachments: try decode(attachments: attachments))
    scheduled.replyTo = try from.optional(text).flatMap { PublicID($0) }
    scheduled.mentions = try from.list { from throws(StoreFailure) in
      guard let address = JID(stored: try from.text()) else { throw damaged }
      return MentionDraft(address: address, begin: try place(&from), end: try place(&from))
    }
  }

  private static func place(_ from: inout ByteReader) throws(StoreFailure) -> Int? {
    try from.optional { from throws(StoreFailure) in Int(clamping: try from.int()) }
  }
}

extension Query {

  private static let columns =
    "user, id, dialog, created, due, client_id, body_hash, said, failure_code, failure_text, position"
  fileprivate static let scheduled = Query("SELECT \(columns) FROM scheduled WHERE user = ?1 AND id = ?2")
  /// It sorts the messages of one user, at most `Limits.scheduledPerUserMax`.
  fileprivate static let scheduledOf = Query(
    "SELECT \(columns) FROM scheduled WHERE user = ?1 ORDER BY due, id")
  fileprivate static let scheduledCount = Query("SELECT count(*) FROM scheduled WHERE user = ?1")
  /// The index contains the key of the table, so no row is read.
  fileprivate static let dueAuthors = Query(
    """
    SELECT user FROM scheduled INDEXED BY scheduled_due
    WHERE failure_code IS NULL AND due <= ?1 ORDER BY due LIMIT ?2
    """)
  fileprivate static let nextDue = Query(
    """
    SELECT due FROM scheduled INDEXED BY scheduled_due
    WHERE failure_code IS NULL AND due > ?1 ORDER BY due LIMIT 1
    """)
  fileprivate static let putScheduled = Query(
    """
    INSERT OR REPLACE INTO scheduled (\(columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    """)
  fileprivate static let deleteScheduled = Query("DELETE FROM scheduled WHERE user = ?1 AND id = ?2")
}
