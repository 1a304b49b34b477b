public import Addresses
public import Basics

/// The immutable part of a group or public dialog: its number and address. Doors use their protocol's term: a room, a
/// dialog.
public struct RoomName: Hashable, Sendable {
  public let dialog: DialogID
  public let realm: RealmID
  /// `localpart@rooms.domain`.
  public let address: BareJID
  public init(dialog: DialogID, realm: RealmID, address: BareJID) {
    self.dialog = dialog
    self.realm = realm
    self.address = address
  }
  /// Whether the room is being set up (XEP-0045 10.1): nothing of it is stored, and it has no number.
  public var isBeingSetUp: Bool { dialog == DialogID(0) }
  public static func == (a: RoomName, b: RoomName) -> Bool { a.dialog == b.dialog }
  public func hash(into hasher: inout Hasher) { hasher.combine(dialog) }
}

/// The settings of a room, as independent fields (XEP-0045 4.2, 10.2); the dialog types of the app protocol are derived
/// from them.
public struct RoomSettings: Hashable, Sendable {
  /// The display name, at most `Limits.displayNameBytesMax`.
  public var name: String?
  /// The description, at most `Limits.statusBytesMax`.
  public var about: String?
  /// A JSON object as the app wrote it; `nil` means `{}`.
  public var metadata: String?
  /// SHA-1 of the avatar's bytes in lower-case hex; `nil` if there is no avatar.
  public var avatarHash: String?
  /// Whether only members may enter; otherwise everyone who is not banned.
  public var isMembersOnly = true
  /// Whether the directory and discovery list the room.
  public var isListed = false
  /// Whether users without affiliation enter without voice.
  public var isModerated = false
  /// Whether only moderators have a voice, among them all admins and owners. Others keep the role that is shown
  /// (`speakingRole`).
  public var isReadOnly = false
  /// Whether everyone sees the occupants' addresses (non-anonymous); otherwise only moderators.
  public var showsAddresses = true
  /// The password required to enter; compared in constant time.
  public var password: String?
  /// The greatest number of occupants; `nil` for `Limits.occupantsMax`. Admins and owners can always enter.
  public var occupantsMax: Int?
  public var whispers = Whispers.anyone
  /// Whether users of other servers may enter and be members (`RemoteRoomPolicy`).
  public var acceptsRemote = true
  /// Whether members may invite, which makes members in a members-only room.
  public var membersInvite = false
  /// Whether all members with voice may pin messages, not only admins and moderators.
  public var membersPin = false
  /// Whether participants may set the topic, not only moderators.
  public var participantsSetTopic = false
  public var history = HistoryVisibility.all
  /// Seconds between two messages of one participant; 0 disables slow mode (XEP-0500).
  public var slowModeSeconds = 0
  /// The days after which messages go, whispers included, where the operators let them stay longer
  /// (`RetentionPolicy.Bounds.rooms`); `nil`: only as these say.
  public var retentionDays: Int?
  public var language: String?
  public var lifetime = Lifetime.kept
  /// The most messages of history that an entering client gets (`muc#maxhistoryfetch`); `nil` for what the door gives.
  public var historyMax: Int?

  /// The time for which a room exists (XEP-0045 4.2: persistent, temporary). Stored: never renumber.
  public enum Lifetime: UInt8, Sendable {
    /// The room is persistent and stays so: its app's users have been promised to find it again.
    case kept = 0
    /// The room is persistent as long as its owners want it.
    case persistent = 1
    /// The room ends when its last occupant leaves.
    case temporary = 2
  }

  /// Whether the room stays when everybody has left, as its owners want. A room that is kept stays so if it is to be
  /// persistent.
  public var isPersistent: Bool {
    get { lifetime != .temporary }
    set { if newValue != isPersistent { lifetime = newValue ? .persistent : .temporary } }
  }

  /// Stored: never renumber.
  public enum HistoryVisibility: UInt8, Sendable { case all = 0, sinceJoin = 1 }
  /// The occupants who may send private messages (`muc#roomconfig_allowpm`). Stored: never renumber.
  public enum Whispers: UInt8, Sendable { case anyone = 0, participants = 1, moderators = 2, none = 3 }

  public init() {}

  /// The bytes of its texts.
  var textBytes: Int {
    [name, about, metadata, avatarHash, password, language].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
  }

  /// Returns the role that decides what somebody may say, also by a topic, a status, a nick or a private message: a
  /// participant of a read-only room counts as a visitor.
  func speakingRole(of role: Role) -> Role { isReadOnly && role == .participant ? .visitor : role }

  /// The settings without the password, which others may read.
  public var withoutPassword: RoomSettings {
    var settings = self
    settings.password = nil
    return settings
  }

  /// Members-only and non-anonymous: the app protocol's `group`.
  public static let group = RoomSettings()
  /// Open, listed and semi-anonymous: the app protocol's `public`.
  public static let open: RoomSettings = {
    var settings = RoomSettings()
    settings.isMembersOnly = false
    settings.isListed = true
    settings.showsAddresses = false
    return settings
  }()
  /// The settings of an instant room (XEP-0045 10.1.2): as on other servers, open to anyone who knows its address, not
  /// listed, and temporary.
  public static let instant: RoomSettings = {
    var settings = RoomSettings.open
    settings.isListed = false
    settings.lifetime = .temporary
    return settings
  }()
}

