public import Addresses

/// Which room a post means: XMPP says its address, the app its id.
public enum RoomReference: Hashable, Sendable {
  case address(BareJID)
  case dialog(DialogID)
}

/// What somebody wants of a room. Authorisation is by the post's author and,
/// where it is an occupant's doing, by the session it came from.
public enum RoomIntent: Sendable {
  /// A new room with its first members. `Receipt.room`; a repeat where the
  /// `externalID` is known.
  case create(RoomDraft)
  /// The session enters, or changes its nick (XEP-0045 7.2, 7.6).
  /// `Receipt.value`: an `Entrance`.
  case enter(RoomReference, Entering)
  /// The session's availability as its occupant shows it (7.7).
  case show(RoomReference, Presence)
  /// The session leaves: it goes offline in the room, it does not leave the
  /// dialog (7.14).
  case exit(RoomReference, Presence?)
  /// Says something to everybody.
  case say(RoomReference, RoomMessageDraft)
  /// Passed on to all occupants and forgotten: chat states and the like.
  case signal(RoomReference, RelayedStanza)
  /// Says something to one occupant, by nick (7.5).
  case whisper(RoomReference, nick: String, RoomMessageDraft)
  /// Passed on to one occupant, by nick, and forgotten: chat states, receipts, and
  /// IQs between clients (17.4).
  case pass(RoomReference, nick: String, RelayedStanza)
  /// Who is there under a nick, for what the server itself says of them. `Receipt.value`: an `OccupantFace`.
  case face(RoomReference, nick: String)
  /// Up to which message the author has read.
  case marker(RoomReference, RoomMarkerDraft)
  /// Affiliations and reserved nicks, all or none of them (9.1 to 9.8, 10.3 to 10.8).
  case members(RoomReference, [MemberDraft])
  /// Roles of occupants: kick, voice, moderator (8.2 to 8.5, 9.6, 9.7).
  case roles(RoomReference, [RoleDraft])
  /// Name, avatar, and how it is meant (10.2). An unconfigured room comes to be.
  case configure(RoomReference, SettingsDraft)
  /// The creator of an unconfigured room gives it up (10.1.3).
  case abandon(RoomReference)
  case topic(RoomReference, text: String, stanza: RoomMessageDraft?)
  case invite(RoomReference, to: BareJID, reason: String?, continuing: Invitation.Continuation? = nil)
  /// An invited user says no (7.8.2): the inviter's sessions are told, once.
  case decline(RoomReference, to: BareJID, reason: String?)
  /// A visitor asks the moderators for voice (8.6).
  case askForVoice(RoomReference)
  /// The author enters the member list of an open room, or claims the nick that
  /// is theirs there (7.10). A member who was kicked comes back by it. `bookmarks`:
  /// who becomes a member by it has no client that would bookmark the room.
  case register(RoomReference, nick: String?, bookmarks: Bool = false)
  /// `password`: of the alternate room; told to those who are there, and not kept.
  case destroy(RoomReference, reason: String?, alternate: BareJID?, password: String? = nil)
  /// Goes on taking the bookmarks of a destroyed room from those who were members,
  /// behind `after`: some in each post, so that no room holds up the log. Does
  /// nothing to a room that is there.
  case unbookmark(RoomReference, after: UserID)
  /// Who is there, as far as it concerns the author. `Receipt.value`: an `Occupancy`.
  case occupants(RoomReference)
  /// The same without the list, which costs a look at everybody there.
  case place(RoomReference)
  /// How many are in each room where somebody is, of all realms; for the server's
  /// own use. `Receipt.value`: `[DialogID: Int]`.
  case headcounts
  /// All seats of a session that has ended.
  case vacate(SessionID)
}

public struct RoomDraft: Sendable {
  /// nil: a random one.
  public var localpart: String?
  public var externalID: String?
  public var settings: RoomSettings
  public var topic: String?
  /// The author is owner in any case.
  public var members: [MemberDraft]

  public init(
    localpart: String? = nil, externalID: String? = nil, settings: RoomSettings, topic: String? = nil,
    members: [MemberDraft] = []
  ) {
    self.localpart = localpart
    self.externalID = externalID
    self.settings = settings
    self.topic = topic
    self.members = members
  }
}

