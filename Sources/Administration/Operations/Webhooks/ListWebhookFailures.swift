import Backends
import Basics
package import Dialogs
import HTTPPort

/// Lists the events that a webhook did not accept and that are not retried any more, oldest first.
package enum ListWebhookFailures: AdminOperation {
  package static let name = "webhooks.failures"
  package static let routes = [AdminRoute(.get, "/webhooks/{id}/failures", .webhooks, defaults: ["limit": "50"])]

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    let id: Int64
    /// The previous page's `nextCursor`.
    let cursor: Int64?
    let limit: Int
    package init(domain: String?, id: Int64, cursor: Int64? = nil, limit: Int) {
      self.domain = domain
      self.id = id
      self.cursor = cursor
      self.limit = limit
    }
  }

  package struct Row: Codable, Hashable, Sendable {
    package let id: Int64
    package let event: String
    /// The `webhook-id` of the delivery, which a redelivery keeps.
    package let webhookId: String
    package let failedAt: String
    package let reason: String
    /// Whether it is being redelivered.
    package let due: Bool
  }

  package typealias Output = AdminPage<Row, Int64>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let limit = Output.limit(input.limit)
    let failures = try await context.hooks.failures(
      of: input.id, in: context.realm(input.domain).id, after: input.cursor ?? 0, limit: limit)
    return Output(failures, limit: limit, cursor: \.id) {
      Row(
        id: $0.id, event: $0.event, webhookId: $0.message, failedAt: $0.failedAt.description, reason: $0.reason,
        due: $0.isDue)
    }
  }
}
