import Basics
public import Dialogs

// Keys of backends. A key is looked up by the hash of its secret, which has 256 random bits: neither the time that takes nor
// the store's content tells anything of it.

extension Accounts {
  /// Makes a key. Its secret is told this once.
  ///
  /// - Throws: `.malformed` without a name or a scope; `.conflict` where the name is another key's; `.tooLarge` at
  ///   `Limits.appKeysMax`.
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
      // Ids are shown: they tell nothing of how many there are.
      id: .random(in: 1 << 32..<1 << 53), realm: realm, name: name, prefix: String(secret.prefix(12)),
      hash: Token.hash(secret), scopes: scopes, createdAt: parley.clock.now)
    try await parley.work(keepingCaches: true) { writer in
      let others = try writer.appKeys(in: realm)
      guard !others.contains(where: { $0.name == name }) else {
        throw Problem(.conflict, "name-taken", "There is a key of this name.", field: "name")
      }
      guard others.count < Limits.appKeysMax else {
        throw Problem(.tooLarge, "too-many-keys", "There are at most \(Limits.appKeysMax) keys; revoke one first.")
      }
      try writer.insert(key)
    }
    return (key, secret)
  }

  /// What a key's secret begins with, so that one that leaked is known for what it is.
  static let appKeyPrefix = "parley_"

  public func appKeys(in realm: RealmID) async throws(Problem) -> [AppKey] {
    try await parley.read { try $0.appKeys(in: realm) }
  }

  /// From now on it opens nothing.
  public func removeAppKey(_ id: Int64, in realm: RealmID) async throws(Problem) {
    guard try await parley.work(keepingCaches: true, { try $0.removeAppKey(id, in: realm) }) else {
      throw Problem(.missing, "key-unknown", "There is no such key.", field: "id")
    }
  }

  /// The key that has this secret.
  ///
  /// - Throws: `.unauthenticated`, of which no caller learns more.
  public func appKey(secret: String) async throws(Problem) -> AppKey {
    let hash = Token.hash(secret)
    guard secret.hasPrefix(Self.appKeyPrefix), let key = try await parley.read({ try $0.appKey(hash: hash) }) else {
      throw Problem(.unauthenticated, "key-invalid", "The key is not valid.")
    }
    let now = parley.clock.now
    if key.usedAt.map({ $0 + Limits.appKeyUseGrain <= now }) ?? true {
      // For the list: nobody waits for it.
      let work = WriteTransaction(keepsCaches: true) { writer in
        try writer.setUsed(now, appKey: key.id)
        return true
      }
      _ = parley.submit(Post(author: Parley.nobody, intent: .work(work), completion: .none))
    }
    return key
  }

  /// Notes a call; durable when it returns.
  public func note(_ operation: String, target: String, status: Int, by key: AppKey) async throws(Problem) {
    let target = String(decoding: target.utf8.prefix(Limits.auditTargetBytesMax), as: UTF8.self)
    let record = AuditRecord(
      realm: key.realm, key: key.id, keyName: key.name, time: parley.clock.now, operation: operation, target: target,
      status: status)
    try await parley.work(keepingCaches: true) { try $0.insert(record, keeping: Limits.auditRecordsMax) }
  }

  /// The newest first.
  public func audit(in realm: RealmID, before: Int64, limit: Int) async throws(Problem) -> [AuditRecord] {
    try await parley.read { try $0.audit(in: realm, before: before, limit: limit) }
  }
}
