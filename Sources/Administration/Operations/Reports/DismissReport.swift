package import Dialogs
import HTTPPort

/// Deletes a report.
package enum DismissReport: AdminOperation {
  package static let name = "reports.dismiss"
  package static let routes = [
    AdminRoute(.delete, "/reports/{id}", .reports)
  ]

  package struct Input: Codable, Sendable {
    let id: Int64
    package init(id: Int64) { self.id = id }
  }

  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    _ = try await context.report(input.id)
    try await Reports(context.parley).dismiss(input.id)
    return Empty()
  }
}
