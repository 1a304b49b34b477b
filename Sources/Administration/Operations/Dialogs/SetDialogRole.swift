import Addresses
package import Dialogs
import HTTPPort

/// Changes a user's role in a dialog; a user can be banned whether they are in it or not.
package enum SetDialogRole: AdminOperation {
  package static let name = "dialogs.role"
  package static let routes = [
    AdminRoute(.put, "/dialogs/{dialog}/members/{jid}", .dialogsWrite)
  ]

  package struct Input: Codable, Sendable {
    let dialog: String
    let jid: String
    let role: DialogRole
    /// A reason for those who are notified.
    let reason: String?
    package init(dialog: String, jid: String, role: DialogRole, reason: String?) {
      self.dialog = dialog
      self.jid = jid
      self.role = role
      self.reason = reason
    }
  }

  package typealias Output = DialogMemberRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> DialogMemberRow {
    let room = try await context.dialog(input.dialog)
    let user = try await context.user(input.jid)
    if input.role != .banned, try await context.member(user, of: room) == nil {
      throw Problem(
        .missing, "member-unknown", "\(user.address) is not in \(room.address): add them.", field: "jid")
    }
    guard let row = try await context.change(user, of: room, to: input.role.affiliation, reason: input.reason) else {
      throw Problem(.conflict, "member-removed", "\(user.address) was removed at the same time.", field: "jid")
    }
    return row
  }
}
