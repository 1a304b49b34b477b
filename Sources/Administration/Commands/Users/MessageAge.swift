import Addresses
import Basics
import Commands
import Dialogs
import XMPP

extension AdHocCommand {
  /// Sets after how many days messages of a chat go from the user's own view (`DialogSettings.retentionDays`), which no
  /// XEP has a place for.
  static func messageAge(_ context: AdminContext) -> AdHocCommand {
    AdHocCommand(
      node: accountNode("message-age"), title: "How long messages are kept", audience: .managers,
      course: .form(
        { _ in
          DataForm(
            .form, title: "How long messages are kept",
            instructions: [
              "Older messages of the chat disappear from your view, on all devices that load them from the server. "
                + "If the other person chooses the same, the server deletes them."
            ],
            fields: [
              DataForm.Field("chat", .jidSingle, label: "The address of the person or the room", isRequired: true),
              DataForm.Field("days", .textSingle, label: "Days; empty: as long as the server keeps them"),
            ])
        },
        perform: { (form, session) throws(Problem) in
          let (user, text) = (session.party, try form.required("chat"))
          let wanted = form.value("days") ?? ""
          let days = Int(wanted)
          guard wanted.isEmpty || days != nil else {
            throw Problem(.malformed, "retention-invalid", "Enter a number of days, or nothing.", field: "days")
          }
          guard let address = BareJID(parsing: text),
            let dialog = try await context.parley.read({ try Self.dialog(at: address, of: user, $0) })
          else { throw Problem(.missing, "dialog-unknown", "You have no chat with \(Line.safe(text)).", field: "chat") }
          try await context.parley.post(.settings(dialog, DialogSettingsDraft(retentionDays: .some(days))), by: user)
          return .done(
            days.map { "Messages older than \($0) \($0 == 1 ? "day" : "days") disappear from your view of \(address)." }
              ?? "Messages of \(address) are kept as long as the server keeps them.")
        }))
  }

  private static func dialog(at address: BareJID, of user: Party, _ reader: any StoreReader) throws -> DialogID? {
    let id =
      if let peer = try reader.user(address, seenFrom: user.realm) {
        try reader.dialog(between: user.id, and: peer.id)?.id
      } else {
        try reader.room(at: address)?.id
      }
    return try id.flatMap { try reader.settings(of: user.id, in: $0) == nil ? nil : $0 }
  }
}
