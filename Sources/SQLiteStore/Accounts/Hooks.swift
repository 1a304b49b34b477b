import Basics
import Dialogs

/// The hooks, their events besides the log, and those that were not taken.
extension Reader {
  func hooks() throws -> [Hook] { try connection(.hooks).all(Self.hook) }

  func hook(_ id: Int64) throws -> Hook? { try connection(.hook).bind(1, id).first(Self.hook) }

  func log(after: Position, limit: Int) throws -> [Entry] {
    try connection(.logAfter).bind(1, after.number).bind(2, bound(limit)).all { try entry($0) }
  }

  func entry(at position: Position) throws -> Entry? {
    try connection(.entryAt).bind(1, position.number).first { try entry($0) }
  }

  func occurrences(in realm: RealmID, after: Int64, limit: Int) throws -> [Occurrence] {
    try connection(.occurrences).bind(1, realm.number).bind(2, after).bind(3, bound(limit)).all(Self.occurrence)
  }

  func occurrence(_ id: Int64) throws -> Occurrence? {
    try connection(.occurrence).bind(1, id).first(Self.occurrence)
  }

  func lastOccurrence() throws -> Int64 { try connection(.lastOccurrence).first { $0.int(0) } ?? 0 }

  func hookFailures(of hook: Int64, after: Int64, limit: Int) throws -> [HookFailure] {
    try connection(.hookFailures).bind(1, hook).bind(2, after).bind(3, bound(limit)).all(Self.failure)
  }

  func dueHookFailures(of hook: Int64, limit: Int) throws -> [HookFailure] {
    try connection(.dueHookFailures).bind(1, hook).bind(2, bound(limit)).all(Self.failure)
  }

  func hookFailureCount(of hook: Int64) throws -> Int {
    try connection(.hookFailureCount).bind(1, hook).first { Int($0.int(0)) } ?? 0
  }

  private static func hook(_ row: Prepared) throws -> Hook {
    guard let state = Hook.State(rawValue: UInt8(clamping: row.int(9))) else {
      throw StoreFailure.corrupt("webhook \(row.int(0)) is in an unknown state")
    }
    var progress = Hook.Progress(position: Position(row.int(10)), occurrence: row.int(11))
    progress.state = state
    progress.attempts = Int(row.int(12))
    progress.failures = Int(row.int(13))
    progress.failingSince = row.intOrNil(14).map { Timestamp(milliseconds: $0) }
    progress.next = row.intOrNil(15).map { Timestamp(milliseconds: $0) }
    progress.reason = row.textOrNil(16)
    return Hook(
      id: row.int(0), realm: RealmID(row.int(1)), url: row.text(2),
      events: row.text(3).split(separator: " ").map(String.init), secret: row.bytes(4),
      previousSecret: row.bytesOrNil(5), previousUntil: row.intOrNil(6).map { Timestamp(milliseconds: $0) },
      isTrusted: row.int(7) != 0, createdAt: Timestamp(milliseconds: row.int(8)), progress: progress)
  }

  private static func occurrence(_ row: Prepared) throws -> Occurrence {
    guard let kind = Occurrence.Kind(rawValue: UInt8(clamping: row.int(2))) else {
      throw StoreFailure.corrupt("occurrence \(row.int(0)) is of an unknown kind")
    }
    return Occurrence(
      id: row.int(0), realm: RealmID(row.int(1)), kind: kind, user: UserID(row.int(3)), detail: row.int(4),
      time: Timestamp(milliseconds: row.int(5)), position: Position(row.int(6)))
  }

  private static func failure(_ row: Prepared) -> HookFailure {
    HookFailure(
      id: row.int(0), hook: row.int(1), position: Position(row.int(2)), occurrence: row.int(3), event: row.text(4),
      message: row.text(5), failedAt: Timestamp(milliseconds: row.int(6)), reason: row.text(7),
      isDue: row.int(8) != 0)
  }
}

