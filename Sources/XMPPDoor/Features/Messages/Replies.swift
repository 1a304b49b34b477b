import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0461: a reply to a message, which itself stays unchanged.
struct Replies: Feature {
  static let xep = XEP(461, "0.2.1", "Message Replies")

  private static let reply = Name("reply", NS.reply)

  func register(in table: inout FeatureTable) {
    table.read(Self.reply) { element, draft in
      draft.isKept = true
      // A correction of a reply is a correction.
      if draft.reference == nil, let id = element["id"], StanzaIDs.isUsable(id) {
        draft.reference = ReferenceDraft(kind: .reply, target: .stanza(id))
      }
    }
  }

  static func write(_ reference: Reference, inRoom: Bool, into writer: inout ElementWriter) {
    writer.element(reply) { writer in
      // SHOULD (3): the occupant; between two users the bare address will do.
      writer.attribute("to", reference.targetAuthor?.description)
      writer.attribute("id", inRoom ? reference.targetID.description : reference.stanzaID)
    }
  }
}

extension Reference {
  /// The id by which the target's author knows it; an app's message has one id everywhere.
  var stanzaID: String { targetStanzaID ?? targetID.description }
}
