public import Addresses
public import Basics

/// An intent on its way to the committer. Immutable; one allocation.
///
///     let post = Post(author: romeo, intent: .message(draft), completion: .session(session, token: 0))
///     let isQueued = parley.submit(post)
public final class Post: Sendable {
  /// The author, by whom the core authorises the post, independently of the door.
  public let author: Party
  public let intent: Intent
  /// The XMPP stream of the post and its number there (XEP-0198). It is stored with the commit, so that the number of
  /// handled stanzas survives a crash.
  public let inbound: Inbound?
  public let completion: Completion
  /// The user on whose behalf a component acts; `nil` if it acts for itself.
  public let behalf: Behalf?
  /// The component that acts on the author's behalf; `nil` if there is none.
  let component: RealmID?
  /// The span of the post; `nil` if it is not traced.
  let trace: PostTrace?
  /// The charge for its deliveries; `nil` if they are few.
  let charge: DeliveryCharge?
  /// Whether an operator or a backend acts as the author, so that the user's rate limits do not apply.
  let isFromBackend: Bool
  /// The state of a request that is done in pieces; `nil` for a post that begins one, and for all others.
  let begun: Begun?
  /// The network address of the client that has asked for it, where no session gets the outcome.
  private let address: String?

  /// The progress of a request that several posts do (`Judge.leave`). It is an object, because ordinary posts have none.
  final class Begun: Sendable {
    /// The intent of the next post.
    let left: Intent
    /// The entry for the receipt; `nil` if there is none yet.
    let entry: Entry?
    /// Whether anything has changed.
    let hasChanged: Bool
    /// Whether others were notified of something, so that the charge for it must not be refunded.
    let isSpread: Bool
    /// The room that is being created.
    let room: DialogID?
    /// The list of bookmarks that is being compared.
    let comparison: BookmarkComparison?

    init(
      left: Intent, entry: Entry?, hasChanged: Bool = true, isSpread: Bool = true, room: DialogID? = nil,
      comparison: BookmarkComparison? = nil
    ) {
      self.left = left
      self.comparison = comparison
      self.entry = entry
      self.hasChanged = hasChanged
      self.isSpread = isSpread
      self.room = room
    }
  }

  /// Whether it must be durable before its outcome is reported.
  var isSynced: Bool { if case .work(let work) = intent { work.isSynced } else { true } }

  public struct Inbound: Hashable, Sendable {
    public let stream: StreamNonce
    public let number: UInt32
    public init(stream: StreamNonce, number: UInt32) {
      self.stream = stream
      self.number = number
    }
  }

  /// The receiver of the outcome, after the commit.
  public enum Completion: Sendable {
    case none
    /// The outcome is delivered in the session's own lane, in order with its other deliveries.
    case session(any LiveSession, token: UInt64)
    /// The function is called on the committer's thread, and must return at once.
    case callback(@Sendable (Result<Receipt, Problem>) -> Void)
  }

  /// - Parameter peer: The address of the client as `LiveSession.peer` has it, for a post whose outcome no session gets; `nil` if it is
  ///   not known, or for one of the server itself.
  public init(
    author: Party, intent: Intent, inbound: Inbound? = nil, completion: Completion, behalf: Behalf? = nil,
    isFromBackend: Bool = false, from peer: String? = nil
  ) {
    self.author = author
    self.intent = intent
    self.inbound = inbound
    self.completion = completion
    self.behalf = behalf
    self.isFromBackend = isFromBackend
    address = peer
    component = nil
    trace = nil
    charge = nil
    begun = nil
  }

  /// The network address of the client whose session or request it is; `nil` if it is not known.
  var peer: String? {
    if case .session(let session, _) = completion { return session.peer }
    if case .room(.come(let onlineSession, _)) = intent { return onlineSession.session.peer }
    return address
  }

  /// Creates the post of the same author under their stored id.
  init(_ post: Post, from author: Party) {
    self.author = author
    intent = post.intent
    inbound = post.inbound
    completion = post.completion
    behalf = post.behalf
    component = post.component
    trace = post.trace
    charge = post.charge
    isFromBackend = post.isFromBackend
    address = post.address
    begun = post.begun
  }

  /// Creates the post with its span.
  init(_ post: Post, trace: PostTrace) {
    author = post.author
    intent = post.intent
    inbound = post.inbound
    completion = post.completion
    behalf = post.behalf
    component = post.component
    self.trace = trace
    charge = post.charge
    isFromBackend = post.isFromBackend
    address = post.address
    begun = post.begun
  }

