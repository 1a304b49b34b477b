public import Basics

/// What a program of the app's operator, its backend, calls the server with: a secret that may do some things in one realm. Only the
/// SHA-256 of the secret is kept.
public struct AppKey: Hashable, Sendable {
  /// What a key may do. Raw values are on the wire and stored: never change.
  public enum Scope: String, Hashable, Sendable, CaseIterable {
    case usersRead = "users:read"
    case usersWrite = "users:write"
    /// Logging users in: whoever may, may be any of them.
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
  /// For people.
  public let name: String
  /// The beginning of the secret, by which it is known again.
  public let prefix: String
  public let hash: [UInt8]
  public let scopes: Set<Scope>
  public let createdAt: Timestamp
  /// To within `Limits.appKeyUseGrain`.
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

/// One call by a key, for the operator to look at.
public struct AuditRecord: Hashable, Sendable {
  /// Increasing; 0 asks the store for a new one.
  public var id: Int64
  public let realm: RealmID
  public let key: Int64
  /// The key's name, which outlives it.
  public let keyName: String
  public let time: Timestamp
  /// The operation's name, as `users.add`.
  public let operation: String
  /// The path that was called, at most `Limits.auditTargetBytesMax`.
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
  /// By id.
  func appKeys(in realm: RealmID) throws -> [AppKey]
  /// The newest first, with ids below `before`.
  func audit(in realm: RealmID, before: Int64, limit: Int) throws -> [AuditRecord]
}

public protocol AppKeyWriter {
  func insert(_ key: AppKey) throws
  func setUsed(_ time: Timestamp, appKey: Int64) throws
  /// False: there is none in this realm.
  func removeAppKey(_ id: Int64, in realm: RealmID) throws -> Bool
  /// Of one realm at most `keeping` stay, the newest.
  func insert(_ record: AuditRecord, keeping: Int) throws
}
