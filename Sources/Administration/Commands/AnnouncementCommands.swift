import Addresses
import Commands
import Dialogs
import XMPP

/// The commands of XEP-0133 4.23 to 4.26: announcements to the users of the admin's domain.
extension AdHocCommand {
  static func announce(_ context: AdminContext) -> AdHocCommand {
    admin(
      context, "announce", "Announce to online users",
      "Fill out this form to send a message to all users who are online.",
      fields: { _ in [DataForm.Field("announcement", .textMulti, label: "Announcement", isRequired: true)] },
      perform: { (form, party, context) throws(Problem) in
        let told = try await context.perform(
          Announce.self, Announce.Input(domain: party.address.domain, text: form.lines("announcement")))
        return .done("Sent to \(told.sessions) sessions.")
      })
  }

  static func setMessageOfTheDay(_ context: AdminContext) -> AdHocCommand {
    admin(
      context, "set-motd", "Set the message of the day", "Each user gets it once: now, or at their next login.",
      fields: { _ in [DataForm.Field("motd", .textMulti, label: "Message of the day", isRequired: true)] },
      perform: { (form, party, context) throws(Problem) in
        try await set(form.lines("motd"), again: true, party, context)
      })
  }

  static func editMessageOfTheDay(_ context: AdminContext) -> AdHocCommand {
    admin(
      context, "edit-motd", "Edit the message of the day",
      "Users who have seen the former text do not get the new one.",
      fields: { party in
        let lines = Announcements(context.parley).messageOfTheDay(in: party.realm)?.text.split(
          separator: "\n", omittingEmptySubsequences: false)
        return [
          DataForm.Field(
            "motd", .textMulti, label: "Message of the day", isRequired: true, values: lines?.map { String($0) } ?? [])
        ]
      },
      perform: { (form, party, context) throws(Problem) in
        try await set(form.lines("motd"), again: false, party, context)
      })
  }

  static func deleteMessageOfTheDay(_ context: AdminContext) -> AdHocCommand {
    admin(context, "delete-motd", "Delete the message of the day") { (_, party, context) throws(Problem) in
      try await set(nil, again: false, party, context)
    }
  }

  private static func set(
    _ text: String?, again: Bool, _ party: Party, _ context: AdminContext
  ) async throws(Problem) -> Outcome {
    let input = SetMessageOfTheDay.Input(domain: party.address.domain, text: text, again: again)
    _ = try await context.perform(SetMessageOfTheDay.self, input)
    return .done(nil)
  }
}

extension DataForm {
  fileprivate func lines(_ name: String) -> String { values(name).joined(separator: "\n") }
}
