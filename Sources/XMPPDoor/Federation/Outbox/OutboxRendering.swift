import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// Writes rows of the outbox as stanzas for another server.
enum OutboxRendering {
  enum Outcome {
    case written
    /// The row has no content any more, as its message was retracted, for example.
    case nothing
    /// The stanza is longer than the other server takes.
    case tooLong
  }

  /// - Parameter hub: Has the affiliations of authors who are online (`AccountAffiliations`).
  static func write(_ row: OutboxRow, at now: Timestamp, _ hub: Hub, to stream: any FederationStream) -> Outcome {
    switch row.item {
    case .stanza(let stanza):
      var account: User?
      if case .presence("subscribe") = stanza.name {
        account = AccountAffiliations.told(of: stanza.from, to: stanza.to, hub)
      }
      return stream.write { writer in
        Outbound.write(stanza, into: &writer) { writer in
          if let account { AccountAffiliations.write(of: account, at: now, into: &writer) }
        }
      } ? .written : .tooLong
    case .entry(let entry):
      // XEP-0203: a message that has waited carries its original time.
      let isDelayed = entry.time + FederationLimits.delayedAfter < now
      if case .invitation(let invitation) = entry.fact {
        return stream.write {
          RoomMessages.write(
            invitation, sentAt: isDelayed ? entry.time : nil, to: entry.addressee.description,
            id: entry.id.description, into: &$0)
        } ? .written : .tooLong
      }
      guard let message = Outbound.message(of: entry) else { return .nothing }
      let account = AccountAffiliations.told(of: entry.author, to: entry.addressee, hub)
      return stream.write { writer in
        Outbound.writeStanza(
          of: entry, message, to: Outbound.address(entry.addressee, message.envelope.toResource), withStanzaID: false,
          isDelayed: isDelayed, viewer: entry.author, into: &writer
        ) { writer in
          if let account { AccountAffiliations.write(of: account, at: now, into: &writer) }
        }
      } ? .written : .tooLong
    }
  }
}
