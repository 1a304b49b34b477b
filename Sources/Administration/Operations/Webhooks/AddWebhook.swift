import Backends
import Basics
package import Dialogs
import HTTPPort

/// Creates a webhook: a URL of the backend that receives events from now on.
package enum AddWebhook: AdminOperation {
  package static let name = "webhooks.add"
  package static let routes = [AdminRoute(.post, "/webhooks", .webhooks, status: 201)]

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    let url: String
    /// Names of events, `message.*` or `*`.
    let events: [String]
    package init(domain: String?, url: String, events: [String]) {
      self.domain = domain
      self.url = url
      self.events = events
    }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let webhook: WebhookRow
    /// The secret that signs its requests (Standard Webhooks); it is returned only once.
    package let secret: String
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    // An operator may give any host; a URL given with a key must not lead into the server's private networks.
    let (hook, secret) = try await context.hooks.add(
      url: input.url, events: input.events, isTrusted: context.realm == nil, in: realm.id)
    return Output(webhook: WebhookRow(hook, failures: 0), secret: secret)
  }
}

/// A webhook in the view of operators and backends.
package struct WebhookRow: Codable, Hashable, Sendable {
  package let id: Int64
  package let url: String
  package let events: [String]
  /// `active` or `disabled`.
  package let state: String
  /// The number of failed deliveries that are kept.
  package let failures: Int
  /// The reason of the last failed attempt, and the time since which attempts have failed.
  package let reason: String?
  package let failingSince: String?
  /// The time of the next attempt; nil if nothing waits for one.
  package let nextAttemptAt: String?
  package let createdAt: String

  init(_ hook: Hook, failures: Int) {
    id = hook.id
    url = hook.url
    events = hook.events
    state = hook.progress.state == .active ? "active" : "disabled"
    self.failures = failures
    reason = hook.progress.reason
    failingSince = hook.progress.failingSince.map(\.description)
    nextAttemptAt = hook.progress.next.map(\.description)
    createdAt = hook.createdAt.description
  }
}
