public import Addresses
public import Basics

/// The storage of the log and of everything else durable. Implementations know tables; they know no protocol and make
/// no decisions.
///
/// Every function throws the engine's errors; the core wraps them once.
///
///     let head = try store.read { try $0.head().position }
public protocol Store: Sendable {
  /// Reads a consistent snapshot for the time of `body`. It blocks the calling thread; never call it on an event loop.
  /// Many may run at once, also while the committer writes.
  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result
  /// Runs one transaction, and returns only when it is durable (synced). If `body` throws, nothing of it remains. One
  /// at a time; called by the committer.
  func write<Result>(_ body: (any StoreWriter) throws -> Result) throws -> Result
  /// Writes a consistent copy of everything into the file at `path`, which is empty or missing, and syncs it, while
  /// reading and writing go on. It blocks for as long as that takes. A store whose engine has its own means for this
  /// throws a `Problem` of kind `unsupported` that names them.
  func copy(to path: String) throws
  func close() throws
}

public protocol StoreReader:
  RecordReader, EditReader, PinReader, PersonalReader, HookReader, UnsentReader, CallReader, DialogListReader,
  MessageSearchReader, DirectoryReader, AccountTaskReader
{
  // Realms and users
  func realms() throws -> [Realm]
  func user(_ address: BareJID) throws -> User?
  func user(_ id: UserID) throws -> User?
  func party(_ id: UserID) throws -> Party?
  /// Returns users by name, ascending, with names greater than `after`; `matching` is a prefix of the name or a
  /// case-insensitive part of the display name. Deleted users are left out.
  func users(in realm: RealmID, matching: String?, after: String?, limit: Int) throws -> [User]
  /// Returns the number of users as in `users`, without guests.
  func userCount(in realm: RealmID) throws -> Int
  /// Returns the guests of all realms that are not deleted.
  func guests() throws -> [UserID]
  /// Returns the time of the user's last login with an app; `nil` if there was none.
  func lastLogin(of user: UserID) throws -> Timestamp?

  // MARK: Nodes
  func node(_ name: String, of owner: UserID) throws -> Node?
  /// Returns the user's nodes by name.
  func nodes(of owner: UserID) throws -> [Node]
  /// Returns the number of a user's nodes, and the bytes of all their items.
  func published(by owner: UserID) throws -> (nodes: Int, bytes: Int)
  func item(_ id: String, in node: String, of owner: UserID) throws -> NodeItem?
  /// Returns the newest or oldest items published between two positions, both exclusive; either way in the order of
  /// publication.
  func items(
    in node: String, of owner: UserID, after: Position, before: Position, newest: Bool, limit: Int
  ) throws -> [NodeItem]
  func people(of node: String, of owner: UserID) throws -> NodePeople
  /// Returns a user's affiliations with the nodes of another, by node.
  func affiliations(of address: BareJID, with owner: UserID) throws -> [String: NodeAffiliation]
  /// Returns a user's subscriptions to the nodes of another, by node and address.
  func subscriptions(of address: BareJID, with owner: UserID) throws -> [(node: String, NodeSubscription)]
  /// Returns the number of a user's subscriptions to any node.
  func subscriptionCount(of address: BareJID) throws -> Int
  /// Returns the subscribers who wait for the owner's answer, by node and address.
  func pendingSubscriptions(of owner: UserID, limit: Int) throws -> [(node: String, JID)]

  // Contacts and blocks
  func contact(of owner: UserID, _ address: BareJID) throws -> Contact?
  func contacts(of owner: UserID) throws -> [Contact]
  /// Returns the items changed after `version`, removed ones included, by version ascending; `push` is true if the
  /// roster shows the item.
  func contactChanges(of owner: UserID, after version: Position) throws -> [ContactChange]
  /// Returns the highest version of any item, removed ones included; `.zero` if there is none yet.
  func rosterVersion(of owner: UserID) throws -> Position
  func blocks(of owner: UserID) throws -> [BlockPattern]

  // The log
  /// Returns the last assigned position, and the time of the last entry.
  func head() throws -> (position: Position, time: Timestamp)
  /// Returns the position of the last entry before this time that still exists; `.zero` if there is none.
  func position(before time: Timestamp) throws -> Position
  func dialog(_ id: DialogID) throws -> Dialog?
  /// Returns the private dialog of two users, or the self dialog if they are the same.
  func dialog(between a: UserID, and b: UserID) throws -> Dialog?
  /// Returns the dialog of two occupants' private messages in a room, which neither `dialog(_:)` nor any list contains.
  func whispers(between a: UserID, and b: UserID, in room: DialogID) throws -> Dialog?
  /// Returns the user's private dialogs (and the self dialog once it contains a message) with `last` < `before`, newest
  /// first. Rooms are not among them.
  func dialogs(of log: LogAccess, before: Position, limit: Int) throws -> [DialogView]
  func mark(_ user: UserID, in dialog: DialogID) throws -> Mark?
  /// Returns the user's settings of a dialog or room; `nil` if they do not belong to it.
  func settings(of user: UserID, in dialog: DialogID) throws -> DialogSettings?
  /// Returns the user's settings of all dialogs and rooms where any were set.
  func settings(of user: UserID) throws -> [DialogID: DialogSettings]
  /// Returns how far the user has displayed each dialog and room where they have, the last moved mark first.
  func displayed(by user: UserID, limit: Int) throws -> [DisplayedMark]
  /// Returns the user's private dialogs and rooms with archived entries, the most recently active first, with their
  /// unread messages.
  func conversations(of log: LogAccess, _ query: ConversationQuery) throws -> ConversationPage
  /// Returns the sum of unread messages over all dialogs and rooms of the user.
  func unread(of user: UserID) throws -> Int64
  /// Returns how many messages mention the user (`setMentioned`) behind those they have read: in this dialog or room
  /// or, if it is `nil`, in all of the user's.
  func mentions(of user: UserID, in dialog: DialogID?) throws -> Int64
  /// Returns messages with sequence > 0, positions strictly between, newest first unless `ascending`.
  func history(
    of messages: MessageAccess, after: Position, before: Position, limit: Int, ascending: Bool
  ) throws -> [Entry]
  /// Returns an entry. Entries that are read have the state of their message (`Entry.state`).
  func entry(_ position: Position, in messages: MessageAccess) throws -> Entry?
  /// Returns whether there is an entry at this position, in this dialog or, if it is `nil`, in any. The entry of an
  /// assigned position may have been removed: a marker that a later one replaced, a transient message.
  func hasEntry(at position: Position, in dialog: DialogID?) throws -> Bool
  /// Returns the user's archive (XEP-0313): entries with trait `archived`. With a text, only messages whose words
  /// include all of its words, ignoring case, accents and width; words written together in the text must be together in
  /// the message. In scripts without spaces any part matches. Retracted and encrypted messages do not match.
  func archive(of log: LogAccess, _ query: ArchiveQuery) throws -> ArchivePage
  /// Returns inbound messages with trait `replayed` behind `after`, ascending.
  func replay(of log: LogAccess, after: Position, limit: Int) throws -> [Entry]
  /// Returns the number of counting messages of the dialog or room up to and including `position`: all, and those by
  /// `author`. In a room `own` follows the member's mark, and may be negative before they joined.
  func counting(in dialog: DialogID, upTo position: Position, by author: UserID) throws -> (all: Int64, own: Int64)

  // Rooms
  func room(_ id: DialogID) throws -> Room?
  /// Returns a room, also a destroyed one.
  func room(at address: BareJID) throws -> Room?
  func room(externalID: String, in realm: RealmID) throws -> Room?
  func roomName(_ id: DialogID) throws -> RoomName?
  func member(_ user: UserID, of room: MemberAccess) throws -> Member?
  /// Returns the member who has reserved this nick; `key` is from `Precis.nicknameKey`.
  func member(nickKey key: String, of room: MemberAccess) throws -> Member?
  /// Returns people of a room by user number, behind `after`.
  func members(of room: MemberAccess, after: UserID?, limit: Int) throws -> [Member]
  /// Returns everyone whose row has a greater `version`, removed ones as `none`, by version; several may share one.
  func memberChanges(of room: DialogID, for reason: ServerReason, after: Position, limit: Int) throws -> [Member]
  /// Returns the rooms that are not destroyed in which the user is a member, with the position behind which they follow
  /// each, by room number.
  func memberships(of user: UserID) throws -> [(room: RoomName, since: Position)]
  /// Returns a member's view of their rooms with `last` < `before`, newest first.
  func rooms(of log: LogAccess, before: Position, limit: Int) throws -> [RoomView]
  /// Returns rooms of a realm that are not destroyed, by localpart, behind `after`; `listed` returns only public ones;
  /// `matching` is a case-insensitive part of the name, or a prefix of the localpart.
  func rooms(
    in realm: RealmID, listed: Bool, matching: String?, after: String?, limit: Int
  ) throws -> [Room]
  /// Returns the room's history (XEP-0045 7.2.13) and archive (XEP-0313): messages with trait `archived`, and topics.
  func archive(of room: MessageAccess, _ query: ArchiveQuery) throws -> ArchivePage
  /// Returns everything that the user's clients follow: messages, markers, contact, block and profile changes, behind
  /// `after`, ascending, merged with everything of the log's rooms behind both `after` and each room's own position. Of
  /// superseded markers only the last is included.
  /// - Parameter all: whether to include entries that app clients do not get (`FeedRow.Traits.unfollowed`).
  func feed(of log: LogAccess, after: Position, limit: Int, all: Bool) throws -> [Entry]
  /// Returns whether there is an invitation to this room that may still be declined.
  func isInvited(_ user: UserID, by inviter: UserID, to room: DialogID) throws -> Bool

  // Files
  func blob(_ id: BlobID, _ access: FileAccess) throws -> Blob?
  /// Returns a user's use of file storage, with the requests within `Limits.blobDay` before `time`.
  func blobUse(of owner: UserID, at time: Timestamp) throws -> BlobUse
  /// Returns stored files that have expired at `time`, awaited ones whose slot has ended (`Blob.slotEnd`), and removed
  /// or refused ones that no longer count for the day.
  func dueBlobs(at time: Timestamp, limit: Int) throws -> [BlobID]
  // Pushes
  /// Returns the registrations of all users.
  func pushRegistrations() throws -> [PushRegistration]
  func pushRegistrations(of user: UserID) throws -> [PushRegistration]
  func usersOwedPushes() throws -> [UserID]
  /// Returns the newest pending pushes, ascending.
  func pushesOwed(to user: UserID, limit: Int) throws -> [OwedPush]

  // MARK: Logins and streams
  /// Returns the highest inbound number committed for this stream; `nil` for an unknown stream.
  func handled(_ stream: StreamNonce) throws -> UInt32?
  func suspended() throws -> [SuspendedSession]

}