extension Writer {
  func put(_ hook: Hook) throws {
    try connection(.putHook).bind(1, hook.id).bind(2, hook.realm.number).bind(3, hook.url)
      .bind(4, hook.events.joined(separator: " ")).bind(5, hook.secret).bind(6, hook.previousSecret)
      .bind(7, hook.previousUntil?.milliseconds).bind(8, hook.isTrusted ? 1 : 0).bind(9, hook.createdAt.milliseconds)
      .bind(10, Int64(hook.progress.state.rawValue)).bind(11, hook.progress.position.number)
      .bind(12, hook.progress.occurrence).run()
  }

  func setProgress(_ progress: Hook.Progress, of hook: Int64) throws {
    try connection(.setHookProgress).bind(1, hook).bind(2, Int64(progress.state.rawValue))
      .bind(3, progress.position.number).bind(4, progress.occurrence).bind(5, Int64(progress.attempts))
      .bind(6, Int64(progress.failures)).bind(7, progress.failingSince?.milliseconds)
      .bind(8, progress.next?.milliseconds).bind(9, progress.reason).run()
  }

  func removeHook(_ id: Int64) throws {
    try connection(.deleteHook).bind(1, id).run()
    try connection(.deleteHookFailures).bind(1, id).run()
  }

  func insert(_ occurrence: Occurrence) throws {
    try connection(.insertOccurrence).bind(1, occurrence.realm.number).bind(2, Int64(occurrence.kind.rawValue))
      .bind(3, occurrence.user.number).bind(4, occurrence.detail).bind(5, occurrence.time.milliseconds)
      .bind(6, occurrence.position.number).run()
    try connection(.trimOccurrences).bind(1, occurrence.realm.number).bind(2, Int64(Limits.occurrencesMax)).run()
  }

  func removeOccurrences(in realm: RealmID, upTo id: Int64) throws {
    try connection(.deleteOccurrences).bind(1, realm.number).bind(2, id).run()
  }

  func insert(_ failure: HookFailure, keeping: Int) throws {
    try connection(.insertHookFailure).bind(1, failure.hook).bind(2, failure.position.number)
      .bind(3, failure.occurrence).bind(4, failure.event).bind(5, failure.message)
      .bind(6, failure.failedAt.milliseconds).bind(7, failure.reason).bind(8, failure.isDue ? 1 : 0).run()
    try connection(.trimHookFailures).bind(1, failure.hook).bind(2, Int64(keeping)).run()
  }

  func update(_ failure: HookFailure) throws {
    try connection(.updateHookFailure).bind(1, failure.id).bind(2, failure.reason)
      .bind(3, failure.failedAt.milliseconds).bind(4, failure.isDue ? 1 : 0).run()
  }

  func setHookFailuresDue(_ ids: [Int64]?, of hook: Int64) throws -> Int {
    try each(ids, of: hook, one: .setHookFailureDue, all: .setHookFailuresDue)
  }

  func removeHookFailures(_ ids: [Int64]?, of hook: Int64) throws -> Int {
    try each(ids, of: hook, one: .deleteHookFailure, all: .deleteHookFailuresReturning)
  }

  private func each(_ ids: [Int64]?, of hook: Int64, one: Query, all: Query) throws -> Int {
    guard let ids else { return try connection(all).bind(1, hook).all { $0.int(0) }.count }
    var count = 0
    for id in Set(ids) { count += try connection(one).bind(1, hook).bind(2, id).all { $0.int(0) }.count }
    return count
  }
}

