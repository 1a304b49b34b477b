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
      node: accountNode("message-age"), title: "How long messages stay", audience: .managers,
      course: .form(
        { _ in
          DataForm(
            .form, title: "How long messages stay",
            instructions: [
              "Older messages of the chat go from what you see, on all your devices that ask the server. If the other "
                + "person wants the same, they go from the server."
            ],
            fields: [
              DataForm.Field("chat", .jidSingle, label: "The address of the person or the room", isRequired: true),
              DataForm.Field("days", .textSingle, label: "Days; empty for as long as the server keeps them"),
            ])
        },
        perform: { (form, session) throws(Problem) in
          let (user, text) = (session.party, try form.required("chat"))
          let wanted = form.value("days") ?? ""
          let days = Int(wanted)
          guard wanted.isEmpty || days != nil else {
            throw Problem(.malformed, "retention-invalid", "The days are a number, or empty.", field: "days")
          }
          guard let address = BareJID(parsing: text),
            let dialog = try await context.parley.read({ try Self.dialog(at: address, of: user, $0) })
          else { throw Problem(.missing, "dialog-unknown", "You have no chat with \(Line.safe(text)).", field: "chat") }
          try await context.parley.post(.settings(dialog, DialogSettingsDraft(retentionDays: .some(days))), by: user)
          return .done(
            days.map { "What is older than \($0) \($0 == 1 ? "day" : "days") goes from your view of \(address)." }
              ?? "Messages of \(address) stay for as long as the server keeps them.")
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
