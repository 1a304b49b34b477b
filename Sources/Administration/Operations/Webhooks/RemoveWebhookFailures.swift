import Backends
package import Dialogs
import HTTPPort

/// Deletes one failure or all of them.
package enum RemoveWebhookFailures: AdminOperation {
  package static let name = "webhooks.forget"
  package static let routes = [
    AdminRoute(.delete, "/webhooks/{id}/failures", .webhooks),
    AdminRoute(.delete, "/webhooks/{id}/failures/{failure}", .webhooks),
  ]

  package typealias Input = WebhookFailuresInput
  package typealias Output = CountRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> CountRow {
    let count = try await context.hooks.removeFailures(
      input.failure.map { [$0] }, of: input.id, in: context.realm(input.domain).id)
    if input.failure != nil, count == 0 { throw Problem.failureUnknown }
    return CountRow(count: count)
  }
}
