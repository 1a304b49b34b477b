package import Dialogs
import HTTPPort

/// Ends a session, whose client may log in again at once.
package enum CloseSession: AdminOperation {
  package static let name = "sessions.close"
  package static let routes = [AdminRoute(.delete, "/sessions/{id}", .sessionsWrite)]
  package static let needsServer = true

  package typealias Input = SessionInput
  /// The session as it was.
  package typealias Output = SessionRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> SessionRow {
    let session = try context.session(input.id)
    context.parley.hub.close(session.session.party.id, .ended) { $0.session === session.session }
    return SessionRow(session)
  }
}
