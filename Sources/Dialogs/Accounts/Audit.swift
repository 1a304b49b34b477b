import Addresses
public import Basics

/// The caller who has performed an administrative operation, and the surface.
public struct AuditActor: Hashable, Sendable {
  /// Raw values are stored and shown: never change.
  public enum Surface: String, FieldCodable, Hashable, Sendable, CaseIterable {
    /// A command, over the admin socket of the running server.
    case socket
    /// A command, on the data folder while no server runs.
    case folder
    /// A call over HTTP, with an app key or an administrator's access token.
    case http
    /// A command of an administrator's XMPP client (XEP-0050, XEP-0133).
    case xmpp
    /// A signal to the process of the server, which the kernel delivers without telling who sent it.
    case signal
  }

  public let surface: Surface
  /// The realm of the key or administrator; `operators` for those who are not limited to one.
  public let realm: RealmID
  /// The key's id; 0 for other surfaces.
  public let key: Int64
  /// The key's name, which is kept after the key is removed; an administrator's address; `uid 1000` of a command;
  /// `system` of a signal.
  public let name: String
  /// The beginning of the key's secret; empty for other surfaces.
  public let keyPrefix: String
  /// The network address of a caller over HTTP, the resource of an XMPP client, the process of a command, the
  /// signal's name.
  public let origin: String

  /// The number that no realm has.
  public static let operators = RealmID(0)

  public init(
    _ surface: Surface, realm: RealmID = AuditActor.operators, key: Int64 = 0, name: String, keyPrefix: String = "",
    origin: String
  ) {
    self.surface = surface
    self.realm = realm
    self.key = key
    self.name = name
    self.keyPrefix = keyPrefix
    self.origin = origin
  }

  public init(_ key: AppKey, from address: String) {
    self.init(.http, realm: key.realm, key: key.id, name: key.name, keyPrefix: key.prefix, origin: address)
  }

  public init(administrator: Party, from address: String) {
    self.init(.http, realm: administrator.realm, name: administrator.address.description, origin: address)
  }
}

/// The record of an administrative act, or of a call with an app key.
public struct AuditRecord: Hashable, Sendable {
  /// The id, which increases; 0 asks the store for a new one.
  public var id: Int64
  public let actor: AuditActor
  public let time: Timestamp
  /// The operation's name, such as `users.add`.
  public let operation: String
  /// The names of what it was about, at most `AccountLimits.auditObjectBytesMax`; never a secret.
  public let object: String
  /// The HTTP status, also of what was not called over HTTP.
  public let status: Int
  /// The stable code of a refusal; empty for success.
  public let code: String

  public init(
    id: Int64 = 0, actor: AuditActor, time: Timestamp, operation: String, object: String, status: Int, code: String
  ) {
    self.id = id
    self.actor = actor
    self.time = time
    self.operation = operation
    self.object = object
    self.status = status
    self.code = code
  }
}

extension AuditRecord: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, realm, key, name, time, operation, object = "target", status, surface, keyPrefix = "prefix", origin, code
  }
  public static let kind = "audit"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [
      id.field, actor.realm.field, actor.key.field, actor.name.field, time.field, operation.field, object.field,
      status.field, actor.surface.field, actor.keyPrefix.field, actor.origin.field, code.field,
    ]
  }
  public init(_ fields: inout FieldReader) throws {
    id = try fields.next()
    let (realm, key, name): (RealmID, Int64, String) = (try fields.next(), try fields.next(), try fields.next())
    time = try fields.next()
    operation = try fields.next()
    object = try fields.next()
    status = try fields.next()
    actor = AuditActor(
      try fields.next(), realm: realm, key: key, name: name, keyPrefix: try fields.next(), origin: try fields.next())
    code = try fields.next()
  }
}

extension RecordReader {
  /// Returns the records with ids below `before`, the newest first.
  ///
  /// - Parameter realm: those of this realm's keys; `nil` for all.
  public func audit(in realm: RealmID?, before: Int64, limit: Int) throws -> [AuditRecord] {
    guard let realm else {
      return try records(AuditRecord.self, .below(.id, before), isDescending: true, limit: limit)
    }
    return try records(AuditRecord.self, .equal(.realm, realm), .below(.id, before), isDescending: true, limit: limit)
  }
}

extension RecordWriter {
  /// Stores a record. Records more than `keeping` numbers behind it are removed: numbers are given to all realms
  /// together, so that a realm keeps at most this many; and all that are older than `time`.
  public func insert(_ record: AuditRecord, keeping: Int, since time: Timestamp) throws {
    let last = try put(record).id
    try remove(AuditRecord.self, .equal(.realm, record.actor.realm), .atMost(.id, last - Int64(keeping)))
    try remove(AuditRecord.self, .below(.time, time))
  }
}
