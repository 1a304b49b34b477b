import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0402: bookmarks as items of a node, and unified with the older forms
/// (5.2). What they are to the server: `Dialogs.Bookmark`.
struct Bookmarks: Feature {
  static let xep = XEP(
    402, "1.2.0", "PEP Native Bookmarks",
    note:
      "with `#compat` and `#compat-pep`; the server writes one for who becomes a member without a client in the room; retracting it leaves a public one"
  )

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.bookmarksCompatibility)", "\(NS.bookmarksPEPCompatibility)", on: [.account])
  }

  /// An item's id as it is stored: of a bookmark the address, normalised.
  static func id(_ text: String, in node: String) -> String {
    guard node == Bookmark.node, let jid = JID(parsing: text) else { return text }
    return jid.description
  }
}

/// XEP-0048: all bookmarks in one element. In PEP (3) a node with one item that
/// is put together when it is read and taken apart when it is written.
struct BookmarkStorage: Feature {
  static let xep = XEP(48, "1.2", "Bookmarks", note: "a view of XEP-0402's; it cannot be configured")

  func register(in table: inout FeatureTable) {}

  /// The view; nil: nothing has been bookmarked yet.
  static func node(of owner: UserID, _ reader: any StoreReader) throws -> Node? {
    guard let list = try Bookmark.list(of: owner, reader) else { return nil }
    return Node(
      owner: owner, name: Bookmark.listNode, configuration: Bookmark.listConfiguration, createdAt: list.time,
      itemCount: 1)
  }

  /// 3.1. Of the conditions only what cannot be otherwise matters: the list is
  /// kept, and its owner's alone.
  static func publish(_ turn: Turn, _ request: PublishRequest) throws(StanzaError) {
    for condition in request.conditions {
      switch condition {
      case .access, .persistsItems:
        if !condition.isMet(by: Bookmark.listConfiguration) {
          throw StanzaError(.conflict, pubsub: "precondition-not-met")
        }
      default: break
      }
    }
    guard let payload = request.item?.payload else { throw StanzaError(.badRequest, pubsub: "payload-required") }
    turn.postToNode(.bookmarks(try BookmarkElement.list(payload))) {
      PEP.writePublished(Bookmark.listNode, request.item?.id == nil ? Bookmark.listItem : nil, into: &$0)
    }
  }
}

/// XEP-0411: whichever of the older forms a client writes, the other has it too;
/// there is nothing to convert.
struct BookmarkConversion: Feature {
  static let xep = XEP(411, "1.1.0", "Bookmarks Conversion")

  func register(in table: inout FeatureTable) { table.advertise("\(NS.bookmarksConversion)", on: [.account]) }
}
