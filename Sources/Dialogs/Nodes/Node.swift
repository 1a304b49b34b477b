public import Addresses

/// What a user publishes under one name (XEP-0163): items, each overwritten in
/// place. The log records which item changed when, in the owner's self dialog
/// (`NodeChange`); what the item says is in the store's own table, and only as
/// it is now.
public struct Node: Hashable, Sendable {
  public let owner: UserID
  public let name: String
  public var configuration: NodeConfiguration
  public let createdAt: Timestamp
  /// Of what is stored.
  public var itemCount: Int
  public var byteCount: Int

  public init(
    owner: UserID, name: String, configuration: NodeConfiguration, createdAt: Timestamp, itemCount: Int = 0,
    byteCount: Int = 0
  ) {
    self.owner = owner
    self.name = name
    self.configuration = configuration
    self.createdAt = createdAt
    self.itemCount = itemCount
    self.byteCount = byteCount
  }
}

/// One item of a node as it is now.
public struct NodeItem: Hashable, Sendable {
  public let id: String
  public let content: NodeContent
  /// Of the entry that published it: the order of the node's items. Who is
  /// published again becomes the newest (XEP-0060 12.1).
  public let position: Position
  public let time: Timestamp
  /// nil: the owner of the node.
  public let publisher: BareJID?

  public init(id: String, content: NodeContent, position: Position, time: Timestamp, publisher: BareJID? = nil) {
    self.id = id
    self.content = content
    self.position = position
    self.time = time
    self.publisher = publisher
  }
}

/// What an item says. Most of it is nobody's business here; what the server
/// itself writes, or keeps in step with something else, is typed.
public enum NodeContent: Hashable, Sendable {
  /// The payload as the door wrote it; empty: none.
  case opaque([UInt8])
  case bookmark(Bookmark)
  case displayed(Displayed)
  /// All bookmarks in one. Only told, never stored.
  case bookmarks([Bookmark], others: [UInt8])
  /// In the nodes of the profile (`ProfileNode`).
  case nickname(String)
  case avatar(Avatar)
  case avatarMetadata(AvatarMetadata)
  case card(Card4)

  public var byteCount: Int {
    switch self {
    case .opaque(let bytes): bytes.count
    case .bookmark(let bookmark): bookmark.byteCount
    case .displayed(let displayed): displayed.byteCount
    case .bookmarks(let bookmarks, let others): bookmarks.reduce(others.count) { $0 + $1.byteCount }
    case .nickname(let name): name.utf8.count
    case .avatar(let avatar): avatar.bytes.count
    case .avatarMetadata(let metadata): metadata.byteCount
    case .card(let card): card.byteCount
    }
  }
}

/// Who may read a node, how much of it is kept, and who is told when
/// (XEP-0060 16.4.4).
public struct NodeConfiguration: Hashable, Sendable {
  /// XEP-0060 4.5. Stored: never renumber.
  public enum Access: UInt8, Sendable, CaseIterable {
    /// Those who see the owner's presence.
    case presence = 1
    case open = 2
    /// Members and publishers.
    case whitelist = 3
    /// Those who see the owner's presence and are in one of `groups`.
    case roster = 4
    /// Those whose subscription the owner has allowed.
    case authorize = 5
  }
  /// Who publishes beside the owner. Stored: never renumber.
  public enum Publishers: UInt8, Sendable, CaseIterable { case publishers = 1, subscribers = 2, open = 3 }
  /// When the last item is told again. Stored: never renumber.
  public enum SendLast: UInt8, Sendable, CaseIterable { case never = 1, onSubscription = 2, onPresence = 3 }
  /// What a new item in a full node does (XEP-0060 7.1.2.5). Stored: never renumber.
  public enum WhenFull: UInt8, Sendable, CaseIterable { case retractOldest = 1, discardOldest = 2, reject = 3 }

  public var access = Access.presence
  public var groups: [String] = []
  public var persistsItems = true
  /// nil: as many as the server keeps (`max`).
  public var itemsMax: Int? = 1
  public var whenFull = WhenFull.retractOldest
  public var sendLast = SendLast.onPresence
  public var notifies = true
  public var deliversPayloads = true
  /// Also of items that go without their publisher asking for it to be told.
  public var notifiesRetract = false
  public var notifiesDelete = true
  public var notifiesConfiguration = false
  public var title: String?
  public var about: String?
  /// The namespace of the payload, for people who look.
  public var type: String?
  public var publishers = Publishers.publishers
  /// Items say who published them also where that is the owner.
  public var namesPublisher = false

  /// The defaults of XEP-0163 5: for presence subscribers, the last item.
  public init() {}

  /// How a node begins that nobody has configured.
  public static func standard(for node: String) -> NodeConfiguration {
    switch node {
    case Bookmark.node: Bookmark.configuration
    case Displayed.node: Displayed.configuration
    default: ProfileNode(rawValue: node)?.configuration ?? NodeConfiguration()
    }
  }

  /// Items that are kept.
  public var capacity: Int {
    persistsItems ? max(1, min(itemsMax ?? .max, Limits.itemsPerNodeMax)) : 0
  }
}

/// One setting of a node: as a wish, when it is configured, and as a condition
/// under which something is published (XEP-0060 7.1.5).
public enum NodeOption: Hashable, Sendable {
  case access(NodeConfiguration.Access)
  case groups([String])
  case persistsItems(Bool)
  /// nil: `max`.
  case itemsMax(Int?)
  case whenFull(NodeConfiguration.WhenFull)
  case sendLast(NodeConfiguration.SendLast)
  case notifies(Bool)
  case deliversPayloads(Bool)
  case notifiesRetract(Bool)
  case notifiesDelete(Bool)
  case notifiesConfiguration(Bool)
  case title(String?)
  case about(String?)
  case type(String?)
  case publishers(NodeConfiguration.Publishers)
  case namesPublisher(Bool)

