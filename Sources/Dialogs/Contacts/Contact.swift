public import Addresses

/// A roster item (RFC 6121 2): the contact `address` of `owner`.
public struct Contact: Hashable, Sendable {
  public let owner: UserID
  public let address: BareJID
  /// The contact as a local user; `nil` for a remote, foreign or unknown address, and perhaps for that of a user who came
  /// after the item.
  public internal(set) var peer: UserID?
  public var name: String?
  public var groups: [String]
  public var subscription: Subscription
  /// The complete `subscribe` stanza, kept until it is answered (RFC 6121 3.1.3); opaque, at most
  /// `Limits.requestBytesMax`.
  public var request: [UInt8]?
  /// The log position of the last change: the roster version (RFC 6121 2.6).
  public var version: Position
  /// The display names of the contact groups that both users are in. Then it is a contact whatever the owner's own item
  /// says, and cannot be removed. Never stored.
  public internal(set) var sharedBy: [String] = []

  public init(
    owner: UserID, address: BareJID, peer: UserID?, name: String? = nil, groups: [String] = [],
    subscription: Subscription, request: [UInt8]? = nil, version: Position
  ) {
    self.owner = owner
    self.address = address
    self.peer = peer
    self.name = name
    self.groups = groups
    self.subscription = subscription
    self.request = request
    self.version = version
  }
}

/// The fact of a contact entry: the item after the change, and what follows for whom (RFC 6121 3).
public struct ContactChange: Hashable, Sendable {
  /// The item after the change; if it was removed, the item before.
  public var contact: Contact
  public var removed: Bool
  /// Whether the roster shows the change (a bare pending-in never does).
  public var push: Bool
  /// A subscription stanza from the contact, to be shown to the owner.
  public var act: SubscriptionAct?
  /// The children of that stanza, unchanged and opaque; `nil` to write a bare one.
  public var stanza: [UInt8]?

  public init(
    contact: Contact, removed: Bool = false, push: Bool, act: SubscriptionAct? = nil,
    stanza: [UInt8]? = nil
  ) {
    self.contact = contact
    self.removed = removed
    self.push = push
    self.act = act
    self.stanza = stanza
  }
}

/// A pattern of a block list (XEP-0191): a full JID, bare JID, domain with resource or domain; it matches as in
/// XEP-0016 2.1.
public struct BlockPattern: Hashable, Sendable {
  public let jid: JID
  public init(_ jid: JID) { self.jid = jid }

  /// Returns whether a stanza from or to `other` is blocked.
  public func matches(_ other: JID) -> Bool {
    guard jid.domain == other.domain else { return false }
    if let local = jid.local, local != other.local { return false }
    if let resource = jid.resource, resource != other.resource { return false }
    return true
  }
}

/// The contacts and blocks of an online user as one immutable snapshot, which the committer replaces on each change.
public final class ContactSnapshot: Sendable {
  public let user: User
  /// The user's own items by address, so that stanzas are routed without reading the store; those with a subscription
  /// have their `peer`. `contact(_:)` has them as the roster shows them.
  let own: ContactTable
  /// The contact groups whose members the user sees.
  let shared: [SharedContacts]
  private let blockList: BlockList
  /// The highest contact version, removals and contact groups included: the roster's `ver`.
  public let rosterVersion: Position
  /// The user's setting (`UserSettings.messagesFrom`).
  let messagesFrom: Visibility
  /// The roster as a door encodes it; filled once, dropped with the snapshot.
  public let forms = FormSlot()

  public var blocks: [BlockPattern] { blockList.patterns }
  /// The bytes of the user's own contacts and blocks in memory, about.
  var heldBytes: Int { Limits.keptContactBytes + user.profile.byteCount + own.heldBytes + blockList.heldBytes }
  /// The contacts who are no local users and see this user's presence, by domain: it is sent to their server, if there is a
  /// link to it.
  var remoteSubscribers: [String: [BareJID]] { own.remoteSubscribers }
  /// Those whose presence this user sees: it is requested from their server, likewise.
  public var remoteSubscriptions: [BareJID] { Array(own.remoteSubscriptions.values.joined()) }
  /// Returns those of one domain.
  func remoteSubscriptions(at domain: String) -> [BareJID] { own.remoteSubscriptions[domain] ?? [] }

  private init(
    user: User, own: ContactTable, shared: [SharedContacts], blockList: BlockList, rosterVersion: Position,
    messagesFrom: Visibility
  ) {
    self.messagesFrom = messagesFrom
    self.user = user
    self.own = own
    self.shared = shared
    self.blockList = blockList
    self.rosterVersion = rosterVersion
  }

  public convenience init(
    user: User, contacts own: [BareJID: Contact], shared: [SharedContacts] = [], blocks: [RankedBlock],
    rosterVersion: Position, messagesFrom: Visibility
  ) {
    self.init(
      user: user, own: ContactTable(own), shared: shared, blockList: BlockList(blocks), rosterVersion: rosterVersion,
      messagesFrom: messagesFrom)
  }

  /// Creates the snapshot from the store.
  public convenience init(of user: User, in groups: ContactGroupRegistry, _ reader: any StoreReader) throws {
    var own: [BareJID: Contact] = [:]
    for var contact in try reader.ownContacts(of: user.id) {
      // Its user may have come after it. Without a subscription nobody asks, and such contacts may be thousands.
      if contact.peer == nil, contact.subscription.to || contact.subscription.from,
        contact.address.domain == user.address.domain
      {
        contact.peer = try reader.user(contact.address)?.id
      }
      own[contact.address] = contact
    }
    try self.init(
      user: user, contacts: own,
      shared: groups.groups(of: user.id), blocks: reader.rankedBlocks(of: user.id),
      rosterVersion: reader.rosterVersion(of: user.id), messagesFrom: reader.userSettings(of: user.id).messagesFrom)
  }

  /// Returns the snapshot with some parts replaced.
  func with(
    user: User? = nil, own: ContactTable? = nil, shared: [SharedContacts]? = nil,
    blockList: BlockList? = nil, rosterVersion: Position? = nil, messagesFrom: Visibility? = nil
  ) -> ContactSnapshot {
    ContactSnapshot(
      user: user ?? self.user, own: own ?? self.own, shared: shared ?? self.shared,
      blockList: blockList ?? self.blockList,
      rosterVersion: max(rosterVersion ?? .zero, self.rosterVersion), messagesFrom: messagesFrom ?? self.messagesFrom)
  }

  /// Returns the snapshot with these contact groups; itself if it has them, as another one costs a look at each contact.
  func seeing(_ groups: [SharedContacts]) -> ContactSnapshot {
    shared.elementsEqual(groups, by: { $0 === $1 }) ? self : with(shared: groups)
  }

  public func blocks(_ jid: JID) -> Bool {
    blockList.blocks(jid)
  }
}
