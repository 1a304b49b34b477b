public import Basics

/// A nonce that was used for a login.
struct UsedNonce {
  let realm: RealmID
  let nonce: String
  let expires: Timestamp
}

extension UsedNonce: Record {
  enum Field: String, CaseIterable, Sendable {
    case realm, nonce, expires
  }
  static let kind = "used_nonces"
  static let key: [Field] = [.realm, .nonce]
  var fields: [FieldValue] {
    [realm.field, nonce.field, expires.field]
  }
  init(_ fields: inout FieldReader) throws {
    try self.init(realm: fields.next(), nonce: fields.next(), expires: fields.next())
  }
}

extension RecordWriter {
  /// Uses up a nonce. Throws `StoreConflict` if it was used before. Removes some of those that have expired at `now`.
  public func use(nonce id: String, in realm: RealmID, until expires: Timestamp, now: Timestamp) throws {
    // More are removed than added: there are never many more than the valid ones.
    for old in try records(UsedNonce.self, .atMost(.expires, now), by: .expires, limit: 8) { try remove(old) }
    let nonce = UsedNonce(realm: realm, nonce: id, expires: expires)
    if try record(UsedNonce.self, .equal(.realm, realm), .equal(.nonce, id)) != nil { throw StoreConflict() }
    try put(nonce)
  }
}
