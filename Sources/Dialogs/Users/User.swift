public import Addresses
public import Basics

/// A realm: one app, one XMPP domain. `key` (32 random bytes, created with the realm) seals public ids and cursors; it
/// never leaves the store.
public struct Realm: Hashable, Sendable {
  public let id: RealmID
  public let domain: String
  /// The domain of its rooms: `conference.{domain}`, or the configured one.
  public let rooms: String
  public let key: [UInt8]
  /// The first epoch of its ids: a restored backup starts a new one, so that ids and cursors from after the backup are
  /// not mistaken for new ones.
  public let epoch: UInt32
  /// The epochs that followed, the first one first. They are of all realms.
  public let laterEpochs: [Epoch]
  /// The present epoch.
  public var currentEpoch: UInt32 { laterEpochs.last?.number ?? epoch }

  /// Whether this is the federated realm of a home: its users live on any domains elsewhere, and their names are their
  /// whole addresses.
  public var isFederated: Bool { domain.hasPrefix("@") }
  /// Returns the name of a user of this realm, by which the store finds them.
  package func name(of address: BareJID) -> String { isFederated ? address.description : address.local ?? "" }
  /// The domain in whose place the federated realm of this home stands; no domain contains an `@` (RFC 7622 3.2).
  var federatedDomain: String { "@" + domain }

  public init(
    id: RealmID, domain: String, rooms: String, key: [UInt8], epoch: UInt32, laterEpochs: [Epoch] = []
  ) {
    self.id = id
    self.domain = domain
    self.rooms = rooms
    self.key = key
    self.epoch = epoch
    self.laterEpochs = laterEpochs
  }
}

/// A local user, or one of a remote realm with whom a local user has communicated. `name` is the app protocol's
/// `User.id`: the normalised localpart, or the whole address of a remote user and of one with a reserved word
/// (`ReservedWords`). The store sorts local users by `localpart`.
public struct User: Hashable, Sendable {
  public enum State: UInt8, Sendable { case active = 0, disabled = 1, deleted = 2 }

  public let id: UserID
  public let realm: RealmID
  public let address: BareJID
  public var name: String {
    let local = localpart
    return realm.isRemote || ReservedWords.contains(local) ? address.description : local
  }
  public var localpart: String { address.local ?? "" }
  public var state: State
  public let createdAt: Timestamp
  public var profile: Profile
  /// The time when the last session ended (XEP-0012, `lastSeenAt`); `nil` before the first end.
  public var lastSeenAt: Timestamp?
  /// The position up to which a client of this user has confirmed all inbound entries: the later ones are XMPP's
  /// offline messages.
  public var delivered: Position
  /// Whether the user is a guest, without an account (`Parley.makeGuest`).
  public let isGuest: Bool
  public var party: Party { Party(id: id, realm: realm, address: address) }

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

/// A user's profile. The XMPP door reads and writes the vCard, which is opaque here; `displayName` and `avatarHash` are
/// taken from it.
public struct Profile: Hashable, Sendable {
  public var displayName: String?
  public var status: String?
  /// The SHA-1 of the avatar's bytes in lower-case hex (XEP-0153); `nil` if there is none.
  public var avatarHash: String?
  /// A JSON object as the app wrote it; `nil` means `{}`.
  public var metadata: String?
  /// The URL of an external image, for apps; at most `Limits.avatarURLBytesMax`. XMPP clients do not fetch it and show
  /// the stored avatar.
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

/// The immutable part of a user: id, realm and address.
public struct Party: Hashable, Sendable {
  public let id: UserID
  public let realm: RealmID
  public let address: BareJID
  public var name: String {
    let local = localpart
    return realm.isRemote || ReservedWords.contains(local) ? address.description : local
  }
  public var localpart: String { address.local ?? "" }
  public init(id: UserID, realm: RealmID, address: BareJID) {
    self.id = id
    self.realm = realm
    self.address = address
  }

  /// Creates a remote user as received: the store may not contain them. The id is provisional: no stored user's, and
  /// the same for the same address and realm as long as the process lives. The judge replaces it by the stored one.
  public init(remote address: BareJID, realm: RealmID) {
    var hasher = Hasher()
    hasher.combine(address)
    hasher.combine(realm)
    self.init(id: UserID(-1 - Int64(hasher.finalize() & (.max >> 1))), realm: realm, address: address)
  }
  /// Whether the id is provisional (`init(remote:realm:)`), and so must not be stored.
  public var isProvisional: Bool { id.number < 0 && !id.isService }

  public static func == (a: Party, b: Party) -> Bool { a.id == b.id }
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
