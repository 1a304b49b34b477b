import Dialogs
import XMLStream
import XMPP

/// XEP-0049: elements that a client stores for itself, by their names. Bookmarks among them are made from the stored
/// ones (`Dialogs.Bookmark`).
struct PrivateStorage: Feature {
  static let xep = XEP(49, "1.2", "Private XML Storage")

  private static let query = Name("query", NS.privateStorage)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.privateStorage)")
    table.iq(.get, Self.query, to: [.account], Self.get)
    table.iq(.set, Self.query, to: [.account], Self.set)
    // 2.3: of other users.
    let forbidden: FeatureTable.IQHandler = { (_, _) throws(StanzaError) in throw StanzaError(.forbidden) }
    table.iq(.get, Self.query, to: [.user], forbidden)
    table.iq(.set, Self.query, to: [.user], forbidden)
  }

  /// Returns one element; only the name of the requested element matters.
  private static func get(_ turn: Turn, _ query: Element) throws(StanzaError) {
    var children = query.children.makeIterator()
    guard let wanted = children.next() else { throw StanzaError(.badRequest, "ask for an element") }
    if children.next() != nil { throw StanzaError(.badRequest, "ask for one element at a time") }
    let name = try name(of: wanted)
    let owner = turn.party.id
    if wanted.is(BookmarkElement.storage) {
      return turn.fetch {
        try Bookmark.list(of: owner, $0)
      } reply: { list in
        reply(turn) { writer in
          if let list { NodeWriter.write(list.content, into: &writer) } else { writer.element(wanted) }
        }
      }
    }
    turn.fetch {
      try $0.value(of: owner, node: ValueKey.privateXML, item: name)
    } reply: { kept in
      // An element that was never stored comes back as it was requested: empty.
      reply(turn) { writer in
        if let kept { writer.raw(kept) } else { writer.element(wanted) }
      }
    }
  }

  private static func reply(_ turn: Turn, _ content: (inout ElementWriter) -> Void) {
    turn.reply { writer in
      writer.element(query) { content(&$0) }
    }
  }

  private static func set(_ turn: Turn, _ query: Element) throws(StanzaError) {
    var drafts: [PrivateXMLDraft] = []
    var bookmarks: BookmarksDraft?
    for child in query.children {
      if child.is(BookmarkElement.storage) {
        bookmarks = try BookmarkElement.list(child)
      } else {
        drafts.append(PrivateXMLDraft(name: try name(of: child), bytes: child.serialised(defaultNamespace: "")))
      }
      if drafts.count > Limits.privateXMLMax {
        throw StanzaError(.policyViolation, "these are too many elements")
      }
    }
    guard !drafts.isEmpty || bookmarks != nil else { throw StanzaError(.notAcceptable, "store an element") }
    guard let bookmarks else { return turn.postAndReply(.setPrivateXML(drafts)) }
    if drafts.isEmpty { return turn.postBookmarks(bookmarks) }
    turn.post(.setPrivateXML(drafts)) { result in
      if case .failure(let problem) = result { return turn.fail(problem) }
      turn.postBookmarks(bookmarks)
    }
  }

  /// Returns the name of an element, which must have a namespace of its own (2.3).
  static func name(of element: Element) throws(StanzaError) -> String {
    let namespace = element.namespace
    guard !namespace.isEmpty, namespace != String(describing: NS.privateStorage) else {
      throw StanzaError(.notAcceptable, "an element needs a namespace of its own")
    }
    return "\(namespace) \(element.local)"
  }
}
