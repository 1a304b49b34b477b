package import Basics
import Dialogs

/// A secret of the configuration that requests are signed with, as Standard Webhooks 1.0.0 writes it.
package struct StandardWebhook: Hashable, Sendable {
  package let key: [UInt8]

  /// - Parameter secret: `whsec_` and the key in base 64. nil: it is none, or shorter than 24 bytes or longer than 64, which
  ///   the specification asks for.
  package init?(secret: String) {
    guard let key = StandardWebhooks.secret(secret) else { return nil }
    self.key = key
  }

  /// - Parameter id: the same when it is sent again.
  package func headers(id: String, now: Timestamp, body: [UInt8]) -> [(name: String, value: String)] {
    StandardWebhooks.headers(id: id, now: now, body: body, secrets: [key])
  }
}
