import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0490: synchronises the displayed position among a user's clients. The items of the node are made from the user's
/// marks (`Dialogs.Displayed`), which apps and displayed markers move too.
struct DisplayedSync: Feature {
  static let xep = XEP(
    490, "1.0.1", "Message Displayed Synchronization",
    note: "With server assist. The items of known chats follow the user's markers and cannot be retracted.")

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.mdsAssist)", on: [.account])
    table.read(DisplayedElement.displayed) { element, draft in draft.displayed = DisplayedElement.read(element) }
  }

  /// Publishes the element of a message under the addressee's address (5.1). The message comes first: its marker
  /// (XEP-0333) is for the other side too, and the publication then has nothing left to move.
  static func assist(_ draft: Draft, in chat: JID, _ turn: Turn) {
    // Somebody elsewhere has their nodes there.
    guard let displayed = draft.displayed, !turn.party.realm.isRemote else { return }
    let item = NodePublication.Item(id: chat.description, content: .displayed(displayed))
    turn.session.post(.node(.publish(NodePublication(node: Displayed.node, item: item))), then: nil)
  }

  /// Returns items (XEP-0060 6.5).
  static func items(of node: Node, _ request: ItemsRequest, _ reader: any StoreReader) throws -> [NodeItem] {
    guard let owner = try reader.party(node.owner) else { return [] }
    let items = try Displayed.items(of: owner, reader)
    if request.ids.isEmpty { return items }
    let byID = Dictionary(items.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    return request.ids.compactMap { byID[$0] ?? JID(parsing: $0).flatMap { byID[$0.description] } }
  }
}

/// `<displayed/>` around one stanza-id (XEP-0490 3).
enum DisplayedElement {
  static let displayed = Name("displayed", NS.mds)

  /// Reads the element; `nil` for another form, which the server ignores.
  static func read(_ element: Element?) -> Displayed? {
    guard let element, element.is(displayed) else { return nil }
    let children = Array(element.children)
    guard children.count == 1, let stanzaID = children.first, stanzaID.is(.stanzaID),
      let id = stanzaID["id"]
    else { return nil }
    return Displayed(by: stanzaID["by"] ?? "", id: id)
  }

  static func write(_ displayed: Displayed, into writer: inout ElementWriter) {
    writer.element(self.displayed) { writer in
      writer.element(.stanzaID) { writer in
        if !displayed.by.isEmpty { writer.attribute("by", displayed.by) }
        writer.attribute("id", displayed.id)
      }
    }
  }
}
