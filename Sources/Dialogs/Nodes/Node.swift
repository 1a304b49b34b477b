public import Addresses
public import Basics

/// A node of an account (XEP-0163) or of a service (`PubsubServices`), with items that are overwritten in place. The log
/// records which item changed when, in the owner's self dialog (`NodeChange`); the store has a table with the current
/// content of items.
public struct Node: Hashable, Sendable {
  public let owner: UserID
  public let name: String
  public var configuration: NodeConfiguration
  public let createdAt: Timestamp
  /// The user who created a service's node; `nil` for the node of an account, and after the user's account was deleted.
  public let creator: BareJID?
  /// The number and size of the stored items.
  public var itemCount: Int
  public var byteCount: Int

  /// The number of items that are kept. A node of vCards has one item, however many it was configured to have: no client reads
  /// others, and each takes milliseconds to write.
  public var capacity: Int {
    name == ProfileNode.vCard4.rawValue ? min(1, configuration.capacity) : configuration.capacity
  }

  public init(
    owner: UserID, name: String, configuration: NodeConfiguration, createdAt: Timestamp, itemCount: Int = 0,
    byteCount: Int = 0, creator: BareJID? = nil
  ) {
    self.owner = owner
    self.creator = creator
    self.name = name
    self.configuration = configuration
    self.createdAt = createdAt
    self.itemCount = itemCount
    self.byteCount = byteCount
  }
}

/// An item of a node in its current version.
public struct NodeItem: Hashable, Sendable {
  public let id: String
  public let content: NodeContent
  /// The position of the entry that published the item, which orders the node's items. An item that is published again
  /// becomes the newest (XEP-0060 12.1).
  public let position: Position
  public let time: Timestamp
  /// The publisher; `nil` for the owner of the node.
  public let publisher: BareJID?

  public init(id: String, content: NodeContent, position: Position, time: Timestamp, publisher: BareJID? = nil) {
    self.id = id
    self.content = content
    self.position = position
    self.time = time
    self.publisher = publisher
  }
}

/// The content of an item. Most of it is opaque to the core; what the server writes itself, or synchronizes with other
/// data, is typed.
public enum NodeContent: Hashable, Sendable {
  /// The payload as the door wrote it; empty if there is none.
  case opaque([UInt8])
  case bookmark(Bookmark)
  case displayed(Displayed)
  /// All bookmarks in one item, which is announced but never stored.
  case bookmarks([Bookmark], others: [UInt8])
  /// The content of the profile's nodes (`ProfileNode`).
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

/// The configuration of a node (XEP-0060 16.4.4): its access, persistence and notifications.
public struct NodeConfiguration: Hashable, Sendable {
  /// The access model (XEP-0060 4.5). Stored: never renumber.
  public enum Access: UInt8, Sendable, CaseIterable {
    /// Users who see the owner's presence may read.
    case presence = 1
    case open = 2
    /// Members and publishers may read.
    case whitelist = 3
    /// Users who see the owner's presence and are in one of `groups` may read.
    case roster = 4
    /// Users whose subscription the owner has allowed may read.
    case authorize = 5
  }
  /// The publishers beside the owner. Stored: never renumber.
  public enum Publishers: UInt8, Sendable, CaseIterable { case publishers = 1, subscribers = 2, open = 3 }
  /// The occasions on which the last item is sent again. Stored: never renumber.
  public enum SendLast: UInt8, Sendable, CaseIterable { case never = 1, onSubscription = 2, onPresence = 3 }
  /// The effect of a new item in a full node (XEP-0060 7.1.2.5). Stored: never renumber.
  public enum WhenFull: UInt8, Sendable, CaseIterable { case retractOldest = 1, discardOldest = 2, reject = 3 }

  public var access = Access.presence
  public var groups: [String] = []
  public var persistsItems = true
  /// The most items; `nil` for the server's limit (`max`).
  public var itemsMax: Int? = 1
  public var whenFull = WhenFull.retractOldest
  public var sendLast = SendLast.onPresence
  public var notifies = true
  public var deliversPayloads = true
  /// Whether retractions are announced even if the publisher did not request it.
  public var notifiesRetract = false
  public var notifiesDelete = true
  public var notifiesConfiguration = false
  public var title: String?
  public var about: String?
  /// The namespace of the payload, for human readers.
  public var type: String?
  public var publishers = Publishers.publishers
  /// Whether items name their publisher even if it is the owner.
  public var namesPublisher = false

  /// Creates the defaults of XEP-0163 5: access for presence subscribers, and one item.
  public init() {}

  /// The defaults at a service: all items are kept, everybody reads them, and they name their publishers, as there are
  /// several.
  public static let atService: NodeConfiguration = {
    var configuration = NodeConfiguration()
    configuration.access = .open
    configuration.itemsMax = nil
    configuration.sendLast = .onSubscription
    configuration.namesPublisher = true
    return configuration
  }()

  /// Returns the initial configuration of a node.
  public static func standard(for node: String, of owner: UserID) -> NodeConfiguration {
    if owner.isService { return atService }
    return switch node {
    case Bookmark.node: Bookmark.configuration
    case Displayed.node: Displayed.configuration
    default: ProfileNode(rawValue: node)?.configuration ?? NodeConfiguration()
    }
  }

