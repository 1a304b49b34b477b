import Commands
import Dialogs
import XMPP

/// The commands of XEP-0401, which create invitations.
extension AdHocCommand {
  /// Returns the command of 4.1: an invitation to become a contact, with an account if needed.
  static func invite(_ context: AdminContext) -> AdHocCommand {
    AdHocCommand(
      node: inviteNamespace + "#invite", title: "Invite user",
      audience: context.parley.options.allowsInvitations ? .users : .admins
    ) { (session) throws(Problem) in
      let party = session.party
      return .done(try await invite(InviteDraft(realm: party.realm, kind: .contact, inviter: party), party, context))
    }
  }

  /// Returns the command of 4.2: an invitation to create an account.
  static func createAccount(_ context: AdminContext) -> AdHocCommand {
    AdHocCommand(
      node: inviteNamespace + "#create-account", title: "Create account", audience: .admins,
      course: .form(
        { _ in
          DataForm(
            .form, title: "Create account",
            instructions: ["If you leave the username empty, the invited person chooses it."],
            fields: [
              DataForm.Field("username", .textSingle, label: "Username"),
              DataForm.Field("roster-subscription", false, label: "Becomes your contact"),
            ])
        },
        perform: { (form, session) throws(Problem) in
          let party = session.party
          let name = form.value("username").flatMap { $0.isEmpty ? nil : $0 }
          let isContact = ["1", "true"].contains(form.value("roster-subscription"))
          let draft = InviteDraft(realm: party.realm, kind: .account, inviter: isContact ? party : nil, name: name)
          return try await context.acting(session).recorded(CreateInvite.name, on: name ?? "") { () throws(Problem) in
            try await invite(draft, party, context)
          }
        }))
  }

  private static func invite(
    _ draft: InviteDraft, _ party: Party, _ context: AdminContext
  ) async throws(Problem) -> Outcome {
    let links = InviteLinks(try await Invites(context.parley).make(draft, by: party), in: context)
    return .result(
      DataForm(
        .result, formType: inviteNamespace + "#invitation",
        fields: [DataForm.Field("uri", .textSingle, links.uri, label: "Invitation")]
          + (links.page.map { [DataForm.Field("landing-url", .textSingle, $0, label: "Page")] } ?? [])
          + [DataForm.Field("expire", .textSingle, links.expires, label: "Good until")]))
  }

  private static let inviteNamespace = "urn:xmpp:invite"
}
