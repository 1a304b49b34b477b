import Dialogs
import XMLStream
import XMPP

/// XEP-0308: replaces an earlier message. Its author refers to it by their own id, always the first one's.
struct Corrections: Feature {
  static let xep = XEP(
    308, "1.2.1", "Last Message Correction",
    note: "Every message of one's own can be corrected, not only the last; 500 times at most.")

  private static let replace = Name("replace", NS.correction)

  func register(in table: inout FeatureTable) {
    table.read(Self.replace) { element, draft in
      draft.isKept = true
      if let id = element["id"], StanzaIDs.isUsable(id) {
        draft.reference = ReferenceDraft(kind: .correction, target: .stanza(id))
      }
    }
  }

  static func write(_ reference: Reference, into writer: inout ElementWriter) {
    writer.element(replace) { $0.attribute("id", reference.stanzaID) }
  }
}
