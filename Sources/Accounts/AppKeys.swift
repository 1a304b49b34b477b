import Basics
public import Dialogs

// The keys of backends. A key is looked up by the hash of its secret, which has 256 random bits: neither the time of
// the lookup nor the store's content reveals anything about it.

extension Accounts {
  /// Creates a key, and returns its secret this once.
  ///
  /// - Throws: `.malformed` without a name or a scope; `.conflict` if another key has the name; `.tooLarge` at
  ///   `AccountLimits.appKeysMax`.
  public func makeAppKey(
    name: String, scopes: Set<AppKey.Scope>, in realm: RealmID
  ) async throws(Problem) -> (key: AppKey, secret: String) {
    guard !name.isEmpty, name.utf8.count <= Limits.displayNameBytesMax else {
      throw Problem(
        .malformed, "name-malformed", "A key has a name of 1 to \(Limits.displayNameBytesMax) bytes.", field: "name")
    }
    guard !scopes.isEmpty else {
      throw Problem(.malformed, "scopes-missing", "A key has at least one scope.", field: "scopes")
    }
    let secret = Self.appKeyPrefix + Token.make().text
    let key = AppKey(
      // Ids are public: random ones do not reveal their number.
      id: .random(in: 1 << 32..<1 << 53), realm: realm, name: name, prefix: String(secret.prefix(12)),
      hash: Token.hash(secret), scopes: scopes, createdAt: parley.clock.now)
    try await parley.work(keepingCaches: true) { writer in
      let others = try writer.appKeys(in: realm)
      guard !others.contains(where: { $0.name == name }) else {
        throw Problem(.conflict, "name-taken", "There is a key of this name.", field: "name")
      }
      guard others.count < AccountLimits.appKeysMax else {
        throw Problem(
          .tooLarge, "too-many-keys", "There are at most \(AccountLimits.appKeysMax) keys; revoke one first.")
      }
      try writer.put(key)
    }
    return (key, secret)
  }

  /// The prefix of every key's secret, which makes a leaked one recognisable.
  package static let appKeyPrefix = "parley_"

  public func appKeys(in realm: RealmID) async throws(Problem) -> [AppKey] {
    try await parley.read { try $0.appKeys(in: realm) }
  }

  /// Revokes a key.
  public func removeAppKey(_ id: Int64, in realm: RealmID) async throws(Problem) {
    guard try await parley.work(keepingCaches: true, { try $0.removeAppKey(id, in: realm) }) else {
      throw Problem(.missing, "key-unknown", "There is no such key.", field: "id")
    }
  }

  /// Returns the key with this secret.
  ///
  /// - Throws: `.unauthenticated`, without details.
  public func appKey(secret: String) async throws(Problem) -> AppKey {
    let hash = Token.hash(secret)
    guard secret.hasPrefix(Self.appKeyPrefix), let key = try await parley.read({ try $0.appKey(hash: hash) }) else {
      throw Problem(.unauthenticated, "key-invalid", "The key is not valid.")
    }
    let now = parley.clock.now
    if key.usedAt.map({ $0 + AccountLimits.appKeyUseGrain <= now }) ?? true {
      // Only for the list, so no one waits for it.
      let work = WriteTransaction(keepsCaches: true) { writer in
        try writer.setUsed(now, appKey: key.id)
        return true
      }
      _ = parley.submit(Post(author: Parley.nobody, intent: .work(work), completion: .none))
    }
    return key
  }
}
