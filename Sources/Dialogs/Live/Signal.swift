public import Addresses
public import Basics

/// An ephemeral event: ordered after its sender's posts, never stored, lost with the process.
public enum Signal: Sendable {
  case presence(Presence)
  /// A presence for remote users behind one link, who have no session here that determines the recipient; at most
  /// `Limits.laneStep` of them.
  case shown(Presence, to: [BareJID])
  /// The questions of a user for the presence of contacts behind one link (RFC 6121 4.3); as many.
  indirect case probes(Party, of: [BareJID])
  /// A message, IQ or presence that is only relayed.
  case stanza(RelayedStanza)
  /// A change of the user's profile.
  indirect case profile(Party, Profile)
  /// Another name of a contact by a contact group, and the version of the roster that shows it.
  indirect case contactNamed(Party, Position)
  /// The presence of an occupant of a room (XEP-0045).
  case occupant(OccupantPresence)
  /// A room's notice to its occupants.
  case notice(RoomNotice)
  /// A change of a node that the client is interested in (XEP-0163).
  case node(NodeEvent)
  /// An announcement of the domain to its users.
  indirect case announcement(Announcement)
  /// A signal to one device in a call, from the other.
  indirect case call(CallSignal)
  /// A subscription stanza of the user's that did not reach another server.
  indirect case undelivered(RelayedStanza, FederationFailure)
  /// The end of the session.
  case closed(CloseReason)
}

public enum CloseReason: String, Sendable {
  /// Another session took the resource (RFC 6120 7.7.2.2).
  case replaced
  /// The account was disabled or deleted, or the grant revoked.
  case revoked
  /// The account's password was changed; a client with the new one may reconnect.
  case passwordChanged
  /// An operator ended the session; the user may reconnect.
  case ended
  case shutdown
  /// The client did not read for longer than its door allows.
  case tooSlow
  /// The session was ended to free memory: its network holds the most of `SessionMemory.online`, and its user the most in that network.
  case tooLarge

  /// Whether the session ends without the deliveries that wait for it in a lane: whoever has lost a login gets nothing more.
  var isAtOnce: Bool {
    switch self {
    case .revoked, .passwordChanged, .ended: true
    case .replaced, .shutdown, .tooSlow, .tooLarge: false
    }
  }
}

/// The availability of one session, as its client announced it.
public final class Presence: Sendable {
  /// The availability (RFC 6121 4.7.2.1); `online` is a missing `<show/>`.
  public enum Availability: UInt8, Sendable { case online, chat, away, extendedAway, doNotDisturb, offline }

  public let from: Party
  public let resource: String
  public let availability: Availability
  /// The status, for apps; at most `Limits.statusBytesMax` of it where `extras` has it, which clients are sent.
  public let status: String?
  public let priority: Int8
  /// The stanza's `id`, kept on relay.
  public let id: String?
  /// The addressed resource of directed presence (RFC 6121 4.6).
  public let toResource: String?
  /// The language of the stanza's texts, or that of its stream (RFC 6120 8.1.5).
  public let language: String?
  /// The children of a client's stanza unchanged, each with its namespace; empty if it had none. `nil` for the presence
  /// of an app's session, and for one that the server announces: a door renders it from the typed part.
  public let extras: [UInt8]?
  /// The number of bytes at the beginning of `extras` that say nothing to people. In a room they are all that others are
  /// shown of an occupant without voice.
  public let quietBytes: Int
  /// The SHA-1 of the avatar in hex, for an app session; empty if there is no avatar; `nil` if unknown or in `extras`.
  public let avatarHash: String?
  public let time: Timestamp
  public let forms = FormSlot()

  public var isAvailable: Bool { availability != .offline }

  /// The bytes that its sender has chosen, which bounds of memory count.
  public var byteCount: Int {
    (extras?.count ?? 0) + (status?.utf8.count ?? 0) + (id?.utf8.count ?? 0) + (language?.utf8.count ?? 0)
  }

  /// Returns the presence without what it says to people.
  func quieted() -> Presence {
    if status == nil, (extras?.count ?? 0) <= quietBytes { return self }
    return Presence(
      from: from, resource: resource, availability: availability, priority: priority, id: id, toResource: toResource,
      language: language, extras: extras.map { Array($0.prefix(quietBytes)) }, quietBytes: quietBytes,
      avatarHash: avatarHash, time: time)
  }

  /// Returns the presence without anything that its sender has written.
  func bare() -> Presence {
    Presence(
      from: from, resource: resource, availability: availability, priority: priority, toResource: toResource,
      avatarHash: avatarHash, time: time)
  }

