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
