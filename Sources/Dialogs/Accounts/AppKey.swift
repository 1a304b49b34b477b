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
    /// Legal holds.
    case holds
    case federationRead = "federation:read"
    case federationWrite = "federation:write"
    /// The running server: its log's level, reloading its configuration.
    case server
    /// Creating, listing and revoking keys of the realm.
    case keys

    /// Whether it is about the whole server, and not about a realm: only keys of the first domain have it.
    public var isOfServer: Bool { [.federationRead, .federationWrite, .server].contains(self) }

    /// The scopes of a realm's administrators: all but `keys`, since a key outlasts the role of who made it; those of the
    /// whole server in the first domain only.
    public static func ofAdministrators(isFirst: Bool) -> Set<Scope> {
      Set(allCases.filter { $0 != .keys && (isFirst || !$0.isOfServer) })
    }
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

extension RecordReader {
  public func appKey(hash: [UInt8]) throws -> AppKey? { try record(AppKey.self, .equal(.hash, hash)) }

  /// Returns the realm's keys, by id.
  public func appKeys(in realm: RealmID) throws -> [AppKey] { try records(AppKey.self, .equal(.realm, realm)) }
}

extension RecordWriter {
  public func setUsed(_ time: Timestamp, appKey: Int64) throws {
    try update(AppKey.self, .equal(.id, appKey), to: [.usedAt: time.field])
  }

  /// Removes a key. Returns `false` if there is none in this realm.
  public func removeAppKey(_ id: Int64, in realm: RealmID) throws -> Bool {
    try remove(AppKey.self, .equal(.id, id), .equal(.realm, realm)) > 0
  }
}
