public import Addresses

/// Where the log and everything else durable lives. Implementations know
/// tables; they know no protocol and decide nothing.
///
/// Every function throws what the engine threw; the core wraps it once.
public protocol Store: Sendable {
  /// A consistent snapshot for the time of `body`. Blocks the calling thread;
  /// never call it on an event loop. Many may run at once, also while the
  /// committer writes.
  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result
  /// One transaction. Returns only when it is durable (synced). When `body`
  /// throws, nothing of it remains. One at a time; called by the committer.
  func write<Result>(_ body: (any StoreWriter) throws -> Result) throws -> Result
  /// Writes one consistent copy of everything into the file at `path`, which is
  /// empty or not there, and syncs it, while reading and writing go on. Blocks
  /// for as long as that takes. A store whose engine has means of its own for
  /// this throws a `Problem` of kind `unsupported` that names them.
  func copy(to path: String) throws
  func close() throws
}

public protocol StoreReader:
  IdentityReader, EditReader, PinReader, PersonalReader, SecondFactorReader, OneTimeCodeReader, PasswordResetReader,
  AppKeyReader, HookReader, UnsentReader, CallReader, DialogListReader, MessageSearchReader, UserSettingsReader,
  DirectoryReader,
  ContactMatchReader, LocationReader, AccountTaskReader
{
  // Realms and users
  func realms() throws -> [Realm]
  /// Bytes of a realm, as `vault` of a user.
  func vault(_ realm: RealmID, item: String) throws -> [UInt8]?
  func user(_ address: BareJID) throws -> User?
  func user(_ id: UserID) throws -> User?
  func party(_ id: UserID) throws -> Party?
  /// By name, ascending, names greater than `after`; `matching` is a prefix of
  /// the name or a case-insensitive part of the display name. Deleted users are left out.
  func users(in realm: RealmID, matching: String?, after: String?, limit: Int) throws -> [User]
  /// Without guests, as `users`.
  func userCount(in realm: RealmID) throws -> Int
  /// Those who are not deleted, of all realms.
  func guests() throws -> [UserID]
  func credentials(of user: UserID) throws -> [SCRAMKeys]
  /// When they last signed in with an app; nil: never.
  func lastLogin(of user: UserID) throws -> Timestamp?
  func vault(_ user: UserID, node: String, item: String) throws -> [UInt8]?
  /// How many items of the vault stand under `node`.
  func vaultCount(_ user: UserID, node: String) throws -> Int

  // What users publish
  func node(_ name: String, of owner: UserID) throws -> Node?
  /// By name.
  func nodes(of owner: UserID) throws -> [Node]
  /// How many nodes somebody has, and the bytes of all their items.
  func published(by owner: UserID) throws -> (nodes: Int, bytes: Int)
  func item(_ id: String, in node: String, of owner: UserID) throws -> NodeItem?
  /// Those published between two positions, both left out: the newest of them, or
  /// the oldest; either way in the order of publication.
  func items(
    in node: String, of owner: UserID, after: Position, before: Position, newest: Bool, limit: Int
  ) throws -> [NodeItem]
  func people(of node: String, of owner: UserID) throws -> NodePeople
  /// What somebody is to the nodes of a user, by node.
  func affiliations(of address: BareJID, with owner: UserID) throws -> [String: NodeAffiliation]
  /// By node and address.
  func subscriptions(of address: BareJID, with owner: UserID) throws -> [(node: String, NodeSubscription)]
  /// To all nodes there are.
  func subscriptionCount(of address: BareJID) throws -> Int
  /// Who waits for an answer of the owner, by node and address.
  func pendingSubscriptions(of owner: UserID, limit: Int) throws -> [(node: String, JID)]

  // Contacts and blocks
  func contact(of owner: UserID, _ address: BareJID) throws -> Contact?
  func contacts(of owner: UserID) throws -> [Contact]
  /// Items changed after `version`, removed ones included, by version ascending;
  /// `push` is true where the item shows in a roster.
  func contactChanges(of owner: UserID, after version: Position) throws -> [ContactChange]
  /// The highest version of any item, removed ones included; `.zero`: none yet.
  func rosterVersion(of owner: UserID) throws -> Position
  func blocks(of owner: UserID) throws -> [BlockPattern]

  // The log
  /// The last position given out, and the time of the last entry.
  func head() throws -> (position: Position, time: Timestamp)
  /// The last entry before this time that is still there; `.zero`: none.
  func position(before time: Timestamp) throws -> Position
  func dialog(_ id: DialogID) throws -> Dialog?
  /// The private dialog of two users, or the self dialog where they are the same.
  func dialog(between a: UserID, and b: UserID) throws -> Dialog?
  /// What these two whisper in this room: neither `dialog(_:)` nor any list has it.
  func whispers(between a: UserID, and b: UserID, in room: DialogID) throws -> Dialog?
  /// Private dialogs of the user (and the self dialog once it holds a message) with
  /// `last` < `before`, newest first. Rooms are not among them.
  func dialogs(of user: UserID, before: Position, limit: Int) throws -> [DialogView]
  func mark(_ user: UserID, in dialog: DialogID) throws -> Mark?
  /// What the user wants of a dialog or room; nil: they are not in it.
  func settings(of user: UserID, in dialog: DialogID) throws -> DialogSettings?
  /// Of all their dialogs and rooms, where anything was ever set.
  func settings(of user: UserID) throws -> [DialogID: DialogSettings]
  /// How far the user has displayed each dialog and room, those where they have, the mark that moved last first.
  func displayed(by user: UserID, limit: Int) throws -> [DisplayedMark]
  /// The user's private dialogs and rooms of which anything is archived, the liveliest first, with what is unread.
  func conversations(of user: UserID, _ query: ConversationQuery) throws -> ConversationPage
  /// The sum of unread over all dialogs and rooms of the user.
  func unread(of user: UserID) throws -> Int64
  /// How many messages mention the user (`setMentioned`) behind what they have read: in this dialog or room, or,
  /// nil, in all that they are in.
  func mentions(of user: UserID, in dialog: DialogID?) throws -> Int64
  /// Messages with sequence > 0, positions strictly between, newest first unless `ascending`.
  func history(
    of dialog: DialogID, after: Position, before: Position, limit: Int, ascending: Bool
  ) throws -> [Entry]
  /// Entries that are read carry the state of their message (`Entry.state`).
  func entry(_ position: Position, in dialog: DialogID) throws -> Entry?
  /// Whether there is an entry at this position, of whomever. One that was given out and is not there has gone: a
  /// marker that a later one replaced, a message that was only to be delivered.
  func hasEntry(at position: Position) throws -> Bool
  /// Everything the user's clients follow: messages, markers, contact, block and
  /// profile changes, behind `after`, ascending. Of superseded markers only the last is there.
  func feed(of user: UserID, after: Position, limit: Int) throws -> [Entry]
  /// The user's archive (XEP-0313): entries with trait `archived`. Searched for a text, those messages whose
  /// words have all of its words among them, without regard to case, accents and width; words that stand
  /// together without a space in the text asked for stand so in the message. Where a script has no spaces
  /// any part is found. What was taken back is not found, nor what is encrypted.
  func archive(of user: UserID, _ query: ArchiveQuery) throws -> ArchivePage
  /// Inbound messages with trait `replayed` behind `after`, ascending.
  func replay(of user: UserID, after: Position, limit: Int) throws -> [Entry]
  /// Counting messages of the dialog or room up to and including `position`: all, and those by `author`. In a
  /// room `own` goes by the member's mark, and may be negative before they came.
  func counting(in dialog: DialogID, upTo position: Position, by author: UserID) throws -> (all: Int64, own: Int64)

  // Rooms
  func room(_ id: DialogID) throws -> Room?
  /// Also of a destroyed room.
  func room(at address: BareJID) throws -> Room?
  func room(externalID: String, in realm: RealmID) throws -> Room?
  func roomName(_ id: DialogID) throws -> RoomName?
  func member(_ user: UserID, of room: DialogID) throws -> Member?
  /// Who has reserved this nick; `key` from `Precis.nicknameKey`.
  func member(nickKey key: String, of room: DialogID) throws -> Member?
  /// Those with an affiliation in `among`, by user number, behind `after`.
  func members(of room: DialogID, among: Set<Affiliation>, after: UserID?, limit: Int) throws -> [Member]
  /// Everybody with a row whose `version` is above, removed ones as `none`, by version; several may
  /// share one.
  func memberChanges(of room: DialogID, after: Position, limit: Int) throws -> [Member]
  /// Rooms that are not destroyed in which the user is a member, with the position behind which
  /// they follow each, by room number.
  func memberships(of user: UserID) throws -> [(room: RoomName, since: Position)]
  /// One member's view of each of their rooms with `last` < `before`, newest first.
  func rooms(of user: UserID, before: Position, limit: Int) throws -> [RoomView]
  /// Rooms of a realm that are not destroyed, by localpart, behind `after`; `listed`: only those anybody
  /// may find; `matching`: a case-insensitive part of the name, or a prefix of the localpart.
  func rooms(
    in realm: RealmID, listed: Bool, matching: String?, after: String?, limit: Int
  ) throws -> [Room]
  /// What occupants may read again (XEP-0045 7.2.13) and the room's archive (XEP-0313):
  /// messages with trait `archived`, and topics.
  func archive(of room: DialogID, _ query: ArchiveQuery) throws -> ArchivePage
  /// Like `feed(of:after:limit:)`, with everything of these rooms behind both `after` and each
  /// room's own position, merged in log order.
  /// - Parameter all: with what app clients are not told (`FeedRow.Traits.unfollowed`).
  func feed(
    of user: UserID, rooms: [(room: DialogID, since: Position)], after: Position, limit: Int, all: Bool
  ) throws -> [Entry]
  /// Whether there is an invitation to this room that may still be declined.
  func isInvited(_ user: UserID, by inviter: UserID, to room: DialogID) throws -> Bool
  /// Bytes of a room, as `vault` of a user.
  func vault(_ room: DialogID, node: String, item: String) throws -> [UInt8]?

  // Files
  func blob(_ id: BlobID) throws -> Blob?
  /// What one user has here, and has asked for within `Limits.blobDay` before `time`.
  func blobUse(of owner: UserID, at time: Timestamp) throws -> BlobUse
  /// Stored ones that are over at `time`, awaited ones whose slot has ended (`Blob.slotEnd`), and those that are gone or
  /// refused and no longer of this day.
  func dueBlobs(at time: Timestamp, limit: Int) throws -> [BlobID]
  // Pushes
  /// Everybody's.
  func pushRegistrations() throws -> [PushRegistration]
  func pushRegistrations(of user: UserID) throws -> [PushRegistration]
  func usersOwedPushes() throws -> [UserID]
  /// The newest, ascending.
  func pushesOwed(to user: UserID, limit: Int) throws -> [OwedPush]

  // Logins and streams
  func grant(access hash: [UInt8]) throws -> Grant?
  func grant(refresh hash: [UInt8]) throws -> Grant?
  func grants(of user: UserID) throws -> [Grant]
  /// The client that has this UUID.
  func client(_ agent: String, of user: UserID) throws -> Client?
  /// By id.
  func clients(of user: UserID) throws -> [Client]
  /// By id.
  func appPasswords(of user: UserID) throws -> [AppPassword]
  /// Of all app passwords of the user; `salt` and `iterations` are those of the account's own.
  func appPasswordKeys(of user: UserID) throws -> [(password: Int64, keys: SCRAMKeys)]
  /// The highest inbound number committed for this stream; nil: unknown stream.
  func handled(_ stream: StreamNonce) throws -> UInt32?
  func suspended() throws -> [SuspendedSession]

  // Invitations and reports
  func invite(token hash: [UInt8]) throws -> Invite?
  /// The unused one that keeps this localpart and ends behind `time`.
  func invite(reserving name: String, in realm: RealmID, after time: Timestamp) throws -> Invite?
  /// Used ones included; `inviter` nil: those of operators.
  func inviteCount(by inviter: UserID?, in realm: RealmID) throws -> Int
  /// The oldest first.
  func invites(in realm: RealmID, limit: Int) throws -> [Invite]
  func report(_ id: Int64) throws -> Report?
  /// The newest first.
  func reports(in realm: RealmID, limit: Int) throws -> [Report]
  /// Those made at `time` or later; `reporter` nil: by anybody.
  func reportCount(by reporter: UserID?, in realm: RealmID, since time: Timestamp) throws -> Int
}

