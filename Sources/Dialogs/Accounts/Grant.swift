public import Basics

/// A login of an app client, with the SHA-256 hashes of its access and refresh tokens.
public struct Grant: Hashable, Sendable {
  public var id: Int64
  public var user: UserID
  public var device: String
  public var access: [UInt8]
  public var accessExpires: Timestamp
  public var refresh: [UInt8]
  /// The refresh token before this one: its reuse revokes the grant.
  public var previousRefresh: [UInt8]?
  public var createdAt: Timestamp
  public var usedAt: Timestamp
  public var client: String?

  /// Creates a grant; `id` 0 asks the store for a new one.
  public init(
    id: Int64, user: UserID, device: String, access: [UInt8], accessExpires: Timestamp, refresh: [UInt8],
    previousRefresh: [UInt8]?, createdAt: Timestamp, usedAt: Timestamp, client: String?
  ) {
    self.id = id
    self.user = user
    self.device = device
    self.access = access
    self.accessExpires = accessExpires
    self.refresh = refresh
    self.previousRefresh = previousRefresh
    self.createdAt = createdAt
    self.usedAt = usedAt
    self.client = client
  }
}

extension Grant: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, user, device, access, accessExpires = "access_expires", refresh, previousRefresh = "previous_refresh",
      createdAt = "created", usedAt = "used", client
  }
  public static let kind = "grants"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [
      id.field, user.field, device.field, access.field, accessExpires.field, refresh.field, previousRefresh.field,
      createdAt.field, usedAt.field, client.field,
    ]
  }
  public init(_ fields: inout FieldReader) throws {
    try self.init(
      id: fields.next(), user: fields.next(), device: fields.next(), access: fields.next(),
      accessExpires: fields.next(), refresh: fields.next(), previousRefresh: fields.next(), createdAt: fields.next(),
      usedAt: fields.next(), client: fields.next())
  }
}

extension RecordReader {
  public func grant(access hash: [UInt8]) throws -> Grant? { try record(Grant.self, .equal(.access, hash)) }

  /// Returns a grant by its refresh token, or the one before it: the caller sees which.
  public func grant(refresh hash: [UInt8]) throws -> Grant? {
    try record(Grant.self, .equal(.refresh, hash)) ?? record(Grant.self, .equal(.previousRefresh, hash))
  }

  /// Returns the user's grants, by id.
  public func grants(of user: UserID) throws -> [Grant] { try records(Grant.self, .equal(.user, user)) }
}

extension StoreWriter {
  /// Removes a grant, with the push registrations that end with it.
  public func removeGrant(_ id: Int64, of user: UserID) throws {
    try remove(Grant.self, .equal(.id, id), .equal(.user, user))
    try removePushRegistrations(of: user, with: id)
  }

  public func removeGrants(of user: UserID) throws {
    try remove(Grant.self, .equal(.user, user))
    try removePushRegistrations(of: user, with: nil)
  }
}
