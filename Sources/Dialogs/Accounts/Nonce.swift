public import Basics

public protocol NonceWriter {
  /// Throws `StoreConflict` where it was used before. Forgets some of those whose time is over at `now`.
  func use(nonce id: String, in realm: RealmID, until expires: Timestamp, now: Timestamp) throws
}
