import Addresses
import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0424: an author retracts a message. Its content is erased; the archive shows a tombstone in its place, and the
/// retraction where it was sent.
///
/// Clients of the family of Conversations still send the form of version 0.3, a fastening (XEP-0422) around
/// `<retract/>`, with a body that says that it cannot be shown. It is read, and neither advertised nor written.
struct Retractions: Feature {
  static let xep = XEP(
    424, "0.4.2", "Message Retraction", note: "With tombstones. The form of version 0.3 is read, not written.")

  static let retract = Name("retract", NS.retraction)
  private static let applied = Name("apply-to", NS.fastening)
  private static let fastened = Name("retract", NS.retractionFastened)
  private static let retracted = Name("retracted", NS.retraction)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.retraction)", "\(NS.retraction)#tombstone", on: [.server, .account, .room])
    table.read(Self.retract) { element, draft in Self.read(element, into: &draft) }
    table.read(Self.applied) { element, draft in
      if element.first(Self.fastened) != nil { Self.read(element, into: &draft) }
    }
  }

  private static func read(_ element: Element, into draft: inout Draft) {
    draft.isKept = true
    if let id = element["id"], StanzaIDs.isUsable(id) {
      draft.reference = ReferenceDraft(kind: .retraction(reason: nil), target: .stanza(id))
    }
  }

  /// Writes an app's retraction (3).
  static func write(_ reference: Reference, inRoom: Bool, into writer: inout ElementWriter) {
    writer.element(retract) { $0.attribute("id", inRoom ? reference.targetID.description : reference.stanzaID) }
    Fallbacks.write(for: NS.retraction, into: &writer)
    writer.element(.body) { $0.text("/me retracted a previous message, but it's unsupported by your client.") }
    Hints.writeStore(into: &writer)
  }

  /// Writes a tombstone in place of a retracted message (4; XEP-0425 4).
  static func writeTombstone(
    _ retraction: MessageState.Retraction, in room: RoomName?, _ occupantID: (UserID, RoomName) -> String,
    into writer: inout ElementWriter
  ) {
    writer.element(retracted) { writer in
      writer.attribute("id", retraction.id)
      retraction.at.withBytes { writer.attribute("stamp", $0) }
      if retraction.isModeration, let room {
        Moderation.writeModerated(room, occupantID(retraction.by.id, room), into: &writer)
      }
      if let reason = retraction.reason { Moderation.write(reason: reason, into: &writer) }
    }
  }
}