/// All of it inside the one transaction of a batch.
public protocol StoreWriter:
  StoreReader, IdentityWriter, PinWriter, PersonalWriter, SecondFactorWriter, OneTimeCodeWriter, PasswordResetWriter,
  NonceWriter, AppKeyWriter, HookWriter, UnsentWriter, CallWriter, UserSettingsWriter, LocationWriter, AccountTaskWriter
{
  /// Stores entry, payload and the feed rows that `feeds` names. Everything of a room but a
  /// marker that has feed rows also goes into the room's own list, which its members follow.
  func insert(_ entry: Entry, feeds: [FeedRow], key: RepeatKey?) throws
  /// The last message with this RepeatKey.id by this author in this dialog, with its body hash. Of the writer: repeats are
  /// asked for where messages are judged, before anything else, and what was said last is known there first.
  func find(_ id: String, by author: UserID, in dialog: DialogID) throws -> (position: Position, bodyHash: UInt64)?
  func insert(dialog kind: Dialog.Kind, first: Party, second: Party, createdAt: Timestamp) throws -> Dialog
  /// Nobody has marks in it.
  func insertWhispers(between first: Party, and second: Party, in room: RoomName, createdAt: Timestamp) throws -> Dialog
  /// sequence, ordinal, last.
  func update(_ dialog: Dialog) throws
  /// Replaces. The entry at the mark's previous position (`superseded`, `.zero`: none)
  /// goes, with its feed rows.
  func put(_ mark: Mark, superseded: Position) throws
  /// Nothing where the user is not in the dialog.
  func put(_ settings: DialogSettings, of user: UserID, in dialog: DialogID) throws
  // Rooms
  /// Throws `StoreConflict` when the address or the `externalID` is or was taken.
  func insertRoom(
    localpart: String, in realm: RealmID, externalID: String?, settings: RoomSettings, createdAt: Timestamp
  ) throws -> Room
  /// sequence, ordinal, last: what each message changes.
  func updateCounters(of room: Room) throws
  /// Everything else that changes.
  func update(_ room: Room) throws
  /// Inserts or replaces. A new member's mark is made: everything up to `ordinal` (the room's)
  /// counts as read. With affiliation `none` the row stays as a tombstone for `memberChanges`,
  /// without nick; the mark goes. Throws `StoreConflict` when another member has the nick.
  func put(_ member: Member, ordinal: Int64) throws
  /// nil deletes the item.
  func setVault(_ room: DialogID, node: String, item: String, _ bytes: [UInt8]?) throws
  /// By the entry at this position. Of one room at most `Limits.invitationsMax` stay, the newest.
  func putInvitation(of user: UserID, by inviter: UserID, to room: DialogID, at position: Position) throws
  /// It was declined.
  func removeInvitation(of user: UserID, by inviter: UserID, to room: DialogID) throws

  /// What became of a message. With a retraction what was said is overwritten: text, fields, extras;
  /// envelope, time and sequence stay. What its corrections said goes too: each becomes a tombstone
  /// of the same retraction.
  func put(_ state: MessageState, of position: Position, in dialog: DialogID) throws

  /// For whom it counts that this message mentions them: in place of whom it mentioned before. Of a message without
  /// the trait `counts` nothing is put down.
  func setMentioned(_ users: [UserID], by position: Position, in dialog: DialogID) throws

  /// Has what was said found by a search (`ArchiveQuery.text`): looks at `limit` further entries in the order of the
  /// log, messages or not. True: there may be more.
  func indexMessages(limit: Int) throws -> Bool
  /// Gives out a position without an entry (a mark that nobody archives).
  func setHead(_ position: Position, time: Timestamp) throws
  /// Deletes payload and feed rows of a transient message.
  func erase(_ position: Position, in dialog: DialogID) throws

  func insertRealm(domain: String, rooms: String, key: [UInt8], epoch: UInt32) throws -> Realm
  /// One whose users live elsewhere (`RealmID.isRemote`). Its ids are those of `home`, to which it is attached.
  func insertRealm(remote domain: String, home: Realm) throws -> Realm
  /// Where the realm's rooms live from now on; before anybody reads.
  func setRooms(_ domain: String, of realm: RealmID) throws
  /// nil deletes the item.
  func setVault(_ realm: RealmID, item: String, _ bytes: [UInt8]?) throws
  /// Throws `StoreConflict` when the address is or was taken.
  func insertUser(_ address: BareJID, in realm: RealmID, profile: Profile, createdAt: Timestamp) throws -> User
  /// As `insertUser`, of a guest.
  func insertGuest(_ address: BareJID, in realm: RealmID, createdAt: Timestamp) throws -> User
  /// State, profile, lastSeenAt, delivered.
  func update(_ user: User) throws
  /// Forward only: of two clients the one that lags does not take back what the other has confirmed.
  func setDelivered(_ position: Position, for user: UserID) throws
  func setLastSeen(_ time: Timestamp, for user: UserID) throws
  func setLastLogin(_ time: Timestamp, of user: UserID) throws
  func setCredentials(_ keys: [SCRAMKeys], for user: UserID) throws
  /// nil deletes the item.
  func setVault(_ user: UserID, node: String, item: String, _ bytes: [UInt8]?) throws
  // What users publish
  /// Inserts, or replaces configuration and counts.
  func put(_ node: Node) throws
  /// Inserts or replaces.
  func put(_ item: NodeItem, in node: String, of owner: UserID) throws
  func removeItem(_ id: String, in node: String, of owner: UserID) throws
  func removeItems(in node: String, of owner: UserID) throws
  /// With its items and people.
  func removeNode(_ name: String, of owner: UserID) throws
  /// nil: none.
  func setAffiliation(_ affiliation: NodeAffiliation?, of address: BareJID, in node: String, of owner: UserID) throws
  /// Inserts or replaces.
  func put(_ subscription: NodeSubscription, in node: String, of owner: UserID) throws
  func removeSubscription(of address: JID, in node: String, of owner: UserID) throws

  // Files
  /// Inserts or replaces.
  func put(_ blob: Blob) throws
  /// With what refers to it.
  func removeBlob(_ id: BlobID) throws
  func insertBlobReference(to id: BlobID, by position: Position) throws
  /// The message and its corrections refer to nothing any more. Of what they referred to, what is stored, belongs to
  /// `owner` and has no other reference is over at `ending`; nil: it stays.
  func releaseBlobs(of position: Position, by owner: UserID, ending: Timestamp?) throws

  /// Contacts, blocks, credentials, identities, second factor, password resets, grants, vault, nodes, settings of dialogs, invitations and push registrations of a
  /// deleted user, and what they were to nodes of others. Their files of purpose `profile` and those
  /// that have not come are over; what they brought into dialogs stays as what they said does.
  func erasePersonal(_ user: UserID) throws

  func put(_ contact: Contact) throws
  /// Keeps a tombstone with this version for roster versioning.
  func remove(_ contact: Contact, version: Position) throws
  func setBlocks(_ patterns: [BlockPattern], of owner: UserID) throws

  /// Inserts or replaces; user and name of the target name it.
  func put(_ registration: PushRegistration) throws
  func removePushRegistration(_ registration: PushRegistration) throws
  /// Nothing where it is owed already.
  func owePush(_ push: OwedPush, to user: UserID) throws
  func removePushesOwed(to user: UserID, through position: Position) throws

  func put(_ grant: Grant) throws
  /// With the push registrations that end with it.
  func removeGrant(_ id: Int64, of user: UserID) throws
  func removeGrants(of user: UserID) throws
  /// Inserts, or replaces by id. Of one user no two have the same `agent`.
  func put(_ client: Client) throws
  func removeClient(_ id: Int64, of user: UserID) throws
  func removeClients(of user: UserID) throws
  /// Those that got their tokens by this.
  func removeClients(of user: UserID, from source: Access.Source) throws
  /// `id` 0 asks for a new one.
  func insertAppPassword(_ password: AppPassword, keys: [SCRAMKeys]) throws -> AppPassword
  func setUsed(_ time: Timestamp, appPassword: Int64, of user: UserID) throws
  func removeAppPassword(_ id: Int64, of user: UserID) throws
  func removeAppPasswords(of user: UserID) throws
  func setHandled(_ stream: StreamNonce, _ number: UInt32, at time: Timestamp) throws
  func removeStreams(before time: Timestamp) throws
  func setSuspended(_ sessions: [SuspendedSession]) throws

  // Invitations and reports
  /// Returns it with its number.
  func insert(_ invite: Invite) throws -> Invite
  func setUsed(_ invite: Int64) throws
  /// False: there is none, or it is used.
  func removeInvite(_ id: Int64) throws -> Bool
  /// Those that ended before `time`.
  func removeInvites(before time: Timestamp) throws
  /// Returns it with its number.
  func insert(_ report: Report) throws -> Report
  /// False: there is none.
  func removeReport(_ id: Int64) throws -> Bool
}

