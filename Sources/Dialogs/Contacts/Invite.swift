public import Basics

/// An invitation link for one person: it creates an account, or makes a contact of the inviter, or both (XEP-0379,
/// XEP-0401, XEP-0445). Only the SHA-256 of its token is stored: reading the store does not allow inviting.
public struct Invite: Hashable, Sendable {
  /// The main purpose of an invitation.
  public enum Kind: UInt8, Sendable {
    /// Creates an account on this server (XEP-0401 4.2).
    case account = 1
    /// Makes the guest a contact of the inviter; a guest without account may create one here, if that is allowed
    /// (XEP-0401 4.1).
    case contact = 2
  }

  /// The id, which is never reused; 0 asks the store for a new one.
  public var id: Int64
  public let realm: RealmID
  public let kind: Kind
  /// The SHA-256 of the token.
  public let token: [UInt8]
  /// The user whose contact the guest becomes; `nil` if an operator invites.
  public let inviter: UserID?
  /// The localpart of the account, which is reserved for it; `nil` if the guest may choose.
  public let name: String?
  public let createdAt: Timestamp
  public let expires: Timestamp
  /// Whether the invitation was used; it can be used only once.
  public var isUsed: Bool

  public init(
    id: Int64 = 0, realm: RealmID, kind: Kind, token: [UInt8], inviter: UserID?, name: String?, createdAt: Timestamp,
    expires: Timestamp, isUsed: Bool = false
  ) {
    self.id = id
    self.realm = realm
    self.kind = kind
    self.token = token
    self.inviter = inviter
    self.name = name
    self.createdAt = createdAt
    self.expires = expires
    self.isUsed = isUsed
  }
}

/// A request to create an invitation.
public struct InviteDraft: Sendable {
  public var realm: RealmID
  public var kind: Invite.Kind
  public var inviter: Party?
  /// See `Invite.name`; normalised.
  public var name: String?

  public init(realm: RealmID, kind: Invite.Kind, inviter: Party? = nil, name: String? = nil) {
    self.realm = realm
    self.kind = kind
    self.inviter = inviter
    self.name = name
  }
}

extension Invite.Kind: FieldCodable {}

extension Invite: Record {
  public enum Field: String, CaseIterable, Sendable {
    case id, realm, kind, token, inviter, name, createdAt = "created", expires, isUsed = "used"
  }
  public static let kind = "invites"
  public static let key: [Field] = [.id]
  public static let isNumbered = true
  public var fields: [FieldValue] {
    [
      id.field, realm.field, kind.field, token.field, inviter.field, name.field, createdAt.field, expires.field,
      isUsed.field,
    ]
  }
  public init(_ fields: inout FieldReader) throws {
    try self.init(
      id: fields.next(), realm: fields.next(), kind: fields.next(), token: fields.next(), inviter: fields.next(),
      name: fields.next(), createdAt: fields.next(), expires: fields.next(), isUsed: fields.next())
  }
}

extension RecordReader {
  public func invite(token hash: [UInt8]) throws -> Invite? { try record(Invite.self, .equal(.token, hash)) }

  /// Returns the unused invitation that reserves this localpart and expires after `time`.
  public func invite(reserving name: String, in realm: RealmID, after time: Timestamp) throws -> Invite? {
    try record(
      Invite.self, .equal(.realm, realm), .equal(.name, name), .equal(.isUsed, false), .above(.expires, time))
  }

  /// Returns the number of invitations, used ones included; `inviter` is `nil` for those of operators.
  public func inviteCount(by inviter: UserID?, in realm: RealmID) throws -> Int {
    try count(Invite.self, .equal(.realm, realm), .equal(.inviter, inviter))
  }

  /// Returns invitations, the oldest first.
  public func invites(in realm: RealmID, limit: Int) throws -> [Invite] {
    try records(Invite.self, .equal(.realm, realm), limit: limit)
  }
}

extension RecordWriter {
  public func setUsed(_ invite: Int64) throws {
    try update(Invite.self, .equal(.id, invite), to: [.isUsed: true.field])
  }

  /// Removes an invitation. Returns `false` if there is none, or it is used.
  public func removeInvite(_ id: Int64) throws -> Bool {
    try remove(Invite.self, .equal(.id, id), .equal(.isUsed, false)) > 0
  }

  /// Removes the invitations that expired before `time`.
  public func removeInvites(before time: Timestamp) throws { try remove(Invite.self, .below(.expires, time)) }
}
