import Backends
package import Dialogs
import HTTPPort

/// Creates a new secret for a webhook. Both secrets sign for a day.
package enum RotateWebhookSecret: AdminOperation {
  package static let name = "webhooks.rotate"
  package static let routes = [AdminRoute(.post, "/webhooks/{id}/secret", .webhooks)]

  package typealias Input = WebhookInput
  package typealias Output = AddWebhook.Output

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain).id
    let (hook, secret) = try await context.hooks.rotateSecret(input.id, in: realm)
    let failures = try await context.hooks.find(input.id, in: realm).failures
    return Output(webhook: WebhookRow(hook, failures: failures), secret: secret)
  }
}
