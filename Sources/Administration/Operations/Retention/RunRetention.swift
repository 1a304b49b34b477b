import Accounts
package import Dialogs
import HTTPPort

/// Removes now what is old enough, which the server otherwise does every hour; or only counts it.
package enum RunRetention: AdminOperation {
  package static let name = "retention.run"
  package static let routes = [
    AdminRoute(.post, "/retention/runs", .server, defaults: ["onlyCounting": "false"])
  ]

  package struct Input: Codable, Sendable {
    let onlyCounting: Bool
    package init(onlyCounting: Bool) { self.onlyCounting = onlyCounting }
  }

  package typealias Output = RetentionRow

  /// The time for many messages, which go slowly beside the traffic.
  package static let answerWait = AdminLimits.retentionWait

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> RetentionRow {
    RetentionRow(try await context.accounts.retain(onlyCounting: input.onlyCounting))
  }
}
