import AppProtocol
package import Dialogs

/// One webhook, and how it stands.
package enum ShowWebhook: AdminOperation {
  package static let name = "webhooks.show"
  package static let routes = [AdminRoute(.get, "/webhooks/{id}", .webhooks)]

  package typealias Input = WebhookInput
  package typealias Output = WebhookRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> WebhookRow {
    let (hook, failures) = try await context.parley.hook(input.id, in: context.realm(input.domain).id)
    return WebhookRow(hook, failures: failures)
  }
}

/// Which webhook.
package struct WebhookInput: Codable, Sendable {
  /// nil: the first.
  let domain: String?
  let id: Int64
  package init(domain: String?, id: Int64) {
    self.domain = domain
    self.id = id
  }
}

/// Which of its failures.
package struct WebhookFailuresInput: Codable, Sendable {
  /// nil: the first.
  let domain: String?
  let id: Int64
  /// nil: all.
  let failure: Int64?
  package init(domain: String?, id: Int64, failure: Int64?) {
    self.domain = domain
    self.id = id
    self.failure = failure
  }
}

/// Of how many.
package struct CountRow: Codable, Hashable, Sendable {
  package let count: Int
}