  /// Creates the post that was charged.
  init(_ post: Post, charge: DeliveryCharge) {
    author = post.author
    intent = post.intent
    inbound = post.inbound
    completion = post.completion
    behalf = post.behalf
    component = post.component
    trace = post.trace
    self.charge = charge
    isFromBackend = post.isFromBackend
    address = post.address
    begun = post.begun
  }

  /// Creates the post with another intent, after a backend has changed or refused it.
  init(_ post: Post, _ intent: Intent) {
    author = post.author
    self.intent = intent
    inbound = post.inbound
    completion = post.completion
    behalf = post.behalf
    component = nil
    trace = post.trace
    charge = post.charge
    isFromBackend = post.isFromBackend
    address = post.address
    begun = post.begun
  }

  /// Creates the next post of a request that is done in pieces.
  init(_ post: Post, begun: Begun) {
    author = post.author
    intent = begun.left
    inbound = post.inbound
    completion = post.completion
    behalf = post.behalf
    component = post.component
    trace = post.trace
    charge = begun.isSpread ? nil : post.charge
    isFromBackend = post.isFromBackend
    address = post.address
    self.begun = begun
  }

  /// Creates the post of a user from that of the component acting on their behalf. A relayed stanza is from the user.
  init(_ post: Post, by user: Party) {
    author = user
    if case .signal(.stanza(let stanza), let target) = post.intent {
      intent = .signal(.stanza(stanza.by(user)), to: target)
    } else {
      intent = post.intent
    }
    inbound = post.inbound
    completion = post.completion
    behalf = nil
    component = post.author.realm
    trace = post.trace
    charge = post.charge
    isFromBackend = post.isFromBackend
    address = post.address
    begun = post.begun
  }
}

