/// A link that lets one person in: it makes them an account, or a contact of somebody, or both (XEP-0379, XEP-0401, XEP-0445).
/// Of its token only the SHA-256 is kept: who reads the store can invite nobody.
public struct Invite: Hashable, Sendable {
  /// What it is for first.
  public enum Kind: UInt8, Sendable {
    /// An account on this server (XEP-0401 4.2).
    case account = 1
    /// To become a contact of the inviter; who has no account may make one here, where that is allowed (XEP-0401 4.1).
    case contact = 2
  }

  /// 0 asks the store for a new one; never given out twice.
  public var id: Int64
  public let realm: RealmID
  public let kind: Kind
  /// SHA-256 of the token.
  public let token: [UInt8]
  /// Whose contact the guest becomes; nil: nobody's, an operator invites.
  public let inviter: UserID?
  /// The localpart of the account that it makes, which nobody else may take meanwhile; nil: the guest's choice.
  public let name: String?
  public let createdAt: Timestamp
  public let expires: Timestamp
  /// Somebody has come by it; nobody else will.
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

/// An invitation to be made.
public struct InviteDraft: Sendable {
  public var realm: RealmID
  public var kind: Invite.Kind
  public var inviter: Party?
  /// As `Invite.name`, in normal form.
  public var name: String?

  public init(realm: RealmID, kind: Invite.Kind, inviter: Party? = nil, name: String? = nil) {
    self.realm = realm
    self.kind = kind
    self.inviter = inviter
    self.name = name
  }
}
