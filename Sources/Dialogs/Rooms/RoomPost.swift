public import Addresses

/// The room that a post refers to: by address in XMPP, by id in the app protocol.
public enum RoomReference: Hashable, Sendable {
  case address(BareJID)
  case dialog(DialogID)
}

/// A request concerning a room. It is authorised by the post's author and, for an occupant's actions, by the session it
/// came from.
public enum RoomIntent: Sendable {
  /// Creates a room with its first members, in pieces as `members`. The receipt has `room`; it is a repeat if the `externalID` is known.
  case create(RoomDraft)
  /// Gives a remote user, who may enter the room, their stored id: the session that enters for them must have it.
  /// `Receipt.value` is the `Party`.
  case introduce(RoomReference, password: String?)
  /// Enters with the session, or changes its nick (XEP-0045 7.2, 7.6). `Receipt.value` is an `EnteredRoom`.
  case enter(RoomReference, Entering)
  /// Sets the session's availability in the room (7.7).
  case show(RoomReference, Presence)
  /// Returns the presence of the occupant under a nick, or of all who are shown, to a session in the room (17.3).
  /// `Receipt.value` is a `ProbedOccupants`.
  case probe(RoomReference, nick: String?)
  /// Leaves with the session: it goes offline in the room, the user does not leave the dialog (7.14).
  case exit(RoomReference, Presence?)
  /// Sends a message to everyone.
  case say(RoomReference, RoomMessageDraft)
  /// Relays a stanza, such as a chat state, to all occupants without storing it.
  case signal(RoomReference, RelayedStanza)
  /// Sends a message to one occupant, by nick (7.5).
  case whisper(RoomReference, nick: String, RoomMessageDraft)
  /// Relays a stanza to one occupant, by nick, without storing it: chat states, receipts, and IQs between clients
  /// (17.4). `isQuestion` tells that it is a request that a client answers by itself, without anybody being shown
  /// anything.
  case pass(RoomReference, nick: String, RelayedStanza, isQuestion: Bool = false)
  /// Returns the occupant under a nick, for answers that the server gives itself. `Receipt.value` is an `OccupantFace`.
  case face(RoomReference, nick: String)
  /// Sets the message up to which the author has read.
  case marker(RoomReference, RoomMarkerDraft)
  /// Changes affiliations and reserved nicks (9.1 to 9.8, 10.3 to 10.8). All are checked before any is changed; more than
  /// `Limits.memberChangesAtOnce` change in pieces, between which others post, and each piece is checked again. A piece that is refused
  /// refuses the request, and those before it stay, as after a crash: the same request again changes the others.
  case members(RoomReference, [MemberDraft])
  /// Changes roles of occupants: kick, voice, moderator (8.2 to 8.5, 9.6, 9.7), in pieces as `members`. An occupant who leaves between two
  /// pieces is left out.
  case roles(RoomReference, [RoleDraft])
  /// Changes the settings and avatar (10.2); creates a room that is being set up. Occupants whom it does not admit any more leave in
  /// pieces (`expelOutsiders`), and the answer comes after the last.
  case configure(RoomReference, SettingsDraft)
  /// Continues to remove occupants whom new settings or bans do not admit, in the name of who has set them: a part of `configure` and
  /// `members`.
  case expelOutsiders(DialogID)
  /// Tells that the creator of a room that is being set up configures it: nobody else enters until that has ended
  /// (10.1.3). It does nothing to an existing room.
  case prepare(RoomReference)
  /// Gives up an unconfigured room, by its creator (10.1.3).
  case abandon(RoomReference)
  case topic(RoomReference, text: String, stanza: RoomMessageDraft?)
  case invite(RoomReference, to: BareJID, reason: String?, continuing: Invitation.Continuation? = nil)
  /// Declines an invitation (7.8.2): the inviter's sessions are notified, once. `id` and `extras` are the id and the
  /// children of the message that the room sends to an inviter elsewhere who is not in the room.
  case decline(RoomReference, to: BareJID, reason: String?, id: String? = nil, extras: [UInt8] = [])
  /// Asks the moderators for voice, by a visitor (8.6).
  case askForVoice(RoomReference)
  /// Makes the author a member of an open room, or reserves a nick there (7.10). It ends the kick of a member.
  /// `bookmarks` adds a bookmark for a new member whose client would not, and keeps the room for them.
  case register(RoomReference, nick: String?, bookmarks: Bool = false)
  /// Destroys the room. `password` is the alternate room's; the occupants are told it, and it is not stored. The answer comes when the
  /// room is closed; of many people some leave in later posts.
  case destroy(RoomReference, reason: String?, alternate: BareJID?, password: String? = nil)
  /// Continues to remove the people of a destroyed room, members behind `after`: some in each post, so that no room blocks the log. It does
  /// nothing to an existing room; the server's own.
  case endMembers(DialogID, after: UserID?, password: String?)
  /// Ends the temporary rooms behind `after` that nobody is in; the server's own.
  case endEmpty(after: DialogID)
  /// Removes what an ended room contained; the server's own.
  case removeContent(DialogID)
  /// Reads a page of the nicks of large rooms, to compare others with them; the server's own.
  case readNicks
  /// Returns the occupants that the author may see, or so many of them. `Receipt.value` is an `Occupancy`.
  case occupants(RoomReference, atMost: Int = .max)
  /// Returns the same without the list, which takes a look at every occupant.
  case place(RoomReference)
  /// Returns the number of occupants of each of these rooms that is not empty, or of each such room in all realms; for the server's
  /// own use. `Receipt.value` is `[DialogID: Int]`.
  case headcounts(of: [DialogID]?)
  /// Shows an app session in the rooms of its user behind this one: in some with each post, so that a user of thousands of
  /// rooms does not block the log. It does nothing if the session has ended; the server's own.
  case come(OnlineSession, toRoomsBehind: DialogID)
  /// Removes a session that has ended from all rooms, from some with each post. `isLost` tells the others that its end was
  /// a technical problem.
  case vacate(SessionID, isLost: Bool = false)
  /// Removes the author's session because an error has shown that its client is gone (XEP-0045 11.1).
  case lose(RoomReference, DeliveryError)
}