/// The writing side of a store, inside the one transaction of a batch.
public protocol StoreWriter:
  StoreReader, RecordWriter, PinWriter, PersonalWriter, HookWriter, UnsentWriter, CallWriter,
  AccountTaskWriter
{
  /// Stores entry, payload and the rows of `feeds`. Every entry of a room, except a marker with feed rows, is also
  /// added to the room's own list, which its members follow.
  func insert(_ entry: Entry, feeds: [FeedRow], key: RepeatKey?) throws
  /// Returns the last message with this `RepeatKey.id` by this author in this dialog, with its body hash. Only on the
  /// writer: duplicate detection runs inside the write transaction, which already sees the newest ids.
  func find(_ id: String, by author: UserID, in dialog: DialogID) throws -> (position: Position, bodyHash: UInt64)?
  func insert(dialog kind: Dialog.Kind, first: Party, second: Party, createdAt: Timestamp) throws -> Dialog
  /// Creates the dialog of two occupants' private messages, which has no marks.
  func insertWhispers(between first: Party, and second: Party, in room: RoomName, createdAt: Timestamp) throws -> Dialog
  /// Updates sequence, ordinal and last.
  func update(_ dialog: Dialog) throws
  /// Replaces a mark. The entry at its previous position (`superseded`, `.zero` if there is none) is removed, with its
  /// feed rows.
  func put(_ mark: Mark, superseded: Position) throws
  /// Stores settings; does nothing if the user does not belong to the dialog.
  func put(_ settings: DialogSettings, of user: UserID, in dialog: DialogID) throws
  // Rooms
  /// Creates a room. Throws `StoreConflict` if the address or the `externalID` is or was taken.
  func insertRoom(
    localpart: String, in realm: RealmID, externalID: String?, settings: RoomSettings, createdAt: Timestamp
  ) throws -> Room
  /// Updates sequence, ordinal and last, which each message changes.
  func updateCounters(of room: Room) throws
  /// Updates everything else that is mutable.
  func update(_ room: Room) throws
  /// Inserts or replaces a member. A new member gets a mark, with everything up to `ordinal` (the room's) read. With
  /// affiliation `none` the row remains as a tombstone for `memberChanges`, without nick; the mark is removed. Throws
  /// `StoreConflict` if another member has the nick.
  func put(_ member: Member, ordinal: Int64) throws
  /// Stores an invitation, whose entry is at this position. A room keeps its newest `Limits.invitationsMax`.
  func putInvitation(of user: UserID, by inviter: UserID, to room: DialogID, at position: Position) throws
  /// Removes an invitation that was declined.
  func removeInvitation(of user: UserID, by inviter: UserID, to room: DialogID) throws

  /// Stores the state of a message. With a retraction its text, fields and extras are overwritten; envelope, time and
  /// sequence remain. The content of its corrections is overwritten too: each becomes a tombstone of the same
  /// retraction.
  func put(_ state: MessageState, of position: Position, in dialog: DialogID) throws

  /// Replaces the users whose mention counter this message increments. Ignored unless the message has the trait
  /// `counts`.
  func setMentioned(_ users: [UserID], by position: Position, in dialog: DialogID) throws

  /// Adds messages to the full-text index (`ArchiveQuery.text`): reads `limit` further entries in the order of the log,
  /// messages or not. Returns `true` if there may be more.
  func indexMessages(limit: Int) throws -> Bool
  /// Assigns a position without an entry (a mark that no archive contains).
  func setHead(_ position: Position, time: Timestamp) throws
  /// Deletes payload and feed rows of a transient message.
  func erase(_ position: Position, in dialog: DialogID) throws

  func insertRealm(domain: String, rooms: String, key: [UInt8], epoch: UInt32) throws -> Realm
  /// Creates a realm whose users live elsewhere (`RealmID.isRemote`). Its ids are those of `home`, to which it is
  /// attached.
  func insertRealm(remote domain: String, home: Realm) throws -> Realm
  /// Changes the domain of the realm's rooms; called before anything is read.
  func setRooms(_ domain: String, of realm: RealmID) throws
  /// Creates a user. Throws `StoreConflict` if the address is or was taken.
  func insertUser(_ address: BareJID, in realm: RealmID, profile: Profile, createdAt: Timestamp) throws -> User
  /// Creates a guest, like `insertUser`.
  func insertGuest(_ address: BareJID, in realm: RealmID, createdAt: Timestamp) throws -> User
  /// Updates state, profile, lastSeenAt and delivered.
  func update(_ user: User) throws
  /// Moves the position forward only: a client that lags does not undo what another has confirmed.
  func setDelivered(_ position: Position, for user: UserID) throws
  func setLastSeen(_ time: Timestamp, for user: UserID) throws
  /// Makes a guest an ordinary user.
  func endGuest(_ user: UserID) throws
  func setLastLogin(_ time: Timestamp, of user: UserID) throws
  // MARK: Nodes
  /// Inserts a node, or replaces its configuration and counts.
  func put(_ node: Node) throws
  /// Inserts or replaces an item.
  func put(_ item: NodeItem, in node: String, of owner: UserID) throws
  func removeItem(_ id: String, in node: String, of owner: UserID) throws
  func removeItems(in node: String, of owner: UserID) throws
  /// Removes a node with its items, affiliations and subscriptions.
  func removeNode(_ name: String, of owner: UserID) throws
  /// Sets an affiliation; `nil` removes it.
  func setAffiliation(_ affiliation: NodeAffiliation?, of address: BareJID, in node: String, of owner: UserID) throws
  /// Inserts or replaces a subscription.
  func put(_ subscription: NodeSubscription, in node: String, of owner: UserID) throws
  func removeSubscription(of address: JID, in node: String, of owner: UserID) throws

  // Files
  /// Inserts or replaces a blob.
  func put(_ blob: Blob) throws
  /// Removes a blob with its references.
  func removeBlob(_ id: BlobID) throws
  func insertBlobReference(to id: BlobID, by position: Position) throws
  /// Removes the references of a message and its corrections. The stored blobs of `owner` among them without other
  /// references expire at `ending`; `nil` keeps them.
  func releaseBlobs(of position: Position, by owner: UserID, ending: Timestamp?) throws

  /// Removes contacts, blocks, nodes, settings of dialogs, invitations, drafts, calls, suspended sessions and push
  /// registrations of a deleted user, and their affiliations with and subscriptions to nodes of others. Their files of
  /// purpose `profile` and awaited ones expire; files in dialogs remain, like their messages. Their records are removed
  /// by `erasePersonal`.
  func eraseData(of user: UserID) throws

  func put(_ contact: Contact) throws
  /// Removes a contact, leaving a tombstone with this version for roster versioning.
  func remove(_ contact: Contact, version: Position) throws
  func setBlocks(_ patterns: [BlockPattern], of owner: UserID) throws

  /// Inserts or replaces a registration, which is identified by user and name of the target.
  func put(_ registration: PushRegistration) throws
  func removePushRegistration(_ registration: PushRegistration) throws
  /// Removes the user's registrations that end with a login; with any login if it is `nil`.
  func removePushRegistrations(of user: UserID, with grant: Int64?) throws
  /// Stores a pending push; does nothing if it exists.
  func owePush(_ push: OwedPush, to user: UserID) throws
  func removePushesOwed(to user: UserID, through position: Position) throws

  func setHandled(_ stream: StreamNonce, _ number: UInt32, at time: Timestamp) throws
  func removeStreams(before time: Timestamp) throws
  func setSuspended(_ sessions: [SuspendedSession]) throws

}

