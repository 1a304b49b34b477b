import Accounts
import Dialogs
import HTTPPort

/// Returns an invitation to an account, for whoever has its link. Looking does not use it up; `Register` does.
enum GetInvitation: ServedOperation {
  typealias Input = InvitationInput
  typealias Output = InvitationBody
  static let name = "invitation.get"
  static let method = Method.get
  static let path = "/v1/invitations/{token}"
  static let needsCaller = false

  static func perform(_ input: InvitationInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let open = try await find(input.token, call, field: "token")
    return .ok(
      InvitationBody(
        username: open.invite.name, inviterId: open.inviter?.name, inviterName: open.inviter?.profile.displayName,
        expiresAt: open.invite.expires))
  }

  /// Returns the invitation of a token, if an account may be created with it now.
  static func find(_ token: String, _ call: RequestContext, field: String) async throws(Problem) -> Invites.Open {
    try call.accounts.pace(.invite(network: call.address))
    guard let open = try await Invites(call.parley).find(token: token), open.makesAccount, open.state == .open,
      open.realm.id == call.realm.id
    else {
      throw Problem(
        .missing, "invitation-unknown",
        "There is no such invitation to an account; it may be used up, taken back or expired.", field: field)
    }
    return open
  }
}