/// A session at the door of a room.
public struct Entering: Sendable {
  public let session: any LiveSession
  public let nick: String
  public let password: String?
  /// What the client says of itself: availability and extras go to the others.
  public let presence: Presence
  /// The client knows rooms (`<x xmlns=muc/>`): it may make one, and an occupant
  /// that sends it again is shown everything again.
  public let isJoin: Bool
  /// What it has of the member list; nil: it keeps none.
  public let list: MemberListRequest?

  public init(
    session: any LiveSession, nick: String, password: String?, presence: Presence, isJoin: Bool,
    list: MemberListRequest? = nil
  ) {
    self.session = session
    self.nick = nick
    self.password = password
    self.presence = presence
    self.isJoin = isJoin
    self.list = list
  }
}

/// What a session that has entered must know.
public struct Entrance: Sendable {
  public let room: Room
  /// The history ends here; what comes behind it is told live.
  public let position: Position
  /// History before this is not the viewer's to see.
  public let visibleAfter: Position
  /// Those who are shown, without the viewer.
  public let others: [OccupantPresence]
  /// The viewer as the others see them, with the codes of 7.2.2.
  public let own: OccupantPresence
  /// Of the member list; nil: it is not for the viewer, or too long to be told.
  public let listVersion: Position?
  public let list: MemberListAnswer

  public init(
    room: Room, position: Position, visibleAfter: Position, others: [OccupantPresence], own: OccupantPresence,
    listVersion: Position? = nil, list: MemberListAnswer = .nothing
  ) {
    self.room = room
    self.position = position
    self.visibleAfter = visibleAfter
    self.others = others
    self.own = own
    self.listVersion = listVersion
    self.list = list
  }
}

public struct RoomMessageDraft: Sendable {
  public var content: Content
  public var envelope: Envelope
  public var traits: Message.Traits
  public var key: RepeatKey?
  public var reference: ReferenceDraft?
  /// As of `MessageDraft`.
  public var mentions: [MentionDraft]
  /// As of `MessageDraft`.
  public var forward: ForwardDraft?
  public init(
    content: Content, envelope: Envelope, traits: Message.Traits, key: RepeatKey?, reference: ReferenceDraft? = nil,
    mentions: [MentionDraft] = [], forward: ForwardDraft? = nil
  ) {
    self.forward = forward
    self.content = content
    self.envelope = envelope
    self.traits = traits
    self.key = key
    self.reference = reference
    self.mentions = mentions
  }
}

public struct RoomMarkerDraft: Sendable {
  public var kind: Marker.Kind
  public var target: PublicID
  public var isPrivate: Bool
  /// The stanza to relay, where XMPP sent it.
  public var stanza: RoomMessageDraft?
  public init(kind: Marker.Kind, target: PublicID, isPrivate: Bool = false, stanza: RoomMessageDraft? = nil) {
    self.kind = kind
    self.target = target
    self.isPrivate = isPrivate
    self.stanza = stanza
  }
}

/// What somebody is to become. nil leaves as it is.
public struct MemberDraft: Hashable, Sendable {
  public var address: BareJID
  public var affiliation: Affiliation?
  /// Empty: none is reserved any more.
  public var nick: String?
  public var reason: String?
  /// `.member` means a member of either kind, as XMPP says it, which knows no
  /// watchers: who is one stays one.
  public var keepsWatchers: Bool
  public init(
    address: BareJID, affiliation: Affiliation?, nick: String? = nil, reason: String? = nil, keepsWatchers: Bool = false
  ) {
    self.address = address
    self.affiliation = affiliation
    self.nick = nick
    self.reason = reason
    self.keepsWatchers = keepsWatchers
  }
}

public struct RoleDraft: Hashable, Sendable {
  public var nick: String
  public var role: Role
  public var reason: String?
  public init(nick: String, role: Role, reason: String?) {
    self.nick = nick
    self.role = role
    self.reason = reason
  }
}

/// A change of settings as a function of what they are, so that two who change
/// different fields at once both succeed.
public struct SettingsDraft: Sendable {
  public var apply: @Sendable (inout RoomSettings) -> Void
  /// The new avatar; `.some(nil)` removes it.
  public var avatar: Avatar??
  /// Who is to be owner and admin from now on, where the form says it (10.5, 10.8).
  public var members: [MemberDraft]
  public init(
    avatar: Avatar?? = nil, members: [MemberDraft] = [], apply: @escaping @Sendable (inout RoomSettings) -> Void
  ) {
    self.apply = apply
    self.avatar = avatar
    self.members = members
  }
}

/// Who is under a nick.
public struct OccupantFace: Sendable {
  public let party: Party
  /// The room tells the asker who they are.
  public let isKnown: Bool
}

