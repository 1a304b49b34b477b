import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// Writes rows of the outbox as stanzas for another server.
enum OutboxRendering {
  enum Outcome {
    case written
    /// The row has nothing to show any more, such as a message that was retracted.
    case nothing
    /// The stanza is longer than the other server takes.
    case tooLong
  }

  static func write(_ row: OutboxRow, at now: Timestamp, to stream: any FederationStream) -> Outcome {
    switch row.item {
    case .stanza(let stanza): return stream.write { Outbound.write(stanza, into: &$0) } ? .written : .tooLong
    case .entry(let entry):
      // XEP-0203: what waited shows when it was said.
      let isDelayed = entry.time + FederationLimits.delayedAfter < now
      if case .invitation(let invitation) = entry.fact {
        return stream.write {
          RoomMessages.write(invitation, to: entry.addressee.description, id: entry.id.description, into: &$0)
        } ? .written : .tooLong
      }
      guard let message = Outbound.message(of: entry) else { return .nothing }
      return stream.write {
        Outbound.writeStanza(
          of: entry, message, to: Outbound.address(entry.addressee, message.envelope.toResource), withStanzaID: false,
          isDelayed: isDelayed, viewer: entry.author, into: &$0)
      } ? .written : .tooLong
    }
  }
}
