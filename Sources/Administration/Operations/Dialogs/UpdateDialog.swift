import Addresses
package import Dialogs
import HTTPPort

/// Changes a dialog's name and texts. An absent member keeps the value, an empty text removes it.
package enum UpdateDialog: AdminOperation {
  package static let name = "dialogs.update"
  package static let routes = [AdminRoute(.patch, "/dialogs/{dialog}", .dialogsWrite)]

  package struct Input: Codable, Sendable {
    let dialog: String
    let name: String?
    let about: String?
    let topic: String?
  }

  package typealias Output = ShowDialog.Output

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let room = try await context.dialog(input.dialog)
    let owner = try await context.owner(of: room)
    if input.name != nil || input.about != nil {
      let draft = SettingsDraft { settings in
        if let name = input.name { settings.name = name.isEmpty ? nil : name }
        if let about = input.about { settings.about = about.isEmpty ? nil : about }
      }
      try await context.parley.post(.room(.configure(.dialog(room.id), draft)), by: owner, isFromBackend: true)
    }
    if let topic = input.topic {
      try await context.parley.post(
        .room(.topic(.dialog(room.id), text: topic, stanza: nil)), by: owner, isFromBackend: true)
    }
    return try await ShowDialog.perform(ShowDialog.Input(dialog: room.address.description), in: context)
  }
}
