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
    case federationRead = "federation:read"
    case federationWrite = "federation:write"

    /// Whether it is about the whole server, and not about a realm: only keys of the first domain have it.
    public var isOfServer: Bool { self == .federationRead || self == .federationWrite }
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
  /// The time of the last use, with a precision of `AccountLimits.appKeyUseGrain`.
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
  /// The called path, at most `AccountLimits.auditTargetBytesMax`.
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

extension AppKey: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, realm, name, prefix, hash, scopes, createdAt = "created", usedAt = "used"
  }
  public static let kind = "app_keys"
  public static let key: [Field] = [.id]
  public var fields: [FieldValue] {
    [
      id.field, realm.field, name.field, prefix.field, hash.field,
      scopes.map(\.rawValue).sorted().joined(separator: " ").field, createdAt.field, usedAt.field,
    ]
  }
  public init(_ fields: inout FieldReader) throws {
    id = try fields.next()
    realm = try fields.next()
    name = try fields.next()
    prefix = try fields.next()
    hash = try fields.next()
    // A scope that this release does not know permits nothing.
    let names: String = try fields.next()
    scopes = Set(names.split(separator: " ").compactMap { Scope(rawValue: String($0)) })
    createdAt = try fields.next()
    usedAt = try fields.next()
  }
}

extension AuditRecord: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, realm, key, keyName = "name", time, operation, target, status
  }
  public static let kind = "audit"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [id.field, realm.field, key.field, keyName.field, time.field, operation.field, target.field, status.field]
  }
  public init(_ fields: inout FieldReader) throws {
    try self.init(
      id: fields.next(), realm: fields.next(), key: fields.next(), keyName: fields.next(), time: fields.next(),
      operation: fields.next(), target: fields.next(), status: fields.next())
  }
}

extension RecordReader {
  public func appKey(hash: [UInt8]) throws -> AppKey? { try record(AppKey.self, .equal(.hash, hash)) }

  /// Returns the realm's keys, by id.
  public func appKeys(in realm: RealmID) throws -> [AppKey] { try records(AppKey.self, .equal(.realm, realm)) }

  /// Returns the records with ids below `before`, the newest first.
  public func audit(in realm: RealmID, before: Int64, limit: Int) throws -> [AuditRecord] {
    try records(AuditRecord.self, .equal(.realm, realm), .below(.id, before), isDescending: true, limit: limit)
  }
}

extension RecordWriter {
  public func setUsed(_ time: Timestamp, appKey: Int64) throws {
    try update(AppKey.self, .equal(.id, appKey), to: [.usedAt: time.field])
  }

  /// Removes a key. Returns `false` if there is none in this realm.
  public func removeAppKey(_ id: Int64, in realm: RealmID) throws -> Bool {
    try remove(AppKey.self, .equal(.id, id), .equal(.realm, realm)) > 0
  }

  /// Stores a record. Records more than `keeping` numbers behind it are removed: numbers are given to all realms
  /// together, so that a realm keeps at most this many.
  public func insert(_ record: AuditRecord, keeping: Int) throws {
    let last = try put(record).id
    try remove(AuditRecord.self, .equal(.realm, record.realm), .atMost(.id, last - Int64(keeping)))
  }
}