/// A group or public dialog as stored.
public struct Room: Hashable, Sendable {
  public let name: RoomName
  /// The id that the app's backend has given it, unique in the realm (`ExternalID.backend`).
  public let externalID: String?
  /// The user who has given `userExternalID`; `nil` if there is none.
  public let creator: UserID?
  /// The id that its creator has given it (`ExternalID.user`). A room of an earlier release may have both ids: its log
  /// does not say whether the backend or its owner has given the one it had.
  public let userExternalID: String?
  public let createdAt: Timestamp
  public var settings: RoomSettings
  public var topic: Topic?
  /// The last message's sequence number; messages and notices are numbered without gaps.
  public var sequence: Int64
  /// The number of entries so far that count as unread.
  public var ordinal: Int64
  /// The position of the last entry of any kind.
  public private(set) var last: Position
  /// The position of the last entry that is shown as a message, or of the first entry: the place in lists.
  public private(set) var shown: Position
  /// The number of people with the affiliation watcher or above.
  public var memberCount: Int
  /// The position of the last change of an affiliation: the version of the member list (XEP-0463).
  public var version: Position
  /// Whether the room has ended. It remains as the name that entries of the log refer to.
  public var isDestroyed: Bool
  /// Whether the address of the ended room may be another room's: after a temporary room at once, otherwise from when
  /// somebody makes a room there again (`Limits.tombstoneTime`).
  public var isAddressFree: Bool
  /// Whether some of its people may still be members of the ended room (`RoomWriter.endMembers`). Nothing shows it to them any more,
  /// and until this is over nobody makes a room at its address.
  public var isEnding: Bool
  /// Whether the room that is ending was left by everybody, and nobody has destroyed it (XEP-0045 7.14).
  public var isAbandoned: Bool

  public init(
    name: RoomName, externalID: String?, creator: UserID? = nil, userExternalID: String? = nil, createdAt: Timestamp,
    settings: RoomSettings, topic: Topic? = nil,
    sequence: Int64 = 0, ordinal: Int64 = 0, last: Position = .zero, shown: Position = .zero,
    memberCount: Int = 0, version: Position = .zero, isDestroyed: Bool = false, isAddressFree: Bool = false,
    isEnding: Bool = false, isAbandoned: Bool = false
  ) {
    self.name = name
    self.externalID = externalID
    self.creator = creator
    self.userExternalID = userExternalID
    self.createdAt = createdAt
    self.settings = settings
    self.topic = topic
    self.sequence = sequence
    self.ordinal = ordinal
    self.last = last
    self.shown = shown
    self.memberCount = memberCount
    self.version = version
    self.isDestroyed = isDestroyed
    self.isAddressFree = isAddressFree
    self.isEnding = isEnding
    self.isAbandoned = isAbandoned
  }

  /// Notes that the entry at a position is the last one.
  public mutating func end(at position: Position, isShown: Bool = false) {
    last = position
    if isShown || shown == .zero { shown = position }
  }

  public var id: DialogID { name.dialog }
  public var address: BareJID { name.address }

  /// Returns the id that a member may see: the backend's, or the one that the member has given as the creator.
  public func externalID(for member: UserID) -> String? {
    externalID ?? (member == creator ? userExternalID : nil)
  }

  /// Returns whether a user of this affiliation may see addresses (XEP-0045 4.2: in a semi-anonymous room moderators
  /// may); `nil` for a user unknown to the room.
  public func showsPeople(to affiliation: Affiliation?) -> Bool {
    settings.showsAddresses || affiliation.map { $0.seesAddresses } ?? false
  }
}

/// A room's topic (XEP-0045 8.1), with its author and time.
public struct Topic: Hashable, Sendable {
  /// The text; empty if the topic was removed.
  public var text: String
  /// The author's nick; `nil` for the server.
  public var nick: String?
  public var time: Timestamp
  public init(text: String, nick: String?, time: Timestamp) {
    self.text = text
    self.nick = nick
    self.time = time
  }
}

/// A user's lasting relation to a room (XEP-0045 5.2), which the app protocol calls a role. A watcher is a member who
/// enters without voice. Stored, and compared: never renumber.
public enum Affiliation: UInt8, Hashable, Sendable, Comparable, CaseIterable {
  case outcast = 0, none = 1, watcher = 2, member = 3, admin = 4, owner = 5

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  /// Whether the user belongs to the room, present or not.
  public var isMember: Bool { self >= .watcher }
  /// Whether the user's role on entering is moderator.
  public var seesAddresses: Bool { self >= .admin }
}

