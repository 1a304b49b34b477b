import Basics
import Dialogs

/// The nonces that have been used for a login.
extension Writer {
  func use(nonce id: String, in realm: RealmID, until expires: Timestamp, now: Timestamp) throws {
    // More are deleted than added: the table is never much larger than its valid rows.
    try connection(.deleteOldNonces).bind(1, now.milliseconds).bind(2, Self.noncesForgottenAtOnce).run()
    let isNew = try connection(.insertNonce).bind(1, realm.number).bind(2, id).bind(3, expires.milliseconds)
      .first { _ in true }
    if isNew == nil { throw StoreConflict() }
  }

  private static let noncesForgottenAtOnce: Int64 = 8
}

extension Query {
  /// It returns no row if the nonce was used before.
  fileprivate static let insertNonce = Query(
    "INSERT INTO used_nonces (realm, nonce, expires) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING RETURNING 1")
  fileprivate static let deleteOldNonces = Query(
    """
    DELETE FROM used_nonces WHERE (realm, nonce) IN
      (SELECT realm, nonce FROM used_nonces WHERE expires <= ?1 ORDER BY expires LIMIT ?2)
    """)
}
