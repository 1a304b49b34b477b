import Addresses
package import Dialogs
import HTTPPort

/// Removes a user from a dialog, or lifts their ban.
package enum RemoveDialogMember: AdminOperation {
  package static let name = "dialogs.remove"
  package static let routes = [
    AdminRoute(.delete, "/dialogs/{dialog}/members/{jid}", .dialogsWrite)
  ]

  package struct Input: Codable, Sendable {
    let dialog: String
    let jid: String
    /// A reason for those who are notified.
    let reason: String?
    package init(dialog: String, jid: String, reason: String?) {
      self.dialog = dialog
      self.jid = jid
      self.reason = reason
    }
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    let room = try await context.dialog(input.dialog)
    let user = try await context.user(input.jid)
    guard try await context.member(user, of: room) != nil else {
      throw Problem(.missing, "member-unknown", "\(user.address) is not in \(room.address).", field: "jid")
    }
    _ = try await context.change(user, of: room, to: .none, reason: input.reason)
    return Empty()
  }
}