extension StoreWriter {
  /// Removes the personal data of a deleted user: records, and what `eraseData` removes.
  public func erasePersonal(_ user: UserID) throws {
    try remove(Credential.self, .equal(.user, user))
    try remove(BoundIdentity.self, .equal(.user, user))
    try remove(UserVaultItem.self, .equal(.user, user))
    try remove(Grant.self, .equal(.user, user))
    try remove(Client.self, .equal(.user, user))
    try removeAppPasswords(of: user)
    try removeSecondFactor(of: user)
    try remove(PasswordReset.self, .equal(.user, user))
    try remove(RealmCode.self, .equal(.user, user))
    if let realm = try party(user)?.realm {
      try remove(Invite.self, .equal(.realm, realm), .equal(.inviter, user))
    }
    try remove(StoredUserSettings.self, .equal(.user, user))
    try remove(MatchKey.self, .equal(.user, user))
    try remove(RealmLocation.self, .equal(.user, user))
    try eraseData(of: user)
  }
}

extension StoreReader {
  public func items(in node: String, of owner: UserID, newest: Bool, limit: Int) throws -> [NodeItem] {
    try items(in: node, of: owner, after: .zero, before: .end, newest: newest, limit: limit)
  }
}

/// A conflict of an address that is or was taken: localparts are never reused.
public struct StoreConflict: Error, Sendable {
  public init() {}
}