  public func apply(to configuration: inout NodeConfiguration) {
    switch self {
    case .access(let value): configuration.access = value
    case .groups(let value): configuration.groups = value
    case .persistsItems(let value): configuration.persistsItems = value
    case .itemsMax(let value): configuration.itemsMax = value
    case .whenFull(let value): configuration.whenFull = value
    case .sendLast(let value): configuration.sendLast = value
    case .notifies(let value): configuration.notifies = value
    case .deliversPayloads(let value): configuration.deliversPayloads = value
    case .notifiesRetract(let value): configuration.notifiesRetract = value
    case .notifiesDelete(let value): configuration.notifiesDelete = value
    case .notifiesConfiguration(let value): configuration.notifiesConfiguration = value
    case .title(let value): configuration.title = value
    case .about(let value): configuration.about = value
    case .type(let value): configuration.type = value
    case .publishers(let value): configuration.publishers = value
    case .namesPublisher(let value): configuration.namesPublisher = value
    }
  }

  /// Whether the node is like this already.
  public func isMet(by configuration: NodeConfiguration) -> Bool {
    if case .groups(let wanted) = self { return Set(wanted) == Set(configuration.groups) }
    var applied = configuration
    apply(to: &applied)
    return applied == configuration
  }
}

/// What a node entry records: which item of which node, and what became of it.
/// What it says is read from the store.
public struct NodeChange: Hashable, Sendable {
  /// Stored: never renumber.
  public enum Act: UInt8, Sendable { case published = 1, retracted = 2, purged = 3, deleted = 4 }
  public let node: String
  /// nil: all of them.
  public let item: String?
  public let act: Act

  public init(node: String, item: String?, act: Act) {
    self.node = node
    self.item = item
    self.act = act
  }
}

/// What interested clients are told of a node (XEP-0060 7.1.2): live, and
/// forgotten. Shared by everybody who is told.
public final class NodeEvent: Sendable {
  public enum Kind: Hashable, Sendable {
    /// nil: an event without an item, from a node that keeps none.
    case published(NodeItem?)
    case retracted(String)
    case purged
    case deleted
    case configured
    /// To a subscriber: what became of the subscription; nil: it ended.
    case subscription(NodeSubscription.State?)
    /// To the owner: somebody asks to be subscribed.
    case requested(JID)
  }
  public let owner: Party
  public let node: String
  public let kind: Kind
  /// As it is after the change.
  public let configuration: NodeConfiguration
  /// Told again to who has just come (XEP-0163 4.3.4).
  public let isLast: Bool
  /// Whom the node knows: subscribers are told, outcasts are not.
  public let people: NodePeople
  /// Told to this address alone.
  public let recipient: JID?
  public let forms = FormSlot()

  public init(
    owner: Party, node: String, kind: Kind, configuration: NodeConfiguration, isLast: Bool = false,
    people: NodePeople = NodePeople(), recipient: JID? = nil
  ) {
    self.owner = owner
    self.node = node
    self.kind = kind
    self.configuration = configuration
    self.isLast = isLast
    self.people = people
    self.recipient = recipient
  }
}

/// What an owner does to a node. It is the author's own: there is no way to name
/// somebody else's. What others may do is a `NodeVisit`.
public enum NodeIntent: Sendable {
  /// Makes the node if there is none (XEP-0060 7.1.4).
  case publish(NodePublication)
  /// Takes an item out; `notifies`: whoever is interested is told.
  case retract(node: String, item: String, notifies: Bool)
  /// All items.
  case purge(node: String)
  /// The node itself.
  case delete(node: String)
  case create(node: String, [NodeOption])
  case configure(node: String, [NodeOption])
  /// nil: none.
  case affiliate(node: String, [BareJID: NodeAffiliation?])
  /// Answers who asked, and ends subscriptions (nil). Nobody is subscribed who has
  /// not asked: `Receipt.value` is a `[JID: NodeSubscription.State?]` of those that
  /// could not be changed, as they are.
  case subscribers(node: String, [JID: NodeSubscription.State?])
  /// The whole list of bookmarks, as clients write it that know no items.
  case bookmarks(BookmarksDraft)
}

public struct NodePublication: Sendable {
  public struct Item: Sendable {
    public var id: String
    public var content: NodeContent
    public init(id: String, content: NodeContent) {
      self.id = id
      self.content = content
    }
  }
  public var node: String
  /// nil: nothing but the event.
  public var item: Item?
  /// What must be so where the node is there, and will be so where it is not.
  public var conditions: [NodeOption]

  public init(node: String, item: Item?, conditions: [NodeOption] = []) {
    self.node = node
    self.item = item
    self.conditions = conditions
  }
}

/// Bytes that a user's clients keep for themselves (XEP-0049).
public struct PrivateXMLDraft: Sendable {
  public var name: String
  /// nil: nothing any more.
  public var bytes: [UInt8]?
  public init(name: String, bytes: [UInt8]?) {
    self.name = name
    self.bytes = bytes
  }
}

extension Node {
  /// Whether what this node holds stands elsewhere too: with the user's rooms, marks or profile.
  static func isView(_ name: String) -> Bool {
    name == Bookmark.node || name == Displayed.node || ProfileNode(rawValue: name) != nil
  }
}
