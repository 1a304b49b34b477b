import Accounts
package import Dialogs
import HTTPPort

/// Deletes an account and all its messages. The messages are deleted after the answer, and the work continues after a
/// restart.
package enum EraseUser: AdminOperation {
  package static let name = "users.erase"
  package static let routes = [AdminRoute(.post, "/users/{jid}/erasures", .usersWrite, status: 202)]

  package struct Input: Codable, Sendable {
    let jid: String
  }

  package typealias Output = TaskRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> TaskRow {
    let user = try await context.user(input.jid)
    let task = try await context.accounts.beginDeletion(of: user.id, erasing: true)
    context.accounts.finishInBackground(task)
    return TaskRow(task, of: user)
  }
}