/// A row of a user's feed: a reference to an entry with its traits for this user.
public struct FeedRow: Hashable, Sendable {
  public let user: UserID
  public let traits: Traits
  /// The stored traits: never renumber the bits.
  public struct Traits: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// In the personal archive.
    public static let archived = Traits(rawValue: 1)
    /// From another user.
    public static let inbound = Traits(rawValue: 2)
    /// To be replayed to clients without archive.
    public static let replayed = Traits(rawValue: 4)
    /// A marker: the row represents the member's current mark.
    public static let mark = Traits(rawValue: 8)
    /// Only in the archive, not an event for app clients.
    public static let unfollowed = Traits(rawValue: 16)
  }
  public init(user: UserID, traits: Traits) {
    self.user = user
    self.traits = traits
  }
}

/// A query of an archive (XEP-0313 4.1 with `#extended`), resolved to positions by the core.
///
///     var query = ArchiveQuery(limit: 50)
///     query.backwards = true  // the newest ones
///     let page = try await parley.read { [query] in try $0.archive(of: .own(user), query) }
public struct ArchiveQuery: Sendable {
  /// The private dialog, or in a room the dialog of private messages; `nil` for all.
  public var with: DialogID?
  /// The other user's resource; for a private message in a room their nick at that time.
  public var withResource: String?
  public var start: Timestamp?
  public var end: Timestamp?
  /// The exclusive bounds of the positions.
  public var after: Position = .zero
  public var before: Position = .end
  /// Exactly these positions, in log order; overrides the range.
  public var positions: [Position]?
  /// The words that messages must contain (`StoreReader.archive` tells how they are compared), in their last edited
  /// version; `nil` for all. Not with `positions`.
  public var text: String?
  public var limit: Int
  /// Whether the page next to `before` is wanted, still returned ascending (RSM `<before/>`).
  public var backwards = false
  /// With `positions`: whether entries are included that the user has deleted for themselves or may not read.
  public var includesHidden = false

  public init(limit: Int) { self.limit = limit }
}

public struct ArchivePage: Sendable {
  /// The entries, ascending by position.
  public var entries: [Entry]
  /// Whether there is nothing more in the direction of paging.
  public var complete: Bool
  public init(entries: [Entry], complete: Bool) {
    self.entries = entries
    self.complete = complete
  }
}

/// A resumable session across a graceful restart, with opaque bytes of the door.
public struct SuspendedSession: Hashable, Sendable {
  public var user: UserID
  public var stream: StreamNonce
  public var expires: Timestamp
  public var state: [UInt8]
  public init(user: UserID, stream: StreamNonce, expires: Timestamp, state: [UInt8]) {
    self.user = user
    self.stream = stream
    self.expires = expires
    self.state = state
  }
}
