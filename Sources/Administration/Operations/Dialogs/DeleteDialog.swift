package import Dialogs
import HTTPPort

/// Deletes a dialog. Its address is never assigned again.
package enum DeleteDialog: AdminOperation {
  package static let name = "dialogs.delete"
  package static let routes = [
    AdminRoute(.delete, "/dialogs/{dialog}", .dialogsWrite)
  ]

  package struct Input: Codable, Sendable {
    let dialog: String
    /// A reason that the members see.
    let reason: String?
    package init(dialog: String, reason: String?) {
      self.dialog = dialog
      self.reason = reason
    }
  }

  /// The dialog before its deletion.
  package typealias Output = DialogRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> DialogRow {
    let room = try await context.dialog(input.dialog)
    try await context.parley.post(
      .room(.destroy(.dialog(room.id), reason: input.reason, alternate: nil)), by: context.owner(of: room),
      isFromBackend: true)
    return DialogRow(room, in: context)
  }
}
