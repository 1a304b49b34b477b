public import Addresses

/// One app, one XMPP domain. `key` (32 random bytes, made with the realm) is
/// what public ids and cursors are sealed with; it never leaves the store.
public struct Realm: Hashable, Sendable {
  public let id: RealmID
  public let domain: String
  /// Where its rooms live: `conference.{domain}`, or what the operator says.
  public let rooms: String
  public let key: [UInt8]
  /// A restored backup starts a new epoch, so that no id and no cursor of the
  /// time after the backup is mistaken for one of the new time.
  public let epoch: UInt32

  public init(id: RealmID, domain: String, rooms: String, key: [UInt8], epoch: UInt32) {
    self.id = id
    self.domain = domain
    self.rooms = rooms
    self.key = key
    self.epoch = epoch
  }
}

/// A local user, or one of a remote realm with whom somebody here has talked. `name` is the wire's `User.id`: the
/// normalised localpart, of a remote user the whole address.
public struct User: Hashable, Sendable {
  public enum State: UInt8, Sendable { case active = 0, disabled = 1, deleted = 2 }

  public let id: UserID
  public let realm: RealmID
  public let address: BareJID
  public var name: String { realm.isRemote ? address.description : address.local ?? "" }
  public var state: State
  public let createdAt: Timestamp
  public var profile: Profile
  /// When the last session ended (XEP-0012, `lastSeenAt`); nil before the first.
  public var lastSeenAt: Timestamp?
  /// Everything inbound up to here was confirmed by a client of this user:
  /// what XMPP calls offline messages begins behind it.
  public var delivered: Position
  /// Without an account, for as long as they are there (`Parley.makeGuest`).
  public let isGuest: Bool

  public init(
    id: UserID, realm: RealmID, address: BareJID, state: State, createdAt: Timestamp,
    profile: Profile, lastSeenAt: Timestamp?, delivered: Position, isGuest: Bool = false
  ) {
    self.isGuest = isGuest
    self.id = id
    self.realm = realm
    self.address = address
    self.state = state
    self.createdAt = createdAt
    self.profile = profile
    self.lastSeenAt = lastSeenAt
    self.delivered = delivered
  }
}

/// What a user tells about themself. The vCard is opaque here: the XMPP door
/// reads and writes it; `displayName` and `avatarHash` are its projections.
public struct Profile: Hashable, Sendable {
  public var displayName: String?
  public var status: String?
  /// SHA-1 of the avatar's bytes in lower-case hex (XEP-0153); nil: none.
  public var avatarHash: String?
  /// A JSON object as the app wrote it; nil means `{}`.
  public var metadata: String?
  /// Of a picture that is kept elsewhere, for apps; at most `Limits.avatarURLBytesMax`. XMPP clients, which fetch nothing from
  /// strangers' servers, see the picture that is here.
  public var avatarURL: String?

  public init(
    displayName: String? = nil, status: String? = nil, avatarHash: String? = nil,
    metadata: String? = nil, avatarURL: String? = nil
  ) {
    self.avatarURL = avatarURL
    self.displayName = displayName
    self.status = status
    self.avatarHash = avatarHash
    self.metadata = metadata
  }
}

/// A user as the log needs them: number and address, nothing that changes.
public struct Party: Hashable, Sendable {
  public let id: UserID
  public let realm: RealmID
  public let address: BareJID
  public var name: String { realm.isRemote ? address.description : address.local ?? "" }
  public init(id: UserID, realm: RealmID, address: BareJID) {
    self.id = id
    self.realm = realm
    self.address = address
  }

  /// Somebody of a remote realm as they come: whether the store has them is not known. The number is no user's, and the
  /// same for the same address as long as the process lives.
  public init(remote address: BareJID, realm: RealmID) {
    var hasher = Hasher()
    hasher.combine(address)
    self.init(id: UserID(-1 - Int64(hasher.finalize() & .max)), realm: realm, address: address)
  }
  public static func == (a: Party, b: Party) -> Bool { a.id == b.id }
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