  /// Returns whether both show the same.
  func isLike(_ other: Presence) -> Bool {
    (availability, status, priority, language)
      == (other.availability, other.status, other.priority, other.language) && extras == other.extras
  }

  public init(
    from: Party, resource: String, availability: Availability, status: String? = nil, priority: Int8 = 0,
    id: String? = nil, toResource: String? = nil, language: String? = nil, extras: [UInt8]? = nil,
    quietBytes: Int = 0, avatarHash: String? = nil, time: Timestamp
  ) {
    self.from = from
    self.resource = resource
    self.availability = availability
    self.status = extras == nil ? status : status.map { Judge.cut($0, Limits.statusBytesMax) }
    self.priority = priority
    self.id = id
    self.toResource = toResource
    self.language = language
    self.extras = extras
    self.quietBytes = quietBytes
    self.avatarHash = avatarHash
    self.time = time
  }
}

/// A stanza that is relayed and not stored: chat states, headlines, IQs between clients, bounces.
public final class RelayedStanza: Sendable {
  public enum Name: Sendable, Hashable {
    case message(Envelope.MessageType)
    /// `get`, `set`, `result`, `error`.
    case iq(String)
    /// The type: `probe`, `error`, empty for an available one, and the four of `SubscriptionAct` on their way to
    /// another server.
    case presence(String)
  }
  public let name: Name
  public let from: Party
  public let fromResource: String?
  /// The room that relays it, with the nick `fromResource`; `nil` between users.
  public let room: RoomName?
  /// The domain of the server that sends it on the user's behalf, and in its own name: the user is not told; `nil` for
  /// all others.
  public let server: BareJID?
  public let to: BareJID
  public let toResource: String?
  public let id: String?
  public let language: String?
  /// The stanza's children unchanged, each with its namespace; if empty, a door renders them from the typed part.
  public let extras: [UInt8]
  /// Whether the author is typing, for app sessions.
  public let typing: Bool?
  /// The custom event of an app that it contains.
  public let custom: CustomEvent?
  /// Whether it is excluded from carbons.
  public let isPrivate: Bool
  public let forms = FormSlot()

  public init(
    name: Name, from: Party, fromResource: String?, room: RoomName? = nil, server: BareJID? = nil, to: BareJID,
    toResource: String?, id: String?,
    language: String? = nil, extras: [UInt8], typing: Bool? = nil, custom: CustomEvent? = nil,
    isPrivate: Bool = false
  ) {
    self.name = name
    self.from = from
    self.fromResource = fromResource
    self.room = room
    self.server = server
    self.to = to
    self.toResource = toResource
    self.id = id
    self.language = language
    self.extras = extras
    self.typing = typing
    self.custom = custom
    self.isPrivate = isPrivate
  }

  /// Creates the question of a user for the presence of a contact elsewhere (RFC 6121 4.3).
  public convenience init(probing contact: BareJID, for user: Party) {
    self.init(
      name: .presence("probe"), from: user, fromResource: nil, to: contact, toResource: nil, id: nil, extras: [])
  }

  /// The bytes that its sender has chosen, which bounds of memory count.
  public var byteCount: Int { extras.count + (id?.utf8.count ?? 0) + (language?.utf8.count ?? 0) }

  /// The address that it is sent from: the room's or the server's, if one sends it.
  public var sender: BareJID { room?.address ?? server ?? from.address }

  /// Returns the same stanza with other children.
  func with(extras: [UInt8]) -> RelayedStanza {
    RelayedStanza(
      name: name, from: from, fromResource: fromResource, room: room, server: server, to: to, toResource: toResource,
      id: id, language: language, extras: extras, typing: typing, custom: custom, isPrivate: isPrivate)
  }

  /// Returns the same stanza from another party.
  func by(_ party: Party) -> RelayedStanza {
    RelayedStanza(
      name: name, from: party, fromResource: fromResource, room: room, server: server, to: to, toResource: toResource,
      id: id,
      language: language, extras: extras, typing: typing, custom: custom, isPrivate: isPrivate)
  }
}

/// The recipients of a signal, if its sender names them. Those of a room's signals are its occupants.
public enum SignalTarget: Sendable, Hashable {
  /// Everyone who may see the author's presence, and the author's own sessions.
  case subscribers
  /// One user's sessions by the rules of RFC 6121 8.5.
  case user(BareJID, resource: String?)
}
