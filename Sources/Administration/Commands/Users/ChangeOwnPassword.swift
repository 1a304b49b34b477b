import Accounts
import Commands
import Dialogs
import XMPP

extension AdHocCommand {
  /// Changes the password of the user's own account, as XEP-0077 3.3 does for clients that know it.
  static func changeOwnPassword(_ context: AdminContext) -> AdHocCommand {
    AdHocCommand(
      node: accountNode("change-password"), title: "Change my password", audience: .managers,
      course: .form(
        { _ in
          DataForm(
            .form, title: "Change my password",
            instructions: ["All your other sessions end and need the new password. App passwords become invalid."],
            fields: [
              DataForm.Field("password", .textPrivate, label: "New password", isRequired: true),
              DataForm.Field("password-verify", .textPrivate, label: "The new password again", isRequired: true),
            ])
        },
        perform: { (form, session) throws(Problem) in
          try await context.accounts.changePassword(by: session, to: try form.newPassword())
          return .done("Your password was changed. All your other sessions have ended.")
        }))
  }
}
