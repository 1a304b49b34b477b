import Backends
package import Dialogs
import HTTPPort

/// Removes a webhook and its failures.
package enum RemoveWebhook: AdminOperation {
  package static let name = "webhooks.remove"
  package static let routes = [AdminRoute(.delete, "/webhooks/{id}", .webhooks)]

  package typealias Input = WebhookInput
  package typealias Output = Empty

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Empty {
    try await context.hooks.remove(input.id, in: context.realm(input.domain).id)
    return Empty()
  }
}
