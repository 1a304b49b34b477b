public import Addresses

/// A user's bookmark of a room (XEP-0402 3). Theory:
///
/// Other nodes' items are opaque bytes to the core; bookmarks are typed, because the server writes them itself: a user
/// who is made a member of a room gets a bookmark of it, and a user who is no longer a member loses it. The
/// core knows no XML, so it stores a bookmark as fields, and two byte strings with what has no field, which it only
/// passes on. The door reads and writes the XML of all forms from that.
///
/// There is one list, the items of the node `Bookmark.node`, in three forms:
///
///     items of urn:xmpp:bookmarks:1      one bookmark each   XEP-0402
///     item of storage:bookmarks          all of them         XEP-0048 in PEP
///     jabber:iq:private                  all of them         XEP-0048 in XEP-0049
///
/// The second and third are views, which store nothing: writing to them replaces the list (`BookmarksDraft`), and
/// changes of items are announced for the second. So nothing is converted, and nothing can diverge (XEP-0411 3,
/// XEP-0402 5.3). The other content of the old form (addresses of web pages) is a value under `ValueKey.bookmarks`.
public struct Bookmark: Hashable, Sendable {
  /// The node's name (XEP-0402).
  public static let node = "urn:xmpp:bookmarks:1"
  /// The node under which clients of XEP-0048 know the whole list.
  public static let listNode = "storage:bookmarks"

  /// The node's configuration (XEP-0402 4.3). Its access and persistence cannot be changed: a user's rooms concern no
  /// one else.
  static let configuration: NodeConfiguration = {
    var configuration = NodeConfiguration()
    configuration.access = .whitelist
    configuration.itemsMax = nil
    configuration.whenFull = .reject
    configuration.sendLast = .never
    // Gajim requires it as a precondition.
    configuration.notifiesRetract = true
    return configuration
  }()

  /// The room's address; normalised, it is also the item's id.
  public let address: BareJID
  public var name: String?
  public var autojoins: Bool
  public var nick: String?
  public var password: String?
  /// The notification settings (XEP-0492). Clients of the old forms neither see nor change them, nor the next two
  /// fields.
  public var notifications: NotificationRules
  /// Whether the bookmark is pinned (XEP-0469).
  public var isPinned: Bool
  /// The other children of `<extensions/>`.
  public var extensions: [UInt8]
  /// Children of other names, which some clients use in all forms.
  public var others: [UInt8]

  public init(
    address: BareJID, name: String? = nil, autojoins: Bool = false, nick: String? = nil, password: String? = nil,
    notifications: NotificationRules = NotificationRules(), isPinned: Bool = false, extensions: [UInt8] = [],
    others: [UInt8] = []
  ) {
    self.address = address
    self.name = name
    self.autojoins = autojoins
    self.nick = nick
    self.password = password
    self.notifications = notifications
    self.isPinned = isPinned
    self.extensions = extensions
    self.others = others
  }

  public var byteCount: Int {
    address.description.utf8.count + (name?.utf8.count ?? 0) + (nick?.utf8.count ?? 0) + (password?.utf8.count ?? 0)
      + notifications.byteCount + extensions.count + others.count
  }
}

/// The replacement of the whole list, by a client of XEP-0048.
public struct BookmarksDraft: Sendable {
  /// The bookmarks without extensions: those of remaining bookmarks are kept.
  public var bookmarks: [Bookmark]
  /// The other content of the list; `nil` leaves it unchanged.
  public var others: [UInt8]?
  /// The number of changes that one post writes; those that are left are the value of its receipt (`BookmarkChanges`).
  public var changesMax: Int

  public init(bookmarks: [Bookmark], others: [UInt8]?, changesMax: Int = .max) {
    self.bookmarks = bookmarks
    self.others = others
    self.changesMax = changesMax
  }
}

extension BookmarksDraft {
  /// The number of bookmarks that one post compares with those that are stored: all of a list that one post writes.
  var comparedAtOnce: Int { changesMax == .max ? .max : Limits.bookmarksComparedAtOnce }
}

/// A list of bookmarks that is being compared with those that are stored.
struct BookmarkComparison: Sendable {
  /// The bookmarks that are left to compare, each address once.
  var left: ArraySlice<(id: String, bookmark: Bookmark)>
  /// The addresses that the list names.
  let named: Set<String>
  /// The changes that were found.
  var wanted: [BookmarkChanges.Change] = []
  /// The bytes by which the stored bookmarks grow, without those that are removed.
  var growth = 0
  /// The end of the log when the list came.
  let end: Position

  init(_ draft: BookmarksDraft, end: Position) {
    // Of two with one address the last one counts: clients append what they change.
    let ids = draft.bookmarks.map(\.address.description)
    let last = Dictionary(zip(ids, draft.bookmarks), uniquingKeysWith: { _, later in later })
    var named: Set<String> = []
    var list: [(id: String, bookmark: Bookmark)] = []
    for id in ids where named.insert(id).inserted {
      if let bookmark = last[id] { list.append((id, bookmark)) }
    }
    left = list[...]
    self.named = named
    self.end = end
  }
}

/// The changes of a list of bookmarks that are left to write. Each is left out if the bookmark was changed meanwhile by another post:
/// that is the newer change.
public struct BookmarkChanges: Sendable {
  struct Change: Sendable {
    /// The item's id.
    let id: String
    /// The new bookmark; `nil` if it is removed.
    let bookmark: Bookmark?
    /// The position of the item that the new bookmark replaces; `nil` if there was none.
    let replaced: Position?
  }

  var changes: ArraySlice<Change>
  /// The end of the log when the list came: what was published behind it is not removed.
  let end: Position
  /// The number of changes that one post writes.
  let max: Int
}
