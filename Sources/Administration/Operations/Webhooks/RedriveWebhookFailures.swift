import Backends
package import Dialogs
import HTTPPort

/// Redelivers one failure or all of them, with their original `webhook-id`.
package enum RedriveWebhookFailures: AdminOperation {
  package static let name = "webhooks.redrive"
  package static let routes = [
    AdminRoute(.post, "/webhooks/{id}/failures", .webhooks, status: 202),
    AdminRoute(.post, "/webhooks/{id}/failures/{failure}", .webhooks, status: 202),
  ]

  package typealias Input = WebhookFailuresInput
  package typealias Output = CountRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> CountRow {
    let count = try await context.hooks.redriveFailures(
      input.failure.map { [$0] }, of: input.id, in: context.realm(input.domain).id)
    if input.failure != nil, count == 0 { throw Problem.failureUnknown }
    return CountRow(count: count)
  }
}

extension Problem {
  static let failureUnknown = Problem(.missing, "failure-unknown", "There is no such failure.", field: "failure")
}
