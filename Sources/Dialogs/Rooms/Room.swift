public import Addresses

/// A group or public dialog as the log needs it: number and address, nothing
/// that changes. Doors call it what their protocol calls it: a room, a dialog.
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
  public static func == (a: RoomName, b: RoomName) -> Bool { a.dialog == b.dialog }
  public func hash(into hasher: inout Hasher) { hasher.combine(dialog) }
}

/// How a room is meant: each field by itself (XEP-0045 4.2, 10.2); what the
/// app's wire calls the type of a dialog is derived from them.
public struct RoomSettings: Hashable, Sendable {
  /// What people call it; at most `Limits.displayNameBytesMax`.
  public var name: String?
  /// At most `Limits.statusBytesMax`.
  public var about: String?
  /// A JSON object as the app wrote it; nil means `{}`.
  public var metadata: String?
  /// SHA-1 of the avatar's bytes in lower-case hex; nil: none.
  public var avatarHash: String?
  /// Only members enter; else everybody who is not banned.
  public var isMembersOnly = true
  /// Anybody finds it: directory and discovery. Else it is hidden.
  public var isListed = false
  /// Who enters without an affiliation has no voice.
  public var isModerated = false
  /// Everybody sees who occupants are (non-anonymous); else only moderators.
  public var showsAddresses = true
  /// Asked of everybody who enters; compared in constant time.
  public var password: String?
  /// At most so many occupants; nil: `Limits.occupantsMax`. Admins and owners
  /// always get in.
  public var occupantsMax: Int?
  public var whispers = Whispers.anyone
  /// Members may invite, which makes members in a members-only room.
  public var membersInvite = false
  /// All who have a voice among its members may pin messages, not only admins and whoever moderates.
  public var membersPin = false
  /// Participants may set the topic, not only moderators.
  public var participantsSetTopic = false
  public var history = HistoryVisibility.all
  /// Seconds between two messages of one participant; 0: none (XEP-0500).
  public var slowModeSeconds = 0
  public var language: String?

  /// Stored: never renumber.
  public enum HistoryVisibility: UInt8, Sendable { case all = 0, sinceJoin = 1 }
  /// Who may send private messages to occupants (`muc#roomconfig_allowpm`).
  /// Stored: never renumber.
  public enum Whispers: UInt8, Sendable { case anyone = 0, participants = 1, moderators = 2, none = 3 }

  public init() {}

  /// As others may read them.
  public var withoutPassword: RoomSettings {
    var settings = self
    settings.password = nil
    return settings
  }

  /// Closed, everybody known: the app's `group`.
  public static let group = RoomSettings()
  /// Open and listed, people shown under their nicks: the app's `public`.
  public static let open: RoomSettings = {
    var settings = RoomSettings()
    settings.isMembersOnly = false
    settings.isListed = true
    settings.showsAddresses = false
    return settings
  }()
  /// What a room is whose creator says no more (XEP-0045 10.1.2): as the other
  /// servers have it, open to who knows its address, and not listed.
  public static let instant: RoomSettings = {
    var settings = RoomSettings.open
    settings.isListed = false
    return settings
  }()
}

/// A group or public dialog as stored.
public struct Room: Hashable, Sendable {
  public let name: RoomName
  /// A foreign system's id for get-or-create, unique in the realm.
  public let externalID: String?
  public let createdAt: Timestamp
  public var settings: RoomSettings
  public var topic: Topic?
  /// The last message's sequence; messages and notices, dense.
  public var sequence: Int64
  /// How many entries so far made the dialog unread.
  public var ordinal: Int64
  /// Position of the last entry of any kind.
  public var last: Position
  /// How many people have an affiliation of member or above.
  public var memberCount: Int
  /// Position of the last change of somebody's affiliation: the version of the
  /// member list (XEP-0463).
  public var version: Position
  /// Gone for everybody; the address is never given out again.
  public var isDestroyed: Bool

  public init(
    name: RoomName, externalID: String?, createdAt: Timestamp, settings: RoomSettings, topic: Topic? = nil,
    sequence: Int64 = 0, ordinal: Int64 = 0, last: Position = .zero, memberCount: Int = 0,
    version: Position = .zero, isDestroyed: Bool = false
  ) {
    self.name = name
    self.externalID = externalID
    self.createdAt = createdAt
    self.settings = settings
    self.topic = topic
    self.sequence = sequence
    self.ordinal = ordinal
    self.last = last
    self.memberCount = memberCount
    self.version = version
    self.isDestroyed = isDestroyed
  }

