public import Addresses

/// An intent on its way to the committer. Immutable; one allocation.
public final class Post: Sendable {
  /// Who asks. Authorisation is by this user, never by what a door claims.
  public let author: Party
  public let intent: Intent
  /// The XMPP stream the post came on and its number there (XEP-0198): stored
  /// with the commit, so that after a crash the durable count is known.
  public let inbound: Inbound?
  public let completion: Completion
  /// Set by a component that acts in somebody's name; nil: in its author's own.
  public let behalf: Behalf?
  /// The component that acts in the author's name; nil: nobody does.
  let component: RealmID?

  public struct Inbound: Hashable, Sendable {
    public let stream: StreamNonce
    public let number: UInt32
    public init(stream: StreamNonce, number: UInt32) {
      self.stream = stream
      self.number = number
    }
  }

  /// Who is told the outcome, after the commit.
  public enum Completion: Sendable {
    case none
    /// In the session's own lane and in order with what else it receives.
    case session(any LiveSession, token: UInt64)
    /// On the committer's thread: hand over and return at once.
    case callback(@Sendable (Result<Receipt, Problem>) -> Void)
  }

  public init(
    author: Party, intent: Intent, inbound: Inbound? = nil, completion: Completion, behalf: Behalf? = nil
  ) {
    self.author = author
    self.intent = intent
    self.inbound = inbound
    self.completion = completion
    self.behalf = behalf
    component = nil
  }

  /// A post of a component as that of the user in whose name it acts. What it passes on is from them.
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
  }
}

