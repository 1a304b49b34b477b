import Addresses
import Dialogs
import XMLStream
import XMPP

/// In whose place a session stands that has no stream and is in no hub, for as long as one request takes: somebody of a
/// component who asks, or a user in whose name a component does (XEP-0356).
struct ImpersonatedSession {
  let party: Party
  let jid: FullJID
  /// Whom the answer is for, as it is written.
  let answered: String
  /// The component that asks.
  let link: ComponentLink
  /// In whose name, and by what right; nil: in the asker's own.
  let behalf: Behalf?
  /// The user's as they are stored, for when they are not online.
  let contactSnapshot: ContactSnapshot?
  /// Takes the answer, once: what writes it, and the error that it is.
  let answer: (_ error: StanzaError?, _ body: (inout ElementWriter) -> Void) -> Void

  /// For somebody of the component.
  init(asker: JID, realm: RealmID, at link: ComponentLink) throws(JIDError) {
    party = Party(remote: asker.bare, realm: realm)
    jid = try Self.full(asker)
    answered = asker.description
    self.link = link
    behalf = nil
    contactSnapshot = nil
    answer = { _, body in
      link.write(body)
      link.flush()
    }
  }

  /// In the name of a user.
  init(
    _ user: Party, _ contactSnapshot: ContactSnapshot, by right: Right, at link: ComponentLink, answered: String,
    _ answer: @escaping (_ error: StanzaError?, _ body: (inout ElementWriter) -> Void) -> Void
  ) throws(JIDError) {
    party = user
    jid = try Self.full(JID(user.address))
    self.answered = answered
    self.link = link
    behalf = Behalf(user.address, by: right)
    self.contactSnapshot = contactSnapshot
    self.answer = answer
  }

  /// Who has no resource is asked for by what is done with it: blocks.
  private static func full(_ jid: JID) throws(JIDError) -> FullJID {
    try FullJID(local: jid.local, domain: jid.domain, resource: jid.resource ?? "-")
  }

  /// Whether it is the component itself that asks, none of its users.
  var isComponent: Bool { behalf == nil && party.address == link.party.address }

  /// Handles a request as `body` does with a turn; what it throws is the answer.
  static func handle(
    _ stanza: Stanza, to: JID?, as impersonated: ImpersonatedSession, _ connection: ComponentConnection,
    _ body: (Turn) throws(StanzaError) -> Void
  ) {
    let session = XMPPSession(door: connection.door, wheel: connection.wheel, impersonated: impersonated)
    connection.began(session)
    let turn = Turn(session: session, stanza: stanza, to: to)
    do throws(StanzaError) { try body(turn) } catch { turn.fail(error) }
  }
}