/// Who is in a room, and what the one who asks is there.
public struct Occupancy: Sendable {
  public let affiliation: Affiliation
  /// `none`: not there.
  public let role: Role
  /// The asker's own; nil: not there.
  public let nick: String?
  public let count: Int
  /// Another number whenever the list of members may be another, also after a
  /// restart of the room's cache. Not stored.
  public let edition: UInt64
  /// Empty for who does not belong to a closed room, and where it was not asked for.
  public let occupants: [OccupantView]
  public init(
    affiliation: Affiliation, role: Role, nick: String?, count: Int, edition: UInt64, occupants: [OccupantView]
  ) {
    self.affiliation = affiliation
    self.role = role
    self.nick = nick
    self.count = count
    self.edition = edition
    self.occupants = occupants
  }
}

/// Somebody who is in a room now.
public struct OccupantView: Hashable, Sendable {
  public let nick: String
  public let party: Party
  public let affiliation: Affiliation
  public let role: Role
  /// Of its sessions.
  public let resources: [String]
  public init(nick: String, party: Party, affiliation: Affiliation, role: Role, resources: [String]) {
    self.nick = nick
    self.party = party
    self.affiliation = affiliation
    self.role = role
    self.resources = resources
  }
}

/// One occupant's presence as a room tells it (XEP-0045 7.2.2 to 7.14, 8, 9).
/// Shared by all who are told.
public final class OccupantPresence: Sendable {
  public let room: RoomName
  public let nick: String
  public let party: Party
  /// The session it is about: its full JID is shown to those who may see it.
  public let resource: String?
  public let affiliation: Affiliation
  public let role: Role
  /// What the client said: availability and extras. An unavailable one ends it.
  public let presence: Presence
  /// Status codes for everybody (XEP-0045 16.6.2): 301, 303, 307, 321, 322, 332, 333.
  public let codes: [UInt16]
  /// Status codes for the occupant's own sessions beside 110.
  public let ownCodes: [UInt16]
  public let newNick: String?
  public let actor: String?
  public let reason: String?
  public let destroyed: Destroyed?
  /// Stable and opaque (XEP-0421 3).
  public let occupantID: String
  /// Everybody may see the address; else only moderators and the occupant.
  public let showsAddress: Bool
  /// It tells of a change of the member list.
  public let listStep: MemberListStep?
  public let forms = FormSlot()

  public struct Destroyed: Hashable, Sendable {
    public let alternate: BareJID?
    /// Of the alternate room.
    public let password: String?
    public init(alternate: BareJID?, password: String? = nil) {
      self.alternate = alternate
      self.password = password
    }
  }

  public var isAvailable: Bool { presence.isAvailable }

  public init(
    room: RoomName, nick: String, party: Party, resource: String?, affiliation: Affiliation, role: Role,
    presence: Presence, codes: [UInt16] = [], ownCodes: [UInt16] = [], newNick: String? = nil,
    actor: String? = nil, reason: String? = nil, destroyed: Destroyed? = nil, occupantID: String,
    showsAddress: Bool, listStep: MemberListStep? = nil
  ) {
    self.room = room
    self.nick = nick
    self.party = party
    self.resource = resource
    self.affiliation = affiliation
    self.role = role
    self.presence = presence
    self.codes = codes
    self.ownCodes = ownCodes
    self.newNick = newNick
    self.actor = actor
    self.reason = reason
    self.destroyed = destroyed
    self.occupantID = occupantID
    self.showsAddress = showsAddress
    self.listStep = listStep
  }
}

/// What a room itself has to say to those who are there, and forgets.
public final class RoomNotice: Sendable {
  public enum Kind: Hashable, Sendable {
    /// Status codes of a change of settings: 104, 170 to 173.
    case settings(codes: [UInt16])
    /// The affiliation of somebody who is not there (XEP-0045 9).
    case member(MemberChange)
    /// Somebody without voice asks for it (8.6): for moderators.
    case voiceRequest(nick: String, Party)
    /// An invitation was declined (7.8.3).
    case declined(by: BareJID, reason: String?)
  }
  public let room: RoomName
  public let kind: Kind
  /// Of the member list, where it tells of an affiliation.
  public let listStep: MemberListStep?
  public init(room: RoomName, kind: Kind, listStep: MemberListStep? = nil) {
    self.room = room
    self.kind = kind
    self.listStep = listStep
  }
}
