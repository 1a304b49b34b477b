import Dialogs
import XMLStream
import XMPP

/// XEP-0184: a message may request a receipt; a receipt is a delivered marker. One without `id` (before version 1.0)
/// has no meaning here and is passed on.
struct Receipts: Feature {
  static let xep = XEP(184, "1.4.0", "Message Delivery Receipts")

  private static let request = Name("request", NS.receipts)
  private static let received = Name("received", NS.receipts)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.receipts)", on: [.session])
    table.read(Self.request) { _, draft in draft.wantsReceipt = true }
    table.read(Self.received) { element, draft in
      if let id = element["id"], StanzaIDs.isUsable(id) { draft.marker = (.delivered, id) }
    }
  }

  static func writeRequest(into writer: inout ElementWriter) {
    writer.element(request)
  }

  /// Writes a receipt.
  ///
  /// - Parameter id: the stanza id of the message that has arrived.
  static func writeReceived(_ id: String, into writer: inout ElementWriter) {
    writer.element(received) { $0.attribute("id", id) }
  }
}