/// An error that has shown that an occupant's client is gone.
public struct DeliveryError: Hashable, Sendable {
  /// The name of the condition (RFC 6120 8.3.3); `nil` if the error had no `<error/>`.
  public let condition: String?
  public let text: String?

  public init(condition: String?, text: String? = nil) {
    self.condition = condition
    self.text = text
  }

  /// Returns the status with which the occupant leaves, worded as by Prosody, whose own tests compare it.
  ///
  /// - Parameter showsText: whether the error's text is shown, which may name the address of the client.
  func status(showsText: Bool) -> String {
    let reason = condition?.split(separator: "-").joined(separator: " ") ?? "an error without a reason"
    guard showsText, let text, !text.isEmpty else { return "Kicked: \(reason)" }
    return Judge.cut("Kicked: \(reason): \(text)", Limits.reasonBytesMax)
  }
}

/// A room to create.
///
///     let draft = RoomDraft(settings: .group, members: [MemberDraft(address: romeo.address, affiliation: .member)])
///     let room = try await parley.post(.room(.create(draft)), by: juliet).room
public struct RoomDraft: Sendable {
  /// The localpart; `nil` for a random one.
  public var localpart: String?
  public var externalID: ExternalID?
  public var settings: RoomSettings
  public var topic: String?
  /// The first members. The author is owner in any case.
  public var members: [MemberDraft]

  public init(
    localpart: String? = nil, externalID: ExternalID? = nil, settings: RoomSettings, topic: String? = nil,
    members: [MemberDraft] = []
  ) {
    self.localpart = localpart
    self.externalID = externalID
    self.settings = settings
    self.topic = topic
    self.members = members
  }
}

