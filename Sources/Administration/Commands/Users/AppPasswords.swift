import Accounts
import Commands
import Dialogs
import XMPP

extension AdHocCommand {
  /// Makes and revokes passwords for single clients (docs/decisions/0010-app-passwords.md).
  static func appPasswords(_ context: AdminContext) -> AdHocCommand {
    AdHocCommand(node: accountNode("app-passwords"), title: "My app passwords", audience: .managers) {
      (session) throws(Problem) in
      let present = try await context.accounts.appPasswords(of: session.party.id)
      if present.isEmpty { return .stage(naming(context)) }
      let form = DataForm(
        .form, title: "My app passwords", instructions: ["An app password lets one client log in to your account."],
        fields: [
          DataForm.Field(
            "do", .listSingle, label: "What to do", values: ["make"],
            options: [
              DataForm.Option("make", label: "Create an app password"), DataForm.Option("revoke", label: "Revoke some"),
            ])
        ])
      return .stage(
        Stage(form, isLast: false) { (form, _) throws(Problem) in
          switch form.value("do") {
          case "make", nil: .stage(naming(context))
          case "revoke": .stage(revocation(of: present, context))
          default: throw Problem(.malformed, "choice-unknown", "There is no such choice.", field: "do")
          }
        })
    }
  }

  private static func naming(_ context: AdminContext) -> Stage {
    let form = DataForm(
      .form, title: "A new app password", instructions: ["Name it after the client that will use it."],
      fields: [DataForm.Field("name", .textSingle, label: "Name", isRequired: true)])
    return Stage(form, isLast: true) { (form, session) throws(Problem) in
      try context.accounts.checkManages(session)
      let made = try await context.accounts.makeAppPassword(
        for: session.party.id, name: try form.required("name"))
      return .done(
        .result(
          DataForm(
            .result, title: "A new app password", instructions: ["It is shown only now."],
            fields: [
              DataForm.Field("name", .textSingle, made.password.name, label: "Name"),
              DataForm.Field("password", .textSingle, made.text, label: "Password"),
            ])))
    }
  }

  private static func revocation(of present: [AppPassword], _ context: AdminContext) -> Stage {
    let form = DataForm(
      .form, title: "Revoke app passwords", instructions: ["This also ends the sessions that were opened with them."],
      fields: [
        DataForm.Field(
          "passwords", .listMulti, label: "App passwords",
          options: present.map { DataForm.Option(String($0.id), label: $0.name) })
      ])
    return Stage(form, isLast: true) { (form, session) throws(Problem) in
      try context.accounts.checkManages(session)
      let wanted = Set(form.values("passwords"))
      let chosen = present.filter { wanted.contains(String($0.id)) }
      for password in chosen { try await context.accounts.removeAppPassword(password.id, of: session.party.id) }
      return .done(.done("\(chosen.count) app passwords were revoked."))
    }
  }
}
