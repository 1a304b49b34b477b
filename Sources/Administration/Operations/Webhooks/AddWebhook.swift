import AppDoor
import AppProtocol
import Basics
package import Dialogs

/// Makes a webhook: a URL of the backend that is told what happens from now on.
package enum AddWebhook: AdminOperation {
  package static let name = "webhooks.add"
  package static let routes = [AdminRoute(.post, "/webhooks", .webhooks, status: 201)]

  package struct Input: Codable, Sendable {
    /// nil: the first.
    let domain: String?
    let url: String
    /// Names, `message.*`, `*`.
    let events: [String]
    package init(domain: String?, url: String, events: [String]) {
      self.domain = domain
      self.url = url
      self.events = events
    }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let webhook: WebhookRow
    /// What its requests are signed with (Standard Webhooks); told this once.
    package let secret: String
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    // The operator may name any host; what a key names may be in no network of the server's own.
    let (hook, secret) = try await context.parley.addHook(
      url: input.url, events: input.events, known: context.hookEvents.events, isTrusted: context.realm == nil,
      in: realm.id)
    return Output(webhook: WebhookRow(hook, failures: 0), secret: secret)
  }
}

/// A webhook as operators and backends see it.
package struct WebhookRow: Codable, Hashable, Sendable {
  package let id: Int64
  package let url: String
  package let events: [String]
  /// `active`, `disabled`.
  package let state: String
  /// Dead letters.
  package let failures: Int
  /// Why it did not take the last event, and since when it takes none.
  package let reason: String?
  package let failingSince: String?
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
