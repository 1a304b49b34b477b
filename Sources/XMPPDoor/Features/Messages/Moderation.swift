import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0425: a moderator removes a message; the announcement comes from the room.
struct Moderation: Feature {
  static let xep = XEP(
    425, "0.3.0", "Moderated Message Retraction",
    note: "The form before version 0.3, with `<apply-to/>`, is not written.")

  private static let moderate = Name("moderate", NS.moderation)
  private static let moderated = Name("moderated", NS.moderation)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.moderation)", on: [.room])
    table.iq(.set, Self.moderate, to: [.room]) { (turn, request) throws(StanzaError) in
      guard request.first(Retractions.retract) != nil else {
        throw StanzaError(.badRequest, "<moderate/> holds <retract/> (XEP-0425 3)")
      }
      guard let id = request["id"].flatMap({ PublicID($0) }) else {
        throw StanzaError(.itemNotFound, "there is no such message in this room")
      }
      let reason = request.first(Name("reason", NS.moderation))?.text
      turn.postToRoom(
        .say(
          .address(turn.room),
          RoomMessageDraft(
            content: Content(kind: .none), envelope: Envelope(type: .groupchat), traits: [.archived, .fromApp],
            key: nil, reference: ReferenceDraft(kind: .moderation(reason: reason), target: .entry(id))))
      ) { _ in turn.reply() }
    }
  }

  /// Writes the room's announcement (3.1).
  static func write(
    _ reference: Reference, reason: String?, by room: RoomName, _ occupantID: String, into writer: inout ElementWriter
  ) {
    writer.element(Retractions.retract) { writer in
      writer.attribute("id", reference.targetID.description)
      writeModerated(room, occupantID, into: &writer)
      if let reason { write(reason: reason, into: &writer) }
    }
    Hints.writeStore(into: &writer)
  }

  /// Writes the moderator, by occupant id only: nicks change.
  static func writeModerated(_ room: RoomName, _ occupantID: String, into writer: inout ElementWriter) {
    writer.element(moderated) { writer in
      writer.attribute("by", room.address.description)
      writer.element(.occupantID) { $0.attribute("id", occupantID) }
    }
  }

  static func write(reason: String, into writer: inout ElementWriter) {
    writer.element("reason") { $0.text(reason) }
  }
}
