import Addresses
import Basics
import Commands
import Dialogs
import XMPP

/// The commands of XEP-0133 4.1 to 4.10, on accounts.
extension AdHocCommand {
  static func addUser(_ context: AdminContext) -> AdHocCommand {
    admin(
      context, "add-user", "Add a user", "Fill out this form to add a user.",
      fields: { _ in
        [
          .account("The address of the account to be added"),
          DataForm.Field("password", .textPrivate, label: "The password for this account", isRequired: true),
          DataForm.Field("password-verify", .textPrivate, label: "The password again", isRequired: true),
          DataForm.Field("given_name", .textSingle, label: "Given name"),
          DataForm.Field("surname", .textSingle, label: "Family name"),
        ]
      },
      perform: { (form, _, context) throws(Problem) in
        let password = try form.newPassword()
        let names = [form.value("given_name"), form.value("surname")].compactMap { $0 }.filter { !$0.isEmpty }
        let name = names.isEmpty ? nil : names.joined(separator: " ")
        _ = try await context.perform(
          AddUser.self, AddUser.Input(jid: form.required("accountjid"), password: password, name: name))
        return .done(nil)
      })
  }

  static func deleteUsers(_ context: AdminContext) -> AdHocCommand {
    state(.deleted, "delete-user", "Delete users", "The addresses of the accounts to delete", context)
  }

  static func disableUsers(_ context: AdminContext) -> AdHocCommand {
    state(.disabled, "disable-user", "Disable users", "The addresses of the accounts to disable", context)
  }

  static func enableUsers(_ context: AdminContext) -> AdHocCommand {
    state(.active, "reenable-user", "Enable users", "The addresses of the accounts to enable again", context)
  }

  private static func state(
    _ state: SetUserState.Input.State, _ name: String, _ title: String, _ label: String, _ context: AdminContext
  ) -> AdHocCommand {
    eachAccount(context, name, title, label) { (jid, context) throws(Problem) in
      _ = try await context.perform(SetUserState.self, SetUserState.Input(jid: jid, state: state))
    }
  }

  static func endSessions(_ context: AdminContext) -> AdHocCommand {
    eachAccount(
      context, "end-user-session", "End sessions", "The addresses whose sessions to end; with a resource, that one"
    ) { (jid, context) throws(Problem) in
      _ = try await context.perform(EndSessions.self, EndSessions.Input(jid: jid))
    }
  }

  static func changePassword(_ context: AdminContext) -> AdHocCommand {
    admin(
      context, "change-user-password", "Change a password", "Fill out this form to change a user's password.",
      fields: { _ in
        [
          .account("The address of this account"),
          DataForm.Field("password", .textPrivate, label: "The password for this account", isRequired: true),
        ]
      },
      perform: { (form, _, context) throws(Problem) in
        let input = SetPassword.Input(jid: try form.required("accountjid"), password: try form.required("password"))
        _ = try await context.perform(SetPassword.self, input)
        return .done(nil)
      })
  }

  /// Returns the command of 4.7. The roster is in rows of the form: 4.7 puts a roster element into it, which no client
  /// reads.
  static func userRoster(_ context: AdminContext) -> AdHocCommand {
    admin(
      context, "get-user-roster", "Show a roster", "Fill out this form to see a user's roster.",
      fields: { _ in [.account("The address of this account")] },
      perform: { (form, _, context) throws(Problem) in
        let jid = try form.required("accountjid")
        let contacts = try await context.perform(ListRoster.self, ListRoster.Input(jid: jid)).filter(\.listed)
        return .result(
          DataForm(
            .result, title: jid,
            fields: [DataForm.Field("FORM_TYPE", .hidden, formType), DataForm.Field("accountjids", .jidMulti, jid)],
            reported: [
              DataForm.Field("jid", .jidSingle, label: "Contact"), DataForm.Field("name", .textSingle, label: "Name"),
              DataForm.Field("subscription", .textSingle, label: "Subscription"),
              DataForm.Field("groups", .textSingle, label: "Groups"),
            ],
            items: contacts.prefix(AdminLimits.commandRowsMax).map { contact in
              [
                DataForm.Field("jid", nil, contact.jid), DataForm.Field("name", nil, contact.name ?? ""),
                DataForm.Field("subscription", nil, contact.subscription),
                DataForm.Field("groups", nil, contact.groups.joined(separator: ", ")),
              ]
            }))
      })
  }

  static func lastLogin(_ context: AdminContext) -> AdHocCommand {
    admin(
      context, "get-user-lastlogin", "Show when a user was last online",
      "Fill out this form to see when users were last online.",
      fields: { _ in [.accounts("The addresses of the accounts")] },
      perform: { (form, _, context) throws(Problem) in
        let jids = try form.accounts()
        var seen: [String] = []
        for jid in jids {
          let user = try await context.perform(ShowUser.self, ShowUser.Input(jid: jid)).user
          seen.append(user.online ? context.parley.clock.now.description : user.lastSeenAt ?? "")
        }
        return .fields([
          DataForm.Field("accountjids", .jidMulti, values: jids),
          // 8.2 says text-single, and 4.8 asks of several accounts: the type is left out where there are several.
          DataForm.Field("lastlogin", jids.count == 1 ? .textSingle : nil, values: seen),
        ])
      })
  }

  static func userStatistics(_ context: AdminContext) -> AdHocCommand {
    admin(
      context, "user-stats", "Show a user", "Fill out this form to see the server's data about a user.",
      fields: { _ in [.account("The address of the account")] },
      perform: { (form, _, context) throws(Problem) in
        let found = try await context.perform(ShowUser.self, ShowUser.Input(jid: form.required("accountjid")))
        return .fields([
          DataForm.Field("accountjid", .jidSingle, found.user.jid),
          DataForm.Field("rostersize", .textSingle, "\(found.contacts)", label: "Contacts"),
          // 8.2 says text-single, of two values in the example of 4.9: the type is left out, as it is there.
          DataForm.Field("onlineresources", label: "Sessions", values: found.sessions.map(\.resource)),
          DataForm.Field("state", .textSingle, found.user.state, label: "State"),
          DataForm.Field("created", .textSingle, found.user.createdAt, label: "Created"),
          DataForm.Field("logins", .textMulti, label: "Logins of apps", values: found.logins.map(\.device)),
        ])
      })
  }
}
