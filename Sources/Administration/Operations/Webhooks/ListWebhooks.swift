import Backends
package import Dialogs
import HTTPPort

/// Lists a domain's webhooks, without their secrets.
package enum ListWebhooks: AdminOperation {
  package static let name = "webhooks.list"
  package static let routes = [AdminRoute(.get, "/webhooks", .webhooks)]

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    package init(domain: String?) { self.domain = domain }
  }

  package typealias Output = AdminPage<WebhookRow, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    Output(
      items: try await context.hooks.all(in: context.realm(input.domain).id).map {
        WebhookRow($0.hook, failures: $0.failures)
      })
  }
}
