import Dialogs
import XMLStream
import XMPP

/// XEP-0444: the emoji of a user for a message; each stanza replaces all earlier ones.
struct Reactions: Feature {
  static let xep = XEP(444, "0.2.1", "Message Reactions")

  private static let reactions = Name("reactions", NS.reactions)
  private static let reaction = Name("reaction", NS.reactions)

  func register(in table: inout FeatureTable) {
    table.read(Self.reactions) { element, draft in
      draft.isKept = true
      guard let id = element["id"], StanzaIDs.isUsable(id) else { return }
      var emoji: [String] = []
      // More than can be shown are not even read.
      for child in element.children where child.is(Self.reaction) && emoji.count < Limits.reactionsMax {
        emoji.append(child.text)
      }
      draft.reference = ReferenceDraft(kind: .reactions(emoji), target: .stanza(id))
    }
  }

  static func write(_ reference: Reference, _ emoji: [String], inRoom: Bool, into writer: inout ElementWriter) {
    writer.element(reactions) { writer in
      writer.attribute("id", inRoom ? reference.targetID.description : reference.stanzaID)
      for each in emoji { writer.element(reaction) { $0.text(each) } }
    }
    Hints.writeStore(into: &writer)
  }
}
