import Accounts
package import Dialogs
import HTTPPort

/// Disables, enables or deletes an account. Disabling and deleting end its sessions.
package enum SetUserState: AdminOperation {
  package static let name = "users.state"
  package static let routes = [
    AdminRoute(.put, "/users/{jid}/state", .usersWrite),
    AdminRoute(.delete, "/users/{jid}", .usersWrite, fixed: ["state": "deleted"]),
  ]

  package struct Input: Codable, Sendable {
    package enum State: String, Codable, Sendable { case active, disabled, deleted }
    let jid: String
    let state: State
    package init(jid: String, state: State) {
      self.jid = jid
      self.state = state
    }
  }

  package typealias Output = UserRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> UserRow {
    var user = try await context.user(input.jid)
    let state: User.State =
      switch input.state {
      case .active: .active
      case .disabled: .disabled
      case .deleted: .deleted
      }
    if user.state != state { try await context.accounts.setState(of: user.id, state) }
    user.state = state
    return UserRow(user, in: context)
  }
}