extension StoreReader {
  public func items(in node: String, of owner: UserID, newest: Bool, limit: Int) throws -> [NodeItem] {
    try items(in: node, of: owner, after: .zero, before: .end, newest: newest, limit: limit)
  }

  /// What app clients are told.
  public func feed(
    of user: UserID, rooms: [(room: DialogID, since: Position)], after: Position, limit: Int
  ) throws -> [Entry] {
    try feed(of: user, rooms: rooms, after: after, limit: limit, all: false)
  }
}

/// The address is or was taken: localparts are never reused.
public struct StoreConflict: Error, Sendable {
  public init() {}
}

/// One row of a user's feed: which entry, and what it is to this user.
public struct FeedRow: Hashable, Sendable {
  public let user: UserID
  public let traits: Traits
  /// Stored: never renumber the bits.
  public struct Traits: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// In the personal archive.
    public static let archived = Traits(rawValue: 1)
    /// From somebody else.
    public static let inbound = Traits(rawValue: 2)
    /// To be replayed to clients without archive.
    public static let replayed = Traits(rawValue: 4)
    /// A marker: the row stands for the member's current mark.
    public static let mark = Traits(rawValue: 8)
    /// Only in the archive, not an event of its own for app clients.
    public static let unfollowed = Traits(rawValue: 16)
  }
  public init(user: UserID, traits: Traits) {
    self.user = user
    self.traits = traits
  }
}

