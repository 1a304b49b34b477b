import Addresses
import Dialogs
import XMLStream
import XMPP

/// The identity of a session without a stream, unknown to the hub, that exists for one request: a component's user who
/// makes it, or a local user in whose name a component does (XEP-0356).
struct ImpersonatedSession {
  let party: Party
  let jid: FullJID
  /// The address that the answer is for, as it was written.
  let answered: String
  /// The component that makes the request.
  let link: ComponentLink
  /// The user in whose name it is made, and the privilege; `nil` if in the requester's own.
  let behalf: Behalf?
  /// The user's contacts and blocks as stored, for when the user is offline.
  let contactSnapshot: ContactSnapshot?
  /// Takes the answer, once: the writer of its body, and the error if it is one.
  let answer: (_ error: StanzaError?, _ body: (inout ElementWriter) -> Void) -> Void

  /// Creates the identity of a component's user.
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

  /// Creates the identity of a local user.
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

  /// Returns a full address. Blocks are matched against it, so a bare one gets a resource.
  private static func full(_ jid: JID) throws(JIDError) -> FullJID {
    try FullJID(local: jid.local, domain: jid.domain, resource: jid.resource ?? "-")
  }

  /// Whether the request comes from the component itself, not from one of its users.
  var isComponent: Bool { behalf == nil && party.address == link.party.address }

  /// Handles a request by running `body` with a turn; an error that it throws is the answer.
  static func handle(
    _ stanza: Stanza, to: JID?, as impersonated: ImpersonatedSession, _ connection: ComponentConnection,
    _ body: (Turn) throws(StanzaError) -> Void
  ) {
    let session = XMPPSession(door: connection.door, loopContext: connection.loopContext, impersonated: impersonated)
    connection.began(session)
    let turn = Turn(session: session, stanza: stanza, to: to)
    do throws(StanzaError) { try body(turn) } catch { turn.fail(error) }
  }
}
