import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// A bookmark as XML: alone in an item (XEP-0402 3), or in a list with all others (XEP-0048 2). The two have the same
/// fields; the old form states the address itself and knows no extensions.
enum BookmarkElement {
  private static let conference = Name("conference", NS.bookmarks)
  private static let nick = Name("nick", NS.bookmarks)
  private static let password = Name("password", NS.bookmarks)
  private static let extensions = Name("extensions", NS.bookmarks)

  static let storage = Name("storage", NS.bookmarkStorage)
  private static let listed = Name("conference", NS.bookmarkStorage)
  private static let listedNick = Name("nick", NS.bookmarkStorage)
  private static let listedPassword = Name("password", NS.bookmarkStorage)

  // MARK: One

  /// Returns the room's address, which is the item's id (XEP-0402 3).
  static func address(_ id: String) throws(StanzaError) -> BareJID {
    guard let jid = JID(parsing: id), jid.isBare else {
      throw StanzaError(.badRequest, pubsub: "invalid-payload", "a bookmark's id is the room's address")
    }
    return jid.bare
  }

  static func read(_ payload: Element?, id: String) throws(StanzaError) -> Bookmark {
    guard let payload, payload.is(conference) else {
      throw StanzaError(.badRequest, pubsub: "invalid-payload", "a bookmark is a <conference/>")
    }
    var bookmark = Bookmark(
      address: try address(id), name: payload["name"], autojoins: isSet(payload, "autojoin"),
      nick: payload.first(nick)?.text, password: payload.first(password)?.text,
      others: rest(of: payload) { $0.is(nick) || $0.is(password) || $0.is(extensions) })
    if let extensions = payload.first(extensions) { read(extensions, of: &bookmark) }
    return bookmark
  }

  /// Reads the extensions; unknown ones are kept (XEP-0402 3.1).
  private static func read(_ extensions: Element, of bookmark: inout Bookmark) {
    if let notify = extensions.first(NotificationSettings.notify) {
      bookmark.notifications = NotificationSettings.read(notify)
    }
    bookmark.isPinned = extensions.first(BookmarkPinning.pinned) != nil
    bookmark.extensions = rest(of: extensions) {
      $0.is(NotificationSettings.notify) || $0.is(BookmarkPinning.pinned)
    }
  }

  static func write(_ bookmark: Bookmark, into writer: inout ElementWriter) {
    writer.element(conference) { writer in
      writeFields(bookmark, into: &writer)
      writeExtensions(bookmark, into: &writer)
      writer.raw(bookmark.others)
    }
  }

  private static func writeExtensions(_ bookmark: Bookmark, into writer: inout ElementWriter) {
    if bookmark.notifications.isEmpty, !bookmark.isPinned, bookmark.extensions.isEmpty { return }
    writer.element("extensions") { writer in
      if bookmark.isPinned { writer.element(BookmarkPinning.pinned) }
      if !bookmark.notifications.isEmpty { NotificationSettings.write(bookmark.notifications, into: &writer) }
      writer.raw(bookmark.extensions)
    }
  }

  /// Writes the attributes and children that both forms have, in the namespace of the open element. False is the
  /// default and left out.
  private static func writeFields(_ bookmark: Bookmark, into writer: inout ElementWriter) {
    writer.attribute("name", bookmark.name)
    if bookmark.autojoins { writer.attribute("autojoin", "true" as StaticString) }
    if let nick = bookmark.nick { writer.element("nick") { $0.text(nick) } }
    if let password = bookmark.password { writer.element("password") { $0.text(password) } }
  }

  // MARK: All

  /// Reads a list. A conference without a valid address is kept as it came, so that nothing a client wrote is lost.
  static func list(_ storage: Element) throws(StanzaError) -> BookmarksDraft {
    guard storage.is(self.storage) else {
      throw StanzaError(.badRequest, pubsub: "invalid-payload", "bookmarks stand in a <storage/>")
    }
    var bookmarks: [Bookmark] = []
    let others = rest(of: storage) { child in
      guard let bookmark = listed(child) else { return false }
      bookmarks.append(bookmark)
      return true
    }
    return BookmarksDraft(bookmarks: bookmarks, others: others)
  }

  private static func listed(_ child: Element) -> Bookmark? {
    guard child.is(listed), let jid = child["jid"].flatMap({ JID(parsing: $0) }), jid.isBare else { return nil }
    return Bookmark(
      address: jid.bare, name: child["name"], autojoins: isSet(child, "autojoin"), nick: child.first(listedNick)?.text,
      password: child.first(listedPassword)?.text,
      others: rest(of: child) { $0.is(listedNick) || $0.is(listedPassword) || $0.is(extensions) })
  }

  static func write(_ bookmarks: [Bookmark], others: [UInt8], into writer: inout ElementWriter) {
    writer.element(storage) { writer in
      for bookmark in bookmarks {
        writer.element(listed) { writer in
          writer.attribute("jid", bookmark.address.description)
          writeFields(bookmark, into: &writer)
          writer.raw(bookmark.others)
        }
      }
      writer.raw(others)
    }
  }

  // MARK: Pieces

  private static func isSet(_ element: Element, _ attribute: StaticString) -> Bool {
    element.has(attribute, equalTo: "true") || element.has(attribute, equalTo: "1")
  }

  /// Returns the serialised children that `isKnown` does not name, each with its namespace, so that it can stand
  /// anywhere.
  static func rest(of element: Element, except isKnown: (Element) -> Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    for child in element.children where !isKnown(child) { bytes += child.serialised(defaultNamespace: "") }
    return bytes
  }
}
