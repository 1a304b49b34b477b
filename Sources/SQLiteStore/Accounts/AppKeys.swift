import Basics
import Dialogs

/// The keys of backends, and the record of their calls.
extension Reader {
  func appKey(hash: [UInt8]) throws -> AppKey? { try connection(.appKeyByHash).bind(1, hash).first(Self.appKey) }

  func appKeys(in realm: RealmID) throws -> [AppKey] {
    try connection(.appKeys).bind(1, realm.number).all(Self.appKey)
  }

  func audit(in realm: RealmID, before: Int64, limit: Int) throws -> [AuditRecord] {
    try connection(.audit).bind(1, realm.number).bind(2, before).bind(3, bound(limit)).all { row in
      AuditRecord(
        id: row.int(0), realm: realm, key: row.int(1), keyName: row.text(2),
        time: Timestamp(milliseconds: row.int(3)), operation: row.text(4), target: row.text(5),
        status: Int(row.int(6)))
    }
  }

  /// A scope that this release does not know permits nothing.
  private static func appKey(_ row: Prepared) -> AppKey {
    AppKey(
      id: row.int(0), realm: RealmID(row.int(1)), name: row.text(2), prefix: row.text(3), hash: row.bytes(4),
      scopes: Set(row.text(5).split(separator: " ").compactMap { AppKey.Scope(rawValue: String($0)) }),
      createdAt: Timestamp(milliseconds: row.int(6)), usedAt: row.intOrNil(7).map { Timestamp(milliseconds: $0) })
  }
}

extension Writer {
  func insert(_ key: AppKey) throws {
    try connection(.insertAppKey).bind(1, key.id).bind(2, key.realm.number).bind(3, key.name).bind(4, key.prefix)
      .bind(5, key.hash).bind(6, key.scopes.map(\.rawValue).sorted().joined(separator: " "))
      .bind(7, key.createdAt.milliseconds).bind(8, key.usedAt?.milliseconds).run()
  }

  func setUsed(_ time: Timestamp, appKey: Int64) throws {
    try connection(.setAppKeyUsed).bind(1, appKey).bind(2, time.milliseconds).run()
  }

  func removeAppKey(_ id: Int64, in realm: RealmID) throws -> Bool {
    try connection(.deleteAppKey).bind(1, id).bind(2, realm.number).first { _ in true } ?? false
  }

  func insert(_ record: AuditRecord, keeping: Int) throws {
    try connection(.insertAudit).bind(1, record.realm.number).bind(2, record.key).bind(3, record.keyName)
      .bind(4, record.time.milliseconds).bind(5, record.operation).bind(6, record.target).bind(7, Int64(record.status))
      .run()
    try connection(.trimAudit).bind(1, record.realm.number).bind(2, Int64(keeping)).run()
  }
}

extension Query {
  private static let keyColumns = "id, realm, name, prefix, hash, scopes, created, used"
  fileprivate static let appKeyByHash = Query("SELECT \(keyColumns) FROM app_keys WHERE hash = ?1")
  fileprivate static let appKeys = Query("SELECT \(keyColumns) FROM app_keys WHERE realm = ?1 ORDER BY id")
  fileprivate static let insertAppKey = Query(
    "INSERT INTO app_keys (\(keyColumns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
  fileprivate static let setAppKeyUsed = Query("UPDATE app_keys SET used = ?2 WHERE id = ?1")
  fileprivate static let deleteAppKey = Query("DELETE FROM app_keys WHERE id = ?1 AND realm = ?2 RETURNING id")
  fileprivate static let audit = Query(
    """
    SELECT id, key, name, time, operation, target, status FROM audit
    WHERE realm = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3
    """)
  fileprivate static let insertAudit = Query(
    """
    INSERT INTO audit (realm, key, name, time, operation, target, status) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    """)
  /// Deletes old rows with one look at the index's end: ids are issued one after another, to all realms together, so
  /// that a realm keeps at most this many, and loses old rows as new ones come.
  fileprivate static let trimAudit = Query(
    "DELETE FROM audit WHERE realm = ?1 AND id <= (SELECT max(id) FROM audit) - ?2")
}
