public import Addresses
public import Basics
import Logging
public import ServerMetrics

extension Parley {
  /// The configuration of a core.
  public struct Options: Sendable {
    /// The domains that are served, at least one; the first is the default.
    public var domains: [String]
    /// The domain of the rooms of a domain.
    public var rooms: @Sendable (String) -> String = { "conference.\($0)" }
    /// The domain of the pubsub service of a domain; `nil` if it has none.
    public var pubsub: @Sendable (String) -> String? = { _ in nil }
    public var nodeCreators = PubsubServices.Creators.users
    /// Remote domains that are reached by a link (`Hub.attach`), each with the one of `domains` to whose realm it
    /// permanently belongs.
    public var remotes: [(domain: String, home: String)] = []
    /// The users who are always administrators, regardless of the store (`AdministratorRegistry`).
    public var admins: Set<BareJID> = []
    /// Further addresses for which only an operator creates an account: the server's own contacts.
    public var reserved: Set<BareJID> = []
    /// Whether every user may invite others (XEP-0401), not only admins.
    public var allowsInvitations = false
    public var guests = GuestPolicy.none
    /// The limits on what one user may send.
    public var sending = SendingPolicy()
    /// The bounds of memory of all sessions.
    public var memory = SessionMemory()
    /// The maximum bytes of the posts that wait to be committed.
    public var inboxBytesMax = Limits.inboxBytesMax
    /// The maximum bytes of the committer's caches.
    public var cacheBytesMax = Limits.cacheBytesMax
    /// The maximum bytes of the presences of remote contacts.
    public var remotePresencesBytesMax = Limits.remotePresencesBytesMax
    /// The maximum bytes of the presences that all users show in rooms.
    public var presencesInRoomsBytesMax = Limits.presencesInRoomsBytesMax
    /// The maximum number of concurrent uploads, at most `Limits.uploadsMax`.
    public var uploadsMax = Limits.uploadsMax
    /// The policy and store of files; `nil` if this server accepts none.
    public var blobs: (policy: BlobPolicy, store: any BlobStore)?
    /// The number of threads that read the store.
    public var threads = 2
    /// The networks that take turns at these threads, and have budgets of what they send.
    public var networks = ClientNetworks()
    /// The STUN and TURN servers beside this server.
    public var services = ExternalServices.none
    /// The time for which an unanswered call rings.
    public var callRinging = Limits.callRinging
    /// The time after which the server gives up rows that a remote server does not take.
    public var giveUp = Limits.federationGiveUp
    /// The addresses to which URLs from users and app keys may lead.
    public var addresses = PublicAddresses()
    /// The push providers that this server reaches.
    public var pushes = PushPolicy.none
    /// The initial ages of retention (`RetentionState`).
    public var retention = RetentionPolicy()
    /// The hook that is called before a message is committed; `nil` if there is none.
    public var beforeSend: BeforeSendOptions?

    /// The clocks that measure slow posts, which are charged to their authors.
    package var judgingClocks = JudgingClocks.system

    /// The spans of requests and stanzas; `nil` if the server does not trace.
    public var traces: Traces?

    public init(domains: [String]) { self.domains = domains }
  }

  /// The core's state in memory beside the log, changed by the committer after a commit and read by all threads.
  public struct Registries: Sendable {
    public let pushes: PushRegistry
    public let hooks: HookRegistry
    public let metrics: Metrics
    public let retention: RetentionState
    public let administrators: AdministratorRegistry
    public let traces: Traces?
    public let sending: SendingBudgets
    let audienceSizes = AudienceSizes()
    let fanOutLoad = FanOutLoad()
    let knownDomains = KnownDomains()
    let indexPace = IndexPace()
    let announcements: AnnouncementCache
    let contactGroups: ContactGroupRegistry
    package let guests: GuestRegistry
    /// Wakes the timer that ends calls.
    package let calls = WakeSignal()
    /// Wakes the timer that sends messages at their time.
    package let schedule = WakeSignal()
    let dueAuthors = DueAuthors()
    let failedRoomEnds = FailedRoomEnds()
    /// Wakes the timer that forwards reports.
    package let reports = WakeSignal()

    /// Loads the registries; blocks.
    init(
      _ reader: any StoreReader, _ realms: [Realm], options: Options, retention: RetentionPolicy,
      metrics: Metrics, logger: Logger
    ) throws {
      self.metrics = metrics
      sending = SendingBudgets(
        options.sending, known: knownDomains, networks: options.networks, metrics: metrics, logger: logger)
      self.traces = options.traces
      administrators = try AdministratorRegistry(
        reader, configured: options.admins, reserved: options.reserved)
      self.retention = RetentionState(retention)
      announcements = try AnnouncementCache(realms, reader)
      contactGroups = try ContactGroupRegistry(reader, realms)
      pushes = try PushRegistry(reader)
      hooks = try HookRegistry(reader)
      self.guests = GuestRegistry(options.guests)
    }
  }
}
