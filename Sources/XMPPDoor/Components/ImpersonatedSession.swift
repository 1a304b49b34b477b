import Addresses
import Dialogs
import XMLStream
import XMPP

/// The identity of a session without a stream, unknown to the hub, that exists for one request: a user elsewhere who
/// makes it, or a local user in whose name a component does (XEP-0356).
struct ImpersonatedSession {
  let party: Party
  let jid: FullJID
  /// The address that the answer is for, as it was written.
  let answered: String
  /// The link that the request came by.
  let link: any RemoteLink
  /// The user in whose name it is made, and the privilege; `nil` if in the requester's own.
  let behalf: Behalf?
  /// The user's contacts and blocks as stored, for when the user is offline.
  let contactSnapshot: ContactSnapshot?
  /// Takes the answer, once: the writer of its body, and the error if it is one.
  let answer: (_ error: StanzaError?, _ body: (inout ElementWriter) -> Void) -> Void

  /// Creates the identity of somebody who writes by a link.
  init(asker: JID, _ party: Party, at link: any RemoteLink) throws(JIDError) {
    self.party = party
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

  /// The component that makes the request itself, rather than one of its users; otherwise `nil`.
  var component: ComponentLink? {
    guard behalf == nil, let component = link as? ComponentLink else { return nil }
    return component.party.address == party.address ? component : nil
  }

  /// Handles a request by running `body` with a turn; an error that it throws is the answer.
  static func handle(
    _ stanza: Stanza, to: JID?, as impersonated: ImpersonatedSession, _ body: (Turn) throws(StanzaError) -> Void
  ) {
    let link = impersonated.link
    let session = XMPPSession(door: link.door, loopContext: link.loopContext, impersonated: impersonated)
    link.work?.began(session)
    let turn = Turn(session: session, stanza: stanza, to: to)
    do throws(StanzaError) { try body(turn) } catch { turn.fail(error) }
  }
}
