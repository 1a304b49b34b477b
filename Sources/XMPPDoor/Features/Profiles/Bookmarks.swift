import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// XEP-0402: bookmarks as items of a node, unified with the older forms (5.2). `Dialogs.Bookmark` defines their effect.
struct Bookmarks: Feature {
  static let xep = XEP(
    402, "1.2.0", "PEP Native Bookmarks",
    note: """
      With `#compat` and `#compat-pep`. The server adds a bookmark for a user who becomes a member while no client \
      is in the room. Retraction of a bookmark leaves a public room.
      """)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.bookmarksCompatibility)", "\(NS.bookmarksPEPCompatibility)", on: [.account])
  }

  /// Returns an item's id as it is stored: a bookmark's is its normalised address.
  static func id(_ text: String, in node: String) -> String {
    guard node == Bookmark.node, let jid = JID(parsing: text) else { return text }
    return jid.description
  }
}

/// XEP-0048: all bookmarks in one element. In PEP (3) it is a node with one item, which is made from the bookmarks when
/// it is read, and split into them when it is written.
struct BookmarkStorage: Feature {
  /// The number of lists that the session has written.
  fileprivate static let lists = Slot(0)

  static let xep = XEP(
    48, "1.2", "Bookmarks", note: "A view of the bookmarks of XEP-0402. Its node cannot be configured.")

  func register(in table: inout FeatureTable) {}

  /// Returns the node; `nil` if there are no bookmarks yet.
  static func node(of owner: UserID, _ reader: any StoreReader) throws -> Node? {
    guard let list = try Bookmark.list(of: owner, reader) else { return nil }
    return Node(
      owner: owner, name: Bookmark.listNode, configuration: Bookmark.listConfiguration, createdAt: list.time,
      itemCount: 1)
  }

  /// Publishes the list (3.1). The only conditions are those that always hold: the list is stored, and private.
  static func publish(_ turn: Turn, _ request: PublishRequest) throws(StanzaError) {
    for condition in request.conditions {
      switch condition {
      case .access, .persistsItems:
        if !condition.isMet(by: Bookmark.listConfiguration) {
          throw StanzaError(.conflict, pubsub: "precondition-not-met")
        }
      case .groups, .itemsMax, .whenFull, .sendLast, .notifies, .deliversPayloads, .notifiesRetract, .notifiesDelete,
        .notifiesConfiguration, .title, .about, .type, .publishers, .namesPublisher:
        break
      }
    }
    guard let payload = request.item?.payload else { throw StanzaError(.badRequest, pubsub: "payload-required") }
    turn.postBookmarks(try BookmarkElement.list(payload)) {
      PEP.writePublished(Bookmark.listNode, request.item?.id == nil ? Bookmark.listItem : nil, into: &$0)
    }
  }
}

/// XEP-0411: both older forms show the same bookmarks, so nothing needs converting.
struct BookmarkConversion: Feature {
  static let xep = XEP(411, "1.1.0", "Bookmarks Conversion")

  func register(in table: inout FeatureTable) { table.advertise("\(NS.bookmarksConversion)", on: [.account]) }
}

extension Turn {
  /// Replaces the list of bookmarks, in several posts if it differs much, and answers after the last. Each bookmark is charged as a
  /// stanza: it is as much work. If the client writes another list meanwhile, that one replaces what is left of this.
  func postBookmarks(_ list: BookmarksDraft, _ content: @escaping (inout ElementWriter) -> Void = { _ in }) {
    _ = session.sending.charge(stanzas: list.bookmarks.count, bytes: 0, now: parley.clock.now)
    session[BookmarkStorage.lists] += 1
    var draft = list
    draft.changesMax = Limits.bookmarkChangesAtOnce
    postBookmarks(.bookmarks(draft), of: session[BookmarkStorage.lists], content)
  }

  private func postBookmarks(
    _ intent: NodeIntent, of list: Int, _ content: @escaping (inout ElementWriter) -> Void
  ) {
    post(.node(intent, at: host)) { [self] result in
      switch result {
      case .failure(let problem): fail(StanzaError(publishing: problem))
      case .success(let receipt):
        guard let rest = receipt.value as? BookmarkChanges, session[BookmarkStorage.lists] == list else {
          return reply(content)
        }
        postBookmarks(.bookmarkChanges(rest), of: list, content)
      }
    }
  }
}