  public var id: DialogID { name.dialog }
  public var address: BareJID { name.address }

  /// Whether somebody may know who its people are (XEP-0045 4.2: of a semi-anonymous
  /// room moderators may). nil: they are nobody here.
  public func showsPeople(to affiliation: Affiliation?) -> Bool {
    settings.showsAddresses || affiliation.map { $0.seesAddresses } ?? false
  }
}

/// What a room talks about (XEP-0045 8.1), and who said so when.
public struct Topic: Hashable, Sendable {
  /// Empty: taken away.
  public var text: String
  /// The author's nick; nil: the server.
  public var nick: String?
  public var time: Timestamp
  public init(text: String, nick: String?, time: Timestamp) {
    self.text = text
    self.nick = nick
    self.time = time
  }
}

/// What somebody is to a room for good (XEP-0045 5.2), and what the app's wire
/// calls a role. A watcher is a member who enters without voice.
/// Stored, and compared: never renumber.
public enum Affiliation: UInt8, Hashable, Sendable, Comparable, CaseIterable {
  case outcast = 0, none = 1, watcher = 2, member = 3, admin = 4, owner = 5

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  /// Belongs to the room, whether there or not.
  public var isMember: Bool { self >= .watcher }
  /// Whose role on entering is moderator, there or not.
  public var seesAddresses: Bool { self >= .admin }
}

/// What an occupant may do while there (XEP-0045 5.1).
public enum Role: UInt8, Hashable, Sendable, Comparable, CaseIterable {
  case none = 0, visitor = 1, participant = 2, moderator = 3
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A row of a room's list of people: a member, or somebody who is banned.
public struct Member: Hashable, Sendable {
  public let room: DialogID
  public let party: Party
  public var affiliation: Affiliation
  /// Reserved in the room, also while the member is away; unique there as RFC
  /// 8266 compares. Banned people have none.
  public var nick: String?
  /// The entry that made them a member: what came before is history.
  public var since: Position
  public var joinedAt: Timestamp
  /// Position of the last change of the affiliation.
  public var version: Position
  /// Why somebody is banned; of members nil.
  public var reason: String?
  /// Was put out by a moderator (XEP-0045 8.2) and has not come back: a member still,
  /// who says nothing here until they join or enter again.
  public var isKicked: Bool

  public init(
    room: DialogID, party: Party, affiliation: Affiliation, nick: String?, since: Position, joinedAt: Timestamp,
    version: Position, reason: String? = nil, isKicked: Bool = false
  ) {
    self.room = room
    self.party = party
    self.affiliation = affiliation
    self.nick = nick
    self.since = since
    self.joinedAt = joinedAt
    self.version = version
    self.reason = reason
    self.isKicked = isKicked
  }
}

/// What the server notes in a room: seen by both doors, written by nobody else.
public struct RoomChange: Sendable {
  public enum Change: Hashable, Sendable {
    case created
    /// What it is meant to be from now on, and what it was; without passwords.
    case settings(RoomSettings, was: RoomSettings)
    case topic(Topic)
    /// Somebody's affiliation or reserved nick, or that they were kicked or came back.
    case member(MemberChange)
    case destroyed(reason: String?, alternate: BareJID?)
  }
  /// Notices stand among the messages; 0 for those that are not shown.
  public let sequence: Int64
  public let change: Change
  /// The stanza that carried a topic, where XMPP did: the archive returns it.
  public let stanza: Message?
  /// The room as it was just after the change; nil where the entry was read from
  /// the log: who needs it reads the room too.
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
  /// The reserved nick after the change; of who is gone, the one before.
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

/// Somebody was asked into a room (in the invited user's `self` dialog).
public struct Invitation: Hashable, Sendable {
  public let room: RoomName
  public let inviter: Party
  public let reason: String?
  public let password: String?
  /// A bookmark says it too: clients that follow bookmarks need not be invited.
  public let isBookmarked: Bool
  /// What the room is called; nil also where the entry was read from the log: who
  /// needs it reads the room.
  public let name: String?
  /// A chat between two goes on in the room (XEP-0045 7.9).
  public let continuing: Continuation?

  public struct Continuation: Hashable, Sendable {
    /// Of that chat, at most `Limits.threadBytesMax`.
    public let thread: String?
    public init(thread: String?) { self.thread = thread }
  }

  /// Whether a client is told that wants to be told of these nodes: of the bookmark
  /// or of the invitation, never of both.
  public func isFor(_ interests: Set<String>) -> Bool { !isBookmarked || !interests.contains(Bookmark.node) }

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