/// The id of a resumable XMPP stream across restarts: 128 random bits.
public struct StreamNonce: Hashable, Sendable {
  public let high: UInt64
  public let low: UInt64
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// A request of a user, which the core judges and commits in the order of the log.
///
///     let receipt = try await parley.post(.block([BlockPattern(jid)]), by: user)
public enum Intent: Sendable {
  case message(MessageDraft)
  case marker(MarkerDraft)
  /// Sets name and groups of a roster item, and creates it if needed (RFC 6121 2.3). Only a component may set
  /// `subscription`, for contacts that are its own users.
  case contact(address: BareJID, name: String?, groups: [String], subscription: Subscription? = nil)
  /// Removes a roster item and both subscriptions (RFC 6121 2.5).
  case removeContact(BareJID)
  /// Changes a presence subscription (RFC 6121 3); `stanza` is the opaque stanza that the recipient gets.
  case subscription(SubscriptionAct, to: BareJID, stanza: [UInt8]?)
  /// Requests or accepts a contact from an app: item, subscription request, and approval of the other direction, in one
  /// step.
  case befriend(BareJID, name: String?)
  /// Sets a roster item by an operator; `mutual` sets both sides to `both`, without asking either; `nil` leaves a name
  /// and groups unchanged.
  case link(BareJID, name: String?, groups: [String]?, mutual: Bool)
  /// Changes the contact groups of a realm, for an operator.
  case contactGroup(ContactGroupIntent)
  /// Requests a subscription with the hash of an invitation's token (XEP-0379).
  case redeem(token: [UInt8], from: BareJID, stanza: [UInt8]?)
  /// Blocks addresses. `Receipt.value` is the list of stored reports.
  case block([BlockPattern], reports: [ReportDraft] = [])
  /// Stores a report of another server about a local user. The author is the server's domain. `Receipt.value` is the list
  /// of stored reports, empty if there is no such user.
  case report(RemoteReport)
  /// Unblocks addresses; an empty list unblocks all (XEP-0191 3.5).
  case unblock([BlockPattern])
  case profile(ProfileDraft)
  /// Notifies a local client of the profile that the author, a remote user, has published.
  case remoteProfile(RemoteProfileDraft, to: FullJID)
  /// Gets or creates the private dialog with this user.
  case openDialog(BareJID)
  /// Changes the author's settings of a dialog or room. `Receipt.value` is a `DialogSettingsChange` with the current
  /// ones; `isRepeat` means that nothing changed.
  case settings(DialogID, DialogSettingsDraft)
  /// Changes a message or dialog for the author alone.
  case perUser(DialogID, PerUserMessageIntent)
  /// Stores a draft of the author's; an empty text removes it. `Receipt.value` is the `DialogDraft`, if there is one;
  /// `isRepeat` means that nothing changed.
  case draft(DialogID, text: String, replyTo: PublicID?)
  /// Changes a scheduled message of the author's.
  case scheduledMessage(ScheduledMessageIntent)
  /// Starts or changes a call.
  case call(CallIntent)
  /// Acts in a group or public dialog.
  case room(RoomIntent)
  /// Changes a node of the author's account, or of the pubsub service at this address. `Receipt.isRepeat` means that
  /// nothing changed.
  case node(NodeIntent, at: BareJID? = nil)
  /// Acts at another user's node, or subscribes to one of a service.
  case visit(NodeVisit)
  /// Sets the author's archive preferences (XEP-0441).
  case archivePreferences(ArchivePreferences)
  /// Stores private data of the author's clients, atomically.
  case setPrivateXML([PrivateXMLDraft])
  /// Changes the author's files.
  case blob(BlobIntent)
  /// Changes the author's push registrations.
  case push(PushIntent)
  /// Registers a session with the hub, at one exact position.
  case goOnline(OnlineSession)
  /// Replaces a session by another one, in the hub and in its rooms, at one exact position: earlier deliveries
  /// go to the former one, then `Delivery.handedOver`, and later ones to the new one. Others are not notified (XEP-0198 5).
  /// It does nothing if the former session is not registered.
  case handOver(from: any LiveSession, to: any LiveSession)
  /// Reports the result of rows of the outbox, or adds a row. For `failed`, `Receipt.isRepeat` means that there is no such
  /// message.
  case outbox(OutboxIntent)
  /// Sends a signal in order with its sender's posts. `Receipt.isRepeat` means that no session took it.
  case signal(Signal, to: SignalTarget)
  /// Records that a client of the author has received all inbound entries up to here.
  case confirm(Position)
  /// Records the time at which the author's last session has ended, and the status with which they left.
  case leave(Timestamp, status: String? = nil)
  /// Ends all typing whose time is over.
  case endTyping
  /// Imports data that the author had on another server.
  case imported(ImportIntent)
  /// Completes with a refusal that was decided before, in order with other posts.
  case refused(Problem)
  /// Removes a piece of the data of the user whom this `AccountTask` deletes. `Receipt.value` is the `Erasure`.
  case erase(task: Int64, at: ErasurePlace)
  /// Writes anything else in order with the log (accounts, grants).
  case work(WriteTransaction)
}

extension Intent {
  /// Whether a session leaves, which is allowed even if its user has been disabled or deleted.
  var isLeaving: Bool {
    switch self {
    case .room(.vacate), .room(.exit), .room(.lose), .leave: true
    case .message, .marker, .contact, .removeContact, .subscription, .befriend, .link, .contactGroup, .redeem, .block,
      .report, .unblock, .profile, .remoteProfile, .openDialog, .settings, .perUser, .draft, .scheduledMessage, .call,
      .room, .node, .visit, .archivePreferences, .setPrivateXML, .blob, .push, .goOnline, .handOver, .outbox, .signal,
      .confirm, .endTyping, .imported, .refused, .erase, .work:
      false
    }
  }
}

/// A message to send.
///
///     let draft = MessageDraft(
///       to: romeo.address, content: Content(kind: .text, text: "Good night"), envelope: Envelope(type: .chat),
///       traits: [.counts, .archived, .replayed], key: nil)
///     let entry = try await parley.post(.message(draft), by: juliet).entry
public struct MessageDraft: Sendable {
  /// The addressee; the author's own address means the self dialog.
  public var to: BareJID
  public var content: Content
  public var envelope: Envelope
  public var traits: Message.Traits
  /// The key that identifies repeats; `nil` if it is never a repeat.
  public var key: RepeatKey?
  /// The reference to an earlier message. If that is unknown, or the author may not refer to it so, an XMPP stanza is
  /// stored as an ordinary message, and an app's message is refused.
  public var reference: ReferenceDraft?
  /// The mentions. Invalid ones are ignored in an XMPP stanza; an app's message is refused.
  public var mentions: [MentionDraft]
  /// The message to forward, in place of `content`.
  public var forward: ForwardDraft?

