import Backends
package import Dialogs
import HTTPPort

/// Shows a webhook and its delivery state.
package enum ShowWebhook: AdminOperation {
  package static let name = "webhooks.show"
  package static let routes = [AdminRoute(.get, "/webhooks/{id}", .webhooks)]

  package typealias Input = WebhookInput
  package typealias Output = WebhookRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> WebhookRow {
    let (hook, failures) = try await context.hooks.find(input.id, in: context.realm(input.domain).id)
    return WebhookRow(hook, failures: failures)
  }
}

/// The input that identifies a webhook.
package struct WebhookInput: Codable, Sendable {
  /// nil for the first domain.
  let domain: String?
  let id: Int64
  package init(domain: String?, id: Int64) {
    self.domain = domain
    self.id = id
  }
}

/// The input that identifies failures of a webhook.
package struct WebhookFailuresInput: Codable, Sendable {
  /// nil for the first domain.
  let domain: String?
  let id: Int64
  /// nil for all failures.
  let failure: Int64?
  package init(domain: String?, id: Int64, failure: Int64?) {
    self.domain = domain
    self.id = id
    self.failure = failure
  }
}

/// The number of affected items.
package struct CountRow: Codable, Hashable, Sendable {
  package let count: Int
}
