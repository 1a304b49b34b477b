import Addresses
import Basics
package import Dialogs
import HTTPPort

/// Lists the pending deletions, erasures and exports of accounts, oldest first. Completed ones are not listed.
package enum ListTasks: AdminOperation {
  package static let name = "tasks.list"
  package static let routes = [AdminRoute(.get, "/tasks", .usersRead)]

  package typealias Input = Empty
  package typealias Output = AdminPage<TaskRow, String>

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    let (realm, parley) = (context.realm?.id, context.parley)
    let rows = try await parley.read { reader in
      var rows: [TaskRow] = []
      for task in try reader.pendingAccountTasks() where rows.count < AdminLimits.tasksMax {
        guard let user = try reader.user(task.user), realm.map({ $0 == user.realm }) ?? true else { continue }
        rows.append(TaskRow(task, of: user))
      }
      return rows
    }
    return Output(items: rows)
  }
}

/// A pending task of an account.
package struct TaskRow: Codable, Hashable, Sendable {
  package let id: Int64
  package let userId: String
  package let jid: String
  /// `deletion`, `erasure` or `export`.
  package let kind: String
  package let createdAt: String

  init(_ task: AccountTask, of user: User) {
    id = task.id
    userId = user.name
    jid = user.address.description
    kind =
      switch task.kind {
      case .deletion: "deletion"
      case .erasure: "erasure"
      case .export: "export"
      }
    createdAt = task.createdAt.description
  }
}
