import Addresses
package import Dialogs
import HTTPPort

/// Adds a user to a dialog. A user who is in it already keeps their role.
package enum AddDialogMember: AdminOperation {
  package static let name = "dialogs.add"
  package static let routes = [
    AdminRoute(.post, "/dialogs/{dialog}/members", .dialogsWrite, status: 201, defaults: ["role": "member"])
  ]

  package struct Input: Codable, Sendable {
    let dialog: String
    let jid: String
    let role: DialogRole
    /// The user's nickname in the dialog; nil means their profile name.
    let nick: String?
    package init(dialog: String, jid: String, role: DialogRole, nick: String?) {
      self.dialog = dialog
      self.jid = jid
      self.role = role
      self.nick = nick
    }
  }

  package typealias Output = DialogMemberRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> DialogMemberRow {
    guard input.role.affiliation.isMember else {
      throw Problem(
        .malformed, "role-malformed", "Users cannot be added as banned: change their role instead.", field: "role")
    }
    let room = try await context.dialog(input.dialog)
    let user = try await context.user(input.jid)
    if let member = try await context.member(user, of: room) {
      let row = DialogMemberRow(member)
      throw Problem(
        .conflict, "member-there", "\(user.address) is \(row.role) in \(room.address) already.", field: "jid")
    }
    let row = try await context.change(user, of: room, to: input.role.affiliation, nick: input.nick, reason: nil)
    guard let row else {
      throw Problem(.conflict, "member-removed", "\(user.address) was removed again at the same time.", field: "jid")
    }
    return row
  }
}