/// Names one resumable XMPP stream across restarts: 128 random bits.
public struct StreamNonce: Hashable, Sendable {
  public let high: UInt64
  public let low: UInt64
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

public enum Intent: Sendable {
  case message(MessageDraft)
  case marker(MarkerDraft)
  /// Set name and groups of a roster item, adding it if need be (RFC 6121 2.3). `subscription`: how it stands from now on;
  /// a component says so of its own users, for whom it speaks too, and nobody else may.
  case contact(address: BareJID, name: String?, groups: [String], subscription: Subscription? = nil)
  /// Remove a roster item and both subscriptions (RFC 6121 2.5).
  case removeContact(BareJID)
  /// subscribe, subscribed, unsubscribe, unsubscribed (RFC 6121 3); `stanza`
  /// is what a recipient is shown, opaque.
  case subscription(SubscriptionAct, to: BareJID, stanza: [UInt8]?)
  /// The app's contact request or acceptance: item, subscribe, and approval
  /// of the other direction, in one step.
  case befriend(BareJID, name: String?)
  /// An operator's roster entry; `mutual` sets both sides to `both`, without
  /// asking either; nil leaves a name and groups as they are.
  case link(BareJID, name: String?, groups: [String]?, mutual: Bool)
  /// A subscription request with the hash of an invitation's token (XEP-0379).
  case redeem(token: [UInt8], from: BareJID, stanza: [UInt8]?)
  /// `Receipt.value`: the reports that are kept.
  case block([BlockPattern], reports: [ReportDraft] = [])
  /// An empty list unblocks all (XEP-0191 3.5).
  case unblock([BlockPattern])
  case profile(ProfileDraft)
  /// Get or create the private dialog with this user.
  case openDialog(BareJID)
  /// What the author wants of a dialog or room that they are in. `Receipt.value`: a `DialogSettingsChange`, how
  /// they are now; `isRepeat`: they were so.
  case settings(DialogID, DialogSettingsDraft)
  /// What the author does with a message or dialog for themselves alone.
  case personal(DialogID, PersonalIntent)
  /// Anything about what the author has written and not sent.
  case unsent(UnsentIntent)
  /// Anything about calls.
  case call(CallIntent)
  /// Anything about a group or public dialog.
  case room(RoomIntent)
  /// Anything about what the author publishes. `Receipt.isRepeat`: nothing changed.
  case node(NodeIntent)
  /// What the author does at a node of somebody else.
  case visit(NodeVisit)
  /// What the author wants to find in their archive (XEP-0441).
  case archivePreferences(ArchivePreferences)
  /// What the author's clients keep for themselves, all or none of it.
  case setPrivateXML([PrivateXMLDraft])
  /// Anything about the files the author keeps here.
  case blob(BlobIntent)
  /// Anything about the author's push registrations.
  case push(PushIntent)
  /// A session arrives: it is registered with the hub at one exact position.
  case goOnline(OnlineSession)
  /// A session goes over to another one, with its place in the hub and its seats in rooms, at one exact position: what is
  /// before it is delivered to the former one, then `Delivery.handedOver`, and what is behind it to the new one. Nobody is
  /// told (XEP-0198 5). Nothing where the former one has departed.
  case handOver(from: any LiveSession, to: any LiveSession)
  /// A signal that rides behind its sender's posts, in order.
  case signal(Signal, to: SignalTarget)
  /// A client of the author confirmed everything inbound up to here.
  case confirm(Position)
  /// The author's last session has ended.
  case leave
  /// Something that was refused before it came here: its outcome comes in its turn.
  case refused(Problem)
  /// Anything else that must write in order with the log (accounts, grants).
  case work(WriteTransaction)
}

/// A message to be said.
public struct MessageDraft: Sendable {
  /// The addressee; the author's own address means the self dialog.
  public var to: BareJID
  public var content: Content
  public var envelope: Envelope
  public var traits: Message.Traits
  /// What makes a repeat recognisable; nil: never taken for a repeat.
  public var key: RepeatKey?
  /// What it says about an earlier message. Where that one is unknown, or the author
  /// may not, XMPP's stanza is a message like any other, and the app is refused.
  public var reference: ReferenceDraft?
  /// What of it is no mention has no effect where XMPP says it, and the app is refused.
  public var mentions: [MentionDraft]
  /// A message to say again, in place of `content`.
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

/// Author and dialog are implied. For the app a repeat with another body is a
/// conflict; for XMPP the same id with other content is a new message (bots
/// send `id='1'`).
public struct RepeatKey: Sendable, Hashable {
  public enum Rule: UInt8, Sendable { case app = 1, xmpp = 2 }
  public var rule: Rule
  /// The app's clientId; XMPP: the origin-id, else the stanza id.
  public var id: String
  /// 64 bits over the payload without `<delay/>`, from `Digest64`.
  public var bodyHash: UInt64
  public init(rule: Rule, id: String, bodyHash: UInt64) {
    self.rule = rule
    self.id = id
    self.bodyHash = bodyHash
  }
}

/// A marker to be set: where, up to which message.
public struct MarkerDraft: Sendable {
  public enum Target: Sendable {
    /// By the message's public id.
    case entry(PublicID)
    /// By the id that its author gave the stanza.
    case stanza(String)
  }
  /// The other user of the private dialog.
  public var with: BareJID
  public var kind: Marker.Kind
  public var target: Target
  /// Not told to the other side (private read, XEP-0490).
  public var isPrivate: Bool
  /// The stanza to relay, where XMPP sent it.
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

/// What changes in a profile; nil leaves as it is.
public struct ProfileDraft: Sendable {
  /// What others call the user.
  public var displayName: String??
  /// `.some(nil)`: as `displayName`.
  public var fullName: String??
  public var status: String??
  public var metadata: String??
  /// Of a picture that is kept elsewhere.
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

/// Writes on the committer's thread, in the batch's transaction.
public struct WriteTransaction: Sendable {
  /// It changes nothing that the judge keeps in memory: users, blocks, archive preferences, rooms and their people. Logins
  /// are such work, and come often: messages should not have to look all of that up again after each.
  let keepsCaches: Bool
  /// What the work gives back, and the posts that follow from it: they are judged at once, in the same transaction, so that
  /// no crash parts them from it. One that is refused is told so alone; the work stands.
  let body: @Sendable (any StoreWriter) throws -> (value: any Sendable, posts: [Post])

  public init(keepsCaches: Bool = false, _ body: @escaping @Sendable (any StoreWriter) throws -> any Sendable) {
    self.keepsCaches = keepsCaches
    self.body = { (try body($0), []) }
  }

  init(following body: @escaping @Sendable (any StoreWriter) throws -> (value: any Sendable, posts: [Post])) {
    keepsCaches = false
    self.body = body
  }
}

/// The outcome of a post, told after its commit.
public struct Receipt: Sendable {
  /// The head of the log when the post was done.
  public var position: Position
  /// What was written; for a repeat, what was written the first time.
  public var entry: Entry?
  /// The post was a repeat: nothing was written now.
  public var isRepeat = false
  public var dialog: Dialog?
  public var room: Room?
  /// What was said stands in a room whose people the author may not know.
  public var isAnonymized = false
  /// For `attend`: the user's card.
  public var contactSnapshot: ContactSnapshot?
  /// For `attend`: inbound entries behind this were not confirmed by anybody.
  public var delivered: Position = .zero
  /// What the intent says it gives back: of `work` what its body returned.
  public var value: (any Sendable)?

  public init(position: Position) { self.position = position }
}
