import Backends
package import Dialogs
import HTTPPort

/// Sends `webhook.test` once, at once, and returns the outcome. If it is taken, events that wait are sent at once, too.
package enum TestWebhook: AdminOperation {
  package static let name = "webhooks.test"
  package static let routes = [AdminRoute(.post, "/webhooks/{id}/test", .webhooks)]
  package static let needsServer = true

  package typealias Input = WebhookInput

  package struct Output: Codable, Hashable, Sendable {
    package let taken: Bool
    /// The reason of a failure.
    package let reason: String?
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    guard let route = context.hookRoute else {
      throw Problem(.unsupported, "server-absent", "Only a running server sends webhooks.")
    }
    let outcome = try await context.hooks.test(input.id, in: context.realm(input.domain).id, by: route)
    switch outcome {
    case .taken: return Output(taken: true, reason: nil)
    case .refused(let refusal): return Output(taken: false, reason: refusal.reason)
    }
  }
}
