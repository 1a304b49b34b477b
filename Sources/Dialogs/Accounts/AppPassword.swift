public import Basics

/// A password for one client (`Accounts.makeAppPassword`). Its keys have the salts and iterations of the account's
/// password: docs/decisions/0010-app-passwords.md explains why.
public struct AppPassword: Hashable, Sendable {
  public var id: Int64
  public let user: UserID
  /// The user's name for it.
  public let name: String
  public let createdAt: Timestamp
  /// The time of the last use; `nil` if it was never used.
  public var usedAt: Timestamp?

  public init(id: Int64, user: UserID, name: String, createdAt: Timestamp, usedAt: Timestamp?) {
    self.id = id
    self.user = user
    self.name = name
    self.createdAt = createdAt
    self.usedAt = usedAt
  }
}

extension AppPassword: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, user, name, createdAt = "created", usedAt = "used"
  }
  public static let kind = "app_passwords"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [id.field, user.field, name.field, createdAt.field, usedAt.field]
  }
  public init(_ fields: inout FieldReader) throws {
    try self.init(
      id: fields.next(), user: fields.next(), name: fields.next(), createdAt: fields.next(), usedAt: fields.next())
  }
}

/// The keys of an app password for one mechanism, which has the salt and the iterations of the account's own.
struct AppPasswordKeys {
  let user: UserID
  let password: Int64
  let hash: SCRAMHash
  let storedKey: [UInt8]
  let serverKey: [UInt8]
}

extension AppPasswordKeys: Record {
  enum Field: String, CaseIterable, Sendable {
    case user, password, hash, storedKey = "stored_key", serverKey = "server_key"
  }
  static let kind = "app_password_keys"
  static let key: [Field] = [.user, .password, .hash]
  var fields: [FieldValue] {
    [user.field, password.field, hash.field, storedKey.field, serverKey.field]
  }
  init(_ fields: inout FieldReader) throws {
    try self.init(
      user: fields.next(), password: fields.next(), hash: fields.next(), storedKey: fields.next(),
      serverKey: fields.next())
  }
}

extension RecordReader {
  /// Returns the user's app passwords, by id.
  public func appPasswords(of user: UserID) throws -> [AppPassword] {
    try records(AppPassword.self, .equal(.user, user))
  }

  /// Returns the keys of all app passwords of the user; `salt` and `iterations` are those of the account's own.
  public func appPasswordKeys(of user: UserID) throws -> [(password: Int64, keys: SCRAMKeys)] {
    let own = try credentials(of: user)
    return try records(AppPasswordKeys.self, .equal(.user, user)).compactMap { row in
      own.first { $0.hash == row.hash }.map { own in
        let keys = SCRAMKeys(
          hash: row.hash, salt: own.salt, iterations: own.iterations, storedKey: row.storedKey,
          serverKey: row.serverKey)
        return (row.password, keys)
      }
    }
  }
}

extension RecordWriter {
  /// Stores an app password, and returns it with its id.
  public func insertAppPassword(_ password: AppPassword, keys: [SCRAMKeys]) throws -> AppPassword {
    let password = try put(password)
    for keys in keys {
      try put(
        AppPasswordKeys(
          user: password.user, password: password.id, hash: keys.hash, storedKey: keys.storedKey,
          serverKey: keys.serverKey))
    }
    return password
  }

  public func setUsed(_ time: Timestamp, appPassword: Int64, of user: UserID) throws {
    try update(AppPassword.self, .equal(.id, appPassword), .equal(.user, user), to: [.usedAt: time.field])
  }

  public func removeAppPassword(_ id: Int64, of user: UserID) throws {
    try remove(AppPasswordKeys.self, .equal(.user, user), .equal(.password, id))
    try remove(AppPassword.self, .equal(.id, id), .equal(.user, user))
  }

  public func removeAppPasswords(of user: UserID) throws {
    try remove(AppPasswordKeys.self, .equal(.user, user))
    try remove(AppPassword.self, .equal(.user, user))
  }
}
