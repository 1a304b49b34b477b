public import Addresses

/// Ephemeral: ordered behind its sender's posts, never stored, lost with the
/// process.
public enum Signal: Sendable {
  case presence(Presence)
  /// A presence for somebody of a remote realm, who has no session here to say who they are.
  case shown(Presence, to: BareJID)
  /// A message, IQ or presence that is only relayed.
  case stanza(RelayedStanza)
  /// The user's profile as others may see it has changed.
  indirect case profile(Party, Profile)
  /// An occupant of a room came, changed or went (XEP-0045).
  case occupant(OccupantPresence)
  /// What a room says to those who are there.
  case notice(RoomNotice)
  /// A node that the client is interested in has changed (XEP-0163).
  case node(NodeEvent)
  /// The domain says something to its users.
  indirect case announcement(Announcement)
  /// For one device in a call, from the other.
  indirect case call(CallSignal)
  /// The session must end.
  case closed(CloseReason)
}

public enum CloseReason: String, Sendable {
  /// Another session took the resource (RFC 6120 7.7.2.2).
  case replaced
  /// The account was disabled or deleted; the grant revoked.
  case revoked
  /// The account got another password; who knows that may come back.
  case passwordChanged
  /// An operator ended it; the user may come back.
  case ended
  case shutdown
  /// The session did not read for longer than `Limits.lag`.
  case tooSlow
}

/// The availability of one session, as its client announced it.
public final class Presence: Sendable {
  /// RFC 6121 4.7.2.1; `online` is no `<show/>`.
  public enum Availability: UInt8, Sendable { case online, chat, away, extendedAway, doNotDisturb, offline }

  public let from: Party
  public let resource: String
  public let availability: Availability
  public let status: String?
  public let priority: Int8
  /// The stanza's `id`, kept on relay.
  public let id: String?
  /// Directed presence (RFC 6121 4.6) to one resource: that resource.
  public let toResource: String?
  /// The stanza's children as they came, each with its namespace; empty: a
  /// door renders them from the typed part.
  public let extras: [UInt8]
  /// The SHA-1 of the user's picture, in hex, of an app's session; empty: there is none any more; nil: nothing is said of it, or
  /// `extras` say it.
  public let avatarHash: String?
  public let time: Timestamp
  public let forms = FormSlot()

  public var isAvailable: Bool { availability != .offline }

  /// Shows the same to whoever sees it.
  func isLike(_ other: Presence) -> Bool {
    (availability, status, priority) == (other.availability, other.status, other.priority) && extras == other.extras
  }

  public init(
    from: Party, resource: String, availability: Availability, status: String? = nil, priority: Int8 = 0,
    id: String? = nil, toResource: String? = nil, extras: [UInt8] = [], avatarHash: String? = nil, time: Timestamp
  ) {
    self.from = from
    self.resource = resource
    self.availability = availability
    self.status = status
    self.priority = priority
    self.id = id
    self.toResource = toResource
    self.extras = extras
    self.avatarHash = avatarHash
    self.time = time
  }
}

/// A stanza that is passed on and forgotten: chat states, headlines, IQs
/// between clients, bounces.
public final class RelayedStanza: Sendable {
  public enum Name: Sendable, Hashable {
    case message(Envelope.MessageType)
    /// `get`, `set`, `result`, `error`.
    case iq(String)
    /// `probe`, `error`, empty for an available one, and the four of `SubscriptionAct` on their way to another server.
    case presence(String)
  }
  public let name: Name
  public let from: Party
  public let fromResource: String?
  /// Said in this room, under the nick `fromResource`; nil: between users.
  public let room: RoomName?
  public let to: BareJID
  public let toResource: String?
  public let id: String?
  public let language: String?
  /// The children as they came, each with its namespace; empty: a door renders
  /// from the typed part.
  public let extras: [UInt8]
  /// What an app session needs of it: whether the author is typing.
  public let typing: Bool?
  /// The event of an app's own that it carries.
  public let custom: CustomEvent?
  /// No carbons.
  public let isPrivate: Bool
  public let forms = FormSlot()

  public init(
    name: Name, from: Party, fromResource: String?, room: RoomName? = nil, to: BareJID, toResource: String?,
    id: String?,
    language: String? = nil, extras: [UInt8], typing: Bool? = nil, custom: CustomEvent? = nil,
    isPrivate: Bool = false
  ) {
    self.name = name
    self.from = from
    self.fromResource = fromResource
    self.room = room
    self.to = to
    self.toResource = toResource
    self.id = id
    self.language = language
    self.extras = extras
    self.typing = typing
    self.custom = custom
    self.isPrivate = isPrivate
  }

  /// The same, said by somebody else.
  func by(_ party: Party) -> RelayedStanza {
    RelayedStanza(
      name: name, from: party, fromResource: fromResource, room: room, to: to, toResource: toResource, id: id,
      language: language, extras: extras, typing: typing, custom: custom, isPrivate: isPrivate)
  }
}

/// Whom a signal is for, where the sender says it. Rooms name their own.
public enum SignalTarget: Sendable, Hashable {
  /// Everyone who may see the author's presence, and the author's own sessions.
  case subscribers
  /// One user's sessions by the rules of RFC 6121 8.5.
  case user(BareJID, resource: String?)
}