  /// The number of items that a node keeps at most (`Node.capacity`).
  var capacity: Int {
    persistsItems ? max(1, min(itemsMax ?? .max, Limits.itemsPerNodeMax)) : 0
  }
}

/// One setting of a node: either a change of its configuration, or a precondition for publishing (XEP-0060 7.1.5).
public enum NodeOption: Hashable, Sendable {
  case access(NodeConfiguration.Access)
  case groups([String])
  case persistsItems(Bool)
  /// `nil` means `max`.
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

  /// Returns whether the node already has this setting.
  public func isMet(by configuration: NodeConfiguration) -> Bool {
    if case .groups(let wanted) = self { return Set(wanted) == Set(configuration.groups) }
    var applied = configuration
    apply(to: &applied)
    return applied == configuration
  }
}

/// The fact of a node entry: the item, and what happened to it. The content is read from the store.
public struct NodeChange: Hashable, Sendable {
  /// Stored: never renumber.
  public enum Act: UInt8, Sendable { case published = 1, retracted = 2, purged = 3, deleted = 4 }
  public let node: String
  /// The item; `nil` for all of them.
  public let item: String?
  public let act: Act

  public init(node: String, item: String?, act: Act) {
    self.node = node
    self.item = item
    self.act = act
  }
}

/// A notification of a node to interested clients (XEP-0060 7.1.2), which is not stored. Shared by all recipients.
public final class NodeEvent: Sendable {
  public enum Kind: Hashable, Sendable {
    /// `nil` for an event without an item, from a node that keeps none.
    case published(NodeItem?)
    case retracted(String)
    case purged
    case deleted
    case configured
    /// The new state of the recipient's subscription; `nil` if it ended.
    case subscription(NodeSubscription.State?)
    /// A request to subscribe, for the owner.
    case requested(JID)
  }
  public let owner: Party
  public let node: String
  public let kind: Kind
  /// The configuration after the change.
  public let configuration: NodeConfiguration
  /// Whether it repeats the last item for a client that has just connected (XEP-0163 4.3.4).
  public let isLast: Bool
  /// The node's affiliations and subscriptions: subscribers are told, outcasts are not.
  public let people: NodePeople
  /// The only recipient, if there is one.
  public let recipient: JID?
  public let forms: FormSlot

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
    forms = FormSlot()
  }

  /// Creates the same event for one recipient elsewhere; it is encoded once all the same.
  init(_ event: NodeEvent, for recipient: JID) {
    owner = event.owner
    node = event.node
    kind = event.kind
    configuration = event.configuration
    isLast = event.isLast
    people = event.people
    self.recipient = recipient
    forms = event.forms
  }
}

/// A change of a node of the author's account, where nobody else can make it; or of a node of a service, where the
/// author's affiliation decides (`Judge.owned`). Changes by others at an account are a `NodeVisit`.
public enum NodeIntent: Sendable {
  /// Publishes, and creates the node if there is none (XEP-0060 7.1.4).
  case publish(NodePublication)
  /// Removes an item; `notifies` announces it.
  case retract(node: String, item: String, notifies: Bool)
  /// Removes all items.
  case purge(node: String)
  /// Removes the node itself.
  case delete(node: String)
  case create(node: String, [NodeOption])
  case configure(node: String, [NodeOption])
  /// Changes affiliations; `nil` removes one. `Receipt.value` is a `[BareJID: NodeAffiliation?]` of those that could not
  /// be changed, with their current affiliation.
  case affiliate(node: String, [BareJID: NodeAffiliation?])
  /// Answers requests to subscribe, and ends subscriptions (`nil`). Only users who have asked can be subscribed:
  /// `Receipt.value` is a `[JID: NodeSubscription.State?]` of those that could not be changed, with their current
  /// state.
  case subscribers(node: String, [JID: NodeSubscription.State?])
  /// Replaces the whole list of bookmarks, for clients that know no items.
  case bookmarks(BookmarksDraft)
  /// Writes further changes of that list, which are the value of the receipt before. `Receipt.value` is what is left.
  case bookmarkChanges(BookmarkChanges)
  /// Erases further entries of removed items in their owner's self dialog, for the server.
  case eraseEntries(ArraySlice<Position>, in: DialogID)
  /// Announces the whole list of bookmarks (`BookmarkLists`).
  case tellBookmarks
}

/// An item to publish.
///
///     let item = NodePublication.Item(id: "current", content: .nickname("Romeo"))
///     let publication = NodePublication(node: ProfileNode.nickname.rawValue, item: item)
///     try await parley.post(.node(.publish(publication)), by: romeo)
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
  /// The item; `nil` to send only the event.
  public var item: Item?
  /// The preconditions for an existing node, which configure a new one.
  public var conditions: [NodeOption]

  public init(node: String, item: Item?, conditions: [NodeOption] = []) {
    self.node = node
    self.item = item
    self.conditions = conditions
  }
}

/// A user's private data (XEP-0049).
public struct PrivateXMLDraft: Sendable {
  public var name: String
  /// The bytes; `nil` to remove them.
  public var bytes: [UInt8]?
  public init(name: String, bytes: [UInt8]?) {
    self.name = name
    self.bytes = bytes
  }
}

extension Node {
  /// Returns whether the node's content is also stored elsewhere: with the user's rooms, marks or profile.
  static func isView(_ name: String) -> Bool {
    name == Bookmark.node || name == Displayed.node || ProfileNode(rawValue: name) != nil
  }
}
