public import Addresses

/// A room that a user wants to find again (XEP-0402 3). Theory:
///
/// Everybody else's items are bytes to the core; bookmarks are typed, because
/// the server writes them itself: who is made a member of a room by somebody
/// else gets a bookmark of it, and who is no member any more loses it. The core
/// knows no XML, so it keeps what a bookmark says as fields, and two pieces of
/// bytes that it only hands on: what stands in it that has no field. The door
/// reads and writes the XML of both forms from that.
///
/// There is one list, the items of the node `Bookmark.node`, in three dresses:
///
///     items of urn:xmpp:bookmarks:1      one bookmark each   XEP-0402
///     item of storage:bookmarks          all of them         XEP-0048 in PEP
///     jabber:iq:private                  all of them         XEP-0048 in XEP-0049
///
/// The second and third are views: they hold nothing, writing to them is
/// replacing the list (`BookmarksDraft`), and they are told of (the second) when
/// an item changes. So nothing has to be converted, and nothing can come apart
/// (XEP-0411 3, XEP-0402 5.3). What the old form has beside rooms (addresses of
/// web pages) stands in the vault.
public struct Bookmark: Hashable, Sendable {
  /// The node's name: the one that XEP-0402 gives it.
  public static let node = "urn:xmpp:bookmarks:1"
  /// The node as which clients of XEP-0048 know the whole list.
  public static let listNode = "storage:bookmarks"

  /// XEP-0402 4.3. Who may read them and that they are kept cannot be changed:
  /// which rooms somebody is in concerns nobody else.
  static let configuration: NodeConfiguration = {
    var configuration = NodeConfiguration()
    configuration.access = .whitelist
    configuration.itemsMax = nil
    configuration.whenFull = .reject
    configuration.sendLast = .never
    // Gajim makes it a condition of publishing.
    configuration.notifiesRetract = true
    return configuration
  }()

  /// Also the item's id, normalised.
  public let address: BareJID
  public var name: String?
  public var autojoins: Bool
  public var nick: String?
  public var password: String?
  /// XEP-0492. Clients of the old forms neither see nor change it, nor the two that follow.
  public var notifications: NotificationRules
  /// XEP-0469.
  public var isPinned: Bool
  /// What else stands in `<extensions/>`.
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

/// What the list is to be, by a client that knows it only as a whole.
public struct BookmarksDraft: Sendable {
  /// Without extensions: those of bookmarks that stay, stay.
  public var bookmarks: [Bookmark]
  /// What else stands in the list; nil: stays as it is.
  public var others: [UInt8]?
  public init(bookmarks: [Bookmark], others: [UInt8]?) {
    self.bookmarks = bookmarks
    self.others = others
  }
}
