import Addresses
public import Basics

/// A session as the hub needs it. Both methods run on the session's lane.
public protocol LiveSession: AnyObject, Sendable {
  var id: SessionID { get }
  var party: Party { get }
  var lane: Lane { get }
  /// The network address of its client; `nil` if it is not known: after a restart, until the client returns.
  var peer: String? { get }
  func receive(_ delivery: Delivery)
  /// Writes what the deliveries of a batch have collected, once after the last one.
  func batchEnded()
  /// Whether the client does not read what it is sent; known to all threads.
  var leavesUnread: Bool { get }
}

extension LiveSession {
  public var leavesUnread: Bool { false }
}

extension LiveSession {
  public var peer: String? { nil }
}

/// A delivery to a session.
public enum Delivery: Sendable {
  case entry(Entry, Form)
  case signal(Signal, Form)
  indirect case outcome(token: UInt64, Result<Receipt, Problem>)
  /// The session was handed over to another one (`Intent.handOver`): the committer delivers nothing after this.
  case handedOver
  /// A new row of the outbox, for the link of its pair. It stands in place of the entry, which is not delivered.
  indirect case owed(OutboxRow)

  /// The number of deliveries that it is counted as: one for each address, if it names some.
  var count: Int {
    switch self {
    case .signal(.shown(_, let addresses), _): addresses.count
    case .signal(.probes(_, let addresses), _): addresses.count
    case .entry, .signal, .outcome, .handedOver, .owed: 1
    }
  }
}

/// The form in which a session gets an entry or a message signal.
public enum Form: UInt8, Sendable, Hashable {
  /// The message as addressed to the session.
  case direct
  /// A copy of what another resource of the user received (XEP-0280).
  case carbonReceived
  /// A copy of what another session of the user sent (XEP-0280).
  case carbonSent
  /// An entry of the user's feed, for an app session.
  case feed
  /// The same for a semi-anonymous room whose addresses the user may not see (`RoomSettings.showsAddresses`).
  case feedAnonymized
  /// For an occupant of a room: entries, and presences of others without addresses.
  case room
  /// A presence with the occupant's address (XEP-0045 5.1.2, 10.2).
  case roomOpen
  /// The occupant's own presence in a room: status 110.
  case roomOwn
  /// An event that is addressed to the account, not to the session (XEP-0163 4.3.2).
  case account
}

/// The hub's record of a session: enough to route to it without asking it. Changed only through `Hub.update`.
///
///     let session = OnlineSession(session: handle, door: .xmpp, resource: "balcony")
///     let post = Post(author: user, intent: .goOnline(session), completion: .session(handle, token: 0))
public struct OnlineSession: Sendable {
  /// The door of a session; `remote` is a link to another server, which takes everything for its users.
  public enum Door: UInt8, Sendable { case xmpp, app, remote }
  /// The way in which a client is connected.
  public enum Transport: UInt8, Sendable { case none, tcp, webSocket, bosh, events, poll }
  public internal(set) var session: any LiveSession
  public let door: Door
  public let resource: String
  /// The time at which the session came online in this process; a resumption (XEP-0198) keeps it.
  public internal(set) var since = Timestamp(milliseconds: 0)
  /// Whether the session only waits for events (a long poll): it enters no room, and its presence is not announced.
  public var isUnseen = false
  /// The presence; `nil` before the initial one; never an unavailable one.
  public var presence: Presence?
  /// Whether `presence` is the one from before an app's client reconnected, and it has sent none yet.
  public internal(set) var isReturning = false
  /// Whether a client is connected: the session is neither suspended (XEP-0198) nor lingering.
  public var isConnected = true
  /// The connection's transport, as of the last time that a client was connected.
  public var transport = Transport.none
  /// Whether the client is inactive (XEP-0352).
  public var isInactive = false
  /// Whether carbons are enabled (XEP-0280). Not meaningful for app sessions.
  public var carbons = false
  /// Whether the client has fetched the roster, and so gets pushes (RFC 6121 2.1.6).
  public var wantsRoster = false
  /// Whether the client has fetched the block list, and so gets pushes (XEP-0191 3.2).
  public var wantsBlocks = false
  /// The names of the nodes whose changes the client wants (XEP-0060 9.2). Sessions with the same interests share one
  /// copy.
  public var interests: Set<String> = []
  /// The addresses to which the session has sent directed presence (RFC 6121 4.6). They are notified when the session ends.
  var directed = DirectedPresences()
  /// The bytes of what the session's door keeps for it, about (`Hub.setDoorBytes`).
  var doorBytes = 0
  /// The number of rooms that the session is in.
  var roomCount = 0
  /// The number of rooms of which an app's session gets the messages.
  var followedCount = 0
  /// The dialog that is open in an app session; `nil` if it reports none. Its messages are not pushed.
  public var activeDialog: DialogID?
  /// The credential that the session was opened with; `nil` if it cannot be revoked.
  public var access: Access?

  public init(session: any LiveSession, door: Door, resource: String) {
    self.session = session
    self.door = door
    self.resource = resource
  }

  public var isAvailable: Bool { presence != nil }
  public var priority: Int8 { presence?.priority ?? 0 }
}
