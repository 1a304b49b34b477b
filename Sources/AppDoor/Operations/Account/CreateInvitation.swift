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
    let (inviter, invites) = (try call.user().user, Invites(call.parley))
    let draft = InviteDraft(realm: inviter.realm, kind: .contact, inviter: inviter)
    let token = try await invites.make(draft, by: inviter).token
    guard let open = try await invites.find(token: token) else {
      throw Problem(.missing, "invitation-unknown", "The invitation was taken back.")
    }
    return .created(
      NewInvitationBody(
        url: "\(call.publicURL)/invite/\(token)", xmppUri: open.uri(token: token), token: token,
        expiresAt: open.invite.expires))
  }
}
