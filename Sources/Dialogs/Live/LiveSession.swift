public import Addresses

/// What a session must offer the hub. Both methods run on the session's lane.
public protocol LiveSession: AnyObject, Sendable {
  var id: SessionID { get }
  var party: Party { get }
  var lane: Lane { get }
  func receive(_ delivery: Delivery)
  /// After the last delivery of a batch: write what was gathered, once.
  func batchEnded()
}

/// One thing a session is told.
public enum Delivery: Sendable {
  case entry(Entry, Form)
  case signal(Signal, Form)
  indirect case outcome(token: UInt64, Result<Receipt, Problem>)
  /// The session has gone over to another one (`Intent.handOver`): the committer delivers nothing behind this.
  case handedOver
}

/// In what dress a session gets an entry or a message signal.
public enum Form: UInt8, Sendable, Hashable {
  /// Addressed to it.
  case direct
  /// A copy of what another resource of the user received (XEP-0280).
  case carbonReceived
  /// A copy of what another session of the user sent (XEP-0280).
  case carbonSent
  /// An app session: every entry of the user's feed.
  case feed
  /// The same of a room whose people the user may not know (`RoomSettings.showsAddresses`).
  case feedVeiled
  /// An occupant of a room. Entries, and presences of others without addresses.
  case room
  /// A presence with the occupant's address (XEP-0045 5.1.2, 10.2).
  case roomOpen
  /// One's own presence in a room: status 110.
  case roomOwn
  /// An event that is addressed to the account, not to the session (XEP-0163 4.3.2).
  case account
}

/// What the hub knows of a session: enough to decide who gets what without
/// asking it. Changed only through `Hub.update`.
public struct OnlineSession: Sendable {
  /// `remote`: the link to another server, which takes everything for its users.
  public enum Door: UInt8, Sendable { case xmpp, app, remote }
  public internal(set) var session: any LiveSession
  public let door: Door
  public let resource: String
  /// Only waits for news (a long poll): it is in no room, and nobody sees it come.
  public var isUnseen = false
  /// nil before initial presence; never an unavailable one.
  public var presence: Presence?
  /// Of an app's session: `presence` is what the client was shown with before it came back, and it has said nothing yet.
  public internal(set) var isReturning = false
  /// There is a client at the other end: not suspended (XEP-0198), and not silent.
  public var isConnected = true
  /// Its client says that nobody looks at it (XEP-0352).
  public var isInactive = false
  /// Carbons are enabled (XEP-0280). Not meaningful for app sessions.
  public var carbons = false
  /// Has fetched the roster: gets pushes (RFC 6121 2.1.6).
  public var wantsRoster = false
  /// Has fetched the block list: gets pushes (XEP-0191 3.2).
  public var wantsBlocks = false
  /// The nodes whose changes the client wants to be told of (XEP-0060 9.2), by
  /// name. One copy for all sessions that want the same.
  public var interests: Set<String> = []
  /// Whom directed presence was sent to (RFC 6121 4.6): told when it ends. At
  /// most `Limits.directedMax`; at the bound the oldest is forgotten.
  public internal(set) var directed: [BareJID] = []
  /// The dialog that the user looks at in an app's session; nil: none that it tells of. Whoever pushes leaves out
  /// what is said there.
  public var activeDialog: DialogID?
  /// How it came in; nil: by nothing that can be taken away.
  public var access: Access?

  public init(session: any LiveSession, door: Door, resource: String) {
    self.session = session
    self.door = door
    self.resource = resource
  }

  public var isAvailable: Bool { presence != nil }
  public var priority: Int8 { presence?.priority ?? 0 }
}
