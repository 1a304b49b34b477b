import Accounts
package import Dialogs
import HTTPPort

/// Changes a user's password; all their sessions and logins end.
package enum SetPassword: AdminOperation {
  package static let name = "users.password"
  package static let routes = [
    AdminRoute(.put, "/users/{jid}/password", .usersWrite)
  ]

  package struct Input: Codable, Sendable {
    let jid: String
    let password: String
    package init(jid: String, password: String) {
      self.jid = jid
      self.password = password
    }
  }

  package typealias Output = UserRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> UserRow {
    let user = try await context.user(input.jid)
    try context.requireReach(over: user.party)
    try await context.accounts.setPassword(of: user.id, input.password)
    return UserRow(user, in: context)
  }
}
