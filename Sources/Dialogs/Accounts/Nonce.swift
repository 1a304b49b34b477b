public import Basics

public protocol NonceWriter {
  /// Uses up a nonce. Throws `StoreConflict` if it was used before. Removes some of those that have expired at `now`.
  func use(nonce id: String, in realm: RealmID, until expires: Timestamp, now: Timestamp) throws
}