/// An occupant's permissions while present (XEP-0045 5.1).
public enum Role: UInt8, Hashable, Sendable, Comparable, CaseIterable {
  case none = 0, visitor = 1, participant = 2, moderator = 3
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A row of a room's list of people: a member or an outcast.
public struct Member: Hashable, Sendable {
  public let room: DialogID
  public let party: Party
  public var affiliation: Affiliation
  /// The nick reserved in the room, also while the member is away; unique there by the comparison of RFC 8266. `nil` for
  /// a member who was given none and has not come yet; outcasts have none.
  public var nick: String?
  /// Whether the nick was registered (XEP-0045 7.10) or given (9.3), not only used.
  public var isNickRegistered: Bool
  /// The position of the entry that made the user a member; earlier entries are history.
  public var since: Position
  public var joinedAt: Timestamp
  /// The position of the last change of the affiliation.
  public var version: Position
  /// The reason of a ban; `nil` for members.
  public var reason: String?
  /// Whether a moderator kicked the member (XEP-0045 8.2), who stays a member but may not write until they join or
  /// enter again.
  public var isKicked: Bool

  /// The bytes of its texts as a row, where an index has the nick again.
  var textBytes: Int { 2 * (nick?.utf8.count ?? 0) + (reason?.utf8.count ?? 0) }

  public init(
    room: DialogID, party: Party, affiliation: Affiliation, nick: String?, isNickRegistered: Bool = false,
    since: Position, joinedAt: Timestamp, version: Position, reason: String? = nil, isKicked: Bool = false
  ) {
    self.room = room
    self.party = party
    self.affiliation = affiliation
    self.nick = nick
    self.isNickRegistered = isNickRegistered
    self.since = since
    self.joinedAt = joinedAt
    self.version = version
    self.reason = reason
    self.isKicked = isKicked
  }
}

/// A notice that the server writes in a room; both doors show it.
public struct RoomChange: Sendable {
  public enum Change: Hashable, Sendable {
    case created
    /// The new and the previous settings, without passwords.
    case settings(RoomSettings, was: RoomSettings)
    case topic(Topic)
    /// A change of an affiliation or reserved nick, a kick, or the end of a kick.
    case member(MemberChange)
    case destroyed(reason: String?, alternate: BareJID?)
  }
  /// The sequence number, as notices are shown among the messages; 0 for those that are not shown.
  public let sequence: Int64
  public let change: Change
  /// The stanza that set a topic, if it came by XMPP: the archive returns it.
  public let stanza: Message?
  /// The room just after the change; `nil` if the entry was read from the log: then the room must be read too.
  public let room: Room?

  public init(sequence: Int64, change: Change, stanza: Message? = nil, room: Room? = nil) {
    self.sequence = sequence
    self.change = change
    self.stanza = stanza
    self.room = room
  }
}

public struct MemberChange: Hashable, Sendable {
  public let party: Party
  public let was: Affiliation
  public let now: Affiliation
  /// The reserved nick after the change; for a user who left, the one before.
  public let nick: String?
  public let reason: String?
  /// `Member.isKicked` before and after.
  public let wasKicked: Bool
  public let isKicked: Bool

  public init(
    party: Party, was: Affiliation, now: Affiliation, nick: String?, reason: String?, wasKicked: Bool = false,
    isKicked: Bool = false
  ) {
    self.party = party
    self.was = was
    self.now = now
    self.nick = nick
    self.reason = reason
    self.wasKicked = wasKicked
    self.isKicked = isKicked
  }
}

/// An invitation to a room, in the invited user's `self` dialog.
public struct Invitation: Hashable, Sendable {
  public let room: RoomName
  public let inviter: Party
  public let reason: String?
  public let password: String?
  /// Whether a bookmark announces the room too: clients that follow bookmarks need no invitation.
  public let isBookmarked: Bool
  /// The room's name; `nil` also if the entry was read from the log: then the room must be read.
  public let name: String?
  /// The one-to-one chat that continues in the room (XEP-0045 7.9).
  public let continuing: Continuation?

  public struct Continuation: Hashable, Sendable {
    /// The thread of that chat, at most `Limits.threadBytesMax`.
    public let thread: String?
    public init(thread: String?) { self.thread = thread }
  }

  /// Returns whether a client that subscribes to these nodes receives the invitation: it gets the bookmark or the
  /// invitation, never both.
  public func isFor(_ interests: Set<String>) -> Bool {
    !isBookmarked || interests.isDisjoint(with: [Bookmark.node, Bookmark.listNode])
  }

  public init(
    room: RoomName, inviter: Party, reason: String?, password: String?, isBookmarked: Bool = false,
    name: String? = nil, continuing: Continuation? = nil
  ) {
    self.room = room
    self.inviter = inviter
    self.reason = reason
    self.password = password
    self.isBookmarked = isBookmarked
    self.name = name
    self.continuing = continuing
  }
}

/// A room as one member sees it in a list.
public struct RoomView: Sendable {
  public let room: Room
  public let member: Member
  public let mark: Mark
  public let settings: DialogSettings
  /// The last message or notice that is shown.
  public let lastMessage: Entry?
  public init(
    room: Room, member: Member, mark: Mark, settings: DialogSettings = DialogSettings(), lastMessage: Entry?
  ) {
    self.room = room
    self.member = member
    self.mark = mark
    self.settings = settings
    self.lastMessage = lastMessage
  }
}