  public init(
    to: BareJID, content: Content, envelope: Envelope, traits: Message.Traits, key: RepeatKey?,
    reference: ReferenceDraft? = nil, mentions: [MentionDraft] = [], forward: ForwardDraft? = nil
  ) {
    self.forward = forward
    self.to = to
    self.content = content
    self.envelope = envelope
    self.traits = traits
    self.key = key
    self.reference = reference
    self.mentions = mentions
  }
}

/// The key of a message, unique for its author and dialog. An app's repeat with another body is a conflict; in XMPP the
/// same id with other content is a new message (bots send `id='1'`).
public struct RepeatKey: Sendable, Hashable {
  public enum Rule: UInt8, Sendable { case app = 1, xmpp = 2 }
  public var rule: Rule
  /// The app's clientId; in XMPP the origin-id, else the stanza id.
  public var id: String
  /// A 64-bit hash of the payload without `<delay/>`, from `Digest64`.
  public var bodyHash: UInt64
  public init(rule: Rule, id: String, bodyHash: UInt64) {
    self.rule = rule
    self.id = id
    self.bodyHash = bodyHash
  }
}

/// A marker to set up to a message.
///
///     let draft = MarkerDraft(with: juliet.address, kind: .displayed, target: .entry(id))
///     try await parley.post(.marker(draft), by: romeo)
public struct MarkerDraft: Sendable {
  public enum Target: Sendable {
    /// The message's public id.
    case entry(PublicID)
    /// The stanza id that its author gave it.
    case stanza(String)
  }
  /// The other user of the private dialog.
  public var with: BareJID
  public var kind: Marker.Kind
  public var target: Target
  /// Whether the marker is private: the other user is not notified (XEP-0490).
  public var isPrivate: Bool
  /// The stanza to relay, if it came by XMPP.
  public var stanza: (content: Content, envelope: Envelope, traits: Message.Traits)?

  public init(
    with: BareJID, kind: Marker.Kind, target: Target, isPrivate: Bool = false,
    stanza: (content: Content, envelope: Envelope, traits: Message.Traits)? = nil
  ) {
    self.with = with
    self.kind = kind
    self.target = target
    self.isPrivate = isPrivate
    self.stanza = stanza
  }
}

/// A change of a profile; `nil` leaves a field unchanged.
///
///     try await parley.post(.profile(ProfileDraft(displayName: "Romeo")), by: romeo)
public struct ProfileDraft: Sendable {
  /// The display name.
  public var displayName: String??
  /// The full name; `.some(nil)` if it is `displayName`.
  public var fullName: String??
  public var status: String??
  public var metadata: String??
  /// The URL of an external image.
  public var avatarURL: String??
  public var settings: UserSettingsDraft?
  /// The new avatar; `.some(nil)` removes it.
  public var avatar: Avatar??
  /// The vCard as the XMPP door wrote it (opaque), at most `Limits.vCardBytesMax`.
  public var vCard: [UInt8]?

  public init(
    displayName: String?? = nil, fullName: String?? = nil, status: String?? = nil, metadata: String?? = nil,
    avatarURL: String?? = nil, settings: UserSettingsDraft? = nil, avatar: Avatar?? = nil, vCard: [UInt8]? = nil
  ) {
    self.avatarURL = avatarURL
    self.settings = settings
    self.displayName = displayName
    self.fullName = fullName
    self.status = status
    self.metadata = metadata
    self.avatar = avatar
    self.vCard = vCard
  }
}

/// A write on the committer's thread, in the batch's transaction.
public struct WriteTransaction: Sendable {
  /// Whether it changes no data that the judge caches: users, blocks, archive preferences, rooms and their members, nodes
  /// and their people. This holds for logins, which are frequent: the caches should not be filled again after each.
  let keepsCaches: Bool
  /// The user whose earlier posts must be judged before it, since it may disable or delete them; `nil` if there is none.
  let user: UserID?
  /// The dialog or room whose marks it changes, which the judge then reads anew; `nil` for none.
  let dialog: DialogID?
  /// Whether it is durable before its value is returned.
  let isSynced: Bool
  /// The function, which returns a value and further posts: these are judged at once, in the same transaction, so that a
  /// crash cannot separate them from it. A refused one does not affect the others.
  let body: @Sendable (any StoreWriter) throws -> (value: any Sendable, posts: [Post])

  public init(
    keepsCaches: Bool = false, behind user: UserID? = nil,
    _ body: @escaping @Sendable (any StoreWriter) throws -> any Sendable
  ) {
    self.keepsCaches = keepsCaches
    self.user = user
    dialog = nil
    isSynced = true
    self.body = { (try body($0), []) }
  }

  /// Creates the write of a piece of retention in one dialog. It is repeated if it is lost, and nobody is notified.
  package init(agingIn dialog: DialogID, _ body: @escaping @Sendable (any StoreWriter) throws -> any Sendable) {
    keepsCaches = true
    user = nil
    self.dialog = dialog
    isSynced = false
    self.body = { (try body($0), []) }
  }

  package init(following body: @escaping @Sendable (any StoreWriter) throws -> (value: any Sendable, posts: [Post])) {
    keepsCaches = false
    user = nil
    dialog = nil
    isSynced = true
    self.body = body
  }
}
