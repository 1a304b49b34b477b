import Dialogs
import XMLStream
import XMPP

/// XEP-0333: displayed markers. `<received/>` and `<acknowledged/>` of drafts before version 1.0 (11) have no meaning
/// any more; they are passed on.
struct Markers: Feature {
  static let xep = XEP(333, "1.0.0", "Displayed Markers")

  private static let markable = Name("markable", NS.markers)
  private static let displayed = Name("displayed", NS.markers)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.markers)", on: [.session])
    table.read(Self.markable) { _, draft in draft.isMarkable = true }
    table.read(Self.displayed) { element, draft in
      if let id = element["id"], StanzaIDs.isUsable(id) { draft.marker = (.displayed, id) }
    }
  }

  static func writeMarkable(into writer: inout ElementWriter) {
    writer.element(markable)
  }

  /// Writes a marker.
  ///
  /// - Parameter id: the stanza id of the last message that was displayed.
  static func writeDisplayed(_ id: String, into writer: inout ElementWriter) {
    writer.element(displayed) { $0.attribute("id", id) }
  }
}