/// The request of a session to enter a room.
public struct Entering: Sendable {
  public let session: any LiveSession
  public let nick: String
  public let password: String?
  /// The client's presence: availability and extras go to the others.
  public let presence: Presence
  /// Whether the client sent `<x xmlns=muc/>`: it may create the room, and a present occupant receives everything
  /// again.
  public let isJoin: Bool
  /// The client's member list; `nil` if it keeps none.
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

/// The state of a room for a session that has entered.
public struct EnteredRoom: Sendable {
  public let room: Room
  /// The position where the history ends; later entries are sent live.
  public let position: Position
  /// The history that the viewer may read; `nil` if there is none.
  public let messages: MessageAccess?
  public let follows: FollowedRoom
  /// The occupants who are shown, without the viewer.
  public let others: [OccupantPresence]
  /// The viewer's own presence as the others see it, with the codes of 7.2.2.
  public let own: OccupantPresence
  /// The version of the member list; `nil` if the viewer may not read it, or it is too long.
  public let listVersion: Position?
  public let list: MemberListAnswer

  public init(
    room: Room, position: Position, messages: MessageAccess?, others: [OccupantPresence], own: OccupantPresence,
    listVersion: Position? = nil, list: MemberListAnswer = .nothing
  ) {
    self.room = room
    self.position = position
    self.messages = messages
    follows = FollowedRoom(room.id, since: position)
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
  /// See `MessageDraft`.
  public var mentions: [MentionDraft]
  /// See `MessageDraft`.
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
  /// The stanza to relay, if it came by XMPP.
  public var stanza: RoomMessageDraft?
  public init(kind: Marker.Kind, target: PublicID, isPrivate: Bool = false, stanza: RoomMessageDraft? = nil) {
    self.kind = kind
    self.target = target
    self.isPrivate = isPrivate
    self.stanza = stanza
  }
}

/// A requested change of a person's affiliation or nick; `nil` leaves a field unchanged.
public struct MemberDraft: Hashable, Sendable {
  public var address: BareJID
  public var affiliation: Affiliation?
  /// The nick to reserve; empty to release it.
  public var nick: String?
  public var reason: String?
  /// Whether `.member` includes watchers, as in XMPP, which has none: a watcher stays one.
  public var keepsWatchers: Bool
  /// Whether a new member makes the room persistent for good, as those added by the app do (`Lifetime.kept`).
  public var keepsRoom: Bool
  /// Whether `.outcast` may ban an address that is no user's, as in XMPP.
  public var bansAddress: Bool
  public init(
    address: BareJID, affiliation: Affiliation?, nick: String? = nil, reason: String? = nil,
    keepsWatchers: Bool = false, keepsRoom: Bool = false, bansAddress: Bool = false
  ) {
    self.address = address
    self.affiliation = affiliation
    self.nick = nick
    self.reason = reason
    self.keepsWatchers = keepsWatchers
    self.keepsRoom = keepsRoom
    self.bansAddress = bansAddress
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

/// A change of settings as a function of the current ones, so that concurrent changes of different fields both succeed.
///
///     let draft = SettingsDraft { $0.name = "Balcony" }
///     try await parley.post(.room(.configure(.dialog(room.id), draft)), by: juliet)
public struct SettingsDraft: Sendable {
  public var apply: @Sendable (inout RoomSettings) -> Void
  /// The new avatar; `.some(nil)` removes it.
  public var avatar: Avatar??
  /// The owners and admins that the form sets (10.5, 10.8).
  public var members: [MemberDraft]
  public init(
    avatar: Avatar?? = nil, members: [MemberDraft] = [], apply: @escaping @Sendable (inout RoomSettings) -> Void
  ) {
    self.apply = apply
    self.avatar = avatar
    self.members = members
  }
}

/// The occupant under a nick.
public struct OccupantFace: Sendable {
  public let party: Party
  /// Whether the asker may see the occupant's address.
  public let isKnown: Bool
}

/// The occupants that a session has probed.
public struct ProbedOccupants: Sendable {
  /// Empty if nobody has the nick.
  public let presences: [OccupantPresence]
  /// Whether the asker may see the occupants' addresses.
  public let showsAddresses: Bool
}

/// The occupants of a room, and the asker's own place there.
public struct Occupancy: Sendable {
  /// The asker's access to the room's messages and members.
  public let access: RoomAccess
  public let affiliation: Affiliation
  /// The asker's role; `none` if absent.
  public let role: Role
  /// The asker's nick; `nil` if absent.
  public let nick: String?
  public let count: Int
  /// A number that changes whenever the member list may have changed, also when the room is cached anew. Not stored.
  public let edition: UInt64
  /// The occupants; empty for those who do not belong to a members-only room, and if they were not requested.
  public let occupants: [OccupantView]
  public init(
    access: RoomAccess, affiliation: Affiliation, role: Role, nick: String?, count: Int, edition: UInt64,
    occupants: [OccupantView]
  ) {
    self.access = access
    self.affiliation = affiliation
    self.role = role
    self.nick = nick
    self.count = count
    self.edition = edition
    self.occupants = occupants
  }
}

/// An occupant of a room.
public struct OccupantView: Hashable, Sendable {
  public let nick: String
  /// The comparison key of the nick (RFC 8266 2.4).
  public let key: String
  public let party: Party
  public let affiliation: Affiliation
  public let role: Role
  /// The resources of its sessions.
  public let resources: [String]
  public init(nick: String, key: String, party: Party, affiliation: Affiliation, role: Role, resources: [String]) {
    self.nick = nick
    self.key = key
    self.party = party
    self.affiliation = affiliation
    self.role = role
    self.resources = resources
  }
}

/// An occupant's presence in a room (XEP-0045 7.2.2 to 7.14, 8, 9), shared by all recipients.
public final class OccupantPresence: Sendable {
  public let room: RoomName
  public let nick: String
  public let party: Party
  /// The resource of the session it is about; recipients who may see it are shown the full JID.
  public let resource: String?
  public let affiliation: Affiliation
  public let role: Role
  /// The client's presence: availability and extras. An unavailable one ends the occupant's stay.
  public let presence: Presence
  /// The status codes for everyone (XEP-0045 16.6.2): 301, 303, 307, 321, 322, 332, 333.
  public let codes: [UInt16]
  /// The status codes for the occupant's own sessions beside 110.
  public let ownCodes: [UInt16]
  public let newNick: String?
  public let actor: String?
  public let reason: String?
  public let destroyed: Destroyed?
  /// The stable, opaque occupant id (XEP-0421 3).
  public let occupantID: String
  /// Whether everyone may see the address; otherwise only moderators and the occupant.
  public let showsAddress: Bool
  /// The change of the member list that it announces.
  public let listStep: MemberListStep?
  public let forms = FormSlot()

  public struct Destroyed: Hashable, Sendable {
    public let alternate: BareJID?
    /// The password of the alternate room.
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

/// A notice of a room to its occupants, which is not stored.
public final class RoomNotice: Sendable {
  public enum Kind: Hashable, Sendable {
    /// A change of settings, with the status codes 104, 170 to 173.
    case settings(codes: [UInt16])
    /// The affiliation of an absent user (XEP-0045 9).
    case member(MemberChange)
    /// A request for voice (8.6), for moderators.
    case voiceRequest(nick: String, Party)
    /// A declined invitation (7.8.3).
    case declined(by: BareJID, reason: String?)
  }
  public let room: RoomName
  public let kind: Kind
  /// The change of the member list, if the notice announces an affiliation.
  public let listStep: MemberListStep?
  public init(room: RoomName, kind: Kind, listStep: MemberListStep? = nil) {
    self.room = room
    self.kind = kind
    self.listStep = listStep
  }
}
