package import Dialogs
import HTTPPort

/// Shows a session that is online.
package enum ShowSession: AdminOperation {
  package static let name = "sessions.show"
  package static let routes = [AdminRoute(.get, "/sessions/{id}", .usersRead)]
  package static let needsServer = true

  package typealias Input = SessionInput
  package typealias Output = SessionRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> SessionRow {
    SessionRow(try context.session(input.id))
  }
}
