import Accounts
import Dialogs
import HTTPPort

/// Creates an invitation to an account whose holder becomes a contact of the caller, as XMPP clients do by XEP-0401.
enum CreateInvitation: ServedOperation {
  typealias Input = NoInput
  typealias Output = NewInvitationBody
  static let name = "invitation.create"
  static let method = Method.post
  static let path = "/v1/invitations"
  static let successes = [201]

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let inviter = try call.user().user
    let draft = InviteDraft(realm: inviter.realm, kind: .contact, inviter: inviter)
    let new = try await Invites(call.parley).make(draft, by: inviter)
    return .created(
      NewInvitationBody(
        url: "\(call.publicURL)/invite/\(new.token)", xmppUri: new.uri, token: new.token,
        expiresAt: new.invite.expires))
  }
}
