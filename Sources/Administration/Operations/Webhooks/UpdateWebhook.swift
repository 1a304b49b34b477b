import Backends
package import Dialogs
import HTTPPort

/// Changes a webhook's URL and events. With `state` `active` delivery resumes at once where it stopped.
package enum UpdateWebhook: AdminOperation {
  package static let name = "webhooks.update"
  package static let routes = [AdminRoute(.patch, "/webhooks/{id}", .webhooks)]

  package struct Input: Codable, Sendable {
    package enum State: String, Codable, Sendable { case active, disabled }
    /// nil for the first domain.
    let domain: String?
    let id: Int64
    let url: String?
    let events: [String]?
    let state: State?
    package init(domain: String?, id: Int64, url: String?, events: [String]?, state: State?) {
      self.domain = domain
      self.id = id
      self.url = url
      self.events = events
      self.state = state
    }
  }

  package typealias Output = WebhookRow

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> WebhookRow {
    let realm = try context.realm(input.domain).id
    // A key must not redirect a webhook whose URL the operator has set.
    if input.url != nil, context.realm != nil, try await context.hooks.find(input.id, in: realm).hook.isTrusted {
      throw Problem(
        .forbidden, "webhook-of-operator", "The operator has set this webhook's URL: a key cannot change it.",
        field: "url")
    }
    let hook = try await context.hooks.update(
      input.id, in: realm, url: input.url, events: input.events, isActive: input.state.map { $0 == .active })
    return WebhookRow(hook, failures: try await context.hooks.find(input.id, in: realm).failures)
  }
}