/// XEP-0313 4.1 with `#extended`, resolved to positions by the core.
public struct ArchiveQuery: Sendable {
  /// Only this private dialog; of a room, what was whispered there; nil: all.
  public var with: DialogID?
  /// The other side's resource; of a whisper their nick, as it was then.
  public var withResource: String?
  public var start: Timestamp?
  public var end: Timestamp?
  /// Strictly behind, strictly before.
  public var after: Position = .zero
  public var before: Position = .end
  /// Exactly these, in log order; overrides the range.
  public var positions: [Position]?
  /// Only messages that say all of these words (`StoreReader.archive` says how they are compared), as
  /// they are after their last edit; nil: all. Not with `positions`.
  public var text: String?
  public var limit: Int
  /// True: the page next to `before`, still returned ascending (RSM `<before/>`).
  public var backwards = false
  /// Of a room's archive: without what this user has deleted for themselves. A user's own archive is without it anyway.
  public var viewer: UserID?
  /// With `positions`: whether anything is there, deleted for oneself or not.
  public var includesHidden = false

  public init(limit: Int) { self.limit = limit }
}

public struct ArchivePage: Sendable {
  /// Ascending by position.
  public var entries: [Entry]
  /// Nothing more in the direction of paging.
  public var complete: Bool
  public init(entries: [Entry], complete: Bool) {
    self.entries = entries
    self.complete = complete
  }
}

/// A login of an app client: what an access and a refresh token stand for.
/// Only SHA-256 hashes of the tokens are kept.
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

  /// `id` 0 asks the store for a new one.
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

/// A resumable session across a graceful restart; the bytes are the door's.
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
