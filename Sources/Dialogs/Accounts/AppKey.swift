public import Basics

/// A key of the operator's backend: a secret with limited permissions in one realm. Only the SHA-256 of the secret is
/// stored.
public struct AppKey: Hashable, Sendable {
  /// A permission of a key. Raw values are on the wire and stored: never change.
  public enum Scope: String, Hashable, Sendable, CaseIterable {
    case usersRead = "users:read"
    case usersWrite = "users:write"
    /// Logging users in, as any of them.
    case sessionsWrite = "sessions:write"
    case dialogsRead = "dialogs:read"
    case dialogsWrite = "dialogs:write"
    case messagesRead = "messages:read"
    case messagesWrite = "messages:write"
    case messagesModerate = "messages:moderate"
    case reports
    case announcements
    case notifications
    case webhooks
    case audit
  }

  public let id: Int64
  public let realm: RealmID
  /// The display name.
  public let name: String
  /// The beginning of the secret, for recognition.
  public let prefix: String
  public let hash: [UInt8]
  public let scopes: Set<Scope>
  public let createdAt: Timestamp
  /// The time of the last use, with a precision of `Limits.appKeyUseGrain`.
  public var usedAt: Timestamp?

  public init(
    id: Int64, realm: RealmID, name: String, prefix: String, hash: [UInt8], scopes: Set<Scope>, createdAt: Timestamp,
    usedAt: Timestamp? = nil
  ) {
    self.id = id
    self.realm = realm
    self.name = name
    self.prefix = prefix
    self.hash = hash
    self.scopes = scopes
    self.createdAt = createdAt
    self.usedAt = usedAt
  }
}

/// The record of a call by a key, for the operator.
public struct AuditRecord: Hashable, Sendable {
  /// The id, which increases; 0 asks the store for a new one.
  public var id: Int64
  public let realm: RealmID
  public let key: Int64
  /// The key's name, which is kept after the key is removed.
  public let keyName: String
  public let time: Timestamp
  /// The operation's name, such as `users.add`.
  public let operation: String
  /// The called path, at most `Limits.auditTargetBytesMax`.
  public let target: String
  /// The HTTP status of the answer.
  public let status: Int

  public init(
    id: Int64 = 0, realm: RealmID, key: Int64, keyName: String, time: Timestamp, operation: String, target: String,
    status: Int
  ) {
    self.id = id
    self.realm = realm
    self.key = key
    self.keyName = keyName
    self.time = time
    self.operation = operation
    self.target = target
    self.status = status
  }
}

public protocol AppKeyReader {
  func appKey(hash: [UInt8]) throws -> AppKey?
  /// Returns the realm's keys, by id.
  func appKeys(in realm: RealmID) throws -> [AppKey]
  /// Returns the records with ids below `before`, the newest first.
  func audit(in realm: RealmID, before: Int64, limit: Int) throws -> [AuditRecord]
}

public protocol AppKeyWriter {
  func insert(_ key: AppKey) throws
  func setUsed(_ time: Timestamp, appKey: Int64) throws
  /// Removes a key. Returns `false` if there is none in this realm.
  func removeAppKey(_ id: Int64, in realm: RealmID) throws -> Bool
  /// Stores a record; a realm keeps its newest `keeping`.
  func insert(_ record: AuditRecord, keeping: Int) throws
}