extension Query {
  private static let hookColumns = """
    id, realm, url, events, secret, previous, previous_until, trusted, created, state, position, occurrence, attempts,
    failures, failing_since, next, reason
    """
  fileprivate static let hooks = Query("SELECT \(hookColumns) FROM hooks ORDER BY id")
  fileprivate static let hook = Query("SELECT \(hookColumns) FROM hooks WHERE id = ?1")
  fileprivate static let putHook = Query(
    """
    INSERT INTO hooks (id, realm, url, events, secret, previous, previous_until, trusted, created, state, position,
      occurrence)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
    ON CONFLICT (id) DO UPDATE SET url = ?3, events = ?4, secret = ?5, previous = ?6, previous_until = ?7
    """)
  fileprivate static let setHookProgress = Query(
    """
    UPDATE hooks SET state = ?2, position = ?3, occurrence = ?4, attempts = ?5, failures = ?6, failing_since = ?7,
      next = ?8, reason = ?9
    WHERE id = ?1
    """)
  fileprivate static let deleteHook = Query("DELETE FROM hooks WHERE id = ?1")

  fileprivate static let logAfter = Query(
    "SELECT \(Reader.payloadColumns) FROM payloads p WHERE p.position > ?1 ORDER BY p.position LIMIT ?2")
  fileprivate static let entryAt = Query("SELECT \(Reader.payloadColumns) FROM payloads p WHERE p.position = ?1")

  private static let occurrenceColumns = "id, realm, kind, user, detail, time, position"
  fileprivate static let occurrences = Query(
    "SELECT \(occurrenceColumns) FROM occurrences WHERE realm = ?1 AND id > ?2 ORDER BY id LIMIT ?3")
  fileprivate static let occurrence = Query("SELECT \(occurrenceColumns) FROM occurrences WHERE id = ?1")
  /// The last id from the sequence, since the last row may have been deleted.
  fileprivate static let lastOccurrence = Query("SELECT seq FROM sqlite_sequence WHERE name = 'occurrences'")
  fileprivate static let insertOccurrence = Query(
    "INSERT INTO occurrences (realm, kind, user, detail, time, position) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
  fileprivate static let trimOccurrences = Query(
    "DELETE FROM occurrences WHERE realm = ?1 AND id <= (SELECT max(id) FROM occurrences) - ?2")
  fileprivate static let deleteOccurrences = Query(
    """
    DELETE FROM occurrences WHERE realm = ?1 AND id <= ?2
      AND NOT EXISTS (SELECT 1 FROM hook_failures f WHERE f.occurrence = occurrences.id)
    """)

  private static let failureColumns = "id, hook, position, occurrence, event, message, failed, reason, due"
  fileprivate static let hookFailures = Query(
    "SELECT \(failureColumns) FROM hook_failures WHERE hook = ?1 AND id > ?2 ORDER BY id LIMIT ?3")
  fileprivate static let dueHookFailures = Query(
    "SELECT \(failureColumns) FROM hook_failures WHERE hook = ?1 AND due = 1 ORDER BY id LIMIT ?2")
  fileprivate static let hookFailureCount = Query("SELECT count(*) FROM hook_failures WHERE hook = ?1")
  fileprivate static let insertHookFailure = Query(
    """
    INSERT OR REPLACE INTO hook_failures (hook, position, occurrence, event, message, failed, reason, due)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    """)
  fileprivate static let trimHookFailures = Query(
    """
    DELETE FROM hook_failures WHERE hook = ?1 AND id NOT IN (
      SELECT id FROM hook_failures WHERE hook = ?1 ORDER BY id DESC LIMIT ?2)
    """)
  fileprivate static let updateHookFailure = Query(
    "UPDATE hook_failures SET reason = ?2, failed = ?3, due = ?4 WHERE id = ?1")
  fileprivate static let setHookFailureDue = Query(
    "UPDATE hook_failures SET due = 1 WHERE hook = ?1 AND id = ?2 RETURNING id")
  fileprivate static let setHookFailuresDue = Query("UPDATE hook_failures SET due = 1 WHERE hook = ?1 RETURNING id")
  fileprivate static let deleteHookFailure = Query("DELETE FROM hook_failures WHERE hook = ?1 AND id = ?2 RETURNING id")
  fileprivate static let deleteHookFailuresReturning = Query("DELETE FROM hook_failures WHERE hook = ?1 RETURNING id")
  fileprivate static let deleteHookFailures = Query("DELETE FROM hook_failures WHERE hook = ?1")
}
